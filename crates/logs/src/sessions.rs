//! Sessions: requests of one client without a pause longer than the timeout tau (Schroeder, Wierman and Harchol-Balter
//! 2006, section 7).
//!
//! [`Sessions`] accumulates hits in order of time; the results of adjacent parts of a log merge exactly. If there are
//! too many clients, only clients with a hash that starts with `level` zero bits are sampled, one in 2^`level`. The sample is
//! unbiased and independent of how the log is split.

use std::collections::hash_map::Entry;

use crate::clients::ClientMap;
use crate::gaps::Gaps;

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Nanoseconds since the Unix epoch.
    pub time: i64,
    /// 64-bit hash of the client; the probability of a collision of two out of ten million clients is 3e-6.
    pub client: u64,
    /// Whether the request is a page (not an asset).
    pub page: bool,
}

/// A session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Session {
    /// Time of the first request in nanoseconds since the Unix epoch.
    pub start: i64,
    /// Time of the last request.
    pub end: i64,
    /// Number of requests.
    pub requests: u32,
}

/// State of a client (40 bytes).
#[derive(Clone, Copy, Debug)]
struct Client {
    /// The latest session, which may continue in a later part.
    start: i64,
    end: i64,
    requests: u32,
    /// Index of the client's first closed session, which may have started in an earlier part; [`LATEST`] if that is the
    /// latest session.
    first: u32,
    /// Times of the first and the last page; without pages the first is after the last.
    pages: (i64, i64),
}

const LATEST: u32 = u32::MAX;
const NO_PAGE: (i64, i64) = (i64::MAX, i64::MIN);

impl Client {
    #[inline]
    fn at(hit: Hit) -> Self {
        let pages = if hit.page { (hit.time, hit.time) } else { NO_PAGE };
        Self { start: hit.time, end: hit.time, requests: 1, first: LATEST, pages }
    }

    #[inline]
    fn latest(&self) -> Session {
        Session { start: self.start, end: self.end, requests: self.requests }
    }
}

/// Figures of all clients with hashes that start with the same number of zero bits, so that they can be dropped together.
#[derive(Clone, Debug, Default)]
struct Class {
    hits: u64,
    pages: u64,
    page_sessions: u64,
    out_of_order: u64,
    /// Closed sessions; only the first one of a client can change, by a merge.
    closed: Vec<Session>,
    gaps: Gaps,
}

impl Class {
    /// Adds a hit to its client.
    #[inline]
    fn add(&mut self, client: &mut Client, hit: Hit, timeout: i64) {
        if self.ends_session(client.end, hit.time, timeout) {
            self.close(client);
            (client.start, client.end, client.requests) = (hit.time, hit.time, 1);
        } else {
            client.end = client.end.max(hit.time);
            client.requests = client.requests.saturating_add(1);
        }
        if hit.page {
            let (first, last) = client.pages;
            self.page_sessions += u64::from(first > last || hit.time.saturating_sub(last) > timeout);
            client.pages = (first.min(hit.time), last.max(hit.time));
        }
    }

    /// Counts the gap between two hits of a client; returns whether it ends a session.
    #[inline]
    fn ends_session(&mut self, before: i64, after: i64, timeout: i64) -> bool {
        let gap = after.saturating_sub(before);
        self.out_of_order += u64::from(gap < 0);
        self.gaps.add(gap.max(0));
        gap > timeout
    }

    #[inline]
    fn close(&mut self, client: &mut Client) {
        if client.first == LATEST {
            client.first = self.closed.len() as u32;
        }
        self.closed.push(client.latest());
    }

    /// Merges the states of a client in two adjacent parts.
    fn join(&mut self, mut left: Client, right: Client, timeout: i64) -> Client {
        let follows = match self.closed.get(right.first as usize) {
            Some(first) if right.first != LATEST => *first,
            _ => right.latest(),
        };
        let ends_session = self.ends_session(left.end, follows.start, timeout);
        if ends_session {
            self.close(&mut left);
        }
        let mut both = Client { first: left.first, ..right };
        if !ends_session {
            let whole = Session {
                start: left.start,
                end: left.end.max(follows.end),
                requests: left.requests.saturating_add(follows.requests),
            };
            if right.first == LATEST {
                (both.start, both.end, both.requests) = (whole.start, whole.end, whole.requests);
            } else {
                self.closed[right.first as usize] = whole;
                if left.first == LATEST {
                    both.first = right.first;
                }
            }
        }
        let has_pages = |client: &Client| client.pages.0 <= client.pages.1;
        if has_pages(&left) && has_pages(&right) && right.pages.0.saturating_sub(left.pages.1) <= timeout {
            self.page_sessions -= 1;
        }
        both.pages = (left.pages.0.min(right.pages.0), left.pages.1.max(right.pages.1));
        both
    }

    /// Adds the counts and sessions of another part; clients are merged by [`Self::join`].
    fn merge(&mut self, other: Self) {
        self.hits += other.hits;
        self.pages += other.pages;
        self.page_sessions += other.page_sessions;
        self.out_of_order += other.out_of_order;
        self.closed.extend(other.closed);
        self.gaps.merge(&other.gaps);
    }
}

