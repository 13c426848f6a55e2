//! The criteria of a verdict.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use offered_base::{Instant, Nanos, Seed, Share};
use offered_events::Recording;
use offered_schedule::arrivals::{Process, Schedule};
use offered_schedule::{Flows, Population, Scenarios, Sessions, System};
use offered_workload::{Generator, Goodput, Group, Threshold, Workload};

use crate::expected_arrivals::ExpectedArrivals;
use crate::incomplete::Incomplete;
use crate::own_schedule::OwnSchedule;

/// The criteria by which a recording is judged: the judged part, the specified load, and tolerances.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the recording")]
pub struct Criteria {
    /// The name of the recording, for the verdict.
    pub path: String,
    /// The arrivals with which the requests are compared.
    pub expected: ExpectedArrivals,
    /// The target rate, in requests (in a partly-open system: sessions) per second.
    pub target_rate_per_s: Option<f64>,
    /// The target rate of all requests per second; `None` if responses determine it. With a changing rate, the mean over the run.
    pub target_request_rate_per_s: Option<f64>,
    /// For a changing rate: the interval of which `target_rate_per_s` is the mean, on the clock of the run.
    pub rate_interval: Option<(Instant, Instant)>,
    /// For a rate that changes at random: the random schedule, with which the sent rate is compared.
    pub random_rate: Option<RandomRate>,
    /// Whether the specified load is the load of the run's own workload, so that the verdict is the same as that of
    /// `run`. If not, the requests are compared with the load that the user expects.
    pub is_own_workload: bool,
    /// The schedule of the run, if it can be recomputed. A difference between this schedule and theory does not make
    /// the run invalid.
    pub schedule: Option<OwnSchedule>,
    /// The scenarios of the run, each of which is judged too; `None` if it has one load only.
    pub scenarios: Option<ScenarioCriteria>,
    /// Whether the recording is only one worker's share of a run, so that rates and gaps of the whole are unknown.
    pub is_share: bool,
    /// The missing parts of the run; `None` if no part is known to be missing.
    pub incomplete: Option<Incomplete>,
    /// The test duration, on the clock of the run; `None` until the last request.
    pub duration: Option<Nanos>,
    /// The time to exclude at the start. It counts from the start of a run of `offered`, or from the first request of any
    /// other file.
    pub skip_first: Nanos,
    /// The time to exclude at the end.
    pub skip_last: Nanos,
    /// The duration of the analysed time; `None` for everything between `skip_first` and `skip_last`.
    pub take: Option<Nanos>,
    /// Whether failed requests count as requests.
    pub failures: Failures,
    /// Whether to compute the CoV by number of threads.
    pub by_threads: bool,
    /// The tolerance of the CoV: its maximum difference from the expected value.
    pub cov_tolerance: f64,
    /// The largest share of p50, p95 and p99 that the generator may cause, as a fraction. If the share is larger,
    /// deviating send times make the run invalid. 0 tolerates no error.
    pub generator_error_tolerance: f64,
    /// The limits of a good request.
    pub goodput: Option<Goodput>,
    /// The thresholds. Lateness that cannot change any of their results does not make the run invalid.
    pub thresholds: Vec<Threshold>,
    /// The names of the checks of requests, each with the name of its request.
    pub checks: Vec<(String, Vec<String>)>,
    /// The names of the metrics of requests, each with the name of its request.
    pub metrics: Vec<(String, Vec<String>)>,
    /// The names of the requests that load objects.
    pub pages: Vec<String>,
    /// Whether sessions make visits.
    pub have_visits: bool,
    /// The flows that visits walk through; `None` without flows.
    pub flows: Option<Arc<Flows>>,
    /// The parts of visits that are measured as groups.
    pub groups: Vec<Group>,
    /// The class of each request that has one: pairs of request name and class name.
    pub classes: Vec<(String, String)>,
    /// The maximum of the 99th percentile of lateness in a valid run.
    pub late_after: Nanos,
    /// Whether the system is closed: users wait for responses and cannot overload it.
    pub closed: bool,
    /// The mean number of users in the analysed time, if it changes.
    pub mean_users: Option<f64>,
    /// The longest think time of closed users, in seconds; `None` if it is unknown or has no bound.
    pub longest_think_s: Option<f64>,
    /// The capacity of the modelled server, in requests per second; `None` without a model.
    pub capacity_per_s: Option<f64>,
    /// Whether the run accepted any certificate of the target.
    pub insecure: bool,
    /// The seed of the random numbers that spread timestamps within ticks and draw bootstrap samples.
    pub seed: Seed,
}

