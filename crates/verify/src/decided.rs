//! Whether thresholds come out the same, whatever the generator's unpunctuality did to the figures they look at.
//!
//! Between two ends lies what a punctual generator would have measured. Waiting is known launch by launch: without it a response
//! is a service; and a service holds at most as much lateness again, of the thread that read its answer. Company is known as a proportion, in which a time grows at most ([`Effect`]): with `more` the largest share by
//! which launches had more company than was meant, and `less` the largest by which they had less, a response lies between
//! (service - lateness) / (1 + more) and response / (1 - less).
//!
//! A threshold that both ends keep is kept, and one that neither keeps is not: of neither need the figure be known more exactly.

use std::io;

use offered_model::threshold::{Metric, Quantity};
use offered_model::{Recording, Threshold};

use crate::ask::Ask;
use crate::effect::Effect;
use crate::measured::Measured;
use crate::verdict::{Times, Window};

/// Whether nothing but its sending spoilt a run of ours, by more than is tolerated, and each threshold comes out the same all the same;
/// false where there are none.
pub(crate) fn decided(
    recording: &Recording,
    ask: &Ask,
    launches: &[Times],
    judged: &Window,
    spoilt_by: Option<&Effect>,
) -> io::Result<bool> {
    let spoilt_by = spoilt_by.filter(|effect| effect.tolerance > 0.0 && !effect.is_tolerated());
    let (Some(effect), Some(counted)) = (spoilt_by, ask.counted()) else { return Ok(false) };
    let measured = Measured::new(recording, launches, judged, counted);
    for threshold in &ask.thresholds {
        let Some([low, high]) = ends(threshold, &measured, effect)? else { return Ok(false) };
        if threshold.bound.holds(low) != threshold.bound.holds(high) {
            return Ok(false);
        }
    }
    Ok(!ask.thresholds.is_empty())
}

/// Between which ends the figure lies; `None` where that cannot be said.
fn ends(threshold: &Threshold, measured: &Measured, effect: &Effect) -> io::Result<Option<[f64; 2]>> {
    let [less, more] = effect.company();
    let bunched = more > effect.tolerance;
    let of = |quantity| {
        let metric = Metric { quantity, ..threshold.metric.clone() };
        Ok::<_, io::Error>(measured.estimate(&metric)?.map(|estimate| estimate.value))
    };
    // A thread that is late to launch is as late to read an answer.
    let unread = |service, statistic| {
        let [service, late] = [of(service)?, of(Quantity::Lateness(statistic))?];
        Ok::<_, io::Error>(service.map(|service| (service - late.unwrap_or(0.0).max(0.0)).max(0.0)))
    };
    let Some(value) = of(threshold.metric.quantity)? else { return Ok(None) };
    let (least, most) = match threshold.metric.quantity {
        // What failed in a bunch might not have failed without it.
        Quantity::Response(statistic) | Quantity::Service(statistic) if bunched => {
            (unread(Quantity::ServiceOk(statistic), statistic)?, value)
        }
        Quantity::Response(statistic) | Quantity::Service(statistic) => {
            (unread(Quantity::Service(statistic), statistic)?, value)
        }
        Quantity::ResponseOk(statistic) | Quantity::ServiceOk(statistic) => {
            (unread(Quantity::ServiceOk(statistic), statistic)?, value)
        }
        Quantity::ErrorsRate if less > effect.tolerance => return Ok(None),
        Quantity::ErrorsRate => return Ok(Some([if bunched { 0.0 } else { value }, value])),
        // The load itself is what was asked, or the run fails for more than its lateness.
        Quantity::Lateness(_) | Quantity::ThroughputRate | Quantity::ArrivalsRate | Quantity::ArrivalsCov => {
            return Ok(Some([value; 2]));
        }
    };
    Ok(least.map(|least| [least.min(most) / (1.0 + more), least.max(most) / (1.0 - less)]))
}
