//! Sessions: the requests of one client without a silence longer than the timeout tau between them
//! (Schroeder, Wierman and Harchol-Balter 2006, section 7).
//!
//! [`Sessions`] folds hits in order of time, remembering per client its first and its latest session; two folds over
//! neighbouring parts of a log merge to exactly the fold over both.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::gaps::Gaps;

/// One request of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Nanoseconds since the Unix epoch.
    pub time: i64,
    /// The hash of what tells the client from others: 64 bits, so that among ten million two share one with chance 3e-6.
    pub client: u64,
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

impl Session {
    fn at(time: i64) -> Self {
        Self { start: time, end: time, requests: 1 }
    }
}

/// What is remembered of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Client {
    /// Its first session in this part: an earlier part may hold its beginning.
    first: Session,
    /// Its latest, unless that is the first: a later part may hold its end.
    latest: Option<Session>,
}

impl Client {
    fn current(&mut self) -> &mut Session {
        self.latest.as_mut().unwrap_or(&mut self.first)
    }
}

/// Client hashes are as good as random already.
#[derive(Clone, Debug, Default)]
pub(crate) struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash << 8 | u64::from(*byte));
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A map from client hashes.
pub(crate) type ByClient<T> = HashMap<u64, T, BuildHasherDefault<Same>>;

/// A fold over hits: some 100 bytes a client, 24 a session, nothing a hit.
#[derive(Clone, Debug)]
pub struct Sessions {
    timeout: i64,
    most_clients: usize,
    clients: ByClient<Client>,
    /// Sessions that nothing can change any more.
    closed: Vec<Session>,
    gaps: Gaps,
    late: u64,
    untracked: u64,
}

impl Sessions {
    /// With this timeout in nanoseconds; clients beyond `most_clients` are not followed.
    pub fn new(timeout: i64, most_clients: usize) -> Self {
        Self {
            timeout,
            most_clients,
            clients: ByClient::default(),
            closed: Vec::new(),
            gaps: Gaps::default(),
            late: 0,
            untracked: 0,
        }
    }

    /// An empty fold with the timeout and limit of `other`.
    pub fn like(other: &Self) -> Self {
        Self::new(other.timeout, other.most_clients)
    }

    /// Adds the next hit. One before its client's latest counts as simultaneous with that, and as late.
    #[inline]
    pub fn add(&mut self, hit: Hit) {
        let Some(client) = self.clients.get_mut(&hit.client) else {
            if self.clients.len() < self.most_clients {
                self.clients.insert(hit.client, Client { first: Session::at(hit.time), latest: None });
            } else {
                self.untracked += 1;
            }
            return;
        };
        let current = client.current();
        let gap = hit.time.saturating_sub(current.end);
        self.late += u64::from(gap < 0);
        self.gaps.add(gap.max(0));
        if gap > self.timeout {
            self.closed.extend(client.latest.replace(Session::at(hit.time)));
        } else {
            current.end = current.end.max(hit.time);
            current.requests = current.requests.saturating_add(1);
        }
    }

    /// Adds the fold over the part that follows this one.
    pub fn merge(&mut self, later: Self) {
        self.gaps.merge(&later.gaps);
        self.late += later.late;
        self.untracked += later.untracked;
        self.closed.extend(later.closed);
        for (hash, right) in later.clients {
            let Some(client) = self.clients.get_mut(&hash) else {
                if self.clients.len() < self.most_clients {
                    self.clients.insert(hash, right);
                } else {
                    self.untracked +=
                        u64::from(right.first.requests) + right.latest.map_or(0, |s| u64::from(s.requests));
                }
                continue;
            };
            let current = client.current();
            let gap = right.first.start.saturating_sub(current.end);
            self.late += u64::from(gap < 0);
            self.gaps.add(gap.max(0));
            if gap > self.timeout {
                self.closed.extend(client.latest.replace(right.first));
            } else {
                current.end = current.end.max(right.first.end);
                current.requests = current.requests.saturating_add(right.first.requests);
            }
            if let Some(latest) = right.latest {
                self.closed.extend(client.latest.replace(latest));
            }
        }
    }

    /// How many clients there are.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// The gaps of all clients.
    pub fn gaps(&self) -> &Gaps {
        &self.gaps
    }

    /// How many hits came before an earlier one of their client in spite of the reordering.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// How many hits were of clients beyond the most that are followed.
    pub fn untracked(&self) -> u64 {
        self.untracked
    }

    /// All sessions, in order of their starts.
    pub fn all(&self) -> Vec<Session> {
        let of_clients = self.clients.values().flat_map(|client| std::iter::once(client.first).chain(client.latest));
        let mut all: Vec<Session> = self.closed.iter().copied().chain(of_clients).collect();
        all.sort_unstable();
        all
    }
}
