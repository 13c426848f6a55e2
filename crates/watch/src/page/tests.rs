//! The page's server as seen by a browser, on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering::Relaxed;

use offered_base::Instant;
use offered_run::Counts;
use offered_workload::Workload;

use super::*;
use crate::Tally;

fn page() -> (LivePage, Arc<AtomicBool>) {
    let stop = Arc::new(AtomicBool::new(false));
    let page = LivePage::serve("127.0.0.1:0".parse().unwrap(), "a <b>run</b>".into(), Some(stop.clone())).unwrap();
    (page, stop)
}

fn snapshot(secs: u64) -> Snapshot {
    let text = "duration = \"9s\"\narrivals.open.rate = \"1/s\"\n";
    let workload = Workload::parse(text, "test", &|_| Err(String::new())).unwrap();
    let counts = Counts { requests: 100 + secs, ..Counts::default() };
    Tally::new(&workload, 1.0).snapshot(Instant::from_secs(secs), counts, false)
}

/// Sends a request for `path` below the page's own path; returns the open connection.
fn send(url: &str, method: &str, path: &str) -> TcpStream {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, own) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let path = path.strip_prefix('/').map_or_else(|| format!("{own}{path}"), str::to_owned);
    let length = "Content-Length: 0\r\nConnection: close";
    write!(stream, "{method} /{path} HTTP/1.1\r\nHost: {host}\r\n{length}\r\n\r\n").unwrap();
    stream
}

/// The whole response.
fn response(url: &str, method: &str, path: &str) -> String {
    let mut text = String::new();
    send(url, method, path).read_to_string(&mut text).unwrap();
    text
}

/// Reads server-sent events until a line that starts with `line`; returns that line.
fn until(events: &mut impl BufRead, line: &str) -> String {
    events.lines().map(Result::unwrap).find(|read| read.starts_with(line)).unwrap_or_else(|| panic!("no {line}"))
}

#[test]
fn the_page_and_its_resources_are_served_under_the_token_only() {
    let (page, _) = page();
    for (path, kind, part) in [
        ("", "text/html", "<title>offered"),
        ("live.css", "text/css", ".verdict"),
        ("live.js", "text/javascript", "EventSource"),
    ] {
        let response = response(page.url(), "GET", path);
        assert!(
            response.starts_with("HTTP/1.1 200") && response.contains(kind) && response.contains(part),
            "{response}"
        );
        assert!(response.contains("no-store") && response.contains("no-referrer"), "{response}");
    }
    assert!(response(page.url(), "GET", "").contains("script-src 'self'"));
    let wrong = "/00000000000000000000000000000000/";
    for path in ["/", "/live.js", wrong, &format!("{wrong}events"), "nothing"] {
        let response = response(page.url(), "GET", path);
        assert!(response.starts_with("HTTP/1.1 404"), "{path}: {response}");
    }
}

