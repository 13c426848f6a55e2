//! The pulse: every figure a person watches, at one moment of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use offered_model::Outcome;
use offered_verify::{Checked, Judgement, Pattern};
use serde::{Serialize, Serializer};

use crate::totals::Totals;

/// The figures of a run at one moment. Counts are of the whole run; `so_far`, the CoV and the verdict leave out `skip_first`
/// and `skip_last`, as the summary of the run does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pulse {
    /// Since the run's start.
    pub time_s: f64,
    /// How long launches are meant at most; `null` where only their number ends them.
    pub duration_s: Option<f64>,
    /// How many launches are meant at most, where that is counted.
    pub most: Option<u64>,
    /// What the run is about.
    pub phase: Phase,
    /// The last ten seconds.
    pub recent: Figures,
    /// All that counts.
    pub so_far: Figures,
    /// done - sent of all good answers that count: what their response would be without lateness.
    pub without_lateness_ms: Option<Response>,
    /// Launches due, sent or not.
    pub launched: u64,
    /// Those never sent.
    pub unsent: u64,
    /// Those under way.
    pub in_flight: u64,
    /// The requests of the workload, the busiest first, of all that counts so far; at most [`Pulse::REQUESTS`]. Where there are
    /// several, all of them together stand last as `Total`.
    pub requests: Vec<Request>,
    /// Of a run of many workers: how each of them is.
    pub workers: Vec<Worker>,
    /// How the responses of the last ten seconds are spread.
    pub bars: Vec<Bar>,
    /// The thresholds as they stand.
    pub thresholds: Vec<Checked>,
    /// The first of them to be broken that ends the run, with what was seen then.
    pub broken: Option<String>,
    /// Why the disk does not take what happens, if so.
    pub unkept: Option<String>,
    /// How the number under way grows.
    pub growth: Option<Growth>,
    /// How those ended that are through.
    #[serde(serialize_with = "by_name")]
    pub outcomes: BTreeMap<Outcome, u64>,
    /// How many of them had each HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// The CoV of the gaps between launches (of a partly-open system: between first launches of sessions).
    pub cov: Option<f64>,
    /// The lower end of its 95 % interval, right for exponential gaps.
    pub cov_low: Option<f64>,
    /// The upper end.
    pub cov_high: Option<f64>,
    /// The CoV of the gaps between the instants that were meant.
    pub meant_cov: Option<f64>,
    /// What the launches look like.
    pub pattern: Pattern,
    /// The verdict as it stands.
    pub judgement: Judgement,
    /// Its reason.
    pub because: String,
    /// What only grows, where somebody asks for it.
    #[serde(skip)]
    pub totals: Option<Arc<Totals>>,
}

/// What came of one request of the workload so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Request {
    /// Its name.
    pub name: String,
    /// Launches that went well.
    pub ok: u64,
    /// Launches that did not, the never sent among them.
    pub failed: u64,
    /// done - intended, of those that went well.
    pub response_ms: Option<Response>,
}

/// A worker of a run; rates and times are of the last ten seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Worker {
    /// What it launches, and where it is.
    pub name: String,
    /// How it is.
    pub at: At,
    /// For how long it has given no sign of life, where it should have.
    pub silent_s: Option<f64>,
    /// Launches due, sent or not.
    pub launched: u64,
    /// Those never sent.
    pub unsent: u64,
    /// Those under way.
    pub in_flight: u64,
    /// Those that failed.
    pub errors: u64,
    /// Launches per second that were sent.
    pub sent_per_s: Option<f64>,
    /// done - intended, of good answers.
    pub response_ms: Option<Response>,
    /// sent - intended, of what has ended.
    pub lateness_us: Option<Lateness>,
}

/// What a worker is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// Nothing yet: it has not begun.
    #[default]
    Nothing,
    /// Its work.
    Work,
    /// It should be at work, and gives no sign of life.
    Silent,
    /// Its end.
    End,
    /// It was killed.
    Gone,
}

impl Worker {
    /// How it is, in words: `running`, `SILENT for 12 s`.
    pub fn words(&self) -> String {
        match self.at {
            At::Nothing => "not begun".to_owned(),
            At::Work => "running".to_owned(),
            At::Silent => format!("SILENT for {:.0} s", self.silent_s.unwrap_or_default()),
            At::End => "ended".to_owned(),
            At::Gone => "GONE".to_owned(),
        }
    }
}

/// A cell of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Its lower edge.
    pub from_ms: f64,
    /// Its upper edge.
    pub to_ms: f64,
    /// How many responses lie in it.
    pub n: u64,
}

/// How the number under way grows while the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// By how many a second.
    pub per_s: f64,
    /// Whether that is beyond chance and large enough to matter: the system does not keep up with its load.
    pub outrun: bool,
}

/// Rates and times of a stretch of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Launches per second asked for; `null` where the server decides (closed systems).
    pub asked_per_s: Option<f64>,
    /// Launches per second that were sent.
    pub sent_per_s: Option<f64>,
    /// Complete answers per second, good and bad.
    pub answered_per_s: Option<f64>,
    /// done - intended, of good answers.
    pub response_ms: Option<Response>,
    /// sent - intended, of what has ended.
    pub lateness_us: Option<Lateness>,
}

/// Percentiles of response, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Response {
    /// The median.
    pub p50: f64,
    /// The 95 % point.
    pub p95: f64,
    /// The 99 % point.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// Percentiles of lateness, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// The median.
    pub p50: f64,
    /// The 99 % point.
    pub p99: f64,
}

/// What a run is about at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It waits for its start.
    Starting,
    /// It launches what is left out of the statistics (`skip_first`).
    WarmingUp,
    /// It launches.
    Running,
    /// Everything is launched; the last answers are waited for.
    Draining,
    /// Somebody stopped it; answers under way are waited for a little longer.
    Stopping,
    /// It is over.
    Ended,
}

impl Phase {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Starting => "waiting for the start",
            Self::WarmingUp => "warming up, not counted yet",
            Self::Running => "running",
            Self::Draining => "all launched, waiting for the last answers",
            Self::Stopping => "stopping, waiting for answers under way",
            Self::Ended => "ended",
        }
    }
}

impl Pulse {
    /// No more requests are told apart.
    pub const REQUESTS: usize = 30;

    /// How much of the launching is over, 0 to 1: of the time or of the number, whichever is nearer to its end.
    pub fn progress(&self) -> f64 {
        let part = |of: f64, all: Option<f64>| all.map_or(0.0, |all| (of / all).min(1.0));
        part(self.time_s, self.duration_s).max(part(self.launched as f64, self.most.map(|most| most as f64)))
    }

    /// How those ended that failed: neither well, nor unsent, nor cut off by the end of the run.
    pub fn errors(&self) -> impl Iterator<Item = (Outcome, u64)> {
        let fails = |outcome| !matches!(outcome, Outcome::Ok | Outcome::Unsent | Outcome::Cut);
        self.outcomes.iter().map(|(outcome, n)| (*outcome, *n)).filter(move |(outcome, _)| fails(*outcome))
    }
}

/// Outcomes under their names, in the order of those.
fn by_name<S: Serializer>(outcomes: &BTreeMap<Outcome, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    let named: BTreeMap<&str, u64> = outcomes.iter().map(|(outcome, n)| (outcome.name(), *n)).collect();
    named.serialize(serializer)
}
