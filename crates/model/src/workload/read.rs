//! Reading a workload file.

mod flow;
mod law;
mod sessions;
mod target;

use super::source::{Mistake, Source, Table, Value};
use std::sync::Arc;

use super::{Generator, Late, Precision, Request, Workload};
use crate::nearest;
use crate::random::Seed;
use crate::threshold::Threshold;
use crate::time::Nanos;

/// What reads the files a workload names (samples of an empirical law, counts of a profile): from the name in the workload to
/// the text, or why not.
pub type Files<'f> = &'f dyn Fn(&str) -> Result<String, String>;

impl Workload {
    /// Parses `text`, the content of `file`; `files` reads the files it names.
    ///
    /// # Errors
    /// The first mistake, as `file:line: what`.
    pub fn parse(text: &str, file: &str, files: Files<'_>) -> Result<Self, Mistake> {
        let source = Source { file, text };
        let root = source.parse()?;
        let known = [
            "seed",
            "duration",
            "skip_first",
            "skip_last",
            "late",
            "late_after",
            "arrivals",
            "target",
            "server",
            "station",
            "generator",
            "request",
            "flow",
            "thresholds",
        ];
        let root = Table::new(source, "", 0..0, root.get_ref(), &known)?;
        Reader { files }.workload(&root)
    }
}

struct Reader<'f> {
    files: Files<'f>,
}

impl Reader<'_> {
    fn workload(&self, root: &Table<'_>) -> Result<Workload, Mistake> {
        let duration: Nanos = root.need("duration", "\"10s\"")?.parsed()?;
        if duration == Nanos::ZERO {
            return Err(root.need("duration", "")?.mistake("must be longer than 0s"));
        }
        let skip_first = root.parsed("skip_first")?.unwrap_or_default();
        let skip_last: Nanos = root.parsed("skip_last")?.unwrap_or_default();
        if skip_first + skip_last >= duration {
            return Err(root.mistake(format!(
                "skip_first {skip_first} and skip_last {skip_last} leave nothing of the duration {duration}; make it longer or skip less"
            )));
        }
        let target = root.get("target").map(|value| target::target(&value)).transpose()?;
        let arrivals = root.need("arrivals", "{ open = { rate = \"100/s\" } }")?;
        let given = root.get("request").map(|value| self.requests(&value)).transpose()?;
        let requests = given.unwrap_or_else(|| vec![Request::get(target.as_ref().map_or("/", |t| &t.url.path))]);
        let flows = root.get("flow").map(|value| self.flows(&value, &requests)).transpose()?;
        let (sessions, traced) = self.sessions(&arrivals, flows.map(Arc::new))?;
        let requests = match (root.get("request"), traced) {
            (Some(value), Some(_)) => {
                return Err(
                    value.mistake("the trace says what is asked; take [[request]] out, or replay out of arrivals")
                );
            }
            (None, Some(traced)) => traced,
            (_, None) => requests,
        };
        let thresholds = root.get("thresholds").map_or(Ok(Vec::new()), |value| thresholds(&value, &requests))?;
        Ok(Workload {
            seed: Seed(root.get("seed").map(|value| value.whole()).transpose()?.unwrap_or(1)),
            duration,
            skip_first,
            skip_last,
            late: late(root)?,
            sessions,
            target,
            server: root.get("server").map(|value| self.server(&value)).transpose()?,
            stations: self.stations(root)?,
            generator: root.get("generator").map_or(Ok(Generator::default()), |value| generator(&value))?,
            requests,
            thresholds,
        })
    }
}

impl Default for Generator {
    fn default() -> Self {
        Self { threads: None, precision: Precision::Spin }
    }
}

fn late(root: &Table<'_>) -> Result<Late, Mistake> {
    let after: Option<Nanos> = root.parsed("late_after")?;
    match root.get("late") {
        None if after.is_some() => Err(root.mistake("`late_after` goes with late = \"skip\"")),
        None => Ok(Late::Send),
        Some(value) => match value.text()? {
            "send" if after.is_some() => Err(value.mistake("`late_after` goes with late = \"skip\"")),
            "send" => Ok(Late::Send),
            "skip" => Ok(Late::Skip(after.unwrap_or(Nanos::from_millis(10)))),
            other => Err(choice(&value, other, &["send", "skip"])),
        },
    }
}

/// `"response.p99" = "< 250ms"` and the like; a label is that of a request.
fn thresholds(value: &Value<'_>, requests: &[Request]) -> Result<Vec<Threshold>, Mistake> {
    let known: Vec<&str> = requests.iter().map(|request| request.name.as_str()).collect();
    let threshold = |(metric, bound): (&str, Value<'_>)| {
        if bound.is_table() {
            return Err(bound.mistake("write the metric in quotes, for example \"response.p99\" = \"< 250ms\""));
        }
        let threshold = bound.checked(Threshold::new(metric, bound.text()?))?;
        match &threshold.metric.label {
            Some(label) if !known.contains(&label.as_str()) => Err(choice(&bound, label, &known)),
            _ => Ok(threshold),
        }
    };
    value.entries("thresholds such as \"response.p99\" = \"< 250ms\"")?.into_iter().map(threshold).collect()
}

fn generator(value: &Value<'_>) -> Result<Generator, Mistake> {
    let table = value.table(&["threads", "precision"])?;
    let precision = match table.get("precision") {
        None => Precision::Spin,
        Some(value) => match value.text()? {
            "spin" => Precision::Spin,
            "sleep" => Precision::Sleep,
            other => return Err(choice(&value, other, &["spin", "sleep"])),
        },
    };
    let threads = table.get("threads").map(|v| match v.count()? {
        threads @ 1..=1024 => Ok(threads as u16),
        threads => {
            Err(v.mistake(format!("{threads} threads are more than any machine has; write a number up to 1024")))
        }
    });
    Ok(Generator { threads: threads.transpose()?, precision })
}

pub(super) fn small(value: &Value<'_>, number: u64) -> Result<u32, Mistake> {
    u32::try_from(number).map_err(|_| value.mistake(format!("{number} is too large; write a number up to 4294967295")))
}

pub(super) fn choice(value: &Value<'_>, given: &str, known: &[&str]) -> Mistake {
    value.mistake(format!("`{given}` is not one of {}{}", known.join(", "), nearest(given, known)))
}
