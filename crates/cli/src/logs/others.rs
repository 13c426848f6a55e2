//! What would be got wrong with the other system models: the mean response of all three, simulated at the log's load and C2.

use offered_logs::Findings;
use offered_model::{Law, Workload, Wrong};
use offered_simulate::{Stop, load::at_load, simulate};
use serde::Serialize;

/// Answered requests in each simulation.
const JOBS: u64 = 100_000;
/// And in each trial that looks for the closed system's think time.
const TRIAL: u64 = 20_000;
/// More users are not simulated: a closed system of so many behaves like an open one already.
const MOST_USERS: f64 = 1000.0;

/// The three system models side by side, and what was assumed.
#[derive(Debug, Serialize)]
pub(crate) struct Others {
    /// Of the one modelled server.
    load: f64,
    /// Law of the work of a request: the log's C2, and the mean that makes this load at the log's mean rate.
    service: String,
    /// What its C2 was taken from.
    scv_of: &'static str,
    /// Of the closed system.
    users: u64,
    models: Vec<Model>,
}

/// One model's mean response under two policies, in seconds.
#[derive(Debug, Serialize)]
#[allow(clippy::struct_field_names)] // the key of the JSON
struct Model {
    #[serde(rename = "model")]
    name: &'static str,
    fcfs: Response,
    ps: Response,
}

/// A mean, with the half-width of its 95 % interval.
#[derive(Debug, Serialize)]
struct Response {
    mean_s: f64,
    half_width_s: f64,
    /// The mean over that of the recommended model.
    ratio: f64,
}

impl Others {
    /// For what `found` says, at `load`; `None` where nobody thinks, since then the three models are one.
    ///
    /// Arrivals are Poisson at the mean rate; lengths and think times are those of a fitted workload; the closed system has as
    /// many users as that rate keeps busy, and its mean think time is changed until the load is the same.
    ///
    /// # Errors
    /// What the simulator refuses.
    pub(crate) fn of(found: &Findings, load: f64) -> Result<Option<Self>, Wrong> {
        let think = found.think();
        if think.is_zero() {
            return Ok(None);
        }
        let rate = found.session_starts.rate_per_s * found.requests_per_session.mean;
        let (scv, scv_of) = found.scv.zip(found.scv_of).unwrap_or((1.0, "nothing in the log, so exponential"));
        let service = law(load / rate, scv)?;
        let users = (rate * think.mean() + load).round().clamp(2.0, MOST_USERS);
        // `at_load` puts the rates in.
        let arrivals = [
            ("open", "open = { rate = \"1/s\" }".to_owned()),
            ("partly-open", format!("partly_open = {{ rate = \"1/s\", {}, think = {think} }}", found.length())),
            ("closed", format!("closed = {{ users = {users}, think = {think} }}")),
        ];
        let one = |arrivals: &str, discipline: &str| {
            let text = format!(
                "seed = 1\nduration = \"1h\"\n[arrivals]\n{arrivals}\n[server]\ndiscipline = \"{discipline}\"\nservice = {service}\n"
            );
            let workload = Workload::parse(&text, "the log's workload", &|_| Err("no file is named".to_owned()))
                .map_err(|mistake| Wrong::new(mistake.to_string()))?;
            let workload = at_load(&workload, load, TRIAL)?;
            let response = simulate(&workload, Stop::Jobs(JOBS), &mut ())?.summary.response.mean;
            Ok::<_, Wrong>(Response { mean_s: response.value, half_width_s: response.half_width(), ratio: 0.0 })
        };
        let both = |(model, arrivals): &(&'static str, String)| {
            Ok::<_, Wrong>(Model { name: model, fcfs: one(arrivals, "fcfs")?, ps: one(arrivals, "ps")? })
        };
        let mut models = arrivals.iter().map(both).collect::<Result<Vec<_>, _>>()?;
        let recommended = models.iter().find(|model| model.name == found.recommendation.model);
        if let Some((fcfs, ps)) = recommended.map(|model| (model.fcfs.mean_s, model.ps.mean_s)) {
            for model in &mut models {
                model.fcfs.ratio = model.fcfs.mean_s / fcfs;
                model.ps.ratio = model.ps.mean_s / ps;
            }
        }
        Ok(Some(Self { load, service: service.to_string(), scv_of, users: users as u64, models }))
    }
}

/// A law with this mean and C2.
fn law(mean: f64, scv: f64) -> Result<Law, Wrong> {
    match scv {
        1.0 => Law::exponential(mean),
        more if more > 1.0 => Law::hyperexponential(mean, scv),
        0.0 => Law::constant(mean),
        _ => Law::gamma(mean, scv),
    }
}

impl std::fmt::Display for Others {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut table = crate::table::Table::new(["mean response", "fcfs", "of recommended", "ps", "of recommended"]);
        for Model { name, fcfs, ps } in &self.models {
            let cell = |response: &Response| format!("{:.3} ± {:.3} s", response.mean_s, response.half_width_s);
            let part = |response: &Response| format!("{:.2} x", response.ratio);
            table.row([(*name).to_owned(), cell(fcfs), part(fcfs), cell(ps), part(ps)]);
        }
        writeln!(f, "\nThe same site by the three models, simulated: one server at load {} (--load)", self.load)?;
        writeln!(f, "  service       {}; C2 of {}", self.service, self.scv_of)?;
        writeln!(f, "  closed        {} users, their think time adjusted to the same load", self.users)?;
        write!(f, "\n{table}")
    }
}
