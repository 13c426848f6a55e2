use std::fs;

use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use offered_base::Difference;
use offered_events::{MetricValue, TokenStream, VisitPosition};

use super::*;
use crate::{ReadOptions, read};

/// A run of 1.5 seconds with every outcome, all optional times, and names and errors that need quotes.
fn recording() -> Recording {
    let made = (0..1500u64).map(|i| {
        let intended = Instant(i * 1_000_000 + i * 7919 % 900_000);
        let sent = intended + Nanos(12_345);
        let outcome = Outcome::ALL[if i % 10 == 3 { (i % 9) as usize } else { 0 }];
        let unsent = outcome == Outcome::Unsent;
        let visit = VisitPosition { number: (i / 40) as u16, place: (i % 3) as u16, ends: i % 8 == 1 };
        let numbers = || [Some(-0.5), None, Some(i as f64)].map(MetricValue::new);
        Event {
            sent: (!unsent).then_some(sent),
            first_byte: (outcome == Outcome::Ok).then_some(sent + Nanos(1_234_567)),
            done: (!unsent).then_some(sent + Nanos(2_345_678 + i)),
            session: i % 40,
            step: (i / 40) as u32,
            label: (i % 2) as u16,
            outcome,
            status: if outcome == Outcome::Ok { 200 } else { 0 },
            bytes_in: 512 + i,
            bytes_out: 77,
            worker: (i % 2) as u16,
            error: (outcome != Outcome::Ok).then(|| "went, \"wrong\"".into()),
            visit: (outcome == Outcome::Ok && i % 4 == 1).then_some(visit),
            metrics: (outcome == Outcome::Ok && i % 5 == 1).then(|| Box::from(numbers())),
            stream: (i % 3 == 0).then(|| {
                let finish = Some(Finish::Length);
                let times =
                    TokenStream { head: intended, first_token: Some(intended), finish, ..TokenStream::default() };
                Box::new(TokenStream { tokens_out: Some(i), chunks: 3, coalesced: 1, gaps_us: vec![7, 0], ..times })
            }),
            ..Event::at(intended)
        }
    });
    Recording {
        events: made.collect::<Vec<Event>>().into(),
        labels: vec!["home".to_owned(), "a \"b\", c".to_owned()],
        format: "run".to_owned(),
        on_run_clock: true,
        resolution: Nanos(1),
        intent_known: true,
        sessions_known: true,
        ..Recording::default()
    }
}

fn exported(kind: ExportFormat, origin: Nanos) -> Vec<u8> {
    written(kind, &recording(), &RunContext { origin, ..RunContext::default() }).unwrap().0
}

/// The file, and what it lacks.
fn written(kind: ExportFormat, recording: &Recording, run: &RunContext<'_>) -> io::Result<(Vec<u8>, Vec<String>)> {
    let mut out = Vec::new();
    let omitted = write(kind, recording, run, &mut out)?;
    Ok((out, omitted.texts().collect()))
}

fn events(recording: &Recording) -> Vec<Event> {
    recording.events.to_vec().unwrap()
}

/// The sent requests, in the order of the recording.
fn sent_requests(recording: &Recording) -> Vec<Event> {
    events(recording).into_iter().filter(|event| event.sent.is_some()).collect()
}

fn read_back(kind: ExportFormat, origin: Nanos) -> Recording {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("exported");
    fs::write(&path, exported(kind, origin)).unwrap();
    read(&path, &ReadOptions::default()).unwrap()
}

