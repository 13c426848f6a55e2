//! Scripted sessions over any protocol client. A session stores cookies and extracted values, follows redirects,
//! fetches the objects of its pages over several connections, and checks its responses. Each request is a page, which
//! is complete when its last object is complete.

mod evaluator;
mod observed;
mod outcome;
mod sign_in;

use std::collections::HashMap;
use std::sync::Arc;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_schedule::Launch;
use offered_workload::script::{Objects, OnFailure, When};

use self::evaluator::{Evaluation, Evaluator};
use self::observed::ObservedExchange;
pub(crate) use self::observed::{learn_secrets, sent_text};
use self::outcome::{fail_check, judge, merge_exchanges, missing_value_event, outcome_with_objects};
use self::sign_in::{SignIn, WaitingRequests};
use super::deadlines::Deadlines;
use super::protocol_client::{Completion, ProtocolClient};
use super::{Client, Transport, new_event};
use crate::halt::{End, Halt};
use crate::message::{OutgoingRequest, Response};
use crate::observer::ExchangeObserver;
use crate::script::{Received, Rejection, RequestContext, Script, SessionState};

/// Maximum time for evaluating one response on the sending thread, which sends nothing meanwhile. A response that needs
/// more is evaluated anew beside it.
const QUICK_EVALUATION: Nanos = Nanos::from_millis(5);
/// While evaluations or token requests of other sessions are outstanding, their results are polled this often.
const RESULT_INTERVAL: Nanos = Nanos::from_millis(1);
/// How long the end of a run waits for outstanding evaluations, in all.
const LAST_RESULTS_TIMEOUT: Nanos = Nanos::from_secs(1);
/// After this time for completions, the rest waits until the requests that are due are sent.
const COMPLETIONS_TIMEOUT: Nanos = Nanos::from_millis(10);

/// The sessions of one thread, over a protocol client. Runs use `dyn ProtocolClient`, so that the code is compiled once.
pub(crate) struct Scripted<C: ?Sized> {
    client: Box<C>,
    script: Arc<Script>,
    /// Stops the run for a reason.
    halt: Arc<Halt>,
    worker: u16,
    /// Receives exchanges with their texts, if set.
    observer: Option<Arc<ExchangeObserver>>,
    /// The number of visits that each closed user has begun, if values depend on it. Kept when the state of a session
    /// is dropped.
    visits: HashMap<u64, u32>,
    /// The last request of each session, if flows have conditions.
    contexts: HashMap<u64, RequestContext>,
    /// The state of sessions that have any.
    session_states: HashMap<u64, SessionState>,
    /// The requests in flight, by session: a session has one at a time.
    pages: HashMap<u64, Page>,
    /// The requests in flight by session and step, in the order of sending.
    sent: Deadlines,
    /// Completions that have not been processed.
    completions: Vec<Completion>,
    /// Started with the first response that takes long to evaluate.
    evaluator: Option<Evaluator>,
    waiting: WaitingRequests,
}

/// A request in flight, with its objects.
struct Page {
    launch: Launch,
    label: u16,
    context: RequestContext,
    /// The last request sent for the page itself: the original one, or a redirect.
    outgoing: Arc<OutgoingRequest>,
    /// Number of redirects followed and of responses to challenges; each is one more request on the wire.
    redirects: u32,
    /// The redirects alone.
    followed: u32,
    /// Whether the last request responds to a challenge.
    is_answer: bool,
    /// Number of token requests.
    token_requests: u16,
    /// The access token that the page waits for.
    sign_in: Option<SignIn>,
    /// The slots of the values that the responses of these redirects had.
    found: Vec<u16>,
    /// The event of the request itself, so far.
    request: Event,
    /// Whether the response to the request itself is complete.
    responded: bool,
    /// When the request was sent.
    sent: Instant,
    /// The time when the objects became known, which is their scheduled time.
    objects_wanted: Option<Instant>,
    /// Events of completed objects.
    objects: Vec<Event>,
    /// The next object to fetch, from 1.
    next: u16,
    /// The free connections, one bit per lane.
    free_lanes: u64,
    /// The requests for objects in flight.
    fetching: HashMap<u16, Arc<OutgoingRequest>>,
}

