//! Everything that is computed from requests in any order.

use std::io;

use offered_base::{Difference, Instant, Nanos};
use offered_events::{Event, Outcome};
use offered_stats::values::Values;

use crate::criteria::Criteria;
use crate::ends::Ends;
use crate::event_keys::KeyBuffer;
use crate::metrics::MetricCounter;
use crate::queue::SessionTracker;
use crate::reading::ReadingCollector;
use crate::requests::RequestCounter;
use crate::scope::Scope;
use crate::stability::FlowCounts;
use crate::tables::{Definitions, TableCollector};
use crate::token_metrics::TokenCollector;
use crate::verdict::Stability;
use crate::wire::OnTheWire;

/// Counts and sums over the requests of a scope.
pub(crate) struct Counts<'a> {
    pub(crate) columns: TableCollector,
    pub(crate) requests: RequestCounter,
    pub(crate) sessions: SessionTracker,
    pub(crate) responses: ResponseSums,
    /// Service times (done - sent) of successful requests, in nanoseconds.
    pub(crate) service: Values<i64>,
    /// Lateness (sent - scheduled) of sent requests, in nanoseconds.
    pub(crate) lateness: Values<i64>,
    /// How late responses were read.
    pub(crate) reading: ReadingCollector,
    /// The streams.
    pub(crate) tokens: TokenCollector,
    /// The numbers in responses.
    pub(crate) metrics: MetricCounter<'a>,
    /// Number of scheduled requests that were not sent.
    pub(crate) unsent: u64,
    /// Sent times of the requests that are compared with the specification.
    pub(crate) sent: Ends,
    /// Scheduled times of those requests.
    pub(crate) scheduled: Ends,
    /// For a changing rate: number of requests scheduled in the interval over which the target rate is the mean.
    pub(crate) scheduled_in_rate_interval: u64,
    /// Number of those that were sent.
    pub(crate) sent_in_rate_interval: u64,
    /// Number of requests that were early by more than the timestamp resolution, and the largest amount.
    pub(crate) early: (u64, Nanos),
    /// Number of requests sent during the run.
    pub(crate) sent_in_run: u64,
    /// Requests on the wire over the whole run; `None` for the file of another tool.
    pub(crate) on_the_wire: Option<OnTheWire>,
    /// The event keys, for sorting.
    pub(crate) keys: KeyBuffer<'a>,
    flows: Option<FlowCounts>,
    /// Whether any request completed.
    any_completed: bool,
}

/// Sums of the response times of all completed requests, successful or not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ResponseSums {
    pub(crate) n: u64,
    pub(crate) sum_ns: i128,
    /// The sum, in seconds.
    pub(crate) sum_s: f64,
    /// The sum of their squares, in square seconds.
    pub(crate) sum_of_squares: f64,
}

impl ResponseSums {
    pub(crate) fn add(&mut self, response: Difference) {
        let seconds = response.as_secs_f64();
        self.n += 1;
        self.sum_ns += i128::from(response.0);
        (self.sum_s, self.sum_of_squares) = (self.sum_s + seconds, self.sum_of_squares + seconds * seconds);
    }

    /// The mean; `None` if no request completed.
    pub(crate) fn mean_ms(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum_ns as f64 / self.n as f64 / 1e6)
    }
}

