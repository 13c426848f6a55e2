//! What is learnt from looking on: means and percentiles with intervals, in constant memory.
//!
//! The run is cut into batches of equally many completions. A warm-up is left out, by the workload's `skip_first` or by MSER,
//! and every figure comes with the 95 % interval that the remaining batches give it, see [`offered_stats::steady_state`].
//! A percentile for which the run is too short has none, and says how long a run would give one.
//!
//! In a closed system near saturation the mean over completed jobs is not the mean response: a discipline by size never
//! finishes its longest jobs. So E\[N\]/X by Little's law stands beside it, with the unfinished jobs and their age.

mod batches;
mod tally;
mod visits;

use std::ops::ControlFlow;

use offered_model::{After, Instant, Launch, Nanos};
use offered_stats::steady_state::{Beyond, Estimate, Ranks, independent, ratio, warm_up as first_cut};

use crate::discipline::Job;
use crate::drive::Sink;
use batches::{Batch, Batches, Pair, Passed};
use tally::Tally;
use visits::Visits;

/// The fewest batches that intervals can come from.
const MIN_BATCHES: usize = 16;

/// Looks on, and remembers enough for a [`Summary`].
#[derive(Clone, Debug)]
pub struct Statistics {
    batches: Batches,
    servers: u64,
    /// What is completed before is not counted.
    from: Instant,
    /// Nothing is counted from here on.
    until: Instant,
    /// Stop after so many completions in all.
    enough: u64,
    completed: u64,
    /// Jobs in the system.
    present: u64,
    passed: Passed,
    /// Sum of completions minus sum of arrivals, modulo 2^128, so that it can dip below zero on the way.
    inside: u128,
    /// Where sessions end.
    visits: Option<Visits>,
}

/// What the statistics must know of the system beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// How many servers can be busy.
    pub servers: u32,
    /// How many kinds of requests there are.
    pub classes: usize,
    /// Whether sessions make several requests and end.
    pub sessions: bool,
    /// Completions before are left out.
    pub from: Instant,
    /// Nothing is counted from here on.
    pub until: Instant,
}

/// What is known of a kind of time, in seconds, or of slowdowns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean over completed jobs.
    pub mean: Estimate,
    /// The median, and on.
    pub p50: Percentile,
    /// 90 %.
    pub p90: Percentile,
    /// 95 %.
    pub p95: Percentile,
    /// 99 %.
    pub p99: Percentile,
    /// The largest.
    pub max: f64,
}

/// The value that a share of all does not exceed, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// The value.
    pub value: f64,
    /// Its 95 % interval, where the run is long enough.
    pub interval: Interval,
}

/// A 95 % interval, or what it would take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// From low to high.
    Between(f64, f64),
    /// None: the run is too short. About so many values (requests; of sessions, sessions) would give one.
    Needs(u64),
}

impl Percentile {
    /// With an interval that is infinite where there is none.
    pub fn estimate(&self) -> Estimate {
        let (low, high) = match self.interval {
            Interval::Between(low, high) => (low, high),
            Interval::Needs(_) => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Estimate { value: self.value, low, high }
    }
}

/// The figures of one simulation after its warm-up. Times in seconds.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Completions counted.
    pub jobs: u64,
    /// Completions left out as warm-up.
    pub warm_up: u64,
    /// Response times of all completed jobs.
    pub response: Spread,
    /// Response over size.
    pub slowdown: Spread,
    /// The same two for each class, where there are several; `None` for a class that nobody chose.
    pub classes: Vec<Option<(Spread, Spread)>>,
    /// Sessions that ended, where they do so after several requests.
    pub sessions: Option<Ended>,
    /// E\[N\]/X by Little's law: the mean response that counts the unfinished too.
    pub response_by_little: Estimate,
    /// X, per second.
    pub throughput: Estimate,
    /// The busy part of the servers.
    pub utilisation: Estimate,
    /// E\[N\], the mean number in the system.
    pub in_system: Estimate,
    /// The part of all launches that found no room.
    pub refused: Estimate,
    /// Mean and C2 of the work of completed jobs.
    pub work: (f64, f64),
    /// Jobs in the system at the end.
    pub unfinished: u64,
    /// Whether Little's law holds to the nanosecond, as it must.
    pub little_holds: bool,
    /// As how many independent ones the batches count; ten and more give intervals that can be trusted.
    pub independent: f64,
    /// Whether the warm-up is shorter than the first half; otherwise the run may not have settled.
    pub settled: bool,
}

