//! The reference server: real HTTP/1.1 on a real socket, in front of a server whose service law and discipline are known
//! exactly.
//!
//! A request is a job. It arrives when its last byte was read, joins a [`Discipline`] on the real clock, and is answered at
//! the instant at which the discipline has it done. No processor time is burnt for the work: one thread waits for sockets and
//! for the next completion, whichever comes first, so the discipline's arithmetic is the only server there is.
//!
//! # Endpoints
//! | target | answer |
//! |---|---|
//! | a path of the [`Routes`] | a job of its class, of the size of the file or drawn from the law of the class |
//! | `/`, and any path not named below | a job of a size drawn from the service law |
//! | `?work_ms=12.5` on any path, `/work?ms=12.5`, the header `Work-Ms: 12.5` | a job of this size |
//! | `/status/503` | this status, 200 to 599; 204 and 304 without a body |
//! | `/bytes/N`, `/chunked/N`, `/nolength/N` | N bytes: announced, in chunks, ended by the connection's end |
//! | `/delay/50ms` | an answer after a pause in which nobody queues |
//! | `/echo` | the request as it came, up to 1 MiB |
//! | `/continue` | 100, 103, then 200 |
//! | `/close`, `/reset`, `/stall` | no answer: an end, a reset, nothing for ever |
//! | `/early` | 1000 bytes announced, 500 sent, an end |
//! | `/garbage` | bytes that are not HTTP, an end |
//!
//! With [`Options::files`] there are none of these: each path is a file, and the discipline schedules the uplink.
//!
//! # Limitations
//! All requests that one read brings arrive at one instant, that of the read. A job whose client has gone away is served to
//! its end all the same, as by most servers. Idle connections are never closed. Over a Unix socket `/reset` is `/close`.

mod address;
mod codec;
mod connection;
mod demand;
mod event_loop;
mod files;
mod jobs;
mod ledger;
mod record;
mod reply;
mod routes;
mod stamps;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use offered_clock::{Clock, Poller, Waker, allow_sockets};
use offered_model::{Instant, Law, Nanos, Seed};
use offered_simulate::Discipline;

pub use address::Address;
pub use files::{BitRate, Files};
pub use routes::Routes;

use address::Listener;
use event_loop::EventLoop;
use ledger::Ledger;
use record::Recorder;

/// Why a server cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}; choose another address, or end what listens there")]
    Listen {
        /// As it was asked for.
        address: Address,
        /// The system's reason.
        source: io::Error,
    },
    /// The file of the record cannot be made, or not be written.
    #[error("cannot write the record {path}: {source}; name a new file where there is room")]
    Record {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The folder of files is none that can be read.
    #[error("cannot serve the files of {path}: {source}; name a folder that can be read")]
    Files {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The system refused something a server cannot do without.
    #[error("the server cannot go on: {0}; see whether the system has file descriptors and memory left")]
    System(io::Error),
}

/// What to serve, where, and what to keep of it.
pub struct Options {
    /// Where to listen.
    pub listen: Address,
    /// The server and its queue.
    pub discipline: Box<dyn Discipline + Send>,
    /// Room for so many jobs, those being served included; who finds it full is answered 503 at once. `None`: for any number.
    pub room: Option<u32>,
    /// The law of the sizes of jobs that neither bring their own nor are known by their paths, in seconds.
    pub service: Law,
    /// Which paths are known. A job's class is the number of its request; of any other path, that after the last.
    pub routes: Routes,
    /// Real files instead of the [endpoints](crate): each request is a job whose work is its file's time on the uplink.
    pub files: Option<Files>,
    /// Where the sizes come from: job number n (from 0) has always the same.
    pub seed: Seed,
    /// How long before a completion the thread stops sleeping and asks without a pause: more is more exact, up to about
    /// 100 us, and costs processor time. Zero: never. [`Nanos::MAX`]: the thread never sleeps at all, so that arrivals are
    /// stamped without its waking up in between.
    pub spin: Nanos,
    /// Whose time the record is in.
    pub clock: Clock,
    /// A new file for one CSV row per request, in the order in which the answers went out: `arrival_ns` (last byte read),
    /// `work_ns` (empty: no job), `due_ns` (done on paper), `done_ns` (last byte handed to the system; empty: never), `path`,
    /// `received_ns` (last byte received by the system and stamped by it; empty where it does not say).
    pub record: Option<PathBuf>,
    /// Whether [`Summary::arrivals`] is filled; 8 bytes a request.
    pub keep_arrivals: bool,
}

impl Options {
    /// A free port of 127.0.0.1, room for any number of jobs, a thread that sleeps; nothing is kept of what is seen.
    pub fn new(discipline: Box<dyn Discipline + Send>, service: Law, seed: Seed) -> Self {
        Self {
            listen: "127.0.0.1:0".parse().expect("an address"),
            discipline,
            room: None,
            service,
            routes: Routes::default(),
            files: None,
            seed,
            spin: Nanos::ZERO,
            clock: Clock::start(),
            record: None,
            keep_arrivals: false,
        }
    }
}

/// What a server has seen, from start to end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Requests that arrived whole.
    pub requests: u64,
    /// Those of them that were jobs, or would have been had there been room.
    pub jobs: u64,
    /// Answers sent in full; those to malformed requests among them.
    pub answered: u64,
    /// Connections given up because their bytes were not requests.
    pub malformed: u64,
    /// How long after it was due on paper the last byte of a job's answer was handed to the system, on average.
    pub lateness_mean: Nanos,
    /// The same, at worst.
    pub lateness_max: Nanos,
    /// When each request arrived, in order, if it was asked for.
    pub arrivals: Vec<Instant>,
}

