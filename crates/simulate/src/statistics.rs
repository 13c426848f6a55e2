//! Statistics of a simulation: means and percentiles with intervals, in constant memory.
//!
//! The run is divided into batches of equally many completions. The warm-up is excluded, by the workload's `skip_first`
//! or by MSER, and the remaining batches give the 95 % interval of every statistic; see
//! [`offered_stats::steady_state`] and [`offered_stats::percentile`]. A percentile for which the run is too short has no interval, and reports the run
//! length that it needs.
//!
//! In a closed system near saturation the mean over completed jobs is not the mean response: a size-based discipline
//! never completes its longest jobs. Therefore the summary also has E\[N\]/X by Little's law, and the number and the
//! age of unfinished jobs.

mod batches;
mod sample_summary;
mod tally;
mod visits;

use std::ops::ControlFlow;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};
use offered_schedule::{After, Launch};
use offered_stats::requirements::IntervalRequirements;
use offered_stats::steady_state::{Estimate, effective_sample_size, ratio, warm_up as first_cut};

use crate::discipline::Job;
use crate::drive::{SimulationObserver, job_of};
use batches::{Batch, Batches, TimeIntegrals, Tokens};
use offered_workload::Goodput;
use sample_summary::{Values, both};
use visits::Visits;

pub use sample_summary::{Interval, Percentile, SampleSummary};

/// Minimum number of batches for an interval.
const MIN_BATCHES: usize = 16;
/// Minimum number of completions for an interval: ten independent values beyond the 99th percentile. Correlated values need more.
const LEAST_JOBS: u64 = MIN_BATCHES as u64 * Batches::SMALLEST;

/// Observes a simulation and collects the data for a [`Summary`].
#[derive(Clone, Debug)]
pub struct Statistics {
    batches: Batches,
    servers: u64,
    /// Completions before this instant are excluded.
    from: Instant,
    /// Events from this instant on are excluded.
    until: Instant,
    /// Stop after this number of completions in total.
    limit: u64,
    completed: u64,
    /// Number of jobs in the system.
    present: u64,
    integrals: TimeIntegrals,
    /// Sum of completion times minus sum of arrival times, modulo 2^128, so that it may be negative in between.
    inside: u128,
    /// Visits in progress; `None` if sessions make no visits.
    visits: Option<Visits>,
    goodput: Option<Goodput>,
    requirements: IntervalRequirements,
}

/// Configuration of the statistics.
#[derive(Clone, Debug)]
pub struct StatisticsConfig {
    /// Number of servers.
    pub servers: u32,
    /// Number of request classes.
    pub classes: usize,
    /// Whether sessions make visits, that is, send several requests and end, or walk through flows.
    pub sessions: bool,
    /// Whether the server makes tokens.
    pub tokens: bool,
    /// The limits of a good request.
    pub goodput: Option<Goodput>,
    /// Completions before this instant are excluded.
    pub from: Instant,
    /// Events from this instant on are excluded.
    pub until: Instant,
    /// The numbers of responses that intervals need.
    pub requirements: IntervalRequirements,
}

/// Statistics of one simulation, without the warm-up. Times are in seconds.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Number of measured completions.
    pub jobs: u64,
    /// Number of completions excluded as warm-up.
    pub warm_up: u64,
    /// Response times of all completed jobs.
    pub response: SampleSummary,
    /// Slowdown: response time over size.
    pub slowdown: SampleSummary,
    /// Response times and slowdowns of each class, where there are several; `None` for a class without completions.
    pub classes: Vec<Option<(SampleSummary, SampleSummary)>>,
    /// Statistics of ended sessions; `None` where sessions do not end or have one request.
    pub sessions: Option<SessionStatistics>,
    /// Statistics of the tokens; `None` where the server makes none.
    pub tokens: Option<TokenStatistics>,
    /// E\[N\]/X by Little's law: the mean response time that includes unfinished jobs.
    pub littles_law_response: Estimate,
    /// X, throughput, per second.
    pub throughput: Estimate,
    /// Utilisation of the servers, 0 to 1.
    pub utilisation: Estimate,
    /// E\[N\], mean number of requests in the system.
    pub in_system: Estimate,
    /// Share of requests rejected because the system was full, or failed after their time limit and retries, 0 to 1.
    pub rejected: Estimate,
    /// Mean (seconds) and squared coefficient of variation of the service demands of completed jobs.
    pub realised_work: (f64, f64),
    /// Number of jobs in the system at the end.
    pub unfinished: u64,
    /// Whether Little's law holds exactly, to the nanosecond. If not, the simulator has a bug.
    pub littles_law_holds: bool,
    /// Number of independent batches that are equivalent to the correlated ones. Intervals are reliable from ten on.
    pub effective_batches: f64,
    /// Number of completions from which the mean has an interval; `None` if it has one. Without it, all ends of intervals are infinite.
    pub jobs_needed: Option<u64>,
    /// Whether the warm-up is shorter than half of the run; otherwise the run may not have reached a steady state.
    pub warm_up_converged: bool,
}

