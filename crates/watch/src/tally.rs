//! The tally: running sums of a run's events.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use offered_model::workload::Sessions;
use offered_model::{Event, Instant, Nanos, Outcome, Workload};
use offered_run::Counts;
use offered_stats::cov::exponential_interval;
use offered_stats::growth::growth;
use offered_verify::{Ask, Checked, Joined, Judgement, Pattern, Share, SoFar, standing};

use crate::gaps::Gaps;
use crate::gauges::Gauge;
use crate::pulse::{Figures, Growth, Phase, Pulse, Request};
use crate::times::{RECENT, Ring, Services, Times};
use crate::totals::Totals;

/// Batches come up to so much later than the events in them.
const BATCHED: Nanos = Nanos::from_secs(5);

/// From so many seconds on it is said whether the number under way grows. Of 150 queues from empty at a load of 0.9, asked every second
/// of a minute, none was then said to grow; of those at 1.5 all but one in a hundred within nine seconds.
const SECONDS_OF_GROWTH: usize = 5;

/// Requests of a workload that are told apart.
const TOLD_APART: usize = 1000;

/// Running sums of the events of one run, whatever their order.
pub struct Tally {
    workload: Workload,
    fraction: f64,
    /// How many launches are meant at most; of a share to within one.
    most: Option<u64>,
    ask: Ask,
    /// The instants meant that count.
    counted: Range<Instant>,
    /// From sending to the last word about it, at the longest.
    longest: Nanos,
    all: Times,
    ring: Ring,
    /// Of all that counts, what is left of the responses without lateness.
    service: Services,
    /// Launches that were sent; in a partly-open system the first of each session.
    sent: Gaps,
    /// The instants they were meant for.
    meant: Gaps,
    outcomes: [u64; Outcome::ALL.len()],
    statuses: BTreeMap<u16, u64>,
    /// The first requests of the workload by their labels, and what came of each.
    requests: Vec<(String, Times, u64, u64)>,
    gauges: Vec<Gauge>,
    joined: Joined,
    /// Where somebody asks for them.
    totals: Option<Arc<Totals>>,
    /// The threshold that was broken first of those that end the run, and what was seen then.
    broken: Option<String>,
    /// How many were under way at each pulse, while launches count.
    under_way: Vec<f64>,
    /// Launches that count: sent, and never sent.
    counts: (u64, u64),
    /// The first and the last instant of sending of those.
    span: Option<(Instant, Instant)>,
    /// Launches sent by then, of the last seconds.
    before: VecDeque<(Instant, u64)>,
    /// While launches count, the first and the last pulse, and how many launches had been sent by then.
    counting: Option<((Instant, u64), (Instant, u64))>,
}

impl Tally {
    /// Of a run of this fraction of `workload`.
    pub fn new(workload: &Workload, fraction: f64) -> Self {
        let labels = workload.labels();
        let longest = workload.target().as_ref().map_or(Nanos::ZERO, |t| t.connect_timeout() + t.response_timeout());
        Self {
            workload: workload.clone(),
            fraction,
            most: workload.most_launches().map(|most| (most as f64 * fraction).ceil() as u64),
            ask: Ask::of(workload, fraction),
            counted: workload.counted(),
            longest: longest + BATCHED,
            all: Times::default(),
            ring: Ring::default(),
            service: Services::default(),
            sent: Gaps::default(),
            meant: Gaps::default(),
            outcomes: [0; Outcome::ALL.len()],
            statuses: BTreeMap::new(),
            requests: labels.iter().take(TOLD_APART).map(|name| (name.clone(), Times::default(), 0, 0)).collect(),
            gauges: Gauge::all(workload.thresholds(), &labels, &workload.pages()),
            joined: Joined::default(),
            totals: None,
            broken: None,
            under_way: Vec::new(),
            counts: (0, 0),
            span: None,
            before: VecDeque::from([(Instant::ZERO, 0)]),
            counting: (workload.counted().start == Instant::ZERO).then_some(((Instant::ZERO, 0), (Instant::ZERO, 0))),
        }
    }

    /// Keeps [`Totals`] from now on, which pulses then have.
    pub fn keep_totals(&mut self) {
        let users = match self.workload.sessions() {
            Sessions::Closed(closed) => Some((closed.users() as f64 * self.fraction).round() as u64),
            _ => None,
        };
        self.totals = Some(Arc::new(Totals::new(&self.workload.labels(), users)));
    }

    /// Takes events.
    pub fn add(&mut self, events: &[Event]) {
        let sessions_only = matches!(self.workload.sessions(), Sessions::PartlyOpen { .. });
        for event in events {
            let Some(objects) = self.joined.add(event) else { continue };
            self.outcomes[event.outcome as usize] += 1;
            if let Some(totals) = &mut self.totals {
                Arc::make_mut(totals).add(event, &objects);
            }
            if event.status > 0 {
                *self.statuses.entry(event.status).or_default() += 1;
            }
            self.ring.add(event);
            if !self.counted.contains(&event.intended) {
                continue;
            }
            self.all.add(event);
            self.service.add(event);
            self.gauges.iter_mut().for_each(|gauge| gauge.add(event, &objects));
            if let Some((_, times, ok, failed)) = self.requests.get_mut(usize::from(event.label)) {
                times.add(event);
                *(if event.outcome == Outcome::Ok { ok } else { failed }) += 1;
            }
            let judged = !sessions_only || event.step == 0;
            if judged {
                self.meant.insert(event.intended.0);
            }
            let Some(sent) = event.sent else {
                self.counts.1 += 1;
                continue;
            };
            self.counts.0 += 1;
            self.span = Some(self.span.map_or((sent, sent), |(first, last)| (first.min(sent), last.max(sent))));
            if judged {
                self.sent.insert(sent.0);
            }
        }
    }

