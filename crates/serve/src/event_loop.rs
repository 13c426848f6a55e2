//! The single thread that reads requests, serves jobs and writes responses.
//!
//! Whenever it reads the clock, it first completes all jobs that are done by then, each at its own time according to
//! the discipline, and only then lets a request arrive. A late loop therefore responds late, but the times of the
//! discipline are exact.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use offered_base::{Instant, Nanos, Purpose, Seed};
use offered_distributions::Distribution;
use offered_io::{Poller, Ready, ReceiveTimestamps};
use offered_simulate::discipline::{Infinite, JobTokens};
use offered_workload::engine::TokenCounts;
use rustix::io::Errno;
use slab::Slab;

use crate::accounting::Accounting;
use crate::address::Listener;
use crate::completion::PrefixCache;
use crate::connection::{Connection, WriteOutcome};
use crate::demand::Work;
use crate::files::Files;
use crate::jobs::{Jobs, Owner};
use crate::record::Recorder;
use crate::request::Request;
use crate::routes::Routes;
use crate::{Options, Summary};

/// Token of the listening socket; connection `n` has the token `n + 1`.
const LISTENER: usize = 0;
/// Bytes per read.
const BUFFER: usize = 64 * 1024;
/// Reads of one connection before others get a turn.
const MAX_READS_PER_TURN: usize = 4;
/// Maximum wait for events.
const MAX_WAIT: Nanos = Nanos::from_millis(50);
/// Time that a stopping server waits for requests in progress.
const STOP_TIMEOUT: Nanos = Nanos::from_secs(1);

pub(crate) struct EventLoop {
    poller: Poller,
    listener: Option<Listener>,
    connections: Slab<Connection>,
    /// Number of connections so far.
    serials: u64,
    jobs: Jobs,
    /// `/delay`: a station without queueing.
    pauses: Jobs,
    service: Distribution,
    routes: Routes,
    files: Option<Files>,
    prefix_cache: PrefixCache,
    seed: Seed,
    capacity: Option<u32>,
    spin: Nanos,
    accounting: Accounting,
    /// Connections with something to write.
    writable: Vec<usize>,
    /// Connections that need a turn without an event.
    again: Vec<usize>,
    buffer: Box<[u8]>,
    /// Present when there is a record.
    timestamps: Option<ReceiveTimestamps>,
    stop: Arc<AtomicBool>,
    /// The system refused another connection; accepting is retried when one ends.
    is_at_limit: bool,
}

impl EventLoop {
    pub(crate) fn new(
        poller: Poller,
        listener: Listener,
        options: Options,
        accounting: Accounting,
        stop: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        poller.add(&listener, LISTENER)?;
        Ok(Self {
            poller,
            listener: Some(listener),
            connections: Slab::new(),
            serials: 0,
            jobs: Jobs::new(options.discipline),
            pauses: Jobs::new(Box::new(Infinite::default())),
            service: options.service,
            routes: options.routes,
            files: options.files,
            prefix_cache: PrefixCache::default(),
            seed: options.seed,
            capacity: options.capacity,
            spin: options.spin,
            timestamps: accounting.recorder.is_some().then(ReceiveTimestamps::default),
            accounting,
            writable: Vec::new(),
            again: Vec::new(),
            buffer: vec![0; BUFFER].into(),
            stop,
            is_at_limit: false,
        })
    }