/// Statistics of ended sessions. Times are in seconds.
#[derive(Clone, Debug)]
pub struct SessionStatistics {
    /// Number of sessions.
    pub count: u64,
    /// Time from the first request of a session to its last response, including think times.
    pub duration: SampleSummary,
    /// Total response time of a session: how long its user waited for responses.
    pub waiting: SampleSummary,
}

/// Statistics of the responses of an engine. Times are in seconds.
#[derive(Clone, Debug)]
pub struct TokenStatistics {
    /// Time from the scheduled time of a request to the first token of its response.
    pub ttft: SampleSummary,
    /// Time per output token after the first; `None` if no response has several tokens.
    pub tpot: Option<SampleSummary>,
    /// Output tokens per second.
    pub output_per_s: Estimate,
    /// Requests per second that meet all limits, and their share of all requests; `None` in a workload without limits.
    pub goodput: Option<(Estimate, Estimate)>,
}

impl TokenStatistics {
    fn map(self, summary: impl Fn(SampleSummary) -> SampleSummary, mean: impl Fn(Estimate) -> Estimate) -> Self {
        Self {
            ttft: summary(self.ttft),
            tpot: self.tpot.map(&summary),
            output_per_s: mean(self.output_per_s),
            goodput: self.goodput.map(|(rate, share)| (mean(rate), mean(share))),
        }
    }
}

impl Statistics {
    /// Statistics with this configuration that stop the simulation after `limit` completions.
    pub fn new(counted: StatisticsConfig, limit: u64) -> Self {
        let StatisticsConfig { servers, classes, sessions, tokens, goodput, from, until, requirements } = counted;
        Self {
            batches: Batches::new(classes, sessions, tokens),
            servers: u64::from(servers),
            from,
            until,
            limit,
            completed: 0,
            present: 0,
            integrals: TimeIntegrals::default(),
            inside: 0,
            visits: sessions.then(Visits::default),
            goodput,
            requirements,
        }
    }

    /// Sets the total number of completions after which the simulation stops.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Ends the measured time at the latest event.
    pub fn end_now(&mut self) {
        self.until = self.until.min(self.integrals.at);
    }

    /// Number of completions so far in the measured time.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Time of the latest event.
    pub fn now(&self) -> Instant {
        self.integrals.at
    }

    /// Advances the integrals to `now`; the state has not changed since the latest event.
    #[inline]
    fn pass(&mut self, now: Instant) {
        if self.integrals.at < self.from {
            self.advance(now.min(self.from));
            self.batches.begin(self.integrals);
        }
        self.advance(now.min(self.until));
    }

    #[inline]
    fn advance(&mut self, to: Instant) {
        self.integrals.advance(to, self.present, self.servers);
    }

    /// The integrals at the end of the measured time, or at the latest event if it has no end.
    fn end(&self) -> TimeIntegrals {
        let mut end = self.integrals;
        if self.until < Instant::MAX {
            end.advance(self.until, self.present, self.servers);
        }
        end
    }

    /// Summary of the run; `None` if no request completed. With fewer than sixteen batches of 64 jobs there are neither a warm-up nor intervals.
    pub fn summary(&self, warm_up: WarmUp) -> Option<Summary> {
        let full = self.batches.full();
        let end = self.end();
        let mut last = self.batches.partial(end);
        let Some(most) = full.len().checked_sub(MIN_BATCHES) else {
            for batch in full {
                last.merge(batch);
            }
            return self.summarise(&[&last], end).map(Summary::without_intervals);
        };
        let means: Vec<f64> = full.iter().map(Batch::mean_response).collect();
        let found = match warm_up {
            WarmUp::Mser => first_cut(&means),
            WarmUp::Fixed => 0,
        };
        let cut = found.min(most);
        let (final_batch, before) = full[cut..].split_last()?;
        last.merge(final_batch);
        // A batch with many classes is large, so only those that change are copied.
        let groups: Vec<&Batch> = before.iter().chain([&last]).collect();
        let summary = self.summarise(&groups, end)?;
        let warm_up_converged = found < full.len() / 2;
        Some(Summary { warm_up: full[..cut].iter().map(Batch::count).sum(), warm_up_converged, ..summary })
    }

