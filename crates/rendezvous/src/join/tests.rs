use std::thread;

use super::*;
use crate::directory::Folder;

fn worker(share: &str) -> Worker {
    Worker {
        run: None,
        share: share.parse().unwrap(),
        host: format!("host-{share}"),
        version: "1.2.3".to_owned(),
        workload: "abc".to_owned(),
    }
}

/// Nobody compares clocks.
fn terms(wait: Nanos, stop: &AtomicBool) -> Terms<'_> {
    Terms { wait, stop, wall: Wall::read(), tell_at: None }
}

/// One that is not stopped.
fn alone(place: &Folder, me: &Worker, wait: Nanos) -> Result<Met, Error> {
    meet(place, me, &terms(wait, &AtomicBool::new(false)), &mut |_| ())
}

/// Why there is no run.
fn why_not(met: Result<Met, Error>) -> Error {
    met.err().expect("no run")
}

/// All these in one folder at once, each with its clock; each ends by itself.
fn together(workers: &[(Worker, Wall)], tell_at: Option<SocketAddr>) -> Vec<Result<Met, Error>> {
    let folder = tempfile::tempdir().unwrap();
    let (place, stop) = (&Folder::new(folder.path()), &AtomicBool::new(false));
    thread::scope(|scope| {
        let meet = |(worker, wall): &(Worker, Wall)| {
            meet(place, worker, &Terms { wait: LONG, stop, wall: *wall, tell_at }, &mut |_| ())
        };
        let met: Vec<_> = workers.iter().map(|worker| scope.spawn(move || meet(worker))).collect();
        met.into_iter().map(|met| met.join().unwrap()).collect()
    })
}

const LONG: Nanos = Nanos::from_secs(40);
const SHORT: Nanos = Nanos::from_millis(300);

#[test]
fn all_begin_at_one_instant_that_is_still_to_come() {
    let wall = Wall::read();
    let workers: Vec<_> = (1..=5).map(|k| (worker(&format!("{k}/5")), wall)).collect();
    let before = wall.now();
    let begin: Vec<Nanos> = together(&workers, None).into_iter().map(|met| met.unwrap().begin).collect();
    assert!(begin.iter().all(|at| *at == begin[0]), "{begin:?}");
    assert!(begin[0] >= before + LEAD);
}

#[test]
fn who_has_another_clock_begins_by_that_of_worker_1() {
    let (wall, off) = (Wall::read(), Nanos::from_millis(50));
    let workers = [(worker("1/3"), wall), (worker("2/3"), wall.ahead_by(off)), (worker("3/3"), wall)];
    let met = together(&workers, Some("127.0.0.1:0".parse().unwrap()));
    let [first, ahead, same] =
        <[Met; 3]>::try_from(met.into_iter().map(Result::unwrap).collect::<Vec<_>>()).ok().unwrap();
    assert!(first.before.is_none() && matches!(first.clocks, Clocks::Tells(_)));
    let offset = ahead.before.unwrap();
    assert!(offset.ahead_ns.abs_diff(off.0 as i64) <= offset.bound_ns, "{offset:?}");
    let late = (ahead.begin - off).0.abs_diff(first.begin.0);
    assert!(late <= offset.bound_ns, "it begins when worker 1 does, as well as it knows");
    let same_offset = same.before.unwrap();
    assert!(same_offset.ahead_ns.unsigned_abs() <= same_offset.bound_ns);
}

#[test]
fn of_a_clock_that_cannot_be_asked_nothing_is_known_and_the_run_begins_by_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let (place, wall) = (Folder::new(folder.path()), Wall::read());
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let time = format!("{{\"addresses\": [\"{}\"], \"token\": 1, \"kernel\": null}}", silent.local_addr().unwrap());
    let time = Some(serde_json::from_str(&time).unwrap());
    put_new_document(
        &place,
        &ready(1),
        &Ready { worker: worker("1/2"), process: 1, came_unix_ns: 1, clock: None, time },
    )
    .unwrap();
    let begin = wall.now() + LEAD;
    put_new_document(&place, DECISION, &Decision::Begin { unix_ns: begin.0 }).unwrap();
    let stop = AtomicBool::new(false);
    let met = compared(&place, &worker("2/2"), &terms(LONG, &stop), begin, None).unwrap();
    assert!(met.before.is_none() && met.begin == begin && matches!(met.clocks, Clocks::Alone));
}

