//! The predictions of the three system models for the site of a log at the same load, and workloads that behave like
//! the site.

mod trials;
mod written;

use std::cell::RefCell;

use offered_base::{InvalidValue, Nanos, Rate};
use offered_distributions::Distribution;
use offered_logs::document::{ModelComparison, ModelResponses, RatioEstimate, ResponseEstimate, TimeEstimate};
use offered_logs::{Findings, Recommendation, ResponseRatios};
use offered_schedule::{Closed, Length, Opening, Sessions};
use offered_schedule::{Schedule, System};
use offered_stats::steady_state::Estimate;
use offered_workload::{Draft, Server};
use offered_workload::{Policy, Workload};

use crate::Error;
use crate::simulation::at_equal_load;
use trials::{Figure, JOBS, Responses};

/// Relative tolerance of the load of a closed system without a formula.
const LOAD_TOLERANCE: f64 = 0.003;
/// Maximum number of users of the closed system: a larger one behaves like an open one.
const MAX_USERS: f64 = 1000.0;
/// The scv of service times that is assumed if the log does not have them: up to this value the cut-offs of the paper's rule are 5 and 10.
const ASSUMED_SCV: f64 = 4.0;
/// Longest warm-up of a trial in seconds, about thirty years: requests that are rarer do not fit on the virtual clock.
const LONGEST_WARM_UP_S: f64 = 1e9;

offered_base::named! {
    /// The assumed scheduling discipline of the server.
    pub enum Discipline {
        /// First come, first served.
        Fcfs = "fcfs",
        /// Processor sharing: all requests at once, each with an equal share.
        Ps = "ps",
    }
}

impl Discipline {
    const fn policy(self) -> Policy {
        match self {
            Self::Fcfs => Policy::Fcfs,
            Self::Ps => Policy::Ps(None),
        }
    }

    /// The response times of `model` under this discipline; `None` if they are unknown.
    pub const fn of(self, model: &ModelResponses) -> Option<&ResponseEstimate> {
        match self {
            Self::Fcfs => model.fcfs.as_ref(),
            Self::Ps => model.ps.as_ref(),
        }
    }

    const fn of_mut(self, model: &mut ModelResponses) -> &mut Option<ResponseEstimate> {
        match self {
            Self::Fcfs => &mut model.fcfs,
            Self::Ps => &mut model.ps,
        }
    }
}

/// The three system models of a site, at one server with the same load.
pub struct SiteModels {
    load: f64,
    /// Requests per second.
    rate: f64,
    /// Squared coefficient of variation of service times; `None` if the log has no service times.
    scv: Option<f64>,
    service: Distribution,
    length: Length,
    think: Distribution,
    users: u64,
    /// The systems that were built.
    systems: RefCell<Vec<((System, Discipline), Workload)>>,
}

impl SiteModels {
    /// The three models of the site of `found`. Their service times give `load` at the log's mean rate.
    ///
    /// # Errors
    /// The log has no rate.
    pub fn new(found: &Findings, load: f64) -> Result<Self, InvalidValue> {
        let (think, figures) = (found.think(), &found.figures);
        let rate = figures.session_starts.rate_per_s * figures.requests_per_session.mean;
        Ok(Self {
            load,
            rate,
            scv: figures.scv,
            service: distribution(load / rate, figures.scv.unwrap_or(ASSUMED_SCV))?,
            length: found.length()?,
            users: (rate * think.mean() + load).round().clamp(2.0, MAX_USERS) as u64,
            think,
            systems: RefCell::default(),
        })
    }

    /// The site as a system of this model. Arrivals are Poisson at the mean rate; session lengths and think times are
    /// those of the log. The closed system has the mean number of users at that rate, and the mean think time that
    /// gives the load.
    ///
    /// # Errors
    /// The model cannot have this rate or load.
    pub fn system(&self, model: System, discipline: Discipline) -> Result<Workload, Error> {
        let key = (model, discipline);
        if let Some((_, system)) = self.systems.borrow().iter().find(|(known, _)| *known == key) {
            return Ok(system.clone());
        }
        let system = self.build(model, discipline)?;
        self.systems.borrow_mut().push((key, system.clone()));
        Ok(system)
    }

