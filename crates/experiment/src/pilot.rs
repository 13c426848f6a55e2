//! Setting the rate for a target load of a real server: short pilot runs measure the processor time per response.
//!
//! For every scraped machine the utilisation law, busy processors U = U0 + X S, is fitted to the windows of a run with a rate that increases in
//! four steps. If S is too uncertain, or the last step was below 40 % of the target load, another pilot run goes higher, up to 70 % of the
//! rate that the fit predicts. The result is the rate at which the first machine reaches the target load.
//!
//! Source: Denning and Buzen 1978 (the utilisation law); Schroeder, Wierman and Harchol-Balter 2006, section 4 (systems are compared at
//! equal load).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::Nanos;
use offered_schedule::Sessions;
use offered_verify::StabilityState;
use offered_verify::hosts::{Counter, DemandRegression, Host, ServerSide};
use offered_workload::Workload;
use serde::{Deserialize, Serialize};

use crate::vary::point;
use crate::{Error, Field, Point, RunPlan, WorkloadSource};

/// Maximum number of pilot runs.
const MAX_PILOTS: u32 = 4;
/// Number of rate steps of a pilot run.
const STEPS: u32 = 4;
/// Maximum relative half-width of S for which no further pilot run is needed.
const MAX_HALF_WIDTH: f64 = 0.1;
/// Maximum relative half-width of S after the last pilot run.
const MAX_FINAL_HALF_WIDTH: f64 = 0.25;
/// Minimum load of the last step, relative to the target load.
const MIN_LAST_STEP: f64 = 0.4;
/// Load of the last step of the next pilot run relative to the target load, and maximum ratio to the rate before.
const NEXT_STEP: (f64, f64) = (0.7, 10.0);
/// Utilisation from which on a machine is saturated and the fit is useless.
const SATURATED: f64 = 0.95;

/// A target load, and the rate that follows from U = U0 + X S.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetLoad {
    /// Target load rho: busy processors as a share of the processors of the machine.
    pub target_load: f64,
    /// The machine that reaches the target load at the lowest rate.
    pub host: String,
    /// The counter of the processor time of that machine.
    pub counter: Counter,
    /// The number of processors of that machine.
    pub processors: u64,
    /// The regression of busy processors on the rate, over the pilot runs.
    pub line: DemandRegression,
    /// The resulting rate, of requests or of sessions as in the workload.
    pub rate_per_s: f64,
    /// The measured load of that machine in the window of the run; `null` if not measured.
    pub measured_load: Option<f64>,
}

/// Pilot runs for a target load.
pub struct PilotRuns<'a> {
    /// The workload.
    pub input: &'a WorkloadSource,
    /// The target load rho.
    pub load: f64,
    /// The duration of each pilot run.
    pub each: Nanos,
    /// The directory of the run. Pilot runs are recorded next to it, as `OUT-pilot-1` and so on.
    pub out: &'a Path,
}

