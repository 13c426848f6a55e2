use std::os::unix::fs::PermissionsExt;

use offered_model::Instant;

use super::*;
use crate::{MadeBy, ReadOptions, Until, read};

fn record() -> RunRecord {
    RunRecord { seed: Some(42), ..RunRecord::new(MadeBy::Run, Until::Duration) }
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
fn a_place_that_cannot_be_written_is_an_error_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let error = Writer::create(&dir.path().join("file/run"), "", vec![]).err().unwrap();
    assert!(error.to_string().starts_with("cannot create"), "{error}");
    // Root writes anywhere, so this half of the test only bites for other users.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o500)).unwrap();
    if let Err(error) = Writer::create(&dir.path().join("run"), "", vec![]) {
        assert!(error.to_string().starts_with("cannot create"), "{error}");
    }
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_killed_run_is_read_and_says_that_it_is_cut() {
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
fn a_directory_of_something_else_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let error = read(dir.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("no folder `events`"), "{error}");
}