impl Page {
    /// The service time of the request so far, redirects included.
    fn service(&self) -> Nanos {
        self.request.done.map_or(Nanos::ZERO, |done| self.sent.until(done))
    }

    /// The response to the last request for the page itself.
    fn received<'a>(&'a self, reply: &'a Response) -> Received<'a> {
        let (status, service) = (self.request.status, self.service());
        Received { status, reply, service, path: &self.outgoing.path, target: self.outgoing.target, found: &self.found }
    }
}

impl<C: ProtocolClient + ?Sized> Scripted<C> {
    /// The sessions of `worker` over `client`, observed by `observer`.
    pub(crate) fn new(
        client: Box<C>,
        script: Arc<Script>,
        halt: Arc<Halt>,
        worker: u16,
        observer: Option<Arc<ExchangeObserver>>,
    ) -> Self {
        let (visits, contexts) = (HashMap::new(), HashMap::new());
        let (session_states, pages) = (HashMap::new(), HashMap::new());
        let (sent, completions) = (Deadlines::new(Nanos::ZERO), Vec::new());
        let (evaluator, waiting) = (None, WaitingRequests::default());
        Self {
            client,
            script,
            halt,
            worker,
            observer,
            visits,
            contexts,
            session_states,
            pages,
            sent,
            completions,
            evaluator,
            waiting,
        }
    }

    /// Raises the limit on the response body to the limit of the observer.
    fn with_observer_limit(&self, outgoing: OutgoingRequest) -> Arc<OutgoingRequest> {
        let body_limit = self.observer.as_ref().map_or(0, |observer| observer.body_limit());
        Arc::new(OutgoingRequest { body_limit: outgoing.body_limit.max(body_limit), ..outgoing })
    }

    /// Forwards an exchange of the page of `session` to the observer, if there is one. If a redirect was `followed`: with the
    /// slots of the values that the response had.
    fn observe(
        &self,
        outgoing: &OutgoingRequest,
        event: &Event,
        response: Option<&Response>,
        followed: Option<&[u16]>,
    ) {
        let (Some(observer), Some(page)) = (&self.observer, self.pages.get(&event.session)) else { return };
        let state = self.session_states.get(&event.session);
        let Page { context, redirects, .. } = *page;
        let is_token = page.sign_in.is_some();
        let outgoing = Some(outgoing);
        let service = event.done.map_or(Nanos::ZERO, |done| page.sent.until(done));
        let exchange =
            ObservedExchange { context, redirects, is_token, followed, outgoing, event, service, response, state };
        exchange.observe(observer, &self.script, &*self.client);
    }

    /// The number of the visit that a request belongs to, from 0. Always 0 if visits are not counted.
    fn visit(&mut self, launch: Launch) -> u32 {
        if !self.script.counts_visits_of(launch.session) {
            return 0;
        }
        let begun = self.visits.entry(launch.session).or_default();
        *begun += u32::from(launch.visit.begins());
        begun.saturating_sub(1)
    }

    /// Processes completions, including those that result from them at once. Completions that remain at `deadline` are
    /// processed in the next iteration.
    fn process_completions(&mut self, deadline: Instant, events: &mut Vec<Event>) {
        while !self.completions.is_empty() {
            let mut completions = std::mem::take(&mut self.completions).into_iter();
            while let Some(completion) = completions.next() {
                match completion {
                    Completion::FirstByte { session, object: 0 } => self.on_first_byte(session, events),
                    Completion::FirstByte { .. } => {}
                    Completion::Done(event, response) if event.object == 0 => {
                        self.on_response(event, response, events);
                    }
                    Completion::Done(event, response) => self.on_object(event, response.as_deref(), events),
                }
                if completions.len() > 0 && self.client.now() > deadline {
                    let new = std::mem::take(&mut self.completions);
                    self.completions = completions.chain(new).collect();
                    return;
                }
            }
        }
    }

