//! `offered capacity`: up to which rate, or how many users, an objective is kept.

mod page;
mod search;
mod trial;

use std::path::PathBuf;

use offered_model::workload::Sessions;
use offered_model::{Objective, Workload};

use crate::exit::{Exit, Failure};
use crate::input::Input;
use crate::say::say;
use crate::vary;
use page::{Answer, Point};
use search::{Range, Said};
use trial::Trial;

/// So many trials are made at a value before anything is said of it, and so many at most.
const TRIALS: (usize, usize) = (3, 10);

const AFTER: &str = "\
Every trial is a run (or a simulation) of the workload with a seed of its own. From the workload's own rate or number of users the search
doubles or halves until the objective is kept at one value and broken at another, then goes on between them. At each value
three to ten trials are made, until the 95 % interval of every figure lies on one side of its bound. What is printed is an
interval: at its low end the objective was seen to be kept, at its high end to be broken.

Examples:
  offered capacity w.toml --vary rate --slo 'p99 < 250ms, errors < 0.1%'
  offered capacity w.toml --vary users --slo 'p90 < 31ms' --simulate
  offered capacity w.toml --vary rate=500 --slo 'p99 < 1s' --precision 2% --trials 100

Exit codes: 0 done; 1 could not go on; 2 wrong input; 3 the generator, not the server, was the limit.";

/// Search for the largest rate or number of users that keeps an objective
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// Workload file; its duration and warm-up are those of one trial
    workload: PathBuf,
    /// The field to search along, and where to begin [default: the workload's own value]
    #[arg(long, value_name = "FIELD[=START]")]
    vary: String,
    /// What must be kept, for example 'p99 < 250ms, errors < 0.1%'
    #[arg(long, value_name = "OBJECTIVE")]
    slo: Objective,
    /// Simulate on the workload's [server] instead of running
    #[arg(long)]
    simulate: bool,
    /// Go on until neither end can be moved by more than this
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = crate::simulate::percent)]
    precision: f64,
    /// At most so many trials in all, which bounds the time
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one_value)]
    trials: usize,
    /// Print one JSON document (schema offered.capacity/1) instead of the table
    #[arg(long)]
    json: bool,
    /// Show nothing on stderr while the search goes on
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let input = Input::read(&args.workload)?;
    let workload = input.parse(&input.text)?;
    let (field, start) = start(&args.vary, &workload)?;
    let search = Search {
        args,
        input,
        field,
        trial: Box::new(|point| Trial::make(point, args)),
        seed: workload.seed().0,
        left: args.trials,
        points: Vec::new(),
        warning: None,
    };
    let most = workload.duration() * args.trials as u64;
    let time = if args.simulate { String::new() } else { format!(", {most} in all, usually far fewer") };
    search.tell(&format!("at most {} trials of {}{time}", args.trials, workload.duration()));
    let answer = search.run(start)?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&answer).map_err(Failure::stopped)?);
    } else {
        say!(no newline: "{answer}");
    }
    Ok(if answer.limited.is_some() { Exit::Doubtful } else { Exit::Done })
}

/// A number of trials with which one value at least can be judged.
fn at_least_one_value(text: &str) -> Result<usize, String> {
    let enough = text.parse().ok().filter(|trials| *trials >= TRIALS.0);
    enough.ok_or_else(|| format!("`{text}` is no number of trials; it takes {} to judge one value", TRIALS.0))
}

/// The field, and where the search along it begins.
fn start(vary: &str, workload: &Workload) -> Result<(String, f64), Failure> {
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
    let start = start.filter(|start| (1e-9..=1e9).contains(start)).ok_or_else(|| {
        Failure::input(format!("where does the search along `{vary}` begin? write for example --vary {field}=100"))
    })?;
    Ok((field.to_owned(), start))
}

/// Makes a trial at a point.
type Make<'a> = dyn Fn(&vary::Point) -> Result<Trial, Failure> + 'a;

