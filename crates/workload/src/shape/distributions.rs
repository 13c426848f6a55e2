//! Keys of distributions of times.

use super::Kind::{self, Any, File, List, Number, Pair, Time, Whole};
use super::{Key, MAX_WHOLE, Shape, key, shape};

/// Distributions of times, by name.
pub(crate) static DISTRIBUTIONS: Shape = shape(
    "A distribution of times: a table with one key, its name.",
    &[
        key("constant", Time, "A constant."),
        key("uniform", Pair(&Time, &Time), "Uniform between two values."),
        key("exponential", Time, "Exponential with this mean."),
        key("erlang", Kind::Table(&ERLANG), "A sum of exponential stages."),
        key("gamma", Kind::Table(&MEAN_AND_SCV), "Gamma."),
        key("hyperexponential", Kind::Table(&HYPEREXPONENTIAL), "Mixture of two exponentials, scv above 1."),
        key("lognormal", Kind::Table(&LOGNORMAL), "Lognormal."),
        key("weibull", Kind::Table(&WEIBULL), "Weibull; a shape below 1 has a heavier tail than exponential."),
        key("pareto", Kind::Table(&PARETO), "P(X > x) = (min/x)^shape."),
        key("bounded_pareto", Kind::Table(&BOUNDED_PARETO), "Pareto between min and max."),
        key(
            "poisson",
            Time,
            "Poisson-distributed milliseconds with this mean: JMeter's Poisson timer, nearly constant.",
        ),
        key(
            "empirical",
            Any(&[List(&Time), File]),
            "Empirical: a list of equally likely values, or a file with one value in seconds per line.",
        ),
    ],
)
.one_of(&offered_distributions::NAMES);

const MEAN: Key = key("mean", Time, "The mean.");
const SCV: Key = key("scv", Number(0.0), "The squared coefficient of variation.");
const MIN: Key = key("min", Time, "The minimum.");
const SHAPE: Key = key("shape", Number(0.0), "The shape parameter.");

pub(crate) static ERLANG: Shape =
    shape("A sum of exponential stages.", &[MEAN, key("stages", Whole(1, MAX_WHOLE), "Number of stages.")])
        .needs(&["mean", "stages"]);
pub(crate) static MEAN_AND_SCV: Shape =
    shape("A distribution with this mean and scv.", &[MEAN, SCV]).needs(&["mean", "scv"]);
const WITHIN: Key = key(
    "within",
    Pair(&Time, &Time),
    "Truncation to this range; mean and scv are the values before truncation. Default: none.",
);
pub(crate) static LOGNORMAL: Shape = shape("Lognormal.", &[MEAN, SCV, WITHIN]).needs(&["mean", "scv"]);
pub(crate) static HYPEREXPONENTIAL: Shape = shape(
    "Mixture of two exponentials.",
    &[MEAN, SCV, key("p", Number(0.0), "Probability of the first exponential. Default: balanced means."), WITHIN],
)
.needs(&["mean", "scv"]);
pub(crate) static WEIBULL: Shape = shape("Weibull.", &[MEAN, SHAPE]).needs(&["mean", "shape"]);
pub(crate) static PARETO: Shape = shape("Pareto.", &[MIN, SHAPE]).needs(&["min", "shape"]);
pub(crate) static BOUNDED_PARETO: Shape =
    shape("Pareto bounded to a range.", &[MIN, key("max", Time, "The maximum."), SHAPE])
        .needs(&["min", "max", "shape"]);
