use super::*;
use offered_events::VisitPosition;
use offered_workload::threshold::{Metric, Statistic};

/// A request of `session` that is scheduled at `at` ms, is sent 1 ms later and takes `took` ms from its scheduled time.
fn request(session: u64, step: u32, visit: VisitPosition, [at, took]: [u64; 2], outcome: Outcome) -> Event {
    let intended = Instant::from_millis(at);
    let sent = Some(intended + Nanos::from_millis(1));
    let done = Some(intended + Nanos::from_millis(took));
    Event { session, step, sent, done, outcome, visit: Some(visit), ..Event::at(intended) }
}

fn position(number: u16, place: u16, ends: bool) -> VisitPosition {
    VisitPosition { number, place, ends }
}

/// Sessions: two visits of user 0 of which the second fails; one that is cut off; one that was under way at the start; one that began early.
fn recording() -> Recording {
    let events = vec![
        request(0, 0, position(0, 0, false), [1000, 10], Outcome::Ok),
        request(0, 1, position(0, 0, true), [3000, 30], Outcome::Ok),
        request(0, 2, position(1, 0, false), [4000, 10], Outcome::HttpError),
        request(0, 3, position(1, 0, true), [5000, 10], Outcome::Ok),
        request(1, 0, position(0, 0, false), [2000, 10], Outcome::Ok),
        request(2, 3, position(0, 0, true), [2000, 10], Outcome::Ok),
        request(3, 0, position(0, 0, true), [500, 10], Outcome::Ok),
    ];
    Recording::of_run(events, vec!["a".to_owned()])
}

#[test]
fn a_visit_succeeds_if_all_its_requests_do_and_it_is_not_cut_off() {
    let measured = Instant::from_secs(1)..Instant::from_secs(10);
    let stats = VisitStats::of(&recording(), &measured, None, &[]).unwrap().unwrap();
    let total = stats.total().unwrap();
    assert_eq!((stats.flows.len(), stats.steps.len()), (1, 0));
    assert_eq!((total.ok, total.failed, total.cut), (1, 1, 1));
    assert_eq!((total.mean_requests, total.success_percent()), (Some(2.0), Some(50.0)));
    assert_eq!(total.response.unwrap().max_ms, 40.0);
    assert_eq!(total.duration.unwrap().max_ms, 2030.0);
    assert_eq!(
        stats.text(),
        "1 ok, 1 failed, 1 cut off; 2.00 requests each; duration p95 2,030 ms, without think times 40.0 ms"
    );
}

#[test]
fn without_visits_there_are_no_figures() {
    let plain = Recording::of_run(vec![Event::at(Instant::ZERO)], vec!["a".to_owned()]);
    assert_eq!(VisitStats::of(&plain, &(Instant::ZERO..Instant::MAX), None, &[]).unwrap(), None);
}

#[test]
fn a_visit_whose_end_is_not_recorded_is_cut_off_by_the_next() {
    let (mut tracker, mut seen) = (VisitTracker::default(), Vec::new());
    let events = [
        request(0, 0, position(0, 0, false), [0, 10], Outcome::Ok),
        request(0, 4, position(2, 0, true), [1000, 10], Outcome::Ok),
    ];
    for event in &events {
        tracker.add(event, event.response(), &mut |visit| seen.push(visit.outcome));
    }
    tracker.finish(&mut |visit| seen.push(visit.outcome));
    assert_eq!(seen, [Outcome::Cut, Outcome::Ok]);
}

#[test]
fn a_visit_that_its_user_breaks_off_for_the_last_steps_is_cut_off() {
    let workload = offered_workload::Workload::parse(
        "duration = \"10s\"\nend = \"finish\"\narrivals.closed = { users = 3, think = { constant = \"1s\" } }\n\
         target.url = \"http://h/\"\n\
         request = [{ name = \"a\", get = \"/a\" }, { name = \"b\", get = \"/b\" }, { name = \"out\", get = \"/out\" }]\n\
         [[flow]]\nname = \"f\"\nstep = [\"a\", \"b\"]\n[once]\nend = [\"out\"]\n",
        "test",
        &|_| Err(String::new()),
    )
    .unwrap();
    let flows = workload.flows().unwrap();
    let place = |name: &str| {
        let step = flows.step_names().iter().position(|step| step.ends_with(&format!("/{name}")));
        flows.first_place(step.unwrap())
    };
    // Visits: whole, cut off, cut off after a failure, whole with the last steps, the second one of user 0, cut off, and one that is cut off
    // where its last steps could have followed.
    let [a, b, out] = ["a", "b", "out"].map(place);
    let events = vec![
        request(0, 0, position(0, a, false), [0, 10], Outcome::Ok),
        request(0, 1, position(0, b, true), [1000, 10], Outcome::Ok),
        request(1, 0, position(0, a, false), [0, 10], Outcome::Ok),
        request(1, 1, position(0, out, true), [9000, 10], Outcome::Ok),
        request(2, 0, position(0, a, false), [0, 10], Outcome::HttpError),
        request(2, 1, position(0, out, true), [9000, 10], Outcome::Ok),
        request(3, 0, position(0, a, false), [0, 10], Outcome::Ok),
        request(3, 1, position(0, b, false), [1000, 10], Outcome::Ok),
        request(3, 2, position(0, out, true), [2000, 10], Outcome::Ok),
        request(0, 2, position(1, a, false), [8000, 10], Outcome::Ok),
        request(0, 3, position(1, out, true), [9000, 10], Outcome::Ok),
        request(4, 0, position(0, a, false), [0, 10], Outcome::Ok),
        request(4, 1, position(0, b, false), [1000, 10], Outcome::Ok),
        request(4, 2, position(1, out, true), [9000, 10], Outcome::Ok),
    ];
    let recording = Recording::of_run(events, workload.labels());
    let measured = Instant::ZERO..Instant::from_secs(20);
    let stats = VisitStats::of(&recording, &measured, Some(flows), &[]).unwrap().unwrap();
    let total = stats.total().unwrap();
    assert_eq!((total.ok, total.failed, total.cut, total.mean_requests), (2, 1, 3, Some(2.5)));
}

