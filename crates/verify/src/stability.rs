//! Stability: whether completions follow arrivals.
//!
//! N(t) is the number in flight at t: requests scheduled before t that have not completed. A request that timed out or
//! was cut off by the end of the run never completed, because giving up does not shorten the server's queue. The
//! analysed time is divided into [`PARTS`] equal parts. The system is overloaded if the 99 % confidence interval of the
//! mean change of N is above zero and the change exceeds [`SIGNIFICANT_GROWTH`] of the requests. It is stable if the
//! change is below [`UNCLEAR_GROWTH`] of them. In between, the run is too short to tell. A failed request counts as
//! completed. But if more than [`UNCLEAR_GROWTH`] of the completed requests failed (refused, aborted, or answered with
//! an error), the server may have rejected load, so stability is not checked.
//!
//! Users of a closed system wait for responses and cannot overload it, so stability is not checked there.

use offered_base::{Instant, count};
use offered_events::{Event, Outcome};
use offered_stats::growth::growth;

use crate::verdict::{NotCheckedReason, Stability, StabilityState};

/// Number of parts of the analysed time.
const PARTS: usize = 20;
/// The number of requests in flight may grow by this share of the sent requests without counting as an overload.
pub const SIGNIFICANT_GROWTH: f64 = 0.02;
/// Growth below this share of the requests counts as chance if it is not significant.
const UNCLEAR_GROWTH: f64 = 0.05;
/// A smaller rise of the number in flight of a stable system needs no explanation.
const NOTICEABLE_RISE: u64 = 20;
/// The number in flight no longer rises if at most one in this number came in the second half of the time.
const MAX_LATE_RISE: u64 = 4;

/// Arrivals and completions per part of the analysed time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowCounts {
    from: Instant,
    to: Instant,
    before: i64,
    arrived: [u64; PARTS],
    left: [u64; PARTS],
    answered: u64,
    well: u64,
    given_up: u64,
    /// Number of requests that completed after the analysed time.
    later: u64,
}

impl FlowCounts {
    /// Creates empty counts for the analysed time [`from`, `to`).
    pub fn new(from: Instant, to: Instant) -> Self {
        Self { from, to, before: 0, arrived: [0; PARTS], left: [0; PARTS], answered: 0, well: 0, given_up: 0, later: 0 }
    }

    /// Adds an event.
    pub fn add(&mut self, event: &Event) {
        // The system never received it.
        if event.sent.is_none() {
            return;
        }
        let left = event.done.filter(|_| !matches!(event.outcome, Outcome::Timeout | Outcome::Cut));
        match self.part(event.intended) {
            Some(part) => self.arrived[part] += 1,
            None if event.intended < self.from => self.before += 1,
            None => return,
        }
        let ended = event.done.filter(|done| *done < self.to);
        self.given_up += u64::from(event.outcome == Outcome::Timeout && ended.is_some());
        match left.map(|left| (left, self.part(left))) {
            Some((_, Some(part))) => {
                self.left[part] += 1;
                self.answered += u64::from(event.outcome.is_response());
                self.well += u64::from(event.outcome == Outcome::Ok);
            }
            Some((left, None)) if left < self.from => self.before -= 1,
            Some((_, None)) => self.later += 1,
            None => {}
        }
    }

    fn part(&self, at: Instant) -> Option<usize> {
        let span = u128::from(self.from.until(self.to).0);
        (self.from..self.to).contains(&at).then(|| (u128::from(self.from.until(at).0) * PARTS as u128 / span) as usize)
    }

