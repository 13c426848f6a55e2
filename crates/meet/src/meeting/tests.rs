use std::thread;

use super::*;

fn worker(share: &str) -> Worker {
    Worker {
        share: share.parse().unwrap(),
        host: format!("host-{share}"),
        version: "1.2.3".to_owned(),
        workload: "abc".to_owned(),
    }
}

/// All these in one folder at once; each ends by itself.
fn together(workers: &[Worker], wait: Nanos) -> Vec<Result<Nanos, Error>> {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let meet = |worker| meet(&Folder::new(folder.path()), worker, wait, &stop, &mut |_| ());
        let met: Vec<_> = workers.iter().map(|worker| scope.spawn(move || meet(worker))).collect();
        met.into_iter().map(|met| met.join().unwrap()).collect()
    })
}

const LONG: Nanos = Nanos::from_secs(40);
const SHORT: Nanos = Nanos::from_millis(300);

#[test]
fn all_begin_at_one_instant_that_is_still_to_come() {
    let workers: Vec<Worker> = (1..=5).map(|k| worker(&format!("{k}/5"))).collect();
    let before = unix_now();
    let begin: Vec<Nanos> = together(&workers, LONG).into_iter().map(Result::unwrap).collect();
    assert!(begin.iter().all(|at| *at == begin[0]), "{begin:?}");
    assert!(begin[0] >= before + LEAD);
}

#[test]
fn one_that_would_make_another_run_is_named_and_nobody_begins() {
    let other = |change: fn(&mut Worker)| {
        let mut odd = worker("2/2");
        change(&mut odd);
        let met = together(&[worker("1/2"), odd], LONG);
        let said: Vec<String> = met.into_iter().map(|met| met.unwrap_err().to_string()).collect();
        said.join("\n")
    };
    // Each may have been first, and the other then hears of it.
    let names = |said: &str, what: &str| {
        assert_eq!(said.matches(&format!("has another {what}")).count(), 2, "{said}");
    };
    names(&other(|odd| odd.workload = "xyz".to_owned()), "workload");
    names(&other(|odd| odd.version = "1.2.4".to_owned()), "version");
    names(&other(|odd| odd.share = "2/3".parse().unwrap()), "number of workers");
}

#[test]
fn one_number_twice_is_an_error_of_the_second() {
    let folder = tempfile::tempdir().unwrap();
    let place = Folder::new(folder.path());
    place.put_new_document(&ready(1), &worker("1/2")).unwrap();
    let again =
        meet(&place, &Worker { host: "b".to_owned(), ..worker("1/2") }, LONG, &AtomicBool::new(false), &mut |_| ());
    assert!(matches!(&again, Err(Error::Twice { host, .. }) if host == "host-1/2"), "{again:?}");
    assert!(again.unwrap_err().is_of_input());
}

#[test]
fn who_does_not_come_is_named_and_who_comes_later_hears_that_it_was_called_off() {
    let folder = tempfile::tempdir().unwrap();
    let place = Folder::new(folder.path());
    let (stop, mut seen) = (AtomicBool::new(false), Vec::new());
    let alone = meet(&place, &worker("2/3"), SHORT, &stop, &mut |missing| seen.push(missing.to_vec()));
    assert_eq!(alone.unwrap_err().to_string(), "after 300ms there is no worker 1, 3");
    assert_eq!(seen, [[1, 3]]);
    let later = meet(&place, &worker("1/3"), LONG, &stop, &mut |_| ()).unwrap_err();
    assert!(matches!(&later, Error::CalledOff { why } if why.contains("no worker 1, 3")), "{later}");
}

#[test]
fn who_is_stopped_while_waiting_stops_the_others_too() {
    let folder = tempfile::tempdir().unwrap();
    let place = Folder::new(folder.path());
    let stopped = meet(&place, &worker("1/3"), LONG, &AtomicBool::new(true), &mut |_| ());
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    let other = meet(&place, &worker("2/3"), LONG, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
    assert!(other.to_string().contains("worker 1/3 on host-1/3 was stopped"), "{other}");
}

#[test]
fn who_comes_after_the_decision_is_too_late() {
    let folder = tempfile::tempdir().unwrap();
    let place = Folder::new(folder.path());
    place.put_new_document(DECISION, &Decision::Begin { unix_ns: 1_000_000_000 }).unwrap();
    let late = meet(&place, &worker("1/2"), LONG, &AtomicBool::new(false), &mut |_| ());
    assert!(matches!(late, Err(Error::TooLate { by }) if by > Nanos::from_secs(1_000_000)), "{late:?}");
}

#[test]
fn a_file_that_is_not_whole_yet_is_not_there_yet() {
    let folder = tempfile::tempdir().unwrap();
    let place = Folder::new(folder.path());
    place.put_new(&ready(2), b"{\"share\": \"2/2\", \"ho").unwrap();
    let alone = meet(&place, &worker("1/2"), SHORT, &AtomicBool::new(false), &mut |_| ());
    assert!(matches!(alone, Err(Error::Missing { missing, .. }) if missing == [2]));
}
