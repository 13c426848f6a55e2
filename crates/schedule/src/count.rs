//! The count: a maximum number of requests or sessions of a run.

use serde::{Deserialize, Serialize};

/// A maximum number of requests or sessions. A run ends at this number or at the workload's duration, whichever is first.
///
/// If arrivals do not depend on responses (open, partly-open by sessions, a replay), the schedule ends after this
/// number. Otherwise requests are counted when they are sent, and each share of the run sends a part that is fixed
/// before the start. The parts add up to the count for every division of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// Requests, sent or not.
    Requests(u64),
    /// Complete sessions: visits of closed users, requests of an open system.
    Sessions(u64),
}

impl Count {
    /// The number of requests or sessions.
    pub fn number(self) -> u64 {
        match self {
            Self::Requests(n) | Self::Sessions(n) => n,
        }
    }

    /// The expected number of sessions, with `length` requests per session on average.
    pub fn sessions(self, length: f64) -> f64 {
        match self {
            Self::Requests(n) => n as f64 / length,
            Self::Sessions(n) => n as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use offered_base::Share;

    #[test]
    fn parts_of_a_count_are_the_count_however_a_run_is_divided() {
        for (n, users) in [(10, 3), (1, 7), (7, 7), (1000, 1), (10_000, 57), (5, 100)] {
            for (machines, threads) in [(1, vec![1]), (2, vec![3, 1]), (3, vec![1, 4, 2])] {
                let share = |machine| Share::new(machine, machines).unwrap();
                let parts = (0u64..).zip(&threads).flat_map(|(machine, threads)| {
                    (0..*threads).map(move |thread| share(machine).part(thread, *threads))
                });
                let of = parts.map(|part| (part.of(users).count(), part.of_users(n, users)));
                let of: Vec<_> = of.collect();
                assert_eq!(of.iter().map(|(_, launches)| launches).sum::<u64>(), n, "{n} of {users} on {threads:?}");
                assert!(of.iter().all(|(users, launches)| *users > 0 || *launches == 0), "{of:?}");
            }
        }
    }
}
