//! Sessions on top of a protocol: each remembers its cookies and what it extracted, follows redirects, fetches the objects of
//! its pages over several connections, and is judged by its checks. One launch is one page; it is over with its last object.

mod seen;

use std::collections::HashMap;
use std::sync::Arc;

use offered_model::workload::script::{Objects, OnFailure, When};
use offered_model::{Event, Instant, Launch, Nanos, Outcome, Reason};

use self::seen::Seen;
pub(crate) use self::seen::{asked, learn};
use super::deadlines::Deadlines;
use super::wire::{Heard, Wire};
use super::{Transport, begun};
use crate::ask::{Ask, Reply};
use crate::halt::{End, Halt};
use crate::script::{Lack, Memory, Moment, Script};
use crate::witness::Witness;

/// How long an answer is looked at: launches wait meanwhile.
const PATIENCE: Nanos = Nanos::from_millis(250);

/// One thread's sessions, over a protocol.
pub(crate) struct Scripted<W> {
    wire: W,
    script: Arc<Script>,
    /// Stops the run, and says why.
    halt: Arc<Halt>,
    worker: u16,
    /// Who sees exchanges, if somebody does.
    witness: Option<Arc<Witness>>,
    /// How many visits each closed user has begun, where values depend on it. It outlives what is remembered.
    visits: HashMap<u64, u32>,
    /// What sessions remember, those that remember anything.
    memories: HashMap<u64, Memory>,
    /// The launches under way, by session: a session has one at a time.
    pages: HashMap<u64, Page>,
    /// The same by session and step, in the order of their sending.
    sent: Deadlines,
    /// What has been heard and not yet looked at.
    heard: Vec<Heard>,
}

/// A launch under way.
struct Page {
    launch: Launch,
    label: u16,
    moment: Moment,
    /// What was asked last for the request itself.
    ask: Arc<Ask>,
    /// How many redirects have been followed.
    redirects: u32,
    /// The event of the request itself, as far as it has come.
    request: Event,
    /// Whether that is over.
    answered: bool,
    /// When it was sent.
    sent: Instant,
    /// When its objects were first wanted.
    wanted: Option<Instant>,
    /// Events of the objects that are over.
    objects: Vec<Event>,
    /// The next object to fetch, from 1.
    next: u16,
    /// The connections that are free, a bit each.
    lanes: u64,
    /// What was asked for the objects under way.
    fetching: HashMap<u16, Arc<Ask>>,
}

impl<W: Wire> Scripted<W> {
    /// The sessions of `worker` over `wire`, seen by `witness`.
    pub(crate) fn new(
        wire: W,
        script: Arc<Script>,
        halt: Arc<Halt>,
        worker: u16,
        witness: Option<Arc<Witness>>,
    ) -> Self {
        let (visits, memories, pages) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (sent, heard) = (Deadlines::new(Nanos::ZERO), Vec::new());
        Self { wire, script, halt, worker, witness, visits, memories, pages, sent, heard }
    }

    /// Of what is asked so much more is wanted as somebody wants to see.
    fn seen(&self, ask: Ask) -> Arc<Ask> {
        let wanted = self.witness.as_ref().map_or(0, |witness| witness.wanted());
        Arc::new(Ask { wanted: ask.wanted.max(wanted), ..ask })
    }

    /// Shows an exchange of the page of `session` to who wants to see it.
    fn show(&self, ask: Option<&Ask>, event: &Event, reply: Option<&Reply>) {
        let (Some(witness), Some(page)) = (&self.witness, self.pages.get(&event.session)) else { return };
        let memory = self.memories.get(&event.session);
        let Page { moment, redirects, .. } = *page;
        Seen { moment, redirects, ask, event, reply, memory }.show(witness, &self.script, &self.wire);
    }

    /// Which visit of its session a launch belongs to, from 0, where that is counted.
    fn visit(&mut self, launch: Launch) -> u32 {
        if !self.script.counts_visits {
            return 0;
        }
        let begun = self.visits.entry(launch.session).or_default();
        *begun += u32::from(launch.visit.begins());
        begun.saturating_sub(1)
    }

