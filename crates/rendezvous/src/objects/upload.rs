//! A worker's directory on its way into an object store, while it is written.
//!
//! Parts are brought there in their order, one at a time, as soon as they have their final names; then the sign of life, which says up to
//! when everything is there; in the end the run record. All of it is done by a thread of its own that gives way to any other, so
//! that neither a launch nor the recorder waits for the network. At most one part is in memory.

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
use offered_clock::Clock;
use offered_model::Nanos;
use offered_store::{Alive, files, give_way};

use crate::objects::bucket::Bucket;
use crate::objects::error::Error;

/// How soon a new part is noticed.
const NOTICE: Duration = Duration::from_millis(250);
/// So long after a failure it is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// At the end it is tried so long after the last success, and then no longer.
const PATIENCE: Nanos = Nanos::from_secs(60);

/// The way of a worker's directory into an object store. Dropped, it is left where it is.
pub struct Upload {
    messages: Sender<Message>,
    refusal: Arc<Mutex<Option<String>>>,
    thread: JoinHandle<Result<(), Error>>,
}

enum Message {
    /// Nothing more is written.
    End {
        /// Once it is set nothing more is tried.
        hurry: Arc<AtomicBool>,
    },
    /// It came to nothing: nothing of it shall be there.
    Forget,
}

impl Upload {
    /// From the directory `from` to the folder `under` of `bucket`, beginning now.
    ///
    /// # Errors
    /// The system has no room for the thread.
    pub fn start(bucket: &Bucket, under: &str, from: &Path) -> Result<Self, Error> {
        let (messages, inbox) = channel();
        let (bucket, refusal) = (bucket.impatient()?, Arc::default());
        let under_way = Upwards::new(bucket, under, from, Arc::clone(&refusal));
        let run = move || {
            give_way();
            under_way.run(&inbox)
        };
        let thread = Builder::new().name("upload".to_owned()).spawn(run).map_err(Error::io("upload", from))?;
        Ok(Self { messages, refusal, thread })
    }

    /// Asks, from any thread, why the store does not take what it should; nothing while it does.
    pub fn refusal(&self) -> impl Fn() -> Option<String> + Send + use<> {
        let refusal = Arc::clone(&self.refusal);
        move || refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until all of the directory is in the store; no longer than a minute after the last object that it took, or until `hurry`
    /// is set. Where the store does not take it at once, `refused` is told why.
    ///
    /// # Errors
    /// It is not.
    pub fn finish(self, hurry: &Arc<AtomicBool>, refused: &mut dyn FnMut(&str)) -> Result<(), Error> {
        // If the thread were gone, joining it would tell.
        let _ = self.messages.send(Message::End { hurry: Arc::clone(hurry) });
        let (refusal, mut told) = (self.refusal(), false);
        while !self.thread.is_finished() {
            if let (Some(why), false) = (refusal(), told) {
                refused(&why);
                told = true;
            }
            std::thread::park_timeout(NOTICE / 10);
        }
        self.thread.join().expect("an upload that does not panic")
    }

    /// Takes away again what is in the store, of a run that came to nothing at its very beginning.
    pub fn forget(self) {
        let _ = self.messages.send(Message::Forget);
        // What cannot be taken away stays; the failure of the run is what is told.
        let _ = self.thread.join();
    }
}

/// The thread's own.
struct Upwards {
    bucket: Bucket,
    under: String,
    from: PathBuf,
    refusal: Arc<Mutex<Option<String>>>,
    /// Whether the workload is there.
    begun: bool,
    /// So many parts are.
    parts: u32,
    /// Everything that was kept by then is there, since the Unix epoch.
    copied_unix_ns: Option<u64>,
    /// The last sign of life that is there.
    signed: Option<Alive>,
    /// The files about launches under way that are.
    under_way: BTreeSet<String>,
    /// So many bytes of the failures are there.
    failed: u64,
    /// Whether the record is.
    recorded: bool,
}

impl Upwards {
    fn new(bucket: Bucket, under: &str, from: &Path, refusal: Arc<Mutex<Option<String>>>) -> Self {
        let (under, from) = (under.to_owned(), from.to_owned());
        let (begun, parts, copied_unix_ns, signed, failed, recorded) = (false, 0, None, None, 0, false);
        let under_way = BTreeSet::new();
        Self { bucket, under, from, refusal, begun, parts, copied_unix_ns, signed, under_way, failed, recorded }
    }