#[test]
fn every_page_has_its_own_token() {
    let (one, two) = (page().0, page().0);
    let token = |page: &LivePage| page.url().rsplit('/').nth(1).unwrap().to_owned();
    assert_ne!(token(&one), token(&two));
    assert!(token(&one).len() == 32 && token(&one).bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn only_a_post_under_the_token_stops_the_run() {
    let (page, stop) = page();
    assert!(response(page.url(), "GET", "stop").starts_with("HTTP/1.1 405"));
    assert!(response(page.url(), "POST", "/0/stop").starts_with("HTTP/1.1 404"));
    assert!(!stop.load(Relaxed));
    assert!(response(page.url(), "POST", "stop").starts_with("HTTP/1.1 204"));
    assert!(stop.load(Relaxed));
}

#[test]
fn a_page_without_stop_flag_cannot_stop_the_run() {
    let page = LivePage::serve("127.0.0.1:0".parse().unwrap(), "a run".into(), None).unwrap();
    assert!(response(page.url(), "POST", "stop").starts_with("HTTP/1.1 404"));
    let mut events = BufReader::new(send(page.url(), "GET", "events"));
    assert!(until(&mut events, "data:").contains("\"can_stop\":false"));
}

#[test]
fn events_start_with_the_past_and_end_with_the_report() {
    let (page, _) = page();
    let feed = page.feed();
    feed.update(&snapshot(1));
    let mut events = BufReader::new(send(page.url(), "GET", "events"));
    assert_eq!(until(&mut events, "data:"), "data: {\"about\":\"a <b>run</b>\",\"can_stop\":true}");
    assert!(until(&mut events, "data:").contains("\"requests\":101"));
    feed.update(&snapshot(2));
    assert!(until(&mut events, "data:").contains("\"requests\":102"));
    std::thread::scope(|scope| {
        let url = page.url().to_owned();
        scope.spawn(move || page.end("<p>the report".to_owned()));
        until(&mut events, "event: ended");
        assert_eq!(until(&mut events, "data:"), "data: the page is now the report");
        let mut rest = String::new();
        // The stream has ended, and the server waits for this page to fetch the report.
        events.read_to_string(&mut rest).unwrap();
        assert!(response(&url, "GET", "").ends_with("<p>the report"));
    });
}

#[test]
fn texts_from_outside_are_readable() {
    let page = LivePage::serve("127.0.0.1:0".parse().unwrap(), "http://h/\u{202e}gpj".into(), None).unwrap();
    let mut hostile = snapshot(1);
    hostile.reason = "a\u{1b}[2J\nb".to_owned();
    hostile.workers = vec![crate::LiveWorker { name: "1/2 on \u{200b}vm".to_owned(), ..crate::LiveWorker::default() }];
    page.feed().update(&hostile);
    let mut events = BufReader::new(send(page.url(), "GET", "events"));
    assert!(until(&mut events, "data:").contains("http://h/\\\\u{202e}gpj"));
    let sent = until(&mut events, "data:");
    assert!(sent.contains(r"a\\u{1b}[2J\\nb") && sent.contains(r"1/2 on \\u{200b}vm"), "{sent}");
}

#[test]
fn without_an_open_page_the_end_does_not_wait() {
    let (page, _) = page();
    let url = page.url().to_owned();
    page.end("<p>not read".to_owned());
    let host = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    assert!(TcpStream::connect(host).is_err(), "the server has ended");
}

#[test]
fn a_page_opened_late_gets_the_last_quarter_of_an_hour() {
    let (page, _) = page();
    let feed = page.feed();
    (1..=MAX_PAST as u64 + 5).for_each(|secs| feed.update(&snapshot(secs)));
    let mut events = BufReader::new(send(page.url(), "GET", "events"));
    until(&mut events, "event: snapshot");
    assert!(until(&mut events, "data:").contains("\"requests\":106"));
}

/// The status of the response to a request with these header lines.
fn status(page: &LivePage, method: &str, path: &str, lines: &str) -> String {
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
fn requests_from_other_sites_are_rejected() {
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

/// Half a request head, and nothing more.
fn half_heads(address: &str, number: usize) -> Vec<TcpStream> {
    let half = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
        stream
    };
    (0..number).map(half).collect()
}

#[test]
fn half_sent_requests_do_not_block_other_clients() {
    let (page, _) = page();
    let address = page.url().strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    let idle = half_heads(&address, 200);
    assert!(response(page.url(), "GET", "").starts_with("HTTP/1.1 200"));
    // It was served before the last idle connection timed out.
    let last = idle.last().unwrap();
    last.set_nonblocking(true).unwrap();
    assert_eq!((&mut &*last).read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn open_pages_are_never_closed_for_new_connections() {
    let (page, _) = page();
    let address = page.url().strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    let mut events = BufReader::new(send(page.url(), "GET", "events"));
    until(&mut events, "data:");
    let _idle = half_heads(&address, 200);
    assert!(response(page.url(), "GET", "").starts_with("HTTP/1.1 200"), "all connections were accepted");
    page.feed().update(&snapshot(1));
    assert!(until(&mut events, "data:").contains("\"requests\":101"));
}
