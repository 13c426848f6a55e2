//! The clocks of the workers of a run: their offsets from the clock of worker 1, and the resulting uncertainty of the
//! gaps.
//!
//! Let `e_k` be the clock error of worker k, with `|e_k| <= b_k`. Moving points on a line by amounts between the
//! smallest and the largest `e` moves the j-th smallest point by an amount between the same two. So each gap between
//! neighbours changes by at most the difference of these two, which is at most the sum of the two largest `b`: the
//! uncertainty. The standard deviation of the gaps changes by at most as much, because it is a distance, and the CoV by
//! at most uncertainty / mean gap.

use offered_events::Recording;
use offered_events::recording::NodeClock;

use crate::criteria::Criteria;
use crate::verdict::{Clock, WarningKind};

/// One row per worker whose clock is known, and a warning if the clocks are too uncertain for this mean gap (ns).
pub(crate) fn clocks_and_warning(
    recording: &Recording,
    mean_gap: f64,
    criteria: &Criteria,
) -> (Vec<Clock>, Option<WarningKind>) {
    let rows = rows(recording);
    let unordered = order_warning(&rows, mean_gap, criteria);
    (rows, unordered)
}

fn rows(recording: &Recording) -> Vec<Clock> {
    let ms = |ns: i64| ns as f64 / 1e6;
    let row = |of: &NodeClock| {
        let (clock, here) = (&of.clock, of.is_first.then_some(0.0));
        Clock {
            label: of.name.clone(),
            synchronised: clock.synchronised,
            max_error_ms: clock.error_ns.map(|error| error as f64 / 1e6),
            offset_ms: here.or(clock.before.or(clock.after).map(|offset| ms(offset.offset_ns))),
            drift_ms: here.or(clock.drift_ns().map(ms)),
            offset_uncertainty_ms: here.or(clock.within_ns().map(|within| within as f64 / 1e6)),
        }
    };
    recording.clocks.iter().map(row).collect()
}

/// A warning if these clocks make the gaps, with this mean (ns), more uncertain than the tolerance.
fn order_warning(clocks: &[Clock], mean_gap: f64, criteria: &Criteria) -> Option<WarningKind> {
    let mut within: Vec<f64> = clocks.iter().filter_map(|clock| clock.offset_uncertainty_ms).collect();
    within.sort_by(|one, other| other.total_cmp(one));
    let (spread_ms, gap_ms) = (within.iter().take(2).sum::<f64>(), mean_gap / 1e6);
    let cov = spread_ms / gap_ms;
    (cov > criteria.cov_tolerance).then_some(WarningKind::OrderUncertain {
        clock_uncertainty_ms: spread_ms,
        mean_gap_ms: gap_ms,
        cov_uncertainty: cov,
    })
}

#[cfg(test)]
mod tests {
    use offered_base::random::Purpose;
    use offered_base::{Instant, Nanos, Seed};
    use offered_events::{ClockOffset, Event, WorkerClock};
    use offered_stats::values::Moments;

    use super::*;
    use crate::{Validity, verify};

    fn offset(bound_ns: u64) -> ClockOffset {
        ClockOffset { offset_ns: -50_000_000, bound_ns, at_unix_ns: 0, answers: 32 }
    }

    /// Two workers that alternate in sending Poisson requests, 1 ms apart on average; the clock of the second is known
    /// to `bound_ns`.
    fn recording(bound_ns: u64) -> Recording {
        let mut stream = Seed(7).stream(Purpose::Arrivals);
        let mut at = 0.0;
        let event = |number: u64| {
            at -= 1e6 * stream.uniform().max(1e-12).ln();
            let intended = Instant(at as u64);
            Event { sent: Some(intended), session: number, worker: (number % 2) as u16, ..Event::at(intended) }
        };
        let events = (0..20_000).map(event).collect();
        let second =
            WorkerClock { before: Some(offset(bound_ns)), after: Some(offset(bound_ns)), ..WorkerClock::default() };
        let clock = |name: &str, is_first, clock| NodeClock { name: name.to_owned(), is_first, clock };
        Recording {
            nodes: vec![("1/2 on a".to_owned(), 0), ("2/2 on b".to_owned(), 1)],
            clocks: vec![clock("1/2 on a", true, WorkerClock::default()), clock("2/2 on b", false, second)],
            ..Recording::of_run(events, vec!["home".to_owned()])
        }
    }