    /// The first byte of a page has arrived.
    fn on_first_byte(&mut self, session: u64, events: &mut Vec<Event>) {
        let Some(page) = self.pages.get_mut(&session) else { return };
        let is_fetched = |objects: &Objects| objects.when == When::While;
        if page.sign_in.is_none() && self.script.objects(page.label).is_some_and(is_fetched) {
            page.objects_wanted.get_or_insert(self.client.now());
            self.fetch_objects(session, events);
        }
    }

    /// The response to the request of a page is complete, or has failed.
    fn on_response(&mut self, event: Event, response: Option<Box<Response>>, events: &mut Vec<Event>) {
        let session = event.session;
        let Some(page) = self.pages.get_mut(&session) else { return };
        let now = self.client.now();
        // The observer sees each exchange by itself, without its redirects.
        let exchange_event = self.observer.is_some().then(|| event.clone());
        page.request = merge_exchanges(page, event, now);
        if page.sign_in.is_some() {
            return self.on_token(session, exchange_event, response.as_deref(), events);
        }
        let Some(response) = response else { return self.on_judged(session, exchange_event, None, events) };
        let state = state_of(&mut self.session_states, session);
        self.script.store_cookies(&page.outgoing, &response, state, now);
        let (script, status, client) = (&self.script, page.request.status, &*self.client);
        let time_left = || client.now().until(now + QUICK_EVALUATION);
        let received = page.received(&response);
        if !page.is_answer && script.rejects_token(page.label, page.context, &page.outgoing, status, &response, state) {
            return self.renew_token(session, exchange_event, &response, events);
        }
        let answer = match page.is_answer {
            true => None,
            false => script.answer_challenge(page.label, page.context, &page.outgoing, status, &response, state),
        };
        let (is_answer, most) = (answer.is_some(), script.redirects(page.label));
        let next = match (answer, most) {
            (Some(answer), _) => Ok(Some(answer)),
            (None, 0) => Ok(None),
            (None, _) => {
                let at = (page.label, page.context);
                script.redirect(at, &page.outgoing, status, &response, Some(state), now)
            }
        };
        match next {
            Ok(Some(_)) if !is_answer && page.followed == most => {
                fail_check(&mut page.request, format!("more than {most} redirects"));
            }
            Ok(Some(outgoing)) => {
                let received = Received { found: &[], ..received };
                let found = script.extract_from_redirect(page.label, page.context, received, state, &time_left);
                let sent_text = std::mem::replace(&mut page.outgoing, Arc::new(outgoing));
                let next = (page.outgoing.clone(), new_event(page.launch, page.label, self.worker));
                if let Some(exchange_event) = exchange_event {
                    self.observe(&sent_text, &exchange_event, Some(&response), Some(&found));
                }
                self.pages.entry(session).and_modify(|page| {
                    page.redirects += 1;
                    page.followed += u32::from(!is_answer);
                    page.is_answer = is_answer;
                    page.found.extend(found);
                });
                self.client.begin(&next.0, next.1, &mut self.completions);
                return;
            }
            Ok(None) => match script.evaluate(page.label, page.context, received, state, &time_left) {
                // Objects in flight may change the cookies, so the state stays here.
                Err(Rejection { out_of_time: true, .. })
                    if page.objects_wanted.is_none() && Evaluator::start(&mut self.evaluator, script) =>
                {
                    return self.evaluate_beside(session, response, exchange_event);
                }
                result => {
                    page.request.metrics = script.metrics(page.label, state);
                    judge(&mut page.request, result, script.checks_status(page.label));
                }
            },
            Err(reason) => fail_check(&mut page.request, format!("redirect: {reason}")),
        }
        self.on_judged(session, exchange_event, Some(&response), events);
    }

