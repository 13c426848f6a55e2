//! The load generator: drives the agenda by the real clock and sends what is due.
//!
//! A thread owns everything it needs: its share of the agenda, its connections, its poller. Sessions are entries of an
//! agenda, not tasks; a launch is written to its socket by the thread that found it due, so nothing lies between the clock and
//! the wire. Threads meet only at the start, and in the counters people watch.
//!
//! # Example
//! Nobody is asked and time does not pass: the launches of ten seconds, each answered after an exponential time of 20 ms.
//! ```
//! use offered_model::{Event, Law, Share, Workload};
//! use offered_run::{Generator, Load};
//!
//! let text = r#"
//!     seed = 1
//!     duration = "10s"
//!     generator.threads = 1
//!     arrivals.open = { rate = "100/s", process = "constant" }
//! "#;
//! let workload = Workload::parse(text, "workload.toml", &|path| Err(format!("{path}: no files here")))?;
//! let generator = Generator::new(workload, Share::ALL, Load::Mock(Law::exponential(0.02)?))?;
//! let (done, sinks) = generator.run(None, Vec::<Event>::new, |_| {})?;
//! assert_eq!((sinks[0].len(), done.stopped), (1000, false));
//! assert!(sinks[0].iter().all(|event| event.sent == Some(event.intended) && event.done > event.sent));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod command;
mod driver;
mod error;
mod generator;
mod halt;
mod live;
mod message;
mod observer;
mod policies;
mod preview;
mod script;
mod transport;
mod walk;

pub use error::Error;
pub use generator::{Generator, Load, RunStats, ThreadStats, threads};
pub use halt::{End, Halted};
pub use live::Counts;
pub use observer::ExchangeObserver;
pub use preview::preview;
pub use script::secrets_in;
pub use transport::{Mock, Transport, read_response};

use offered_model::Event;

/// Where events go while a run is under way; the run never waits for it.
pub trait Sink: Send {
    /// Takes a batch. What cannot be kept is the sink's to report at the end, not the launching thread's to wait for.
    fn record(&mut self, batch: Vec<Event>);

    /// Takes launches that have been under way for half a second, as far as their events have come. What becomes of them comes with a batch, but not
    /// if the process is killed first.
    fn in_flight(&mut self, _launches: Vec<Event>) {}
}

/// In memory.
impl Sink for Vec<Event> {
    fn record(&mut self, mut batch: Vec<Event>) {
        self.append(&mut batch);
    }
}
