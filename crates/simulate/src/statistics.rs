//! What is learnt from looking on: means and percentiles with intervals, in constant memory.
//!
//! The run is cut into batches of equally many completions. A warm-up is left out, by the workload's `skip_first` or by MSER,
//! and every figure comes with the 95 % interval that twenty groups of the remaining batches give it (batch means; Law and
//! Kelton, section 9.5).
//!
//! In a closed system near saturation the mean over completed jobs is not the mean response: a discipline by size never
//! finishes its longest jobs. So E\[N\]/X by Little's law stands beside it, with the unfinished jobs and their age.

mod batches;
mod tally;

use std::ops::ControlFlow;

use offered_model::{Launch, Nanos};
use offered_stats::steady_state::{Estimate, from_batches, lag_1, ratio, warm_up as first_cut};

use crate::discipline::Job;
use crate::drive::Sink;
use batches::{Batch, Batches};
use tally::Tally;

/// How many groups of batches the intervals come from.
const GROUPS: usize = 20;

/// Looks on, and remembers enough for a [`Summary`].
#[derive(Clone, Debug)]
pub struct Statistics {
    batches: Batches,
    servers: u64,
    /// What is completed before is not counted.
    from: Nanos,
    /// Nothing is counted from here on.
    until: Nanos,
    /// Stop after so many completions in all.
    enough: u64,
    completed: u64,
    /// Jobs in the system.
    present: u64,
    last: Nanos,
    identity: Identity,
}

/// Both sides of Little's law for a finite time: the integral of the number present is the sum of all times spent inside.
#[derive(Clone, Copy, Debug, Default)]
struct Identity {
    present: u128,
    /// Sum of completions minus sum of arrivals, modulo 2^128, so that it can dip below zero on the way.
    inside: u128,
}

/// What is known of a kind of time, in seconds, or of slowdowns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean over completed jobs.
    pub mean: Estimate,
    /// The median, and on.
    pub p50: Estimate,
    /// 90 %.
    pub p90: Estimate,
    /// 95 %.
    pub p95: Estimate,
    /// 99 %.
    pub p99: Estimate,
    /// The largest.
    pub max: f64,
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
    /// The correlation of neighbouring groups' means: near 0 when the intervals can be trusted.
    pub correlation: f64,
    /// Whether the warm-up is shorter than the first half; otherwise the run may not have settled.
    pub settled: bool,
}

impl Statistics {
    /// For this many servers and classes, counting completions in `[from, until)` and stopping after `enough` of them.
    pub fn new(servers: u32, classes: usize, from: Nanos, until: Nanos, enough: u64) -> Self {
        Self {
            batches: Batches::new(classes),
            servers: u64::from(servers),
            from,
            until,
            enough,
            completed: 0,
            present: 0,
            last: Nanos::ZERO,
            identity: Identity::default(),
        }
    }

    /// Goes on until this many completions in all.
    pub fn go_on_until(&mut self, enough: u64) {
        self.enough = enough;
    }

    /// Completions so far, in the time that counts.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// The last instant it has seen.
    pub fn now(&self) -> Nanos {
        self.last
    }

    /// Nothing changed until `now`.
    #[inline]
    fn pass(&mut self, now: Nanos) {
        let now = now.min(self.until);
        let time = now.since(self.last.max(self.from)).0;
        let open = &mut self.batches.open;
        open.length += Nanos(time);
        let length = real(time);
        open.present += real(self.present) * length;
        open.busy += real(self.present.min(self.servers)) * length;
        self.identity.present += u128::from(self.present) * u128::from(now.since(self.last).0);
        self.last = now;
    }

