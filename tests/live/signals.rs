//! Ctrl-C once, twice and three times, a closed terminal, and kill -9: all requests are accounted for.

use std::path::Path;
use std::process::Command;

use offered_base::Instant;
use offered_events::{Note, Outcome, Recording};
use offered_io::Clock;
use offered_store::{ReadOptions, read};
use rustix::process::Signal;

use crate::process::{Ended, Process, Serve, offered, soon, until_exists};
use crate::run::{Run, seen, start, start_by};

tests![
    the_first_ctrl_c_stops_and_reports_every_request,
    the_second_ctrl_c_aborts_without_losing_events,
    the_third_ctrl_c_exits_at_once,
    a_closed_terminal_stops_the_run_except_under_nohup,
    a_killed_run_is_readable_and_marked_as_incomplete,
    ctrl_c_ends_the_wait_for_a_distant_start,
    a_run_whose_directory_vanishes_fails_with_one_line,
    a_full_disk_is_reported_and_lost_events_are_counted,
    a_temporarily_full_disk_loses_nothing,
    a_run_may_stop_when_its_disk_is_full,
    a_disk_that_does_not_respond_keeps_neither_the_result_nor_the_user
];

/// A run of a minute in which half of the requests get no response.
fn endless(folder: &Path, server: &Serve) -> Process {
    let file = folder.join("w.toml");
    let text = format!(
        "duration = \"60s\"\narrivals.open.rate = \"100/s\"\ntarget.url = \"{}\"\n[[request]]\nget = \"/\"\n[[request]]\nget = \"/stall\"\n",
        server.url
    );
    std::fs::write(&file, text).unwrap();
    // Under nohup the child would inherit the ignored signal.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(offered(&[]).get_program());
    let process = start_by(command, &folder.join("run"), &[file.to_str().unwrap()]);
    until_exists(&folder.join("run/events/part-0000.parquet"));
    process
}

fn the_first_ctrl_c_stops_and_reports_every_request() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let server = Serve::start("127.0.0.1:0", &record);
    let process = endless(folder.path(), &server);
    process.signal(Signal::INT);
    let run = Run::of(process.end(), &folder.path().join("run"));
    server.stop();
    assert!(run.count(Outcome::Ok) > 0 && run.count(Outcome::Cut) > 0, "{}", run.json["outcomes"]);
    assert_eq!(run.count(Outcome::Ok) + run.count(Outcome::Cut), run.events.len());
    let is_cut = |event: &offered_events::Event| event.error == Some(offered_events::Reason::Stopped);
    assert!(run.events.iter().all(|event| is_cut(event) == (event.outcome == Outcome::Cut)));
    assert!(run.json["warnings"].to_string().contains("stopped before its end"), "{}", run.json["warnings"]);
    let seen = seen(&record);
    assert_eq!(seen.len(), run.events.len());
    assert_eq!(seen.iter().filter(|row| row.path == "/stall" && !row.is_answered).count(), run.count(Outcome::Cut));
}

fn the_second_ctrl_c_aborts_without_losing_events() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let server = Serve::start("127.0.0.1:0", &record);
    let process = endless(folder.path(), &server);
    process.signal(Signal::INT);
    // A different signal, since two equal pending signals count as one.
    process.signal(Signal::TERM);
    let run = Run::of(process.end(), &folder.path().join("run"));
    server.stop();
    assert!(run.count(Outcome::Cut) > 0, "{}", run.json["outcomes"]);
    assert_eq!(run.count(Outcome::Ok) + run.count(Outcome::Cut), run.events.len());
    assert_eq!(seen(&record).len(), run.events.len());
}

fn the_third_ctrl_c_exits_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let mut process = endless(folder.path(), &server);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        process.signal(signal);
    }
    soon(|| (!process.is_running()).then_some(()));
    // The run may have ended before the third signal.
    let ended = process.end();
    assert!(ended.code.is_some_and(|code| code > 128 || !ended.stdout.is_empty()), "{ended:?}");
}

