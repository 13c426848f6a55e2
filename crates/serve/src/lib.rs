//! The reference server: HTTP/1.1 on a real socket, with a known service distribution and scheduling discipline.
//!
//! A request is a job. It arrives when its last byte is read, joins a [`Discipline`] on the real clock, and its
//! response is sent at the instant when the discipline completes it. The work uses no processor time: one thread waits
//! for sockets and for the next completion, whichever comes first. The discipline alone therefore determines the
//! response times.
//!
//! # Endpoints
//! | target | response |
//! |---|---|
//! | a path of the [`Routes`] | a job of its class, with the work of the file or sampled from the class's distribution |
//! | `/`, and any path not listed below | a job with work sampled from the service distribution |
//! | `?work_ms=12.5` on any path, `/work?ms=12.5`, the header `Work-Ms: 12.5` | a job with this work |
//! | `/status/503` | this status, 200 to 599; 204 and 304 without a body |
//! | `/bytes/N`, `/chunked/N`, `/nolength/N` | N bytes: with Content-Length, chunked, or ended by closing the connection |
//! | `/delay/50ms` | a response after a pause without queueing |
//! | `/echo` | the request as received, up to 1 MiB |
//! | `/continue` | 100, 103, then 200 |
//! | `/close`, `/reset`, `/stall` | no response: the connection is closed, reset, or stays open |
//! | `/early` | Content-Length 1000, 500 bytes sent, connection closed |
//! | `/garbage` | bytes that are not HTTP, connection closed |
//!
//! With an engine ([`Routes::of_engine`]), the server has in addition the API of a language model: `/v1/models`, and `/v1/chat/completions` and
//! `/v1/completions`, whose tokens are streamed when the engine makes them. Each word counts as one token; `max_tokens`
//! is the number of tokens of a response.
//!
//! With [`Options::files`] there are no endpoints: each path is a file, and the discipline schedules the uplink.
//!
//! # Limitations
//! All requests in one read arrive at the same instant: the time of the read. A job is served to its end even if its
//! client has disconnected, as by most servers. Idle connections are never closed. Over a Unix socket `/reset` is the
//! same as
//! `/close`.

mod accounting;
mod address;
mod codec;
mod completion;
mod connection;
mod demand;
mod event_loop;
mod files;
mod jobs;
mod open_file;
mod record;
mod request;
mod response;
mod routes;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use offered_base::{Instant, Nanos, Seed};
use offered_distributions::Distribution;
use offered_io::{Clock, Poller, Waker, raise_file_limit};
use offered_simulate::Discipline;

pub use address::Address;
pub use files::{BitRate, Files};
pub use routes::Routes;

use accounting::Accounting;
use address::Listener;
use event_loop::EventLoop;
use record::Recorder;

