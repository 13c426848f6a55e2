//! Reading a workload file.

mod auth;
mod catalogue;
mod condition;
mod defaults;
mod distribution;
mod files;
mod flow;
mod reach;
mod retry;
mod scenario;
mod script;
mod sessions;
mod sql;
mod submit;
mod target;
mod variables;

pub use files::digest;

use self::defaults::Applied;
use self::files::Named;
use self::flow::FlowParts;
use self::flow::missing;
use super::shape;
use super::source::{Mistake, Source, Table, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::misfit::{Misfit, Place};
use super::{
    Draft, Generator, Goodput, Group, Late, Observe, OnDiskFull, Policies, Priority, Request, Scrape, Sessions,
    WaitMode, Workload,
};
use crate::catalogue::Catalogue;
use crate::condition::Condition;
use crate::secret::SecretNames;
use crate::template::Template;
use crate::threshold::Threshold;
use offered_base::nearest;
use offered_base::random::Seed;
use offered_base::time::Nanos;
use offered_schedule::{Count, Flows, Population};

/// A function that reads a file named in a workload (samples of a distribution, counts of a profile, data, bodies). It gets the name in
/// the workload and returns the content, or the reason why the file cannot be read.
pub type Files<'f> = &'f dyn Fn(&str) -> Result<Vec<u8>, String>;

impl Workload {
    /// Parses `text`, the content of `file`; `files` reads the files it names.
    ///
    /// # Errors
    /// The first mistake, as `file:line: what`.
    pub fn parse(text: &str, file: &str, files: Files<'_>) -> Result<Self, Mistake> {
        let source = Source { file, text };
        let root = source.parse()?;
        let root = Table::new(source, "", 0..0, root.get_ref(), &shape::WORKLOAD)?;
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let files = Named::of(&root, files)?;
        let (catalogues, tables, conditions) = (RefCell::default(), RefCell::default(), RefCell::default());
        Reader { files, folder, catalogues, tables, conditions }.workload(&root)
    }
}

/// How long visits may go on after the end, unless it is set.
const FINISH: Nanos = Nanos::from_secs(30);

struct Reader<'f> {
    files: Named<'f>,
    /// The folder of the workload file.
    folder: &'f Path,
    /// Catalogues that were read, by name; each class of a catalogue names it.
    catalogues: RefCell<HashMap<String, Arc<Catalogue>>>,
    /// The index of the `[[request]]` table of each request; a table with a catalogue makes several requests.
    tables: RefCell<Vec<usize>>,
    /// The conditions of the flows.
    conditions: RefCell<Vec<Condition>>,
}

