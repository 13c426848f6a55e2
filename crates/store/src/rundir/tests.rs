use std::os::unix::fs::PermissionsExt;

use offered_base::Instant;
use offered_events::{Outcome, Reason};

use super::*;
use crate::{EndCondition, ReadOptions, RunKind, read};

fn record() -> RunRecord {
    RunRecord { seed: Some(42), ..RunRecord::new(RunKind::Run, EndCondition::Duration) }
}

fn events(from: u64, count: u64) -> Vec<Event> {
    (from..from + count).map(|i| Event::at(Instant(i))).collect()
}

#[test]
fn a_finished_run_holds_the_workload_verbatim_and_every_event() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("runs/first");
    let mut writer = Writer::create(&path, "seed = 42 # as written\n", vec!["home".into()]).unwrap();
    writer.write(events(0, 3)).unwrap();
    writer.rotate().unwrap();
    writer.rotate().unwrap();
    writer.write(events(3, 2)).unwrap();
    writer.finish(&record()).unwrap();
    assert_eq!(fs::read_to_string(path.join("workload.toml")).unwrap(), "seed = 42 # as written\n");
    assert_eq!(fs::metadata(path.join("workload.toml")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(RunRecord::read(&path).unwrap(), Some(record()));
    let recording = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(recording.events.to_vec().unwrap(), events(0, 5));
    assert_eq!(recording.labels, ["home"]);
    assert_eq!(recording.notes, []);
    let alone = read(&path.join("events/part-0001.parquet"), &ReadOptions::default()).unwrap();
    assert_eq!(alone.events.to_vec().unwrap(), events(3, 2));
}

#[test]
fn an_existing_directory_is_never_touched() {
    let dir = tempfile::tempdir().unwrap();
    let error = Writer::create(dir.path(), "", vec![]).err().unwrap();
    assert!(matches!(error, Error::Exists(_)), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_unwritable_directory_is_an_error_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let error = Writer::create(&dir.path().join("file/run"), "", vec![]).err().unwrap();
    assert!(error.to_string().starts_with("cannot create"), "{error}");
    // root can write anywhere, so this half of the test only works for other users.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o500)).unwrap();
    if let Err(error) = Writer::create(&dir.path().join("run"), "", vec![]) {
        assert!(error.to_string().starts_with("cannot create"), "{error}");
    }
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_killed_run_is_readable_and_noted_as_killed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut writer = Writer::create(&path, "", vec![]).unwrap();
    writer.write(events(0, 4)).unwrap();
    writer.rotate().unwrap();
    drop(writer);
    fs::write(path.join("events/part-0001.parquet.tmp"), "PAR1 half").unwrap();
    let recording = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(recording.events.launches(), 4);
    assert_eq!(recording.notes, [Note::Killed]);
}

/// A request every millisecond.
const OPEN: &str =
    "duration = \"1s\"\narrivals.open = { rate = \"1000/s\", process = \"constant\" }\n[[request]]\nget = \"/\"\n";

/// The request of this session, sent as scheduled.
fn request(session: u64) -> Event {
    let at = Instant::from_millis(session);
    Event { session, sent: Some(at), ..Event::at(at) }
}

fn alive(path: &Path) {
    let share = Share::ALL;
    let alive = Heartbeat {
        host: "here".into(),
        share,
        started_unix_ns: 1,
        at_unix_ns: 2,
        in_flight: 3,
        clock: None,
        copied_until_unix_ns: None,
    };
    alive.write(path).unwrap();
}

#[test]
fn a_killed_run_reports_requests_in_flight_and_unrecorded_ones() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut writer = Writer::create(&path, OPEN, vec!["/".into()]).unwrap();
    alive(&path);
    let ended = |session| Event { done: Some(Instant::from_millis(session + 20)), ..request(session) };
    // Every fifth request stays in flight for long; two of them end, one before the in-flight file is written.
    writer.add_in_flight((0..100).step_by(5).map(request).collect());
    writer.write((0..100).filter(|session| session % 5 > 0 || *session == 10).map(ended).collect()).unwrap();
    writer.rotate().unwrap();
    assert_eq!(fs::read_dir(path.join("in-flight")).unwrap().count(), 1);
    writer.add_in_flight(vec![request(5), request(100)]);
    writer.write(vec![ended(50), ended(101), ended(107)]).unwrap();
    writer.rotate().unwrap();
    drop(writer);

    let recording = read(&path, &ReadOptions::default()).unwrap();
    let events = recording.events.to_vec().unwrap();
    let cut: Vec<_> = events.iter().filter(|event| event.outcome == Outcome::Cut).collect();
    let sessions: Vec<u64> = cut.iter().map(|event| event.session).collect();
    assert_eq!(sessions, (0..=100).step_by(5).filter(|session| ![10, 50].contains(session)).collect::<Vec<_>>());
    assert!(cut.iter().all(|event| event.error == Some(Reason::Killed) && event.sent == Some(event.intended)));
    assert_eq!(events.len(), 103);
    let unrecorded = Note::NotRecorded { requests: 5, start_s: 0.102, end_s: 0.106 };
    assert_eq!(recording.notes, [unrecorded, Note::Killed]);
}

#[test]
fn in_flight_files_are_removed_when_their_requests_have_ended() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut writer = Writer::create(&path, OPEN, vec!["/".into()]).unwrap();
    for second in 0..3 {
        writer.add_in_flight((second * 10..second * 10 + 10).map(request).collect());
        // Reported twice, in one second and in the next.
        writer.add_in_flight(vec![request(0), request(second * 10)]);
        writer.rotate().unwrap();
    }
    let files = || fs::read_dir(path.join("in-flight")).unwrap().count();
    assert_eq!(files(), 3);
    writer.write((0..20).map(request).collect()).unwrap();
    assert_eq!(files(), 3, "until they are in a part");
    writer.rotate().unwrap();
    assert_eq!(files(), 1);
    writer.write((20..30).map(request).collect()).unwrap();
    writer.finish(&record()).unwrap();
    assert!(!path.join("in-flight").exists());
    let recording = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((recording.events.launches(), recording.notes), (30, vec![]));
}

