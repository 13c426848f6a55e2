//! The summary of a run: the document `offered.run/1`.

mod failures;

pub use failures::{Failure, failures};

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use failures::Failing;
use offered_model::document::{Document, Schema};
use offered_model::{Difference, Instant, Outcome, Recording, Share, Workload};
use offered_run::Done;
use offered_stats::Summary as Numbers;
use offered_stats::values::Values;
use offered_verify::{
    Check, Checked, Effect, Judgement, KeepsUp, Measured, Pages, Pattern, Request, Sessions, Verdict, Warning,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SetLoad;

/// What a run came to. Counts are of the whole run; rates, times and arrivals leave out `skip_first` and `skip_last`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// What this document is.
    pub schema: Schema<Summary>,
    /// The load that the rate was set for, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_load: Option<SetLoad>,
    /// Launches (of the whole session) per second meant; `null` for a closed system, whose rate is the server's to give.
    pub asked_rate_per_s: Option<f64>,
    /// Launches per second that were sent.
    pub offered_rate_per_s: Option<f64>,
    /// Complete answers per second, good and bad.
    pub answered_rate_per_s: Option<f64>,
    /// Whether as much left the system as arrived; `null` when nothing was launched.
    pub keeps_up: Option<KeepsUp>,
    /// All launches, sent or not.
    pub launched: u64,
    /// Those never sent.
    pub unsent: u64,
    /// Those answered, well or not.
    pub completed: u64,
    /// Launches by how they ended.
    pub outcomes: BTreeMap<String, u64>,
    /// What came of each request, the last row of all.
    pub requests: Vec<Request>,
    /// How many answers had each HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// What did not go well, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// done - intended, of good answers.
    pub response_ms: Option<Millis>,
    /// done - sent, of good answers.
    pub service_ms: Option<Millis>,
    /// How long TLS handshakes took, where any were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake_ms: Option<Millis>,
    /// How long requests waited for a connection of a pool, where there are such pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<Millis>,
    /// sent - intended.
    pub lateness_us: Option<Micros>,
    /// What that did to the percentiles of the responses; `null` of fewer than a hundred good answers.
    #[serde(default)]
    pub effect: Option<Effect>,
    /// Of a partly-open system: how its sessions arrived.
    #[serde(default)]
    pub sessions: Option<Sessions>,
    /// What the launches look like.
    pub arrivals: Arrivals,
    /// Little's law.
    pub queue: offered_verify::Queue,
    /// Bytes read, those of objects too.
    pub bytes_in: u64,
    /// Bytes written, those of objects too.
    pub bytes_out: u64,
    /// Rows that a database's answers had or changed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub rows: u64,
    /// Launches that brought objects with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
    /// From the start to the last answer.
    pub duration_s: f64,
    /// Per thread: the share of the time in which it neither slept nor spun.
    pub busy: Vec<f64>,
    /// Processor time of the launching threads, spinning included.
    pub cpu_s: f64,
    /// From which every random choice follows.
    pub seed: u64,
    /// Whether the launches were what was meant.
    pub judgement: Judgement,
    /// Why, in one sentence.
    #[serde(default)]
    pub because: String,
    /// The workload's `[thresholds]`; of a run not to be believed none is checked.
    pub thresholds: Vec<Checked>,
    /// What to doubt, and what to do about it.
    pub warnings: Vec<Warning>,
    /// The run directory.
    pub out: Option<String>,
}

impl Document for Summary {
    const SCHEMA: &'static str = "offered.run/1";
}

/// What is counted of all launches, and of the times of those that are judged.
#[derive(Default)]
struct Seen {
    outcomes: [u64; Outcome::ALL.len()],
    response: Values<i64>,
    service: Values<i64>,
    handshake: Values<i64>,
    waited: Values<i64>,
    lateness: Values<i64>,
    bytes_in: u64,
    bytes_out: u64,
    rows: u64,
    failing: Failing,
}

impl Seen {
    /// Of a recording of which the launches meant for this time are judged.
    fn of(recording: &Recording, judged: Range<Instant>) -> io::Result<Self> {
        let mut seen = Self::default();
        recording.events.each_of_all(|event| {
            seen.failing.add(event);
            (seen.bytes_in, seen.bytes_out) = (seen.bytes_in + event.bytes_in, seen.bytes_out + event.bytes_out);
            if event.object > 0 {
                return;
            }
            seen.outcomes[event.outcome as usize] += 1;
            seen.rows += event.rows;
            if !judged.contains(&event.intended) {
                return;
            }
            let good = event.outcome == Outcome::Ok;
            for (values, time) in [
                (&mut seen.response, event.response().filter(|_| good)),
                (&mut seen.service, event.service().filter(|_| good)),
                (&mut seen.handshake, event.handshake.map(Difference::from)),
                (&mut seen.waited, event.waited.map(Difference::from)),
                (&mut seen.lateness, event.lateness()),
            ] {
                if let Some(time) = time {
                    values.add(time.0);
                }
            }
        })?;
        Ok(seen)
    }
}