    /// Hands the response to the page of `session` to the evaluator.
    fn evaluate_beside(&mut self, session: u64, response: Box<Response>, exchange_event: Option<Event>) {
        let Some(page) = self.pages.get_mut(&session) else { return };
        let evaluation = Evaluation {
            context: page.context,
            status: page.request.status,
            service: page.service(),
            target: page.outgoing.target,
            path: page.outgoing.path.clone(),
            response,
            found: page.found.clone(),
            state: self.session_states.remove(&session).unwrap_or_default(),
            exchange_event,
        };
        if let Some(evaluator) = &mut self.evaluator {
            evaluator.submit(evaluation);
        }
    }

    /// Processes the results of the evaluator that arrive within `timeout` in total.
    fn receive_evaluations(&mut self, timeout: Nanos, events: &mut Vec<Event>) {
        let end = self.client.now() + timeout;
        while let Some(evaluator) = self.evaluator.as_mut().filter(|evaluator| evaluator.is_busy())
            && let Some((evaluation, result)) = evaluator.next_result(self.client.now().until(end))
        {
            self.on_evaluated(evaluation, result, events);
        }
    }

    /// The evaluator has a result.
    fn on_evaluated(&mut self, evaluation: Evaluation, result: Result<(), Rejection>, events: &mut Vec<Event>) {
        let Evaluation { context, response, state, exchange_event, .. } = evaluation;
        let Some(page) = self.pages.get_mut(&context.session).filter(|page| page.launch.step == context.step) else {
            return;
        };
        page.request.metrics = self.script.metrics(page.label, &state);
        self.session_states.insert(context.session, state);
        judge(&mut page.request, result, self.script.checks_status(page.label));
        self.on_judged(context.session, exchange_event, Some(&response), events);
    }

    /// The response to the request of a page is judged: fetches the objects of the page, or ends it.
    fn on_judged(
        &mut self,
        session: u64,
        exchange_event: Option<Event>,
        response: Option<&Response>,
        events: &mut Vec<Event>,
    ) {
        let Some(page) = self.pages.get_mut(&session) else { return };
        page.responded = true;
        page.free_lanes |= 1;
        if page.request.outcome == Outcome::Ok
            && let Some(text) = response.and_then(|response| response.text.as_deref())
        {
            let state = state_of(&mut self.session_states, session);
            self.script.add_turn(page.label, page.context, text, &page.request, state);
        }
        if page.request.outcome == Outcome::Ok && self.script.objects(page.label).is_some() {
            page.objects_wanted.get_or_insert(self.client.now());
        } else if page.objects_wanted.is_none() {
            // Like a browser, do not fetch the objects of a page that failed.
            page.next = u16::MAX;
        }
        if let Some(exchange_event) = exchange_event {
            let (outgoing, Event { outcome, error, .. }) = (page.outgoing.clone(), page.request.clone());
            self.observe(&outgoing, &Event { outcome, error, ..exchange_event }, response, None);
        }
        self.fetch_objects(session, events);
    }

    /// An object is complete, or has failed.
    fn on_object(&mut self, event: Event, response: Option<&Response>, events: &mut Vec<Event>) {
        let session = event.session;
        let fetching = self.pages.get_mut(&session).and_then(|page| page.fetching.remove(&event.object));
        let Some(outgoing) = fetching else { return };
        self.observe(&outgoing, &event, response, None);
        if let Some(response) = response {
            let state = state_of(&mut self.session_states, session);
            self.script.store_cookies(&outgoing, response, state, self.client.now());
        }
        if let Some(page) = self.pages.get_mut(&session) {
            page.free_lanes |= 1 << outgoing.lane;
            page.objects.push(event);
        }
        self.fetch_objects(session, events);
    }