    fn run(mut self, inbox: &Receiver<Message>) -> Result<(), Error> {
        let mut pause = NOTICE;
        loop {
            match inbox.recv_timeout(pause) {
                Ok(Message::End { hurry }) => return self.end(&hurry),
                Ok(Message::Forget) => return self.bucket.remove(&self.under),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            pause = if self.bring(false).is_ok() { NOTICE } else { AGAIN };
        }
    }

    /// Brings the rest there.
    fn end(&mut self, hurry: &AtomicBool) -> Result<(), Error> {
        let clock = Clock::start();
        let (mut before, mut last) = (self.parts, clock.now());
        loop {
            let Err(why) = self.bring(true) else { return Ok(()) };
            if self.parts > before {
                (before, last) = (self.parts, clock.now());
            }
            if clock.now() >= last + PATIENCE || hurry.load(Relaxed) {
                return Err(self.unsent(why));
            }
            clock.sleep_until(clock.now() + Nanos(AGAIN.as_nanos() as u64));
        }
    }

    /// Brings there what is not, up to the first failure, which is told by [`Upload::refusal`] too.
    fn bring(&mut self, is_end: bool) -> Result<(), Error> {
        let brought = self.all(is_end);
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = brought.as_ref().err().map(ToString::to_string);
        brought
    }

    fn all(&mut self, is_end: bool) -> Result<(), Error> {
        let sign = Alive::read(&self.from);
        if let (false, Some(workload)) = (self.begun, self.content(files::WORKLOAD)?) {
            self.put(files::WORKLOAD, workload)?;
            self.begun = true;
        }
        if let (None, Some(sign)) = (&self.signed, &sign) {
            self.sign(sign)?;
        }
        while let Some(part) = self.content(&files::part(self.parts))? {
            self.put(&files::part(self.parts), part)?;
            self.parts += 1;
            // Whoever has much to bring is alive.
            if let Some(sign) = Alive::read(&self.from) {
                self.sign(&sign)?;
            }
        }
        if let Some(sign) = sign {
            self.copied_unix_ns = Some(sign.at_unix_ns);
            self.sign(&sign)?;
        }
        self.under_way()?;
        let failed = self.from.join(files::FAILED).metadata().map_or(0, |metadata| metadata.len());
        if failed > self.failed {
            if let Some(content) = self.content(files::FAILED)? {
                self.put(files::FAILED, content)?;
            }
            self.failed = failed;
        }
        if let (true, false, Some(record)) = (is_end, self.recorded, self.content(files::RECORD)?) {
            self.put(files::RECORD, record)?;
            self.recorded = true;
        }
        Ok(())
    }

    /// Brings there what is known of launches under way, and takes away what is no longer of use: what has ended is in a part that is there.
    fn under_way(&mut self) -> Result<(), Error> {
        let listed = fs::read_dir(self.from.join(files::UNDER_WAY)).into_iter().flatten().flatten();
        let names = listed.filter_map(|entry| Some(format!("{}/{}", files::UNDER_WAY, entry.file_name().to_str()?)));
        let here: BTreeSet<String> = names.filter(|name| name.ends_with(".parquet")).collect();
        let (new, old) = (&here - &self.under_way, &self.under_way - &here);
        for name in new {
            if let Some(content) = self.content(&name)? {
                self.put(&name, content)?;
                self.under_way.insert(name);
            }
        }
        for name in old {
            self.bucket.delete(&format!("{}/{name}", self.under))?;
            self.under_way.remove(&name);
        }
        Ok(())
    }

    /// Brings a sign of life there, unless it is.
    fn sign(&mut self, sign: &Alive) -> Result<(), Error> {
        let copied_unix_ns = Some(self.copied_unix_ns.unwrap_or(sign.started_unix_ns));
        let sign = Alive { copied_unix_ns, ..sign.clone() };
        if self.signed.as_ref() != Some(&sign) {
            self.put(files::ALIVE, serde_json::to_vec(&sign).expect("numbers and texts are JSON").into())?;
            self.signed = Some(sign);
        }
        Ok(())
    }

    fn put(&self, name: &str, content: Bytes) -> Result<(), Error> {
        self.bucket.put(&format!("{}/{name}", self.under), content)
    }

    /// What is in a file of the directory; `None` where it is not there.
    fn content(&self, name: &str) -> Result<Option<Bytes>, Error> {
        let path = self.from.join(name);
        match fs::read(&path) {
            Ok(content) => Ok(Some(content.into())),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(Error::io("read", &path)(why)),
        }
    }

    fn unsent(&self, why: Error) -> Error {
        let is_there = |name: &str| self.from.join(name).exists();
        let parts = (self.parts..u32::MAX).take_while(|number| is_there(&files::part(*number))).count() as u64;
        let record = u64::from(!self.recorded && is_there(files::RECORD));
        let missing = (parts + record).max(1);
        let of = u64::from(self.parts) + u64::from(self.recorded) + missing;
        let (url, local) = (self.bucket.of(&self.under), self.from.clone());
        Error::Unsent { missing, of, url, why: Box::new(why), local }
    }
}