impl Default for Criteria {
    /// The whole recording, compared with a Poisson process; tolerances of 5 %, and a lateness limit of 10 ms.
    fn default() -> Self {
        Self {
            path: String::new(),
            expected: ExpectedArrivals::Poisson,
            target_rate_per_s: None,
            target_request_rate_per_s: None,
            rate_interval: None,
            random_rate: None,
            is_own_workload: false,
            schedule: None,
            scenarios: None,
            is_share: false,
            incomplete: None,
            duration: None,
            skip_first: Nanos::ZERO,
            skip_last: Nanos::ZERO,
            take: None,
            failures: Failures::Keep,
            by_threads: false,
            cov_tolerance: 0.05,
            generator_error_tolerance: Generator::TOLERANCE,
            goodput: None,
            thresholds: Vec::new(),
            checks: Vec::new(),
            metrics: Vec::new(),
            pages: Vec::new(),
            have_visits: false,
            flows: None,
            groups: Vec::new(),
            classes: Vec::new(),
            late_after: Nanos::from_millis(10),
            closed: false,
            mean_users: None,
            longest_think_s: None,
            capacity_per_s: None,
            insecure: false,
            seed: Seed(1),
        }
    }
}

impl Criteria {
    /// The criteria for a run of `workload`, or of the given fraction of it, in its analysed time. The schedule of a
    /// fraction is unknown ([`Criteria::schedule`]), because it depends on the number of the share.
    pub fn from_workload(workload: &Workload, fraction: f64) -> Self {
        Self::from_workload_part(workload, fraction, workload.skip_first(), workload.skip_last())
    }

    /// The criteria for the run of `workload` without these times at its start and at its end, instead of those that `workload` excludes.
    pub fn from_workload_part(workload: &Workload, fraction: f64, skip_first: Nanos, skip_last: Nanos) -> Self {
        let (from, to) = (Instant::ZERO + skip_first, workload.scheduled_until().earlier(skip_last));
        let (expected, seed) = (ExpectedArrivals::from_workload(workload, skip_first).share(fraction), workload.seed());
        let schedule = match workload.sessions() {
            Sessions::Open(schedule) | Sessions::PartlyOpen { schedule, .. } => Some(schedule).filter(|_| from < to),
            Sessions::Closed(_) | Sessions::Replay(_) | Sessions::Scenarios(_) => None,
        };
        let target_rate_per_s = schedule.map(|schedule| {
            let expected = schedule.rate().cumulative(to) - schedule.rate().cumulative(from);
            expected / from.until(to).as_secs_f64() * fraction
        });
        // If the number of requests is limited, the schedule ends at an unknown time.
        let random = |schedule: &&Schedule| matches!(schedule.process(), Process::Modulated(_));
        let drawn = schedule.filter(random).filter(|_| workload.count().is_none());
        let random_rate = drawn.map(|schedule| RandomRate { schedule: schedule.clone(), seed, fraction });
        let changes = schedule.filter(|schedule| schedule.rate().as_constant().is_none() || random_rate.is_some());
        let rate_interval = changes.map(|_| (from, to));
        let insecure = workload.target().is_some_and(|target| target.tls().insecure);
        let closed = workload.sessions().system() == Some(System::Closed);
        let mean_users = match workload.sessions() {
            Sessions::Closed(closed) => closed.population().map(Population::profile),
            _ => None,
        };
        let mean_users = mean_users
            .filter(|_| from < to)
            .map(|users| (users.cumulative(to) - users.cumulative(from)) / from.until(to).as_secs_f64() * fraction);
        // If the number of requests is limited, the run may end before its duration.
        let duration = Some(workload.duration()).filter(|_| workload.count().is_none());
        Self {
            expected,
            target_rate_per_s,
            target_request_rate_per_s: workload.scheduled_rate().map(|rate| rate * fraction),
            rate_interval,
            random_rate,
            is_own_workload: true,
            schedule: (fraction >= 1.0 - 1e-9).then(|| OwnSchedule::new(workload, Share::ALL)),
            scenarios: ScenarioCriteria::new(workload, fraction),
            // A sum of shares such as 1/6 is one up to rounding.
            is_share: fraction < 1.0 - 1e-9,
            duration,
            skip_first,
            skip_last,
            closed,
            mean_users,
            longest_think_s: longest_think_s(workload.sessions()),
            capacity_per_s: workload.capacity_per_s(),
            insecure,
            seed,
            generator_error_tolerance: workload.generator().tolerance(),
            goodput: workload.goodput(),
            thresholds: workload.thresholds().to_vec(),
            checks: workload.checks(),
            metrics: workload.metrics(),
            pages: workload.pages(),
            have_visits: workload.sessions().have_visits(),
            flows: workload.flows().cloned(),
            groups: workload.groups().to_vec(),
            classes: workload.classes(),
            ..Self::default()
        }
    }

