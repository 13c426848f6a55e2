//! Formats whose timestamps are the ends of requests.

use offered_events::Note;

use super::*;

#[test]
fn tsung_stamps_the_end_of_a_request() {
    let head = "#date;pid;id;http method;host;URL;HTTP status;size;duration;transaction;match;error;tag\n";
    let rows = "1406213243.5;<0.1.0>;7;get;shop;/a;b?x=1;200;1234;250.5;buy;match;;\n\
                1.4062132e9;<0.2.0>;8;post;shop;/c;503;10;100;;;;order\n\
                1406213244.25;<0.2.0>;8;get;shop;/d;error_no_http_status;0;5;;;error_http;\n";
    let recording = parse([head, rows].concat()).unwrap();
    assert_eq!(recording.format, "tsung");
    let events = recording.events.to_vec().unwrap();
    let at = |micros: u64| Instant(micros * 1_000);
    let seen: Vec<_> =
        events.iter().map(|event| (event.sent, event.done, event.session, event.status, event.outcome)).collect();
    assert!(
        seen.contains(&(Some(at(1_406_213_243_249_500)), Some(at(1_406_213_243_500_000)), 7, 200, Outcome::Ok)),
        "{seen:?}"
    );
    assert!(
        seen.contains(&(Some(at(1_406_213_199_900_000)), Some(at(1_406_213_200_000_000)), 8, 503, Outcome::HttpError)),
        "{seen:?}"
    );
    assert!(seen.iter().any(|row| row.4 == Outcome::Malformed), "{seen:?}");
    assert_eq!(recording.labels, ["get /a;b", "order", "get /d"]);
    // An older file has no tags.
    let old = [head.replace(";tag", "").as_str(), "1406213243.5;<0.1.0>;7;get;shop;/a;200;1234;250.5;;;\n"].concat();
    assert_eq!(parse(old).unwrap().labels, ["get /a"]);
    // The machines of `protocol_local` write no header; joined files have several.
    assert_eq!(parse(rows).unwrap().labels, ["get /a;b", "order", "get /d"]);
    let joined = parse([head, rows, head, rows].concat()).unwrap();
    assert_eq!((joined.format.as_str(), joined.events.launches(), joined.unreadable), ("tsung", 6, 0));
    let cut = parse([head, rows, &head[..60]].concat()).unwrap();
    assert!(cut.events.launches() == 3 && cut.notes.contains(&Note::Truncated), "{:?}", cut.notes);
    let why = parse([head, "no row\n"].concat()).unwrap_err().to_string();
    assert!(why.contains("1 of 1 rows"), "a header is no readable row: {why}");
    let why = parse([head.replace(";size", ";length").as_str(), rows].concat()).unwrap_err().to_string();
    assert!(why.contains("has no columns HTTP status, size, duration and error in its header"), "{why}");
}

#[test]
fn siege_prints_whole_seconds() {
    let banner = "** SIEGE 4.1.6\n** Preparing 5 concurrent users for battle.\nThe server is now under siege...\n";
    let lines = "[Sat, 2010-11-20 10:39:13] HTTP/1.1 200     0.12 secs:    4003 bytes ==> GET  /a?x=1\n\
                 \x1b[0;34m[Sat, 2010-11-20 10:39:14] HTTP/1.1 404(C)  1.50 secs:     159 bytes ==> GET  /b\x1b[0m\n\
                 Lifting the server siege...\nTransactions:\t\t2 hits\nLongest transaction:\t1.50\n";
    let recording = parse([banner, lines].concat()).unwrap();
    assert_eq!((recording.format.as_str(), recording.resolution), ("siege", Nanos::from_secs(1)));
    assert_eq!(recording.labels, ["GET /a", "GET /b"]);
    let events = recording.events.to_vec().unwrap();
    let took: Vec<_> =
        events.iter().map(|event| (event.done.unwrap().0 - event.sent.unwrap().0, event.status)).collect();
    assert_eq!(took, [(120_000_000, 200), (1_500_000_000, 404)]);
    let csv = "   1,HTTP/1.1,200,  0.12,   4003,http://h/a,0,2010-11-20 10:39:13\n";
    assert_eq!(parse(csv).unwrap().labels, ["http://h/a"]);
}