#[test]
fn a_pgbench_log_agrees_with_the_run_to_the_microsecond() {
    let origin = Nanos::from_secs(1_795_186_049);
    let (run, log) = (recording(), read_back(ExportFormat::Pgbench, origin));
    assert_eq!((log.format.as_str(), log.intent_known, log.unreadable), ("pgbench", true, 0));
    let us = |at: Instant| Instant((at + origin).0 / 1000 * 1000);
    let good = |recording: &Recording| -> Vec<Event> {
        events(recording).into_iter().filter(|event| event.outcome == Outcome::Ok).collect()
    };
    let (mut meant, mut told) = (good(&run), good(&log));
    meant.sort_by_key(|event| event.done);
    told.sort_by_key(|event| event.done);
    assert_eq!(told.len(), meant.len());
    for (told, meant) in told.iter().zip(&meant) {
        let times = [Some(meant.intended), meant.sent, meant.done].map(|at| at.map(us));
        assert_eq!([Some(told.intended), told.sent, told.done], times);
    }
    let failed = sent_requests(&run).iter().filter(|event| event.outcome != Outcome::Ok).count();
    let text = String::from_utf8(exported(ExportFormat::Pgbench, origin)).unwrap();
    assert_eq!(text.lines().filter(|line| line.split(' ').nth(2) == Some("failed")).count(), failed);
    // With a pool, the client is the connection, and the wait for it is lag.
    let mut pooled = recording();
    let first = Event { waited: Some(Nanos::from_millis(1)), ..events(&pooled).remove(0) };
    pooled.events = vec![first].into();
    let (out, _) = written(ExportFormat::Pgbench, &pooled, &RunContext { origin, ..RunContext::default() }).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "0 0 2358 0 1795186049 2358 1012\n");
}

#[test]
fn a_jtl_agrees_with_the_run() {
    let origin = Nanos::from_secs(1_795_186_049);
    let (run, jtl) = (recording(), read_back(ExportFormat::Jtl, origin));
    assert_eq!((jtl.format.as_str(), jtl.resolution, jtl.intent_known, jtl.unreadable), ("jtl-csv", Nanos(1), true, 0));
    assert_eq!((&jtl.labels, jtl.on_run_clock), (&run.labels, true));
    let sent = sent_requests(&run);
    assert_eq!(jtl.events.launches(), sent.len() as u64);
    for (read, event) in events(&jtl).iter().zip(&sent) {
        assert_eq!((read.intended, read.sent), (event.intended, event.sent));
        assert_eq!((read.first_byte, read.done), (event.first_byte, event.done));
        assert_eq!(
            (read.session, read.label, read.status, read.worker),
            (event.session, event.label, event.status, event.worker)
        );
        assert_eq!((read.bytes_in, read.bytes_out), (event.bytes_in, event.bytes_out));
        assert_eq!(read.step, event.step);
        assert_eq!(read.outcome, event.outcome);
        assert_eq!(read.error, event.error);
    }
}

#[test]
fn vegeta_output_agrees_with_the_sent_requests() {
    let (run, vegeta) = (recording(), read_back(ExportFormat::Vegeta, Nanos::from_secs(1_795_186_049)));
    assert_eq!(vegeta.format, "vegeta-json");
    let service = |recording: &Recording| events(recording).iter().filter_map(Event::service).collect::<Vec<_>>();
    assert_eq!(service(&vegeta), service(&run));
}

#[test]
fn k6_and_combined_logs_agree_with_the_sent_requests() {
    let origin = Nanos::from_secs(1_795_186_049);
    let (run, k6) = (recording(), read_back(ExportFormat::K6, origin));
    assert_eq!((k6.format.as_str(), k6.unreadable, k6.sessions_known), ("k6-json", 0, true));
    let sent = sent_requests(&run);
    let mut read = events(&k6);
    read.sort_by_key(|event| event.sent);
    assert_eq!(read.len(), sent.len());
    for (read, event) in read.iter().zip(&sent) {
        let near = |a: Option<Instant>, b: Option<Instant>| (a.unwrap() - b.unwrap()).0.abs() <= 2;
        assert!(near(read.sent, event.sent.map(|at| at + origin)), "{read:?} {event:?}");
        let took = |event: &Event| event.service().map(|service| Instant::ZERO + service.positive());
        assert!(near(took(read), took(event)), "{read:?} {event:?}");
        assert_eq!(read.session, event.session);
        assert_eq!(read.outcome == Outcome::Ok, event.outcome == Outcome::Ok, "{event:?}");
        assert_eq!(k6.labels[usize::from(read.label)], run.labels[usize::from(event.label)]);
    }
    let log = read_back(ExportFormat::Combined, origin);
    assert_eq!((log.format.as_str(), log.unreadable, log.resolution), ("access-log", 0, Nanos::from_secs(1)));
    // Without a connection no server has a line.
    let received: Vec<&Event> =
        sent.iter().filter(|event| !matches!(event.outcome, Outcome::Refused | Outcome::Dns)).collect();
    assert_eq!(log.events.launches(), received.len() as u64);
    assert!(received.len() < sent.len());
    for (read, event) in events(&log).iter().zip(received) {
        let second = (event.sent.unwrap() + origin).0 / 1_000_000_000;
        assert_eq!((read.sent, read.status), (Some(Instant::from_secs(second)), event.status));
    }
}