#[test]
fn one_that_would_make_another_run_is_named_and_nobody_begins() {
    let other = |change: fn(&mut Worker)| {
        let mut odd = worker("2/2");
        change(&mut odd);
        let met = together(&[(worker("1/2"), Wall::read()), (odd, Wall::read())], None);
        let said: Vec<String> = met.into_iter().map(|met| why_not(met).to_string()).collect();
        said.join("\n")
    };
    // Each may have been first, and the other then hears of it.
    let names = |said: &str, what: &str| {
        assert_eq!(said.matches(&format!("has another {what}")).count(), 2, "{said}");
    };
    names(&other(|odd| odd.workload = "xyz".to_owned()), "workload");
    names(&other(|odd| odd.version = "1.2.4".to_owned()), "version");
    names(&other(|odd| odd.share = "2/3".parse().unwrap()), "number of workers");
    names(&other(|odd| odd.run = Some("r7".parse().unwrap())), "run id");
}

#[test]
fn one_number_twice_is_an_error_of_the_second() {
    let folder = tempfile::tempdir().unwrap();
    let place = Folder::new(folder.path());
    put_new_document(&place, &ready(1), &worker("1/2")).unwrap();
    let again = why_not(alone(&place, &Worker { host: "b".to_owned(), ..worker("1/2") }, LONG));
    assert!(matches!(&again, Error::Twice { host, .. } if host == "host-1/2"), "{again:?}");
    assert!(again.is_of_input());
}

/// It was ready, was killed, and its engine has started another.
#[test]
fn who_is_started_again_before_the_beginning_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (place, stop) = (Folder::new(folder.path()), AtomicBool::new(false));
    let again = |me: &Worker, wait| begun_again(&place, me, &terms(wait, &stop));
    assert!(again(&worker("2/2"), LONG).unwrap().is_none(), "there was none");
    put_new_document(&place, &ready(2), &worker("2/2")).unwrap();
    assert!(matches!(again(&worker("2/2"), SHORT), Err(Error::Twice { .. })), "the others do not come");
    let (first, second) = thread::scope(|scope| {
        let second = scope.spawn(|| again(&worker("2/2"), LONG));
        (alone(&place, &worker("1/2"), LONG).unwrap(), second.join().unwrap().unwrap().unwrap())
    });
    assert_eq!(first.begin, second.begin);
    let other = Worker { version: "1.2.4".to_owned(), ..worker("2/2") };
    assert!(matches!(again(&other, LONG), Err(Error::Differs { .. })));
}

#[test]
fn who_does_not_come_is_named_and_who_comes_later_hears_that_it_was_called_off() {
    let folder = tempfile::tempdir().unwrap();
    let place = Folder::new(folder.path());
    let (stop, mut seen) = (AtomicBool::new(false), Vec::new());
    let first = meet(&place, &worker("2/3"), &terms(SHORT, &stop), &mut |missing| seen.push(missing.to_vec()));
    assert_eq!(why_not(first).to_string(), "after 300ms there is no worker 1, 3");
    assert_eq!(seen, [[1, 3]]);
    let later = why_not(alone(&place, &worker("1/3"), LONG));
    assert!(matches!(&later, Error::CalledOff { why } if why.contains("no worker 1, 3")), "{later}");
}

#[test]
fn who_is_stopped_while_waiting_stops_the_others_too() {
    let folder = tempfile::tempdir().unwrap();
    let place = Folder::new(folder.path());
    let stopped = why_not(meet(&place, &worker("1/3"), &terms(LONG, &AtomicBool::new(true)), &mut |_| ()));
    assert!(matches!(stopped, Error::Stopped), "{stopped:?}");
    let other = why_not(alone(&place, &worker("2/3"), LONG));
    assert!(other.to_string().contains("worker 1/3 on host-1/3 was stopped"), "{other}");
}

#[test]
fn who_comes_after_the_decision_is_too_late() {
    let folder = tempfile::tempdir().unwrap();
    let place = Folder::new(folder.path());
    put_new_document(&place, DECISION, &Decision::Begin { unix_ns: 1_000_000_000 }).unwrap();
    let late = why_not(alone(&place, &worker("1/2"), LONG));
    assert!(matches!(late, Error::TooLate { by } if by > Nanos::from_secs(1_000_000)), "{late:?}");
}

#[test]
fn a_file_that_is_not_whole_yet_is_not_there_yet() {
    let folder = tempfile::tempdir().unwrap();
    let place = Folder::new(folder.path());
    place.put_new(&ready(2), b"{\"share\": \"2/2\", \"ho").unwrap();
    let one = why_not(alone(&place, &worker("1/2"), SHORT));
    assert!(matches!(one, Error::Missing { missing, .. } if missing == [2]));
}
