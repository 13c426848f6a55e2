//! The load generator: sends the requests of the agenda at their scheduled times.
//!
//! Each thread owns its share of the agenda, its connections and its poller. Sessions are entries of the agenda,
//! not tasks. The thread that finds a due request also writes it to the socket, without a hand-over. Threads share only
//! the common start and the live counters.
//!
//! # Example
//! A run against a mock server on a virtual clock: ten seconds of requests, with exponential response times of 20 ms on
//! average.
//! ```
//! use offered_base::Share;
//! use offered_distributions::Distribution;
//! use offered_events::Event;
//! use offered_workload::Workload;
//! use offered_run::{Generator, Load};
//!
//! let text = r#"
//!     seed = 1
//!     duration = "10s"
//!     generator.threads = 1
//!     arrivals.open = { rate = "100/s", process = "constant" }
//! "#;
//! let workload = Workload::parse(text, "workload.toml", &|path| Err(format!("{path}: no files here")))?;
//! let generator = Generator::new(workload, Share::ALL, Load::Mock(Distribution::exponential(0.02)?))?;
//! let (stats, sinks) = generator.run(None, Vec::<Event>::new, |_| {})?;
//! assert_eq!((sinks[0].len(), stats.stopped), (1000, false));
//! assert!(sinks[0].iter().all(|event| event.sent == Some(event.intended) && event.done > event.sent));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod command;
mod driver;
mod error;
mod event_stream;
mod generator;
mod halt;
mod in_flight;
mod live;
mod message;
mod observer;
mod policies;
mod preview;
mod script;
mod trace_context;
mod transport;
mod walk;

pub use error::Error;
pub use generator::{Generator, Load, RunStats, ThreadStats, threads};
pub use halt::{End, Halted};
pub use live::Counts;
pub use observer::ExchangeObserver;
pub use preview::preview;
pub use script::secrets_in;
pub use trace_context::TraceContexts;
pub use transport::read_response;

use offered_events::Event;

/// Receives the events of one thread during a run. The run never waits for it.
pub trait Sink: Send {
    /// Takes a batch of events. It must not block; errors are reported at the end.
    fn record(&mut self, batch: Vec<Event>);

    /// Takes requests that have been in flight for half a second, with the fields known so far. Their final events come
    /// with a later batch, unless the process is killed before.
    fn in_flight(&mut self, _requests: Vec<Event>) {}
}

/// Keeps events in memory.
impl Sink for Vec<Event> {
    fn record(&mut self, mut batch: Vec<Event>) {
        self.append(&mut batch);
    }
}
