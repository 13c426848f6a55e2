//! Load-dependent service rates for any discipline.

use offered_base::{Instant, Nanos};
use offered_workload::Rates;

use super::{Discipline, Job};

/// Another discipline whose total speed depends on the number n of jobs present: it is mu(n), divided equally among the jobs in service.
///
/// The inner discipline runs on a clock of its own, which advances by mu(n) / b(n) for each nanosecond, where b(n) is the number of its
/// servers that n jobs keep busy. So a constant speed is only another unit of time, and every discipline that always
/// keeps min(n, servers) servers busy has load-dependent rates.
///
/// # Accuracy
/// The inner clock is a whole number of nanoseconds and a fraction. A job completes at the first whole nanosecond not before its exact end,
/// and the service after that end goes to the other jobs.
pub struct LoadDependent {
    inner: Box<dyn Discipline + Send>,
    rates: Rates,
    servers: u64,
    /// Number of jobs present.
    present: u64,
    /// mu(n) / b(n).
    speed: f64,
    last: Instant,
    /// The inner clock at `last`: whole nanoseconds, and the fraction of the next one.
    clock: Instant,
    fraction: f64,
}

impl LoadDependent {
    /// `inner` keeps min(n, `servers`) servers busy with n jobs. If it serves a limited number of jobs at once (`ps:N`), `rates` must be constant
    /// from that number on ([`Rates::up_to`]).
    pub fn new(inner: Box<dyn Discipline + Send>, servers: u32, rates: Rates) -> Self {
        Self {
            inner,
            rates,
            servers: u64::from(servers.max(1)),
            present: 0,
            speed: 1.0,
            last: Instant::ZERO,
            clock: Instant::ZERO,
            fraction: 0.0,
        }
    }

    /// Advances the inner clock to `now`; no job arrived or left since `last`.
    fn advance(&mut self, now: Instant) {
        if self.present > 0 {
            let passed = self.fraction + self.last.until(now).0 as f64 * self.speed;
            self.clock += Nanos(passed as u64);
            self.fraction = passed.fract();
        }
        self.last = now;
    }

    fn set_present(&mut self, present: u64) {
        self.present = present;
        self.speed = self.rates.at(present) / present.clamp(1, self.servers) as f64;
    }
}

impl Discipline for LoadDependent {
    fn arrive(&mut self, now: Instant, job: Job) {
        self.advance(now);
        if self.present == 0 {
            self.fraction = 0.0;
        }
        if let Some(next) = self.inner.next().filter(|next| *next <= self.clock) {
            // Rounding has advanced the clock to a completion that is after `now`.
            (self.clock, self.fraction) = (Instant(next.0 - 1), 0.0);
        }
        self.inner.arrive(self.clock, job);
        self.set_present(self.present + 1);
    }

    fn next(&self) -> Option<Instant> {
        let next = self.inner.next()?;
        // Rounding in the fraction must not delay an exact end by a whole nanosecond.
        let left = (next.0.saturating_sub(self.clock.0) as f64 - self.fraction) / self.speed - 1e-6;
        Some(self.last + Nanos(left.max(0.0).ceil() as u64))
    }

    fn complete(&mut self, now: Instant) -> Option<Job> {
        let (at, next) = (self.next().filter(|at| *at <= now)?, self.inner.next()?);
        self.advance(at);
        if self.clock < next {
            (self.clock, self.fraction) = (next, 0.0);
        }
        let job = self.inner.complete(self.clock)?;
        self.set_present(self.present - 1);
        Some(job)
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        let passed = self.fraction + self.last.until(now).0 as f64 * self.speed;
        self.inner.remaining(self.clock + Nanos(passed as u64), report);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::super::{Fcfs, JobTokens, LimitedPs, Ps, Srpt};
    use super::*;

    fn jobs(list: &[(u64, u64)]) -> Vec<Job> {
        let job = |(id, (at, size)): (usize, &(u64, u64))| Job {
            id: id as u64,
            class: 0,
            size: Nanos(*size),
            arrived: Instant(*at),
            tokens: JobTokens::default(),
        };
        list.iter().enumerate().map(job).collect()
    }

    /// Completion times by job.
    fn ends(inner: impl Discipline + Send + 'static, servers: u32, rates: &[f64], list: &[(u64, u64)]) -> Vec<u64> {
        let rates = Rates::table(rates.to_vec()).unwrap();
        let mut done = run(&mut LoadDependent::new(Box::new(inner), servers, rates), &jobs(list));
        done.sort_by_key(|(_, job)| job.id);
        done.into_iter().map(|(at, _)| at.0).collect()
    }

    #[test]
    fn two_jobs_complete_as_computed_by_hand() {
        let two = [(0, 120), (60, 120)];
        // FCFS: 60 alone; then at speed 2, 30 for the first and, alone again at speed 1, 120.
        assert_eq!(ends(Fcfs::new(1), 1, &[1.0, 2.0], &two), [90, 210]);
        // PS: each at speed 1 / 2 x 1.5 while both are there.
        assert_eq!(ends(Ps::new(1), 1, &[1.0, 1.5], &two), [140, 200]);
        // Two servers of FCFS share the total rate of 1.5 like two jobs of PS.
        assert_eq!(ends(Fcfs::new(2), 2, &[1.0, 1.5], &two), [140, 200]);
        // SRPT: the first has less left.
        assert_eq!(ends(Srpt::new(1), 1, &[1.0, 0.5], &two), [180, 300]);
        // A slow server: one of speed a quarter.
        assert_eq!(ends(Ps::new(1), 1, &[0.25], &[(7, 100)]), [407]);
    }

    /// 66.460250260 s at speed 0.7 are exactly the first job, but the division gives a little more.
    #[test]
    fn a_job_may_arrive_when_rounding_puts_a_completion_just_after_it() {
        let two = [(0, 46_522_175_182), (66_460_250_260, 7)];
        let [first, second] = ends(Fcfs::new(1), 1, &[0.7], &two)[..] else { panic!() };
        assert!((66_460_250_260..=66_460_250_262).contains(&first) && second == first + 10, "{first} {second}");
    }

    #[test]
    fn requests_outside_a_limit_do_not_count() {
        let rates = Rates::table(vec![1.0, 1.5, 9.0]).unwrap().up_to(2);
        let three = jobs(&[(0, 120), (60, 120), (70, 30)]);
        let mut server = LoadDependent::new(Box::new(LimitedPs::new(1, 2).unwrap()), 1, rates);
        let mut done = run(&mut server, &three);
        done.sort_by_key(|(_, job)| job.id);
        // The third enters at 140 and needs 40 at three quarters; the second is then done at 200 + 10.
        assert_eq!(done.into_iter().map(|(at, _)| at.0).collect::<Vec<_>>(), [140, 210, 180]);
    }
}
