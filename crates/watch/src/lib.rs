//! Watch: a run while it goes on.
//!
//! A [`Tally`] takes the events of a run as they come, batch by batch and in any order, on whatever thread collects them; the
//! launching threads know nothing of it. Now and then it makes a [`Pulse`]: every figure a person watches, of the last ten
//! seconds and of all that counts so far, with the verdict as it stands. A [`Page`] shows pulses in a browser, and [`Metrics`] hand
//! them to a Prometheus.
//!
//! # Accuracy
//! Counts, rates and CoV are exact. Percentiles are those of a histogram to three digits (a value is at most 0.1 % too large).
//!
//! # Limitations
//! An event comes when its request has ended, and up to half a second after that: what is still under way shows only in
//! [`Pulse::in_flight`] and in the rates.

mod gaps;
mod gauges;
mod http;
mod metrics;
mod page;
mod pulse;
mod tally;
mod times;
mod totals;

pub use metrics::{Metrics, Scraped};
pub use page::{Feed, Page};
pub use pulse::{At, Bar, Figures, Growth, Lateness, Phase, Pulse, Request, Response, Worker};
pub use tally::Tally;
pub use totals::Totals;
