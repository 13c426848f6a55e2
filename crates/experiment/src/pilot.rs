//! A rate that brings a real server to a load: short runs before the run find how much work an answer takes.
//!
//! Of every machine that is scraped the utilisation law is taken, processors at work U = U0 + X S, by the line through the windows of a run
//! whose rate climbs in four steps. As long as S is not known well, or the last step has not come near half of the load that is asked
//! for, another such run climbs higher, but never beyond seven tenths of what the line says. The rate is that at which the first machine
//! has the load.
//!
//! Source: Denning and Buzen 1978 (the utilisation law); Schroeder, Wierman and Harchol-Balter 2006, section 4 (systems are compared at
//! equal load).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_schedule::Sessions;
use offered_base::Nanos;
use offered_workload::Workload;
use offered_verify::StabilityState;
use offered_verify::hosts::{Counter, Host, ServerSide, DemandRegression};
use serde::{Deserialize, Serialize};

use crate::vary::point;
use crate::{Error, Field, WorkloadSource, RunPlan, Point};

/// So many runs at most.
const MOST: u32 = 4;
/// The steps of the rate in one.
const STEPS: u32 = 4;
/// Half the interval of S may be so much of it.
const KNOWN: f64 = 0.1;
/// And in the end, when there is no run left, so much.
const ROUGHLY: f64 = 0.25;
/// The last step has had so much of the load that is asked for.
const NEAR: f64 = 0.4;
/// And goes for so much of it, and so many times as high as the one before, at most.
const CLIMB: (f64, f64) = (0.7, 10.0);
/// A machine of which so much was at work tells no line any more.
const FULL: f64 = 0.95;

/// A load that was asked for, and the rate that follows from it: U = U0 + X S.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetLoad {
    /// rho: processors at work, as a part of those that the machine has.
    pub target_load: f64,
    /// The machine that has it first.
    pub host: String,
    /// What counted its work.
    pub counter: Counter,
    /// Its processors.
    pub processors: u64,
    /// The line that was found before the run.
    pub line: DemandRegression,
    /// The rate that follows, of requests or of sessions as the workload has it.
    pub rate_per_s: f64,
    /// What the load of that machine was in the time of the run that was judged; `null` where nobody counted.
    pub measured_load: Option<f64>,
}

/// What is asked for.
pub struct PilotRuns<'a> {
    /// The workload.
    pub input: &'a WorkloadSource,
    /// rho.
    pub load: f64,
    /// How long each run takes.
    pub each: Nanos,
    /// Where the run will be kept: those before it are kept beside, as `OUT-pilot-1` and so on.
    pub out: &'a Path,
}

impl PilotRuns<'_> {
    /// The workload with the rate that makes the load; `tell` hears of each run before it begins: the highest rate, and where it is kept.
    ///
    /// # Errors
    /// Arrivals that do not come at a constant rate whatever the answers; nothing that is scraped; and why no rate is found.
    pub fn run(
        &self,
        stop: &Arc<AtomicBool>,
        hurry: &Arc<AtomicBool>,
        tell: &mut dyn FnMut(f64, &Path),
    ) -> Result<(Point, SetLoad), Error> {
        let none = |why: String| Error::NoRate { load: self.load, reason: why };
        let workload = self.input.parse(&self.input.text)?;
        if !(self.load > 0.0 && self.load < 1.0) {
            return Err(none("at 1 or more a queue grows without end, and at 0 or less nobody comes".to_owned()));
        }
        let (path, mut top, answers) = arrivals(&workload).map_err(|why| none(why.to_owned()))?;
        if workload.observe().scrapes.is_empty() {
            return Err(none(
                "nobody says what the server's processors do; write for example [[observe.scrape]] name = \"server\", \
                             target.url = \"http://server:9100/metrics\", where node_exporter runs"
                    .to_owned(),
            ));
        }
        let mut known: Vec<SetLoad> = Vec::new();
        for number in 1..=MOST {
            let mut name = self.out.as_os_str().to_owned();
            name.push(format!("-pilot-{number}"));
            let out = PathBuf::from(name);
            tell(top, &out);
            let side = self.pilot(path, top, &out, stop, hurry)?;
            if stop.load(Relaxed) {
                return Err(none("it was stopped before that".to_owned()));
            }
            let full =
                side.hosts.iter().find(|host| host.processors > 0 && busiest(host) > FULL * host.processors as f64);
            if let Some(full) = full {
                let (name, processors) = (&full.name, full.processors);
                return Err(none(format!(
                    "at {top:.4}/s all {processors} processors of {name} were at work already; begin with a lower rate"
                )));
            }
            for set in side.hosts.iter().filter_map(|host| self.set(host, answers)) {
                known.retain(|before| before.host != set.host);
                known.push(set);
            }
            let Some(set) = first(&known) else {
                if number == MOST {
                    return Err(none(untold(&side)));
                }
                top *= CLIMB.1;
                continue;
            };
            if set.rate_per_s <= 0.0 {
                return Err(none(format!(
                    "{} has {:.3} of {} processors at work when nobody comes",
                    set.host, set.line.idle_processors, set.processors
                )));
            }
            let is_known = set.line.demand_high_ms - set.line.demand_ms <= KNOWN * set.line.demand_ms;
            if is_known && top >= NEAR * set.rate_per_s {
                break;
            }
            top = (CLIMB.0 * set.rate_per_s).min(CLIMB.1 * top).max(top);
        }
        let set = first(&known).cloned().ok_or_else(|| none("nothing was found".to_owned()))?;
        let DemandRegression { demand_ms: work_ms, demand_low_ms: work_low_ms, demand_high_ms: work_high_ms, .. } = set.line;
        if work_high_ms - work_ms > ROUGHLY * work_ms {
            return Err(none(format!(
                "an answer takes {work_low_ms:.4} to {work_high_ms:.4} ms of {}'s processors, which is all that {MOST} runs tell; let each take longer",
                set.host
            )));
        }
        let rate = (Field::Rate, format!("{}", (set.rate_per_s * 1e3).round() / 1e3));
        Ok((point(self.input, vec![rate])?, set))
    }

    /// One run: the rate climbs to `top`.
    fn pilot(
        &self,
        path: &str,
        top: f64,
        out: &Path,
        stop: &Arc<AtomicBool>,
        hurry: &Arc<AtomicBool>,
    ) -> Result<ServerSide, Error> {
        let each = format!("{}ns", self.each.0 / u64::from(STEPS));
        let step = |step: u32| format!("[\"{}/s\", \"{each}\"]", top * f64::from(step) / f64::from(STEPS));
        let steps: Vec<String> = (1..=STEPS).map(step).collect();
        let at = |path: &str, value: String| (Field::At(path.to_owned()), value);
        let point = point(
            self.input,
            vec![
                at(path, format!("{{ steps = [{}] }}", steps.join(", "))),
                at("duration", format!("{}ns", self.each.0)),
                at("skip_first", "0s".to_owned()),
                at("skip_last", "0s".to_owned()),
            ],
        )?;
        let plan = RunPlan { name: out.display().to_string(), ..RunPlan::for_point(&point, Some(out)) };
        let made = plan.prepare(stop.clone())?.aborted_by(hurry.clone()).run(Vec::new())?.require_complete()?;
        let none = |why: String| Error::NoRate { load: self.load, reason: why };
        // Whatever its processors do, no more of it helps.
        let fell_behind = made.summary.stability.is_some_and(|keeps_up| keeps_up.state == StabilityState::Overloaded);
        if fell_behind || !made.summary.succeeded() {
            return Err(none(format!(
                "at {top:.4}/s it did not keep up, or answered nothing well; {} has it",
                out.display()
            )));
        }
        let unheard = || none(format!("nothing was heard of the server; {} has why", out.display()));
        made.verdict.server_side.ok_or_else(unheard)
    }

    /// The rate at which this machine has the load, if its line is known; `answers` are those of one arrival.
    fn set(&self, host: &Host, answers: f64) -> Option<SetLoad> {
        let law = host.utilisation_law.as_ref().filter(|_| host.processors > 0)?;
        let line = law.regression?;
        let free = self.load * host.processors as f64 - line.idle_processors;
        Some(SetLoad {
            target_load: self.load,
            host: host.name.clone(),
            counter: law.counter,
            processors: host.processors,
            line,
            rate_per_s: free / (line.demand_ms / 1e3) / answers,
            measured_load: None,
        })
    }
}

