//! Server policies that alternate within one run. A command applies each policy while requests are sent.
//!
//! Two runs of a server differ because of other activity of the machine. At a high load this difference is larger than
//! the effect of most policies. Within one run all policies have the same conditions. Their blocks are in the order
//! ABBA, ABC CBA, ... so that a linear drift affects all policies equally. The beginning of each block, which still has
//! the queue of the previous one, is excluded.

use std::ops::Range;

use offered_base::time::{Instant, Nanos};

/// Blocks are no shorter: a command takes some milliseconds to start.
pub(super) const SHORTEST: Nanos = Nanos::from_millis(100);

/// Alternating policies of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies {
    /// The names of the policies, in the order of their first blocks.
    pub names: Vec<String>,
    /// Duration of a block.
    pub block: Nanos,
    /// The time at the beginning of a block that is excluded.
    pub settle: Nanos,
    /// The command that applies a policy; `{{policy}}` in its arguments is replaced by the name.
    pub hook: Vec<String>,
}

/// One block of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The index of the policy.
    pub policy: usize,
    /// The time at which the command applies the policy.
    pub begins: Instant,
    /// Requests scheduled from this instant on count for the policy.
    pub settled: Instant,
    /// The end of the block.
    pub ends: Instant,
}

impl Policies {
    /// Duration of one round: each policy once forwards and once backwards.
    pub fn round(&self) -> Nanos {
        Nanos(self.block.0.saturating_mul(2 * self.names.len() as u64))
    }

    /// The blocks in the measured time. The first policy is applied before the start of the run, so it also serves the
    /// ramp-up.
    pub fn turns(&self, counted: Range<Instant>) -> impl Iterator<Item = Turn> + use<> {
        let (policies, block, settle) = (self.names.len(), self.block, self.settle);
        let starts = (0u64..).map(move |number| (number, counted.start + Nanos(number * block.0)));
        starts.take_while(move |(_, at)| *at + block <= counted.end).map(move |(number, at)| {
            let place = (number % (2 * policies as u64)) as usize;
            Turn {
                policy: if place < policies { place } else { 2 * policies - 1 - place },
                begins: if number == 0 { Instant::ZERO } else { at },
                settled: at + settle,
                ends: at + block,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;
    use crate::write::tests::read;

    /// Two policies in blocks of 8 s, with this instead of a line of theirs, or with one more.
    fn text(duration: &str, line: &str) -> String {
        let lines = ["names = [\"a\", \"b c\"]", "block = \"8s\"", "hook = [\"./switch\", \"{{policy}}\"]"];
        let key = line.split(' ').next().unwrap_or_default();
        let kept: Vec<&str> =
            lines.into_iter().filter(|line| !line.starts_with(&format!("{key} "))).chain([line]).collect();
        format!(
            "duration = \"{duration}\"\nskip_first = \"10s\"\narrivals.open.rate = \"1/s\"\n[policies]\n{}\n",
            kept.join("\n")
        )
    }

    #[test]
    fn policies_are_read_and_written() {
        let workload = read(&text("74s", ""));
        let said = workload.policies().unwrap();
        assert_eq!(
            (said.names[1].as_str(), said.block, said.settle),
            ("b c", Nanos::from_secs(8), Nanos::from_secs(2))
        );
        assert_eq!(said.turns(workload.counted()).count(), 8);
        assert_eq!(read(&workload.to_string()), workload);
        assert_eq!(read(&text("74s", "settle = \"0s\"")).policies().unwrap().settle, Nanos::ZERO);
    }

    #[test]
    fn invalid_policies_are_errors_with_a_fix() {
        for (duration, line, words) in [
            (
                "75s",
                "",
                "time, 1m5s: one round of 2 policies, forwards and backwards, takes 32s; write duration = 1m14s or 1m46s",
            ),
            ("20s", "", "write duration = 42s"),
            ("74s", "names = [\"a\"]", "needs at least two policies"),
            ("74s", "names = [\"a\", \"a\"]", "has `a` twice"),
            ("74s", "names = [\"a\", \" \"]", "a name that is empty"),
            ("74s", "hook = []", "must be a command"),
            ("74s", "block = \"99ms\"", "at least 100ms"),
            ("74s", "settle = \"8s\"", "must be shorter than a block, 8s"),
            ("74s", "command = []", "`command`"),
        ] {
            let parsed = Workload::parse(&text(duration, line), "w.toml", &|_| Err(String::new()));
            let why = parsed.unwrap_err().to_string();
            assert!(why.contains(words) && why.starts_with("w.toml:"), "{line}: {why}");
        }
        let counted = format!("requests = 7\n{}", text("74s", ""));
        let why = Workload::parse(&counted, "w.toml", &|_| Err(String::new())).unwrap_err().to_string();
        assert!(why.contains("needs a duration, without"), "{why}");
    }

    #[test]
    fn turns_go_forth_and_back_so_that_a_drift_falls_upon_all_alike() {
        let seconds = Nanos::from_secs;
        let policies = Policies {
            names: ["a", "b", "c"].map(str::to_owned).into(),
            block: seconds(8),
            settle: seconds(2),
            hook: vec!["./switch".into()],
        };
        let turns: Vec<Turn> = policies.turns(Instant::from_secs(10)..Instant::from_secs(106)).collect();
        let order: String = turns.iter().map(|turn| policies.names[turn.policy].as_str()).collect();
        assert_eq!(order, "abccbaabccba");
        let first =
            Turn { policy: 0, begins: Instant::ZERO, settled: Instant::from_secs(12), ends: Instant::from_secs(18) };
        assert_eq!(turns[0], first);
        let middles = |policy| turns.iter().filter(|t| t.policy == policy).map(|t| t.settled.0 + t.ends.0).sum::<u64>();
        assert_eq!((middles(0), middles(1)), (middles(1), middles(2)));
        assert_eq!(policies.round(), seconds(48));
    }
}