impl<'a> Counts<'a> {
    /// Counts the requests of `scope`.
    pub(crate) fn of(scope: Scope<'a>, criteria: &'a Criteria) -> io::Result<Self> {
        let labels = scope.recording.labels.len();
        // In a partly-open system session arrivals are compared with the specification; later requests depend on
        // responses.
        let first_only = criteria.expected.applies_to_sessions();
        let mut counts = Self {
            columns: TableCollector::new(scope, Definitions::Ours),
            requests: RequestCounter::new(labels),
            sessions: SessionTracker::new(scope.recording.sessions_known),
            responses: ResponseSums::default(),
            service: Values::default(),
            lateness: Values::default(),
            reading: ReadingCollector::default(),
            tokens: TokenCollector::new(criteria.goodput),
            metrics: MetricCounter::new(&criteria.metrics),
            unsent: 0,
            sent: Ends::default(),
            scheduled: Ends::default(),
            scheduled_in_rate_interval: 0,
            sent_in_rate_interval: 0,
            early: (0, Nanos::ZERO),
            sent_in_run: 0,
            on_the_wire: OnTheWire::of(scope.recording)?,
            keys: KeyBuffer::new(scope),
            flows: scope.stability_interval().map(|(from, to)| FlowCounts::new(from, to)),
            any_completed: false,
        };
        scope.each(|event| counts.add(scope, criteria, first_only, event))?;
        Ok(counts)
    }

    fn add(&mut self, scope: Scope, criteria: &Criteria, first_only: bool, event: &Event) {
        let (key, counts) = (event.key(), !first_only || event.step == 0);
        let (sent, is_meant) = (scope.sent_time(key), scope.is_scheduled_in_window(key));
        if sent.is_some() || is_meant {
            self.keys.add(key);
        }
        self.sent_in_run += u64::from(scope.was_sent_in_run(event));
        self.any_completed |= event.done.is_some();
        if let Some(flows) = &mut self.flows {
            flows.add(event);
        }
        if let Some((from, to)) = criteria.rate_interval
            && (from..to).contains(&event.intended)
        {
            self.scheduled_in_rate_interval += u64::from(counts);
            self.sent_in_rate_interval += u64::from(counts && event.sent.is_some());
        }
        let has_ended = event.done.is_some_and(|done| scope.range().contains(&done));
        self.tokens.add(event, is_meant, has_ended);
        // What a circuit breaker holds back is no arrival, but a request that failed.
        let is_held_back = event.outcome == Outcome::BreakerOpen && scope.range().contains(&event.intended);
        if is_meant || is_held_back {
            self.requests.add(event);
        }
        if is_meant {
            self.metrics.add(event, &scope.recording.labels);
            self.unsent += u64::from(event.sent.is_none());
            if counts {
                self.scheduled.add(event.intended.0);
            }
        }
        let Some(sent) = sent else { return };
        self.columns.add(sent, event);
        self.sessions.add(sent, event);
        event.response().into_iter().for_each(|response| self.responses.add(response));
        self.reading.add(event);
        if counts {
            self.sent.add(sent);
        }
        if scope.recording.intent_known {
            event.lateness().into_iter().for_each(|late| self.lateness.add(late.0));
            let early = Instant(sent).until(event.intended);
            if early > scope.recording.resolution {
                self.early = (self.early.0 + 1, self.early.1.max(early));
            }
            if event.outcome == Outcome::Ok {
                event.service().into_iter().for_each(|service| self.service.add(service.0));
            }
        }
    }

    /// Takes the tables and the request counts; empty ones remain.
    pub(crate) fn take_tables(&mut self, scope: Scope) -> (TableCollector, RequestCounter) {
        let columns = std::mem::replace(&mut self.columns, TableCollector::new(scope, Definitions::Ours));
        (columns, std::mem::take(&mut self.requests))
    }

    /// Whether completions follow arrivals, with the scheduled rate. `None` if the interval is empty or if completion times are unknown.
    pub(crate) fn stability(&self, scope: Scope, criteria: &Criteria) -> Option<Stability> {
        let flows = self.flows.as_ref().filter(|_| self.any_completed)?;
        let (from, to) = scope.stability_interval()?;
        let stability = flows.stability(criteria.is_closed());
        let scheduled = stability.sent_rate_per_s + self.unsent as f64 / from.until(to).as_secs_f64();
        Some(Stability { scheduled_rate_per_s: scope.recording.intent_known.then_some(scheduled), ..stability })
    }
}