impl SetLoad {
    /// With what was measured in the run itself.
    pub(crate) fn measured_in(self, side: Option<&ServerSide>) -> Self {
        let host = side.and_then(|side| side.hosts.iter().find(|host| host.name == self.host));
        let law = host.and_then(|host| host.utilisation_law.as_ref()).filter(|law| law.counter == self.counter);
        Self { measured_load: law.map(|law| law.busy_processors / self.processors as f64), ..self }
    }

    /// In a sentence.
    pub fn in_words(&self) -> String {
        let Self { target_load, host, counter, processors, line, rate_per_s, measured_load } = self;
        let measured = measured_load.map_or("not measured".to_owned(), |measured| format!("{measured:.3} measured"));
        format!(
            "target load {target_load} of the {processors} processors of {host}, {measured} ({}); {rate_per_s:.4}/s, as a response takes {:.4} ms ({:.4} to {:.4})",
            counter.name(),
            line.demand_ms,
            line.demand_low_ms,
            line.demand_high_ms
        )
    }
}

/// Where the rate of arrivals stands in the workload, what it is, and how many answers an arrival has.
fn arrivals(workload: &Workload) -> Result<(&'static str, f64, f64), &'static str> {
    let (path, schedule, answers) = match workload.sessions() {
        Sessions::Open(schedule) => ("arrivals.open.rate", schedule, 1.0),
        Sessions::PartlyOpen { schedule, length, .. } => ("arrivals.partly_open.rate", schedule, length.mean()),
        Sessions::Closed(_) => {
            return Err(
                "the load of closed users is the server's to give, who are as many as they are; ask for open or partly-open load",
            );
        }
        Sessions::Replay(_) => return Err("a trace has the load it was recorded with; change replay's speed instead"),
    };
    let rate = schedule
        .rate()
        .as_constant()
        .ok_or("the rate must be constant; write the one to begin with, for example rate = \"10/s\"")?;
    Ok((path, rate.per_sec(), answers))
}

/// Of the machines, the one that has the load first.
fn first(known: &[SetLoad]) -> Option<&SetLoad> {
    known.iter().min_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s))
}

/// The most processors that were at work in a window.
fn busiest(host: &Host) -> f64 {
    host.utilisation_law.iter().flat_map(|law| &law.windows).map(|[_, at_work]| *at_work).fold(0.0, f64::max)
}

/// Why no machine has a line.
fn untold(side: &ServerSide) -> String {
    let of = |host: &Host| {
        let why = match &host.utilisation_law {
            _ if host.processors == 0 => "its processors are not among its numbers".to_owned(),
            Some(law) => law.no_regression_reason.clone().unwrap_or_default(),
            None => "it did not last".to_owned(),
        };
        format!("{}: {why}", host.name)
    };
    side.hosts.iter().map(of).collect::<Vec<_>>().join("; ")
}