/// Sessions that made their last request. Times in seconds.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How many.
    pub count: u64,
    /// From the first launch of a session to its last answer, thinking included.
    pub duration: Spread,
    /// The responses of a session in all: how long its user waited for answers.
    pub waited: Spread,
}

impl Statistics {
    /// Of this system, stopping after `enough` completions.
    pub fn new(counted: Counted, enough: u64) -> Self {
        let Counted { servers, classes, sessions, from, until } = counted;
        Self {
            batches: Batches::new(classes, sessions),
            servers: u64::from(servers),
            from,
            until,
            enough,
            completed: 0,
            present: 0,
            passed: Passed::default(),
            inside: 0,
            visits: sessions.then(Visits::default),
        }
    }

    /// Goes on until this many completions in all.
    pub fn go_on_until(&mut self, enough: u64) {
        self.enough = enough;
    }

    /// The time that counts is over by now.
    pub fn end_here(&mut self) {
        self.until = self.until.min(self.passed.at);
    }

    /// Completions so far, in the time that counts.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// The last instant it has seen.
    pub fn now(&self) -> Instant {
        self.passed.at
    }

    /// Nothing changed until `now`.
    #[inline]
    fn pass(&mut self, now: Instant) {
        if self.passed.at < self.from {
            self.stretch(now.min(self.from));
            self.batches.begin(self.passed);
        }
        self.stretch(now.min(self.until));
    }

    #[inline]
    fn stretch(&mut self, to: Instant) {
        self.passed.stretch(to, self.present, self.servers);
    }

    /// What had passed at the end: the end of what counts, or what was seen last where there is none.
    fn end(&self) -> Passed {
        let mut end = self.passed;
        if self.until < Instant::MAX {
            end.stretch(self.until, self.present, self.servers);
        }
        end
    }

    /// The figures; `None` of fewer than sixteen batches of 64 jobs. So many are kept whatever the warm-up.
    pub fn summary(&self, warm_up: WarmUp) -> Option<Summary> {
        let full = self.batches.full();
        let most = full.len().checked_sub(MIN_BATCHES)?;
        let means: Vec<f64> = full.iter().map(Batch::mean_response).collect();
        let found = match warm_up {
            WarmUp::Mser => first_cut(&means),
            WarmUp::Fixed => 0,
        };
        let cut = found.min(most);
        let kept = &full[cut..];
        let end = self.end();
        let (last, before) = kept.split_last()?;
        let mut last = last.clone();
        last.merge(&self.batches.rest(end));
        // With many classes a batch is large, so no more are copied than change.
        let groups: Vec<&Batch> = before.iter().chain([&last]).collect();
        let mut all = groups[0].clone();
        groups[1..].iter().for_each(|group| all.merge(group));
        let over = |figure: &dyn Fn(&Batch) -> (f64, f64)| ratio(&groups.iter().map(|b| figure(b)).collect::<Vec<_>>());
        let classes = (0..all.classes.len()).map(|class| both(&all, &groups, &|b| &b.classes[class], [1e9, 1.0]));
        let (response, slowdown) = both(&all, &groups, &|b| &b.requests, [1e9, 1.0])?;
        let sessions = all.sessions.as_ref().and_then(|[durations, _]| {
            let (duration, waited) =
                both(&all, &groups, &|b| b.sessions.as_ref().expect("all batches count sessions, or none"), [1e9; 2])?;
            Some(Ended { count: durations.count, duration, waited })
        });
        let count = |b: &Batch| b.count() as f64;
        let mean_work = all.work / count(&all);
        let group_means: Vec<f64> = groups.iter().map(|b| b.mean_response()).collect();
        // Arrivals that are still inside have only subtracted their arrival so far.
        let inside = self.inside.wrapping_add(u128::from(self.present) * u128::from(end.at.0));
        Some(Summary {
            jobs: all.count(),
            warm_up: full[..cut].iter().map(Batch::count).sum(),
            response,
            slowdown,
            classes: classes.collect(),
            sessions,
            response_by_little: over(&|b| (b.present / 1e9, count(b))),
            throughput: over(&|b| (count(b), b.length.as_secs_f64())),
            utilisation: over(&|b| (b.busy, b.length.0 as f64 * self.servers as f64)),
            in_system: over(&|b| (b.present, b.length.0 as f64)),
            refused: over(&|b| (b.refused as f64, b.refused as f64 + count(b))),
            work: (mean_work / 1e9, all.squares / count(&all) / (mean_work * mean_work) - 1.0),
            unfinished: self.present,
            little_holds: end.present == inside,
            independent: independent(&group_means),
            settled: found < full.len() / 2,
        })
    }
}

