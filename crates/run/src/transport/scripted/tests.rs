use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use offered_base::Share;
use offered_schedule::Visit;
use offered_workload::Workload;

use super::*;
use crate::driver::Driver;
use crate::in_flight::InFlight;
use crate::live::LiveCounters;
use crate::transport::protocol_client::RequestText;
use offered_io::Clock;

mod sign_in;

/// Status, headers, body.
type Said = (u16, Vec<(&'static str, &'static str)>, &'static str);

/// A server in memory that responds after a millisecond, depending on the path.
struct Fake {
    now: Instant,
    answers: fn(&OutgoingRequest) -> Said,
    under_way: Vec<(Instant, Event, OutgoingRequest)>,
    /// The maximum number of concurrent exchanges, and all requests: lane, path, cookie.
    most: usize,
    sent_text: Vec<(u8, String, Option<String>)>,
    requests: Vec<OutgoingRequest>,
    left: Vec<u64>,
}

impl Fake {
    fn new(answers: fn(&OutgoingRequest) -> Said) -> Self {
        let (under_way, sent_text, requests, left) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { now: Instant::ZERO, answers, under_way, most: 0, sent_text, requests, left }
    }
}

impl Client<Vec<Completion>> for Fake {
    fn now(&self) -> Instant {
        self.now
    }

    fn wait(&mut self, deadline: Instant, completions: &mut Vec<Completion>) {
        let Some(first) = self.under_way.iter().map(|(at, ..)| *at).min().filter(|at| *at <= deadline) else {
            self.now = deadline;
            return;
        };
        self.now = self.now.max(first);
        let at = self.under_way.iter().position(|(at, ..)| *at == first).unwrap();
        let (_, event, outgoing) = self.under_way.remove(at);
        completions.push(Completion::FirstByte { session: event.session, object: event.object });
        let (status, headers, body) = (self.answers)(&outgoing);
        if status == 0 {
            let event = Event { done: Some(self.now), outcome: Outcome::Reset, error: Some("broke".into()), ..event };
            return completions.push(Completion::Done(event, None));
        }
        let outcome = if status < 400 { Outcome::Ok } else { Outcome::HttpError };
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).collect();
        let response = Response {
            headers,
            body: body.as_bytes().to_vec().into(),
            size: body.len() as u64,
            body_limit: outgoing.body_limit,
            rows: 0,
            stream: None,
            text: None,
        };
        let event = Event { done: Some(self.now), first_byte: Some(self.now), status, outcome, bytes_in: 10, ..event };
        completions.push(Completion::Done(event, Some(Box::new(response))));
    }

    fn close_session(&mut self, session: u64) {
        self.left.push(session);
    }

    fn cancel_all(&mut self, completions: &mut Vec<Completion>) {
        for (_, event, _) in self.under_way.drain(..) {
            completions.push(Completion::Done(Event { outcome: Outcome::Cut, ..event }, None));
        }
    }

    fn in_flight_since(&mut self, _: Instant) -> Option<Event> {
        None
    }

    fn idle(&self) -> Nanos {
        Nanos::ZERO
    }
}

impl ProtocolClient for Fake {
    fn start_at(&mut self, _: Clock) {}

    fn begin(&mut self, outgoing: &Arc<OutgoingRequest>, event: Event, _heard: &mut Vec<Completion>) -> Instant {
        let cookie = outgoing.headers.iter().find(|(name, _)| name == "Cookie").map(|(_, value)| value.clone());
        self.sent_text.push((outgoing.lane, outgoing.path.clone(), cookie));
        self.requests.push(OutgoingRequest::clone(outgoing));
        let same =
            |other: &Event| (other.session, other.step, other.object) == (event.session, event.step, event.object);
        assert!(!self.under_way.iter().any(|(_, other, _)| same(other)), "two exchanges with one name");
        let lane = |(_, other, sent_text): &(Instant, Event, OutgoingRequest)| {
            other.session == event.session && sent_text.lane == outgoing.lane
        };
        assert!(!self.under_way.iter().any(lane), "a connection carries one exchange at a time");
        let event = Event { sent: Some(self.now), bytes_out: 100, ..event };
        self.under_way.push((self.now + Nanos::from_millis(1), event, OutgoingRequest::clone(outgoing)));
        self.most = self.most.max(self.under_way.len());
        self.now
    }

