//! Sessions: the requests of one client without a silence longer than the timeout tau between them
//! (Schroeder, Wierman and Harchol-Balter 2006, section 7).
//!
//! [`Sessions`] folds hits in order of time; two folds over neighbouring parts of a log merge to exactly the fold over both.
//! Where there are more clients than may be followed it follows those whose hashes begin with `level` zeros: one in
//! 2^`level`, whoever they are and whenever they come, so that the sample is fair and the same however a log is cut.

use std::collections::hash_map::Entry;

use crate::clients::ByClient;
use crate::gaps::Gaps;

/// One request of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Nanoseconds since the Unix epoch.
    pub time: i64,
    /// The hash of what tells the client from others: 64 bits, so that among ten million two share one with chance 3e-6.
    pub client: u64,
    /// Whether it is to be counted among the pages, too.
    pub page: bool,
}

/// One session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Session {
    /// Its first request, in nanoseconds since the Unix epoch.
    pub start: i64,
    /// Its last.
    pub end: i64,
    /// How many it has.
    pub requests: u32,
}

/// What is remembered of a client: 40 bytes.
#[derive(Clone, Copy, Debug)]
struct Client {
    /// Its latest session: a later part may hold its end.
    start: i64,
    end: i64,
    requests: u32,
    /// Where among the closed sessions its first one is, whose beginning an earlier part may hold; [`ITSELF`]: the latest.
    first: u32,
    /// Its first and its last page; none: the first is after the last.
    pages: (i64, i64),
}

const ITSELF: u32 = u32::MAX;
const NO_PAGE: (i64, i64) = (i64::MAX, i64::MIN);

impl Client {
    #[inline]
    fn at(hit: Hit) -> Self {
        let pages = if hit.page { (hit.time, hit.time) } else { NO_PAGE };
        Self { start: hit.time, end: hit.time, requests: 1, first: ITSELF, pages }
    }

    #[inline]
    fn latest(&self) -> Session {
        Session { start: self.start, end: self.end, requests: self.requests }
    }
}

/// What is known of all clients whose hashes begin with the same number of zeros, so that they can be forgotten together.
#[derive(Clone, Debug, Default)]
struct Class {
    hits: u64,
    pages: u64,
    page_sessions: u64,
    late: u64,
    /// Sessions that only a merge can change, namely those that are a client's first.
    closed: Vec<Session>,
    gaps: Gaps,
}

impl Class {
    /// Adds a hit to what is known of its client.
    #[inline]
    fn add(&mut self, client: &mut Client, hit: Hit, timeout: i64) {
        if self.parted(client.end, hit.time, timeout) {
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

    /// Counts the gap between two hits of a client, and whether it ends a session.
    #[inline]
    fn parted(&mut self, before: i64, after: i64, timeout: i64) -> bool {
        let gap = after.saturating_sub(before);
        self.late += u64::from(gap < 0);
        self.gaps.add(gap.max(0));
        gap > timeout
    }

    #[inline]
    fn close(&mut self, client: &mut Client) {
        if client.first == ITSELF {
            client.first = self.closed.len() as u32;
        }
        self.closed.push(client.latest());
    }

    /// What is known of a client in two neighbouring parts together.
    fn join(&mut self, mut left: Client, right: Client, timeout: i64) -> Client {
        let follows = match self.closed.get(right.first as usize) {
            Some(first) if right.first != ITSELF => *first,
            _ => right.latest(),
        };
        let parted = self.parted(left.end, follows.start, timeout);
        if parted {
            self.close(&mut left);
        }
        let mut both = Client { first: left.first, ..right };
        if !parted {
            let whole = Session {
                start: left.start,
                end: left.end.max(follows.end),
                requests: left.requests.saturating_add(follows.requests),
            };
            if right.first == ITSELF {
                (both.start, both.end, both.requests) = (whole.start, whole.end, whole.requests);
            } else {
                self.closed[right.first as usize] = whole;
                if left.first == ITSELF {
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

    /// Adds the counts and sessions of another part's; its clients are joined by [`Self::join`].
    fn merge(&mut self, other: Self) {
        self.hits += other.hits;
        self.pages += other.pages;
        self.page_sessions += other.page_sessions;
        self.late += other.late;
        self.closed.extend(other.closed);
        self.gaps.merge(&other.gaps);
    }
}

/// The zeros at the beginning of a client's hash.
#[inline]
fn zeros(client: u64) -> usize {
    client.leading_zeros() as usize
}

/// A fold over hits: some 50 to 100 bytes a client, 24 a session, nothing a hit.
#[derive(Clone, Debug)]
pub struct Sessions {
    timeout: i64,
    most_clients: usize,
    /// Zeros with which the hashes of the followed clients begin.
    level: usize,
    clients: ByClient<Client>,
    /// By zeros.
    classes: Vec<Class>,
}

impl Sessions {
    /// With this timeout in nanoseconds, following at most `most_clients` clients.
    pub fn new(timeout: i64, most_clients: usize) -> Self {
        Self { timeout, most_clients, level: 0, clients: ByClient::default(), classes: Vec::new() }
    }

    /// An empty fold with the timeout and limit of `other`.
    pub fn like(other: &Self) -> Self {
        Self::new(other.timeout, other.most_clients)
    }

    /// Adds the next hits. One before its client's latest counts as simultaneous with that, and as late.
    #[inline]
    pub fn add(&mut self, hits: &[Hit]) {
        // Looked up once in vain: the processor waits for the memory of all of them at once, not for one after another.
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
                self.thin();
            }
        }
    }

    /// Halves the sample until it is small enough.
    #[inline]
    fn thin(&mut self) {
        while self.clients.len() > self.most_clients {
            self.follow(self.level + 1);
        }
    }

    /// Forgets the clients whose hashes begin with fewer zeros than `level`.
    fn follow(&mut self, level: usize) {
        if level > self.level {
            self.level = level;
            self.clients.retain(|client, _| zeros(*client) >= level);
            self.classes.iter_mut().take(level).for_each(|class| *class = Class::default());
        }
    }

    /// Adds the fold over the part that follows this one.
    pub fn merge(&mut self, mut later: Self) {
        self.follow(later.level);
        later.follow(self.level);
        let later_is_less = later.clients.len() <= self.clients.len();
        if !later_is_less {
            std::mem::swap(self, &mut later);
        }
        // `later` is now the part with fewer clients, wherever it lies.
        let classes = self.classes.len().max(later.classes.len());
        self.classes.resize_with(classes, Class::default);
        let moved: Vec<u32> = self.classes.iter().map(|class| class.closed.len() as u32).collect();
        for (class, more) in self.classes.iter_mut().zip(later.classes) {
            class.merge(more);
        }
        for (hash, mut client) in later.clients {
            let zeros = zeros(hash);
            if client.first != ITSELF {
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
        self.thin();
    }

    /// One in how many clients is followed: 1, or a power of two.
    pub fn one_in(&self) -> u64 {
        1 << self.level.min(63)
    }

    /// How many clients are followed.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// How many hits are theirs.
    pub fn hits(&self) -> u64 {
        self.classes.iter().map(|class| class.hits).sum()
    }

    /// The gaps of all of them.
    pub fn gaps(&self) -> Gaps {
        let mut gaps = Gaps::default();
        self.classes.iter().for_each(|class| gaps.merge(&class.gaps));
        gaps
    }

    /// How many hits came before an earlier one of their client in spite of the reordering.
    pub fn late(&self) -> u64 {
        self.classes.iter().map(|class| class.late).sum()
    }

    /// How many pages there are, and in how many sessions when nothing else counts.
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