fn a_closed_terminal_stops_the_run_except_under_nohup() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let process = endless(folder.path(), &server);
    process.signal(Signal::HUP);
    let run = Run::of(process.end(), &folder.path().join("run"));
    assert!(run.json["warnings"].to_string().contains("stopped before its end"), "{}", run.json["warnings"]);
    let mut command = Command::new("nohup");
    let out = folder.path().join("kept");
    let args = ["run", &server.url, "--open", "50/s", "--duration", "5s", "--json", "--quiet", "--output"];
    command.arg(offered(&[]).get_program()).args(args).arg(&out);
    let process = Process::start(command);
    until_exists(&out.join("events/part-0000.parquet"));
    process.signal(Signal::HUP);
    let ended = process.end();
    assert!(ended.code.is_some_and(|code| code < 128) && !ended.stdout.contains("stopped before its end"), "{ended:?}");
}

/// The recording of a run without an end: marked as killed, and every scheduled request up to the last recorded one is recorded, or counted
/// as not recorded because it had no response when the last part ended. Also the scheduled time of the first of these in seconds.
fn killed(run: &Path) -> (Recording, f64) {
    let recording = read(run, &ReadOptions::default()).unwrap();
    let (lacking, from_s) = match &recording.notes[..] {
        [Note::Killed] => (0, f64::INFINITY),
        [Note::NotRecorded { requests, start_s, .. }, Note::Killed] => (*requests, *start_s),
        notes => panic!("{notes:?}"),
    };
    let events = recording.events.to_vec().unwrap();
    let last = events.iter().map(|event| event.intended).max().unwrap();
    let workload = std::fs::read_to_string(run.join("workload.toml")).unwrap();
    let workload = offered_workload::Workload::parse(&workload, "w", &|_| Err(String::new())).unwrap();
    let mut agenda = workload.agenda(offered_base::Share::ALL);
    let meant = std::iter::from_fn(|| agenda.due(last)).count() as u64;
    assert_eq!(events.len() as u64 + lacking, meant);
    (recording, from_s)
}

fn a_killed_run_is_readable_and_marked_as_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let process = endless(folder.path(), &server);
    // Long enough for some requests without a response to be recorded as in flight.
    Clock::start().sleep_until(Instant::from_secs(4));
    process.signal(Signal::KILL);
    assert_eq!(process.end().code, None);
    server.stop();
    let run = folder.path().join("run");
    let (recording, from_s) = killed(&run);
    let events = recording.events.to_vec().unwrap();
    let is_known = |event: &offered_events::Event| match event.outcome {
        Outcome::Ok => event.error.is_none(),
        Outcome::Cut => event.error == Some(offered_events::Reason::Killed) && event.sent.is_some(),
        _ => false,
    };
    assert!(events.iter().all(is_known));
    assert_eq!(recording.unreadable, 0);
    let last = events.iter().map(|event| event.intended).max().unwrap();
    let served = seen(&folder.path().join("seen.csv"));
    let lost = served.len() - events.len();
    assert!(lost < 400, "{lost} of {}: of 100/s two seconds' worth, and what a busy machine adds", served.len());
    assert!(from_s + 4.0 > last.as_secs_f64(), "what is not known is the end: {from_s} s of {last}");
}

fn ctrl_c_ends_the_wait_for_a_distant_start() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let out = folder.path().join("run");
    let process = start(&out, &[&server.url, "--open", "10/s", "--start-at", "2500-01-01T00:00:00Z"]);
    until_exists(&out.join("workload.toml"));
    process.signal(Signal::INT);
    let run = Run::of(process.end(), &out);
    assert_eq!(run.events.len(), 0);
}

fn a_run_whose_directory_vanishes_fails_with_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let out = folder.path().join("run");
    let process = start(&out, &[&server.url, "--open", "100/s", "--duration", "2s"]);
    until_exists(&out.join("workload.toml"));
    std::fs::remove_dir_all(out.join("events")).unwrap();
    let ended = process.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: ") && last.contains(" events could not be written: cannot create"), "{ended:?}");
    assert_eq!(ended.stderr.matches("error: ").count(), 1, "{ended:?}");
}