    /// Whether the system is stable. `closed` is true if users wait for responses. The scheduled rate is `None`.
    pub fn stability(&self, closed: bool) -> Stability {
        let seconds = self.from.until(self.to).as_secs_f64();
        let changes: Vec<f64> =
            self.arrived.iter().zip(&self.left).map(|(arrived, left)| *arrived as f64 - *left as f64).collect();
        let launched: u64 = self.arrived.iter().sum();
        let grown: f64 = changes.iter().sum();
        let growth = growth(&changes).expect("more than one part");
        let share = grown / launched as f64;
        let left: u64 = self.left.iter().sum();
        let failed = (left - self.well) as f64 > UNCLEAR_GROWTH * left as f64;
        let (judgement, not_checked) = match () {
            () if closed => (StabilityState::NotChecked, Some(NotCheckedReason::ClosedSystem)),
            () if launched < StabilityState::FEWEST_REQUESTS => {
                (StabilityState::NotChecked, Some(NotCheckedReason::TooFewRequests))
            }
            () if growth.interval.low > 0.0 && share > SIGNIFICANT_GROWTH => (StabilityState::Overloaded, None),
            () if share < UNCLEAR_GROWTH && failed => {
                (StabilityState::NotChecked, Some(NotCheckedReason::TooManyFailures))
            }
            () if share >= UNCLEAR_GROWTH => (StabilityState::NotChecked, Some(NotCheckedReason::RunTooShort)),
            () => (StabilityState::Stable, None),
        };
        let a_second = PARTS as f64 / seconds;
        let first = self.before.max(0) as f64;
        let grown_by_middle: f64 = changes[..PARTS / 2].iter().sum();
        Stability {
            state: judgement,
            not_checked_reason: not_checked,
            scheduled_rate_per_s: None,
            sent_rate_per_s: launched as f64 / seconds,
            completed_rate_per_s: self.answered as f64 / seconds,
            in_flight_at_start: first as u64,
            in_flight_at_middle: (first + grown_by_middle).max(0.0) as u64,
            in_flight_at_end: (first + grown).max(0.0) as u64,
            timed_out: self.given_up,
            completed_later: self.later,
            growth_per_s: growth.mean * a_second,
            growth_low_per_s: growth.interval.low * a_second,
            growth_high_per_s: growth.interval.high * a_second,
        }
    }
}

/// A completed rate above this share of the sent rate needs no explanation.
const NEARLY_ALL: f64 = 0.99;

/// With a smaller share of the target rate, stability at the target rate is not checked if requests are missing.
const MIN_TARGET_SHARE: f64 = 0.95;

impl Stability {
    /// The stability of a run in which requests are missing or the rate is wrong: not checked if less than 95 % of the target rate was sent,
    /// because a system that is stable at a lower rate need not be at the target rate. An overloaded one is at any higher rate. With gaps
    /// in the recording the scheduled rate is unknown.
    pub(crate) fn at_target(mut self, target_rate_per_s: Option<f64>, has_gaps: bool) -> Self {
        self.scheduled_rate_per_s = self.scheduled_rate_per_s.filter(|_| !has_gaps);
        let is_short = target_rate_per_s.is_some_and(|target| self.sent_rate_per_s < MIN_TARGET_SHARE * target);
        let is_closed = self.not_checked_reason == Some(NotCheckedReason::ClosedSystem);
        if !is_short || is_closed || self.state == StabilityState::Overloaded {
            return self;
        }
        let not_checked_reason = Some(NotCheckedReason::TargetNotSent);
        Self { state: StabilityState::NotChecked, not_checked_reason, ..self }
    }

