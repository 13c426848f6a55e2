//! Reading a workload file.

mod flow;
mod law;
mod names;
mod reach;
mod script;
mod sessions;
mod target;
mod variables;

use super::source::{Mistake, Source, Table, Value};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::script::{Auth, Body, Content, Source as From, Variable};
use super::{Generator, Late, Precision, Request, Target, Workload};
use crate::nearest;
use crate::random::Seed;
use crate::template::{Name, Piece, Template, in_url};
use crate::threshold::Threshold;
use crate::time::Nanos;

/// What reads the files a workload names (samples of an empirical law, counts of a profile, data, bodies): from the name in the
/// workload to what is in it, or why not.
pub type Files<'f> = &'f dyn Fn(&str) -> Result<Vec<u8>, String>;

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
            "variables",
            "generator",
            "request",
            "flow",
            "thresholds",
        ];
        let root = Table::new(source, "", 0..0, root.get_ref(), &known)?;
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        Reader { files, folder }.workload(&root)
    }
}

struct Reader<'f> {
    files: Files<'f>,
    /// Where the workload stands.
    folder: &'f Path,
}

impl Reader<'_> {
    /// The text of a file.
    fn text(&self, file: &str) -> Result<String, String> {
        String::from_utf8((self.files)(file)?).map_err(|_| "it is not a text (UTF-8)".to_owned())
    }

    fn workload(&self, root: &Table<'_>) -> Result<Workload, Mistake> {
        let duration: Nanos = root.need("duration", "\"10s\"")?.parsed()?;
        if duration == Nanos::ZERO {
            return Err(root.need("duration", "")?.mistake("must be longer than 0s"));
        }
        let skip_first = root.parsed("skip_first")?.unwrap_or_default();
        let skip_last: Nanos = root.parsed("skip_last")?.unwrap_or_default();
        super::counted(duration, skip_first, skip_last).map_err(|wrong| root.mistake(wrong))?;
        let mut target = root.get("target").map(|value| target::target(&value, self.folder)).transpose()?;
        let arrivals = root.need("arrivals", "{ open = { rate = \"100/s\" } }")?;
        let path = target.as_ref().map_or("/", |target| &target.url.path);
        let given = root.get("request").map(|value| self.requests(&value, path)).transpose()?;
        let requests = given.unwrap_or_else(|| {
            let path = target.as_ref().map_or("/", |target| &target.url.path);
            vec![Request { path: Template::new(path), ..Request::get(path) }]
        });
        let flows = root.get("flow").map(|value| self.flows(&value, &requests)).transpose()?;
        let seed = Seed(root.get("seed").map(|value| value.whole()).transpose()?.unwrap_or(1));
        let (sessions, traced) = self.sessions(&arrivals, flows.map(Arc::new), seed)?;
        let mut requests = match (root.get("request"), traced) {
            (Some(value), Some(_)) => {
                return Err(
                    value.mistake("the trace says what is asked; take [[request]] out, or replay out of arrivals")
                );
            }
            (None, Some(traced)) => traced,
            (_, None) => requests,
        };
        let variables = root.get("variables").map_or(Ok(Vec::new()), |value| self.variables(&value))?;
        let walked = sessions.flows().map(|flows| &**flows);
        names::check(&requests, target.as_ref(), &variables, walked).map_err(|(request, why)| {
            let why = format!("request `{}`: {why}", requests[request].name);
            let tables = root.get("request").and_then(|value| value.list().ok());
            tables
                .and_then(|tables| tables.get(request).map(|table| table.mistake(&why)))
                .unwrap_or_else(|| root.mistake(&why))
        })?;
        fill(&mut requests, target.as_mut(), &variables);
        if let Some(request) = requests
            .iter()
            .find(|request| matches!(request.path.pieces().first(), Some(Piece::Text(text)) if !text.starts_with('/')))
        {
            return Err(root.mistake(format!(
                "the path of request `{}` becomes `{}`, which does not start with /",
                request.name, request.path
            )));
        }
        let thresholds = root.get("thresholds").map_or(Ok(Vec::new()), |value| thresholds(&value, &requests))?;
        Ok(Workload {
            seed,
            duration,
            skip_first,
            skip_last,
            late: late(root)?,
            sessions,
            target,
            server: root.get("server").map(|value| self.server(&value)).transpose()?,
            stations: self.stations(root)?,
            variables,
            generator: root.get("generator").map_or(Ok(Generator::default()), |value| generator(&value))?,
            requests,
            thresholds,
        })
    }
}

/// Puts the values in that are the same for all sessions, so that a workload with nothing but those is as plain as one without.
fn fill(requests: &mut [Request], target: Option<&mut Target>, variables: &[Variable]) {
    // What is extracted under the same name takes its place.
    let extracted: HashSet<String> =
        requests.iter().flat_map(|request| &request.extract).map(|extraction| extraction.name.clone()).collect();
    let constant = |name: &Name| match &variables.iter().find(|variable| *variable.name == *name.variable)?.source {
        From::Constant(Ok(value)) if !extracted.contains(&*name.variable) => Some(value.clone()),
        _ => None,
    };
    let put = |text: &mut Template| *text = text.filled(constant, |_, value| value);
    let identify = |auth: Option<&mut Auth>| match auth {
        Some(Auth::Basic(text) | Auth::Bearer(text)) => put(text),
        Some(Auth::Nobody) | None => {}
    };
    for request in requests {
        request.path = request.path.filled(constant, |before, value| in_url(before, &value));
        request.headers.iter_mut().for_each(|(_, value)| put(value));
        identify(request.auth.as_mut());
        if let Body::Text(text) | Body::File { content: Ok(Content::Text(text)), .. } = &mut request.body {
            put(text);
        }
    }
    if let Some(target) = target {
        target.headers.iter_mut().for_each(|(_, value)| put(value));
        identify(target.auth.as_mut());
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