/// Reason why a server cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {source}; choose another address, or stop the program that listens there")]
    Listen {
        /// The requested address.
        address: Address,
        /// The operating system's error.
        source: io::Error,
    },
    /// The record file cannot be created or written.
    #[error("cannot write the record {path}: {source}; choose a new file on a disk with free space")]
    Record {
        /// Path of the record.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The directory of files cannot be read.
    #[error("cannot serve the files of {path}: {source}; choose a readable directory")]
    Files {
        /// Path of the directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A necessary call of the operating system failed.
    #[error("the server stopped: {0}; check the limits of open files and memory (`ulimit -a`)")]
    System(io::Error),
}

/// Configuration of a server.
pub struct Options {
    /// Address to listen on.
    pub listen: Address,
    /// The modelled server and its queue.
    pub discipline: Box<dyn Discipline + Send>,
    /// Maximum number of jobs in the system, including those in service; further jobs get 503 at once. `None`:
    /// unlimited.
    pub capacity: Option<u32>,
    /// Distribution of the work in seconds, for jobs whose work neither the request nor the path determines.
    pub service: Distribution,
    /// Known paths. A job's class is the index of its request; jobs of unknown paths form the class after the last.
    pub routes: Routes,
    /// Serve files instead of the [endpoints](crate): the work of each request is the file's transfer time on
    /// the uplink.
    pub files: Option<Files>,
    /// Seed of the sampled work: job n (from 0) always has the same work.
    pub seed: Seed,
    /// Time before a completion when the thread stops sleeping and polls instead. A longer time, up to about 100 us, is
    /// more precise and uses more processor time. Zero: never poll. [`Nanos::MAX`]: never sleep, so that arrival times
    /// do not include the wake-up time.
    pub spin: Nanos,
    /// Clock of the times in the record.
    pub clock: Clock,
    /// New CSV file with one row per request, in the order in which responses were sent: `arrival_ns` (last byte read),
    /// `work_ns` (empty: no job), `due_ns` (completion by the discipline), `done_ns` (last byte of the response passed
    /// to the system; empty: never), `path`, `received_ns` (the system's receive timestamp of the last byte; empty if
    /// the system has none).
    pub record: Option<PathBuf>,
    /// Whether to fill [`Summary::arrivals`], at 8 bytes per request.
    pub collect_arrivals: bool,
}

impl Options {
    /// Options with a free port of 127.0.0.1, unlimited capacity, a thread that sleeps, and no record.
    pub fn new(discipline: Box<dyn Discipline + Send>, service: Distribution, seed: Seed) -> Self {
        Self {
            listen: "127.0.0.1:0".parse().expect("an address"),
            discipline,
            capacity: None,
            service,
            routes: Routes::default(),
            files: None,
            seed,
            spin: Nanos::ZERO,
            clock: Clock::start(),
            record: None,
            collect_arrivals: false,
        }
    }
}

/// Statistics of a server, from start to stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Requests received completely.
    pub requests: u64,
    /// Requests that were jobs, including those rejected because the system was full.
    pub jobs: u64,
    /// Responses sent completely, including those to malformed requests.
    pub completed: u64,
    /// Connections closed because of malformed requests.
    pub malformed: u64,
    /// Mean lateness: time from the completion of a job by the discipline until the last byte of its response was
    /// passed to the system.
    pub lateness_mean: Nanos,
    /// Maximum lateness.
    pub lateness_max: Nanos,
    /// Arrival time of each request, in order; empty unless [`Options::collect_arrivals`] is set.
    pub arrivals: Vec<Instant>,
}

/// The reference server; see [`Server::start`].
pub struct Server;

/// A running server on its own thread.
pub struct ServerHandle {
    address: Address,
    record: Option<PathBuf>,
    stopper: Stopper,
    thread: JoinHandle<io::Result<Summary>>,
}

/// Stops a server from any thread.
#[derive(Clone)]
pub struct Stopper {
    stop: Arc<AtomicBool>,
    waker: Waker,
}

impl Stopper {
    /// Stops accepting connections, and ends the server when all received requests are completed, after one second at
    /// the latest.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
    }
}

impl Server {
    /// Starts to listen and serves on a new thread. Raises the process's limit of open files to the hard limit.
    ///
    /// # Errors
    /// The address is in use or not available, the record exists already or cannot be created, or a system call fails.
    pub fn start(options: Options) -> Result<ServerHandle, Error> {
        raise_file_limit();
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
            // The poller must be created on this thread: it makes the thread's sleeps precise.
            let poller = Poller::new()?;
            let waker = poller.waker();
            let accounting = Accounting::new(options.clock, recorder, options.collect_arrivals);
            let event_loop = EventLoop::new(poller, listener, options, accounting, flag)?;
            let _ = told.send(waker);
            event_loop.run()
        };
        let thread = std::thread::Builder::new().name("serve".into()).spawn(serve).map_err(Error::System)?;
        match tell.recv() {
            Ok(waker) => Ok(ServerHandle { address, record, stopper: Stopper { stop, waker }, thread }),
            Err(_) => Err(join(thread, None).err().unwrap_or_else(|| Error::System(io::ErrorKind::Other.into()))),
        }
    }
}

impl ServerHandle {
    /// The address that the server listens on, with the port that the system chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// A handle that stops the server from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Stops the server and returns its statistics.
    ///
    /// # Errors
    /// The record could not be written completely, or a system call failed earlier.
    pub fn stop(self) -> Result<Summary, Error> {
        self.stopper.stop();
        self.wait()
    }

    /// Waits until the server is stopped and returns its statistics.
    ///
    /// # Errors
    /// The errors of [`stop`](Self::stop).
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