    /// The figures `now`, with what the launching threads count; `stopping` once somebody stopped the run.
    pub fn pulse(&mut self, now: Instant, live: Counts, stopping: bool) -> Pulse {
        let gone = now.earlier(self.longest).0;
        self.sent.forget(gone);
        self.meant.forget(gone);
        // The two are not read in the same instant.
        let sent = live.launched.saturating_sub(live.unsent);
        let since = self.recent_from(now, sent);
        let (from, to) = (self.counted.start, now.min(self.counted.end));
        let recent = self.ring.recent(now);
        let so_far = Figures {
            asked_per_s: self.asked(from, to),
            sent_per_s: self.sent_per_s(now, sent, live.in_flight),
            answered_per_s: rate(self.all.answered(), from.until(to)),
            response_ms: self.all.response(),
            lateness_us: self.all.lateness(),
        };
        let without_lateness_ms = self.service.percentiles();
        if (from..self.counted.end).contains(&now) {
            self.under_way.push(live.in_flight as f64);
        }
        let standing = standing(&self.so_far(so_far.asked_per_s, live.in_flight), &self.ask);
        // Of launches that are under way nothing is known here yet: where they are many, the gaps between the others tell nothing.
        let told = standing.pattern != Pattern::TooFew;
        let cov = self.sent.cov().filter(|_| told);
        let interval = cov.map(|cov| exponential_interval(cov, self.sent.count()));
        let thresholds: Vec<Checked> =
            self.gauges.iter().map(|gauge| gauge.checked(from.until(to), self.rate(), cov)).collect();
        if self.broken.is_none() && !stopping {
            self.broken = self.first_broken(&thresholds, now);
        }
        Pulse {
            time_s: now.as_secs_f64(),
            duration_s: self.workload.time_limit().map(Nanos::as_secs_f64),
            most: self.most,
            phase: self.phase(now, stopping, live.launched),
            recent: Figures {
                asked_per_s: self.asked(since.0, now),
                sent_per_s: rate(sent.saturating_sub(since.1), since.0.until(now)),
                answered_per_s: rate(recent.answered(), Instant::ZERO.until(now).min(Nanos::from_secs(RECENT))),
                response_ms: recent.response(),
                lateness_us: recent.lateness(),
            },
            so_far,
            without_lateness_ms,
            requests: self.requests(),
            workers: Vec::new(),
            bars: recent.bars(),
            thresholds,
            broken: self.broken.clone(),
            unkept: None,
            growth: self.growth(),
            launched: live.launched,
            unsent: live.unsent,
            in_flight: live.in_flight,
            outcomes: Outcome::ALL.iter().map(|o| (*o, self.outcomes[*o as usize])).filter(|o| o.1 > 0).collect(),
            statuses: self.statuses.clone(),
            cov,
            cov_low: interval.map(|interval| interval.low),
            cov_high: interval.map(|interval| interval.high),
            meant_cov: self.meant.cov().filter(|_| told),
            pattern: standing.pattern,
            judgement: standing.judgement,
            because: standing.because,
            totals: self.totals.clone(),
        }
    }

    /// The figures of a run that is over.
    pub fn last(&mut self, now: Instant, live: Counts) -> Pulse {
        Pulse { phase: Phase::Ended, ..self.pulse(now, live, true) }
    }

    /// Whether a threshold of the workload can end the run.
    pub fn can_stop(&self) -> bool {
        self.workload.thresholds().iter().any(|threshold| threshold.stop.is_some())
    }

    /// What is seen of the first of these thresholds that ends the run now.
    fn first_broken(&self, thresholds: &[Checked], now: Instant) -> Option<String> {
        let is_broken = |checked: &&Checked| {
            let from = checked.threshold.stop.map(|after| self.counted.start + after);
            checked.judgement == Judgement::Fails && from.is_some_and(|from| now >= from)
        };
        let broken = thresholds.iter().find(is_broken)?;
        let (seen, launches) = (broken.value_in_words(), self.counts.0 + self.counts.1);
        Some(format!(
            "{} was broken: {seen} after {:.1} s, of {launches} launches",
            broken.threshold,
            now.as_secs_f64()
        ))
    }

