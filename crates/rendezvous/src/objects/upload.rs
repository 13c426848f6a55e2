//! Uploads a worker's directory into an object store while it is written.
//!
//! Parts are uploaded in order, as soon as they have their final names, then the heartbeat, which contains the time up to which all events are
//! uploaded, and finally the run record. A separate low-priority thread does this, so that neither requests nor the recorder wait for the network. It
//! holds at most one part in memory.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use offered_base::Nanos;
use offered_io::Clock;
use offered_store::{Heartbeat, files, lower_thread_priority};

use crate::objects::bucket::Bucket;
use crate::objects::error::Error;

/// Interval between two checks for new parts.
const POLL: Duration = Duration::from_millis(250);
/// Pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The upload of a worker's directory. Dropping it abandons the upload.
pub struct Upload {
    messages: Sender<Message>,
    error: Arc<Mutex<Option<String>>>,
    thread: JoinHandle<Result<(), Error>>,
}

enum Message {
    /// The directory is complete.
    End {
        /// Maximum time without a successful upload.
        timeout: Nanos,
        /// Setting this flag ends all attempts.
        abort: Arc<AtomicBool>,
    },
    /// The run has failed: remove all uploaded objects.
    Discard,
}

impl Upload {
    /// Starts to upload the directory `from` to the folder `under` of `bucket`.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(bucket: &Bucket, under: &str, from: &Path) -> Result<Self, Error> {
        let (messages, inbox) = channel();
        let (bucket, error) = (bucket.with_short_retries()?, Arc::default());
        let in_flight = Uploader::new(bucket, under, from, Arc::clone(&error));
        let run = move || {
            lower_thread_priority();
            in_flight.run(&inbox)
        };
        let thread = Builder::new().name("upload".to_owned()).spawn(run).map_err(Error::io("upload", from))?;
        Ok(Self { messages, error, thread })
    }

    /// Returns a function that returns the current upload error, `None` while uploads succeed. It may be called from any thread.
    pub fn last_error(&self) -> impl Fn() -> Option<String> + Send + use<> {
        let error = Arc::clone(&self.error);
        move || error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the complete directory is uploaded. Gives up `timeout` after the last successful upload, or when
    /// `abort` is set. Calls `on_error` with the first error.
    ///
    /// # Errors
    /// [`Error::IncompleteUpload`].
    pub fn finish(self, timeout: Nanos, abort: &Arc<AtomicBool>, on_error: &mut dyn FnMut(&str)) -> Result<(), Error> {
        // If the thread has panicked, joining it reports that.
        let _ = self.messages.send(Message::End { timeout, abort: Arc::clone(abort) });
        let (error, mut reported) = (self.last_error(), false);
        while !self.thread.is_finished() {
            if let (Some(why), false) = (error(), reported) {
                on_error(&why);
                reported = true;
            }
            std::thread::park_timeout(POLL / 10);
        }
        self.thread.join().expect("an upload that does not panic")
    }

    /// Removes all uploaded objects, for a run that failed at its start.
    pub fn discard(self) {
        let _ = self.messages.send(Message::Discard);
        // A failure to remove them is ignored: the failure of the run is what is reported.
        let _ = self.thread.join();
    }
}

/// The state of the upload thread.
struct Uploader {
    bucket: Bucket,
    under: String,
    from: PathBuf,
    error: Arc<Mutex<Option<String>>>,
    /// Whether the workload is uploaded.
    workload_uploaded: bool,
    /// Number of uploaded parts.
    parts: u32,
    /// Everything written before this time is uploaded, since the Unix epoch.
    copied_until_unix_ns: Option<u64>,
    /// The last uploaded heartbeat.
    uploaded_heartbeat: Option<Heartbeat>,
    /// The uploaded files of requests in flight.
    in_flight: BTreeSet<String>,
    /// Size of the uploaded failures in bytes.
    failures_bytes: u64,
    /// Whether the record is uploaded.
    record_uploaded: bool,
}

impl Uploader {
    fn new(bucket: Bucket, under: &str, from: &Path, error: Arc<Mutex<Option<String>>>) -> Self {
        let (under, from) = (under.to_owned(), from.to_owned());
        let (workload_uploaded, parts, copied_until_unix_ns, uploaded_heartbeat, failures_bytes, record_uploaded) =
            (false, 0, None, None, 0, false);
        let in_flight = BTreeSet::new();
        Self {
            bucket,
            under,
            from,
            error,
            workload_uploaded,
            parts,
            copied_until_unix_ns,
            uploaded_heartbeat,
            in_flight,
            failures_bytes,
            record_uploaded,
        }
    }

