//! The load generator: drives the agenda by the real clock and sends what is due.
//!
//! A thread owns everything it needs: its share of the agenda, its connections, its poller. Sessions are entries of an
//! agenda, not tasks; a launch is written to its socket by the thread that found it due, so nothing lies between the clock and
//! the wire. Threads meet only at the start, and in the counters people watch.

mod driver;
mod error;
mod generator;
mod halt;
mod live;
mod script;
mod transport;

pub use error::Error;
pub use generator::{Done, Generator, Load, Worker};
pub use halt::{End, Halted};
pub use live::Counts;
pub use transport::{Mock, Transport};

use offered_model::Event;

/// Where events go while a run is under way; the run never waits for it.
pub trait Sink: Send {
    /// Takes a batch. What cannot be kept is the sink's to report at the end, not the launching thread's to wait for.
    fn keep(&mut self, batch: Vec<Event>);
}

/// In memory.
impl Sink for Vec<Event> {
    fn keep(&mut self, mut batch: Vec<Event>) {
        self.append(&mut batch);
    }
}
