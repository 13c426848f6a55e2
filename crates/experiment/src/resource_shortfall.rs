//! What a run asks beyond its machine, said before the first launch: afterwards it is in the verdict, and the time is lost.

use std::mem;

use offered_model::workload::{Protocol, Reuse, Sessions};
use offered_model::{Share, Workload};
use rustix::process::{Resource, getrlimit};

use crate::calibrate::Calibration;
use crate::memory;

/// So many launches per second no thread has made in any of our own measurements: the most was 136,000, against a server that answers
/// at once (`benches/README.md`).
const ANY_THREAD: f64 = 200_000.0;
/// Of memory a user takes at least so much while it thinks (measured, `benches/README.md`).
const USER_BYTES: u64 = 62;
/// So many files are open that are no connections.
const OTHER_FILES: u64 = 32;

/// Something that this machine will hardly have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beyond {
    /// More launches than its threads make.
    Rate {
        /// The most launches per second that are meant at any time.
        asked_per_s: f64,
        /// What so many threads make.
        possible_per_s: f64,
        /// The threads that launch.
        threads: u16,
        /// Whether that was measured on this machine; else no machine of ours has made more.
        calibrated: bool,
    },
    /// More connections than files may be open.
    Files {
        /// Connections that may be open at once.
        connections: u64,
        /// Those that may be.
        allowed: u64,
    },
    /// More users than memory has room for.
    Memory {
        /// Those users.
        users: u64,
        /// Bytes that they take at least.
        needed: u64,
        /// Bytes that there are.
        there: u64,
    },
}

/// What there is.
struct Room {
    threads: u16,
    /// Launches per second of one thread, as calibration found it.
    calibrated: Option<f64>,
    /// Files that may be open; `None` where there is no limit.
    files: Option<u64>,
    /// Bytes; `None` where it is not known.
    memory: Option<u64>,
}

/// What `share` of `workload` asks of this machine and so many threads beyond what they have; where nobody is asked (`for_nobody`),
/// time is no object and no connection is opened.
pub(crate) fn beyond(workload: &Workload, share: Share, threads: u16, for_nobody: bool) -> Vec<Beyond> {
    let calibrated = Calibration::kept().map(|found| found.highest_rate_per_s);
    let room = Room { threads, calibrated, files: getrlimit(Resource::Nofile).current, memory: memory::there() };
    room.lacks(workload, share, for_nobody)
}

/// What is told of several runs: of each kind what lacks most, with the name of the run, and how many others lack the same.
pub(crate) fn worst<N>(all: impl IntoIterator<Item = (N, Beyond)>) -> Vec<(N, Beyond, usize)> {
    let mut told: Vec<(N, Beyond, usize)> = Vec::new();
    for (name, one) in all {
        match told.iter_mut().find(|(_, known, _)| mem::discriminant(known) == mem::discriminant(&one)) {
            None => told.push((name, one, 0)),
            Some((of, worst, others)) => {
                *others += 1;
                if one.excess() > worst.excess() {
                    (*of, *worst) = (name, one);
                }
            }
        }
    }
    told
}

impl Beyond {
    /// How many times what there is would be needed.
    fn excess(&self) -> f64 {
        match *self {
            Self::Rate { asked_per_s, possible_per_s, .. } => asked_per_s / possible_per_s,
            Self::Files { connections, allowed } => connections as f64 / allowed as f64,
            Self::Memory { needed, there, .. } => needed as f64 / there as f64,
        }
    }
}

impl Room {
    fn lacks(&self, workload: &Workload, share: Share, for_nobody: bool) -> Vec<Beyond> {
        let users = match workload.sessions() {
            Sessions::Closed(closed) => Some((closed.users() as f64 * share.fraction()).ceil() as u64),
            _ => None,
        };
        let (rate, files) = match for_nobody {
            true => (None, None),
            false => (self.lacks_threads(workload, share), self.lacks_files(workload, share, users)),
        };
        [rate, files, users.and_then(|users| self.lacks_memory(users))].into_iter().flatten().collect()
    }

    fn lacks_threads(&self, workload: &Workload, share: Share) -> Option<Beyond> {
        let asked_per_s = workload.most_per_s()? * share.fraction();
        let possible_per_s = self.calibrated.unwrap_or(ANY_THREAD) * f64::from(self.threads);
        let rate =
            Beyond::Rate { asked_per_s, possible_per_s, threads: self.threads, calibrated: self.calibrated.is_some() };
        (asked_per_s > possible_per_s).then_some(rate)
    }

    fn lacks_files(&self, workload: &Workload, share: Share, users: Option<u64>) -> Option<Beyond> {
        let target = workload.target()?;
        let limit = target.connections().map(|limit| (f64::from(limit) * share.fraction()).ceil() as u64);
        // Over HTTP/2 many requests are under way on one connection.
        let shared = target.protocol() != Protocol::Http1 && target.reuse() == Reuse::Pool;
        let connections = [limit, users.filter(|_| !shared)].into_iter().flatten().min()?;
        let allowed = self.files?.saturating_sub(OTHER_FILES);
        (connections > allowed).then_some(Beyond::Files { connections, allowed })
    }