    /// Looks at everything that was heard, and at what follows from it at once.
    fn look(&mut self, events: &mut Vec<Event>) {
        while !self.heard.is_empty() {
            for heard in std::mem::take(&mut self.heard) {
                match heard {
                    Heard::FirstByte { session, object: 0 } => self.while_answering(session, events),
                    Heard::FirstByte { .. } => {}
                    Heard::Ended(event, reply) if event.object == 0 => self.answered(event, reply.as_deref(), events),
                    Heard::Ended(event, reply) => self.fetched(event, reply.as_deref(), events),
                }
            }
        }
    }

    /// The first byte of a page has come.
    fn while_answering(&mut self, session: u64, events: &mut Vec<Event>) {
        let Some(page) = self.pages.get_mut(&session) else { return };
        if self.script.objects(page.label).is_some_and(|objects| objects.when == When::While) {
            page.wanted.get_or_insert(self.wire.now());
            self.fetch(session, events);
        }
    }

    /// The answer to a page's request has come, or will not come.
    fn answered(&mut self, event: Event, reply: Option<&Reply>, events: &mut Vec<Event>) {
        let session = event.session;
        let Some(page) = self.pages.get_mut(&session) else { return };
        let now = self.wire.now();
        // What a witness sees is this exchange by itself.
        let own = self.witness.is_some().then(|| event.clone());
        page.request = joined(&page.request, event, page.redirects, now);
        if let Some(reply) = reply {
            let memory = remembered(&mut self.memories, session);
            if self.script.cookies {
                self.script.store_cookies(&page.ask.path, reply, memory, now);
            }
            let (script, status, wire) = (&self.script, page.request.status, &self.wire);
            let is_over = || wire.now() > now + PATIENCE;
            let next = match script.redirects {
                0 => Ok(None),
                _ => script.redirected(&page.ask, status, reply, Some(memory), now),
            };
            match next {
                Ok(Some(_)) if page.redirects == script.redirects => {
                    fail(&mut page.request, format!("more than {} redirects", script.redirects));
                }
                Ok(Some(ask)) => {
                    let asked = std::mem::replace(&mut page.ask, Arc::new(ask));
                    let next = (page.ask.clone(), begun(page.launch, page.label, self.worker));
                    if let Some(own) = own {
                        self.show(Some(&asked), &own, Some(reply));
                    }
                    self.pages.entry(session).and_modify(|page| page.redirects += 1);
                    self.wire.begin(&next.0, next.1, &mut self.heard);
                    return;
                }
                Ok(None) => match script.hear(page.label, page.moment, status, reply, memory, &is_over) {
                    Ok(()) if script.checks_status(page.label) => page.request.outcome = Outcome::Ok,
                    Ok(()) => {}
                    // What the server said of its failure stands nowhere else, as a status of HTTP does.
                    Err(_) if matches!(page.request.outcome, Outcome::GrpcError | Outcome::SqlError) => {}
                    Err(check) => fail(&mut page.request, check),
                },
                Err(why) => fail(&mut page.request, format!("redirect: {why}")),
            }
        }
        page.answered = true;
        page.lanes |= 1;
        if page.request.outcome == Outcome::Ok && self.script.objects(page.label).is_some() {
            page.wanted.get_or_insert(now);
        } else if page.wanted.is_none() {
            // A browser does not fetch what a page that did not come would have needed.
            page.next = u16::MAX;
        }
        if let Some(own) = own {
            let (ask, Event { outcome, error, .. }) = (page.ask.clone(), page.request.clone());
            self.show(Some(&ask), &Event { outcome, error, ..own }, reply);
        }
        self.fetch(session, events);
    }

    /// An object has come, or will not come.
    fn fetched(&mut self, event: Event, reply: Option<&Reply>, events: &mut Vec<Event>) {
        let session = event.session;
        let fetching = self.pages.get_mut(&session).and_then(|page| page.fetching.remove(&event.object));
        let Some(ask) = fetching else { return };
        self.show(Some(&ask), &event, reply);
        if let Some(reply) = reply.filter(|_| self.script.cookies) {
            let memory = remembered(&mut self.memories, session);
            self.script.store_cookies(&ask.path, reply, memory, self.wire.now());
        }
        if let Some(page) = self.pages.get_mut(&session) {
            page.lanes |= 1 << ask.lane;
            page.objects.push(event);
        }
        self.fetch(session, events);
    }