#[test]
fn a_request_of_two_steps_has_two_rows_and_flows_are_apart() {
    let workload = offered_workload::Workload::parse(
        "duration = \"10s\"\ntarget.url = \"http://h/\"\narrivals.partly_open.rate = \"1/s\"\n\
         request = [{ name = \"page\", get = \"/a\" }, { name = \"buy\", get = \"/b\" }]\n\
         [[flow]]\nname = \"look\"\nstep = [{ request = \"page\", name = \"first\" }, { request = \"page\", name = \"again\", repeat = 2 }]\n\
         [[flow]]\nname = \"buyer\"\nstep = [{ request = \"buy\" }]\n",
        "test",
        &|_| Err(String::new()),
    )
    .unwrap();
    let events = vec![
        request(0, 0, position(0, 0, false), [0, 10], Outcome::Ok),
        request(0, 1, position(0, 1, false), [100, 20], Outcome::Ok),
        request(0, 2, position(0, 2, true), [200, 30], Outcome::HttpError),
        Event { label: 1, ..request(1, 0, position(0, 3, true), [300, 40], Outcome::Ok) },
    ];
    let recording = Recording::of_run(events, workload.labels());
    let measured = Instant::ZERO..Instant::from_secs(10);
    let stats = VisitStats::of(&recording, &measured, workload.flows(), workload.groups()).unwrap().unwrap();
    let steps: Vec<_> = stats
        .steps
        .iter()
        .map(|row| (row.step.as_str(), row.requests.label.as_str(), row.requests.requests, row.requests.failed))
        .collect();
    assert_eq!(steps, [("look/first", "page", 1, 0), ("look/again", "page", 2, 1), ("buyer/buy", "buy", 1, 0)]);
    let flows: Vec<_> = stats.flows.iter().map(|row| (row.label.as_str(), row.ok, row.failed)).collect();
    assert_eq!(flows, [("look", 0, 1), ("buyer", 1, 0), ("Total", 1, 1)]);

    let verdict = crate::verify(&recording, &crate::Criteria::from_workload(&workload, 1.0)).unwrap();
    let measured = crate::Measurements::new(&recording, &verdict.gaps, &verdict.window, workload.counted())
        .with_flows(workload.flows(), workload.groups());
    let value = |metric: &str| measured.estimate(&metric.parse().unwrap()).unwrap().map(|estimate| estimate.value);
    assert_eq!(value("visits.success"), Some(0.5));
    assert_eq!(value("visits.success{buyer}"), Some(1.0));
    assert_eq!(value("visit.p95"), Some(f64::INFINITY));
    assert_eq!(value("visit.duration.max{buyer}"), Some(0.04));
    assert_eq!(value("max{look/first}"), Some(0.01));
    assert_eq!(value("errors{look/again}"), Some(0.5));
    assert_eq!(value("errors{look/never}"), None);

    // The last byte of each response waited for 1 ms times the number of its request in the session.
    let events = recording.events.to_vec().unwrap();
    let late =
        |event: &Event| Event { done_lateness: Some(Nanos::from_millis(u64::from(event.step))), ..event.clone() };
    let recording = Recording::of_run(events.iter().map(late).collect(), workload.labels());
    let measured = crate::Measurements::new(&recording, &verdict.gaps, &verdict.window, workload.counted())
        .with_flows(workload.flows(), workload.groups());
    let late = |metric: &str| {
        let metric: Metric = metric.parse().unwrap();
        measured.reading_lateness(&metric, Statistic::Max).unwrap()
    };
    let of = ["max", "max{page}", "max{look/first}", "max{look/again}", "max{buy}", "max{look/never}"].map(late);
    assert_eq!(of, [Some(0.002), Some(0.002), Some(0.0), Some(0.002), Some(0.0), None]);
}