    /// The number in flight at the start and at the end: `in flight 0 -> 244, 17 of them timed out, 227 completed later`.
    /// If a stable system was empty at the start, its number in flight rises at first; then the text states that it
    /// stopped rising. If the completed rate is more than 1 % below the sent rate, the text states how many requests
    /// completed later: tables contain their responses, and the completed rate does not.
    pub fn in_flight_text(&self) -> String {
        let [start, middle, end] = [self.in_flight_at_start, self.in_flight_at_middle, self.in_flight_at_end];
        let rise = end.saturating_sub(start);
        let is_level = self.state == StabilityState::Stable
            && rise >= NOTICEABLE_RISE
            && end.saturating_sub(middle) <= rise / MAX_LATE_RISE;
        let level = if is_level { format!(" ({} half-way: no longer rising)", count(middle)) } else { String::new() };
        let timed_out = match self.timed_out {
            0 => String::new(),
            n => format!(", {} of them timed out", count(n)),
        };
        let is_noticeable = self.completed_rate_per_s < NEARLY_ALL * self.sent_rate_per_s;
        let later = match self.completed_later {
            n if n == 0 || !is_noticeable => String::new(),
            n if n == end => ", all of them completed later".to_owned(),
            n => format!(", {} completed later", count(n)),
        };
        format!("in flight {} -> {}{level}{timed_out}{later}", count(start), count(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Instant, Nanos, Purpose, Seed};

    /// One minute of Poisson arrivals at 100/s at one FCFS server with exponential service times and this load.
    fn queue(load: f64, seed: u64) -> Vec<Event> {
        let mut stream = Seed(seed).stream(Purpose::Arrivals);
        let (mut at, mut free) = (0.0, 0f64);
        let mut events = Vec::new();
        loop {
            at += stream.exponential() / 100.0;
            if at >= 60.0 {
                return events;
            }
            free = free.max(at) + load / 100.0 * stream.exponential();
            let sent = Instant::from_secs_f64(at);
            let done = Some(Instant::from_secs_f64(free));
            events.push(Event { sent: Some(sent), done, outcome: Outcome::Ok, status: 200, ..Event::at(sent) });
        }
    }

    fn judged(events: &[Event], closed: bool) -> Stability {
        let mut flows = FlowCounts::new(Instant::from_secs(10), Instant::from_secs(60));
        for event in events {
            flows.add(event);
        }
        flows.stability(closed)
    }

    #[test]
    fn a_queue_is_stable_below_capacity_and_overloaded_above() {
        for seed in 0..20 {
            assert_eq!(judged(&queue(0.8, seed), false).state, StabilityState::Stable, "seed {seed}");
            let over = judged(&queue(1.5, seed), false);
            assert_eq!(over.state, StabilityState::Overloaded, "seed {seed}: {over:?}");
            // 100 arrive and 67 complete per second, from the start.
            assert!((22.0..46.0).contains(&over.growth_per_s), "{over:?}");
            assert!((55.0..78.0).contains(&over.completed_rate_per_s), "{over:?}");
            assert!((150..600).contains(&over.in_flight_at_start), "{over:?}");
            assert!((1400..2800).contains(&over.in_flight_at_end), "{over:?}");
            assert!(over.growth_low_per_s < over.growth_per_s && over.growth_per_s < over.growth_high_per_s);
        }
    }

    #[test]
    fn timeouts_do_not_make_a_server_stable() {
        let mut events = queue(1.5, 1);
        for event in &mut events {
            let limit = event.intended + Nanos::from_secs(1);
            if event.done.is_some_and(|done| done > limit) {
                *event = Event { done: Some(limit), outcome: Outcome::Timeout, status: 0, ..event.clone() };
            }
        }
        let given_up = judged(&events, false);
        assert_eq!(given_up.state, StabilityState::Overloaded);
        // Most of those in flight timed out; the text must say so.
        assert!(given_up.timed_out > 1000 && given_up.timed_out < given_up.in_flight_at_end, "{given_up:?}");
        let text = given_up.in_flight_text();
        assert!(text.contains(&format!(", {} of them timed out", count(given_up.timed_out))), "{text}");
        assert!(!judged(&queue(1.5, 1), false).in_flight_text().contains("timed out"));
        // A refused request has completed.
        for event in events.iter_mut().filter(|event| event.outcome == Outcome::Timeout) {
            event.outcome = Outcome::Refused;
        }
        // If all were refused, stability is unknown.
        assert_eq!(judged(&events, false).not_checked_reason, Some(NotCheckedReason::TooManyFailures));
        // Nor is a server stable that rejects one request in ten, even with a response.
        for (failing, expected) in [(10, Some(NotCheckedReason::TooManyFailures)), (30, None)] {
            for outcome in [Outcome::Refused, Outcome::HttpError] {
                let mut events = queue(0.5, 1);
                for event in events.iter_mut().step_by(failing) {
                    *event = Event { done: event.sent, outcome, ..event.clone() };
                }
                assert_eq!(judged(&events, false).not_checked_reason, expected, "one in {failing} {outcome:?}");
            }
        }
    }

    #[test]
    fn a_lower_rate_than_the_target_shows_nothing_about_the_target() {
        let stable = judged(&queue(0.5, 1), false);
        let stable = Stability { scheduled_rate_per_s: Some(100.0), ..stable };
        assert_eq!(stable.at_target(None, false), stable);
        assert_eq!(stable.at_target(None, true).scheduled_rate_per_s, None);
        assert_eq!(stable.at_target(Some(stable.sent_rate_per_s / 0.96), false), stable);
        let short = stable.at_target(Some(300.0), false);
        let reason = Some(NotCheckedReason::TargetNotSent);
        assert_eq!((short.state, short.not_checked_reason), (StabilityState::NotChecked, reason));
        let over = judged(&queue(1.5, 1), false);
        assert_eq!(over.at_target(Some(300.0), false), over);
        let closed = judged(&queue(0.5, 1), true);
        assert_eq!(closed.at_target(Some(300.0), false), closed);
    }

    #[test]
    fn a_system_that_fills_up_at_first_is_not_said_to_grow() {
        // Every response takes 0.8 s: 80 are in flight, from the first second on.
        let mut events = queue(0.1, 1);
        for event in &mut events {
            event.done = event.sent.map(|sent| sent + Nanos::from_millis(800));
        }
        let mut flows = FlowCounts::new(Instant::ZERO, Instant::from_secs(60));
        for event in &events {
            flows.add(event);
        }
        let filled = flows.stability(false);
        assert_eq!((filled.state, filled.in_flight_at_start), (StabilityState::Stable, 0));
        let text = filled.in_flight_text();
        assert!(text.starts_with("in flight 0 -> ") && text.contains(" half-way: no longer rising)"), "{text}");
        assert!(!judged(&queue(1.5, 1), false).in_flight_text().contains("half-way"));
    }

    #[test]
    fn responses_after_the_analysed_time_are_counted() {
        let over = judged(&queue(1.5, 1), false);
        assert_eq!(over.completed_later, over.in_flight_at_end);
        let text = over.in_flight_text();
        assert!(
            text.ends_with(&format!(" -> {}, all of them completed later", count(over.in_flight_at_end))),
            "{text}"
        );
        // Some never completed.
        let mut events = queue(1.5, 1);
        for event in events.iter_mut().rev().take(100) {
            (event.done, event.outcome) = (None, Outcome::Cut);
        }
        let cut = judged(&events, false);
        assert_eq!(cut.completed_later + 100, cut.in_flight_at_end);
        let text = cut.in_flight_text();
        assert!(text.ends_with(&format!(", {} completed later", count(cut.completed_later))), "{text}");
        // The completed rate is the sent rate.
        assert!(!judged(&queue(0.5, 1), false).in_flight_text().contains("later"));
    }

    #[test]
    fn not_checked_has_a_reason() {
        let events = queue(0.5, 1);
        assert_eq!(judged(&events, true).not_checked_reason, Some(NotCheckedReason::ClosedSystem));
        assert_eq!(judged(&events[..1050], false).not_checked_reason, Some(NotCheckedReason::TooFewRequests));
        // A burst at the end of a short run: more than 5 % are still in flight, which may be chance.
        let mut late = events.clone();
        let held = late.len() - 400;
        late[held..].iter_mut().for_each(|event| event.done = None);
        assert_eq!(judged(&late, false).not_checked_reason, Some(NotCheckedReason::RunTooShort));
        let unsent: Vec<Event> = events.iter().map(|event| Event { sent: None, ..event.clone() }).collect();
        assert_eq!(judged(&unsent, false).not_checked_reason, Some(NotCheckedReason::TooFewRequests));
    }
}
