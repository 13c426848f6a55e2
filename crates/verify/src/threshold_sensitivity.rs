//! Whether thresholds come out the same, whatever the generator's unpunctuality did to the figures they look at.
//!
//! Between two ends lies what a punctual generator would have measured. Waiting is known launch by launch: without it a response
//! is a service; and a service holds at most as much lateness again, of the thread that read its answer. Company is known as a proportion, in which a time grows at most ([`Effect`]): with `more` the largest share by
//! which launches had more company than was meant, and `less` the largest by which they had less, a response lies between
//! (service - lateness) / (1 + more) and response / (1 - less).
//!
//! A threshold that both ends keep is kept, and one that neither keeps is not: of neither need the figure be known more exactly. One
//! that lies between them is not judged: there the generator, and not the system, might have the last word.

use std::io;

use offered_model::threshold::{Metric, Quantity};
use offered_model::{Recording, Threshold};

use crate::criteria::Criteria;
use crate::generator_error::GeneratorError;
use crate::measured::Measured;
use crate::verdict::{TimeStats, Window};

/// How many of a run's thresholds have an answer that its generator's lateness may have decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decided {
    /// They come out the same without it.
    pub(crate) same: usize,
    /// They may not.
    pub(crate) open: usize,
    /// There was nothing to measure.
    pub(crate) nothing: usize,
}

impl Decided {
    /// Of a run that owes its generator more than is tolerated; none of any other, and of a file that is no run of ours.
    pub(crate) fn of(
        recording: &Recording,
        ask: &Criteria,
        launches: &[TimeStats],
        judged: &Window,
        effect: Option<&GeneratorError>,
    ) -> io::Result<Self> {
        let effect = effect.filter(|effect| effect.is_beyond_tolerance());
        let (Some(effect), Some(counted), mut of) = (effect, ask.measured_interval(), Self::default()) else {
            return Ok(Self::default());
        };
        let measured = Measured::new(recording, launches, judged, counted).with_pages(ask.pages.clone());
        for threshold in &ask.thresholds {
            match ends(threshold, &measured, effect)? {
                None => of.nothing += 1,
                Some(ends) if is_open(threshold, ends) => of.open += 1,
                Some(_) => of.same += 1,
            }
        }
        Ok(of)
    }

    /// Whether all come out the same, and there are any.
    pub(crate) const fn all(&self) -> bool {
        self.same > 0 && self.open == 0 && self.nothing == 0
    }
}

/// Between which values the figure lies, where only the generator's lateness decides whether the threshold is kept.
pub(crate) fn open(threshold: &Threshold, measured: &Measured, effect: &GeneratorError) -> io::Result<Option<[f64; 2]>> {
    if !effect.is_beyond_tolerance() {
        return Ok(None);
    }
    Ok(ends(threshold, measured, effect)?.filter(|ends| is_open(threshold, *ends)))
}

fn is_open(threshold: &Threshold, [low, high]: [f64; 2]) -> bool {
    threshold.bound.holds(low) != threshold.bound.holds(high)
}

/// Between which ends a punctual generator would have found the figure; `None` where there is nothing to measure.
fn ends(threshold: &Threshold, measured: &Measured, effect: &GeneratorError) -> io::Result<Option<[f64; 2]>> {
    let [less, more] = effect.company();
    let (fewer, bunched) = (less > effect.tolerance, more > effect.tolerance);
    let of = |quantity| {
        let metric = Metric { quantity, ..threshold.metric.clone() };
        Ok::<_, io::Error>(measured.estimate(&metric)?.map(|estimate| estimate.value))
    };
    // A thread that is late to launch is as late to read an answer. Where none came, one might have come in no time.
    let unread = |service, statistic| {
        let [service, late] = [of(service)?, of(Quantity::Lateness(statistic))?];
        Ok::<_, io::Error>((service.unwrap_or(0.0) - late.unwrap_or(0.0).max(0.0)).max(0.0))
    };
    let Some(value) = of(threshold.metric.quantity)? else { return Ok(None) };
    let least = match threshold.metric.quantity {
        // What failed in a bunch might not have failed without it.
        Quantity::Response(statistic) | Quantity::Service(statistic) if bunched => {
            unread(Quantity::ServiceOk(statistic), statistic)?
        }
        Quantity::Response(statistic) | Quantity::Service(statistic) => {
            unread(Quantity::Service(statistic), statistic)?
        }
        Quantity::ResponseOk(statistic) | Quantity::ServiceOk(statistic) => {
            unread(Quantity::ServiceOk(statistic), statistic)?
        }
        // Of the waiting for its objects a page may hold as much lateness again; theirs is the waiting alone.
        Quantity::Page(statistic) | Quantity::Objects(statistic) => {
            let late = of(Quantity::Lateness(statistic))?.unwrap_or(0.0).max(0.0);
            let twice = if matches!(threshold.metric.quantity, Quantity::Page(_)) { 2.0 } else { 1.0 };
            let failed = bunched && value.is_infinite();
            if failed { 0.0 } else { (value - twice * late).max(0.0) }
        }
        // More company than it had might have made any of it fail.
        Quantity::ErrorsRate | Quantity::PageErrors | Quantity::ObjectsErrors => {
            return Ok(Some([if bunched { 0.0 } else { value }, if fewer { 1.0 } else { value }]));
        }
        // The load itself is what was asked, or the run fails for more than its lateness.
        Quantity::Lateness(_) | Quantity::ThroughputRate | Quantity::ArrivalsRate | Quantity::ArrivalsCov => {
            return Ok(Some([value; 2]));
        }
    };
    Ok(Some([least.min(value) / (1.0 + more), least.max(value) / (1.0 - less)]))
}
