//! The features of the responses of a run that are compared with a model.

use super::in_flight::BATCHES;
use super::observations::{Observations, Observed, mean_and_error, quantile};

/// The number of other requests in flight when a request is sent, in classes, and their name.
const MET: [(std::ops::RangeInclusive<u32>, &str); 5] =
    [(0..=0, "none"), (1..=2, "1 or 2"), (3..=6, "3 to 6"), (7..=14, "7 to 14"), (15..=u32::MAX, "15 or more")];
/// Least number of requests in each batch, for a mean and for a percentile.
const FOR_MEAN: usize = 5;
const FOR_PERCENTILE: usize = 20;

/// A feature of the responses.
#[derive(Clone, Debug)]
pub(super) struct Feature {
    pub(super) name: String,
    /// Seconds.
    pub(super) value: f64,
    /// Standard error, relative to the value.
    pub(super) error: f64,
    /// Whether it is of all requests; its value then grows faster than the service time.
    pub(super) is_overall: bool,
}

/// The features of a run; in the same order for all runs of a workload, but only those with enough requests.
pub(super) fn features(run: &Observations, labels: &[String]) -> Vec<Feature> {
    let mut all = Vec::new();
    let everyone = |_: &Observed| true;
    all.extend(feature(run, "mean".into(), true, FOR_MEAN, everyone, mean));
    all.extend(feature(run, "p50".into(), true, FOR_PERCENTILE, everyone, |times| quantile(times, 0.5)));
    all.extend(feature(run, "p95".into(), true, FOR_PERCENTILE, everyone, |times| quantile(times, 0.95)));
    for (met, name) in MET {
        let of = |one: &Observed| met.contains(&one.met);
        all.extend(feature(run, format!("mean with {name} in flight"), false, FOR_MEAN, of, mean));
        all.extend(feature(run, format!("p90 with {name} in flight"), false, FOR_PERCENTILE, of, |times| {
            quantile(times, 0.9)
        }));
    }
    if labels.len() > 1 {
        for (label, name) in (0u16..).zip(labels).take(8) {
            let of = |one: &Observed| one.label == label;
            all.extend(feature(run, format!("mean of {name}"), true, FOR_MEAN, of, mean));
        }
    }
    all
}

fn mean(times: Vec<f64>) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

/// A figure of the requests that `of` selects, with its error from consecutive batches; `None` if a batch has too few
/// requests.
fn feature(
    run: &Observations,
    name: String,
    is_overall: bool,
    least: usize,
    of: impl Fn(&Observed) -> bool,
    figure: impl Fn(Vec<f64>) -> f64,
) -> Option<Feature> {
    let requests = &run.requests;
    let times = |part: &[Observed]| part.iter().filter(|one| of(one)).map(|one| one.time).collect::<Vec<f64>>();
    let batch = |i: usize| times(&requests[i * requests.len() / BATCHES..(i + 1) * requests.len() / BATCHES]);
    let figures: Option<Vec<f64>> =
        (0..BATCHES).map(|i| Some(batch(i)).filter(|times| times.len() >= least).map(&figure)).collect();
    let (_, error) = mean_and_error(&figures?);
    let value = figure(times(requests));
    (value > 0.0).then(|| Feature { name, value, error: error / value, is_overall })
}