    fn next_turn(&mut self) -> Instant {
        self.under_way.iter().map(|(done, ..)| *done).min().unwrap_or(Instant::MAX)
    }

    fn request_text(&self, outgoing: &OutgoingRequest, _: &Event) -> RequestText {
        let headers = outgoing.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        let head = [format!("{} {}", outgoing.method, outgoing.path)].into_iter().chain(headers).collect();
        RequestText { head, body: outgoing.body.clone().unwrap_or_default().to_vec() }
    }
}

/// JSON with so many values that a path with `..` is estimated to take longer than is allowed on the sending thread.
static LARGE: LazyLock<String> = LazyLock::new(|| format!("[{}0]", "1,".repeat(120_000)));

fn answers(outgoing: &OutgoingRequest) -> Said {
    match outgoing.path.as_str() {
        "/login" => (302, vec![("Location", "/home"), ("Set-Cookie", "sid=7; Path=/")], ""),
        "/home" => (200, vec![], "{\"id\": \"a 1\"}"),
        "/loop" => (302, vec![("Location", "/loop")], ""),
        "/away" => (302, vec![("Location", "http://elsewhere/")], ""),
        "/broken" => (0, vec![], ""),
        "/to-broken" => (302, vec![("Location", "/broken")], ""),
        "/missing" => (404, vec![], ""),
        "/large" => (200, vec![], &LARGE),
        _ => (200, vec![], "fine"),
    }
}

fn sessions(requests: &str) -> Scripted<Fake> {
    let text = format!(
        "duration = \"10s\"\narrivals.closed.users = 5\n[target]\nurl = \"http://h/\"\ncookies = true\nredirects = 2\n{requests}"
    );
    let workload = Workload::parse(&text, "w", &|_| Ok("n\n1\n".into())).unwrap_or_else(|mistake| panic!("{mistake}"));
    let script = Arc::new(Script::new(&workload, workload.target().unwrap()).unwrap());
    Scripted::new(Box::new(Fake::new(answers)), script, Arc::default(), 3, None)
}

/// Runs one request and returns all its events.
fn launch(sessions: &mut Scripted<Fake>, label: u16, session: u64) -> Vec<Event> {
    let mut events = Vec::new();
    let launch = Launch { intended: sessions.now(), session, step: u32::from(label), place: 0, visit: Visit::FIRST };
    sessions.send(launch, label, 0, &mut events);
    while events.last().is_none_or(|event| event.object > 0) {
        sessions.wait(Instant::from_secs(100), &mut events);
    }
    events
}

const PAGE: &str = "[[request]]\nget = \"/page\"\nobjects = [\"/1\", \"/2\", \"/3\", \"/4\", \"/5\"]\n";

#[test]
fn a_page_is_complete_with_its_last_object() {
    let mut sessions = sessions(&format!("{PAGE}connections = 2"));
    let events = launch(&mut sessions, 0, 8);
    let objects: Vec<u16> = events.iter().map(|event| event.object).collect();
    assert_eq!(objects, [1, 2, 3, 4, 5, 0], "the request's event comes last");
    let done: Vec<u64> = events.iter().map(|event| event.done.unwrap().0 / 1_000_000).collect();
    assert_eq!(done, [2, 2, 3, 3, 4, 1], "two at a time, after the page");
    assert!(events.iter().all(|event| event.outcome == Outcome::Ok && event.session == 8 && event.worker == 3));
    assert!(
        events[..5].iter().all(|event| event.intended == Instant::from_millis(1)),
        "wanted when the page was there"
    );
    let lanes: Vec<u8> = sessions.client.sent_text.iter().map(|(lane, ..)| *lane).collect();
    assert_eq!((sessions.client.most, lanes), (2, vec![0, 0, 1, 0, 1, 0]));
    assert!(sessions.pages.is_empty());
}

