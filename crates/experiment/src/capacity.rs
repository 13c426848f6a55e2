//! The search for the largest rate or number of users that keeps an objective.
//!
//! From the beginning the search doubles or halves until the objective is kept at one value and broken at another, then goes on
//! between them. Every trial is a run (or a simulation) with a seed of its own; at each value three to ten are made, until the
//! 95 % interval of every figure lies on one side of its bound.

mod search;
mod trial;

pub use trial::Doubt;

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_model::document::Schema;
use offered_model::threshold::{Bound, Quantity};
use offered_model::workload::Sessions;
use offered_model::{Objective, Threshold, Workload};

use crate::document::capacity::{Document, Limit, Point, Said};
use crate::figures::Interval;
use crate::{Error, Field, Input, News, Number, Observer, Plan, Unit, point};
use search::Range;
use trial::{Trial, Unbelieved};

/// So many trials are made at a value before anything is said of it, and so many at most.
pub const TRIALS: (usize, usize) = (3, 10);

/// A field to search along, and where to begin; else at the workload's own value.
#[derive(Clone, Debug, PartialEq)]
pub struct Along {
    /// The field.
    pub field: Field,
    /// Its first value, a load.
    pub start: Option<Number>,
}

/// `rate`, `rate=100`, `users=25`.
impl FromStr for Along {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (field, start) = text.split_once('=').map_or((text, None), |(field, start)| (field, Some(start)));
        let wrong = || Error::NotAlong { text: text.to_owned() };
        if field.is_empty() {
            return Err(wrong());
        }
        let field = Field::from(field);
        let start = start.map(|start| {
            let within = |number: &Number| (1e-9..=1e9).contains(&number.value);
            field.amount(start).filter(within).ok_or_else(wrong)
        });
        Ok(Self { start: start.transpose()?, field })
    }
}

impl Along {
    /// Where the search in this workload begins.
    fn start(&self, workload: &Workload) -> Result<Number, Error> {
        let own = || match (workload.sessions(), &self.field) {
            (Sessions::Open(schedule) | Sessions::PartlyOpen { schedule, .. }, Field::Rate) => {
                Some(Number { value: schedule.rate().as_constant()?.per_sec(), unit: Unit::PerSecond })
            }
            (Sessions::Closed(closed), Field::Users) => Some(Number { value: closed.users() as f64, unit: Unit::One }),
            _ => None,
        };
        self.start.or_else(own).ok_or_else(|| Error::NoStart { field: self.field.clone() })
    }
}

/// A search to be made.
pub struct Search<'a> {
    /// The workload; its duration and warm-up are those of one trial.
    pub input: &'a Input,
    /// Along what it goes, and from where.
    pub along: &'a Along,
    /// What must be kept.
    pub objective: &'a Objective,
    /// Whether trials are simulated rather than run.
    pub simulated: bool,
    /// It goes on until neither end can be moved by more than this, as a fraction.
    pub precision: f64,
    /// At most so many trials in all.
    pub trials: usize,
}

impl Search<'_> {
    /// Makes the trials; `stop`, once set, ends the search before its time.
    ///
    /// # Errors
    /// No beginning, a field that cannot take a value, and what a run or a simulation refuses.
    pub fn run(&self, stop: &Arc<AtomicBool>, observer: &mut dyn Observer) -> Result<Document, Error> {
        let workload = self.input.parse(&self.input.text)?;
        broken_by_load(self.objective)?;
        let start = self.along.start(&workload)?;
        let (trials, each, simulated) = (self.trials, workload.time_limit(), self.simulated);
        observer.told(News::Search { trials, each, simulated });
        if !simulated {
            let first = point(self.input, vec![(self.along.field.clone(), start.to_string())])?;
            for beyond in Plan::of(&first, None).beyond() {
                observer.told(News::Beyond { name: &first.name(), beyond: &beyond, others: 0 });
            }
        }
        let trial = |point: &crate::Point, observer: &mut dyn Observer| match self.simulated {
            true => Trial::simulated(point, self.objective),
            false => Trial::run(point, self.objective, stop, observer),
        };
        self.from(start, workload.seed().0, &trial, observer)
    }

    fn from(&self, start: Number, seed: u64, trial: &Make, observer: &mut dyn Observer) -> Result<Document, Error> {
        let Along { field, .. } = self.along;
        let mut range = Range::new(self.precision, field.is_whole());
        let (unit, left) = (start.unit, self.trials);
        let mut trials = Trials { search: self, unit, trial, observer, seed, left, points: Vec::new(), doubt: None };
        let (mut limited, mut complete) = (None, true);
        while let Some(value) = range.next(start.value) {
            match trials.ask(value)? {
                Asked::Said(said) => range.learn(value, said),
                Asked::Ended => {
                    complete = false;
                    break;
                }
                Asked::Limited(Unbelieved { failed, because }) => {
                    limited = Some(Limit { value, failed, because });
                    break;
                }
            }
        }
        let Trials { left, mut points, doubt, .. } = trials;
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
            warnings: doubt.iter().map(Doubt::words).collect(),
            trials: self.trials - left,
            points,
        })
    }
}

/// Refuses bounds from below: times, errors and rates only grow with the load.
fn broken_by_load(objective: &Objective) -> Result<(), Error> {
    let from_below = |threshold: &&Threshold| {
        matches!(threshold.bound, Bound::Above(_) | Bound::AtLeast(_))
            && threshold.metric.quantity != Quantity::ArrivalsCov
    };
    match objective.thresholds().iter().find(from_below) {
        Some(threshold) => Err(Error::KeptByLoad(threshold.to_string())),
        None => Ok(()),
    }
}

