//! The one thread that reads, serves and answers.
//!
//! Two things happen in it: bytes come, and jobs are done. Whenever it looks at the clock it first takes out all jobs done by
//! then, each at its own instant on paper, and only then lets a request arrive; so a loop that is late answers late, but
//! the discipline's instants are those of a loop that never is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use offered_clock::{Poller, Ready};
use offered_model::{Instant, Law, Nanos, Purpose, Seed};
use offered_simulate::discipline::Infinite;
use rustix::io::Errno;
use slab::Slab;

use crate::address::Listener;
use crate::connection::{Connection, Fate, Request};
use crate::demand::Work;
use crate::files::Files;
use crate::jobs::{Jobs, Owner};
use crate::ledger::Ledger;
use crate::record::Recorder;
use crate::routes::Routes;
use crate::stamps::Stamps;
use crate::{Options, Summary};

/// The listening socket; connection `n` has the token `n + 1`.
const LISTENER: usize = 0;
/// Bytes read in one go.
const BUFFER: usize = 64 * 1024;
/// Reads of one connection while others may be waiting.
const TURN: usize = 4;
/// The longest wait.
const LOOK_UP: Nanos = Nanos::from_millis(50);
/// How long a stopping server waits for the answers under way.
const GRACE: Nanos = Nanos::from_secs(1);

pub(crate) struct EventLoop {
    poller: Poller,
    listener: Option<Listener>,
    connections: Slab<Connection>,
    /// Connections so far.
    serials: u64,
    jobs: Jobs,
    /// `/delay`: a station where nobody waits.
    pauses: Jobs,
    service: Law,
    routes: Routes,
    files: Option<Files>,
    seed: Seed,
    room: Option<u32>,
    spin: Nanos,
    ledger: Ledger,
    /// Connections with something to write.
    ripe: Vec<usize>,
    /// Connections that no event will announce.
    again: Vec<usize>,
    buffer: Box<[u8]>,
    /// There when a record is kept.
    stamps: Option<Stamps>,
    stop: Arc<AtomicBool>,
    /// The system had no room for another connection; the next one that ends makes some.
    is_crowded: bool,
}

