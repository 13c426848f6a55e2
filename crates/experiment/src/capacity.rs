//! The search for the largest rate or number of users that meets an objective.
//!
//! The search doubles or halves the first value until the objective passes at one value and fails at another, and then bisects. Every
//! trial is a run (or a simulation) with its own seed. At each value there are three to ten runs, or three to 48 simulations, until the
//! interval of every metric is on one side of its bound.

mod means;
mod search;
mod trial;

pub use trial::TrialWarning;

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_events::document::Schema;
use offered_schedule::Sessions;
use offered_simulate::interval_requirements;
use offered_stats::requirements::IntervalRequirements;
use offered_workload::threshold::{Bound, Quantity};
use offered_workload::{Objective, Threshold, Workload};

use crate::document::capacity::{Document, Limit, ObjectiveResult, Point};
use crate::figures::Interval;
use crate::{Error, Field, Number, Progress, ProgressObserver, RunPlan, Unit, WorkloadSource, point};
use means::Means;
use search::Range;
use trial::{InvalidTrial, Trial};

/// Minimum number of trials at a value.
pub const MIN_TRIALS: usize = 3;

/// The field that the search varies, and its first value.
#[derive(Clone, Debug, PartialEq)]
pub struct Along {
    /// The field.
    pub field: Field,
    /// The first value; `None`: the value in the workload.
    pub start: Option<Number>,
}

/// `rate`, `rate=100`, `users=25`.
impl FromStr for Along {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (field, start) = text.split_once('=').map_or((text, None), |(field, start)| (field, Some(start)));
        let wrong = || Error::NotSearchable { text: text.to_owned() };
        if field.is_empty() {
            return Err(wrong());
        }
        let field = Field::from(field);
        if field == Field::Load {
            return Err(Error::LoadNotSearchable);
        }
        let start = start.map(|start| {
            let within = |number: &Number| (1e-9..=1e9).contains(&number.value);
            field.load_number(start).filter(within).ok_or_else(wrong)
        });
        Ok(Self { start: start.transpose()?, field })
    }
}

impl Along {
    /// The first value of the search in this workload.
    fn start(&self, workload: &Workload) -> Result<Number, Error> {
        let own = || match (workload.sessions(), &self.field) {
            (Sessions::Open(schedule) | Sessions::PartlyOpen { schedule, .. }, Field::Rate) => {
                Some(Number { value: schedule.rate().as_constant()?.per_sec(), unit: Unit::PerSecond })
            }
            (Sessions::Closed(closed), Field::Users) if closed.population().is_none() => {
                Some(Number { value: closed.users() as f64, unit: Unit::One })
            }
            _ => None,
        };
        self.start.or_else(own).ok_or_else(|| Error::NoStart { field: self.field.clone() })
    }
}

/// A capacity search.
pub struct Search<'a> {
    /// The workload of a trial, with its duration and warm-up.
    pub input: &'a WorkloadSource,
    /// The field and the first value.
    pub along: &'a Along,
    /// The limits that a value must meet to be within the capacity, such as `p99 < 250ms`.
    pub objective: &'a Objective,
    /// Whether trials are simulated rather than run.
    pub simulated: bool,
    /// The relative precision at which the search ends, as a fraction.
    pub precision: f64,
    /// The maximum number of trials.
    pub trials: usize,
}

impl Search<'_> {
    /// Runs the search. Setting `stop` ends it early.
    ///
    /// # Errors
    /// There is no first value, the field cannot have a value, or a run or simulation fails.
    pub fn run(&self, stop: &Arc<AtomicBool>, observer: &mut dyn ProgressObserver) -> Result<Document, Error> {
        let workload = self.input.parse(&self.input.text)?;
        check_upper_bounds(self.objective)?;
        let start = self.along.start(&workload)?;
        let (trials, each, simulated) = (self.trials, workload.time_limit(), self.simulated);
        observer.on_progress(Progress::Search { trials, trial_duration: each, simulated });
        if !simulated {
            let first = point(self.input, vec![(self.along.field.clone(), start.to_string())])?;
            for shortfall in RunPlan::for_point(&first, None).resource_shortfalls() {
                observer.on_progress(Progress::ResourceShortfall {
                    name: &first.name(),
                    shortfall: &shortfall,
                    others: 0,
                });
            }
        }
        let trial = |point: &crate::Point, observer: &mut dyn ProgressObserver| match self.simulated {
            true => Trial::simulated(point, self.objective),
            false => Trial::run(point, self.objective, stop, observer),
        };
        self.search_from(start, workload.seed().0, &trial, observer)
    }

    /// The numbers of responses that the intervals of this workload need; of a real server they are unknown.
    fn requirements(&self, workload: &Workload) -> IntervalRequirements {
        self.simulated.then(|| interval_requirements(workload)).flatten().unwrap_or_default()
    }

    fn search_from(
        &self,
        start: Number,
        seed: u64,
        trial: &RunTrial,
        observer: &mut dyn ProgressObserver,
    ) -> Result<Document, Error> {
        let Along { field, .. } = self.along;
        let mut range = Range::new(self.precision, field.is_whole(), self.simulated);
        let (unit, left) = (start.unit, self.trials);
        let mut trials = Trials { search: self, unit, trial, observer, seed, left, points: Vec::new(), warning: None };
        let (mut limited, mut complete) = (None, true);
        while let Some(value) = range.next(start.value) {
            match trials.try_value(value)? {
                ValueOutcome::Result(said) => range.learn(value, said),
                ValueOutcome::NoTrialsLeft => {
                    complete = false;
                    break;
                }
                ValueOutcome::GeneratorLimit(InvalidTrial { failed_checks, reason }) => {
                    limited = Some(Limit { value, failed_checks, reason });
                    break;
                }
            }
        }
        let Trials { left, mut points, warning, .. } = trials;
        points.sort_by(|a, b| a.value.total_cmp(&b.value));
        Ok(Document {
            schema: Schema::new(),
            workload: self.input.name.clone(),
            simulated: self.simulated,
            objective: self.objective.to_string(),
            field: field.clone(),
            low: range.low,
            high: range.high,
            complete,
            generator_limit: limited,
            warnings: warning.iter().map(TrialWarning::text).collect(),
            trials: self.trials - left,
            points,
        })
    }
}