    /// The figures; `None` when fewer than twenty batches of 64 jobs are left after the warm-up.
    pub fn summary(&self, warm_up: WarmUp) -> Option<Summary> {
        let full = self.batches.full();
        let means: Vec<f64> = full.iter().map(Batch::mean_response).collect();
        let cut = match warm_up {
            WarmUp::Mser => first_cut(&means),
            WarmUp::Fixed => 0,
        };
        let kept = &full[cut..];
        if kept.len() < GROUPS {
            return None;
        }
        let groups: Vec<Batch> = (0..GROUPS)
            .map(|i| {
                let mut group = kept[i * kept.len() / GROUPS].clone();
                kept[i * kept.len() / GROUPS + 1..(i + 1) * kept.len() / GROUPS].iter().for_each(|b| group.merge(b));
                group
            })
            .collect();
        let mut all = groups[0].clone();
        groups[1..].iter().for_each(|group| all.merge(group));
        let over = |figure: &dyn Fn(&Batch) -> (f64, f64)| ratio(&groups.iter().map(figure).collect::<Vec<_>>());
        let spread = |which: &dyn Fn(&Batch) -> &Tally, unit: f64| Spread::of(&all, &groups, which, unit);
        let classes = (1..all.responses.len()).map(|class| {
            (all.responses[class].count > 0)
                .then(|| (spread(&|b| &b.responses[class], 1e9), spread(&|b| &b.slowdowns[class], 1.0)))
        });
        let n = all.count as f64;
        let mean_work = all.work / n;
        let group_means: Vec<f64> = groups.iter().map(Batch::mean_response).collect();
        // Arrivals that are still inside have only subtracted their arrival so far.
        let inside = self.identity.inside.wrapping_add(u128::from(self.present) * u128::from(self.last.0));
        Some(Summary {
            jobs: all.count,
            warm_up: full[..cut].iter().map(|batch| batch.count).sum(),
            response: spread(&|b| &b.responses[0], 1e9),
            slowdown: spread(&|b| &b.slowdowns[0], 1.0),
            classes: classes.collect(),
            response_by_little: over(&|b| (b.present / 1e9, b.count as f64)),
            throughput: over(&|b| (b.count as f64, b.length.as_secs_f64())),
            utilisation: over(&|b| (b.busy, b.length.0 as f64 * self.servers as f64)),
            in_system: over(&|b| (b.present, b.length.0 as f64)),
            refused: over(&|b| (b.refused as f64, (b.refused + b.count) as f64)),
            work: (mean_work / 1e9, all.squares / n / (mean_work * mean_work) - 1.0),
            unfinished: self.present,
            little_holds: self.identity.present == inside,
            correlation: lag_1(&group_means).unwrap_or(0.0),
            settled: cut < full.len() / 2,
        })
    }
}

/// A number below 2^63 as a double: one instruction, where the other half of the range would cost five more.
#[inline]
fn real(count: u64) -> f64 {
    count as i64 as f64
}

/// How the warm-up is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// The workload says so (`skip_first`); the statistics start after it.
    Fixed,
    /// By MSER on the means of the batches, see [`offered_stats::steady_state::warm_up`].
    Mser,
}

impl Spread {
    fn of(all: &Batch, groups: &[Batch], which: &dyn Fn(&Batch) -> &Tally, unit: f64) -> Self {
        let pairs: Vec<_> = groups.iter().map(|b| (which(b).sum / unit, which(b).count as f64)).collect();
        let quantile = |p: f64| {
            let each: Vec<f64> = groups.iter().map(|b| which(b).quantile(p) / unit).collect();
            from_batches(which(all).quantile(p) / unit, &each)
        };
        Self {
            mean: ratio(&pairs),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: which(all).max / unit,
        }
    }
}

impl Sink for Statistics {
    #[inline]
    fn arrived(&mut self, now: Nanos) {
        self.pass(now);
        if now < self.until {
            self.present += 1;
            self.identity.inside = self.identity.inside.wrapping_sub(u128::from(now.0));
        }
    }

    #[inline]
    fn refused(&mut self, launch: Launch, _: u16) {
        self.pass(launch.intended);
        if launch.intended >= self.from && launch.intended < self.until {
            self.batches.open.refused += 1;
        }
    }

    #[inline]
    fn completed(&mut self, now: Nanos, _: Launch, job: &Job) -> ControlFlow<()> {
        self.pass(now);
        if now >= self.until {
            return ControlFlow::Continue(());
        }
        self.present -= 1;
        self.identity.inside = self.identity.inside.wrapping_add(u128::from(now.0));
        if now < self.from {
            return ControlFlow::Continue(());
        }
        let (response, size) = (real(now.since(job.arrived).0), real(job.size.0));
        let slowdown = if size > 0.0 { response / size } else { 1.0 };
        let open = &mut self.batches.open;
        open.count += 1;
        open.work += size;
        open.squares += size * size;
        open.responses[0].add(response);
        open.slowdowns[0].add(slowdown);
        if open.responses.len() > 1 {
            open.responses[1 + usize::from(job.class)].add(response);
            open.slowdowns[1 + usize::from(job.class)].add(slowdown);
        }
        self.batches.turn();
        self.completed += 1;
        if self.completed >= self.enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