    fn lacks_memory(&self, users: u64) -> Option<Beyond> {
        let (needed, there) = (users.saturating_mul(USER_BYTES), self.memory?);
        (needed > there).then_some(Beyond::Memory { users, needed, there })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(text: &str, room: &Room, share: &str, for_nobody: bool) -> Vec<Beyond> {
        let text = format!("duration = \"10s\"\ntarget.url = \"http://127.0.0.1:1/\"\n{text}");
        let input = crate::Input::new("inline".to_owned(), text.clone(), |_| Err("there is no such file".to_owned()));
        room.lacks(&input.parse(&text).unwrap(), share.parse().unwrap(), for_nobody)
    }

    const ROOM: Room = Room { threads: 2, calibrated: Some(60_000.0), files: Some(1032), memory: Some(62_000_000) };

    #[test]
    fn a_rate_is_held_to_what_calibration_found_and_else_to_what_no_thread_of_ours_has_made() {
        let rate = |asked_per_s, possible_per_s, calibrated| {
            vec![Beyond::Rate { asked_per_s, possible_per_s, threads: 2, calibrated }]
        };
        let ramp = "arrivals.open.rate = { ramp = [\"0/s\", \"150000/s\"], over = \"10s\" }";
        let at = |text| lacks(text, &ROOM, "1/1", false);
        assert_eq!(at("arrivals.open.rate = \"120000/s\""), []);
        assert_eq!(at("arrivals.open.rate = \"120001/s\""), rate(120_001.0, 120_000.0, true));
        assert!(matches!(at(ramp)[..], [Beyond::Rate { asked_per_s: 149_000.0..=150_000.0, .. }]), "its peak counts");
        assert_eq!(lacks(ramp, &ROOM, "2/2", false), [], "half of it is asked of this machine");
        assert_eq!(lacks(ramp, &ROOM, "1/1", true), [], "nobody waits for a dry run");
        assert_eq!(
            at("arrivals.closed = { users = 1000, think.constant = \"1ms\" }"),
            rate(1e6, 120_000.0, true),
            "users who only think"
        );
        assert_eq!(at("arrivals.closed.users = 1000"), [], "the server alone decides");
        let unknown = Room { calibrated: None, ..ROOM };
        assert_eq!(lacks("arrivals.open.rate = \"400000/s\"", &unknown, "1/1", false), []);
        assert_eq!(lacks("arrivals.open.rate = \"10000000/s\"", &unknown, "1/1", false), rate(1e7, 400_000.0, false));
    }

    #[test]
    fn users_and_connections_are_held_to_the_files_that_may_be_open() {
        let files = |connections| vec![Beyond::Files { connections, allowed: 1000 }];
        let at = |text: &str| {
            lacks(
                &format!("{text}\narrivals.closed = {{ users = 3000, think.constant = \"1s\" }}"),
                &ROOM,
                "1/1",
                false,
            )
        };
        assert_eq!(at(""), files(3000));
        assert_eq!(at("target.connections = 2000"), files(2000));
        assert_eq!(at("target.connections = 1000"), []);
        assert_eq!(at("target.protocol = \"h2\""), [], "they share a few connections");
        let open = "target.connections = 5000\narrivals.open.rate = \"1/s\"";
        assert_eq!(lacks(open, &ROOM, "1/1", false), files(5000));
        assert_eq!(lacks(open, &ROOM, "1/5", false), []);
        assert_eq!(lacks(open, &Room { files: None, ..ROOM }, "1/1", false), []);
    }

    #[test]
    fn users_are_held_to_memory_of_a_dry_run_too() {
        let users = "arrivals.closed = { users = 1000001, think.constant = \"1h\" }";
        let memory = Beyond::Memory { users: 1_000_001, needed: 62_000_062, there: 62_000_000 };
        assert_eq!(lacks(users, &ROOM, "1/1", true), [memory]);
        assert_eq!(lacks(users, &ROOM, "1/2", true), []);
        assert_eq!(lacks(users, &Room { memory: None, ..ROOM }, "1/1", true), []);
    }

    #[test]
    fn of_many_runs_the_one_that_lacks_most_is_told_for_all() {
        let memory = |users| Beyond::Memory { users, needed: 62 * users, there: 62 };
        let files = Beyond::Files { connections: 3000, allowed: 1000 };
        let told = worst([("a", memory(2)), ("b", files), ("c", memory(9)), ("d", memory(4))]);
        assert_eq!(told, [("c", memory(9), 2), ("b", files, 0)]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_says_how_much_memory_there_is() {
        assert!(memory::there().unwrap() > 1 << 20);
    }
}
