//! Giving up: what nobody waits for any more is cancelled, on a connection of its own.

use offered_model::Nanos;
use postgres_protocol::message::frontend;
use slab::Slab;

use super::Postgres;
use super::connection::{Connection, State};
use crate::transport::stream::Stream;
use crate::transport::turns::turn;
use crate::transport::wire::Heard;

/// How long after the end of a run what was given up may take to be cancelled.
const GRACE: Nanos = Nanos::from_secs(1);

impl Postgres {
    /// What a connection carries is given up: the server is asked to cancel it.
    pub(super) fn give_up(&mut self, key: usize, heard: &mut Vec<Heard>) {
        let connection = &mut self.connections[key];
        connection.state = State::Giving { ready: false, cancelled: false };
        let (of, pool, place) = ((key, connection.number), connection.pool, connection.place.clone());
        self.expect(key);
        let begun = Stream::dial_at(&place, None, &self.setup.bare, &self.turns.clock).and_then(|stream| {
            let is_open = stream.is_open();
            let cancel = self.add(stream, place, pool, State::Cancel { of })?;
            if is_open { self.greet(cancel) } else { Ok(()) }
        });
        if let Err(failure) = begun {
            self.fail(key, failure, heard);
        }
    }

    /// Something has come of giving up what a connection carried.
    pub(super) fn given_up(&mut self, key: usize, heard: &mut Vec<Heard>) {
        if matches!(self.connections[key].state, State::Giving { ready: true, cancelled: true }) {
            self.free(key, heard);
        }
    }
}

impl Drop for Postgres {
    /// Waits a moment until what was given up is cancelled, for a database goes on with what nobody waits for; then says goodbye on
    /// every connection that can hear it.
    fn drop(&mut self) {
        self.pools.iter_mut().for_each(|pool| pool.size = 0);
        let (end, mut heard) = (self.turns.clock.now() + GRACE, Vec::new());
        let gives = |connections: &Slab<Connection>| {
            connections.iter().any(|(_, connection)| matches!(connection.state, State::Giving { .. }))
        };
        while gives(&self.connections) && self.turns.clock.now() < end {
            turn(self, end, &mut heard);
        }
        for (_, connection) in &mut self.connections {
            if matches!(connection.state, State::Free) {
                frontend::terminate(&mut connection.unwritten);
                // Who does not listen does not get it.
                let _ = connection.write();
            }
        }
    }
}