#[test]
fn objects_may_be_fetched_while_the_page_arrives() {
    let mut sessions = sessions(&format!("{PAGE}objects_when = \"while\"\nconnections = 3"));
    let events = launch(&mut sessions, 0, 0);
    assert_eq!(events.len(), 6);
    let lanes: Vec<u8> = sessions.client.sent_text.iter().map(|(lane, ..)| *lane).collect();
    assert_eq!(lanes[..4], [0, 1, 2, 0], "the first connection is the page's until it is there");
}

#[test]
fn a_response_that_takes_long_is_evaluated_beside_the_sending_thread() {
    let mut sessions = sessions(
        "[[request]]\nname = \"large\"\nget = \"/large\"\nextract = [{ name = \"last\", json = \"$..[120000]\" }]\n\
         [[request]]\nname = \"small\"\nget = \"/{{last}}\"\n\
         [[flow]]\nname = \"f\"\nstep = [{ request = \"large\" }, { request = \"small\" }]",
    );
    let mut events = Vec::new();
    sessions.send(
        Launch { intended: Instant::ZERO, session: 5, step: 0, place: 0, visit: Visit::FIRST },
        0,
        0,
        &mut events,
    );
    sessions.wait(Instant::from_secs(1), &mut events);
    assert!(events.is_empty() && sessions.evaluator.as_ref().is_some_and(Evaluator::is_busy));
    while events.is_empty() {
        sessions.wait(Instant::from_secs(1), &mut events);
    }
    assert_eq!((events[0].session, events[0].outcome, events[0].done), (5, Outcome::Ok, Some(Instant::from_millis(1))));
    assert_eq!(launch(&mut sessions, 1, 5)[0].outcome, Outcome::Ok);
    assert_eq!(sessions.client.sent_text.last().unwrap().1, "/0", "the value has come back to its session");
}

#[test]
fn the_end_of_a_run_waits_for_evaluations() {
    let mut sessions = sessions("[[request]]\nget = \"/large\"\ncheck = [{ json = \"$..[120000]\", is = \"1\" }]");
    let mut events = Vec::new();
    let launch = Launch { intended: Instant::ZERO, session: 5, step: 0, place: 0, visit: Visit::FIRST };
    sessions.send(launch, 0, 0, &mut events);
    sessions.wait(Instant::from_secs(1), &mut events);
    sessions.cancel_all(&mut events);
    assert_eq!((events.len(), events[0].outcome), (1, Outcome::CheckFailed));
    assert!(sessions.pages.is_empty());
}

#[test]
fn a_failed_page_fetches_no_objects() {
    let mut sessions = sessions(&PAGE.replace("/page", "/missing"));
    let events = launch(&mut sessions, 0, 0);
    assert_eq!((events.len(), events[0].outcome), (1, Outcome::HttpError));
}

#[test]
fn a_failed_object_fails_its_page_unless_allowed() {
    let page = "[[request]]\nget = \"/page\"\nobjects = [\"/1\", \"/missing\", \"/broken\"]\n";
    for (more, outcome, reason) in
        [("", Outcome::ObjectFailed, "object /missing: http_error 404"), ("objects_may_fail = true", Outcome::Ok, "")]
    {
        let mut sessions = sessions(&format!("{page}on_failure = \"end-session\"\n{more}"));
        let events = launch(&mut sessions, 0, 0);
        let mut ended: Vec<(u16, Outcome)> = events.iter().map(|event| (event.object, event.outcome)).collect();
        ended.sort_by_key(|(object, _)| *object);
        assert_eq!(ended, [(0, outcome), (1, Outcome::Ok), (2, Outcome::HttpError), (3, Outcome::Reset)]);
        let page = events.last().unwrap();
        assert_eq!((page.status, page.why().as_ref()), (200, reason));
        assert_eq!(sessions.ends_session(page, None), outcome != Outcome::Ok);
    }
}