    /// Fetches what a page still needs over the connections that are free; hands the page over when it is done.
    fn fetch(&mut self, session: u64, events: &mut Vec<Event>) {
        let Some(page) = self.pages.get_mut(&session) else { return };
        let count = self.script.objects(page.label).map_or(0, |objects| objects.paths.len() as u16);
        while let Some(wanted) = page.wanted
            && page.next <= count
            && page.lanes != 0
        {
            let object = page.next;
            page.next += 1;
            let begun = begun(page.launch, page.label, self.worker);
            let event = Event { intended: wanted, object, ..begun };
            let lane = page.lanes.trailing_zeros() as u8;
            let memory = self.memories.get(&session);
            match self.script.object((page.label, object), lane, page.moment, memory, self.wire.now()) {
                Ok(ask) => {
                    let wanted = self.witness.as_ref().map_or(0, |witness| witness.wanted());
                    let ask = Arc::new(Ask { wanted, ..ask });
                    page.lanes &= !(1 << lane);
                    page.fetching.insert(object, ask.clone());
                    self.wire.begin(&ask, event, &mut self.heard);
                }
                Err(lack) => page.objects.push(lacking(event, lack, &self.halt)),
            }
        }
        if page.answered
            && page.fetching.is_empty()
            && page.next > count
            && let Some(mut page) = self.pages.remove(&session)
        {
            if page.request.outcome == Outcome::Ok
                && let Some(objects) = self.script.objects(page.label)
            {
                (page.request.outcome, page.request.error) = with_objects(objects, &page.objects);
            }
            events.extend(page.objects);
            events.push(page.request);
        }
    }
}

impl<W: Wire> Transport for Scripted<W> {
    const PAGES: bool = true;

    fn now(&self) -> Instant {
        self.wire.now()
    }

    fn send(&mut self, launch: Launch, label: u16, sequence: u64, events: &mut Vec<Event>) -> Instant {
        let now = self.wire.now();
        let visit = self.visit(launch);
        let moment = Moment { session: launch.session, step: launch.step, visit, sequence, label };
        let event = begun(launch, label, self.worker);
        let ask = match self.script.ask(label, moment, self.memories.get(&launch.session), now) {
            Ok(ask) => ask,
            Err(lack) => {
                let event = lacking(event, lack, &self.halt);
                if let Some(witness) = &self.witness {
                    let memory = self.memories.get(&launch.session);
                    let seen = Seen { moment, redirects: 0, ask: None, event: &event, reply: None, memory };
                    seen.show(witness, &self.script, &self.wire);
                }
                events.push(event);
                return now;
            }
        };
        let lanes = self.script.objects(label).map_or(0, |objects| u64::MAX >> (64 - objects.connections));
        let page = Page {
            launch,
            label,
            moment,
            ask: self.seen(ask),
            redirects: 0,
            request: event.clone(),
            answered: false,
            sent: now,
            wanted: None,
            objects: Vec::new(),
            next: 1,
            // The first carries the page itself.
            lanes: lanes & !1,
            fetching: HashMap::new(),
        };
        let sent = self.wire.begin(&page.ask, event, &mut self.heard);
        self.pages.insert(launch.session, Page { sent, ..page });
        let (pages, step) = (&self.pages, launch.step.into());
        self.sent.push(sent, launch.session as usize, step, pages.len(), |session, step| is_at(pages, session, step));
        self.look(events);
        sent
    }

    fn wait(&mut self, deadline: Instant, events: &mut Vec<Event>) {
        self.wire.wait(deadline, &mut self.heard);
        self.look(events);
    }

    fn ends(&self, event: &Event) -> bool {
        if matches!(event.outcome, Outcome::Ok | Outcome::Cut) {
            return false;
        }
        match self.script.on_failure(event.label) {
            OnFailure::Continue => false,
            OnFailure::EndSession => true,
            OnFailure::Stop => {
                let why = event.error.as_ref().map_or_else(|| format!("status {}", event.status), ToString::to_string);
                let name = self.script.name(event.label);
                self.halt
                    .stop(format!("request `{name}` did not go well: {} ({why})", event.outcome.name()), End::Failed);
                true
            }
        }
    }

