//! The first lines of `run` and `verify` in the terminal: aligned, wrapped, with the fixes of the reason.

use std::fmt::{self, Formatter};

use offered_base::visible;
use offered_report::{Subject, VerdictLines};
use offered_verify::{Warning, WarningKind};

use crate::messages;
use crate::table::wrapped;

/// Writes the lines. Below the validity come the fixes of the warnings that its reason names.
pub(crate) fn write(f: &mut Formatter<'_>, input: VerdictLines<'_>) -> fmt::Result {
    let lines = input.lines();
    let width = lines.iter().map(|line| line.judgement.len()).max().unwrap_or(0);
    for line in lines {
        wrapped(f, &format!("{:width$}  ", line.judgement), &visible(&line.text))?;
        if line.subject == Subject::Validity {
            let fixes = input.verdict.warnings.iter().filter(|warning| warning.in_reason);
            fixes.map(messages::fix).try_for_each(|fix| wrapped(f, &" ".repeat(width + 2), &format!("fix: {fix}")))?;
        }
    }
    Ok(())
}

/// Whether the lines state this warning.
pub(crate) fn states(warning: &Warning) -> bool {
    warning.in_reason || matches!(warning.details, Some(WarningKind::StoppedEarly { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::Instant;
    use offered_events::{Event, Recording};
    use offered_verify::{Criteria, Stability, StabilityState, Validity, Verdict, verify};

    struct Lines(Verdict);

    impl fmt::Display for Lines {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            let (target_rate_per_s, states_expected) = (Some(150.0), false);
            write(
                f,
                VerdictLines { verdict: &self.0, thresholds: &[], failures: &[], target_rate_per_s, states_expected },
            )
        }
    }

    #[test]
    fn judgements_come_first_and_their_texts_are_aligned() {
        let event = |i: u64| {
            let at = Instant::from_millis(10 * i);
            Event { sent: Some(at), done: Some(at), ..Event::at(at) }
        };
        let recording = Recording::of_run((0..500).map(event).collect(), vec!["home".to_owned()]);
        let verdict = verify(&recording, &Criteria::default()).unwrap();
        let stability = Some(Stability {
            state: StabilityState::Overloaded,
            not_checked_reason: None,
            sent_rate_per_s: 150.0,
            completed_rate_per_s: 88.0,
            in_flight_at_start: 0,
            in_flight_at_end: 620,
            timed_out: 0,
            growth_per_s: 62.0,
            growth_low_per_s: 52.0,
            growth_high_per_s: 76.0,
        });
        let (validity, reason) = (Validity::Invalid, "the generator was saturated from 12.3 s on".to_owned());
        let text =
            Lines(Verdict { validity, reason, stability, requests: Vec::new(), warnings: Vec::new(), ..verdict });
        let text = text.to_string();
        assert!(text.starts_with("INVALID     the generator was saturated from 12.3 s on\n"), "{text}");
        let overloaded = "OVERLOADED  target 150/s, sent 150/s, completed 88/s: backlog grows 62/s (99 %:";
        assert!(text.contains(overloaded), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
