//! What is asked about a recording.

use std::ops::Range;

use offered_model::arrivals::{Process, Schedule};
use offered_model::trace::Way;
use offered_model::workload::{Generator, Sessions};
use offered_model::{Instant, Nanos, Recording, Seed, Threshold, Workload};

use crate::expected_arrivals::ExpectedArrivals;

/// What is asked about a recording: which part of it, against which intent, how strictly.
#[derive(Clone, Debug)]
pub struct Criteria {
    /// The name of the recording, for the verdict.
    pub path: String,
    /// What the launches were meant to be.
    pub expected: ExpectedArrivals,
    /// The rate that was asked for, launches (of a partly-open system: sessions) per second.
    pub target_rate_per_s: Option<f64>,
    /// Of a rate that changes: the instants on the clock of our own run between which `rate_per_s` is its mean.
    pub rate_interval: Option<(Instant, Instant)>,
    /// Of a rate that changes at random: what it was drawn from, for in a run of ours it is held to what was drawn.
    pub random_rate: Option<RandomRate>,
    /// How long launches were meant, on the clock of a run of ours; `None`: until the last.
    pub duration: Option<Nanos>,
    /// So much is left out at the beginning: of a run of ours after its start, of a file after the first launch.
    pub skip_first: Nanos,
    /// So much is left out at the end.
    pub skip_last: Nanos,
    /// And only so much is judged of the rest.
    pub take: Option<Nanos>,
    /// Whether failed launches count.
    pub failures: Failures,
    /// Whether the CoV against the number of threads is wanted.
    pub by_threads: bool,
    /// How far a CoV may be from the one meant and still be as good as equal.
    pub cov_tolerance: f64,
    /// How much of p50, p95 and p99 may be the generator's before launches that left otherwise than meant fail the run, as a fraction;
    /// 0: they fail it whatever they did to those.
    pub generator_error_tolerance: f64,
    /// What the figures are held to: lateness that changes none of the answers does not fail the run.
    pub thresholds: Vec<Threshold>,
    /// The requests that bring objects, by name.
    pub pages: Vec<String>,
    /// The class of each request that has one, by their names.
    pub classes: Vec<(String, String)>,
    /// How late the latest hundredth of the launches may be.
    pub late_after: Nanos,
    /// Whether those who launch wait for their answers, so that they cannot outrun the system.
    pub closed: bool,
    /// Whether the run took any certificate for its target's.
    pub insecure: bool,
    /// From which the spreading of ticks and the bootstrap draw.
    pub seed: Seed,
}

impl Default for Criteria {
    /// Everything, against Poisson, to 5 %, at most 10 ms late, and no more than 5 % of a figure the generator's.
    fn default() -> Self {
        Self {
            path: String::new(),
            expected: ExpectedArrivals::Poisson,
            target_rate_per_s: None,
            rate_interval: None,
            random_rate: None,
            duration: None,
            skip_first: Nanos::ZERO,
            skip_last: Nanos::ZERO,
            take: None,
            failures: Failures::Keep,
            by_threads: false,
            cov_tolerance: 0.05,
            generator_error_tolerance: Generator::TOLERANCE,
            thresholds: Vec::new(),
            pages: Vec::new(),
            classes: Vec::new(),
            late_after: Nanos::from_millis(10),
            closed: false,
            insecure: false,
            seed: Seed(1),
        }
    }
}

impl Criteria {
    /// Whether a run of `workload` (all of it, or the given fraction of it) was as it meant, in the part that counts.
    pub fn from_workload(workload: &Workload, fraction: f64) -> Self {
        Self::from_workload_part(workload, fraction, workload.skip_first(), workload.skip_last())
    }

    /// The same in a part of its own: all but this much at the start and at the end.
    pub fn from_workload_part(workload: &Workload, fraction: f64, skip_first: Nanos, skip_last: Nanos) -> Self {
        let (from, to) = (Instant::ZERO + skip_first, workload.asked_until().earlier(skip_last));
        let (expected, seed) = (ExpectedArrivals::from_workload(workload, skip_first).share(fraction), workload.seed());
        let schedule = match workload.sessions() {
            Sessions::Open(schedule) | Sessions::PartlyOpen { schedule, .. } => Some(schedule).filter(|_| from < to),
            Sessions::Closed(_) | Sessions::Replay(_) => None,
        };
        let target_rate_per_s = schedule.map(|schedule| {
            let expected = schedule.rate().cumulative(to) - schedule.rate().cumulative(from);
            expected / from.until(to).as_secs_f64() * fraction
        });
        // What a count ends ends with the schedule, wherever that is.
        let random = |schedule: &&Schedule| matches!(schedule.process(), Process::Modulated(_));
        let drawn = schedule.filter(random).filter(|_| workload.count().is_none());
        let random_rate = drawn.map(|schedule| RandomRate { schedule: schedule.clone(), seed, fraction });
        let changes = schedule.filter(|schedule| schedule.rate().as_constant().is_none() || random_rate.is_some());
        let rate_interval = changes.map(|_| (from, to));
        let insecure = workload.target().is_some_and(|target| target.tls().insecure);
        let closed = match workload.sessions() {
            Sessions::Closed(_) => true,
            Sessions::Replay(replay) => matches!(replay.way(), Way::Closed(_)),
            Sessions::Open(_) | Sessions::PartlyOpen { .. } => false,
        };
        // A count may come first: then the run lasted to its last launch.
        let duration = Some(workload.duration()).filter(|_| workload.count().is_none());
        Self {
            expected,
            target_rate_per_s,
            rate_interval,
            random_rate,
            duration,
            skip_first,
            skip_last,
            closed,
            insecure,
            seed,
            generator_error_tolerance: workload.generator().tolerance(),
            thresholds: workload.thresholds().to_vec(),
            pages: workload.pages(),
            classes: workload.classes(),
            ..Self::default()
        }
    }

    /// Of a rate that changes at random: what the schedule of a run of ours held between the instants of `rate_over`, per second.
    pub(crate) fn realised_rate_per_s(&self, recording: &Recording) -> Option<f64> {
        let (from, to) = self.rate_interval.filter(|_| recording.on_run_clock)?;
        self.random_rate.as_ref().map(|drawn| drawn.per_s(from, to))
    }

    /// The time that counts, of a run of ours.
    pub(crate) fn measured_interval(&self) -> Option<Range<Instant>> {
        Some(Instant::ZERO + self.skip_first..(Instant::ZERO + self.duration?).earlier(self.skip_last))
    }

    /// Whether those who launch are users who wait for their answers, so that these decide when they launch.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed || matches!(self.expected, ExpectedArrivals::Closed { .. })
    }
}

/// A schedule whose rate changes at random, with what it is drawn from.
#[derive(Clone, Debug)]
pub struct RandomRate {
    schedule: Schedule,
    seed: Seed,
    /// The part of it that was to be launched.
    fraction: f64,
}

impl RandomRate {
    /// Launches (of a partly-open system: sessions) per second that it holds between these instants. All of it is drawn.
    pub fn per_s(&self, from: Instant, to: Instant) -> f64 {
        let held = self.schedule.arrivals(self.seed, to).filter(|at| *at >= from).count();
        held as f64 * self.fraction / from.until(to).as_secs_f64()
    }
}

/// Whether launches that failed count as launches. They were offered load, so by default they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failures {
    /// They count.
    #[default]
    Keep,
    /// They are left out.
    Drop,
}