/// Intended, sent, done, outcome and session.
type Times = (Instant, Option<Instant>, Option<Instant>, Outcome, u64);

/// The fields of a recording that a verdict uses.
fn known(recording: &Recording) -> (bool, bool, Nanos, Vec<Times>) {
    let times = |e: &Event| (e.intended, e.sent, e.done, e.outcome, e.session);
    let events = events(recording).iter().map(times).collect();
    (recording.intent_known, recording.sessions_known, recording.resolution, events)
}

#[test]
fn an_exported_recording_has_the_same_verdict_fields() {
    let gatling = "RUN\tc.Sim\tsim\t1500000000000\t \t3.10.5\nREQUEST\t\t=home\t1500000000040\t1500000000051\tOK\t \n\
                   REQUEST\t\thome\t1500000000002\t1500000000061\tOK\t \n";
    let source = crate::read_from("s", gatling.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!((source.resolution, source.intent_known, source.sessions_known), (Nanos(1_000_000), false, false));
    let again = |to| {
        let (out, _) = written(to, &source, &RunContext::default()).unwrap();
        (crate::read_from("x", &out[..], &ReadOptions::default()).unwrap(), String::from_utf8(out).unwrap())
    };
    // Sorted by time, unlike the source.
    let in_order: Vec<Event> = events(&source).into_iter().rev().collect();
    let in_order = Recording { events: in_order.into(), ..source.clone() };
    for to in [ExportFormat::Csv, ExportFormat::Jtl] {
        let (read, text) = again(to);
        assert_eq!(known(&read), known(&in_order), "{text}");
        assert!(!read.on_run_clock, "another tool's file has no start: {text}");
        assert_eq!(read.labels, ["home", "=home"], "{text}");
        assert!(text.contains(",'=home,"), "no cell is a formula: {text}");
    }
    let (vegeta, text) = again(ExportFormat::Vegeta);
    assert_eq!((vegeta.resolution, events(&vegeta)[0].sent), (source.resolution, events(&in_order)[0].sent));
    assert_eq!(text.matches("\"code\":200").count(), 2, "an answer that was good is a success: {text}");
}

#[test]
fn requests_sent_too_early_stay_so() {
    let event = |sent: u64, done: u64| Event {
        sent: Some(Instant::from_millis(sent)),
        done: Some(Instant::from_millis(done)),
        outcome: Outcome::Ok,
        status: 200,
        ..Event::at(Instant::from_millis(10))
    };
    // 3 ms too early; and so early that the response arrived before the scheduled time.
    let early = Recording { events: vec![event(7, 17), event(4, 8)].into(), ..recording() };
    let run = RunContext { origin: Nanos::from_secs(1_795_186_049), ..RunContext::default() };
    let written = |to, recording: &Recording| written(to, recording, &run).map(|(out, _)| out);
    for to in [ExportFormat::Csv, ExportFormat::Jtl, ExportFormat::Pgbench] {
        let out = written(to, &early).unwrap();
        let read = crate::read_from("x", &out[..], &ReadOptions::default()).unwrap();
        let mut launches = events(&read);
        launches.sort_by_key(|event| std::cmp::Reverse(event.done));
        let shown = |time: Option<Difference>| time.unwrap().to_string();
        let times: Vec<_> = launches.iter().map(|event| (shown(event.lateness()), shown(event.response()))).collect();
        let expected = [("-3ms", "7ms"), ("-6ms", "-2ms")].map(|(late, took)| (late.to_owned(), took.to_owned()));
        assert_eq!((times.as_slice(), read.unreadable), (&expected[..], 0), "{}", String::from_utf8_lossy(&out));
    }
    let refused = written(ExportFormat::Hdr, &early).unwrap_err().to_string();
    assert!(refused.starts_with("a histogram cannot contain a negative response time (-2ms)"), "{refused}");
    written(ExportFormat::Hdr, &Recording { events: vec![event(7, 17)].into(), ..early }).unwrap();
}

#[test]
fn csv_is_read_back_unchanged() {
    let (run, read) = (recording(), read_back(ExportFormat::Csv, Nanos::ZERO));
    assert_eq!((read.format.as_str(), read.unreadable, read.on_run_clock), ("offered-csv", 0, true));
    assert_eq!((events(&read), &read.labels), (events(&run), &run.labels));
}

#[test]
fn csv_has_every_event_and_every_column() {
    let text = String::from_utf8(exported(ExportFormat::Csv, Nanos::ZERO)).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap().split(',').count(), 51);
    assert_eq!(
        lines.next().unwrap(),
        "0,12345,1246912,2358023,0,0,home,ok,200,77,512,0,0,false,,,0,1,0,,0,0,0,,,0,0,0,0,,,,,,0,,3,1,,,,,,length,7 0,,,,,0,"
    );
    assert_eq!(lines.clone().count(), 1499);
    assert!(lines.clone().next().unwrap().ends_with(",0,1,true,\"[-0.5,null,1.0]\",0,"), "{text}");
    let unsent = lines.find(|line| line.contains("unsent")).unwrap();
    assert!(
        unsent.contains(",,,,")
            && unsent.ends_with("\"went, \"\"wrong\"\"\",,0,1,0,,0,0,0,,,0,0,,,,,,,,,,,,,,,,,,,,,,,0,"),
        "{unsent}"
    );
}

