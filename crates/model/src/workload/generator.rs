//! How the generator itself works.

use crate::Wrong;

/// More than any machine has.
const MOST_THREADS: u16 = 1024;

/// How the generator works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generator {
    pub(super) threads: Option<u16>,
    pub(super) precision: Precision,
    /// In per cent, as it is written.
    pub(super) tolerance: f64,
}

impl Default for Generator {
    fn default() -> Self {
        Self { threads: None, precision: Precision::Spin, tolerance: 100.0 * Self::TOLERANCE }
    }
}

impl Generator {
    /// The tolerance where none is given.
    pub const TOLERANCE: f64 = 0.05;

    /// The same with so many threads.
    ///
    /// # Errors
    /// None, or more than any machine has.
    pub fn with_threads(self, threads: u64) -> Result<Self, Wrong> {
        match u16::try_from(threads) {
            Ok(threads @ 1..=MOST_THREADS) => Ok(Self { threads: Some(threads), ..self }),
            Ok(0) => Err(Wrong::new("at least one thread launches")),
            _ => Err(Wrong::new(format!(
                "{threads} threads are more than any machine has; write a number up to {MOST_THREADS}"
            ))),
        }
    }

    /// The same, waiting so.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The same with so much of a run's percentiles tolerated as its own doing, in per cent of them.
    ///
    /// # Errors
    /// Below 0, or no number. (Above 100: launches may meet so much more company than was meant that responses double.)
    pub fn with_tolerance(self, percent: f64) -> Result<Self, Wrong> {
        if percent >= 0.0 && percent.is_finite() {
            Ok(Self { tolerance: percent, ..self })
        } else {
            Err(Wrong::new(format!("{percent} % is no share of a percentile; write 0% or more")))
        }
    }

    /// How many threads launch; `None`: as many as the rate needs.
    pub fn threads(&self) -> Option<u16> {
        self.threads
    }

    /// How they wait for the next launch.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// How much of a run's percentiles may be its own doing, as a fraction of them; 0: launches must be as meant, whatever
    /// they did to the percentiles.
    pub fn tolerance(&self) -> f64 {
        self.tolerance / 100.0
    }
}

crate::named! {
    /// How a thread waits for its next launch.
    pub enum Precision {
        /// Sleeps to shortly before it, then spins: within microseconds, for processor time.
        Spin = "spin",
        /// Only sleeps: some tens of microseconds late, for almost nothing.
        Sleep = "sleep",
    }
}
