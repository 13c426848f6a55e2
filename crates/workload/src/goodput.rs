//! Goodput: the requests that meet limits on their times.

use offered_base::{InvalidValue, Nanos};

use crate::Draft;
use crate::misfit::{Misfit, Place};

/// The limits of a good request. A good request meets all of them; a failed request is never good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goodput {
    /// Maximum time to first token.
    pub ttft: Option<Nanos>,
    /// Maximum time per output token.
    pub tpot: Option<Nanos>,
    /// Maximum response time.
    pub response: Option<Nanos>,
}

impl Goodput {
    /// Checks that there is a limit.
    pub(crate) fn check(self) -> Result<(), InvalidValue> {
        if self == Self::default() {
            return Err(InvalidValue::new("expected at least one limit, such as ttft = \"500ms\""));
        }
        Ok(())
    }
}

/// Checks that thresholds on tokens have what they measure.
pub(crate) fn check_thresholds(Draft { thresholds, requests, .. }: &Draft) -> Result<(), Misfit> {
    let has_streams = requests.iter().any(|request| request.stream().is_some());
    match thresholds.iter().position(|threshold| threshold.metric.quantity.is_of_streams()) {
        Some(number) if !has_streams => Place::Threshold(number).wrong(format!(
            "no response is a stream, so there is no {}; add stream = \"openai\" to a request",
            thresholds[number].metric.quantity
        )),
        _ => Ok(()),
    }
}