    /// The busiest requests, and all of several.
    fn requests(&self) -> Vec<Request> {
        let row = |(name, times, ok, failed): &(String, Times, u64, u64)| Request {
            name: name.clone(),
            ok: *ok,
            failed: *failed,
            response_ms: times.response(),
        };
        let mut rows: Vec<Request> = self.requests.iter().map(row).filter(|row| row.ok + row.failed > 0).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.ok + row.failed));
        let (ok, failed) = rows.iter().fold((0, 0), |(ok, failed), row| (ok + row.ok, failed + row.failed));
        let total = Request { name: "Total".to_owned(), ok, failed, response_ms: self.all.response() };
        let several = rows.len() > 1;
        rows.truncate(Pulse::REQUESTS);
        rows.extend(several.then_some(total));
        rows
    }

    /// How the number under way grew so far, second by second; `None` in the first [`SECONDS_OF_GROWTH`] that count, and in a closed
    /// system, whose users wait.
    fn growth(&self) -> Option<Growth> {
        if self.under_way.len() < SECONDS_OF_GROWTH || matches!(self.workload.sessions(), Sessions::Closed(_)) {
            return None;
        }
        let changes: Vec<f64> = self.under_way.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let growth = growth(&changes)?;
        let matters = self.rate().is_some_and(|rate| growth.mean > offered_verify::MATTERS * rate);
        Some(Growth { per_s: growth.mean, outrun: matters && growth.interval.low > 0.0 })
    }

    /// The sums that the verdict so far rests on.
    fn so_far(&self, asked_per_s: Option<f64>, in_flight: u64) -> SoFar {
        // A rate that changes at random is held to its schedule, which is drawn when the run is over.
        let steady = self.ask.rate_per_s.is_some() && self.ask.drawn.is_none();
        let judged_per_s = asked_per_s.filter(|_| steady).map(|asked| asked / self.per_session());
        SoFar {
            gaps: self.sent.count(),
            sent_cov: self.sent.cov(),
            meant_cov: self.meant.cov(),
            rate_ratio: self.sent.rate_per_s().zip(judged_per_s).map(|(sent, asked)| sent / asked),
            late_p99_us: self.all.lateness().map(|lateness| lateness.p99),
            worst: self.worst(),
            sent: self.counts.0,
            unsent: self.counts.1,
            in_flight,
        }
    }

    /// The percentile of which most is lateness.
    fn worst(&self) -> Option<Share> {
        let (with, without) = (self.all.response()?, self.service.percentiles()?);
        let share = |percentile, response_ms: f64, without_lateness_ms: f64| Share {
            percentile,
            response_ms,
            without_lateness_ms,
            waiting: (1.0 - without_lateness_ms / response_ms).max(0.0),
            company: None,
        };
        let all = [
            share(50.0, with.p50, without.p50),
            share(95.0, with.p95, without.p95),
            share(99.0, with.p99, without.p99),
        ];
        all.into_iter().max_by(|a, b| a.waiting.total_cmp(&b.waiting))
    }

    /// Launches for each one whose gaps are judged.
    fn per_session(&self) -> f64 {
        match self.workload.sessions() {
            Sessions::PartlyOpen { length, .. } => length.mean(),
            _ => 1.0,
        }
    }

    fn phase(&self, now: Instant, stopping: bool, launched: u64) -> Phase {
        match now {
            _ if stopping => Phase::Stopping,
            Instant::ZERO => Phase::Starting,
            _ if self.most.is_some_and(|most| launched >= most) => Phase::Draining,
            now if now < self.counted.start => Phase::WarmingUp,
            now if now < self.workload.end() => Phase::Running,
            _ => Phase::Draining,
        }
    }

    /// Where the last seconds begin, and how many launches had been sent by then; notes how many there are `now`.
    fn recent_from(&mut self, now: Instant, sent: u64) -> (Instant, u64) {
        self.before.push_back((now, sent));
        while self.before.len() > 2 && self.before[1].0 + Nanos::from_secs(RECENT) <= now {
            self.before.pop_front();
        }
        self.before[0]
    }

    /// Launches per second sent, of those that count: by the events where all are through, before that by what the threads count,
    /// `sent` being how many there are `now`.
    fn sent_per_s(&mut self, now: Instant, sent: u64, in_flight: u64) -> Option<f64> {
        if self.counted.contains(&now) {
            // A second that begins before launches count is not counted.
            let begun = self.counting.map_or((now, sent), |(begun, _)| begun);
            self.counting = Some((begun, (now, sent)));
        }
        let counting = self.counting.filter(|_| in_flight > 0);
        counting.map_or_else(|| self.rate(), |((from, before), (to, after))| rate(after - before, from.until(to)))
    }

    /// Launches per second sent, of those that count and are through.
    fn rate(&self) -> Option<f64> {
        let (first, last) = self.span?;
        rate(self.counts.0 - 1, first.until(last))
    }

    /// Launches per second asked for in a stretch; nothing is asked for after the run's duration.
    fn asked(&self, from: Instant, to: Instant) -> Option<f64> {
        let launches = self.workload.asked_before(to)? - self.workload.asked_before(from)?;
        (to > from).then(|| launches * self.fraction / from.until(to).as_secs_f64())
    }
}

fn rate(n: u64, span: Nanos) -> Option<f64> {
    (span > Nanos::ZERO).then(|| n as f64 / span.as_secs_f64())
}

#[cfg(test)]
mod tests;