    fn leave(&mut self, session: u64) {
        self.memories.remove(&session);
        self.wire.leave(session);
    }

    fn abandon(&mut self, events: &mut Vec<Event>) {
        self.wire.abandon(&mut self.heard);
        // What was not fetched by now will not be.
        self.pages.values_mut().for_each(|page| page.next = u16::MAX);
        self.look(events);
    }

    fn under_way_since(&mut self, instant: Instant) -> Option<Event> {
        let pages = &self.pages;
        let is_at = |session, step| is_at(pages, session, step);
        // Those that are over are forgotten on the way.
        self.sent.first(is_at);
        let page = pages.get(&(self.sent.begun_by(instant, is_at)? as u64))?;
        Some(Event { sent: Some(page.sent), ..begun(page.launch, page.label, self.worker) })
    }

    fn finish(&mut self) {
        self.wire.finish();
    }

    fn idle(&self) -> Nanos {
        self.wire.idle()
    }
}

/// Whether the launch of `session` that is under way is this step of it.
fn is_at(pages: &HashMap<u64, Page>, session: usize, step: u64) -> bool {
    pages.get(&(session as u64)).is_some_and(|page| u64::from(page.launch.step) == step)
}

fn remembered(memories: &mut HashMap<u64, Memory>, session: u64) -> &mut Memory {
    memories.entry(session).or_default()
}

fn fail(event: &mut Event, check: String) {
    event.outcome = Outcome::CheckFailed;
    event.error = Some(check.into());
}

/// How a page ends whose own answer is good, and why, once these of its objects are over: no other will be.
fn with_objects(objects: &Objects, over: &[Event]) -> (Outcome, Option<Reason>) {
    let first = |failed: fn(Outcome) -> bool| {
        let event = over.iter().filter(|event| failed(event.outcome)).min_by_key(|event| event.object)?;
        let path = objects.paths[usize::from(event.object) - 1].written();
        let status = if event.status > 0 { format!(" {}", event.status) } else { String::new() };
        Some(Reason::from(format!("object {path}: {}{status}", event.outcome.name())))
    };
    let failed = first(|outcome| !matches!(outcome, Outcome::Ok | Outcome::Cut | Outcome::Unprocessed));
    if let Some(why) = failed.filter(|_| !objects.may_fail) {
        return (Outcome::ObjectFailed, Some(why));
    }
    if over.len() < objects.paths.len() || over.iter().any(|event| event.outcome == Outcome::Cut) {
        return (Outcome::Cut, Some(Reason::Stopped));
    }
    match first(|outcome| outcome == Outcome::Unprocessed).filter(|_| !objects.may_fail) {
        Some(why) => (Outcome::Unprocessed, Some(why)),
        None => (Outcome::Ok, None),
    }
}

/// The event of a request that something is lacking for: rows that are used up, or a value that should have come with an answer.
fn lacking(event: Event, lack: Lack, halt: &Halt) -> Event {
    let outcome = match lack {
        Lack::Value(_) => Outcome::NoValue,
        Lack::Rows { .. } => Outcome::Unsent,
    };
    Event { outcome, error: Some(halt.told(lack).into()), ..event }
}

/// The event of a request that was `earlier` redirected `redirects` times and then ended as `event` says.
fn joined(earlier: &Event, event: Event, redirects: u32, now: Instant) -> Event {
    if redirects == 0 {
        return event;
    }
    // It was sent, whatever became of the last of its exchanges.
    let (outcome, done) = match event.outcome {
        Outcome::Unsent | Outcome::NoValue => (Outcome::Reset, Some(now)),
        outcome => (outcome, event.done),
    };
    Event {
        sent: earlier.sent,
        handshake: earlier.handshake.or(event.handshake),
        reused: earlier.reused,
        bytes_out: earlier.bytes_out + event.bytes_out,
        bytes_in: earlier.bytes_in + event.bytes_in,
        outcome,
        done,
        ..event
    }
}

#[cfg(test)]
mod tests;
