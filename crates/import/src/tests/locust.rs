//! Statistics histories of Locust (`locust/stats.py`).

use super::semantics::{has, with};
use super::*;
use offered_schedule::Stage;

const HEAD: &str = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,Total Request Count,Total Failure Count,Total Average Response Time\n";

/// A history with rows of seconds, users, type, name, requests and their mean response time.
fn history(rows: &[(u64, u64, &str, &str, u64, u32)]) -> String {
    let row = |(at, users, kind, name, count, mean): &(u64, u64, &str, &str, u64, u32)| {
        format!("{},{users},{kind},\"{name}\",0.000000,0.000000,N/A,{count},0,{mean}.0\n", 1_700_000_000 + at)
    };
    HEAD.to_owned() + &rows.iter().map(row).collect::<String>()
}

#[test]
fn users_counts_and_the_think_time_come_from_the_history() {
    let text = history(&[
        (0, 0, "", "Aggregated", 0, 0),
        (1, 10, "", "Aggregated", 0, 0),
        (2, 20, "GET", "/a?b", 6, 40),
        (2, 20, "POST", "http://h.test/log in", 2, 40),
        (2, 20, "GET", "buy", 1, 40),
        (2, 20, "grpc", "/x.Y/Z", 1, 40),
        (2, 20, "", "Aggregated", 10, 40),
        (4, 20, "GET", "/a?b", 18, 50),
        (4, 20, "", "Aggregated", 30, 50),
        (5, 0, "", "Aggregated", 30, 50),
    ]);
    let plan = read(&text, "f", None).unwrap().remove(0);
    let Arrivals::Closed { users, stages, think, .. } = &plan.arrivals else { panic!("{plan:?}") };
    let stage = |users, secs| Stage { from: users, to: users, over: Nanos::from_secs(secs) };
    assert_eq!(
        (*users, stages.as_slice(), plan.duration),
        (20, [stage(10, 1), stage(20, 3)].as_slice(), Nanos::from_secs(4))
    );
    // 10 + 60 user-seconds and 30 requests of 0.05 s.
    assert!((think.mean() - 2.283).abs() < 1e-9, "{think}");
    let sent: Vec<_> = plan.requests.iter().map(|request| (request.name.as_str(), request.weight)).collect();
    assert_eq!(sent, [("POST http://h.test/log in", 2.0)]);
    assert_eq!(plan.requests[0].path.to_source(), "/log%20in");
    for part in ["not an HTTP request", "(`buy`)", "no bodies", "N = X (R + Z)"] {
        assert!(has(&plan, part), "{part}: {:?}", plan.notes());
    }
    let plan = with(&text, &[("host", "http://h.test")]).unwrap().remove(0);
    let sent: Vec<_> = plan.requests.iter().map(|request| (request.name.as_str(), request.weight)).collect();
    assert_eq!(sent, [("GET /a?b", 18.0), ("POST http://h.test/log in", 2.0), ("GET buy", 1.0)]);
    plan.workload().unwrap();
}

#[test]
fn long_histories_are_approximated_and_totals_alone_are_one_request() {
    // A ramp with a jump each second, and a second test in the same file: counts begin again.
    let mut rows: Vec<_> = (0..300).map(|at| (at, 3 * at + 1, "", "Aggregated", 10 * at, 100)).collect();
    rows.push((300, 900, "", "Aggregated", 5, 100));
    let plan = read(&history(&rows), "f", None).unwrap().remove(0);
    let Arrivals::Closed { stages, .. } = &plan.arrivals else { panic!("{plan:?}") };
    assert!(stages.len() <= 100 && has(&plan, "an error of at most 1.0"), "{stages:?} {:?}", plan.notes());
    assert!(has(&plan, "totals only"), "{:?}", plan.notes());
    let text = plan.text("f").unwrap();
    assert!(text.contains("stages = ["), "{text}");
    let plan = read(&history(&[(0, 1, "", "Aggregated", 0, 0)]), "f", None).unwrap().remove(0);
    assert!(has(&plan, "has no requests, so the think time is unknown"), "{:?}", plan.notes());
    plan.workload().unwrap();
}

#[test]
fn histories_without_users_or_columns_are_refused() {
    for (text, part) in [
        (history(&[(0, 0, "", "Aggregated", 0, 0)]), "no row of the history has users"),
        (HEAD.replace(",Total Request Count", ""), "no column `Total Request Count`"),
        (history(&[(0, 1, "", "Aggregated", 0, 0)]).replace("17000", "x"), "f:2: "),
        (history(&[(0, 1, "grpc", "a", 1, 0), (0, 1, "", "Aggregated", 1, 0)]), "no HTTP request"),
    ] {
        let error = read(&text, "f", None).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