impl Reader<'_> {
    /// The text of a file.
    fn text(&self, file: &str) -> Result<String, String> {
        String::from_utf8(self.files.read(file)?).map_err(|_| "the file is not UTF-8 text".to_owned())
    }

    fn workload(&self, root: &Table<'_>) -> Result<Workload, Mistake> {
        let count = count(root)?;
        let length: Option<Nanos> = root.parsed("duration")?;
        if let (Some(Nanos::ZERO), Some(value)) = (length, root.get("duration")) {
            return Err(value.mistake("must be longer than 0s"));
        }
        let listed = match root.get("target") {
            Some(value) if value.is_list() => value.list()?,
            one => one.into_iter().collect(),
        };
        let target = |value: &Value<'_>| self.defaults(value, target::target(value, self.folder)?);
        let mut targets = listed.iter().map(target).collect::<Result<Vec<_>, Mistake>>()?;
        let path = targets.first().map_or("/", |target| &target.url.path);
        let given = root.get("request").map(|value| self.requests(&value, path, &targets)).transpose()?;
        let requests = given.unwrap_or_else(|| vec![Request { path: Template::new(path), ..Request::get(path) }]);
        let parts = self.flows(root, &requests)?;
        let Applied { requests, flows, scenarios } = self.apply_defaults(root, requests, parts, &targets)?;
        let flows = match (flows, root.get("flow")) {
            (Some(FlowParts { flows, steps, blocks }), Some(value)) => {
                Some(value.checked(Flows::with_blocks(flows, steps, blocks))?)
            }
            _ => None,
        };
        let seed = Seed(root.get("seed").map(|value| value.whole()).transpose()?.unwrap_or(1));
        let (sessions, traced) = match root.get("scenario") {
            Some(value) if root.get("arrivals").is_some() => {
                return Err(value.mistake("cannot be combined with `arrivals`; write each load as a [[scenario]]"));
            }
            Some(value) => (self.scenarios(&value, (&requests, flows), scenarios, seed, length)?, None),
            None => {
                let arrivals = root.need("arrivals", "{ open = { rate = \"100/s\" } }")?;
                self.sessions(&arrivals, flows.map(Arc::new), seed)?
            }
        };
        if let (Some(value), Some(_)) = (root.get("request"), &traced) {
            return Err(
                value.mistake("a replay takes its requests from the trace; remove [[request]] or arrivals.replay")
            );
        }
        let requests = traced.unwrap_or(requests);
        let unlimited = || count.map(|_| Nanos::MAX);
        let duration = match length.or_else(|| staged(&sessions)).or_else(unlimited).or_else(|| replayed(&sessions)) {
            Some(duration) => duration,
            None => root.need("duration", "\"10s\"")?.parsed()?,
        };
        let all_have_work = requests.iter().all(|request| request.service.is_some())
            || matches!(&sessions, Sessions::Replay(replay) if replay.trace().has_work());
        let groups = root.get("group").map_or(Ok(Vec::new()), |value| groups(&value, sessions.flows()))?;
        let draft = Draft {
            seed,
            duration,
            count,
            skip_first: root.parsed("skip_first")?.unwrap_or_default(),
            skip_last: root.parsed("skip_last")?.unwrap_or_default(),
            finish: finish(root)?,
            late: late(root)?,
            secret_names: secret_names(root)?,
            sessions,
            target: if targets.is_empty() { None } else { Some(targets.remove(0)) },
            more_targets: targets,
            server: root.get("server").map(|value| self.server(&value, all_have_work)).transpose()?,
            stations: self.stations(root)?,
            regions: target::regions(root)?,
            generator: root.get("generator").map_or(Ok(Generator::default()), |value| generator(&value))?,
            observe: root.get("observe").map_or(Ok(Observe::default()), |value| self.observe(&value))?,
            policies: root.get("policies").map(|value| policies(&value)).transpose()?,
            variables: root.get("variables").map_or(Ok(Vec::new()), |value| self.variables(&value))?,
            requests,
            conditions: self.conditions.take(),
            groups,
            goodput: root.get("goodput").map(|value| goodput(&value)).transpose()?,
            thresholds: root.get("thresholds").map_or(Ok(Vec::new()), |value| thresholds(&value))?,
        };
        Workload::checked(draft).map_err(|misfit| at(root, &self.tables.borrow(), misfit))
    }

    fn observe(&self, value: &Value<'_>) -> Result<Observe, Mistake> {
        let table = value.table(&shape::OBSERVE)?;
        let hosts = table
            .get("hosts")
            .map_or(Ok(Vec::new()), |value| value.entries("observers such as db = \"10.0.0.2:7799\""))?;
        let host = |(name, value): (&str, Value<'_>)| {
            Ok((name.to_owned(), value.checked(super::observe::checked_address(value.text()?))?))
        };
        let mut scrapes: Vec<Scrape> = Vec::new();
        for value in table.get("scrape").map_or(Ok(Vec::new()), |value| value.list())? {
            let scrape = self.scrape(&value)?;
            if scrapes.iter().any(|other| other.name() == scrape.name()) {
                return Err(
                    value.mistake(format!("two endpoints are named `{}`; give each its own name", scrape.name()))
                );
            }
            scrapes.push(scrape);
        }
        Ok(Observe { hosts: hosts.into_iter().map(host).collect::<Result<_, _>>()?, scrapes })
    }

    fn scrape(&self, value: &Value<'_>) -> Result<Scrape, Mistake> {
        let table = value.table(&shape::SCRAPE)?;
        let name = table.need("name", "\"db\"")?;
        let target = target::target(&table.need("target", "{ url = \"http://10.0.0.2:9100/metrics\" }")?, self.folder)?;
        let mut scrape = value.checked(Scrape::new(name.text()?, target))?;
        if let Some(sql) = table.get("sql") {
            scrape = sql.checked(scrape.with_sql(Some(sql.text()?.to_owned())))?;
        }
        if let Some(every) = table.get("every") {
            scrape = every.checked(scrape.with_every(every.parsed()?))?;
        }
        let patterns = |key: &str| -> Result<Vec<String>, Mistake> {
            let all = table.get(key).map_or(Ok(Vec::new()), |value| value.list())?;
            all.iter().map(|pattern| Ok(pattern.text()?.to_owned())).collect()
        };
        Ok(scrape.with_series(patterns("series")?).with_counters(patterns("counters")?))
    }
}