/// Number of leading zero bits of a client's hash.
#[inline]
fn zeros(client: u64) -> usize {
    client.leading_zeros() as usize
}

/// Accumulates hits into sessions. Memory: 50 to 100 bytes per client, 24 bytes per session, none per hit.
#[derive(Clone, Debug)]
pub struct Sessions {
    timeout: i64,
    max_clients: usize,
    /// Minimum number of leading zero bits of the hashes of sampled clients.
    level: usize,
    clients: ClientMap<Client>,
    /// Figures by number of leading zero bits.
    classes: Vec<Class>,
}

impl Sessions {
    /// Creates an empty accumulator with a timeout in nanoseconds and a maximum number of clients.
    pub fn new(timeout: i64, max_clients: usize) -> Self {
        Self { timeout, max_clients, level: 0, clients: ClientMap::default(), classes: Vec::new() }
    }

    /// Creates an empty accumulator with the settings of `other`.
    pub fn empty_like(other: &Self) -> Self {
        Self::new(other.timeout, other.max_clients)
    }

    /// Adds the next hits. A hit that is earlier than the latest hit of its client counts as out of order, and gets the
    /// time of the latest hit.
    #[inline]
    pub fn add(&mut self, hits: &[Hit]) {
        // Look up all clients once without using the result: the memory accesses overlap instead of waiting for each
        // other.
        std::hint::black_box(hits.iter().filter(|hit| self.clients.contains_key(&hit.client)).count());
        for hit in hits {
            self.one(*hit);
        }
    }

    #[inline]
    fn one(&mut self, hit: Hit) {
        let zeros = zeros(hit.client);
        if zeros < self.level {
            return;
        }
        if zeros >= self.classes.len() {
            self.classes.resize_with(zeros + 1, Class::default);
        }
        let class = &mut self.classes[zeros];
        class.hits += 1;
        class.pages += u64::from(hit.page);
        match self.clients.entry(hit.client) {
            Entry::Occupied(mut client) => class.add(client.get_mut(), hit, self.timeout),
            Entry::Vacant(place) => {
                place.insert(Client::at(hit));
                class.page_sessions += u64::from(hit.page);
                self.shrink_sample();
            }
        }
    }

    /// Halves the sample until it is within the limit.
    #[inline]
    fn shrink_sample(&mut self) {
        while self.clients.len() > self.max_clients {
            self.sample(self.level + 1);
        }
    }

    /// Drops clients with hashes that have fewer than `level` leading zero bits.
    fn sample(&mut self, level: usize) {
        if level > self.level {
            self.level = level;
            self.clients.retain(|client, _| zeros(*client) >= level);
            self.classes.iter_mut().take(level).for_each(|class| *class = Class::default());
        }
    }

    /// Merges the part that follows this one.
    pub fn merge(&mut self, mut later: Self) {
        self.sample(later.level);
        later.sample(self.level);
        let later_is_less = later.clients.len() <= self.clients.len();
        if !later_is_less {
            std::mem::swap(self, &mut later);
        }
        // After the swap, `later` is the part with fewer clients, which may be the earlier one.
        let classes = self.classes.len().max(later.classes.len());
        self.classes.resize_with(classes, Class::default);
        let moved: Vec<u32> = self.classes.iter().map(|class| class.closed.len() as u32).collect();
        for (class, more) in self.classes.iter_mut().zip(later.classes) {
            class.merge(more);
        }
        for (hash, mut client) in later.clients {
            let zeros = zeros(hash);
            if client.first != LATEST {
                client.first += moved[zeros];
            }
            match self.clients.entry(hash) {
                Entry::Vacant(place) => drop(place.insert(client)),
                Entry::Occupied(mut known) => {
                    let (left, right) = if later_is_less { (*known.get(), client) } else { (client, *known.get()) };
                    *known.get_mut() = self.classes[zeros].join(left, right, self.timeout);
                }
            }
        }
        self.shrink_sample();
    }

    /// One in this number of clients is sampled: 1 or a power of two.
    pub fn one_in(&self) -> u64 {
        1 << self.level.min(63)
    }

    /// Number of sampled clients.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Number of hits of the sampled clients.
    pub fn hits(&self) -> u64 {
        self.classes.iter().map(|class| class.hits).sum()
    }

    /// Gaps between the hits of the sampled clients.
    pub fn gaps(&self) -> Gaps {
        let mut gaps = Gaps::default();
        self.classes.iter().for_each(|class| gaps.merge(&class.gaps));
        gaps
    }

    /// Number of hits that are out of order even after sorting.
    pub fn out_of_order(&self) -> u64 {
        self.classes.iter().map(|class| class.out_of_order).sum()
    }

    /// Number of pages, and number of sessions if only pages count.
    pub fn pages(&self) -> (u64, u64) {
        self.classes.iter().fold((0, 0), |(pages, all), class| (pages + class.pages, all + class.page_sessions))
    }

    /// All sessions, in order of their starts.
    pub fn all(&self) -> Vec<Session> {
        let closed = self.classes.iter().flat_map(|class| class.closed.iter().copied());
        let mut all: Vec<Session> = closed.chain(self.clients.values().map(Client::latest)).collect();
        all.sort_unstable();
        all
    }
}