    /// Summary of these consecutive batches, which end at `end`; `None` if no request completed in them.
    fn summarise(&self, groups: &[&Batch], end: TimeIntegrals) -> Option<Summary> {
        let mut all = groups[0].clone();
        groups[1..].iter().for_each(|group| all.merge(group));
        let over = |figure: &dyn Fn(&Batch) -> (f64, f64)| ratio(&groups.iter().map(|b| figure(b)).collect::<Vec<_>>());
        // Requests of all classes wait in one queue.
        let known = (&self.requirements, all.count());
        let of_class =
            |class: usize| both(&all, groups, &|b| &b.classes[class], [Values::Responses, Values::Slowdowns], known);
        let classes = (0..all.classes.len()).map(of_class);
        let (response, slowdown) = both(&all, groups, &|b| &b.requests, [Values::Responses, Values::Slowdowns], known)?;
        let sessions = all.sessions.as_ref().and_then(|[durations, _]| {
            let values = [Values::Times, Values::Responses];
            let (duration, waiting) =
                both(&all, groups, &|b| b.sessions.as_ref().expect("in all batches or in none"), values, known)?;
            Some(SessionStatistics { count: durations.count, duration, waiting })
        });
        let of_tokens =
            |b: &Batch, figure: &dyn Fn(&Tokens) -> u64| b.tokens.as_ref().map_or(0.0, |tokens| figure(tokens) as f64);
        let seconds = |b: &Batch| b.length.as_secs_f64();
        let tokens = all.tokens.as_ref().filter(|tokens| tokens.times[0].count > 0).map(|tokens| {
            let times = |which: usize| {
                let none = "in all batches or in none";
                SampleSummary::of(&all, groups, &|b| &b.tokens.as_ref().expect(none).times[which], Values::Times, known)
            };
            let good = |b: &Batch| of_tokens(b, &|tokens| tokens.good);
            TokenStatistics {
                ttft: times(0),
                tpot: (tokens.times[1].count > 0).then(|| times(1)),
                output_per_s: over(&|b| (of_tokens(b, &|tokens| tokens.output), seconds(b))),
                goodput: self
                    .goodput
                    .map(|_| (over(&|b| (good(b), seconds(b))), over(&|b| (good(b), (b.count() + b.rejected) as f64)))),
            }
        });
        let count = |b: &Batch| b.count() as f64;
        let mean_work = all.work / count(&all);
        let group_means: Vec<f64> = groups.iter().map(|b| b.mean_response()).collect();
        // A job still in the system has only subtracted its arrival time so far.
        let inside = self.inside.wrapping_add(u128::from(self.present) * u128::from(end.at.0));
        Some(Summary {
            jobs: all.count(),
            warm_up: 0,
            response,
            slowdown,
            classes: classes.collect(),
            sessions,
            tokens,
            littles_law_response: over(&|b| (b.present / 1e9, count(b))),
            throughput: over(&|b| (count(b), seconds(b))),
            utilisation: over(&|b| (b.busy, b.length.0 as f64 * self.servers as f64)),
            in_system: over(&|b| (b.present, b.length.0 as f64)),
            rejected: over(&|b| (b.rejected as f64, b.rejected as f64 + count(b))),
            realised_work: (mean_work / 1e9, all.squares / count(&all) / (mean_work * mean_work) - 1.0),
            unfinished: self.present,
            littles_law_holds: end.present == inside,
            effective_batches: effective_sample_size(&group_means),
            jobs_needed: None,
            warm_up_converged: true,
        })
    }
}

impl Summary {
    /// Removes the intervals of the means that depend on responses; with `infinite`, these means are infinite.
    pub(crate) fn remove_mean_intervals(&mut self, infinite: bool) {
        let (low, high) = if infinite { (f64::INFINITY, f64::INFINITY) } else { (f64::NEG_INFINITY, f64::INFINITY) };
        let of = |mean: &mut Estimate| {
            (mean.low, mean.high) = (low, high);
            if infinite {
                mean.value = f64::INFINITY;
            }
        };
        of(&mut self.response.mean);
        of(&mut self.slowdown.mean);
        of(&mut self.littles_law_response);
        of(&mut self.in_system);
        for (response, slowdown) in self.classes.iter_mut().flatten() {
            of(&mut response.mean);
            of(&mut slowdown.mean);
        }
        if let Some(sessions) = &mut self.sessions {
            of(&mut sessions.duration.mean);
            of(&mut sessions.waiting.mean);
        }
    }