/// The conflict as a mistake with its line; `tables` has the table of each request.
fn at(root: &Table<'_>, tables: &[usize], Misfit { place, why }: Misfit) -> Mistake {
    let of = |key: &str, number: usize| root.get(key)?.list().ok()?.get(number).cloned();
    let value = match place {
        Place::Whole => None,
        Place::Key(key) => root.get(key),
        Place::Target(key) => root.get("target").map(|target| target.entry(key).unwrap_or(target)),
        Place::Policies(key) => root.get("policies").map(|policies| policies.entry(key).unwrap_or(policies)),
        Place::Variables => root.get("variables"),
        Place::Requests => root.get("request"),
        Place::Request(number) => tables.get(number).and_then(|table| of("request", *table)),
        Place::Flows => root.get("flow"),
        Place::Group(number) => of("group", number),
        Place::Stations => root.get("station"),
        Place::Station(number) => of("station", number),
        Place::Region(number) => of("region", number),
        Place::Threshold(number) => {
            root.get("thresholds").and_then(|all| Some(all.entries("").ok()?.get(number)?.1.clone()))
        }
    };
    value.map_or_else(|| root.mistake(&why), |value| value.mistake(&why))
}

/// `requests = 10000` or `sessions = 500`.
fn count(root: &Table<'_>) -> Result<Option<Count>, Mistake> {
    match (root.get("requests"), root.get("sessions")) {
        (None, None) => Ok(None),
        (Some(value), None) if value.is_list() => {
            Err(value
                .mistake("is a maximum number, such as requests = 10000; write the requests as [[request]] tables"))
        }
        (Some(value), None) => Ok(Some(Count::Requests(value.count()?))),
        (None, Some(value)) => Ok(Some(Count::Sessions(value.count()?))),
        (Some(_), Some(value)) => Err(value.mistake("cannot be combined with `requests`; remove one")),
    }
}

/// The length of the stages, or the end of the scenarios; `None` if the sessions have neither.
fn staged(sessions: &Sessions) -> Option<Nanos> {
    match sessions {
        Sessions::Open(schedule) | Sessions::PartlyOpen { schedule, .. } => schedule.rate().staged(),
        Sessions::Closed(closed) => closed.population().map(Population::duration),
        Sessions::Replay(_) => None,
        Sessions::Scenarios(scenarios) => Some(scenarios.end()),
    }
}

/// The time that a replay takes, if it has one.
fn replayed(sessions: &Sessions) -> Option<Nanos> {
    match sessions {
        Sessions::Replay(replay) => replay.length(),
        _ => None,
    }
}

/// `secret_names = ["X-Tenant"]`.
fn secret_names(root: &Table<'_>) -> Result<SecretNames, Mistake> {
    let names = root.get("secret_names").map_or(Ok(Vec::new()), |value| value.list())?;
    let names: Result<Vec<String>, Mistake> = names.iter().map(|name| Ok(name.text()?.to_owned())).collect();
    names.map(SecretNames::with)
}

/// `end = "finish"`, or `end = { finish = "30s" }`.
fn finish(root: &Table<'_>) -> Result<Nanos, Mistake> {
    let Some(end) = root.get("end") else { return Ok(Nanos::ZERO) };
    if end.is_table() {
        let within = end.table(&shape::END)?.need("finish", "\"30s\"")?;
        return match within.parsed()? {
            Nanos::ZERO => Err(within.mistake("must be longer than 0s; write end = \"cut\"")),
            within => Ok(within),
        };
    }
    match end.text()? {
        "cut" => Ok(Nanos::ZERO),
        "finish" => Ok(FINISH),
        other => Err(choice(&end, other, &shape::ENDS)),
    }
}

fn late(root: &Table<'_>) -> Result<Late, Mistake> {
    let after: Option<Nanos> = root.parsed("late_after")?;
    match root.get("late") {
        None if after.is_some() => Err(root.mistake("`late_after` needs late = \"skip\"")),
        None => Ok(Late::Send),
        Some(value) => match value.text()? {
            "send" if after.is_some() => Err(value.mistake("`late_after` needs late = \"skip\"")),
            "send" => Ok(Late::Send),
            "skip" => Ok(Late::Skip(after.unwrap_or(Nanos::from_millis(10)))),
            other => Err(choice(&value, other, &shape::LATE)),
        },
    }
}

