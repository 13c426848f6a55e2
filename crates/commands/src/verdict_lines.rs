//! The first lines of `run` and `verify` in the terminal: aligned, wrapped, with the fixes of the reason.

use offered_base::visible;
use offered_experiment::Failure;
use offered_report::{Subject, VerdictLine, VerdictLines};
use offered_verify::{Verdict, Warning, WarningKind};

use crate::messages;
use crate::table::{hanging, paragraph};

/// The widest judgement that texts are aligned to: `NOT FINISHED`.
const WIDEST: usize = 12;

/// The lines, aligned, with at most `thresholds` lines of thresholds. Below each line are its fixes.
pub(crate) fn lines(input: VerdictLines<'_>, thresholds: usize) -> Vec<String> {
    let (lines, omitted) = limited(input.lines(), thresholds);
    // A longer one would make the texts of all lines narrow.
    let widths = lines.iter().map(|line| line.judgement.len()).filter(|width| *width <= WIDEST);
    let width = widths.max().unwrap_or(WIDEST);
    let mut printed = Vec::new();
    for line in lines {
        printed.extend(hanging(&format!("{:width$}  ", line.judgement), width + 2, &visible(&line.text)));
        for fix in line.fixes(input.verdict, |warning| messages::fix(input.verdict, warning)) {
            printed.extend(paragraph(&" ".repeat(width + 2), &format!("fix: {}", visible(&fix))));
        }
    }
    if omitted > 0 {
        let s = if omitted == 1 { "" } else { "s" };
        printed.push(format!("{:width$}  {omitted} more line{s} of thresholds: --details", ""));
    }
    printed
}

/// The first `most` lines of thresholds, and the number of omitted ones. If an omitted line has a fix, the last line
/// shown gets it.
fn limited(lines: Vec<VerdictLine>, most: usize) -> (Vec<VerdictLine>, usize) {
    let mut thresholds = 0;
    let keep = |line: &VerdictLine| {
        thresholds += usize::from(line.subject == Subject::Thresholds);
        line.subject != Subject::Thresholds || thresholds <= most
    };
    let (mut kept, omitted): (Vec<VerdictLine>, Vec<VerdictLine>) = lines.into_iter().partition(keep);
    let number = omitted.len();
    if let Some(fix) = omitted.into_iter().find_map(|line| line.fix)
        && let Some(last) = kept.iter_mut().rfind(|line| line.subject == Subject::Thresholds)
    {
        last.fix = Some(fix);
    }
    (kept, number)
}

/// What the lines of a verdict depend on. A run says nothing of expected arrivals, which its workload states; the file of another tool does.
pub(crate) fn input<'a>(verdict: &'a Verdict, failures: &'a [Failure]) -> VerdictLines<'a> {
    let target_rate_per_s = verdict.expected.target_request_rate_per_s;
    let (thresholds, states_expected) = (&verdict.thresholds[..], !verdict.expected.is_own_workload);
    VerdictLines { verdict, thresholds, failures, target_rate_per_s, states_expected }
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
    use offered_report::document::Status;
    use offered_verify::{Criteria, Stability, StabilityState, Validity, verify};

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
            scheduled_rate_per_s: None,
            sent_rate_per_s: 150.0,
            completed_rate_per_s: 88.0,
            in_flight_at_start: 0,
            in_flight_at_middle: 310,
            in_flight_at_end: 620,
            timed_out: 0,
            completed_later: 0,
            growth_per_s: 62.0,
            growth_low_per_s: 52.0,
            growth_high_per_s: 76.0,
        });
        let (validity, reason) = (Validity::Invalid, "the generator was saturated from 12.3 s on".to_owned());
        let verdict = Verdict { validity, reason, stability, requests: Vec::new(), warnings: Vec::new(), ..verdict };
        let (target_rate_per_s, states_expected) = (Some(150.0), false);
        let (thresholds, failures) = (&[][..], &[][..]);
        let input = VerdictLines { verdict: &verdict, thresholds, failures, target_rate_per_s, states_expected };
        let text = lines(input, 4).join("\n");
        assert!(text.starts_with("INVALID      the generator was saturated from 12.3 s on\n"), "{text}");
        let overloaded = "OVERLOADED   target 150/s, sent 150/s, completed 88/s: backlog grows 62/s (99 %";
        assert!(text.contains(overloaded), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn the_fix_of_thresholds_that_are_left_out_is_shown() {
        let failed = |number: u32, fix: Option<&str>| VerdictLine {
            subject: Subject::Thresholds,
            status: Status::Failed,
            judgement: "FAILED",
            text: number.to_string(),
            fix: fix.map(str::to_owned),
        };
        let lines = vec![failed(1, None), failed(2, None), failed(3, Some("lower the load"))];
        let (kept, omitted) = limited(lines, 2);
        assert_eq!((kept.len(), omitted), (2, 1));
        assert_eq!(kept[1], failed(2, Some("lower the load")));
    }
}