/// Runs with a disk that accepts only one part, until `mended` removes the obstacle for the second, with this
/// `on_disk_full`.
fn refused(folder: &Path, on_disk_full: &str, duration: &str, mended: impl FnOnce(&Path)) -> Ended {
    let server = Serve::start("127.0.0.1:0", &folder.join("seen.csv"));
    let out = folder.join("run");
    let file = folder.join("w.toml");
    let text = format!(
        "seed = 3\nduration = \"{duration}\"\narrivals.open.rate = \"100/s\"\ntarget.url = \"{}\"\ngenerator.on_disk_full = \"{on_disk_full}\"\n",
        server.url
    );
    std::fs::write(&file, text).unwrap();
    let process = start(&out, &[file.to_str().unwrap()]);
    until_exists(&out.join("events/part-0000.parquet"));
    // Works for root as well.
    let in_the_way = out.join("events/part-0001.parquet.tmp");
    std::fs::create_dir(&in_the_way).unwrap();
    mended(&in_the_way);
    let ended = process.end();
    server.stop();
    ended
}

fn a_full_disk_is_reported_and_lost_events_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let ended = refused(folder.path(), "continue", "5s", |_| ());
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let (kept, _) = killed(&folder.path().join("run"));
    let missing = told["total_requests"].as_u64().unwrap() - kept.events.launches();
    assert!(missing > 100, "{missing}");
    let last = format!("error: {missing} events could not be written: cannot create ");
    assert!(ended.stderr.contains(&last) && ended.stderr.contains("part-0001.parquet.tmp"), "{ended:?}");
    // The server received all requests.
    assert_eq!(told["total_requests"].as_u64(), Some(seen(&folder.path().join("seen.csv")).len() as u64));
}

fn a_temporarily_full_disk_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ended = refused(folder.path(), "continue", "5s", |in_the_way| {
        Clock::start().sleep_until(Instant::from_millis(1500));
        std::fs::remove_dir(in_the_way).unwrap();
    });
    let run = Run::of(ended, &folder.path().join("run"));
    assert_eq!(run.json["total_requests"].as_u64(), Some(run.events.len() as u64));
    assert_eq!(run.events.len(), seen(&folder.path().join("seen.csv")).len());
}

fn a_run_may_stop_when_its_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let ended = refused(folder.path(), "stop", "20s", |_| ());
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let launched = told["total_requests"].as_u64().unwrap();
    assert!((100..1500).contains(&launched), "about 2000 were scheduled, and {launched} sent");
    assert_eq!(launched, seen(&folder.path().join("seen.csv")).len() as u64);
    assert!(told["warnings"].to_string().contains("part-0001.parquet.tmp"), "{told}");
}

/// A pipe that a part should be written to: opening it waits for a reader, as a disk that does not respond.
fn a_disk_that_does_not_respond_keeps_neither_the_result_nor_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let out = folder.path().join("run");
    let args =
        ["run", "--json", "--wait-mode", "sleep", "--open", "100/s", "--duration", "30s", &server.url, "--output"];
    let mut command = offered(&args);
    command.arg(&out);
    let process = Process::start(command);
    until_exists(&out.join("events/part-0000.parquet"));
    let pipe = out.join("events/part-0001.parquet.tmp");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    process.until_stderr_contains("NOT RECORDED, retrying: ");
    process.signal(Signal::INT);
    process.until_stderr_contains("note: the disk has not finished writing ");
    process.signal(Signal::INT);
    let ended = process.end();
    server.stop();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(told["total_requests"].as_u64(), Some(seen(&folder.path().join("seen.csv")).len() as u64));
    for part in [
        "NOT RECORDED, retrying: the disk has not finished ",
        "events/part-0001.parquet in ",
        "note: the disk has not finished writing ",
        "error: the disk did not finish writing ",
        "; the results are complete",
    ] {
        assert!(ended.stderr.contains(part), "`{part}` is not in {ended:?}");
    }
    // Reported after two seconds, or later if this machine is busy.
    let (_, waited) = ended.stderr.split_once("events/part-0001.parquet in ").unwrap();
    let (seconds, _) = waited.split_once(" s\n").unwrap();
    assert!(seconds.parse::<u64>().unwrap() >= 2, "{ended:?}");
    killed(&out);
}