/// `"response.p99" = "< 250ms"` and the like.
fn thresholds(value: &Value<'_>) -> Result<Vec<Threshold>, Mistake> {
    let threshold = |(metric, bound): (&str, Value<'_>)| {
        if !bound.is_table() {
            return bound.checked(Threshold::new(metric, bound.text()?));
        }
        if bound.entry("bound").is_none() {
            return Err(bound.mistake("write the metric in quotes, for example \"response.p99\" = \"< 250ms\""));
        }
        let table = bound.table(&shape::THRESHOLD)?;
        let bound = table.need("bound", "\"< 5%\"")?;
        let threshold = bound.checked(Threshold::new(metric, bound.text()?))?;
        let stops = table.get("stop").map_or(Ok(false), |stop| stop.truth())?;
        match (stops, table.parsed("after")?) {
            (true, after) => Ok(threshold.stopping(after.unwrap_or_default())),
            (false, None) => Ok(threshold),
            (false, Some(_)) => Err(table.mistake("`after` needs stop = true")),
        }
    };
    value.entries("thresholds such as \"response.p99\" = \"< 250ms\"")?.into_iter().map(threshold).collect()
}

/// `[[group]]`.
fn groups(value: &Value<'_>, flows: Option<&Arc<Flows>>) -> Result<Vec<Group>, Mistake> {
    let group = |item: &Value<'_>| {
        let table = item.table(&shape::GROUP)?;
        let flows = flows.ok_or_else(|| item.mistake("a group needs a [[flow]] with its steps"))?;
        let name = table.need("name", "\"checkout\"")?;
        let [from, to] = [table.need("from", "\"cart\"")?, table.need("to", "\"pay\"")?];
        let flow = table.get("flow").map(|flow| flow.text()).transpose()?;
        item.checked(Group::find(name.text()?, flow, [from.text()?, to.text()?], flows))
    };
    value.list()?.iter().map(group).collect()
}

/// `[goodput]`.
fn goodput(value: &Value<'_>) -> Result<Goodput, Mistake> {
    let table = value.table(&shape::GOODPUT)?;
    let goodput =
        Goodput { ttft: table.parsed("ttft")?, tpot: table.parsed("tpot")?, response: table.parsed("response")? };
    value.checked(goodput.check())?;
    Ok(goodput)
}

fn generator(value: &Value<'_>) -> Result<Generator, Mistake> {
    let table = value.table(&shape::GENERATOR)?;
    let wait_mode = table.named("wait")?.unwrap_or(WaitMode::Spin);
    let on_disk_full = table.named("on_disk_full")?.unwrap_or(OnDiskFull::Continue);
    let priority = table.named("priority")?.unwrap_or(Priority::Auto);
    let generator = Generator::default().with_wait_mode(wait_mode).with_priority(priority);
    let mut generator = generator.with_on_disk_full(on_disk_full);
    if let Some(tolerance) = table.get("tolerance") {
        let text = tolerance.text()?;
        let percent = text.strip_suffix('%').and_then(|percent| percent.trim().parse().ok());
        let percent = percent.ok_or_else(|| {
            tolerance.mistake(format!("`{text}` is not a percentage; write for example tolerance = \"5%\""))
        })?;
        generator = tolerance.checked(generator.with_tolerance(percent))?;
    }
    match table.get("threads") {
        None => Ok(generator),
        Some(threads) => threads.checked(generator.with_threads(threads.count()?)),
    }
}

fn policies(value: &Value<'_>) -> Result<Policies, Mistake> {
    let table = value.table(&shape::POLICIES)?;
    let texts = |key, example| {
        let texts = table.need(key, example)?.list()?;
        texts.iter().map(|text| Ok(text.text()?.to_owned())).collect::<Result<Vec<_>, Mistake>>()
    };
    let block: Nanos = table.need("block", "\"8s\"")?.parsed()?;
    Ok(Policies {
        names: texts("names", "[\"fair\", \"short-first\"]")?,
        block,
        settle: table.parsed("settle")?.unwrap_or(Nanos(block.0 / 4)),
        hook: texts("hook", "[\"./switch\", \"{{policy}}\"]")?,
    })
}

pub(super) fn small(value: &Value<'_>, number: u64) -> Result<u32, Mistake> {
    u32::try_from(number).map_err(|_| value.mistake(format!("{number} is too large; write a number up to 4294967295")))
}

pub(super) fn choice(value: &Value<'_>, given: &str, known: &[&str]) -> Mistake {
    value.mistake(format!("`{given}` is not one of {}{}", known.join(", "), nearest(given, known)))
}