    /// Serves until stopped, and then until all received requests are completed or [`STOP_TIMEOUT`] has passed.
    pub(crate) fn run(mut self) -> io::Result<Summary> {
        let mut events = Vec::new();
        let mut end = None;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                let end = *end.get_or_insert_with(|| self.accounting.clock.now() + STOP_TIMEOUT);
                self.close_idle();
                if self.connections.is_empty() || self.accounting.clock.now() >= end {
                    break;
                }
            }
            self.wait(end, &mut events)?;
            let now = self.accounting.clock.now();
            self.advance(now);
            self.release_files(now);
            self.write_responses();
            for slot in std::mem::take(&mut self.again) {
                self.receive(slot);
            }
            for event in &events {
                self.serve(*event);
            }
            if let Some(recorder) = &mut self.accounting.recorder {
                recorder.tick(now);
            }
        }
        for slot in self.slots(|_| true) {
            self.close(slot);
        }
        self.accounting.finish()
    }

    /// Waits until a socket is ready, a job is done, or a less precise deadline passes.
    fn wait(&mut self, end: Option<Instant>, events: &mut Vec<Ready>) -> io::Result<()> {
        if !self.again.is_empty() {
            return self.poller.wait(Some(Nanos::ZERO), events);
        }
        let record = self.accounting.recorder.as_ref().and_then(Recorder::next);
        // Bounded, so that a server that never sleeps (endless spin) notices that it must stop.
        let now = self.accounting.clock.now();
        let soon = now + MAX_WAIT;
        let way = self.files.as_ref().filter(|_| self.jobs.len() > 0).map(|files| now + files.progress_interval());
        let deadline = ([self.jobs.next(), self.pauses.next(), record, end, way].into_iter().flatten().min())
            .unwrap_or(soon)
            .min(soon);
        self.poller.wait_until(&self.accounting.clock, now, deadline, self.spin, events).map(|_| ())
    }

    fn serve(&mut self, event: Ready) {
        let Some(slot) = event.token.checked_sub(LISTENER + 1) else { return self.accept() };
        let Some(connection) = self.connections.get_mut(slot) else { return };
        connection.is_ending |= event.closed;
        if event.readable {
            self.receive(slot);
        } else {
            self.writable.push(slot);
            self.write_responses();
        }
    }

    fn accept(&mut self) {
        while let Some(listener) = &self.listener {
            match listener.accept() {
                Ok(socket) => {
                    if self.timestamps.is_some() {
                        ReceiveTimestamps::enable(&socket);
                    }
                    if let Some(files) = &self.files {
                        // On failure the system's default applies, which is larger.
                        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&socket, files.send_buffer());
                    }
                    self.serials += 1;
                    let slot = self.connections.insert(Connection::new(socket, self.serials));
                    let connection = self.connections.get_mut(slot).expect("just inserted");
                    if self.poller.add(&connection.socket, LISTENER + 1 + slot).is_err() {
                        self.connections.remove(slot);
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                    _ => {
                        self.is_at_limit = true;
                        return;
                    }
                },
            }
        }
    }

    /// Reads a connection, lets its requests arrive, and writes the responses that are ready.
    fn receive(&mut self, slot: usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut turn = MAX_READS_PER_TURN;
        while let Some(connection) = self.connections.get_mut(slot)
            && connection.may_read()
        {
            if turn == 0 {
                self.again.push(slot);
                break;
            }
            turn -= 1;
            let read = match &mut self.timestamps {
                Some(timestamps) => timestamps.read(&connection.socket, &mut buffer),
                None => rustix::io::read(&connection.socket, &mut *buffer).map(|count| (count, None)),
            };
            match read {
                Ok((0, _)) => {
                    connection.end();
                    break;
                }
                Ok((count, timestamp)) => {
                    // A short read has emptied the socket; another read would only cost a call, unless the end of the
                    // stream follows.
                    let is_empty = count < buffer.len() && !connection.is_ending;
                    self.arrive(slot, &buffer[..count], timestamp);
                    if is_empty {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => {
                    self.close(slot);
                    break;
                }
            }
        }
        self.buffer = buffer;
        self.writable.push(slot);
        self.write_responses();
    }

    /// Lets the requests with their last bytes in `input` arrive, all at this instant. The system received them at
    /// `timestamp`, since the epoch.
    fn arrive(&mut self, slot: usize, mut input: &[u8], timestamp: Option<Nanos>) {
        let now = self.accounting.clock.now();
        let received = timestamp.map(|at| Instant::ZERO + at.saturating_sub(self.accounting.clock.unix_origin()));
        let is_recorded = self.accounting.recorder.is_some();
        while let Some(connection) = self.connections.get_mut(slot)
            && connection.accepts_requests()
        {
            match connection.next_request(&mut input, (&self.routes, self.files.as_ref()), is_recorded) {
                Ok(Some(number)) => {
                    let owner = Owner { slot, serial: connection.serial, request: number };
                    self.advance(now);
                    self.start_request(owner, now, received);
                }
                Ok(None) => break,
                Err(bad) => {
                    self.accounting.summary.malformed += 1;
                    connection.refuse_malformed(bad, now);
                }
            }
        }
        self.advance(now);
    }

    /// Starts the job, the pause or the response of a request that has arrived.
    fn start_request(&mut self, owner: Owner, now: Instant, received: Option<Instant>) {
        self.accounting.arrived(now);
        let Some(request) = owned(&mut self.connections, owner) else { return };
        request.arrive(now, received);
        let Some(work) = request.demand else { return self.finish_job(owner, now) };
        let number = self.accounting.summary.jobs;
        self.accounting.summary.jobs += 1;
        if self.capacity.is_some_and(|capacity| self.jobs.len() >= capacity as usize) {
            request.reject(now);
            return self.writable.push(owner.slot);
        }
        let mut counts = TokenCounts::default();
        let size = match work {
            Work::Fixed(size) => size,
            Work::Tokens => {
                let engine = self.routes.engine.expect("only an engine has requests with tokens");
                let Some(read) = request.tokens(number, engine, &self.prefix_cache) else {
                    return self.finish_job(owner, now);
                };
                counts = read;
                engine.alone(counts)
            }
            Work::Sampled => {
                let distribution = self.routes.distribution(request.class).unwrap_or(&self.service);
                Nanos::from_secs_f64(distribution.sample(&mut self.seed.at(Purpose::Size, number, 0)))
            }
        };
        request.work = Some(size);
        self.jobs.arrive(now, request.class, size, JobTokens { counts, ..JobTokens::default() }, owner);
    }

    /// Starts the pause of a request, or makes its response ready, at `now`: its job completed, or it has no job.
    fn finish_job(&mut self, owner: Owner, now: Instant) {
        // A request of a closed connection was served too, as by most servers.
        let Some(request) = owned(&mut self.connections, owner) else { return };
        if let Some(length) = request.pause.take() {
            self.pauses.arrive(now, 0, length, JobTokens::default(), owner);
        } else {
            self.prefix_cache.add(&std::mem::take(&mut request.words));
            request.ready(now);
            self.writable.push(owner.slot);
        }
    }

    /// Completes all jobs and pauses that end by `now`, in order of time. If a pause and a job end at the same instant,
    /// the pause comes first, because the job may start another pause.
    fn advance(&mut self, now: Instant) {
        loop {
            let (job, pause) = (self.jobs.next(), self.pauses.next());
            let Some(due) = job.into_iter().chain(pause).min().filter(|due| *due <= now) else { return };
            let (is_pause, station) =
                if pause == Some(due) { (true, &mut self.pauses) } else { (false, &mut self.jobs) };
            // Complete it at its own instant, so that a late loop does not shift it.
            let owner = station.complete(due);
            if !is_pause && self.routes.engine.is_some() {
                self.release_tokens();
            }
            let Some(owner) = owner else { continue };
            if !is_pause {
                self.finish_job(owner, due);
            } else if let Some(request) = owned(&mut self.connections, owner) {
                request.ready(due);
                self.writable.push(owner.slot);
            }
        }
    }

    /// Permits sending the tokens that the engine has made.
    fn release_tokens(&mut self) {
        let (connections, writable) = (&mut self.connections, &mut self.writable);
        self.jobs.tokens(|owner, tokens| {
            if owned(connections, owner).is_some_and(|request| request.allow_tokens(tokens)) {
                writable.push(owner.slot);
            }
        });
    }

    /// Permits sending the parts of files whose jobs the discipline has served by `now`.
    fn release_files(&mut self, now: Instant) {
        let Some(files) = &self.files else { return };
        let (connections, writable) = (&mut self.connections, &mut self.writable);
        self.jobs.remaining(now, |owner, left| {
            let Some(request) = owned(connections, owner) else { return };
            let served = request.work.unwrap_or(Nanos::ZERO).saturating_sub(left);
            if request.allow(files.rate.bytes(served)) {
                writable.push(owner.slot);
            }
        });
    }

    /// Writes responses that are ready.
    fn write_responses(&mut self) {
        while let Some(slot) = self.writable.pop() {
            let Some(connection) = self.connections.get_mut(slot) else { continue };
            match connection.write(&mut self.accounting) {
                WriteOutcome::Wait => {}
                WriteOutcome::Again => self.again.push(slot),
                WriteOutcome::Close => self.close(slot),
            }
        }
    }

    fn close(&mut self, slot: usize) {
        let Some(connection) = self.connections.try_remove(slot) else { return };
        self.poller.remove_closing(&connection.socket);
        connection.incomplete().for_each(|request| self.accounting.incomplete(request));
        if std::mem::take(&mut self.is_at_limit) {
            self.accept();
        }
    }

    /// Stops accepting connections, and closes those without requests in progress.
    fn close_idle(&mut self) {
        self.listener = None;
        for slot in self.slots(Connection::is_idle) {
            self.close(slot);
        }
    }

    /// Slots of the connections for which `holds` is true.
    fn slots(&self, holds: impl Fn(&Connection) -> bool) -> Vec<usize> {
        self.connections.iter().filter(|(_, connection)| holds(connection)).map(|(slot, _)| slot).collect()
    }
}

/// The request that waits for a job, if its connection still exists.
fn owned(connections: &mut Slab<Connection>, owner: Owner) -> Option<&mut Request> {
    connections.get_mut(owner.slot).filter(|connection| connection.serial == owner.serial)?.request(owner.request)
}