    /// The same criteria where only real time is known, in which there is no test for arrivals of a changing rate.
    pub(crate) fn in_real_time(&self) -> Cow<'_, Self> {
        match self.expected.changing_rate() {
            Some(_) => Cow::Owned(Self { expected: self.expected.in_real_time(), ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// For a rate that changes at random: the rate of the schedule in `rate_interval`, per second. `None` for files of
    /// other tools.
    pub(crate) fn realised_rate_per_s(&self, recording: &Recording) -> Option<f64> {
        let (from, to) = self.rate_interval.filter(|_| recording.on_run_clock)?;
        self.random_rate.as_ref().map(|drawn| drawn.rate_per_s(from, to))
    }

    /// The analysed time of a run of `offered`.
    pub(crate) fn measured_interval(&self) -> Option<Range<Instant>> {
        Some(Instant::ZERO + self.skip_first..(Instant::ZERO + self.duration?).earlier(self.skip_last))
    }

    /// Whether users wait for responses, so that responses determine when requests are sent.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed || matches!(self.expected, ExpectedArrivals::Closed { .. })
    }
}

/// The longest think time of closed users, in seconds; `None` if it has no bound, or if steps have their own.
fn longest_think_s(sessions: &Sessions) -> Option<f64> {
    match sessions {
        Sessions::Closed(closed) if closed.flows().is_none_or(|flows| !flows.thinks()) => closed.think().largest(),
        _ => None,
    }
}

/// A schedule whose rate changes at random, with its seed.
#[derive(Clone, Debug)]
pub struct RandomRate {
    schedule: Schedule,
    seed: Seed,
    /// The share of the schedule that this run sends.
    fraction: f64,
}

impl RandomRate {
    /// The rate of the schedule between these times, in requests (in a partly-open system: sessions) per second. The
    /// function generates the whole schedule.
    pub fn rate_per_s(&self, from: Instant, to: Instant) -> f64 {
        let held = self.schedule.arrivals(self.seed, to).filter(|at| *at >= from).count();
        held as f64 * self.fraction / from.until(to).as_secs_f64()
    }
}

/// Whether failed requests count as requests. By default they do, because they are part of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failures {
    /// Failed requests count.
    #[default]
    Keep,
    /// Failed requests are excluded.
    Drop,
}

/// The scenarios that a run is judged by.
#[derive(Clone, Debug)]
pub struct ScenarioCriteria {
    pub(crate) workload: Workload,
    /// The share of the requests that the recording has, as a fraction.
    pub(crate) fraction: f64,
}

impl ScenarioCriteria {
    /// For a run of `workload`, or of this fraction of it; `None` if it has one load only.
    pub(crate) fn new(workload: &Workload, fraction: f64) -> Option<Self> {
        workload.scenarios().map(|_| Self { workload: workload.clone(), fraction })
    }

    /// The scenarios.
    pub(crate) fn scenarios(&self) -> Option<&Scenarios> {
        self.workload.scenarios()
    }
}
