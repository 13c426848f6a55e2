//! The run record, `run.json`: what is known of a run beside its workload and its events.
//!
//! It is written and read by this one type. Every key is documented in book/src/reference/run-directory.md.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;

use offered_model::Share;
use offered_model::recording::{End, Evidence, Halted};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::error::Error;

/// The name of its file.
pub(crate) const FILE: &str = "run.json";
/// What it calls itself.
const SCHEMA: &str = "offered.run-directory/2";

/// What is known of a run beside its workload and its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// `offered.run-directory/2`.
    pub schema: String,
    /// Of the program that made it.
    pub version: String,
    /// How it came to be.
    pub made_by: MadeBy,
    /// What ended its launches.
    pub until: Until,
    /// From which every random choice followed; `None` in records of older runs.
    pub seed: Option<u64>,
    /// The part of the whole run that was launched here.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub share: Share,
    /// When it began, since the Unix epoch; `None` on a virtual clock.
    pub started_unix_ns: Option<u64>,
    /// The load that a simulation was brought to, where it was brought to one.
    pub load: Option<f64>,
    /// What the generator was seen to do; `None` of a simulation, which has none.
    pub generator: Option<Evidence>,
    /// Where it ran; `None` of a simulation, which is the same everywhere.
    pub machine: Option<Machine>,
    /// What a reader must know besides, in sentences.
    pub notes: Vec<String>,
    /// What it came to, as the document of the verb that made it.
    pub summary: Value,
    /// What to believe of it, as the document `offered.verify/1`; `null` where it was not judged.
    pub verdict: Value,
}

/// How a run directory came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MadeBy {
    /// Launched at a target.
    Run,
    /// Launched at nobody, on a virtual clock.
    DryRun,
    /// By the workload's own modelled server, on a virtual clock.
    Simulation,
}

/// What ended the launches of a run that was let run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// The workload's duration.
    Duration,
    /// There were answers enough, however long that took.
    Answers,
}

/// A machine that makes load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// System and release.
    pub system: String,
    /// The kind of processor.
    pub arch: String,
    /// How many of them a process may use.
    pub cores: usize,
}

impl RunRecord {
    /// Of a run made now by this version, of which nothing else is known yet.
    pub fn new(made_by: MadeBy, until: Until) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            made_by,
            until,
            seed: None,
            share: Share::ALL,
            started_unix_ns: None,
            load: None,
            generator: None,
            machine: None,
            notes: Vec::new(),
            summary: Value::Null,
            verdict: Value::Null,
        }
    }

    /// The record of the run in the directory `run`; `None` where the run did not come to its end, or `run` is a file.
    ///
    /// # Errors
    /// It cannot be read, or is no record of a run.
    pub fn read(run: &Path) -> Result<Option<Self>, Error> {
        let path = run.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            // A file of another tool's has no record either.
            Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(why) => return Err(Error::io("read", &path)(why)),
        };
        let wrong = |why: serde_json::Error| {
            Error::content(
                path.display().to_string(),
                format!("is no record of a run: {why}; remove it to read the events alone"),
            )
        };
        let value: Value = serde_json::from_str(&text).map_err(wrong)?;
        if value["schema"] == SCHEMA {
            return serde_json::from_value(value).map(Some).map_err(wrong);
        }
        Ok(Some(Self::of_first(value)))
    }

    /// Of `offered.run-directory/1`, which knew of its generator only what the summary said. A simulation's called itself
    /// `offered.run/1`.
    fn of_first(mut old: Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let simulated = old["clock"] == "virtual";
        let summary = old["summary"].take();
        let doubts: Vec<&str> = summary["warnings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|warning| warning["doubt"].as_str())
            .collect();
        let halted = doubts.iter().find_map(|doubt| doubt.strip_prefix("the run stopped itself: "));
        let stopped = halted.is_some() || doubts.contains(&"the run was stopped before its time");
        let busy = summary["busy"].as_array().map(|busy| busy.iter().filter_map(Value::as_f64).collect());
        let generator = busy.map(|busy| Evidence {
            busy,
            cpu_s: summary["cpu_s"].as_f64().unwrap_or_default(),
            stopped,
            halted: halted.map(|why| Halted { why: why.to_owned(), end: End::Meant }),
            calibrated: None,
        });
        let started_unix_ns = old["started_unix_ns"].as_u64().filter(|started| *started > 0);
        let made_by = match started_unix_ns {
            _ if simulated => MadeBy::Simulation,
            None => MadeBy::DryRun,
            Some(_) => MadeBy::Run,
        };
        let notes = if simulated { summary["warnings"].as_array() } else { None };
        Self {
            schema: SCHEMA.to_owned(),
            version: text(&old["version"]).unwrap_or_default(),
            made_by,
            until: if simulated { Until::Answers } else { Until::Duration },
            seed: old["seed"].as_u64().or_else(|| summary["seed"].as_u64()),
            share: text(&old["share"]).and_then(|share| share.parse().ok()).unwrap_or(Share::ALL),
            started_unix_ns,
            load: old["load"].as_f64(),
            generator,
            machine: serde_json::from_value(old["machine"].take()).ok(),
            notes: notes.into_iter().flatten().filter_map(text).collect(),
            verdict: old["verdict"].take(),
            summary,
        }
    }
}

