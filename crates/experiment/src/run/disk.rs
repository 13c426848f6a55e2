//! Waiting for the disk of a run directory; the result is shown before that.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use offered_base::{Instant, Nanos};
use offered_io::Clock;
use offered_store::{Closing, WriteLoss};

use crate::Error;

/// A slower disk is reported, and the result does not wait for it.
pub(super) const PATIENCE: Nanos = Nanos::from_secs(2);
/// Also an aborted run gives the disk this time.
const GRACE: Nanos = Nanos::from_millis(500);
/// Time between two reports.
const REPORT_INTERVAL: Nanos = Nanos::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A disk operation on a separate thread.
pub(super) struct DiskOperation<T>(Receiver<T>);

impl<T: Send + 'static> DiskOperation<T> {
    /// Starts the operation.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn start(operate: impl FnOnce() -> T + Send + 'static) -> Result<Self, Error> {
        let (sender, result) = channel();
        // The caller may have given up.
        let run = move || drop(sender.send(operate()));
        thread::Builder::new().name("disk".to_owned()).spawn(run).map_err(offered_run::Error::System)?;
        Ok(Self(result))
    }

    /// Waits for the result; `None` once `give_up` returns true, which gets the time so far.
    pub(super) fn wait(&self, mut give_up: impl FnMut(Nanos) -> bool) -> Option<T> {
        let clock = Clock::start();
        loop {
            match self.0.recv_timeout(POLL_INTERVAL) {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Timeout) if give_up(Instant::ZERO.until(clock.now())) => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("an operation of the disk panicked"),
            }
        }
    }

    /// Waits for the result at most two seconds, or half a second once `abort` is set.
    pub(super) fn wait_patiently(&self, abort: &AtomicBool) -> Option<T> {
        self.wait(|time| time >= PATIENCE || time >= GRACE && abort.load(Relaxed))
    }
}

/// Waits for the last events of a run like [`DiskOperation::wait_patiently`].
pub(super) fn close_patiently(
    closing: &Closing,
    abort: &AtomicBool,
) -> Option<Result<Option<WriteLoss>, offered_store::Error>> {
    let clock = Clock::start();
    loop {
        let finished = closing.finish_within(POLL_INTERVAL);
        let time = Instant::ZERO.until(clock.now());
        if finished.is_some() || time >= PATIENCE || time >= GRACE && abort.load(Relaxed) {
            return finished;
        }
    }
}

/// A run directory that the disk has not completed yet. The result of the run is known already.
pub struct PendingDisk {
    pub(super) operation: DiskOperation<Result<(), offered_store::Error>>,
    pub(super) directory: PathBuf,
    /// Number of events that were not on disk when the result was known.
    pub(super) missing: u64,
}

impl PendingDisk {
    /// Waits until the run directory is complete, or until `abort` is set. `report` gets a message at the start and every ten seconds.
    ///
    /// # Errors
    /// The file cannot be written, or the disk did not finish before `abort`.
    pub fn finish(self, abort: &AtomicBool, report: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let path = self.directory.display();
        let mut next = Nanos::ZERO;
        let finished = self.operation.wait(|time| {
            if time >= next {
                next += REPORT_INTERVAL;
                let waited = (time + PATIENCE).0 / 1_000_000_000;
                report(&format!("the disk has not finished writing {path} in {waited} s"));
            }
            abort.load(Relaxed)
        });
        match finished {
            Some(finished) => Ok(finished?),
            None => Err(Error::DiskStalled { directory: self.directory, missing: self.missing }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stalled_disk_is_reported_and_given_up_on_abort() {
        let (release, wait) = channel::<()>();
        let operation = DiskOperation::start(move || wait.recv().map_or(Ok(()), Ok)).unwrap();
        let pending = PendingDisk { operation, directory: "runs/1".into(), missing: 7 };
        let (abort, mut reports) = (AtomicBool::new(false), Vec::new());
        let stalled = pending.finish(&abort, &mut |report| {
            reports.push(report.to_owned());
            abort.store(true, Relaxed);
        });
        let message = stalled.unwrap_err().to_string();
        assert_eq!(reports, ["the disk has not finished writing runs/1 in 2 s"]);
        assert!(
            message.starts_with("the disk did not finish writing runs/1: ") && message.contains("7 events"),
            "{message}"
        );
        drop(release);
        let operation = DiskOperation::start(|| Ok(())).unwrap();
        let pending = PendingDisk { operation, directory: "runs/1".into(), missing: 7 };
        assert!(pending.finish(&AtomicBool::new(false), &mut |_| ()).is_ok());
    }
}
