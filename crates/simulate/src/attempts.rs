//! The driver for workloads with time limits, retries or circuit breakers. Users see one request; the server sees each
//! of its attempts.
//!
//! A server does not notice that a client gave up: an abandoned job is served to its end (the default), so a queue that is longer than the
//! timeout wastes the whole capacity. With `cancel = true` a waiting job leaves the queue when its client gives up; a job in service
//! completes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_schedule::{Agenda, Launch};
use offered_workload::Workload;
use offered_workload::attempts::{AttemptTracker, FAILURE_PAUSE, Resend};
use offered_workload::retry::TimeLimits;
use offered_workload::script::OnFailure;

use crate::discipline::{Discipline, Job, JobTokens};
use crate::drive::{ServiceDemands, SimulatedServer, SimulationObserver, event};

/// Numbers of a simulation with time limits or retries, in its measured time. Rates are per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttemptFigures {
    /// Rate of requests: first attempts.
    pub first_attempts_per_s: f64,
    /// Rate of all attempts.
    pub attempts_per_s: f64,
    /// Rate of requests that succeeded.
    pub goodput_per_s: f64,
    /// Utilisation of the servers, 0 to 1; `None` if the completed jobs do not determine it.
    pub utilisation: Option<f64>,
    /// Share of that work for attempts that clients had abandoned, 0 to 1.
    pub wasted: f64,
    /// Number of requests whose user gave up.
    pub gave_up: u64,
    /// Rate of requests that were not sent because a circuit breaker was open.
    pub breaker_open_per_s: f64,
}

/// The state of a simulation besides agenda and server.
pub(crate) struct Attempts<'a> {
    workload: &'a Workload,
    tracker: AttemptTracker,
    limits: Option<TimeLimits>,
    /// The timeout of an attempt, for requests without a timeout of their own.
    usual: Option<Nanos>,
    /// The attempt of each job in the server, by its index.
    jobs: Vec<Attempt>,
    /// The timeouts of attempts: instant, index and serial number.
    timeouts: BinaryHeap<Reverse<(Instant, usize, u64)>>,
    /// The requests that have not ended, by session, with their demand.
    open: HashMap<u64, (Launch, Nanos)>,
    serial: u64,
    cancel: bool,
    servers: Option<u32>,
    counted: std::ops::Range<Instant>,
    counts: Counts,
}

/// An attempt in the server.
#[derive(Clone, Copy)]
struct Attempt {
    launch: Launch,
    sent: Instant,
    serial: u64,
    /// Whether the client waits for the response.
    is_awaited: bool,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    first: u64,
    all: u64,
    good: u64,
    gave_up: u64,
    held_back: u64,
    work: Nanos,
    wasted: Nanos,
    now: Instant,
}

impl<'a> Attempts<'a> {
    /// For a workload with time limits or retries; `None` for any other. `servers` as [`AttemptFigures::utilisation`] needs them.
    pub(crate) fn new(workload: &'a Workload, servers: Option<u32>) -> Option<Self> {
        Some(Self {
            tracker: AttemptTracker::new(workload, 1)?,
            limits: workload.time_limits(),
            usual: workload.target().map(offered_workload::Target::response_timeout),
            jobs: Vec::new(),
            timeouts: BinaryHeap::new(),
            open: HashMap::new(),
            serial: 0,
            cancel: workload.server().is_some_and(offered_workload::Server::cancel),
            servers,
            counted: workload.counted(),
            counts: Counts::default(),
            workload,
        })
    }