    fn build(&self, model: System, discipline: Discipline) -> Result<Workload, Error> {
        let warm_up_s = JOBS as f64 / 10.0 / self.rate;
        if warm_up_s > LONGEST_WARM_UP_S {
            return Err(InvalidValue::new(format!("{:.3e} requests per second are too few", self.rate)).into());
        }
        let arrivals = |rate: f64| Rate::from_per_sec(rate).map(Schedule::poisson);
        let sessions = match model {
            System::Open => Sessions::Open(arrivals(self.rate)?),
            System::PartlyOpen => Sessions::PartlyOpen {
                schedule: arrivals(self.rate / self.length.mean())?,
                length: self.length.clone(),
                think: self.think.clone(),
                opening: if self.think.is_zero() { Opening::Empty } else { Opening::Stationary },
            },
            // A think time of zero has no distribution to scale.
            System::Closed if self.think.is_zero() => {
                Sessions::Closed(Closed::new(self.users, Distribution::exponential(1.0)?)?)
            }
            System::Closed => Sessions::Closed(Closed::new(self.users, self.think.clone())?),
        };
        let skip_first = Nanos::from_secs_f64(warm_up_s);
        let server = Some(Server::new(1, discipline.policy(), self.service.clone())?);
        let duration = skip_first + Nanos::from_secs(3600);
        let workload = Workload::new(Draft { server, skip_first, ..Draft::new(sessions, duration) })?;
        match model {
            System::Closed => at_equal_load(&workload, self.load, LOAD_TOLERANCE, &mut |_| ()),
            System::Open | System::PartlyOpen => Ok(workload),
        }
    }

    /// Compares the models under `disciplines`. Figures without a formula are simulated in trials with common seeds,
    /// until the ratios to the partly-open model are known to 3 %.
    ///
    /// # Errors
    /// The partly-open model cannot be simulated. Errors of the other models are part of the result.
    pub fn compare(&self, disciplines: &[Discipline]) -> Result<ModelComparison, Error> {
        let mut models = System::ALL.map(|model| ModelResponses { model, fcfs: None, ps: None });
        let (mut missing, mut warnings, mut trials) = (Vec::new(), Vec::new(), 0);
        for discipline in disciplines {
            let name = |model: System| format!("{}, {}", model.name(), discipline.name());
            let own = self.system(System::PartlyOpen, *discipline)?;
            let others = [System::Open, System::Closed].map(|model| (model, self.system(model, *discipline)));
            let (mut systems, mut named) = (vec![own], vec![System::PartlyOpen]);
            for (model, system) in others {
                match system {
                    Ok(system) => {
                        systems.push(system);
                        named.push(model);
                    }
                    Err(why) => missing.push(format!("{}: {why}", name(model))),
                }
            }
            let responses = trials::responses(&systems);
            let own = responses[0].as_ref().map_err(|why| Error::Refused(why.clone()))?;
            for ((model, system), found) in named.iter().zip(&systems).zip(&responses) {
                let name = name(*model);
                match found {
                    Ok(found) => {
                        let place = models.iter_mut().find(|known| known.model == *model).expect("all models");
                        *discipline.of_mut(place) = Some(self.estimate(found, own, system));
                        trials = trials.max(found.trials.len() as u64);
                        warnings.extend(found.warnings(own).map(|warning| format!("{name}: {warning}")));
                    }
                    Err(why) => missing.push(format!("{name}: {why}")),
                }
            }
        }
        Ok(ModelComparison {
            load: self.load,
            service_distribution: self.service.to_string(),
            scv: self.scv.unwrap_or(ASSUMED_SCV),
            scv_known: self.scv.is_some(),
            users: self.users,
            trials,
            responses_per_trial: JOBS,
            models: models.to_vec(),
            missing,
            warnings,
        })
    }

    fn estimate(&self, found: &Responses, own: &Responses, system: &Workload) -> ResponseEstimate {
        let time = |figure| {
            let Estimate { value, low, high } = found.estimate(figure);
            TimeEstimate { value_s: value, low_s: low, high_s: high, exact: found.is_exact(figure) }
        };
        let ratio = |figure| {
            let Estimate { value, low, high } = found.ratio(own, figure);
            RatioEstimate { value, low, high }
        };
        ResponseEstimate {
            mean: time(Figure::Mean),
            p95: time(Figure::P95),
            mean_ratio: ratio(Figure::Mean),
            p95_ratio: ratio(Figure::P95),
            load_reached: found.load().unwrap_or(self.load),
            think_s: matches!(system.sessions(), Sessions::Closed(_)).then(|| system.mean_think()).flatten(),
        }
    }
}

/// The recommended model for a site with this mean number of requests per session.
pub fn recommendation(others: &ModelComparison, requests_per_session: f64) -> Recommendation {
    let of_model = |model: &ModelResponses| {
        let system = model.model;
        let ratios =
            |found: &ResponseEstimate| ResponseRatios { model: system, mean: found.mean_ratio, p95: found.p95_ratio };
        [&model.fcfs, &model.ps].into_iter().flatten().map(ratios).collect::<Vec<_>>()
    };
    let ratios: Vec<ResponseRatios> = others.models.iter().flat_map(of_model).collect();
    Recommendation::by(requests_per_session, &ratios)
}

/// A distribution with this mean and scv.
fn distribution(mean: f64, scv: f64) -> Result<Distribution, InvalidValue> {
    match scv {
        1.0 => Distribution::exponential(mean),
        more if more > 1.0 => Distribution::hyperexponential(mean, scv),
        0.0 => Distribution::constant(mean),
        _ => Distribution::gamma(mean, scv),
    }
}
