//! What is counted of launches in whatever order they come: all that does not ask what came before what.

use std::io;

use offered_model::{Difference, Event, Instant, Nanos, Outcome};
use offered_stats::values::Values;

use crate::criteria::Criteria;
use crate::ends::Ends;
use crate::stability::FlowCounts;
use crate::event_keys::Places;
use crate::queue::Sessions;
use crate::requests::Requests;
use crate::scope::Scope;
use crate::tables::{Columns, Rule};
use crate::verdict::Stability;

/// The counts of a scope.
pub(crate) struct Counted<'a> {
    pub(crate) columns: Columns,
    pub(crate) requests: Requests,
    pub(crate) sessions: Sessions,
    pub(crate) responses: Responses,
    /// done - sent of good answers.
    pub(crate) service: Values<i64>,
    /// sent - intended of launches.
    pub(crate) lateness: Values<i64>,
    /// What was meant and not sent.
    pub(crate) unsent: u64,
    /// The instants at which the launches were sent that are held to what was meant.
    pub(crate) sent: Ends,
    /// Those for which they were meant.
    pub(crate) meant: Ends,
    /// Of a rate that changes: launches meant for the time of which it has a mean.
    pub(crate) meant_between: u64,
    /// Launches that left too early, by more than the tick of their stamps, and by how much the earliest of them did.
    pub(crate) early: (u64, Nanos),
    /// Everything sent while the run lasted.
    pub(crate) of_run: u64,
    /// What there is to put in order.
    pub(crate) places: Places<'a>,
    flows: Option<FlowCounts>,
    /// Whether anything ended.
    ended: bool,
}

/// The responses of all launches that came to an end, well or not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Responses {
    pub(crate) n: u64,
    ns: i128,
    /// Their sum in seconds.
    pub(crate) seconds: f64,
    /// That of their squares.
    pub(crate) squares: f64,
}

impl Responses {
    fn add(&mut self, response: Difference) {
        let seconds = response.as_secs_f64();
        self.n += 1;
        self.ns += i128::from(response.0);
        (self.seconds, self.squares) = (self.seconds + seconds, self.squares + seconds * seconds);
    }

    /// `None` where nothing came to an end.
    pub(crate) fn mean_ms(&self) -> Option<f64> {
        (self.n > 0).then(|| self.ns as f64 / self.n as f64 / 1e6)
    }
}

impl<'a> Counted<'a> {
    /// Of the launches that `ask` asks about.
    pub(crate) fn of(scope: Scope<'a>, ask: &Criteria) -> io::Result<Self> {
        let labels = scope.recording.labels.len();
        // Of a partly-open system the sessions are held to what was meant; their later launches follow the server.
        let first_only = ask.expected.applies_to_sessions();
        let mut counted = Self {
            columns: Columns::new(scope, Rule::Ours),
            requests: Requests::new(labels),
            sessions: Sessions::new(scope.recording.sessions_known),
            responses: Responses::default(),
            service: Values::default(),
            lateness: Values::default(),
            unsent: 0,
            sent: Ends::default(),
            meant: Ends::default(),
            meant_between: 0,
            early: (0, Nanos::ZERO),
            of_run: 0,
            places: Places::new(scope),
            flows: scope.flows_between().map(|(from, to)| FlowCounts::new(from, to)),
            ended: false,
        };
        scope.each(|event| counted.add(scope, ask, first_only, event))?;
        Ok(counted)
    }

    fn add(&mut self, scope: Scope, ask: &Criteria, first_only: bool, event: &Event) {
        let (place, counts) = (event.place(), !first_only || event.step == 0);
        let (sent, is_meant) = (scope.launched(place), scope.is_meant(place));
        if sent.is_some() || is_meant {
            self.places.add(place);
        }
        self.of_run += u64::from(scope.is_of_run(event));
        self.ended |= event.done.is_some();
        if let Some(flows) = &mut self.flows {
            flows.add(event);
        }
        if let Some((from, to)) = ask.rate_interval
            && (from..to).contains(&event.intended)
        {
            self.meant_between += u64::from(counts && event.sent.is_some());
        }
        if is_meant {
            self.requests.add(event);
            self.unsent += u64::from(event.sent.is_none());
            if counts {
                self.meant.add(event.intended.0);
            }
        }
        let Some(sent) = sent else { return };
        self.columns.add(sent, event);
        self.sessions.add(sent, event);
        event.response().into_iter().for_each(|response| self.responses.add(response));
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

    /// The tables and the requests, of which nothing is left here.
    pub(crate) fn take_tables(&mut self, scope: Scope) -> (Columns, Requests) {
        let columns = std::mem::replace(&mut self.columns, Columns::new(scope, Rule::Ours));
        (columns, std::mem::take(&mut self.requests))
    }

    /// Whether the system kept up with what was launched; `None` where the time is a single instant, or the recording does not
    /// say when answers came.
    pub(crate) fn keeps_up(&self, ask: &Criteria) -> Option<Stability> {
        self.flows.as_ref().filter(|_| self.ended).map(|flows| flows.stability(ask.is_closed()))
    }
}