    /// Fetches further objects over the free connections. Emits the events of the page when it is complete.
    fn fetch_objects(&mut self, session: u64, events: &mut Vec<Event>) {
        let Some(page) = self.pages.get_mut(&session) else { return };
        let count = self.script.objects(page.label).map_or(0, |objects| objects.paths.len() as u16);
        while let Some(scheduled) = page.objects_wanted
            && page.next <= count
            && page.free_lanes != 0
        {
            let object = page.next;
            page.next += 1;
            let new_event = new_event(page.launch, page.label, self.worker);
            let event = Event { intended: scheduled, object, ..new_event };
            let lane = page.free_lanes.trailing_zeros() as u8;
            let state = self.session_states.get(&session);
            match self.script.object((page.label, object), lane, page.context, state, self.client.now()) {
                Ok(outgoing) => {
                    let body_limit = self.observer.as_ref().map_or(0, |observer| observer.body_limit());
                    let outgoing = Arc::new(OutgoingRequest { body_limit, ..outgoing });
                    page.free_lanes &= !(1 << lane);
                    page.fetching.insert(object, outgoing.clone());
                    self.client.begin(&outgoing, event, &mut self.completions);
                }
                Err(missing) => page.objects.push(missing_value_event(event, missing, &self.halt)),
            }
        }
        if page.responded
            && page.fetching.is_empty()
            && page.next > count
            && let Some(mut page) = self.pages.remove(&session)
        {
            if page.request.outcome == Outcome::Ok
                && let Some(objects) = self.script.objects(page.label)
            {
                (page.request.outcome, page.request.error) = outcome_with_objects(objects, &page.objects);
            }
            let state = self.session_states.get(&session);
            for event in page.objects.iter_mut().chain([&mut page.request]) {
                self.script.redact_reason(event, page.context, state);
            }
            events.extend(page.objects);
            events.push(page.request);
        }
    }
}

impl<C: ProtocolClient + ?Sized> Client<Vec<Event>> for Scripted<C> {
    fn now(&self) -> Instant {
        self.client.now()
    }

    fn wait(&mut self, deadline: Instant, events: &mut Vec<Event>) {
        let now = self.client.now();
        let is_evaluating = self.evaluator.as_ref().is_some_and(Evaluator::is_busy);
        let deadline = match () {
            () if !self.completions.is_empty() => now,
            () if is_evaluating || !self.waiting.is_empty() => deadline.min(now + RESULT_INTERVAL),
            () => deadline,
        };
        self.client.wait(deadline, &mut self.completions);
        let deadline = self.client.now() + COMPLETIONS_TIMEOUT;
        self.process_completions(deadline, events);
        self.resume_waiting(events);
        self.receive_evaluations(Nanos::ZERO, events);
    }

    fn close_session(&mut self, session: u64) {
        self.session_states.remove(&session);
        self.contexts.remove(&session);
        self.script.forget_tokens(session);
        self.client.close_session(session);
    }

    fn cancel_all(&mut self, events: &mut Vec<Event>) {
        self.waiting.clear();
        self.client.cancel_all(&mut self.completions);
        // Do not fetch the remaining objects.
        self.pages.values_mut().for_each(|page| page.next = u16::MAX);
        self.process_completions(Instant::MAX, events);
        self.receive_evaluations(LAST_RESULTS_TIMEOUT, events);
        let unjudged: Vec<u64> = self.pages.keys().copied().collect();
        for session in unjudged {
            if let Some(page) = self.pages.get_mut(&session) {
                (page.request.outcome, page.request.error) = (Outcome::Cut, Some(Reason::Stopped));
            }
            self.on_judged(session, None, None, events);
        }
    }

    fn in_flight_since(&mut self, instant: Instant) -> Option<Event> {
        let pages = &self.pages;
        let is_current = |session, step| is_current(pages, session, step);
        // Removes stale entries.
        self.sent.next_due(is_current);
        let page = pages.get(&(self.sent.next_started_by(instant, is_current)? as u64))?;
        Some(Event { sent: Some(page.sent), ..new_event(page.launch, page.label, self.worker) })
    }

    fn finish(&mut self) {
        self.client.finish();
    }

    fn idle(&self) -> Nanos {
        self.client.idle()
    }
}