/// A time below 2^63 ns as a double: one instruction, where the other half of the range would cost five more.
#[inline]
fn real(time: Nanos) -> f64 {
    time.0 as i64 as f64
}

/// How the warm-up is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// The workload says so (`skip_first`); the statistics start after it.
    Fixed,
    /// By MSER on the means of the batches, see [`offered_stats::steady_state::warm_up`].
    Mser,
}

/// Both figures of a pair, in these units, over all batches and by group; `None` where nothing was counted.
fn both<const BITS: u32>(
    all: &Batch,
    groups: &[&Batch],
    which: &dyn Fn(&Batch) -> &Pair<BITS>,
    units: [f64; 2],
) -> Option<(Spread, Spread)> {
    let [one, two] = [0, 1].map(|i| Spread::of(all, groups, &|b| &which(b)[i], units[i]));
    (which(all)[0].count > 0).then_some((one, two))
}

impl Spread {
    fn of<const BITS: u32>(all: &Batch, groups: &[&Batch], which: &dyn Fn(&Batch) -> &Tally<BITS>, unit: f64) -> Self {
        let pairs: Vec<_> = groups.iter().map(|b| (which(b).sum / unit, which(b).count as f64)).collect();
        let whole = which(all);
        let beyond = |p: f64| {
            let value = whole.quantile(p);
            Beyond::new(p, &groups.iter().map(|b| (which(b).above(value), which(b).count as f64)).collect::<Vec<_>>())
        };
        let alike = beyond(0.5).alike().max(beyond(0.9).alike());
        let quantile = |p: f64| {
            let interval = match beyond(p).ranks(alike) {
                Ranks::Between(low, high) => Interval::Between(whole.quantile(low) / unit, whole.quantile(high) / unit),
                Ranks::Longer(times) => Interval::Needs((times * whole.count as f64).ceil() as u64),
            };
            Percentile { value: whole.quantile(p) / unit, interval }
        };
        Self {
            mean: ratio(&pairs),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: whole.max / unit,
        }
    }
}

impl Sink for Statistics {
    #[inline]
    fn arrived(&mut self, now: Instant) {
        self.pass(now);
        if now < self.until {
            self.present += 1;
            self.inside = self.inside.wrapping_sub(u128::from(now.0));
        }
    }

    fn refused(&mut self, launch: Launch, _: u16, after: After) {
        let now = launch.intended;
        self.pass(now);
        if now >= self.from && now < self.until {
            self.batches.open.refused += 1;
        }
        self.visited(now, launch, after);
    }

    #[inline]
    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, after: After) -> ControlFlow<()> {
        self.pass(now);
        if now >= self.until {
            return ControlFlow::Continue(());
        }
        self.present -= 1;
        self.inside = self.inside.wrapping_add(u128::from(now.0));
        self.visited(now, launch, after);
        if now < self.from {
            return ControlFlow::Continue(());
        }
        let (response, size) = (real(job.arrived.until(now)), real(job.size));
        let slowdown = if size > 0.0 { response / size } else { 1.0 };
        let open = &mut self.batches.open;
        open.work += size;
        open.squares += size * size;
        let [times, slowdowns] = &mut open.requests;
        times.add(response);
        slowdowns.add(slowdown);
        if let Some([times, slowdowns]) = open.classes.get_mut(usize::from(job.class)) {
            times.add(response);
            slowdowns.add(slowdown);
        }
        self.batches.turn(self.passed);
        self.completed += 1;
        if self.completed >= self.enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Statistics {
    /// A request of a session was answered or refused; of a session that is over, the whole of it counts.
    #[inline]
    fn visited(&mut self, now: Instant, launch: Launch, after: After) {
        let Some(visits) = &mut self.visits else { return };
        let Some(visit) = visits.answered(launch, now, after) else { return };
        if let Some([durations, waits]) = &mut self.batches.open.sessions
            && now >= self.from
            && now < self.until
        {
            durations.add(real(visit.began.until(now)));
            waits.add(real(visit.waited));
        }
    }
}
