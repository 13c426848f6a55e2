//! The search for the largest rate or number of users that keeps an objective.
//!
//! From the beginning the search doubles or halves until the objective is kept at one value and broken at another, then goes on
//! between them. Every trial is a run (or a simulation) with a seed of its own; at each value three to ten are made, until the
//! 95 % interval of every figure lies on one side of its bound.

mod search;
mod trial;

pub use search::Said;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_model::document::Schema;
use offered_model::threshold::{Bound, Quantity};
use offered_model::workload::Sessions;
use offered_model::{Objective, Threshold, Workload};

use crate::document::capacity::{Document, Limit, Point};
use crate::sweep::Interval;
use crate::{Error, Input, News, Observer, point};
use search::Range;
use trial::Trial;

/// So many trials are made at a value before anything is said of it, and so many at most.
pub const TRIALS: (usize, usize) = (3, 10);

/// A search to be made.
pub struct Search<'a> {
    /// The workload; its duration and warm-up are those of one trial.
    pub input: &'a Input,
    /// The field to search along, and after `=` where to begin; else at the workload's own value.
    pub vary: &'a str,
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
        let (field, start) = start(self.vary, &workload)?;
        let (trials, each, simulated) = (self.trials, workload.duration(), self.simulated);
        observer.told(News::Search { trials, each, simulated });
        let trial = |point: &crate::Point, observer: &mut dyn Observer| match self.simulated {
            true => Trial::simulated(point, self.objective),
            false => Trial::run(point, self.objective, stop, observer),
        };
        self.along(&field, start, workload.seed().0, &trial, observer)
    }

    fn along(
        &self,
        field: &str,
        start: f64,
        seed: u64,
        trial: &Make,
        observer: &mut dyn Observer,
    ) -> Result<Document, Error> {
        let mut range = Range::new(self.precision, field == "users");
        let mut trials =
            Trials { search: self, field, trial, observer, seed, left: self.trials, points: Vec::new(), warning: None };
        let (mut limited, mut complete) = (None, true);
        while let Some(value) = range.next(start) {
            match trials.ask(value)? {
                Asked::Said(said) => range.learn(value, said),
                Asked::Ended => {
                    complete = false;
                    break;
                }
                Asked::Limited(why) => {
                    limited = Some(Limit { value, because: why });
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
            field: field.to_owned(),
            low: range.low,
            high: range.high,
            complete,
            generator_limit: limited,
            warnings: warning.into_iter().collect(),
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

/// The field, and where the search along it begins.
fn start(vary: &str, workload: &Workload) -> Result<(String, f64), Error> {
    let (field, given) = vary.split_once('=').map_or((vary, None), |(field, value)| (field, Some(value)));
    let own = || match workload.sessions() {
        Sessions::Open(schedule) | Sessions::PartlyOpen { schedule, .. } if field == "rate" => {
            Some(schedule.rate().as_constant()?.per_sec())
        }
        Sessions::Closed(closed) if field == "users" => Some(closed.users() as f64),
        _ => None,
    };
    let start = match given {
        Some(value) => value.trim_end_matches("/s").parse().ok(),
        None => own(),
    };
    let start = start.filter(|start| (1e-9..=1e9).contains(start));
    let start = start.ok_or_else(|| Error::NoStart { vary: vary.to_owned(), field: field.to_owned() })?;
    Ok((field.to_owned(), start))
}

/// Makes a trial at a point.
type Make<'a> = dyn Fn(&crate::Point, &mut dyn Observer) -> Result<Trial, Error> + 'a;

/// The trials of a search under way.
struct Trials<'a> {
    search: &'a Search<'a>,
    field: &'a str,
    trial: &'a Make<'a>,
    observer: &'a mut dyn Observer,
    /// Of the next trial.
    seed: u64,
    /// Trials.
    left: usize,
    points: Vec<Point>,
    warning: Option<String>,
}

/// What came of asking one value.
enum Asked {
    Said(Said),
    /// The trials are used up.
    Ended,
    /// The generator could not do it, twice; why.
    Limited(String),
}

impl Trials<'_> {
    /// Makes trials at `value` until they agree, or are too many.
    fn ask(&mut self, value: f64) -> Result<Asked, Error> {
        let (least, most) = TRIALS;
        let mut trials: Vec<Vec<f64>> = Vec::new();
        let mut said = Said::Unsure;
        let mut doubted = false;
        while trials.len() < most && (trials.len() < least || said == Said::Unsure) {
            if self.left == 0 {
                return Ok(Asked::Ended);
            }
            self.left -= 1;
            self.seed += 1;
            let values = vec![(self.field.to_owned(), value.to_string()), ("seed".to_owned(), self.seed.to_string())];
            let point = point(self.search.input, values)?;
            match (self.trial)(&point, self.observer)? {
                Trial::Overloaded => {
                    self.points.push(Point { value, trials: trials.len(), figures: Vec::new(), says: Said::Breaks });
                    return Ok(Asked::Said(Said::Breaks));
                }
                // Once in a thousand runs a verdict is wrong.
                Trial::Doubtful(why) if doubted => return Ok(Asked::Limited(why)),
                Trial::Doubtful(_) => doubted = true,
                Trial::Figures { figures, warning } => {
                    self.warning = warning.or(self.warning.take());
                    trials.push(figures);
                    if trials.len() >= least {
                        said = search::judge(self.search.objective, &search::means(&trials));
                    }
                }
            }
        }
        self.observer.told(News::Tried { field: self.field, value, trials: trials.len(), said });
        let figures = search::means(&trials).into_iter().map(|figure| Interval::of(figure, 1.0)).collect();
        self.points.push(Point { value, trials: trials.len(), figures, says: said });
        Ok(Asked::Said(said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a search along the rate from 100/s finds, whose trials are `trial` at that rate.
    fn found(trial: impl Fn(f64) -> Trial) -> Document {
        let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"http://127.0.0.1:1/\"\n".to_owned();
        let input = Input::new("w.toml".to_owned(), text, |_| Err(String::new()));
        let objective: Objective = "p99 < 250ms".parse().unwrap();
        let search = Search {
            input: &input,
            vary: "rate=100",
            objective: &objective,
            simulated: false,
            precision: 0.05,
            trials: 100,
        };
        let trial = |point: &crate::Point, _: &mut dyn Observer| Ok(trial(point.workload.asked_rate().unwrap()));
        search.along("rate", 100.0, 1, &trial, &mut ()).unwrap()
    }

    fn figures(p99: f64) -> Trial {
        Trial::Figures { figures: vec![p99], warning: None }
    }

    #[test]
    fn a_generator_that_cannot_do_more_ends_the_search_and_is_named() {
        // The server would keep the objective at any rate; launches beyond 500/s are not what was meant.
        let found =
            found(|rate| if rate > 500.0 { Trial::Doubtful("launches were late".into()) } else { figures(0.01) });
        assert_eq!((found.low, found.high), (Some(400.0), None));
        let limit = found.generator_limit.unwrap();
        assert_eq!((limit.value, limit.because.as_str()), (800.0, "launches were late"));
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
            if again { figures(rate / 1000.0) } else { Trial::Doubtful("once".into()) }
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
        assert_eq!(start("rate", &open).unwrap(), ("rate".to_owned(), 100.0));
        assert_eq!(start("users", &closed).unwrap(), ("users".to_owned(), 7.0));
        assert_eq!(start("rate=50/s", &open).unwrap().1, 50.0);
        for (vary, workload) in
            [("users", &open), ("rate", &closed), ("rate=x", &open), ("rate=-1", &open), ("", &open)]
        {
            assert!(matches!(start(vary, workload), Err(Error::NoStart { .. })), "{vary}");
        }
    }
}
