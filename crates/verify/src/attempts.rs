//! First attempts, retries and goodput: the load from users, the load on the server, and the rate of success.
//!
//! A system is overloaded by its own retries if it stays overloaded at a rate of first attempts that it could complete
//! before (a metastable failure: Bronson et al., 2021; Huang et al., 2022). Events show that rate, the rate with
//! retries, and the goodput, in [`PARTS`] parts of the analysed time. They do not show whether the server became slower
//! meanwhile. So the verdict names the cause only if the modelled server of the workload gives the capacity. Otherwise
//! it tells how to distinguish the two causes.

use std::io;
use std::ops::Range;

use offered_base::{Instant, short};
use offered_events::{Event, Outcome, Reason, Recording};
use serde::{Deserialize, Serialize};

/// Number of parts of the analysed time.
const PARTS: usize = 40;
/// Number of consecutive parts that must be sustained by retries, and of parts that must be good.
const FEWEST_PARTS: usize = 3;
/// In a good part, goodput is at least this share of the first attempts.
const GOOD: f64 = 0.9;
/// In a bad part, goodput is at most this share of the first attempts, and there is at least [`AMPLIFIED`] times as many attempts.
const BAD: f64 = 0.5;
const AMPLIFIED: f64 = 1.3;
/// The rate of a part may be this much above the one that was carried, by chance.
const CHANCE: f64 = 1.25;

/// Attempts of the requests in the analysed time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptStats {
    /// Rate of first attempts: sent requests.
    pub first_attempts_per_s: f64,
    /// Rate of all attempts that were sent.
    pub attempts_per_s: f64,
    /// Rate of requests that succeeded in any attempt.
    pub goodput_per_s: f64,
    /// Mean number of attempts of a sent request.
    pub attempts_per_request: f64,
    /// Number of requests that were sent more than once.
    pub retried_requests: u64,
    /// Number of retried requests that succeeded.
    pub recovered_requests: u64,
    /// Number of requests whose user gave up.
    pub gave_up: u64,
    /// Number of requests that were not sent because a circuit breaker was open.
    #[serde(default)]
    pub breaker_open: u64,
    /// Rates of first attempts, all attempts and goodput in equal parts of the analysed time.
    pub over_time: Vec<AttemptRates>,
    /// Whether the system is overloaded by its own retries; `None` if nothing suggests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained_by_retries: Option<SustainedByRetries>,
}

/// Rates of attempts in one of the equal parts of the analysed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptRates {
    /// Start of the part.
    pub start_s: f64,
    /// Rate of first attempts that were sent.
    pub first_attempts_per_s: f64,
    /// Rate of all attempts that were sent.
    pub attempts_per_s: f64,
    /// Rate at which requests succeeded.
    pub goodput_per_s: f64,
}

/// An overload that retries keep alive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SustainedByRetries {
    /// Start of the longest uninterrupted overload that retries keep alive.
    pub start_s: f64,
    /// End of this period.
    pub end_s: f64,
    /// Rate of first attempts in this period.
    pub first_attempts_per_s: f64,
    /// Rate of all attempts in this period.
    pub attempts_per_s: f64,
    /// Rate of successful requests in this period.
    pub goodput_per_s: f64,
    /// A rate of first attempts that the system completed at another time of the run.
    pub carried_per_s: f64,
    /// The capacity of the modelled server; `None` without a modelled server. Then it is possible that the server
    /// became slower.
    pub capacity_per_s: Option<f64>,
}

/// Counts in a part of the analysed time.
#[derive(Clone, Copy, Default)]
struct Part {
    first: u64,
    all: u64,
    good: u64,
}

impl AttemptStats {
    /// The attempts of the requests of a run of `offered` that are scheduled in `measured`; `None` if no request was sent again, or if no
    /// time is measured.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn of(
        recording: &Recording,
        measured: Range<Instant>,
        capacity_per_s: Option<f64>,
    ) -> io::Result<Option<Self>> {
        if recording.events.extent().attempts == 0 || measured.is_empty() {
            return Ok(None);
        }
        let mut counts = Counts::new(measured);
        recording.events.each(|event| counts.request(event))?;
        recording.events.each_attempt(|event| counts.attempt(event))?;
        Ok(Some(counts.finish(capacity_per_s)))
    }

    /// The figures in one line: `80.2/s first attempts, 214/s with retries; goodput 9.1/s; 1,204 requests retried, 37 of them ok`.
    pub fn text(&self) -> String {
        let [first, all, good] = [self.first_attempts_per_s, self.attempts_per_s, self.goodput_per_s].map(short);
        let [retried, recovered] = [self.retried_requests, self.recovered_requests].map(offered_base::count);
        let gave_up = match self.gave_up {
            0 => String::new(),
            n => format!("; {} users gave up", offered_base::count(n)),
        };
        let breaker_open = match self.breaker_open {
            0 => String::new(),
            n => format!("; {} not sent, circuit breaker open", offered_base::count(n)),
        };
        format!(
            "{retried} requests, {recovered} of them ok in the end; {first}/s first attempts, {all}/s with retries, goodput {good}/s{gave_up}{breaker_open}"
        )
    }
}

