//! Whether thresholds come out the same, whatever the generator's unpunctuality did to the figures they look at.
//!
//! Between two ends lies what a punctual generator would have measured. Waiting is known launch by launch: without it a response
//! is a service. Company is known as a proportion, in which a time grows at most ([`Effect`]): with `more` the largest share by
//! which launches had more company than was meant, and `less` the largest by which they had less, a response lies between
//! service / (1 + more) and response / (1 - less).
//!
//! A threshold that both ends keep is kept, and one that neither keeps is not: of neither need the figure be known more exactly.

use std::io;

use offered_model::Threshold;
use offered_model::threshold::{Metric, Quantity};

use crate::effect::Effect;
use crate::measured::Measured;

/// Whether each of them comes out the same at both ends; false of none.
pub(crate) fn decided(thresholds: &[Threshold], measured: &Measured, effect: &Effect) -> io::Result<bool> {
    for threshold in thresholds {
        let Some([low, high]) = ends(threshold, measured, effect)? else { return Ok(false) };
        if threshold.bound.holds(low) != threshold.bound.holds(high) {
            return Ok(false);
        }
    }
    Ok(!thresholds.is_empty())
}

/// Between which ends the figure lies; `None` where that cannot be said.
fn ends(threshold: &Threshold, measured: &Measured, effect: &Effect) -> io::Result<Option<[f64; 2]>> {
    let [less, more] = effect.company();
    let bunched = more > effect.tolerance;
    let of = |quantity| {
        let metric = Metric { quantity, ..threshold.metric.clone() };
        Ok::<_, io::Error>(measured.estimate(&metric)?.map(|estimate| estimate.value))
    };
    let Some(value) = of(threshold.metric.quantity)? else { return Ok(None) };
    let (least, most) = match threshold.metric.quantity {
        // What failed in a bunch might not have failed without it.
        Quantity::Response(statistic) | Quantity::Service(statistic) if bunched => {
            (of(Quantity::ServiceOk(statistic))?, value)
        }
        Quantity::Response(statistic) => (of(Quantity::Service(statistic))?, value),
        Quantity::ResponseOk(statistic) => (of(Quantity::ServiceOk(statistic))?, value),
        Quantity::Service(_) | Quantity::ServiceOk(_) => (Some(value), value),
        Quantity::ErrorsRate if less > effect.tolerance => return Ok(None),
        Quantity::ErrorsRate => return Ok(Some([if bunched { 0.0 } else { value }, value])),
        // The load itself is what was asked, or the run fails for more than its lateness.
        Quantity::Lateness(_) | Quantity::ThroughputRate | Quantity::ArrivalsRate | Quantity::ArrivalsCov => {
            return Ok(Some([value; 2]));
        }
    };
    Ok(least.map(|least| [least.min(most) / (1.0 + more), least.max(most) / (1.0 - less)]))
}