    fn run(mut self, inbox: &Receiver<Message>) -> Result<(), Error> {
        let mut pause = POLL;
        loop {
            match inbox.recv_timeout(pause) {
                Ok(Message::End { timeout, abort }) => return self.end(timeout, &abort),
                Ok(Message::Discard) => return self.bucket.remove(&self.under),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            pause = if self.upload_new(false).is_ok() { POLL } else { RETRY_PAUSE };
        }
    }

    /// Uploads the rest.
    fn end(&mut self, timeout: Nanos, abort: &AtomicBool) -> Result<(), Error> {
        let clock = Clock::start();
        let (mut before, mut last) = (self.parts, clock.now());
        loop {
            let Err(why) = self.upload_new(true) else { return Ok(()) };
            if self.parts > before {
                (before, last) = (self.parts, clock.now());
            }
            if clock.now() >= last + timeout || abort.load(Relaxed) {
                return Err(self.incomplete(why));
            }
            clock.sleep_until(clock.now() + Nanos(RETRY_PAUSE.as_nanos() as u64));
        }
    }

    /// Uploads new files until the first failure, which [`Upload::last_error`] also reports.
    fn upload_new(&mut self, is_end: bool) -> Result<(), Error> {
        let result = self.upload_all(is_end);
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = result.as_ref().err().map(ToString::to_string);
        result
    }

    fn upload_all(&mut self, is_end: bool) -> Result<(), Error> {
        let heartbeat = Heartbeat::read(&self.from);
        if let (false, Some(workload)) = (self.workload_uploaded, self.content(files::WORKLOAD)?) {
            self.put(files::WORKLOAD, workload)?;
            self.workload_uploaded = true;
        }
        if let (None, Some(heartbeat)) = (&self.uploaded_heartbeat, &heartbeat) {
            self.heartbeat(heartbeat)?;
        }
        while let Some(part) = self.content(&files::part(self.parts))? {
            self.put(&files::part(self.parts), part)?;
            self.parts += 1;
            // Refresh the heartbeat between parts, so that a large backlog does not look like a lost worker.
            if let Some(heartbeat) = Heartbeat::read(&self.from) {
                self.heartbeat(&heartbeat)?;
            }
        }
        if let Some(heartbeat) = heartbeat {
            self.copied_until_unix_ns = Some(heartbeat.at_unix_ns);
            self.heartbeat(&heartbeat)?;
        }
        self.in_flight()?;
        let failures_bytes = self.from.join(files::FAILURES).metadata().map_or(0, |metadata| metadata.len());
        if failures_bytes > self.failures_bytes {
            if let Some(content) = self.content(files::FAILURES)? {
                self.put(files::FAILURES, content)?;
            }
            self.failures_bytes = failures_bytes;
        }
        if let (true, false, Some(record)) = (is_end, self.record_uploaded, self.content(files::RECORD)?) {
            self.put(files::RECORD, record)?;
            self.record_uploaded = true;
        }
        Ok(())
    }

    /// Uploads new files of requests in flight, and removes files that no longer exist locally: their requests are in uploaded parts.
    fn in_flight(&mut self) -> Result<(), Error> {
        let listed = fs::read_dir(self.from.join(files::IN_FLIGHT)).into_iter().flatten().flatten();
        let names = listed.filter_map(|entry| Some(format!("{}/{}", files::IN_FLIGHT, entry.file_name().to_str()?)));
        let here: BTreeSet<String> = names.filter(|name| name.ends_with(".parquet")).collect();
        let (new, old) = (&here - &self.in_flight, &self.in_flight - &here);
        for name in new {
            if let Some(content) = self.content(&name)? {
                self.put(&name, content)?;
                self.in_flight.insert(name);
            }
        }
        for name in old {
            self.bucket.delete(&format!("{}/{name}", self.under))?;
            self.in_flight.remove(&name);
        }
        Ok(())
    }

    /// Uploads a heartbeat unless it is uploaded already.
    fn heartbeat(&mut self, heartbeat: &Heartbeat) -> Result<(), Error> {
        let copied_until_unix_ns = Some(self.copied_until_unix_ns.unwrap_or(heartbeat.started_unix_ns));
        let heartbeat = Heartbeat { copied_until_unix_ns, ..heartbeat.clone() };
        if self.uploaded_heartbeat.as_ref() != Some(&heartbeat) {
            self.put(files::HEARTBEAT, serde_json::to_vec(&heartbeat).expect("numbers and texts are JSON").into())?;
            self.uploaded_heartbeat = Some(heartbeat);
        }
        Ok(())
    }

    fn put(&self, name: &str, content: Bytes) -> Result<(), Error> {
        self.bucket.put(&format!("{}/{name}", self.under), content)
    }

    /// Reads a file of the directory; `None` if it does not exist.
    fn content(&self, name: &str) -> Result<Option<Bytes>, Error> {
        let path = self.from.join(name);
        match fs::read(&path) {
            Ok(content) => Ok(Some(content.into())),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(Error::io("read", &path)(why)),
        }
    }

    fn incomplete(&self, error: Error) -> Error {
        let is_there = |name: &str| self.from.join(name).exists();
        let parts = (self.parts..u32::MAX).take_while(|number| is_there(&files::part(*number))).count() as u64;
        let record = u64::from(!self.record_uploaded && is_there(files::RECORD));
        let missing = (parts + record).max(1);
        let total = u64::from(self.parts) + u64::from(self.record_uploaded) + missing;
        let (url, local) = (self.bucket.of(&self.under), self.from.clone());
        Error::IncompleteUpload { missing, total, url, reason: Box::new(error), local }
    }
}