/// The counts of a run.
struct Counts {
    measured: Range<Instant>,
    parts: [Part; PARTS],
    sent: u64,
    retries: u64,
    retried: u64,
    recovered: u64,
    gave_up: u64,
    breaker_open: u64,
}

impl Counts {
    fn new(measured: Range<Instant>) -> Self {
        let parts = [Part::default(); PARTS];
        Self { measured, parts, sent: 0, retries: 0, retried: 0, recovered: 0, gave_up: 0, breaker_open: 0 }
    }

    fn part(&mut self, at: Option<Instant>) -> Option<&mut Part> {
        let at = at.filter(|at| self.measured.contains(at))?;
        let [from, span] = [at, self.measured.end].map(|end| u128::from(self.measured.start.until(end).0));
        self.parts.get_mut((from * PARTS as u128 / span) as usize)
    }

    fn request(&mut self, event: &Event) {
        let is_good = event.outcome == Outcome::Ok;
        if let Some(part) = self.part(event.sent) {
            part.first += 1;
            part.all += 1;
        }
        if let Some(part) = self.part(event.done.filter(|_| is_good)) {
            part.good += 1;
        }
        if !self.measured.contains(&event.intended) {
            return;
        }
        self.breaker_open += u64::from(event.outcome == Outcome::BreakerOpen);
        if event.sent.is_none() {
            return;
        }
        self.sent += 1;
        self.retries += u64::from(event.retries);
        self.retried += u64::from(event.retries > 0);
        self.recovered += u64::from(event.retries > 0 && is_good);
        self.gave_up += u64::from(matches!(event.error, Some(Reason::GaveUp(_))));
    }

    fn attempt(&mut self, event: &Event) {
        if event.attempt > 1
            && let Some(part) = self.part(event.sent)
        {
            part.all += 1;
        }
    }

    fn finish(self, capacity_per_s: Option<f64>) -> AttemptStats {
        let seconds = self.measured.start.until(self.measured.end).as_secs_f64();
        let per_part = PARTS as f64 / seconds;
        let rates = |(number, part): (usize, &Part)| AttemptRates {
            start_s: self.measured.start.as_secs_f64() + number as f64 / per_part,
            first_attempts_per_s: part.first as f64 * per_part,
            attempts_per_s: part.all as f64 * per_part,
            goodput_per_s: part.good as f64 * per_part,
        };
        let over_time: Vec<AttemptRates> = self.parts.iter().enumerate().map(rates).collect();
        let total = |of: fn(&Part) -> u64| self.parts.iter().map(of).sum::<u64>();
        let (all, good) = (total(|part| part.all), total(|part| part.good));
        AttemptStats {
            first_attempts_per_s: self.sent as f64 / seconds,
            attempts_per_s: all as f64 / seconds,
            goodput_per_s: good as f64 / seconds,
            attempts_per_request: 1.0 + self.retries as f64 / (self.sent as f64).max(1.0),
            retried_requests: self.retried,
            recovered_requests: self.recovered,
            gave_up: self.gave_up,
            breaker_open: self.breaker_open,
            sustained_by_retries: sustained_by_retries(&over_time, self.measured.end.as_secs_f64(), capacity_per_s),
            over_time,
        }
    }
}

/// The longest time in which retries kept an overload alive; the analysed time ends at `end_s`.
fn sustained_by_retries(parts: &[AttemptRates], end_s: f64, capacity_per_s: Option<f64>) -> Option<SustainedByRetries> {
    let good = |part: &&AttemptRates| part.goodput_per_s > GOOD * part.first_attempts_per_s;
    let mut carried: Vec<f64> = parts.iter().filter(good).map(|part| part.first_attempts_per_s).collect();
    carried.sort_unstable_by(|a, b| b.total_cmp(a));
    let carried = *carried.get(FEWEST_PARTS - 1)?;
    // The overload that began it, at a higher rate, is not sustained by retries.
    let is_sustained = |part: &AttemptRates| {
        let first = part.first_attempts_per_s;
        let amplified = part.attempts_per_s >= AMPLIFIED * first;
        part.goodput_per_s <= BAD * first && amplified && first > 0.0 && first <= CHANCE * carried
    };
    let bad = parts.chunk_by(|a, b| is_sustained(a) == is_sustained(b)).filter(|chunk| is_sustained(&chunk[0]));
    let bad = bad.max_by_key(|chunk| chunk.len()).filter(|chunk| chunk.len() >= FEWEST_PARTS)?;
    let mean = |rate: fn(&AttemptRates) -> f64| bad.iter().map(rate).sum::<f64>() / bad.len() as f64;
    let first_attempts_per_s = mean(|part| part.first_attempts_per_s);
    let attempts_per_s = mean(|part| part.attempts_per_s);
    if first_attempts_per_s > carried / GOOD {
        return None;
    }
    let named = capacity_per_s.filter(|capacity| first_attempts_per_s < *capacity && attempts_per_s > *capacity);
    let next = parts.iter().map(|part| part.start_s).find(|start| *start > bad[bad.len() - 1].start_s);
    // With a known capacity that does not lie between the two rates, retries are not the cause.
    (capacity_per_s.is_none() || named.is_some()).then(|| SustainedByRetries {
        start_s: bad[0].start_s,
        end_s: next.unwrap_or(end_s),
        first_attempts_per_s,
        attempts_per_s,
        goodput_per_s: mean(|part| part.goodput_per_s),
        carried_per_s: carried,
        capacity_per_s: named,
    })
}