#[test]
fn a_group_is_from_the_first_request_of_a_step_to_the_last_response_of_another() {
    use Outcome::{HttpError, Ok};

    let workload = offered_workload::Workload::parse(
        "duration = \"20s\"\ntarget.url = \"http://h/\"\narrivals.partly_open.rate = \"1/s\"\n\
         request = [{ name = \"a\", get = \"/a\" }, { name = \"b\", get = \"/b\" }, { name = \"c\", get = \"/c\" }]\n\
         [[flow]]\nname = \"f\"\nstep = [{ request = \"a\" }, { request = \"b\", repeat = 2 }, { request = \"c\", next = { a = 1, leave = 1 } }]\n\
         [[group]]\nname = \"g\"\nfrom = \"a\"\nto = \"b\"\n",
        "test",
        &|_| Err(String::new()),
    )
    .unwrap();
    // Places: a 0, b 1 and 2, c 3. A session that makes the group twice, the second time with a failure; one that is cut off in its last step;
    // one that leaves before.
    let walk = |session, places: &[(u16, Outcome)], ends: bool| -> Vec<Event> {
        let last = places.len() - 1;
        let event = |(i, (place, outcome)): (usize, &(u16, Outcome))| {
            let at = 1000 * i as u64 + session;
            request(session, i as u32, position(0, *place, ends && i == last), [at, 10 + u64::from(*place)], *outcome)
        };
        places.iter().enumerate().map(event).collect()
    };
    let all = [(0, Ok), (1, Ok), (2, Ok), (3, Ok), (0, Ok), (1, HttpError), (2, Ok), (3, Ok)];
    let events = [walk(0, &all, true), walk(1, &[(0, Ok), (1, Ok)], false), walk(2, &[(0, Ok)], true)].concat();
    let recording = Recording::of_run(events, workload.labels());
    let measured = Instant::ZERO..Instant::from_secs(20);
    let stats = VisitStats::of(&recording, &measured, workload.flows(), workload.groups()).unwrap().unwrap();
    let [group] = &stats.groups[..] else { panic!("{:?}", stats.groups) };
    assert_eq!((group.label.as_str(), group.ok, group.failed, group.cut), ("g", 1, 1, 2));
    assert_eq!((group.mean_requests, group.response.unwrap().max_ms), (Some(3.0), 33.0));
    assert_eq!(group.duration.unwrap().max_ms, 2012.0);
    let total = stats.total().unwrap();
    assert_eq!((total.ok, total.failed, total.cut), (1, 1, 1), "visits are not groups");

    let verdict = crate::verify(&recording, &crate::Criteria::from_workload(&workload, 1.0)).unwrap();
    let measured = crate::Measurements::new(&recording, &verdict.gaps, &verdict.window, workload.counted())
        .with_flows(workload.flows(), workload.groups());
    let value = |metric: &str| measured.estimate(&metric.parse().unwrap()).unwrap().map(|estimate| estimate.value);
    assert_eq!((value("groups.success{g}"), value("visits.success")), (Some(0.5), Some(0.5)));
    assert_eq!((value("group.max{g}"), value("group.duration.mean")), (Some(0.033), Some(2.012)));
}

#[test]
fn the_sizes_of_a_simulation_decide_whether_the_mean_of_visits_has_an_interval() {
    use offered_stats::requirements::{IntervalRequirements, MeanRequirement};
    let text = "duration = \"10s\"\ntarget.url = \"http://h/\"\narrivals.partly_open.rate = \"1/s\"\n\
        request = [{ name = \"page\", get = \"/a\" }]\n[[flow]]\nname = \"look\"\nstep = [{ request = \"page\" }]\n";
    let workload = offered_workload::Workload::parse(text, "test", &|_| Err(String::new())).unwrap();
    let half_width = |mean| {
        let visit = |i: u64| request(i, 0, position(0, 0, true), [10 * i, 10 + i * 7919 % 90], Outcome::Ok);
        let recording = Recording::of_run((0..990).map(visit).collect(), workload.labels());
        let verdict = crate::verify(&recording, &crate::Criteria::from_workload(&workload, 1.0)).unwrap();
        let measured = crate::Measurements::new(&recording, &verdict.gaps, &verdict.window, workload.counted())
            .with_flows(workload.flows(), workload.groups())
            .with_requirements(IntervalRequirements { mean, ..IntervalRequirements::default() });
        measured.estimate(&"visit.mean".parse().unwrap()).unwrap().unwrap().half_width()
    };
    assert!(half_width(MeanRequirement::Responses(900)) < 1.0);
    assert_eq!(half_width(MeanRequirement::NoNumber), f64::INFINITY);
}