    /// The summary of a run that is too short for intervals.
    fn without_intervals(self) -> Self {
        let open = |estimate: Estimate| Estimate { low: f64::NEG_INFINITY, high: f64::INFINITY, ..estimate };
        let both = |(one, other): (SampleSummary, SampleSummary)| {
            (one.without_intervals(LEAST_JOBS), other.without_intervals(LEAST_JOBS))
        };
        let Self { response, slowdown, classes, sessions, .. } = self;
        let (response, slowdown) = both((response, slowdown));
        let sessions = sessions.map(|SessionStatistics { count, duration, waiting }| {
            let (duration, waiting) = both((duration, waiting));
            SessionStatistics { count, duration, waiting }
        });
        let tokens = self.tokens.map(|tokens| tokens.map(|times| times.without_intervals(LEAST_JOBS), open));
        Self {
            response,
            slowdown,
            tokens,
            classes: classes.into_iter().map(|class| class.map(both)).collect(),
            sessions,
            littles_law_response: open(self.littles_law_response),
            throughput: open(self.throughput),
            utilisation: open(self.utilisation),
            in_system: open(self.in_system),
            rejected: open(self.rejected),
            jobs_needed: Some(LEAST_JOBS),
            ..self
        }
    }
}

/// Converts a time below 2^63 ns to a double. Restricting the range saves five instructions.
#[inline]
fn real(time: Nanos) -> f64 {
    time.0 as i64 as f64
}

/// How the warm-up is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// The warm-up is the workload's `skip_first`; the statistics start after it.
    Fixed,
    /// The warm-up is found by MSER on the batch means; see [`offered_stats::steady_state::warm_up`].
    Mser,
}

impl SimulationObserver for Statistics {
    #[inline]
    fn arrived(&mut self, now: Instant) {
        self.pass(now);
        if now < self.until {
            self.present += 1;
            self.inside = self.inside.wrapping_sub(u128::from(now.0));
        }
    }

    fn rejected(&mut self, launch: Launch, _: u16, after: After) {
        let now = launch.intended;
        self.pass(now);
        if now >= self.from && now < self.until {
            self.batches.current.rejected += 1;
        }
        self.record_visit(now, launch, after);
    }

    #[inline]
    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, after: After) -> ControlFlow<()> {
        self.pass(now);
        if now >= self.until {
            return ControlFlow::Continue(());
        }
        self.present -= 1;
        self.inside = self.inside.wrapping_add(u128::from(now.0));
        self.record_visit(now, launch, after);
        if now < self.from {
            return ControlFlow::Continue(());
        }
        let (response, size) = (real(job.arrived.until(now)), real(job.size));
        let slowdown = if size > 0.0 { response / size } else { 1.0 };
        let current = &mut self.batches.current;
        current.work += size;
        current.squares += size * size;
        let [times, slowdowns] = &mut current.requests;
        times.add(response);
        slowdowns.add(slowdown);
        if let Some([times, slowdowns]) = current.classes.get_mut(usize::from(job.class)) {
            times.add(response);
            slowdowns.add(slowdown);
        }
        if let Some(tokens) = &mut current.tokens {
            tokens.add(job, now, self.goodput);
        }
        self.batches.close_if_full(self.integrals);
        self.completed += 1;
        if self.completed >= self.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn ended(&mut self, launch: Launch, event: &Event, size: Nanos, after: After) -> ControlFlow<()> {
        let done = event.done.unwrap_or(launch.intended);
        match event.outcome {
            Outcome::Ok => self.completed(done, launch, &job_of(event, size), after),
            _ => self.failed(done, launch, after),
        }
    }
}

impl Statistics {
    /// Records a request that failed, and so has no response time.
    fn failed(&mut self, now: Instant, launch: Launch, after: After) -> ControlFlow<()> {
        self.pass(now);
        if now >= self.until {
            return ControlFlow::Continue(());
        }
        self.present -= 1;
        self.inside = self.inside.wrapping_add(u128::from(now.0));
        self.record_visit(now, launch, after);
        if now >= self.from {
            self.batches.current.rejected += 1;
            self.completed += 1;
        }
        if self.completed >= self.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Records a response or rejection of a session's request. An ended session contributes to the session statistics.
    #[inline]
    fn record_visit(&mut self, now: Instant, launch: Launch, after: After) {
        let Some(visits) = &mut self.visits else { return };
        let Some(visit) = visits.record_response(launch, now, after) else { return };
        if let Some([durations, waits]) = &mut self.batches.current.sessions
            && now >= self.from
            && now < self.until
        {
            durations.add(real(visit.began.until(now)));
            waits.add(real(visit.waited));
        }
    }
}