#[test]
fn redirects_are_one_request_and_keep_cookies() {
    let mut sessions = sessions("[[request]]\npost = \"/login\"");
    let [event] = &launch(&mut sessions, 0, 4)[..] else { panic!("one event") };
    assert_eq!((event.outcome, event.status), (Outcome::Ok, 200));
    assert_eq!((event.sent, event.done), (Some(Instant::ZERO), Some(Instant::from_millis(2))));
    assert_eq!((event.bytes_out, event.bytes_in), (200, 20));
    let sent_text = [(0, "/login".to_owned(), None), (0, "/home".to_owned(), Some("sid=7".to_owned()))];
    assert_eq!(sessions.client.sent_text, sent_text);
    // Each session has cookies of its own until it is closed.
    launch(&mut sessions, 0, 5);
    assert_eq!(sessions.client.sent_text[2].2, None);
    sessions.close_session(4);
    launch(&mut sessions, 0, 4);
    assert_eq!((sessions.client.sent_text[4].2.as_deref(), &sessions.client.left[..]), (None, &[4][..]));
}

#[test]
fn a_value_is_from_the_last_response_of_a_chain_of_redirects_that_has_it() {
    let extract = |find: &str| {
        let mut sessions = sessions(&format!(
            "[[request]]\nname = \"in\"\npost = \"/login\"\nextract = [{{ name = \"v\", {find} }}]\n[[request]]\nname = \"next\"\n\
             get = \"/next/{{{{v}}}}\"\n[[flow]]\nname = \"f\"\n[[flow.step]]\nrequest = \"in\"\n[[flow.step]]\nrequest = \"next\""
        ));
        let outcome = launch(&mut sessions, 0, 1)[0].outcome;
        launch(&mut sessions, 1, 1);
        (outcome, sessions.client.sent_text.last().unwrap().1.clone())
    };
    // The redirect is the only response with this header.
    assert_eq!(extract("header = \"Location\""), (Outcome::Ok, "/next//home".to_owned()));
    assert_eq!(extract("header = \"None\"").0, Outcome::CheckFailed);
}

#[test]
fn failed_redirects_have_reasons() {
    for (path, outcome, error) in [
        ("/loop", Outcome::CheckFailed, "more than 2 redirects"),
        ("/away", Outcome::CheckFailed, "redirect: http://elsewhere/ is on another server than http://h"),
        ("/to-broken", Outcome::Reset, "broke"),
    ] {
        let mut sessions = sessions(&format!("[[request]]\nget = \"{path}\""));
        let [event] = &launch(&mut sessions, 0, 0)[..] else { panic!("one event") };
        assert_eq!((event.outcome, event.why().as_ref()), (outcome, error), "{path}");
        assert_eq!(event.sent, Some(Instant::ZERO));
    }
}

#[test]
fn extracted_values_are_used_and_missing_ones_fail_the_request() {
    let mut sessions = sessions(
        "[[request]]\nname = \"home\"\nget = \"/home\"\nextract = [{ name = \"id\", json = \"$.id\" }]\n[[request]]\nname = \"item\"\nget = \"/item/{{id}}\"\n[[flow]]\nname = \"f\"\n[[flow.step]]\nrequest = \"home\"\n[[flow.step]]\nrequest = \"item\"",
    );
    let [unsent] = &launch(&mut sessions, 1, 1)[..] else { panic!("one event") };
    assert_eq!((unsent.outcome, unsent.sent), (Outcome::NoValue, None));
    assert_eq!(unsent.why(), "{{id}} has no value (nothing was extracted)");
    launch(&mut sessions, 0, 1);
    assert_eq!(launch(&mut sessions, 1, 1)[0].outcome, Outcome::Ok);
    assert_eq!(sessions.client.sent_text.last().unwrap().1, "/item/a%201");
}

#[test]
fn an_expected_status_is_a_success() {
    let mut sessions = sessions("[[request]]\nget = \"/missing\"\ncheck = [{ status = 404 }]");
    assert_eq!(launch(&mut sessions, 0, 0)[0].outcome, Outcome::Ok);
}