/// Refuses lower bounds, because times, errors and rates only increase with the load.
fn check_upper_bounds(objective: &Objective) -> Result<(), Error> {
    let from_below = |threshold: &&Threshold| {
        // A share of good requests falls with the load.
        let falls = matches!(
            threshold.metric.quantity,
            Quantity::ArrivalsCov | Quantity::GoodputShare | Quantity::VisitsSuccess | Quantity::GroupsSuccess
        );
        matches!(threshold.bound, Bound::Above(_) | Bound::AtLeast(_)) && !falls
    };
    match objective.thresholds().iter().find(from_below) {
        Some(threshold) => Err(Error::NotBrokenByLoad(threshold.to_string())),
        None => Ok(()),
    }
}

/// Executes a trial at a point.
type RunTrial<'a> = dyn Fn(&crate::Point, &mut dyn ProgressObserver) -> Result<Trial, Error> + 'a;

/// The state of a running search.
struct Trials<'a> {
    search: &'a Search<'a>,
    unit: Unit,
    trial: &'a RunTrial<'a>,
    observer: &'a mut dyn ProgressObserver,
    /// The seed of the last trial.
    seed: u64,
    /// The number of trials left.
    left: usize,
    points: Vec<Point>,
    warning: Option<TrialWarning>,
}

/// The outcome of the trials at one value.
enum ValueOutcome {
    Result(ObjectiveResult),
    /// No trials are left.
    NoTrialsLeft,
    /// Two trials were invalid: the generator is the limit.
    GeneratorLimit(InvalidTrial),
}

