//! How the generator itself works.

use offered_base::InvalidValue;

/// More than any machine has.
const MOST_THREADS: u16 = 1024;

/// How the generator works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generator {
    pub(super) threads: Option<u16>,
    pub(super) wait_mode: WaitMode,
    pub(super) priority: Priority,
    /// In per cent, as it is written.
    pub(super) tolerance: f64,
    pub(super) on_disk_full: OnDiskFull,
}

impl Default for Generator {
    fn default() -> Self {
        let (wait_mode, priority, on_disk_full) = (WaitMode::Spin, Priority::Auto, OnDiskFull::Continue);
        Self { threads: None, wait_mode, priority, tolerance: 100.0 * Self::TOLERANCE, on_disk_full }
    }
}

impl Generator {
    /// The tolerance where none is given.
    pub const TOLERANCE: f64 = 0.05;

    /// The same with so many threads.
    ///
    /// # Errors
    /// None, or more than any machine has.
    pub fn with_threads(self, threads: u64) -> Result<Self, InvalidValue> {
        match u16::try_from(threads) {
            Ok(threads @ 1..=MOST_THREADS) => Ok(Self { threads: Some(threads), ..self }),
            Ok(0) => Err(InvalidValue::new("at least one thread launches")),
            _ => Err(InvalidValue::new(format!(
                "{threads} threads are more than any machine has; write a number up to {MOST_THREADS}"
            ))),
        }
    }

    /// The same, waiting so.
    #[must_use]
    pub fn with_wait_mode(self, wait_mode: WaitMode) -> Self {
        Self { wait_mode, ..self }
    }

    /// The same with this priority of the sending threads.
    #[must_use]
    pub fn with_priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// The same with so much of a run's percentiles tolerated as its own doing, in per cent of them.
    ///
    /// # Errors
    /// Below 0, or no number. (Above 100: launches may meet so much more company than was meant that responses double.)
    pub fn with_tolerance(self, percent: f64) -> Result<Self, InvalidValue> {
        if percent >= 0.0 && percent.is_finite() {
            Ok(Self { tolerance: percent, ..self })
        } else {
            Err(InvalidValue::new(format!("{percent} % is no share of a percentile; write 0% or more")))
        }
    }

    /// The same, doing this where the disk takes no more.
    #[must_use]
    pub fn with_on_disk_full(self, on_disk_full: OnDiskFull) -> Self {
        Self { on_disk_full, ..self }
    }

    /// How many threads launch; `None`: as many as the rate needs.
    pub fn threads(&self) -> Option<u16> {
        self.threads
    }

    /// How they wait for the next launch.
    pub fn wait_mode(&self) -> WaitMode {
        self.wait_mode
    }

    /// The requested priority of the sending threads.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// What is done where the disk takes no more of what is recorded.
    pub fn on_disk_full(&self) -> OnDiskFull {
        self.on_disk_full
    }

    /// How much of a run's percentiles may be its own doing, as a fraction of them; 0: launches must be as meant, whatever
    /// they did to the percentiles.
    pub fn tolerance(&self) -> f64 {
        self.tolerance / 100.0
    }
}

offered_base::named! {
    /// What a run does when the disk takes no more of what it records.
    pub enum OnDiskFull {
        /// Goes on; what the disk does not take waits in memory and is tried again.
        Continue = "continue",
        /// Stops: what cannot be kept is not worth the load.
        Stop = "stop",
    }
}

offered_base::named! {
    /// How a thread waits for its next launch.
    pub enum WaitMode {
        /// Sleeps to shortly before it, then spins: within microseconds, for processor time.
        Spin = "spin",
        /// Only sleeps: some tens of microseconds late, for almost nothing.
        Sleep = "sleep",
    }
}

offered_base::named! {
    /// The priority that the sending threads request from the operating system.
    pub enum Priority {
        /// Nice -20 and a short time slice, as far as they are permitted; not for threads that use more than half of a processor.
        Auto = "auto",
        /// That of every other process.
        Normal = "normal",
        /// A real-time policy, if it is permitted; otherwise as `Auto`.
        Realtime = "realtime",
    }
}