impl EventLoop {
    pub(crate) fn new(
        poller: Poller,
        listener: Listener,
        options: Options,
        ledger: Ledger,
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
            seed: options.seed,
            room: options.room,
            spin: options.spin,
            stamps: ledger.recorder.is_some().then(Stamps::new),
            ledger,
            ripe: Vec::new(),
            again: Vec::new(),
            buffer: vec![0; BUFFER].into(),
            stop,
            is_crowded: false,
        })
    }

    /// Serves until told to stop, and then until all that arrived is answered or [`GRACE`] has passed.
    pub(crate) fn run(mut self) -> io::Result<Summary> {
        let mut events = Vec::new();
        let mut end = None;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                let end = *end.get_or_insert_with(|| self.ledger.clock.now() + GRACE);
                self.close_idle();
                if self.connections.is_empty() || self.ledger.clock.now() >= end {
                    break;
                }
            }
            self.wait(end, &mut events)?;
            let now = self.ledger.clock.now();
            self.advance(now);
            self.let_out(now);
            self.answer();
            for place in std::mem::take(&mut self.again) {
                self.receive(place);
            }
            for event in &events {
                self.serve(*event);
            }
            if let Some(recorder) = &mut self.ledger.recorder {
                recorder.tick(now);
            }
        }
        for place in self.places(|_| true) {
            self.close(place);
        }
        self.ledger.finish()
    }

    /// Until a socket is ready, a job is done, or one of the less exact things is due.
    fn wait(&mut self, end: Option<Instant>, events: &mut Vec<Ready>) -> io::Result<()> {
        if !self.again.is_empty() {
            return self.poller.wait(Some(Nanos::ZERO), events);
        }
        let record = self.ledger.recorder.as_ref().and_then(Recorder::next);
        // Bounded, so that a server that never sleeps (spin for ever) looks up to see whether it is to stop.
        let now = self.ledger.clock.now();
        let soon = now + LOOK_UP;
        let way = self.files.as_ref().filter(|_| self.jobs.len() > 0).map(|files| now + files.often());
        let deadline = ([self.jobs.next(), self.pauses.next(), record, end, way].into_iter().flatten().min())
            .unwrap_or(soon)
            .min(soon);
        self.poller.wait_until(&self.ledger.clock, deadline, self.spin, events)
    }

    fn serve(&mut self, event: Ready) {
        let Some(place) = event.token.checked_sub(LISTENER + 1) else { return self.accept() };
        let Some(connection) = self.connections.get_mut(place) else { return };
        connection.is_ending |= event.closed;
        if event.readable {
            self.receive(place);
        } else {
            self.ripe.push(place);
            self.answer();
        }
    }

    fn accept(&mut self) {
        while let Some(listener) = &self.listener {
            match listener.accept() {
                Ok(socket) => {
                    if self.stamps.is_some() {
                        Stamps::ask(&socket);
                    }
                    if let Some(files) = &self.files {
                        // Where it cannot be had, the system's own is longer.
                        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&socket, files.held());
                    }
                    self.serials += 1;
                    let place = self.connections.insert(Connection::new(socket, self.serials));
                    let connection = self.connections.get_mut(place).expect("just inserted");
                    if self.poller.add(&connection.socket, LISTENER + 1 + place).is_err() {
                        self.connections.remove(place);
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                    _ => {
                        self.is_crowded = true;
                        return;
                    }
                },
            }
        }
    }

    /// Reads what has come on a connection, lets its requests arrive, and answers what can be answered.
    fn receive(&mut self, place: usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut turn = TURN;
        while let Some(connection) = self.connections.get_mut(place)
            && connection.may_read()
        {
            if turn == 0 {
                self.again.push(place);
                break;
            }
            turn -= 1;
            let read = match &mut self.stamps {
                Some(stamps) => stamps.read(&connection.socket, &mut buffer),
                None => rustix::io::read(&connection.socket, &mut *buffer).map(|count| (count, None)),
            };
            match read {
                Ok((0, _)) => {
                    connection.end();
                    break;
                }
                Ok((count, stamp)) => {
                    // A short read has emptied the socket; asking again would only cost a call, unless its end lies behind.
                    let is_empty = count < buffer.len() && !connection.is_ending;
                    self.arrive(place, &buffer[..count], stamp);
                    if is_empty {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => {
                    self.close(place);
                    break;
                }
            }
        }
        self.buffer = buffer;
        self.ripe.push(place);
        self.answer();
    }

    /// Lets the requests whose last bytes are in `input` arrive, all at this instant; the system received them at `stamp`, since
    /// the epoch.
    fn arrive(&mut self, place: usize, mut input: &[u8], stamp: Option<Nanos>) {
        let now = self.ledger.clock.now();
        let received = stamp.map(|at| Instant::ZERO + at.saturating_sub(self.ledger.clock.unix_origin()));
        let is_recorded = self.ledger.recorder.is_some();
        while let Some(connection) = self.connections.get_mut(place)
            && connection.is_heard()
        {
            match connection.take(&mut input, (&self.routes, self.files.as_ref()), is_recorded) {
                Ok(Some(number)) => {
                    let owner = Owner { place, serial: connection.serial, request: number };
                    self.advance(now);
                    self.begin(owner, now, received);
                }
                Ok(None) => break,
                Err(bad) => {
                    self.ledger.summary.malformed += 1;
                    connection.refuse(bad, now);
                }
            }
        }
        self.advance(now);
    }

    /// A request has arrived: its job, its pause or its answer begins.
    fn begin(&mut self, owner: Owner, now: Instant, received: Option<Instant>) {
        self.ledger.arrived(now);
        let Some(request) = owned(&mut self.connections, owner) else { return };
        request.arrive(now, received);
        let Some(work) = request.asked else { return self.served(owner, now) };
        let number = self.ledger.summary.jobs;
        self.ledger.summary.jobs += 1;
        if self.room.is_some_and(|room| self.jobs.len() >= room as usize) {
            request.turn_away(now);
            return self.ripe.push(owner.place);
        }
        let size = match work {
            Work::Given(size) => size,
            Work::Drawn => {
                let law = self.routes.law(request.class).unwrap_or(&self.service);
                Nanos::from_secs_f64(law.sample(&mut self.seed.at(Purpose::Size, number, 0)))
            }
        };
        request.work = Some(size);
        self.jobs.arrive(now, request.class, size, owner);
    }

    /// A request without a job, or whose job is done at `now` on paper: its pause begins, or it may be answered.
    fn served(&mut self, owner: Owner, now: Instant) {
        // Whoever has gone away in the meantime was served all the same, as by any server.
        let Some(request) = owned(&mut self.connections, owner) else { return };
        if let Some(length) = request.pause.take() {
            self.pauses.arrive(now, 0, length, owner);
        } else {
            request.ready(now);
            self.ripe.push(owner.place);
        }
    }

    /// Takes out what is done by `now`, in the order of the paper instants; a pause that ends when a job does goes first,
    /// since that job may begin another.
    fn advance(&mut self, now: Instant) {
        loop {
            let (job, pause) = (self.jobs.next(), self.pauses.next());
            let Some(due) = job.into_iter().chain(pause).min().filter(|due| *due <= now) else { return };
            let (is_pause, station) =
                if pause == Some(due) { (true, &mut self.pauses) } else { (false, &mut self.jobs) };
            // Asked at its own instant and not at ours, or a late look would blur it.
            let Some(owner) = station.complete(due) else { continue };
            if !is_pause {
                self.served(owner, due);
            } else if let Some(request) = owned(&mut self.connections, owner) {
                request.ready(due);
                self.ripe.push(owner.place);
            }
        }
    }

    /// Lets files go out as far as the discipline has served their jobs by `now`.
    fn let_out(&mut self, now: Instant) {
        let Some(files) = &self.files else { return };
        let (connections, ripe) = (&mut self.connections, &mut self.ripe);
        self.jobs.left(now, |owner, left| {
            let Some(request) = owned(connections, owner) else { return };
            let served = request.work.unwrap_or(Nanos::ZERO).saturating_sub(left);
            if request.allow(files.rate.bytes(served)) {
                ripe.push(owner.place);
            }
        });
    }

    /// Writes what is ready.
    fn answer(&mut self) {
        while let Some(place) = self.ripe.pop() {
            let Some(connection) = self.connections.get_mut(place) else { continue };
            match connection.write(&mut self.ledger) {
                Fate::Stays => {}
                Fate::Again => self.again.push(place),
                Fate::Gone => self.close(place),
            }
        }
    }

    fn close(&mut self, place: usize) {
        let Some(connection) = self.connections.try_remove(place) else { return };
        // It was watched; a failure here has no consequence, since closing ends the watch as well.
        let _ = self.poller.remove(&connection.socket);
        connection.unanswered().for_each(|request| self.ledger.unanswered(request));
        if std::mem::take(&mut self.is_crowded) {
            self.accept();
        }
    }

    /// Accepts nobody any more, and ends the connections on which nothing is under way.
    fn close_idle(&mut self) {
        self.listener = None;
        for place in self.places(Connection::is_idle) {
            self.close(place);
        }
    }

    /// Where the connections are of which this holds.
    fn places(&self, holds: impl Fn(&Connection) -> bool) -> Vec<usize> {
        self.connections.iter().filter(|(_, connection)| holds(connection)).map(|(place, _)| place).collect()
    }
}

/// The request that waits for a job, if its connection still does.
fn owned(connections: &mut Slab<Connection>, owner: Owner) -> Option<&mut Request> {
    connections.get_mut(owner.place).filter(|connection| connection.serial == owner.serial)?.request(owner.request)
}
