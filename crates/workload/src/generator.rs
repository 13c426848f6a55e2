//! Settings of the load generator.

use offered_base::InvalidValue;

/// Maximum number of threads.
const MOST_THREADS: u16 = 1024;

/// Settings of the load generator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generator {
    pub(super) threads: Option<u16>,
    pub(super) wait_mode: WaitMode,
    pub(super) priority: Priority,
    /// In percent, as in the workload file.
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
    /// Default tolerance, as a fraction of a percentile.
    pub const TOLERANCE: f64 = 0.05;

    /// Sets the number of sending threads, from 1 to 1024.
    ///
    /// # Errors
    /// Another number of threads.
    pub fn with_threads(self, threads: u64) -> Result<Self, InvalidValue> {
        match u16::try_from(threads) {
            Ok(threads @ 1..=MOST_THREADS) => Ok(Self { threads: Some(threads), ..self }),
            Ok(0) => Err(InvalidValue::new("at least one thread must send requests")),
            _ => Err(InvalidValue::new(format!("{threads} threads are too many; write a number up to {MOST_THREADS}"))),
        }
    }

    /// Sets how a thread waits for its next request.
    #[must_use]
    pub fn with_wait_mode(self, wait_mode: WaitMode) -> Self {
        Self { wait_mode, ..self }
    }

    /// Sets the priority that the sending threads request.
    #[must_use]
    pub fn with_priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// Sets the maximum generator error, in percent of each percentile.
    ///
    /// # Errors
    /// A tolerance below 0, infinite or NaN. (It can be above 100: bunched requests can more than double response times.)
    pub fn with_tolerance(self, percent: f64) -> Result<Self, InvalidValue> {
        if percent >= 0.0 && percent.is_finite() {
            Ok(Self { tolerance: percent, ..self })
        } else {
            Err(InvalidValue::new(format!("{percent} % is not a valid tolerance; write 0% or more")))
        }
    }

    /// Sets the behaviour of a run if the disk is full.
    #[must_use]
    pub fn with_on_disk_full(self, on_disk_full: OnDiskFull) -> Self {
        Self { on_disk_full, ..self }
    }

    /// Number of sending threads; `None`: as many as the rate needs.
    pub fn threads(&self) -> Option<u16> {
        self.threads
    }

    /// How a thread waits for its next request.
    pub fn wait_mode(&self) -> WaitMode {
        self.wait_mode
    }

    /// The requested priority of the sending threads.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// The behaviour of a run if events cannot be written because the disk is full.
    pub fn on_disk_full(&self) -> OnDiskFull {
        self.on_disk_full
    }

    /// Maximum generator error, as a fraction of each percentile. 0: requests must be sent as scheduled, even if the percentiles are not
    /// affected.
    pub fn tolerance(&self) -> f64 {
        self.tolerance / 100.0
    }
}

offered_base::named! {
    /// The behaviour of a run if events cannot be written because the disk is full.
    pub enum OnDiskFull {
        /// Continue; events wait in memory, and writing is retried.
        Continue = "continue",
        /// Stop the run.
        Stop = "stop",
    }
}

offered_base::named! {
    /// How a thread waits for its next request.
    pub enum WaitMode {
        /// Sleep until shortly before the scheduled time, then spin: late by microseconds, uses processor time.
        Spin = "spin",
        /// Only sleep: late by tens of microseconds, uses almost no processor time.
        Sleep = "sleep",
    }
}

offered_base::named! {
    /// The priority that the sending threads request from the operating system.
    pub enum Priority {
        /// Nice -20 and a short time slice, if permitted. A thread that uses more than half of a processor loses them.
        Auto = "auto",
        /// The normal priority, as of other processes.
        Normal = "normal",
        /// A real-time policy, if it is permitted; otherwise as `Auto`.
        Realtime = "realtime",
    }
}