impl<C: ProtocolClient + ?Sized> Transport for Scripted<C> {
    const HAS_OBJECTS: bool = true;

    fn send(&mut self, launch: Launch, label: u16, sequence: u64, events: &mut Vec<Event>) -> Instant {
        let now = self.client.now();
        let visit = self.visit(launch);
        let context = RequestContext { session: launch.session, step: launch.step, visit, sequence, label };
        if self.script.has_conditions() {
            self.contexts.insert(launch.session, context);
        }
        let event = new_event(launch, label, self.worker);
        let (outgoing, sign_in) = match self.first_exchange(label, context, now) {
            Ok(first) => first,
            Err(missing) => {
                let event = missing_value_event(event, missing, &self.halt);
                if let Some(observer) = &self.observer {
                    let state = self.session_states.get(&launch.session);
                    let observed = ObservedExchange {
                        context,
                        redirects: 0,
                        is_token: false,
                        followed: None,
                        outgoing: None,
                        event: &event,
                        service: Nanos::ZERO,
                        response: None,
                        state,
                    };
                    observed.observe(observer, &self.script, &*self.client);
                }
                events.push(event);
                return now;
            }
        };
        let free_lanes = self.script.objects(label).map_or(0, |objects| u64::MAX >> (64 - objects.connections));
        let mut page = Page {
            launch,
            label,
            context,
            outgoing: self.with_observer_limit(outgoing),
            redirects: 0,
            followed: 0,
            is_answer: false,
            token_requests: u16::from(sign_in.as_ref().is_some_and(SignIn::is_sent)),
            sign_in,
            found: Vec::new(),
            request: event.clone(),
            responded: false,
            sent: now,
            objects_wanted: None,
            objects: Vec::new(),
            next: 1,
            // The first connection carries the page itself.
            free_lanes: free_lanes & !1,
            fetching: HashMap::new(),
        };
        let postponed = !self.completions.is_empty();
        let sent = match &page.sign_in {
            Some(sign_in) if !sign_in.is_sent() => self.wait_for_token(&mut page),
            _ => self.client.begin(&page.outgoing, event, &mut self.completions),
        };
        self.pages.insert(launch.session, Page { sent, ..page });
        let (pages, step) = (&self.pages, launch.step.into());
        self.sent
            .push(sent, launch.session as usize, step, pages.len(), |session, step| is_current(pages, session, step));
        // What follows from earlier responses must not delay the other requests that are due.
        if !postponed {
            self.process_completions(sent + COMPLETIONS_TIMEOUT, events);
        }
        sent
    }

    fn ends_session(&self, event: &Event, on_failure: Option<OnFailure>) -> bool {
        if matches!(event.outcome, Outcome::Ok | Outcome::Cut) {
            return false;
        }
        match on_failure.unwrap_or_else(|| self.script.on_failure(event.label)) {
            OnFailure::Continue => false,
            OnFailure::EndSession => true,
            OnFailure::Stop => {
                let reason =
                    event.error.as_ref().map_or_else(|| format!("status {}", event.status), ToString::to_string);
                let name = self.script.name(event.label);
                self.halt
                    .stop(format!("request `{name}` failed: {} ({reason})", event.outcome.name()), End::RequestFailed);
                true
            }
        }
    }

    fn decide(&self, number: u16, event: &Event) -> Option<f64> {
        let context = *self.contexts.get(&event.session)?;
        Some(self.script.decide(number, event, context, self.session_states.get(&event.session)))
    }
}

/// Whether the request of `session` in flight is its step `step`.
fn is_current(pages: &HashMap<u64, Page>, session: usize, step: u64) -> bool {
    pages.get(&(session as u64)).is_some_and(|page| u64::from(page.launch.step) == step)
}

fn state_of(session_states: &mut HashMap<u64, SessionState>, session: u64) -> &mut SessionState {
    session_states.entry(session).or_default()
}

#[cfg(test)]
mod tests;