/// The reference server; see [`Server::start`].
pub struct Server;

/// A server at work on a thread of its own.
pub struct Running {
    address: Address,
    record: Option<PathBuf>,
    stopper: Stopper,
    thread: JoinHandle<io::Result<Summary>>,
}

/// Stops a server, from any thread.
#[derive(Clone)]
pub struct Stopper {
    stop: Arc<AtomicBool>,
    waker: Waker,
}

impl Stopper {
    /// Accepts nobody any more, and ends when what has arrived is answered, after a second at the latest.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
    }
}

impl Server {
    /// Listens, and serves on a thread of its own from now on. The process may then have as many files open as its hard limit.
    ///
    /// # Errors
    /// The address is taken or not ours, the record exists already or cannot be made, or the system refuses.
    pub fn start(options: Options) -> Result<Running, Error> {
        allow_sockets();
        let listener = Listener::bind(&options.listen)
            .map_err(|source| Error::Listen { address: options.listen.clone(), source })?;
        let address = listener.address().map_err(Error::System)?;
        let record = options.record.clone();
        let recorder = match &record {
            Some(path) => Some(Recorder::create(path).map_err(|source| Error::Record { path: path.clone(), source })?),
            None => None,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (told, tell) = std::sync::mpsc::channel();
        let flag = stop.clone();
        let serve = move || {
            // On its own thread, whose sleeps the poller makes exact.
            let poller = Poller::new()?;
            let waker = poller.waker();
            let ledger = Ledger::new(options.clock, recorder, options.keep_arrivals);
            let event_loop = EventLoop::new(poller, listener, options, ledger, flag)?;
            let _ = told.send(waker);
            event_loop.run()
        };
        let thread = std::thread::Builder::new().name("serve".into()).spawn(serve).map_err(Error::System)?;
        match tell.recv() {
            Ok(waker) => Ok(Running { address, record, stopper: Stopper { stop, waker }, thread }),
            Err(_) => Err(join(thread, None).err().unwrap_or_else(|| Error::System(io::ErrorKind::Other.into()))),
        }
    }
}

impl Running {
    /// Where it listens, with the port that the system chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What stops it from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Stops it, and tells what it has seen.
    ///
    /// # Errors
    /// The record could not be written to its end, or the system failed the server earlier.
    pub fn stop(self) -> Result<Summary, Error> {
        self.stopper.stop();
        self.wait()
    }

    /// Waits until somebody stops it, and tells what it has seen.
    ///
    /// # Errors
    /// Those of [`stop`](Self::stop).
    pub fn wait(self) -> Result<Summary, Error> {
        join(self.thread, self.record)
    }
}

fn join(thread: JoinHandle<io::Result<Summary>>, record: Option<PathBuf>) -> Result<Summary, Error> {
    match (thread.join(), record) {
        (Ok(Ok(summary)), _) => Ok(summary),
        (Ok(Err(source)), Some(path)) => Err(Error::Record { path, source }),
        (Ok(Err(source)), None) => Err(Error::System(source)),
        (Err(panic), _) => std::panic::resume_unwind(panic),
    }
}
