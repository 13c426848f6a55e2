use std::thread;

use super::*;
use crate::directory::Directory;

fn worker(share: &str) -> Worker {
    Worker {
        run_id: None,
        share: share.parse().unwrap(),
        host: format!("host-{share}"),
        version: "1.2.3".to_owned(),
        workload_hash: "abc".to_owned(),
    }
}

/// Options without clock comparison.
fn options(wait: Nanos, stop: &AtomicBool) -> JoinOptions<'_> {
    JoinOptions { wait, stop, wall: WallClock::read(), clock_address: None }
}

/// Joins without stopping and without clock comparison.
fn join_without_clocks(rendezvous: &Directory, me: &Worker, wait: Nanos) -> Result<AgreedStart, Error> {
    join(rendezvous, me, &options(wait, &AtomicBool::new(false)), &mut |_| ())
}

/// The error of a worker that does not start.
fn error_of(agreed: Result<AgreedStart, Error>) -> Error {
    agreed.err().expect("an error")
}

/// Joins all these workers concurrently in one directory, each with its own clock.
fn join_all(workers: &[(Worker, WallClock)], clock_address: Option<SocketAddr>) -> Vec<Result<AgreedStart, Error>> {
    let directory = tempfile::tempdir().unwrap();
    let (rendezvous, stop) = (&Directory::new(directory.path()), &AtomicBool::new(false));
    thread::scope(|scope| {
        let join_one = |(worker, wall): &(Worker, WallClock)| {
            join(rendezvous, worker, &JoinOptions { wait: LONG, stop, wall: *wall, clock_address }, &mut |_| ())
        };
        let agreed: Vec<_> = workers.iter().map(|worker| scope.spawn(move || join_one(worker))).collect();
        agreed.into_iter().map(|agreed| agreed.join().unwrap()).collect()
    })
}

const LONG: Nanos = Nanos::from_secs(40);
const SHORT: Nanos = Nanos::from_millis(300);

#[test]
fn all_workers_start_at_one_time_in_the_future() {
    let wall = WallClock::read();
    let workers: Vec<_> = (1..=5).map(|k| (worker(&format!("{k}/5")), wall)).collect();
    let before = wall.now();
    let begin: Vec<Nanos> = join_all(&workers, None).into_iter().map(|agreed| agreed.unwrap().start).collect();
    assert!(begin.iter().all(|at| *at == begin[0]), "{begin:?}");
    assert!(begin[0] >= before + START_LEAD);
}

#[test]
fn workers_start_by_the_clock_of_worker_1() {
    let (wall, off) = (WallClock::read(), Nanos::from_millis(50));
    let workers = [(worker("1/3"), wall), (worker("2/3"), wall.ahead_by(off)), (worker("3/3"), wall)];
    let agreed = join_all(&workers, Some("127.0.0.1:0".parse().unwrap()));
    let [first, ahead, same] =
        <[AgreedStart; 3]>::try_from(agreed.into_iter().map(Result::unwrap).collect::<Vec<_>>()).ok().unwrap();
    assert!(first.offset.is_none() && matches!(first.clock_role, ClockRole::Server(_)));
    let offset = ahead.offset.unwrap();
    assert!(offset.offset_ns.abs_diff(off.0 as i64) <= offset.bound_ns, "{offset:?}");
    let late = (ahead.start - off).0.abs_diff(first.start.0);
    assert!(late <= offset.bound_ns, "it starts when worker 1 does, within the bound");
    let same_offset = same.offset.unwrap();
    assert!(same_offset.offset_ns.unsigned_abs() <= same_offset.bound_ns);
}

#[test]
fn without_a_clock_response_the_worker_starts_by_its_own_clock() {
    let directory = tempfile::tempdir().unwrap();
    let (rendezvous, wall) = (Directory::new(directory.path()), WallClock::read());
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let time = format!("{{\"addresses\": [\"{}\"], \"token\": 1, \"boot_id\": null}}", silent.local_addr().unwrap());
    let time = Some(serde_json::from_str(&time).unwrap());
    put_document_if_absent(
        &rendezvous,
        &ready(1),
        &Ready { worker: worker("1/2"), process: 1, arrival_unix_ns: 1, clock: None, clock_server: time },
    )
    .unwrap();
    let begin = wall.now() + START_LEAD;
    put_document_if_absent(&rendezvous, DECISION, &Decision::Start { unix_ns: begin.0 }).unwrap();
    let stop = AtomicBool::new(false);
    let agreed = compare_clocks(&rendezvous, &worker("2/2"), &options(LONG, &stop), begin, None).unwrap();
    assert!(agreed.offset.is_none() && agreed.start == begin && matches!(agreed.clock_role, ClockRole::None));
}

