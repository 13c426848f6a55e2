//! Runs `offered run` and checks that its outputs are consistent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use offered_events::{Event, Outcome};
use offered_store::{ReadOptions, read};
use serde_json::Value;

use crate::process::{Ended, Process, offered};

/// A finished run: its JSON document and its recorded events, which agree.
pub(crate) struct Run {
    pub(crate) json: Value,
    pub(crate) events: Vec<Event>,
    /// Labels of events.
    pub(crate) labels: Vec<String>,
}

/// Starts a run that is recorded in `out`.
pub(crate) fn start(out: &Path, args: &[&str]) -> Process {
    start_by(offered(&[]), out, args)
}

/// The same with a command that ends in the program.
pub(crate) fn start_by(mut command: Command, out: &Path, args: &[&str]) -> Process {
    command.args(["run", "--json", "--quiet", "--wait-mode", "sleep", "--output"]).arg(out).args(args);
    Process::start(command)
}

/// Runs until it ends.
pub(crate) fn run(args: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let ended = start(&out, args).end();
    Run::of(ended, &out)
}

impl Run {
    /// Reads the output of a run and checks its consistency: one event per request, times in order, sums that agree.
    pub(crate) fn of(ended: Ended, out: &Path) -> Self {
        assert!(matches!(ended.code, Some(0 | 3 | 99)), "{ended:?}");
        let json: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
        if ended.code == Some(99) {
            // Without thresholds, the only failure is that no request succeeded.
            assert!(json["outcomes"]["ok"].is_null() || json["thresholds"] != Value::Array(Vec::new()), "{ended:?}");
        }
        let recording = read(out, &ReadOptions::default()).unwrap();
        assert_eq!(recording.notes, []);
        let run = Self { json, events: recording.events.to_vec().unwrap(), labels: recording.labels };
        let events = &run.events;
        assert_eq!(run.json["total_requests"], events.len());
        let launches: BTreeSet<_> = events.iter().map(|event| (event.session, event.step)).collect();
        assert_eq!(launches.len(), events.len(), "a launch is one event");
        for event in events {
            let times = [Some(event.intended), event.sent, event.first_byte, event.done];
            let times: Vec<_> = times.into_iter().flatten().collect();
            assert!(times.is_sorted(), "{event:?}");
            assert_eq!(event.sent.is_none(), event.outcome == Outcome::Unsent, "{event:?}");
            assert_eq!(event.done.is_none(), matches!(event.outcome, Outcome::Unsent | Outcome::Cut), "{event:?}");
            let is_well = matches!(event.outcome, Outcome::Ok | Outcome::HttpError);
            assert_eq!(event.error.is_none(), is_well, "{event:?}");
            // A database has no status.
            assert_eq!(event.status > 0, event.outcome.is_response() && event.waited.is_none(), "{event:?}");
        }
        let told: BTreeMap<String, u64> = serde_json::from_value(run.json["outcomes"].clone()).unwrap();
        assert_eq!(told.values().sum::<u64>(), events.len() as u64);
        assert!(told.iter().all(|(name, n)| run.count(Outcome::from_name(name).unwrap()) as u64 == *n), "{told:?}");
        assert_eq!(run.json["bytes_in"], events.iter().map(|event| event.bytes_in).sum::<u64>());
        assert_eq!(run.json["bytes_out"], events.iter().map(|event| event.bytes_out).sum::<u64>());
        run
    }

    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        self.events.iter().filter(|event| event.outcome == outcome).count()
    }

    /// Number of requests that were written, at least partly.
    pub(crate) fn sent(&self) -> usize {
        self.events.iter().filter(|event| event.sent.is_some()).count()
    }

    /// Number of connections used.
    pub(crate) fn connections(&self) -> usize {
        let used = self.events.iter().filter(|event| event.sent.is_some());
        used.map(|event| (event.worker, event.connection)).collect::<BTreeSet<_>>().len()
    }

    /// Checks that every event has this outcome, with these words in its error.
    pub(crate) fn all(&self, outcome: Outcome, words: &str) {
        assert!(!self.events.is_empty());
        for event in &self.events {
            let says = event.why().contains(words);
            assert!(event.outcome == outcome && says, "expected {}, `{words}`: {event:?}", outcome.name());
        }
    }
}

/// A row of the record of `offered serve`: the target, and whether the response was complete.
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) is_answered: bool,
}

/// Reads the record of the server.
pub(crate) fn seen(record: &PathBuf) -> Vec<Seen> {
    let text = std::fs::read_to_string(record).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let (row, _received) = line.rsplit_once(',').unwrap();
        let fields: Vec<&str> = row.splitn(5, ',').collect();
        Seen { path: fields[4].to_owned(), is_answered: !fields[3].is_empty() }
    });
    rows.collect()
}