    /// Runs as [`drive`](crate::drive::drive) does.
    pub(crate) fn drive<D: Discipline, S: SimulationObserver>(
        &mut self,
        agenda: &mut Agenda,
        server: &mut SimulatedServer<D>,
        demands: &ServiceDemands,
        sink: &mut S,
    ) {
        loop {
            let completion = server.discipline.next().unwrap_or(Instant::MAX);
            let timeout = self.next_timeout();
            let again = self.tracker.next_due().unwrap_or(Instant::MAX);
            let next = completion.min(timeout).min(again);
            let (mut now, mut ended) = (next, Vec::new());
            if let Some(launch) = agenda.due_before(next) {
                now = launch.intended;
                let (label, size, tokens) = demands.of(launch);
                self.open.insert(launch.session, (launch, size));
                sink.arrived(now);
                if self.tracker.first(Resend { launch, label, sequence: 0 }, now) {
                    self.count(now, |counts| counts.first += 1);
                    self.send(now, launch, (label, size, tokens), server, &mut ended);
                } else {
                    self.count(now, |counts| counts.held_back += 1);
                    ended.push(Event { sent: None, outcome: Outcome::BreakerOpen, ..event(launch, label, now) });
                }
            } else if next == Instant::MAX {
                return;
            } else if completion == next {
                let job = server.discipline.complete(next);
                self.rejected(next, server, &mut ended);
                if let Some(job) = job {
                    self.completed(next, &job, server, &mut ended);
                }
            } else if timeout == next {
                self.timed_out(next, server, &mut ended);
            } else if let Some(Resend { launch, label, .. }) = self.tracker.due(next, &mut ended)
                && let Some((_, size)) = self.open.get(&launch.session)
            {
                self.send(next, launch, (label, *size, demands.tokens(launch, label)), server, &mut ended);
            }
            self.counts.now = self.counts.now.max(now.min(self.counted.end));
            if self.settle(agenda, ended, sink) {
                return;
            }
        }
    }

    /// Adds to a counter, if `now` is in the measured time.
    fn count(&mut self, now: Instant, count: impl FnOnce(&mut Counts)) {
        if self.counted.contains(&now) {
            count(&mut self.counts);
        }
    }

    /// Sends an attempt to the server.
    fn send<D: Discipline>(
        &mut self,
        now: Instant,
        launch: Launch,
        job: (u16, Nanos, JobTokens),
        server: &mut SimulatedServer<D>,
        ended: &mut Vec<Event>,
    ) {
        let (label, size, tokens) = job;
        self.count(now, |counts| counts.all += 1);
        let event = event(launch, label, now);
        let Some(place) = server.admit(launch, label) else {
            ended.push(Event { done: Some(now), outcome: Outcome::Refused, ..event });
            return;
        };
        self.serial += 1;
        let attempt = Attempt { launch, sent: now, serial: self.serial, is_awaited: true };
        if place == self.jobs.len() {
            self.jobs.push(attempt);
        } else {
            self.jobs[place] = attempt;
        }
        let limits = self.limits.as_ref();
        let timeout = limits.and_then(|limits| limits.timeout(label)).or(self.usual);
        let patience = limits.and_then(|limits| limits.patience(label, launch.session, launch.step));
        let ends = [timeout.map(|timeout| now + timeout), patience.map(|patience| launch.intended + patience)];
        if let Some(at) = ends.into_iter().flatten().min() {
            self.timeouts.push(Reverse((at, place, self.serial)));
        }
        server.discipline.arrive(now, Job { id: place as u64, class: label, size, arrived: now, tokens });
        self.rejected(now, server, ended);
    }

    /// Ends the attempts that were rejected inside the server at `now`.
    fn rejected<D: Discipline>(&mut self, now: Instant, server: &mut SimulatedServer<D>, ended: &mut Vec<Event>) {
        while let Some(job) = server.discipline.rejected() {
            let Attempt { launch, sent, is_awaited, .. } = self.jobs[job.id as usize];
            self.jobs[job.id as usize].is_awaited = false;
            server.dismiss(&job);
            if is_awaited {
                ended.push(Event { done: Some(now), outcome: Outcome::Refused, ..event(launch, job.class, sent) });
            }
        }
    }

    /// When the next attempt times out.
    fn next_timeout(&mut self) -> Instant {
        while let Some(Reverse((at, place, serial))) = self.timeouts.peek() {
            let attempt = self.jobs[*place];
            if attempt.serial == *serial && attempt.is_awaited {
                return *at;
            }
            self.timeouts.pop();
        }
        Instant::MAX
    }