#[test]
fn a_mismatching_worker_is_named_and_no_worker_starts() {
    let other = |change: fn(&mut Worker)| {
        let mut mismatched = worker("2/2");
        change(&mut mismatched);
        let agreed = join_all(&[(worker("1/2"), WallClock::read()), (mismatched, WallClock::read())], None);
        let said: Vec<String> = agreed.into_iter().map(|agreed| error_of(agreed).to_string()).collect();
        said.join("\n")
    };
    // Either worker may decide first; the other then reads the cancellation.
    let names = |said: &str, what: &str| {
        assert_eq!(said.matches(&format!("has another {what}")).count(), 2, "{said}");
    };
    names(&other(|mismatched| mismatched.workload_hash = "xyz".to_owned()), "workload");
    names(&other(|mismatched| mismatched.version = "1.2.4".to_owned()), "version");
    names(&other(|mismatched| mismatched.share = "2/3".parse().unwrap()), "number of workers");
    names(&other(|mismatched| mismatched.run_id = Some("r7".parse().unwrap())), "run ID");
}

#[test]
fn the_second_worker_with_the_same_number_gets_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let rendezvous = Directory::new(directory.path());
    put_document_if_absent(&rendezvous, &ready(1), &worker("1/2")).unwrap();
    let again = error_of(join_without_clocks(&rendezvous, &Worker { host: "b".to_owned(), ..worker("1/2") }, LONG));
    assert!(matches!(&again, Error::DuplicateWorker { host, .. } if host == "host-1/2"), "{again:?}");
    assert!(again.is_of_input());
}

/// The worker was ready and was killed; its engine has restarted it.
#[test]
fn a_worker_restarted_before_the_start_waits_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let (rendezvous, stop) = (Directory::new(directory.path()), AtomicBool::new(false));
    let again = |me: &Worker, wait| rejoin_waiting(&rendezvous, me, &options(wait, &stop));
    assert!(again(&worker("2/2"), LONG).unwrap().is_none(), "the number is free");
    put_document_if_absent(&rendezvous, &ready(2), &worker("2/2")).unwrap();
    assert!(matches!(again(&worker("2/2"), SHORT), Err(Error::DuplicateWorker { .. })), "the others do not arrive");
    let (first, second) = thread::scope(|scope| {
        let second = scope.spawn(|| again(&worker("2/2"), LONG));
        (join_without_clocks(&rendezvous, &worker("1/2"), LONG).unwrap(), second.join().unwrap().unwrap().unwrap())
    });
    assert_eq!(first.start, second.start);
    let other = Worker { version: "1.2.4".to_owned(), ..worker("2/2") };
    assert!(matches!(again(&other, LONG), Err(Error::WorkerMismatch { .. })));
}

#[test]
fn missing_workers_are_named_and_later_workers_learn_of_the_cancellation() {
    let directory = tempfile::tempdir().unwrap();
    let rendezvous = Directory::new(directory.path());
    let (stop, mut seen) = (AtomicBool::new(false), Vec::new());
    let first = join(&rendezvous, &worker("2/3"), &options(SHORT, &stop), &mut |missing| seen.push(missing.to_vec()));
    assert_eq!(error_of(first).to_string(), "after 300ms these workers are missing: 1, 3");
    assert_eq!(seen, [[1, 3]]);
    let later = error_of(join_without_clocks(&rendezvous, &worker("1/3"), LONG));
    assert!(matches!(&later, Error::Cancelled { reason } if reason.contains("missing: 1, 3")), "{later}");
}

#[test]
fn a_worker_stopped_while_waiting_cancels_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let rendezvous = Directory::new(directory.path());
    let stopped = error_of(join(&rendezvous, &worker("1/3"), &options(LONG, &AtomicBool::new(true)), &mut |_| ()));
    assert!(matches!(stopped, Error::Stopped), "{stopped:?}");
    let other = error_of(join_without_clocks(&rendezvous, &worker("2/3"), LONG));
    assert!(other.to_string().contains("worker 1/3 on host-1/3 was stopped"), "{other}");
}

#[test]
fn a_worker_after_the_decision_is_too_late() {
    let directory = tempfile::tempdir().unwrap();
    let rendezvous = Directory::new(directory.path());
    put_document_if_absent(&rendezvous, DECISION, &Decision::Start { unix_ns: 1_000_000_000 }).unwrap();
    let late = error_of(join_without_clocks(&rendezvous, &worker("1/2"), LONG));
    assert!(matches!(late, Error::TooLate { by } if by > Nanos::from_secs(1_000_000)), "{late:?}");
}

#[test]
fn an_incomplete_file_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let rendezvous = Directory::new(directory.path());
    rendezvous.put_if_absent(&ready(2), b"{\"share\": \"2/2\", \"ho").unwrap();
    let one = error_of(join_without_clocks(&rendezvous, &worker("1/2"), SHORT));
    assert!(matches!(one, Error::MissingWorkers { missing, .. } if missing == [2]));
}