impl SustainedByRetries {
    /// The evidence, in one sentence.
    pub fn message(&self) -> String {
        let Self { start_s, end_s, first_attempts_per_s, attempts_per_s, goodput_per_s, carried_per_s, .. } = *self;
        let [start, end, first] = [start_s, end_s, first_attempts_per_s].map(short);
        let [all, good, carried] = [attempts_per_s, goodput_per_s, carried_per_s].map(short);
        match self.capacity_per_s {
            Some(capacity) => format!(
                "from {start} s to {end} s, retries overloaded the server (capacity {}/s): first attempts alone were {first}/s, with retries {all}/s; goodput {good}/s",
                short(capacity)
            ),
            None => format!(
                "from {start} s to {end} s the goodput was {good}/s (first attempts {first}/s, with retries {all}/s), although the server completed {carried}/s at another time: retries kept the server overloaded, or the server became slower"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of these (first attempts, attempts, goodput).
    fn parts(all: &[(usize, [f64; 3])]) -> Vec<AttemptRates> {
        let part = |[first_attempts_per_s, attempts_per_s, goodput_per_s]: [f64; 3]| AttemptRates {
            start_s: 0.0,
            first_attempts_per_s,
            attempts_per_s,
            goodput_per_s,
        };
        all.iter().flat_map(|(n, rates)| (0..*n).map(|_| part(*rates))).collect()
    }

    #[test]
    fn an_overload_that_outlives_its_cause_is_named_only_with_a_known_capacity() {
        let metastable = parts(&[(10, [80., 80., 80.]), (5, [150., 300., 60.]), (25, [80., 240., 5.])]);
        let found = sustained_by_retries(&metastable, 40.0, Some(100.0)).unwrap();
        assert_eq!((found.first_attempts_per_s, found.attempts_per_s), (80., 240.));
        assert!(found.message().contains("retries overloaded the server"), "{}", found.message());
        let unknown = sustained_by_retries(&metastable, 40.0, None).unwrap();
        assert!(unknown.message().contains("or the server became slower"), "{}", unknown.message());
        // The model says that the load is above the capacity anyway, or that retries do not reach it.
        assert_eq!(sustained_by_retries(&metastable, 40.0, Some(70.0)), None);
        assert_eq!(sustained_by_retries(&metastable, 40.0, Some(300.0)), None);
    }

    #[test]
    fn other_overloads_are_not_blamed_on_retries() {
        for other in [
            // It recovers when its cause is over.
            parts(&[(10, [80., 80., 80.]), (5, [150., 300., 60.]), (25, [80., 81., 80.])]),
            // The load was never carried.
            parts(&[(10, [80., 80., 80.]), (30, [150., 300., 60.])]),
            // Failures without retries.
            parts(&[(10, [80., 80., 80.]), (30, [80., 82., 5.])]),
            // Retried, and good.
            parts(&[(10, [80., 80., 80.]), (30, [80., 120., 70.])]),
        ] {
            assert_eq!(sustained_by_retries(&other, 40.0, Some(100.0)), None);
            assert_eq!(sustained_by_retries(&other, 40.0, None), None);
        }
    }

    #[test]
    fn attempts_are_counted_where_they_were_sent() {
        let at = Instant::from_secs;
        let event = |sent, done, outcome, attempt, retries| Event {
            sent: Some(at(sent)),
            done: Some(at(done)),
            outcome,
            attempt,
            retries,
            ..Event::at(at(sent))
        };
        let events = vec![
            event(0, 1, Outcome::Timeout, 1, 0),
            event(5, 6, Outcome::Ok, 2, 0),
            event(0, 6, Outcome::Ok, 0, 1),
            event(2, 3, Outcome::Ok, 0, 0),
            Event { error: Some(Reason::GaveUp(offered_base::Nanos(1))), ..event(3, 4, Outcome::Timeout, 0, 0) },
        ];
        let recording = Recording::of_run(events, vec!["a".to_owned()]);
        let stats = AttemptStats::of(&recording, at(0)..at(10), None).unwrap().unwrap();
        assert_eq!((stats.first_attempts_per_s, stats.attempts_per_s, stats.goodput_per_s), (0.3, 0.4, 0.2));
        assert_eq!((stats.attempts_per_request, stats.retried_requests, stats.recovered_requests), (4.0 / 3.0, 1, 1));
        assert_eq!((stats.gave_up, stats.over_time[20].attempts_per_s), (1, 4.0));
        assert_eq!(AttemptStats::of(&recording, at(5)..at(5), None).unwrap(), None, "no time, no rates");
        let plain = Recording::of_run(recording.events.to_vec().unwrap(), vec!["a".to_owned()]);
        assert_eq!(AttemptStats::of(&plain, at(0)..at(10), None).unwrap(), None);
    }
}