/// A search under way.
struct Search<'a> {
    args: &'a Args,
    input: Input,
    field: String,
    trial: Box<Make<'a>>,
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

impl Search<'_> {
    fn run(mut self, start: f64) -> Result<Answer, Failure> {
        let mut range = Range::new(self.args.precision, self.field == "users");
        let (mut limited, mut complete) = (None, true);
        while let Some(value) = range.next(start) {
            match self.ask(value)? {
                Asked::Said(said) => range.learn(value, said),
                Asked::Ended => {
                    complete = false;
                    break;
                }
                Asked::Limited(why) => {
                    limited = Some((value, why));
                    break;
                }
            }
        }
        self.points.sort_by(|a, b| a.value.total_cmp(&b.value));
        Ok(Answer {
            workload: self.args.workload.display().to_string(),
            simulated: self.args.simulate,
            objective: self.args.slo.clone(),
            field: self.field,
            low: range.low,
            high: range.high,
            complete,
            limited,
            warning: self.warning,
            trials: self.args.trials - self.left,
            points: self.points,
        })
    }

    /// Makes trials at `value` until they agree, or are too many.
    fn ask(&mut self, value: f64) -> Result<Asked, Failure> {
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
            let values = vec![(self.field.clone(), value.to_string()), ("seed".to_owned(), self.seed.to_string())];
            let point = vary::point(&self.input, values)?;
            match (self.trial)(&point)? {
                Trial::Overloaded => {
                    self.points.push(Point { value, trials: trials.len(), figures: Vec::new(), said: Said::Breaks });
                    return Ok(Asked::Said(Said::Breaks));
                }
                // Once in a thousand runs a verdict is wrong.
                Trial::Doubtful(why) if doubted => return Ok(Asked::Limited(why)),
                Trial::Doubtful(_) => doubted = true,
                Trial::Figures { figures, warning } => {
                    self.warning = warning.or(self.warning.take());
                    trials.push(figures);
                    if trials.len() >= least {
                        said = search::judge(&self.args.slo, &search::means(&trials));
                    }
                }
            }
        }
        self.tell(&format!("{}={value}: {} trials, {}", self.field, trials.len(), said.name()));
        self.points.push(Point { value, trials: trials.len(), figures: search::means(&trials), said });
        Ok(Asked::Said(said))
    }

    fn tell(&self, line: &str) {
        if !self.args.quiet {
            eprintln!("{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::path::Path;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// What a search along the rate from 100/s finds, whose trials are `trial` at that rate.
    fn found(trial: impl Fn(f64) -> Trial) -> Answer {
        let line = ["capacity", "w.toml", "--vary", "rate=100", "--slo", "p99 < 250ms", "--quiet"];
        let args = &Line::parse_from(line).args;
        let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"http://127.0.0.1:1/\"\n".to_owned();
        let search = Search {
            args,
            input: Input { path: Path::new("w.toml").to_owned(), text },
            field: "rate".to_owned(),
            trial: Box::new(|point| Ok(trial(point.workload.asked_rate().unwrap()))),
            seed: 1,
            left: 100,
            points: Vec::new(),
            warning: None,
        };
        search.run(100.0).unwrap()
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
        assert_eq!(found.limited, Some((800.0, "launches were late".to_owned())));
        // Three at 100, 200 and 400 each; at 800 one that is made again once.
        assert_eq!((found.trials, found.points.len()), (11, 3));
        let page = found.to_string();
        assert!(
            page.starts_with("THE GENERATOR, NOT THE SERVER, WAS THE LIMIT at rate=800: launches were late\n"),
            "{page}"
        );
        assert!(page.contains("is kept at rate=400; where it breaks was not seen"), "{page}");
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
        assert!(found.limited.is_none() && found.complete);
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
            assert!(matches!(start(vary, workload), Err(Failure::Input(why)) if why.contains("where does the search")));
        }
    }
}