impl PilotRuns<'_> {
    /// The workload with the rate for the target load. `on_pilot` gets the highest rate and the directory of each pilot run before it starts.
    ///
    /// # Errors
    /// The arrivals have no constant rate, nothing is scraped, or no rate is found.
    pub fn run(
        &self,
        stop: &Arc<AtomicBool>,
        abort: &Arc<AtomicBool>,
        on_pilot: &mut dyn FnMut(f64, &Path),
    ) -> Result<(Point, SetLoad), Error> {
        let none = |why: String| Error::NoRate { load: self.load, reason: why };
        let workload = self.input.parse(&self.input.text)?;
        if !(self.load > 0.0 && self.load < 1.0) {
            return Err(none("a load must be above 0 and below 1".to_owned()));
        }
        let (path, mut top, answers) = arrivals(&workload).map_err(|why| none(why.to_owned()))?;
        if workload.observe().scrapes.is_empty() {
            return Err(none(
                "the processors of the server are not observed; add for example [[observe.scrape]] name = \"server\", \
                             target.url = \"http://server:9100/metrics\", where node_exporter runs"
                    .to_owned(),
            ));
        }
        let mut known: Vec<SetLoad> = Vec::new();
        for number in 1..=MAX_PILOTS {
            let mut name = self.out.as_os_str().to_owned();
            name.push(format!("-pilot-{number}"));
            let out = PathBuf::from(name);
            on_pilot(top, &out);
            let side = self.pilot(path, top, &out, stop, abort)?;
            if stop.load(Relaxed) {
                return Err(none("stopped".to_owned()));
            }
            let full = side
                .hosts
                .iter()
                .find(|host| host.processors > 0 && busiest(host) > SATURATED * host.processors as f64);
            if let Some(full) = full {
                let (name, processors) = (&full.name, full.processors);
                return Err(none(format!(
                    "at {top:.4}/s all {processors} processors of {name} were busy; start with a lower rate"
                )));
            }
            for set in side.hosts.iter().filter_map(|host| self.set(host, answers)) {
                known.retain(|before| before.host != set.host);
                known.push(set);
            }
            let Some(set) = first(&known) else {
                if number == MAX_PILOTS {
                    return Err(none(no_fit_reason(&side)));
                }
                top *= NEXT_STEP.1;
                continue;
            };
            if set.rate_per_s <= 0.0 {
                return Err(none(format!(
                    "{} has {:.3} of {} processors busy without requests",
                    set.host, set.line.idle_processors, set.processors
                )));
            }
            let is_known = set.line.demand_high_ms - set.line.demand_ms <= MAX_HALF_WIDTH * set.line.demand_ms;
            if is_known && top >= MIN_LAST_STEP * set.rate_per_s {
                break;
            }
            top = (NEXT_STEP.0 * set.rate_per_s).min(NEXT_STEP.1 * top).max(top);
        }
        let set = first(&known).cloned().ok_or_else(|| none("no pilot run gave a result".to_owned()))?;
        let DemandRegression { demand_ms: work_ms, demand_low_ms: work_low_ms, demand_high_ms: work_high_ms, .. } =
            set.line;
        if work_high_ms - work_ms > MAX_FINAL_HALF_WIDTH * work_ms {
            return Err(none(format!(
                "after {MAX_PILOTS} pilot runs the processor time per response of {} is still uncertain ({work_low_ms:.4} to {work_high_ms:.4} ms); use longer pilot runs",
                set.host
            )));
        }
        let rate = (Field::Rate, format!("{}", (set.rate_per_s * 1e3).round() / 1e3));
        Ok((point(self.input, vec![rate])?, set))
    }

    /// One pilot run with a rate that increases to `top`.
    fn pilot(
        &self,
        path: &str,
        top: f64,
        out: &Path,
        stop: &Arc<AtomicBool>,
        abort: &Arc<AtomicBool>,
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
        let made = plan.prepare(stop.clone())?.aborted_by(abort.clone()).run(Vec::new())?.require_complete()?;
        let none = |why: String| Error::NoRate { load: self.load, reason: why };
        // An overloaded server gives no useful fit.
        let fell_behind = made.summary.stability.is_some_and(|keeps_up| keeps_up.state == StabilityState::Overloaded);
        if fell_behind || !made.summary.succeeded() {
            return Err(none(format!(
                "at {top:.4}/s the server was overloaded, or no request succeeded; see the run in {}",
                out.display()
            )));
        }
        let unheard = || none(format!("no samples of the server; see the run in {}", out.display()));
        made.verdict.server_side.ok_or_else(unheard)
    }

    /// The rate at which this machine reaches the load, if it has a fit. `answers`: responses per arrival.
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
    /// Adds the load measured in the run.
    pub(crate) fn measured_in(self, side: Option<&ServerSide>) -> Self {
        let host = side.and_then(|side| side.hosts.iter().find(|host| host.name == self.host));
        let law = host.and_then(|host| host.utilisation_law.as_ref()).filter(|law| law.counter == self.counter);
        Self { measured_load: law.map(|law| law.busy_processors / self.processors as f64), ..self }
    }

    /// The result in one sentence.
    pub fn text(&self) -> String {
        let Self { target_load, host, counter, processors, line, rate_per_s, measured_load } = self;
        let measured = measured_load.map_or("not measured".to_owned(), |measured| format!("{measured:.3} measured"));
        format!(
            "target load {target_load} of the {processors} processors of {host}, {measured} ({}); the rate is {rate_per_s:.4}/s, because a response takes {:.4} ms ({:.4} to {:.4})",
            counter.name(),
            line.demand_ms,
            line.demand_low_ms,
            line.demand_high_ms
        )
    }
}

/// The path of the arrival rate in the workload, the rate, and the mean number of responses per arrival.
fn arrivals(workload: &Workload) -> Result<(&'static str, f64, f64), &'static str> {
    let (path, schedule, answers) = match workload.sessions() {
        Sessions::Open(schedule) => ("arrivals.open.rate", schedule, 1.0),
        Sessions::PartlyOpen { schedule, length, .. } => ("arrivals.partly_open.rate", schedule, length.mean()),
        Sessions::Closed(_) => {
            return Err("the rate of a closed system depends on the server; use an open or partly-open workload");
        }
        Sessions::Scenarios(_) => {
            return Err("several scenarios have no common rate; write a workload with one scenario");
        }
        Sessions::Replay(_) => return Err("a replayed trace has a fixed load; change the speed of the replay instead"),
    };
    let rate = schedule
        .rate()
        .as_constant()
        .ok_or("the rate must be constant; write the first rate to try, for example rate = \"10/s\"")?;
    Ok((path, rate.per_sec(), answers))
}

/// The machine that reaches the load at the lowest rate.
fn first(known: &[SetLoad]) -> Option<&SetLoad> {
    known.iter().min_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s))
}

/// The maximum number of busy processors in a window.
fn busiest(host: &Host) -> f64 {
    host.utilisation_law.iter().flat_map(|law| &law.windows).map(|[_, at_work]| *at_work).fold(0.0, f64::max)
}

/// Why no machine has a fit.
fn no_fit_reason(side: &ServerSide) -> String {
    let of = |host: &Host| {
        let why = match &host.utilisation_law {
            _ if host.processors == 0 => "the number of its processors is unknown".to_owned(),
            Some(law) => law.no_regression_reason.clone().unwrap_or_default(),
            None => "the run was too short".to_owned(),
        };
        format!("{}: {why}", host.name)
    };
    side.hosts.iter().map(of).collect::<Vec<_>>().join("; ")
}
