//! The small files of a run directory beside its events: the heartbeat and the captured failures.
//!
//! A thread of its own writes them, so that the collector never waits for the disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use offered_events::Exchange;
use offered_io::unix_now;
use offered_store::{Error, Heartbeat, write_failure};

/// A slower disk does not keep the run from ending.
const PATIENCE: Duration = Duration::from_secs(2);

enum Job {
    /// A heartbeat with this number of requests in flight.
    Heartbeat(u64),
    Failure(Box<Exchange>),
}

/// A handle to the thread that writes.
pub(crate) struct SideFiles {
    directory: PathBuf,
    jobs: Sender<Job>,
    /// The first error with a failure, once all jobs are done.
    ended: Receiver<Option<Error>>,
}

impl SideFiles {
    /// Writes the first heartbeat, if there is one, and starts the thread.
    ///
    /// # Errors
    /// The heartbeat cannot be written, or the thread cannot be started.
    pub(crate) fn start(directory: PathBuf, heartbeat: Option<Heartbeat>) -> Result<Self, crate::Error> {
        if let Some(first) = &heartbeat {
            first.write(&directory)?;
        }
        let ((jobs, inbox), (end, ended)) = (channel(), channel());
        let path = directory.clone();
        // Nobody waits for the result once the disk has been slow for too long.
        let run = move || drop(end.send(write_all(&path, heartbeat, &inbox)));
        thread::Builder::new().name("files".to_owned()).spawn(run).map_err(offered_run::Error::System)?;
        Ok(Self { directory, jobs, ended })
    }

    /// Writes a heartbeat with this number of requests in flight. Does not wait.
    pub(crate) fn heartbeat(&self, in_flight: u64) {
        self.send(Job::Heartbeat(in_flight));
    }

    /// Adds an exchange to the captured failures. Does not wait.
    pub(crate) fn failure(&self, exchange: &Exchange) {
        self.send(Job::Failure(Box::new(exchange.clone())));
    }

    fn send(&self, job: Job) {
        // The thread ends only after this handle is gone.
        drop(self.jobs.send(job));
    }

    /// Waits for the disk, two seconds at most. Returns why captured failures could not be written, if so.
    pub(crate) fn finish(self) -> Option<Error> {
        drop(self.jobs);
        match self.ended.recv_timeout(PATIENCE) {
            Ok(loss) => loss,
            Err(RecvTimeoutError::Timeout) => {
                let silent = io::Error::new(io::ErrorKind::TimedOut, "the disk has not responded for 2 s");
                Some(Error::Io { action: "write the captured failures in", path: self.directory, source: silent })
            }
            Err(RecvTimeoutError::Disconnected) => panic!("the thread that writes small files panicked"),
        }
    }
}

/// Does the jobs until the last sender is gone. Errors of heartbeats are ignored, because the recorder reports a
/// directory that cannot be written.
fn write_all(directory: &Path, mut heartbeat: Option<Heartbeat>, inbox: &Receiver<Job>) -> Option<Error> {
    let mut loss = None;
    for job in inbox {
        match (job, &mut heartbeat) {
            (Job::Heartbeat(in_flight), Some(heartbeat)) => {
                (heartbeat.at_unix_ns, heartbeat.in_flight) = (unix_now().0, in_flight);
                drop(heartbeat.write(directory));
            }
            (Job::Heartbeat(_), None) => {}
            (Job::Failure(exchange), _) => {
                if loss.is_none() {
                    loss = write_failure(directory, &exchange).err();
                }
            }
        }
    }
    loss
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A disk that does not respond: opening a pipe for writing waits until it is opened for reading.
    #[test]
    fn a_disk_that_does_not_respond_delays_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("failed.jsonl");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let files = SideFiles::start(folder.path().to_owned(), None).unwrap();
        // Handing over must not wait: the pipe is never read meanwhile.
        for _ in 0..1000 {
            files.failure(&Exchange::default());
            files.heartbeat(1);
        }
        let loss = files.finish().unwrap().to_string();
        assert!(loss.contains("the disk has not responded for 2 s"), "{loss}");
        let lines = std::fs::read_to_string(&pipe).unwrap().lines().count();
        assert!(lines >= 1, "the thread was in the write");
    }

    #[test]
    fn failures_are_written_until_the_disk_refuses_one() {
        let folder = tempfile::tempdir().unwrap();
        let files = SideFiles::start(folder.path().to_owned(), None).unwrap();
        files.failure(&Exchange::default());
        assert!(files.finish().is_none());
        assert_eq!(offered_store::read_failures(folder.path()).unwrap().len(), 1);
        let files = SideFiles::start(folder.path().join("nowhere"), None).unwrap();
        files.failure(&Exchange::default());
        assert!(files.finish().unwrap().to_string().contains("failed.jsonl"));
    }
}
