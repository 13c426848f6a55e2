//! What happened in a run: events, recordings, exchanges, and the documents and tables that results are written as.

pub mod csv;
pub mod document;
pub mod event;
mod exchange;
pub mod note;
pub mod reason;
pub mod recording;
mod run_id;
mod source;
mod sqlstate;
mod token_stream;
mod worker_clock;

pub use event::{Event, EventKey, MetricValue, Outcome, VisitPosition};
pub use exchange::{Exchange, FailedCheck, Message};
pub use note::Note;
pub use reason::Reason;
pub use recording::Recording;
pub use run_id::RunId;
pub use source::{Columns, EventSource, Events, Extent};
pub use sqlstate::SqlState;
pub use token_stream::{Finish, TokenStream};
pub use worker_clock::{ClockCorrection, ClockOffset, WorkerClock};
