//! Cancelling requests that are no longer awaited, over a connection of its own.

use offered_base::Nanos;
use offered_io::Clock;
use postgres_protocol::message::frontend;
use slab::Slab;

use super::Postgres;
use super::connection::{Connection, State};
use crate::transport::Failure;
use crate::transport::event_loop::run_once;
use crate::transport::protocol_client::Completion;
use crate::transport::route::Route;
use crate::transport::socket::Endpoint;
use crate::transport::stream::Stream;

/// How long to wait for cancellations after the end of a run.
const GRACE: Nanos = Nanos::from_secs(1);

impl Postgres {
    /// Asks the server to cancel what a connection carries.
    pub(super) fn cancel_exchange(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let connection = &mut self.connections[key];
        connection.state = State::Cancelling { ready: false, cancelled: false };
        let (of, pool) = ((key, connection.number), connection.pool);
        let endpoint = connection.stream.endpoint(&self.setup.route);
        self.start_connect_timeout(key);
        let new_event = dial(endpoint, &self.setup.plain_route, &self.event_loop.clock).and_then(|stream| {
            let is_open = stream.is_open();
            let cancel = self.add(stream, pool, State::Cancel { of })?;
            if is_open { self.start_login(cancel) } else { Ok(()) }
        });
        if let Err(failure) = new_event {
            self.fail(key, failure, completions);
        }
    }

    /// Makes a connection idle again once its cancellation is complete.
    pub(super) fn cancel_progressed(&mut self, key: usize, completions: &mut Vec<Completion>) {
        if matches!(self.connections[key].state, State::Cancelling { ready: true, cancelled: true }) {
            self.mark_idle(key, completions);
        }
    }
}

/// Starts to connect to the server of a connection, if it is known.
fn dial(endpoint: Option<Endpoint>, route: &Route, clock: &Clock) -> Result<Stream, Failure> {
    match endpoint {
        Some(endpoint) => Stream::dial_at(&endpoint, None, route, clock),
        None => Stream::dial(route, clock),
    }
}

impl Drop for Postgres {
    /// Waits briefly for cancellations, because a database continues with requests that are no longer awaited. Then
    /// closes the idle connections in an orderly way.
    fn drop(&mut self) {
        self.pools.iter_mut().for_each(|pool| pool.size = 0);
        let (end, mut completions) = (self.event_loop.clock.now() + GRACE, Vec::new());
        let gives = |connections: &Slab<Connection>| {
            connections.iter().any(|(_, connection)| matches!(connection.state, State::Cancelling { .. }))
        };
        while gives(&self.connections) && self.event_loop.clock.now() < end {
            run_once(self, end, &mut completions);
        }
        for (_, connection) in &mut self.connections {
            if matches!(connection.state, State::Free) {
                frontend::terminate(&mut connection.unwritten);
                // A server that no longer reads does not get it.
                let _ = connection.write();
            }
        }
    }
}
