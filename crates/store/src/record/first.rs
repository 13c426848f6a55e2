//! Run records of the first version, which knew of the generator only what the summary said.

use offered_model::recording::{End, Evidence, Halted};
use offered_model::{Note, Share};
use serde::Deserialize;

use super::{Machine, MadeBy, RunRecord, Until};

/// Whether this is the text of such a record. A simulation's called itself by the name of a run's summary.
pub(super) fn is(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let head = serde_json::from_str(text);
    head.is_ok_and(|Head { schema }| {
        matches!(schema.as_deref(), None | Some("offered.run-directory/1" | "offered.run/1"))
    })
}

/// `offered.run-directory/1`: what of it is still told.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    version: String,
    /// `virtual`, of a simulation.
    clock: Option<String>,
    seed: Option<u64>,
    share: Option<String>,
    /// 0 on a virtual clock.
    started_unix_ns: Option<u64>,
    load: Option<f64>,
    machine: Option<Machine>,
    summary: Summary,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Summary {
    seed: Option<u64>,
    busy: Option<Vec<f64>>,
    cpu_s: f64,
    warnings: Vec<Warning>,
}

/// A run's has its doubt and its remedy, a simulation's is one sentence.
#[derive(Deserialize)]
#[serde(untagged)]
enum Warning {
    Run { doubt: String },
    Simulation(String),
}

impl From<Record> for RunRecord {
    fn from(old: Record) -> Self {
        let Record { version, clock, seed, share, started_unix_ns, load, machine, summary } = old;
        let simulated = clock.as_deref() == Some("virtual");
        let (mut doubts, mut notes) = (Vec::new(), Vec::new());
        for warning in summary.warnings {
            match warning {
                Warning::Run { doubt } => doubts.push(doubt),
                Warning::Simulation(words) => notes.push(Note::Words { words }),
            }
        }
        let halted = doubts.iter().find_map(|doubt| doubt.strip_prefix("the run stopped itself: "));
        let stopped = halted.is_some() || doubts.iter().any(|doubt| doubt == "the run was stopped before its time");
        let generator = summary.busy.map(|busy| Evidence {
            blocks: Vec::new(),
            busy,
            cpu_s: summary.cpu_s,
            stopped,
            halted: halted.map(|why| Halted { why: why.to_owned(), end: End::Meant }),
            calibrated: None,
        });
        let started_unix_ns = started_unix_ns.filter(|started| *started > 0);
        let made_by = match started_unix_ns {
            _ if simulated => MadeBy::Simulation,
            None => MadeBy::DryRun,
            Some(_) => MadeBy::Run,
        };
        Self {
            version,
            seed: seed.or(summary.seed),
            share: share.and_then(|share| share.parse().ok()).unwrap_or(Share::ALL),
            started_unix_ns,
            load,
            generator,
            machine,
            notes,
            ..Self::new(made_by, if simulated { Until::Answers } else { Until::Duration })
        }
    }
}