    #[test]
    fn clock_uncertainty_near_the_mean_gap_is_a_warning() {
        let (criteria, fine) =
            (Criteria { duration: Some(Nanos::from_secs(30)), ..Criteria::default() }, recording(10_000));
        let verdict = verify(&fine, &criteria).unwrap();
        assert_eq!(verdict.validity, Validity::Valid, "{}", verdict.reason);
        let row = |clock: &Clock| (clock.offset_ms, clock.drift_ms, clock.offset_uncertainty_ms);
        assert_eq!(
            verdict.clocks.iter().map(row).collect::<Vec<_>>(),
            [(Some(0.0), Some(0.0), Some(0.0)), (Some(-50.0), Some(0.0), Some(0.01))]
        );
        let verdict = verify(&recording(300_000), &criteria).unwrap();
        assert_eq!(verdict.validity, Validity::ValidWithWarnings, "{}", verdict.reason);
        let unordered = |warning: &WarningKind| matches!(warning, WarningKind::OrderUncertain { clock_uncertainty_ms, mean_gap_ms, cov_uncertainty } if *clock_uncertainty_ms == 0.3 && (0.9..1.1).contains(mean_gap_ms) && (cov_uncertainty / 0.3 - 1.0).abs() < 0.1);
        assert!(verdict.warnings.iter().filter_map(|warning| warning.details.as_ref()).any(unordered));
        assert!(verdict.reason.starts_with("the clocks of the workers agree only to 300 us"), "{}", verdict.reason);
    }

    #[test]
    fn the_cov_uncertainty_is_an_upper_bound() {
        let (bounds, gap) = ([0.0, 0.4, 1.7], 1.0);
        let clock = |within: &f64| Clock { offset_uncertainty_ms: Some(*within), ..Clock::default() };
        let clocks: Vec<Clock> = bounds.iter().map(clock).collect();
        let Some(WarningKind::OrderUncertain { cov_uncertainty: said, .. }) =
            order_warning(&clocks, gap * 1e6, &Criteria::default())
        else {
            panic!("a doubt");
        };
        let mut stream = Seed(11).stream(Purpose::Arrivals);
        let mut at = 0.0;
        let points: Vec<f64> = (0..3000)
            .map(|_| {
                at -= gap * stream.uniform().ln();
                at
            })
            .collect();
        let cov = |moved: [f64; 3]| {
            let mut moved: Vec<u64> =
                points.iter().enumerate().map(|(number, at)| ((at + 10.0 + moved[number % 3]) * 1e6) as u64).collect();
            moved.sort_unstable();
            let mut gaps = Moments::default();
            moved.windows(2).for_each(|pair| gaps.add(pair[1] - pair[0], 1));
            gaps.cov().unwrap()
        };
        let mut sides = vec![[0.0; 3]];
        for worker in 1..3 {
            sides = sides
                .iter()
                .flat_map(|side| {
                    [-1.0, 0.3, 1.0].map(|part| {
                        let mut side = *side;
                        side[worker] = part * bounds[worker];
                        side
                    })
                })
                .collect();
        }
        let seen = cov([0.0; 3]);
        for side in sides {
            assert!((cov(side) - seen).abs() <= said, "{side:?}: {} and {seen}, said {said}", cov(side));
        }
    }

    #[test]
    fn unknown_clocks_give_no_warning() {
        assert_eq!(order_warning(&[], 1e6, &Criteria::default()), None);
        assert_eq!(order_warning(&[Clock::default(), Clock::default()], 1e6, &Criteria::default()), None);
    }
}