#[test]
fn gaps_are_those_of_the_sent_requests() {
    let text = String::from_utf8(exported(ExportFormat::Gaps, Nanos::ZERO)).unwrap();
    let gaps: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let mut launches: Vec<u64> = events(&recording()).iter().filter_map(|event| Some(event.sent?.0)).collect();
    launches.sort_unstable();
    assert_eq!(gaps.len(), launches.len() - 1);
    let span = (launches[launches.len() - 1] - launches[0]) as f64 / 1e6;
    assert!((gaps.iter().sum::<f64>() - span).abs() < 1e-6);
}

#[test]
fn the_histograms_hold_every_request_once() {
    let log = exported(ExportFormat::Hdr, Nanos::from_secs(1_795_186_049));
    let text = String::from_utf8(log.clone()).unwrap();
    assert!(text.starts_with("#[Histogram log format version 1.3]\n#[StartTime: 1795186049.000"), "{}", &text[..80]);
    let mut counts = std::collections::HashMap::new();
    let mut longest = 0;
    for entry in IntervalLogIterator::new(&log) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            // Check only that the encoding decodes to our counts.
            let bytes = decode(interval.encoded_histogram());
            let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            *counts.entry(interval.tag().unwrap().as_str().to_owned()).or_insert(0) += histogram.len();
            longest = longest.max(histogram.max());
        }
    }
    let sent = sent_requests(&recording()).len() as u64;
    assert_eq!((counts["response"], counts["service"]), (sent, sent));
    assert!((2_350_000..2_370_000).contains(&longest), "{longest}");
}

/// Base64 as of RFC 4648.
fn decode(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut held, mut bytes) = (0u32, 0, Vec::new());
    for letter in text.bytes().filter(|&letter| letter != b'=') {
        bits = bits << 6 | LETTERS.iter().position(|&known| known == letter).unwrap() as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