fn to_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn from_text<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> RunRecord {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), text).unwrap();
        RunRecord::read(folder.path()).unwrap().unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let record = RunRecord {
            seed: Some(u64::MAX),
            share: "2/8".parse().unwrap(),
            started_unix_ns: Some(1_700_000_000_123_456_789),
            generator: Some(Evidence {
                busy: vec![0.25, 0.95],
                stopped: true,
                halted: Some(Halted { why: "data used up".to_owned(), end: End::Meant }),
                ..Evidence::default()
            }),
            machine: Some(Machine { name: "a".into(), system: "b".into(), arch: "c".into(), cores: 2 }),
            notes: vec!["a note".to_owned()],
            summary: serde_json::json!({ "judgement": "fails" }),
            ..RunRecord::new(MadeBy::Run, Until::Duration)
        };
        assert_eq!(kept(&serde_json::to_string(&record).unwrap()), record);
    }

    #[test]
    fn records_of_the_first_version_are_read() {
        let run = kept(include_str!("record/run-1.json"));
        assert_eq!((run.made_by, run.until, run.share.to_string().as_str()), (MadeBy::Run, Until::Duration, "2/8"));
        assert_eq!((run.started_unix_ns, run.seed), (Some(1_763_000_000_000_000_000), Some(42)));
        let generator = run.generator.unwrap();
        assert_eq!((generator.busiest(), generator.stopped), (Some((1, 0.953)), true));
        assert_eq!(run.machine.unwrap().cores, 2);
        let simulation = kept(include_str!("record/simulation-1.json"));
        assert_eq!((simulation.made_by, simulation.until), (MadeBy::Simulation, Until::Answers));
        assert_eq!((simulation.load, simulation.generator), (Some(0.7), None));
        assert_eq!(simulation.notes, ["the run is short"]);
    }

    #[test]
    fn a_run_without_a_record_is_not_an_error_and_one_that_is_none_is() {
        let folder = tempfile::tempdir().unwrap();
        assert!(RunRecord::read(folder.path()).unwrap().is_none());
        let file = folder.path().join("results.jtl");
        fs::write(&file, "").unwrap();
        assert!(RunRecord::read(&file).unwrap().is_none());
        fs::write(folder.path().join(FILE), "{ \"schema\": \"offered.run-directory/2\" }").unwrap();
        let why = RunRecord::read(folder.path()).unwrap_err().to_string();
        assert!(why.contains("run.json: is no record of a run: missing field"), "{why}");
    }
}
