//! Several protocol clients on one thread: one for each target of a workload, and one more for its WebSocket messages.
//!
//! Each client keeps its own sockets in a poller of its own. The thread waits for these pollers and for the next scheduled request at once.

use std::sync::Arc;

use offered_base::{Instant, Nanos};
use offered_events::Event;
use offered_io::{Clock, Poller, Ready};

use super::protocol_client::{Completion, ProtocolClient, RequestText};
use super::unscripted::{Requests, Unscripted};
use super::{AnyProtocol, Client, ProtocolSetup, ThreadResources, with_protocol_setup};
use crate::Error;
use crate::message::OutgoingRequest;

/// The protocols of the clients, in the order of [`OutgoingRequest::client`], each with its maximum number of connections.
#[derive(Clone)]
pub(crate) struct Setup(pub(super) Arc<[(AnyProtocol, Option<u32>)]>);

impl ProtocolSetup for Setup {
    type Client = Several;
    type Unscripted = Unscripted<Several>;

    fn preflight(&self) -> Result<(), Error> {
        self.0.iter().try_for_each(|(protocol, _)| with_protocol_setup!(protocol, setup => setup.preflight()))
    }

    fn connect(self, thread: ThreadResources<'_>) -> Result<Several, Error> {
        let ThreadResources { poller, worker, is_single, part_of_pool, spin, limits, stop, .. } = thread;
        let mut clients: Vec<Box<dyn ProtocolClient>> = Vec::new();
        for (protocol, connections) in self.0.iter() {
            let own = Poller::new()?;
            poller.add_poller(&own, clients.len())?;
            let connections = connections.filter(|_| !is_single).map(part_of_pool);
            let resources = ThreadResources {
                poller: own,
                worker,
                connections,
                is_single,
                part_of_pool,
                spin: Nanos::ZERO,
                limits: limits.clone(),
                stop,
            };
            clients.push(protocol.clone().connect(resources)?);
        }
        Ok(Several { clients, poller, clock: Clock::start(), spin, idle: Nanos::ZERO, ready: Vec::new() })
    }

    fn unscripted(client: Several, requests: Requests, worker: u16) -> Unscripted<Several> {
        Unscripted::new(client, requests, worker)
    }
}

/// The clients of one thread.
pub(crate) struct Several {
    clients: Vec<Box<dyn ProtocolClient>>,
    /// Reports the pollers of the clients.
    poller: Poller,
    clock: Clock,
    /// The last part of each wait that is spent without sleeping.
    spin: Nanos,
    idle: Nanos,
    ready: Vec<Ready>,
}

impl Several {
    /// Changes the numbers of the connections of client `index`, so that they differ from those of the other clients.
    fn renumber(&self, index: usize, completions: &mut [Completion]) {
        for completion in completions {
            if let Completion::Done(event, _) = completion {
                event.connection = event.connection * self.clients.len() as u32 + index as u32;
            }
        }
    }

    /// Calls each client; `call` adds completions.
    fn each(
        &mut self,
        completions: &mut Vec<Completion>,
        mut call: impl FnMut(&mut dyn ProtocolClient, &mut Vec<Completion>),
    ) {
        for index in 0..self.clients.len() {
            let before = completions.len();
            call(&mut *self.clients[index], completions);
            self.renumber(index, &mut completions[before..]);
        }
    }
}

impl Client<Vec<Completion>> for Several {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn wait(&mut self, deadline: Instant, completions: &mut Vec<Completion>) {
        let before = self.clock.now();
        let turn = self.clients.iter_mut().map(|client| client.next_turn()).min().unwrap_or(Instant::MAX);
        let until = deadline.min(turn);
        let waited = self.poller.wait_until(&self.clock, before, until, self.spin, &mut self.ready);
        // Waiting on one's own poller fails only because of a bug.
        let now = waited.unwrap_or_else(|error| panic!("waiting for sockets: {error}"));
        self.idle += before.until(now);
        self.each(completions, |client, completions| client.wait(Instant::ZERO, completions));
    }

    fn close_session(&mut self, session: u64) {
        self.clients.iter_mut().for_each(|client| client.close_session(session));
    }

    fn cancel_all(&mut self, completions: &mut Vec<Completion>) {
        self.each(completions, |client, completions| client.cancel_all(completions));
    }

    fn finish(&mut self) {
        self.clients.iter_mut().for_each(|client| client.finish());
    }

    fn idle(&self) -> Nanos {
        self.idle
    }
}

impl ProtocolClient for Several {
    fn start_at(&mut self, clock: Clock) {
        self.clock = clock;
        self.idle = Nanos::ZERO;
        self.clients.iter_mut().for_each(|client| client.start_at(clock));
    }

    fn begin(&mut self, outgoing: &Arc<OutgoingRequest>, event: Event, completions: &mut Vec<Completion>) -> Instant {
        let (before, index) = (completions.len(), usize::from(outgoing.client));
        let sent = self.clients[index].begin(outgoing, event, completions);
        self.renumber(index, &mut completions[before..]);
        sent
    }

    fn next_turn(&mut self) -> Instant {
        self.clients.iter_mut().map(|client| client.next_turn()).min().unwrap_or(Instant::MAX)
    }

    fn request_text(&self, outgoing: &OutgoingRequest, event: &Event) -> RequestText {
        self.clients[usize::from(outgoing.client)].request_text(outgoing, event)
    }
}
