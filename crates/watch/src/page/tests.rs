//! The page's server as a browser meets it, on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering::Relaxed;

use offered_model::{Instant, Workload};
use offered_run::Counts;

use super::*;
use crate::Tally;

fn page() -> (Page, Arc<AtomicBool>) {
    let stop = Arc::new(AtomicBool::new(false));
    let page = Page::serve("127.0.0.1:0".parse().unwrap(), "a <b>run</b>".into(), Some(stop.clone())).unwrap();
    (page, stop)
}

fn pulse(secs: u64) -> Pulse {
    let text = "duration = \"9s\"\narrivals.open.rate = \"1/s\"\n";
    let workload = Workload::parse(text, "test", &|_| Err(String::new())).unwrap();
    let counts = Counts { launched: 100 + secs, ..Counts::default() };
    Tally::new(&workload, 1.0).pulse(Instant::from_secs(secs), counts, false)
}

/// A request for `path` under the page's own, under way.
fn ask(url: &str, method: &str, path: &str) -> TcpStream {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, own) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let path = path.strip_prefix('/').map_or_else(|| format!("{own}{path}"), str::to_owned);
    let length = "Content-Length: 0\r\nConnection: close";
    write!(stream, "{method} /{path} HTTP/1.1\r\nHost: {host}\r\n{length}\r\n\r\n").unwrap();
    stream
}

/// The whole answer.
fn answer(url: &str, method: &str, path: &str) -> String {
    let mut text = String::new();
    ask(url, method, path).read_to_string(&mut text).unwrap();
    text
}

/// Reads server-sent events on until a line that starts with `line`; the line.
fn until(events: &mut impl BufRead, line: &str) -> String {
    events.lines().map(Result::unwrap).find(|read| read.starts_with(line)).unwrap_or_else(|| panic!("no {line}"))
}

#[test]
fn the_page_and_what_belongs_to_it_are_there_under_the_token_only() {
    let (page, _) = page();
    for (path, kind, part) in [
        ("", "text/html", "<title>offered"),
        ("live.css", "text/css", ".verdict"),
        ("live.js", "text/javascript", "EventSource"),
    ] {
        let answer = answer(page.url(), "GET", path);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(kind) && answer.contains(part), "{answer}");
        assert!(answer.contains("no-store") && answer.contains("no-referrer"), "{answer}");
    }
    assert!(answer(page.url(), "GET", "").contains("script-src 'self'"));
    let wrong = "/00000000000000000000000000000000/";
    for path in ["/", "/live.js", wrong, &format!("{wrong}events"), "nothing"] {
        let answer = answer(page.url(), "GET", path);
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
}

#[test]
fn every_page_has_a_token_of_its_own() {
    let (one, two) = (page().0, page().0);
    let token = |page: &Page| page.url().rsplit('/').nth(1).unwrap().to_owned();
    assert_ne!(token(&one), token(&two));
    assert!(token(&one).len() == 32 && token(&one).bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn only_a_post_under_the_token_stops_the_run() {
    let (page, stop) = page();
    assert!(answer(page.url(), "GET", "stop").starts_with("HTTP/1.1 405"));
    assert!(answer(page.url(), "POST", "/0/stop").starts_with("HTTP/1.1 404"));
    assert!(!stop.load(Relaxed));
    assert!(answer(page.url(), "POST", "stop").starts_with("HTTP/1.1 204"));
    assert!(stop.load(Relaxed));
}

#[test]
fn who_only_watches_a_run_cannot_stop_it() {
    let page = Page::serve("127.0.0.1:0".parse().unwrap(), "a run".into(), None).unwrap();
    assert!(answer(page.url(), "POST", "stop").starts_with("HTTP/1.1 404"));
    let mut events = BufReader::new(ask(page.url(), "GET", "events"));
    assert!(until(&mut events, "data:").contains("\"can_stop\":false"));
}

#[test]
fn events_begin_with_what_is_past_and_end_with_the_report() {
    let (page, _) = page();
    let feed = page.feed();
    feed.show(&pulse(1));
    let mut events = BufReader::new(ask(page.url(), "GET", "events"));
    assert_eq!(until(&mut events, "data:"), "data: {\"about\":\"a <b>run</b>\",\"can_stop\":true}");
    assert!(until(&mut events, "data:").contains("\"launched\":101"));
    feed.show(&pulse(2));
    assert!(until(&mut events, "data:").contains("\"launched\":102"));
    std::thread::scope(|scope| {
        let url = page.url().to_owned();
        scope.spawn(move || page.end("<p>the report".to_owned()));
        until(&mut events, "event: ended");
        assert_eq!(until(&mut events, "data:"), "data: the page is now the report");
        let mut rest = String::new();
        // The stream is over, and the server waits for this page to fetch the report.
        events.read_to_string(&mut rest).unwrap();
        assert!(answer(&url, "GET", "").ends_with("<p>the report"));
    });
}

#[test]
fn without_an_open_page_the_end_does_not_wait() {
    let (page, _) = page();
    let url = page.url().to_owned();
    page.end("<p>nobody reads this".to_owned());
    let host = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    assert!(TcpStream::connect(host).is_err(), "nobody listens any more");
}

#[test]
fn a_page_opened_late_sees_the_last_quarter_of_an_hour() {
    let (page, _) = page();
    let feed = page.feed();
    (1..=KEPT as u64 + 5).for_each(|secs| feed.show(&pulse(secs)));
    let mut events = BufReader::new(ask(page.url(), "GET", "events"));
    until(&mut events, "event: pulse");
    assert!(until(&mut events, "data:").contains("\"launched\":106"));
}

/// The status of the answer to a request with these lines in its head.
fn status(page: &Page, method: &str, path: &str, lines: &str) -> String {
    let rest = page.url().strip_prefix("http://").unwrap();
    let (host, own) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "{method} /{own}{path} HTTP/1.1\r\n{lines}Content-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn who_asks_in_the_name_of_another_site_gets_nothing() {
    let (page, stop) = page();
    let host = page.url().strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    for (lines, expected) in [
        (format!("Host: {host}\r\n"), "204"),
        (format!("Host: {host}\r\nOrigin: http://{host}\r\n"), "204"),
        ("Host: localhost:8090\r\n".to_owned(), "204"),
        ("Host: [::1]:8090\r\n".to_owned(), "204"),
        ("Host: evil.example\r\n".to_owned(), "403"),
        ("Host: evil.example:80\r\n".to_owned(), "403"),
        (String::new(), "403"),
        (format!("Host: {host}\r\nOrigin: http://evil.example\r\n"), "403"),
        (format!("Host: {host}\r\nOrigin: null\r\n"), "403"),
    ] {
        stop.store(false, Relaxed);
        assert_eq!(status(&page, "POST", "stop", &lines), expected, "{lines}");
        assert_eq!(stop.load(Relaxed), expected == "204", "{lines}");
    }
    assert_eq!(status(&page, "GET", "", "Host: evil.example\r\n"), "403");
}

#[test]
fn connections_that_say_nothing_keep_nobody_out_for_long() {
    let (page, _) = page();
    let address = page.url().strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    let idle: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&address).unwrap()).collect();
    // It waits until those before it have been silent for too long, and is then answered.
    assert!(answer(page.url(), "GET", "").starts_with("HTTP/1.1 200"));
    drop(idle);
}