impl Trials<'_> {
    /// Runs trials at `value` until the objective is decided, or the maximum is reached.
    fn try_value(&mut self, value: f64) -> Result<ValueOutcome, Error> {
        let looks = if self.search.simulated { &search::SIMULATED } else { &search::RUN };
        let field = &self.search.along.field;
        let (mut trials, mut all_responses): (Vec<Vec<f64>>, u64) = (Vec::new(), 0);
        let mut means = Means::default();
        let mut requirements = None;
        let mut said = ObjectiveResult::Undecided;
        let mut had_invalid = false;
        while trials.len() < looks.last() && said == ObjectiveResult::Undecided {
            if self.left == 0 {
                return Ok(ValueOutcome::NoTrialsLeft);
            }
            self.left -= 1;
            self.seed += 1;
            let number = Number { value, unit: self.unit };
            let values = [(field.clone(), number.to_string()), (Field::Seed, self.seed.to_string())];
            let point = point(self.search.input, values.to_vec())?;
            match (self.trial)(&point, self.observer)? {
                Trial::Overloaded => {
                    self.points.push(Point {
                        value,
                        trials: trials.len(),
                        metrics: Vec::new(),
                        result: ObjectiveResult::Failed,
                    });
                    return Ok(ValueOutcome::Result(ObjectiveResult::Failed));
                }
                // About one verdict in a thousand is wrong: an invalid trial is repeated once.
                Trial::Invalid(why) if had_invalid => return Ok(ValueOutcome::GeneratorLimit(why)),
                Trial::Invalid(_) => had_invalid = true,
                Trial::Metrics { metrics, responses, warning } => {
                    self.warning = warning.or(self.warning.take());
                    trials.push(metrics);
                    all_responses += responses;
                    let requirements = requirements.get_or_insert_with(|| self.search.requirements(&point.workload));
                    means = Means::new(looks.means(&trials), self.search.objective, requirements, all_responses);
                    if looks.includes(trials.len()) {
                        said = search::evaluate(self.search.objective, &means.estimates);
                    }
                }
            }
        }
        self.observer.on_progress(Progress::Tried { field, value, trials: trials.len(), result: said });
        if said == ObjectiveResult::Undecided {
            self.warning = means.warning.or(self.warning.take());
        }
        let metrics = means.estimates.into_iter().map(|figure| Interval::of(figure, 1.0)).collect();
        self.points.push(Point { value, trials: trials.len(), metrics, result: said });
        Ok(ValueOutcome::Result(said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_verify::Check;

    /// The result of a search along the rate from 100/s with these trials.
    fn search(trial: impl Fn(f64) -> Trial) -> Document {
        let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"http://127.0.0.1:1/\"\n".to_owned();
        let input = WorkloadSource::new("w.toml".to_owned(), text, |_| Err(String::new()));
        let objective: Objective = "p99 < 250ms".parse().unwrap();
        let along: Along = "rate=100".parse().unwrap();
        let search = Search {
            input: &input,
            along: &along,
            objective: &objective,
            simulated: false,
            precision: 0.05,
            trials: 100,
        };
        let trial =
            |point: &crate::Point, _: &mut dyn ProgressObserver| Ok(trial(point.workload.scheduled_rate().unwrap()));
        search.search_from(along.start.unwrap(), 1, &trial, &mut ()).unwrap()
    }

    fn figures(p99: f64) -> Trial {
        Trial::Metrics { metrics: vec![p99], responses: 1000, warning: None }
    }

    fn invalid(reason: &str) -> Trial {
        Trial::Invalid(InvalidTrial { failed_checks: vec![Check::LatenessP99], reason: reason.to_owned() })
    }

    #[test]
    fn the_generator_limit_ends_the_search() {
        // The server meets the objective at any rate, but the generator cannot send more than 500/s.
        let found = search(|rate| if rate > 500.0 { invalid("requests were late") } else { figures(0.01) });
        assert_eq!((found.low, found.high), (Some(400.0), None));
        let limit = found.generator_limit.unwrap();
        assert_eq!((limit.value, limit.reason.as_str()), (800.0, "requests were late"));
        assert_eq!(limit.failed_checks, [Check::LatenessP99]);
        // Three trials at 100, 200 and 400 each; at 800 one that is repeated once.
        assert_eq!((found.trials, found.points.len()), (11, 3));
    }

    #[test]
    fn lower_bounds_are_refused() {
        let broken = |objective: &str| check_upper_bounds(&objective.parse().unwrap());
        assert!(broken("p99 < 250ms, errors <= 0.1%, arrivals.cov = 0.95..1.05").is_ok());
        for objective in ["p99 > 50ms", "p99 < 1s, throughput >= 90/s"] {
            assert!(matches!(broken(objective), Err(Error::NotBrokenByLoad(_))), "{objective}");
        }
    }

    #[test]
    fn one_invalid_trial_is_repeated() {
        let asked = std::cell::RefCell::new(Vec::new());
        let found = search(|rate| {
            let again = asked.borrow().contains(&rate);
            asked.borrow_mut().push(rate);
            if again { figures(rate / 1000.0) } else { invalid("once") }
        });
        // 250 ms at 250/s, without noise.
        assert!(found.generator_limit.is_none() && found.complete);
        assert!(found.low.unwrap() <= 250.0 && found.high.unwrap() >= 250.0, "{:?} {:?}", found.low, found.high);
        assert!(found.points.iter().all(|point| point.trials == 3));
    }

    #[test]
    fn the_first_value_is_given_or_that_of_the_workload() {
        let workload = |arrivals: &str| {
            Workload::parse(&format!("duration = \"1s\"\narrivals.{arrivals}"), "w", &|_| Err(String::new())).unwrap()
        };
        let (open, closed) = (workload("open.rate = \"6000/m\""), workload("closed.users = 7"));
        let start = |along: &str, workload: &Workload| Ok(along.parse::<Along>()?.start(workload)?.to_string());
        for (along, workload, says) in [
            ("rate", &open, "100/s"),
            ("users", &closed, "7"),
            ("rate=50/s", &open, "50/s"),
            ("rate=6000/m", &open, "100/s"),
            ("server.servers=2", &open, "2"),
        ] {
            let begins: Result<_, Error> = start(along, workload);
            assert_eq!(begins.unwrap(), says, "{along}");
        }
        for (along, workload) in [("users", &open), ("rate", &closed)] {
            assert!(matches!(start(along, workload), Err(Error::NoStart { .. })), "{along}");
        }
        // A longer think time lowers the load.
        for along in ["rate=x", "rate=-1", "", "=1", "think=5ms"] {
            assert!(matches!(along.parse::<Along>(), Err(Error::NotSearchable { .. })), "{along}");
        }
        for along in ["load", "load=0.5"] {
            assert!(matches!(along.parse::<Along>(), Err(Error::LoadNotSearchable)), "{along}");
        }
    }
}
