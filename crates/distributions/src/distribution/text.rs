//! Distributions as text: the short form of the command line (`exponential:5s`) and the form of the workload file
//! (`{ exponential = "5s" }`).

use std::fmt;
use std::str::FromStr;

use super::{Distribution, Parameters, Shape};
use offered_base::InvalidValue;
use offered_base::time::{seconds, written_number as number, written_seconds};

/// The names of all distributions, for error messages.
pub const NAMES: [&str; 12] = [
    "constant",
    "uniform",
    "exponential",
    "erlang",
    "gamma",
    "hyperexponential",
    "lognormal",
    "weibull",
    "pareto",
    "bounded_pareto",
    "poisson",
    "empirical",
];

/// The form of the workload file, an inline TOML table, which is read as the same distribution.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |secs: f64| format!("\"{}\"", written_seconds(secs));
        match self.1 {
            Parameters::Shape => {}
            Parameters::Gamma { mean, scv } => {
                return write!(f, "{{ gamma = {{ mean = {}, scv = {} }} }}", time(mean), number(scv));
            }
            Parameters::Erlang { stages, mean } => {
                return write!(f, "{{ erlang = {{ mean = {}, stages = {stages} }} }}", time(mean));
            }
            Parameters::Hyperexponential { mean, scv, p } => {
                let p = p.map_or(String::new(), |p| format!(", p = {}", number(p)));
                return write!(f, "{{ hyperexponential = {{ mean = {}, scv = {}{p} }} }}", time(mean), number(scv));
            }
            Parameters::Lognormal { mean, scv } => {
                return write!(f, "{{ lognormal = {{ mean = {}, scv = {} }} }}", time(mean), number(scv));
            }
            Parameters::Weibull { mean, shape } => {
                return write!(f, "{{ weibull = {{ mean = {}, shape = {} }} }}", time(mean), number(shape));
            }
            Parameters::Poisson { mean } => return write!(f, "{{ poisson = {} }}", time(mean)),
        }
        match self.shape() {
            Shape::Constant(value) => write!(f, "{{ constant = {} }}", time(*value)),
            Shape::Uniform(low, high) => write!(f, "{{ uniform = [{}, {}] }}", time(*low), time(*high)),
            Shape::Pareto { min, shape } => {
                write!(f, "{{ pareto = {{ min = {}, shape = {} }} }}", time(*min), number(*shape))
            }
            Shape::BoundedPareto { min, max, shape } => {
                let (min, max) = (time(*min), time(*max));
                write!(f, "{{ bounded_pareto = {{ min = {min}, max = {max}, shape = {} }} }}", number(*shape))
            }
            // A catalogue is written by its name.
            Shape::Empirical(e) if e.is_weighted() => {
                write!(
                    f,
                    "{} values by weight of mean {:.4} ms, scv {:.3}",
                    e.values().len(),
                    self.mean() * 1e3,
                    self.scv()
                )
            }
            Shape::Empirical(e) => {
                let values: Vec<String> = e.values().iter().map(|value| time(*value)).collect();
                write!(f, "{{ empirical = [{}] }}", values.join(", "))
            }
            Shape::Truncated(truncated) => {
                let (text, (low, high)) = (truncated.distribution().to_string(), truncated.ends());
                let open = text.strip_suffix(" } }").unwrap_or(&text);
                write!(f, "{open}, within = [{}, {}] }} }}", time(low), time(high))
            }
            _ => write!(f, "{{ exponential = {} }}", time(self.mean())),
        }
    }
}

impl Distribution {
    /// The short form of a distribution of plain numbers, as in the key `random` of a variable: `uniform:1..6`,
    /// `lognormal:20,2`; `None` if a variable cannot have this distribution.
    pub fn of_numbers(&self) -> Option<String> {
        Some(match (self.1, self.shape()) {
            (Parameters::Gamma { mean, scv }, _) => format!("gamma:{mean},{scv}"),
            (Parameters::Hyperexponential { mean, scv, p: None }, _) => format!("hyperexponential:{mean},{scv}"),
            (Parameters::Lognormal { mean, scv }, _) => format!("lognormal:{mean},{scv}"),
            (Parameters::Weibull { mean, shape }, _) => format!("weibull:{mean},{shape}"),
            (_, Shape::Constant(value)) => format!("constant:{value}"),
            (_, Shape::Uniform(low, high)) => format!("uniform:{low}..{high}"),
            (_, Shape::Pareto { min, shape }) => format!("pareto:{min},{shape}"),
            (_, Shape::Exponential(mean)) => format!("exponential:{mean}"),
            _ => return None,
        })
    }
}

/// The short form: `constant:2s`, `exponential:5s`, `uniform:0s,12.5s`, `poisson:300ms`, `erlang:5s,4` (mean, stages),
/// `gamma:5s,0.5`, `lognormal:5s,2`, `hyperexponential:10ms,8` (mean, scv), `weibull:5s,0.7` (mean, shape),
/// `pareto:1s,2.5` (min, shape), `bounded_pareto:10ms,50s,1.1` (min, max, shape); `hyperexponential:3s,8,10ms,50s` and
/// `lognormal:3s,8,10ms,50s`: the last two are bounds.
impl FromStr for Distribution {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = |why: &str| {
            InvalidValue::new(format!(
                "`{text}` is not a distribution{why}; write for example exponential:5s, uniform:0s,12.5s, constant:2s or gamma:5s,0.5"
            ))
        };
        let (name, rest) = text.split_once(':').ok_or_else(|| wrong(""))?;
        let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
        let time = |i: usize| seconds(parts[i]);
        let number =
            |i: usize| parts[i].parse::<f64>().map_err(|_| wrong(&format!(" (`{}` is not a number)", parts[i])));
        match (name.trim().replace('-', "_").as_str(), parts.len()) {
            ("constant", 1) => Self::constant(time(0)?),
            ("uniform", 2) => Self::uniform(time(0)?, time(1)?),
            ("exponential", 1) => Self::exponential(time(0)?),
            ("erlang", 2) => {
                let stages = parts[1].parse().map_err(|_| wrong(" (the second value is the number of stages)"))?;
                Self::erlang(stages, time(0)?)
            }
            (_, 4) if matches!(name.trim(), "hyperexponential" | "lognormal") => {
                let distribution: Self = format!("{name}:{},{}", parts[0], parts[1]).parse()?;
                distribution.truncated(time(2)?, time(3)?)
            }
            ("gamma", 2) => Self::gamma(time(0)?, number(1)?),
            ("hyperexponential", 2) => Self::hyperexponential(time(0)?, number(1)?),
            ("lognormal", 2) => Self::lognormal(time(0)?, number(1)?),
            ("weibull", 2) => Self::weibull(time(0)?, number(1)?),
            ("pareto", 2) => Self::pareto(time(0)?, number(1)?),
            ("bounded_pareto", 3) => Self::bounded_pareto(time(0)?, time(1)?, number(2)?),
            ("poisson", 1) => Self::poisson_millis(time(0)?),
            (known, _) if NAMES.contains(&known) => Err(wrong(&format!(" (`{known}` needs other values)"))),
            (unknown, _) => Err(wrong(&offered_base::nearest(unknown, &NAMES))),
        }
    }
}