/// Mean, spread and percentiles in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names of statistics")]
pub struct Millis {
    pub mean: f64,
    pub sdev: f64,
    pub cov: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// Percentiles in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names of statistics")]
pub struct Micros {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

/// What the launches look like: all of them, in a partly-open system too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arrivals {
    /// The CoV of the gaps between the instants meant; `null` in a partly-open system, where only sessions are meant for an instant.
    pub meant_cov: Option<f64>,
    /// The CoV of the gaps between launches.
    pub sent_cov: Option<f64>,
    /// The lower end of its 95 % interval.
    pub cov_low: Option<f64>,
    /// Its upper end.
    pub cov_high: Option<f64>,
    /// The statistic of Anderson and Darling against exponential gaps.
    pub anderson_darling: Option<f64>,
    /// In a word; in a partly-open system that of the sessions.
    pub pattern: Pattern,
}

/// Whether there is nothing to be told.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "shaped for serde")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Summary {
    /// Of the recording of a run, as it was judged.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn new(
        workload: &Workload,
        share: Share,
        recording: &Recording,
        done: &Done,
        verdict: &Verdict,
    ) -> io::Result<Self> {
        let seen = Seen::of(recording, workload.counted())?;
        let counts = || Outcome::ALL.into_iter().zip(seen.outcomes);
        let outcomes = counts().map(|(outcome, n)| (outcome.name().to_owned(), n)).filter(|(_, n)| *n > 0).collect();
        let [response_ms, service_ms, handshake_ms, waited_ms] =
            [seen.response, seen.service, seen.handshake, seen.waited]
                .map(|times| times.sorted().summary(1.0).map(Millis::from_nanos));
        let total = verdict.launches.last();
        let measured = Measured::new(recording, &verdict.launches, &verdict.window, workload.counted());
        let measured = measured.with_pages(workload.pages());
        let thresholds = Checked::all(workload.thresholds(), &measured, verdict)?;
        Ok(Self {
            schema: Schema::new(),
            set_load: None,
            asked_rate_per_s: workload.asked_rate().map(|rate| rate * share.fraction()),
            offered_rate_per_s: verdict.queue.rate_per_s,
            answered_rate_per_s: verdict.keeps_up.map(|keeps_up| keeps_up.answered_per_s),
            keeps_up: verdict.keeps_up,
            launched: recording.events.launches(),
            unsent: seen.outcomes[Outcome::Unsent as usize],
            completed: counts().filter(|(outcome, _)| outcome.is_answer()).map(|(_, n)| n).sum(),
            outcomes,
            requests: verdict.requests.clone(),
            statuses: verdict.statuses.clone(),
            failures: seen.failing.finish(&recording.labels),
            response_ms,
            service_ms,
            handshake_ms,
            waited_ms,
            lateness_us: seen.lateness.sorted().summary(1.0).map(|n| Micros {
                p50: n.median / 1e3,
                p99: n.p99 / 1e3,
                max: n.max / 1e3,
            }),
            effect: verdict.effect.clone(),
            sessions: verdict.sessions,
            arrivals: Arrivals {
                meant_cov: verdict.meant.cov.or(verdict.meant.expected_cov).filter(|_| verdict.sessions.is_none()),
                sent_cov: total.map(|t| t.cov),
                cov_low: total.and_then(|t| t.cov_low),
                cov_high: total.and_then(|t| t.cov_high),
                anderson_darling: verdict.finding(Check::AndersonDarling).and_then(|finding| finding.statistic),
                pattern: verdict.pattern,
            },
            queue: verdict.queue,
            bytes_in: seen.bytes_in,
            bytes_out: seen.bytes_out,
            rows: seen.rows,
            pages: Pages::of(recording, workload.counted(), &workload.pages())?,
            duration_s: done.workers.iter().map(|worker| worker.elapsed).max().unwrap_or_default().as_secs_f64(),
            busy: done.workers.iter().map(offered_run::Worker::busy_share).collect(),
            cpu_s: done.workers.iter().map(|worker| worker.cpu.as_secs_f64()).sum(),
            seed: workload.seed().0,
            judgement: verdict.judgement,
            because: verdict.because.clone(),
            thresholds,
            warnings: verdict.warnings.clone(),
            out: None,
        })
    }

    /// Whether the result may be believed: nothing that was checked failed.
    pub fn believable(&self) -> bool {
        self.judgement != Judgement::Fails
    }

    /// Whether anything went well, where anything was launched.
    pub fn succeeded(&self) -> bool {
        self.launched == 0 || self.outcomes.contains_key(Outcome::Ok.name())
    }

    /// Whether a threshold is left open, because the generator's lateness would decide it, and all others were kept.
    pub fn leaves_thresholds_open(&self) -> bool {
        let open = |checked: &Checked| checked.between.is_some();
        let kept = |checked: &Checked| checked.judgement == Judgement::Holds;
        self.thresholds.iter().any(open) && self.thresholds.iter().all(|checked| open(checked) || kept(checked))
    }

    /// Whether every threshold was kept. One with nothing to be held against is not.
    pub fn keeps_thresholds(&self) -> bool {
        self.thresholds.iter().all(|checked| checked.judgement == Judgement::Holds)
    }
}

impl Millis {
    fn from_nanos(n: Numbers) -> Self {
        Self {
            mean: n.mean / 1e6,
            sdev: n.sdev / 1e6,
            cov: n.cov,
            p50: n.median / 1e6,
            p90: n.p90 / 1e6,
            p95: n.p95 / 1e6,
            p99: n.p99 / 1e6,
            p999: n.p999 / 1e6,
            max: n.max / 1e6,
        }
    }
}