    fn completed<D: Discipline>(
        &mut self,
        now: Instant,
        job: &Job,
        server: &mut SimulatedServer<D>,
        ended: &mut Vec<Event>,
    ) {
        let Attempt { launch, sent, is_awaited, .. } = self.jobs[job.id as usize];
        self.jobs[job.id as usize].is_awaited = false;
        server.dismiss(job);
        self.count(now, |counts| {
            counts.work += job.size;
            counts.wasted += if is_awaited { Nanos::ZERO } else { job.size };
        });
        if is_awaited {
            let event = event(launch, job.class, sent);
            let stream = job.tokens.stream(sent, now);
            let first_byte = Some(stream.as_ref().map_or(now, |stream| stream.head));
            ended.push(Event { first_byte, done: Some(now), outcome: Outcome::Ok, status: 200, stream, ..event });
        }
    }

    fn timed_out<D: Discipline>(&mut self, now: Instant, server: &mut SimulatedServer<D>, ended: &mut Vec<Event>) {
        let Some(Reverse((_, place, _))) = self.timeouts.pop() else { return };
        let attempt = &mut self.jobs[place];
        attempt.is_awaited = false;
        let Attempt { launch, sent, .. } = *attempt;
        let (_, label) = server.inside(place);
        if self.cancel && server.discipline.cancel(place as u64) {
            server.release(place);
        }
        let timeout = self.limits.as_ref().and_then(|limits| limits.timeout(label)).or(self.usual).unwrap_or_default();
        let error = Some(Reason::ResponseTimeout(timeout));
        ended.push(Event { done: Some(now), outcome: Outcome::Timeout, error, ..event(launch, label, sent) });
    }

    /// Processes attempts that ended, and schedules the next actions of their sessions. Returns true if the observer
    /// stops the simulation.
    fn settle<S: SimulationObserver>(&mut self, agenda: &mut Agenda, mut ended: Vec<Event>, sink: &mut S) -> bool {
        if ended.is_empty() {
            return false;
        }
        let (mut attempts, mut waiting) = (Vec::new(), Vec::new());
        self.tracker.settle(&mut ended, &mut attempts, &mut waiting);
        for event in &attempts {
            sink.attempt(event);
        }
        let mut stops = false;
        for event in ended {
            let Some((launch, size)) = self.open.remove(&event.session) else { continue };
            let done = event.done.unwrap_or(event.intended);
            let gave_up = matches!(event.error, Some(Reason::GaveUp(_)));
            let is_good = event.outcome == Outcome::Ok;
            self.count(done, |counts| {
                counts.good += u64::from(is_good);
                counts.gave_up += u64::from(gave_up);
            });
            let on_failure = self.workload.requests()[usize::from(event.label)].on_failure();
            let pause = if event.outcome == Outcome::BreakerOpen { FAILURE_PAUSE } else { Nanos::ZERO };
            let after = if gave_up || !is_good && on_failure != OnFailure::Continue {
                agenda.broken_off(launch, done + pause)
            } else {
                agenda.completed(launch, done + pause)
            };
            stops |= sink.ended(launch, &event, size, after).is_break();
        }
        stops
    }

    /// The requests that have not ended, in order.
    pub(crate) fn unfinished(&self) -> Vec<Launch> {
        let mut launches: Vec<Launch> = self.open.values().map(|(launch, _)| *launch).collect();
        launches.sort_unstable();
        launches
    }

    /// The figures so far.
    pub(crate) fn figures(&self) -> AttemptFigures {
        let Counts { first, all, good, gave_up, held_back, work, wasted, now } = self.counts;
        let seconds = self.counted.start.until(now).as_secs_f64();
        let rate = |count: u64| count as f64 / seconds;
        AttemptFigures {
            first_attempts_per_s: rate(first),
            attempts_per_s: rate(all),
            goodput_per_s: rate(good),
            utilisation: self.servers.map(|servers| work.as_secs_f64() / seconds / f64::from(servers)),
            wasted: if work > Nanos::ZERO { wasted.as_secs_f64() / work.as_secs_f64() } else { 0.0 },
            gave_up,
            breaker_open_per_s: rate(held_back),
        }
    }
}

#[cfg(test)]
mod tests;