#[test]
fn events_that_arrive_while_a_part_is_written_belong_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&dir.path().join("run"), OPEN, vec!["/".into()]).unwrap();
    let (backlog, mut later) = (writer.backlog().clone(), 100..103);
    writer.pause_with(move || {
        if let Some(number) = later.next() {
            backlog.add(vec![request(number)]);
        }
    });
    writer.write((0..100).map(request).collect()).unwrap();
    writer.rotate().unwrap();
    assert_eq!((writer.backlog().parts(), writer.backlog().events()), (1, 3));
    writer.rotate().unwrap();
    assert_eq!((writer.backlog().parts(), writer.backlog().events()), (2, 0));
}

/// A run of three parts with a hundred requests each.
fn three_parts(path: &Path) -> Writer {
    let mut writer = Writer::create(path, OPEN, vec!["/".into()]).unwrap();
    for part in 0..3 {
        writer.write((part * 100..part * 100 + 100).map(request).collect()).unwrap();
        writer.rotate().unwrap();
    }
    writer
}

#[test]
fn a_damaged_part_leaves_a_noted_gap_in_the_schedule() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let writer = three_parts(&path);
    writer.finish(&record()).unwrap();
    fs::write(path.join("events/part-0001.parquet"), "PAR1 half").unwrap();
    let recording = read(&path, &ReadOptions::default()).unwrap();
    let missing = Note::PartsMissing { missing: 1, total: 3 };
    assert_eq!(recording.notes, [missing, Note::NotRecorded { requests: 100, start_s: 0.1, end_s: 0.199 }]);
}

#[test]
fn a_removed_part_is_noted() {
    #[derive(Serialize)]
    struct Summary {
        total_requests: u64,
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let writer = three_parts(&path);
    writer.finish(&record().with(Summary { total_requests: 300 }, ())).unwrap();
    assert_eq!(read(&path, &ReadOptions::default()).unwrap().notes, []);
    fs::remove_file(path.join("events/part-0001.parquet")).unwrap();
    let other = Note::CountMismatch { expected: 300, found: 200 };
    let unrecorded = Note::NotRecorded { requests: 100, start_s: 0.1, end_s: 0.199 };
    assert_eq!(read(&path, &ReadOptions::default()).unwrap().notes, [other.clone(), unrecorded]);
    fs::rename(path.join("events/part-0002.parquet"), path.join("events/part-0001.parquet")).unwrap();
    fs::copy(path.join("events/part-0000.parquet"), path.join("events/part-0002.parquet")).unwrap();
    fs::remove_file(path.join("events/part-0001.parquet")).unwrap();
    // No later request shows that the end is missing.
    assert_eq!(read(&path, &ReadOptions::default()).unwrap().notes, [other]);
}

#[test]
fn a_damaged_part_is_named_and_the_others_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut writer = Writer::create(&path, "", vec![]).unwrap();
    writer.write(events(0, 4)).unwrap();
    writer.finish(&record()).unwrap();
    fs::write(path.join("events/part-0001.parquet"), "PAR1 half").unwrap();
    let recording = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((recording.events.launches(), recording.unreadable), (4, 1));
    assert!(recording.complaints[0].contains("part-0001.parquet"), "{:?}", recording.complaints);
    fs::write(path.join("events/part-0000.parquet"), "").unwrap();
    assert!(read(&path, &ReadOptions::default()).is_err());
}

#[test]
fn other_directories_are_refused_with_a_message() {
    let dir = tempfile::tempdir().unwrap();
    let error = read(dir.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("no folder `events`"), "{error}");
}

/// Directories of someone else: devices without an end and pipes without a writer.
#[test]
fn files_that_are_not_regular_are_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut writer = Writer::create(&path, "", vec![]).unwrap();
    writer.write(events(0, 4)).unwrap();
    writer.finish(&record()).unwrap();
    std::os::unix::fs::symlink("/dev/zero", path.join("events/part-0001.parquet")).unwrap();
    let pipe = path.join("events/part-0002.parquet");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let recording = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((recording.events.launches(), recording.unreadable), (4, 2));
    for complaint in &recording.complaints {
        assert!(complaint.contains("part-000") && complaint.contains("not a regular file"), "{complaint}");
    }
    fs::remove_file(path.join("run.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", path.join("run.json")).unwrap();
    let error = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("run.json: this is not a regular file"), "{error}");
}