/// Makes a trial at a point.
type Make<'a> = dyn Fn(&crate::Point, &mut dyn Observer) -> Result<Trial, Error> + 'a;

/// The trials of a search under way.
struct Trials<'a> {
    search: &'a Search<'a>,
    unit: Unit,
    trial: &'a Make<'a>,
    observer: &'a mut dyn Observer,
    /// Of the next trial.
    seed: u64,
    /// Trials.
    left: usize,
    points: Vec<Point>,
    doubt: Option<Doubt>,
}

/// What came of asking one value.
enum Asked {
    Said(Said),
    /// The trials are used up.
    Ended,
    /// The generator could not do it, twice.
    Limited(Unbelieved),
}

impl Trials<'_> {
    /// Makes trials at `value` until they agree, or are too many.
    fn ask(&mut self, value: f64) -> Result<Asked, Error> {
        let (least, most) = TRIALS;
        let field = &self.search.along.field;
        let mut trials: Vec<Vec<f64>> = Vec::new();
        let mut said = Said::Unsure;
        let mut doubted = false;
        while trials.len() < most && (trials.len() < least || said == Said::Unsure) {
            if self.left == 0 {
                return Ok(Asked::Ended);
            }
            self.left -= 1;
            self.seed += 1;
            let number = Number { value, unit: self.unit };
            let values = [(field.clone(), number.to_string()), (Field::Seed, self.seed.to_string())];
            let point = point(self.search.input, values.to_vec())?;
            match (self.trial)(&point, self.observer)? {
                Trial::Overloaded => {
                    self.points.push(Point { value, trials: trials.len(), figures: Vec::new(), says: Said::Breaks });
                    return Ok(Asked::Said(Said::Breaks));
                }
                // Once in a thousand runs a verdict is wrong.
                Trial::Doubtful(why) if doubted => return Ok(Asked::Limited(why)),
                Trial::Doubtful(_) => doubted = true,
                Trial::Figures { figures, doubt } => {
                    self.doubt = doubt.or(self.doubt.take());
                    trials.push(figures);
                    if trials.len() >= least {
                        said = search::judge(self.search.objective, &search::means(&trials));
                    }
                }
            }
        }
        self.observer.told(News::Tried { field, value, trials: trials.len(), said });
        let figures = search::means(&trials).into_iter().map(|figure| Interval::of(figure, 1.0)).collect();
        self.points.push(Point { value, trials: trials.len(), figures, says: said });
        Ok(Asked::Said(said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_verify::Check;

    /// What a search along the rate from 100/s finds, whose trials are `trial` at that rate.
    fn found(trial: impl Fn(f64) -> Trial) -> Document {
        let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"http://127.0.0.1:1/\"\n".to_owned();
        let input = Input::new("w.toml".to_owned(), text, |_| Err(String::new()));
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
        let trial = |point: &crate::Point, _: &mut dyn Observer| Ok(trial(point.workload.asked_rate().unwrap()));
        search.from(along.start.unwrap(), 1, &trial, &mut ()).unwrap()
    }

    fn figures(p99: f64) -> Trial {
        Trial::Figures { figures: vec![p99], doubt: None }
    }

    fn doubtful(because: &str) -> Trial {
        Trial::Doubtful(Unbelieved { failed: vec![Check::LatenessP99], because: because.to_owned() })
    }

    #[test]
    fn a_generator_that_cannot_do_more_ends_the_search_and_is_named() {
        // The server would keep the objective at any rate; launches beyond 500/s are not what was meant.
        let found = found(|rate| if rate > 500.0 { doubtful("launches were late") } else { figures(0.01) });
        assert_eq!((found.low, found.high), (Some(400.0), None));
        let limit = found.generator_limit.unwrap();
        assert_eq!((limit.value, limit.because.as_str()), (800.0, "launches were late"));
        assert_eq!(limit.failed, [Check::LatenessP99]);
        // Three at 100, 200 and 400 each; at 800 one that is made again once.
        assert_eq!((found.trials, found.points.len()), (11, 3));
    }

    #[test]
    fn a_bound_that_load_keeps_is_refused() {
        let broken = |objective: &str| broken_by_load(&objective.parse().unwrap());
        assert!(broken("p99 < 250ms, errors <= 0.1%, arrivals.cov = 0.95..1.05").is_ok());
        for objective in ["p99 > 50ms", "p99 < 1s, throughput >= 90/s"] {
            assert!(matches!(broken(objective), Err(Error::KeptByLoad(_))), "{objective}");
        }
    }

    #[test]
    fn one_doubtful_trial_of_a_value_is_made_again() {
        let asked = std::cell::RefCell::new(Vec::new());
        let found = found(|rate| {
            let again = asked.borrow().contains(&rate);
            asked.borrow_mut().push(rate);
            if again { figures(rate / 1000.0) } else { doubtful("once") }
        });
        // 250 ms at 250/s, with trials that all say the same.
        assert!(found.generator_limit.is_none() && found.complete);
        assert!(found.low.unwrap() <= 250.0 && found.high.unwrap() >= 250.0, "{:?} {:?}", found.low, found.high);
        assert!(found.points.iter().all(|point| point.trials == 3));
    }

    #[test]
    fn a_search_begins_at_the_workloads_own_value_or_where_told() {
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
        // A longer think time is less load, and what is no number is none.
        for along in ["rate=x", "rate=-1", "", "=1", "think=5ms"] {
            assert!(matches!(along.parse::<Along>(), Err(Error::NotAlong { .. })), "{along}");
        }
    }
}