#[test]
fn failures_end_sessions_or_the_run_as_configured() {
    let request = |more: &str| format!("[[request]]\nget = \"/missing\"\n{more}");
    let mut goes_on = sessions(&request(""));
    let event = launch(&mut goes_on, 0, 0).remove(0);
    assert!(!goes_on.ends_session(&event, None));
    let mut leaves = sessions(&request("on_failure = \"end-session\""));
    let event = launch(&mut leaves, 0, 0).remove(0);
    assert!(leaves.ends_session(&event, None) && leaves.halt.halted().is_none());
    let mut stops = sessions(&request("on_failure = \"stop\"\ncheck = [{ status = 200 }]"));
    let event = launch(&mut stops, 0, 0).remove(0);
    assert!(stops.ends_session(&event, None));
    let halted = stops.halt.halted().unwrap();
    assert_eq!(halted.reason, "request `/missing` failed: check_failed (status = 200)");
    assert_eq!(halted.end, End::RequestFailed);
}

/// The cookies of the requests of a user who signs in and opens a page, twice.
fn cookies(visitor: &str) -> Vec<Option<String>> {
    let text = format!(
        "duration = \"10s\"\narrivals.closed = {{ users = 1, visits = 2, visitor = \"{visitor}\" }}\n\
         [target]\nurl = \"http://h/\"\ncookies = true\n\
         [[request]]\nname = \"in\"\nget = \"/login\"\n[[request]]\nname = \"look\"\nget = \"/page\"\n\
         [[flow]]\nname = \"f\"\nstep = [{{ request = \"in\" }}, {{ request = \"look\" }}]\n"
    );
    let workload = Workload::parse(&text, "w", &|_| Err(String::new())).unwrap_or_else(|mistake| panic!("{mistake}"));
    let script = Arc::new(Script::new(&workload, workload.target().unwrap()).unwrap());
    let (mut sink, stop): (Vec<Event>, _) = (Vec::new(), AtomicBool::new(false));
    let mut driver = Driver {
        agenda: workload.agenda(Share::ALL),
        mix: workload.mix(),
        late: workload.late(),
        end: workload.end(),
        in_flight: InFlight::new(&workload, |limit| limit),
        worker: 0,
        numbering: (0, 1),
        transport: Scripted::new(Box::new(Fake::new(answers)), script, Arc::default(), 0, None),
        stop: &stop,
        abort: &stop,
        live: &LiveCounters::default(),
        sink: &mut sink,
        sessions: workload.sessions(),
        positions: Some(HashMap::new()),
        attempts: None,
    };
    driver.run();
    driver.transport.client.sent_text.into_iter().map(|(_, _, cookie)| cookie).collect()
}

#[test]
fn cookies_are_kept_only_for_the_same_visitor() {
    let id = || Some("sid=7".to_owned());
    assert_eq!(cookies("new"), [None, id(), None, id()]);
    assert_eq!(cookies("same"), [None, id(), id(), id()]);
}

#[test]
fn the_end_of_the_data_stops_the_run() {
    let mut sessions =
        sessions("[variables]\nuser = { file = \"u.csv\", at_end = \"error\" }\n[[request]]\nget = \"/{{user.n}}\"");
    assert_eq!(launch(&mut sessions, 0, 0)[0].outcome, Outcome::Ok);
    let event = launch(&mut sessions, 0, 1).remove(0);
    assert_eq!(event.why(), "the 1 rows of u.csv are used up (user)");
    assert_eq!(sessions.halt.halted().unwrap().end, End::Error);
}

#[test]
fn cancelled_exchanges_have_events() {
    let mut sessions = sessions(&format!("{PAGE}connections = 2"));
    let mut events = Vec::new();
    sessions.send(
        Launch { intended: Instant::ZERO, session: 0, step: 0, place: 0, visit: Visit::FIRST },
        0,
        0,
        &mut events,
    );
    sessions.wait(Instant::from_secs(1), &mut events);
    sessions.cancel_all(&mut events);
    let ended: Vec<(u16, Outcome)> = events.iter().map(|event| (event.object, event.outcome)).collect();
    assert_eq!(ended, [(1, Outcome::Cut), (2, Outcome::Cut), (0, Outcome::Cut)]);
}
