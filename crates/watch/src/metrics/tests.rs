//! Metrics as they are scraped, on loopback. (`promtool` and Prometheus read them in `tests/live/metrics.rs`.)

use std::io::{Read, Write};
use std::net::TcpStream;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};
use offered_run::Counts;
use offered_workload::Workload;

use super::*;
use crate::Tally;

const WORKLOAD: &str = r#"
duration = "9s"
skip_first = "5s"
target.url = "http://127.0.0.1:9"
arrivals.closed = { users = 3, think.exponential = "1s" }
thresholds = { "errors" = "< 10%" }
[[request]]
name = "say \"hi\" \\ \u202e"
get = "/"
"#;

fn snapshot() -> Snapshot {
    let workload = Workload::parse(WORKLOAD, "test", &|_| Err(String::new())).unwrap();
    let mut tally = Tally::new(&workload, 1.0);
    tally.enable_totals();
    let ended = |ms, outcome| {
        let at = Instant::from_millis(7_000);
        Event { sent: Some(at), done: Some(at + Nanos::from_millis(ms)), outcome, ..Event::at(at) }
    };
    // The server counts requests outside the analysed time too, so metrics include them.
    let early = Event { intended: Instant::ZERO, ..ended(30, Outcome::Ok) };
    tally.add(&[early, ended(30, Outcome::Ok), ended(30, Outcome::Timeout)]);
    let counts = Counts { requests: 5, unsent: 1, in_flight: 1, ..Counts::default() };
    tally.snapshot(Instant::from_secs(8), counts, false)
}

fn scrape(address: SocketAddr, path: &str, accept: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn on_loopback_only_addresses_and_localhost_are_hosts() {
    let metrics = MetricsServer::serve("127.0.0.1:0".parse().unwrap()).unwrap();
    let status = |host: &str| {
        let mut stream = TcpStream::connect(metrics.address()).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\n{host}Connection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    for (host, expected) in [
        ("Host: 127.0.0.1:9464\r\n", "200"),
        ("Host: [::1]:9464\r\n", "200"),
        ("Host: localhost\r\n", "200"),
        ("Host: evil.example:9464\r\n", "403"),
        ("", "403"),
    ] {
        assert_eq!(status(host), expected, "{host}");
    }
    // Prometheus scrapes services by their names; what listens for other machines is open to them anyway.
    let metrics = MetricsServer::serve("0.0.0.0:0".parse().unwrap()).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", metrics.address().port())).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: load.svc:9464\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
}

#[test]
fn both_formats_follow_their_specifications() {
    let metrics = MetricsServer::serve("127.0.0.1:0".parse().unwrap()).unwrap();
    let open = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4";
    assert!(scrape(metrics.address(), "/metrics", open).ends_with("\r\n\r\n# EOF\n"), "no figures yet");
    metrics.feed().update(&snapshot());
    let plain = scrape(metrics.address(), "/metrics", "*/*");
    let open = scrape(metrics.address(), "/metrics", open);
    assert!(plain.contains("content-type: text/plain; version=0.0.4") && !plain.contains("# EOF"), "{plain}");
    assert!(open.contains("content-type: application/openmetrics-text") && open.ends_with("# EOF\n"), "{open}");
    assert!(plain.contains("# TYPE offered_requests_total counter\n"), "{plain}");
    assert!(open.contains("# TYPE offered_requests counter\n"), "{open}");
    let request = r#"request="say \"hi\" \\ \\u{202e}""#;
    for line in [
        "offered_scheduled_requests_total 5\n",
        "offered_unsent_requests_total 1\n",
        "offered_requests_in_flight 1\n",
        "offered_users 3\n",
        "offered_validity{validity=\"not_checked\"} 1\n",
        "offered_validity{validity=\"valid\"} 0\n",
        "offered_threshold_passed{threshold=\"errors.rate < 10%\"} 0\n",
        &format!("offered_requests_total{{{request},outcome=\"ok\"}} 2\n"),
        &format!("offered_requests_total{{{request},outcome=\"timeout\"}} 1\n"),
        &format!("offered_service_seconds_bucket{{{request},le=\"0.025\"}} 0\n"),
        &format!("offered_service_seconds_bucket{{{request},le=\"0.05\"}} 2\n"),
        &format!("offered_service_seconds_bucket{{{request},le=\"+Inf\"}} 2\n"),
        &format!("offered_service_seconds_sum{{{request}}} 0.06\n"),
        "offered_lateness_seconds_bucket{le=\"1e-6\"} 2\n",
        "offered_lateness_seconds_count 3\n",
    ] {
        assert!(plain.contains(line) && open.contains(line), "{line}{plain}");
    }
    assert!(!plain.contains("target"), "a closed system has no target rate: {plain}");
    assert!(scrape(metrics.address(), "/", "*/*").contains("404"));
    metrics.end();
}

#[test]
fn a_client_that_scraped_before_gets_the_last_figures() {
    let metrics = MetricsServer::serve("127.0.0.1:0".parse().unwrap()).unwrap();
    assert!(!metrics.was_scraped());
    scrape(metrics.address(), "/metrics", "*/*");
    assert!(metrics.was_scraped() && !metrics.was_scraped());
    let address = metrics.address();
    let asking = std::thread::spawn(move || scrape(address, "/metrics", "*/*"));
    assert!(metrics.end_after_last_scrape(|| true), "a client scrapes once more");
    assert!(asking.join().unwrap().starts_with("HTTP/1.1 200"));

    let metrics = MetricsServer::serve("127.0.0.1:0".parse().unwrap()).unwrap();
    assert!(!metrics.end_after_last_scrape(|| false), "no client waits for it");
}
