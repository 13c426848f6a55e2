//! What was measured of a machine: shares of time, rates and levels, made of its counters.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Course;

/// Processor times in which a processor works for somebody here, and all of them.
pub(super) const BUSY: [&str; 5] = ["user_ticks", "nice_ticks", "system_ticks", "irq_ticks", "softirq_ticks"];
const IDLE: [&str; 3] = ["idle_ticks", "iowait_ticks", "steal_ticks"];
/// Interfaces, and disks, that are shown: the busiest.
const SHOWN: usize = 6;
/// Series of one that was asked that are shown.
const MOST_SERIES: usize = 60;
/// Below such a share of the time a virtual machine's processors are its own.
const STOLEN: f64 = 0.001;
const SECTOR: f64 = 512.0;

offered_model::named! {
    /// What a number is of.
    pub enum Resource {
        /// All processors: the share of their time in which they worked.
        Processors = "processors",
        /// The busiest processor: the same.
        Core = "core",
        /// All processors: the share of their time that the machine beneath gave to others.
        Stolen = "stolen",
        /// A control group: processors at work.
        Group = "group",
        /// A control group whose processors are limited: the share of its limit.
        GroupLimit = "group-limit",
        /// A process: processors at work.
        Process = "process",
        /// Processes that ran or wanted to, without the observer.
        Running = "running",
        /// Processes that waited for a disk.
        Blocked = "blocked",
        /// A disk: the share of the time in which it had something to do.
        Disk = "disk",
        /// A disk: requests that it had, on average.
        DiskQueue = "disk-queue",
        /// A disk: bytes read a second.
        DiskRead = "disk-read",
        /// A disk: bytes written a second.
        DiskWritten = "disk-written",
        /// An interface: bytes received a second.
        NetworkIn = "network-in",
        /// An interface: bytes sent a second.
        NetworkOut = "network-out",
        /// The share of the time in which somebody was held up for want of it.
        Pressure = "pressure",
        /// The share of memory that could not be had.
        Memory = "memory",
        /// A series that somebody counts: its rise per second.
        SeriesRate = "series-rate",
        /// A series that somebody tells: what it was.
        SeriesLevel = "series-level",
    }
}

impl Resource {
    /// Whether it is what somebody told of itself, and no figure of a machine.
    pub fn is_series(self) -> bool {
        matches!(self, Self::SeriesRate | Self::SeriesLevel)
    }

    /// Whether 1 is all that there is of it, and who asks for more waits.
    pub fn is_utilisation(self) -> bool {
        matches!(self, Self::Processors | Self::Core | Self::GroupLimit | Self::Disk)
    }
}

/// Something that was measured of a machine, over windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// What it is.
    pub resource: Resource,
    /// Of which of them: `sda`, `eth0`, `cpu3`; empty where there is only one.
    pub of: String,
    /// On average over the time that was judged; `None` where that is not known. Shares are from 0 to 1, rates per second.
    pub mean: Option<f64>,
    /// In each window; `None` where it was not observed from end to end.
    pub over_time: Vec<Option<f64>>,
}

impl Measure {
    /// What it is, as a sentence names it.
    pub fn words(&self) -> String {
        let of = group(&self.of);
        match self.resource {
            Resource::Processors => "the processors".to_owned(),
            Resource::Core => format!("one processor ({of})"),
            Resource::Stolen => "processor time given to others".to_owned(),
            Resource::Group => format!("control group {of}"),
            Resource::GroupLimit => format!("the limit of control group {of}"),
            Resource::Process => format!("process {of}"),
            Resource::Running => "wanted to run".to_owned(),
            Resource::Blocked => "waited for a disk".to_owned(),
            Resource::Disk => format!("disk {of}"),
            Resource::DiskQueue => format!("requests at disk {of}"),
            Resource::DiskRead => format!("read from {of}"),
            Resource::DiskWritten => format!("written to {of}"),
            Resource::NetworkIn => format!("received at {of}"),
            Resource::NetworkOut => format!("sent from {of}"),
            Resource::Pressure => match self.of.split_once(":cgroup:") {
                Some((kind, own)) => format!("held up for {kind}, control group {}", group(own)),
                None => format!("held up for {of}"),
            },
            Resource::Memory => "memory in use".to_owned(),
            Resource::SeriesRate => format!("{}, per second", self.of),
            Resource::SeriesLevel => self.of.clone(),
        }
    }
}

/// A control group as people name it: without where all of them are.
fn group(path: &str) -> &str {
    path.strip_prefix("/sys/fs/cgroup/").unwrap_or(path)
}

/// Whether this is a processor by itself: `cpu3`.
pub(super) fn is_core(source: &str) -> bool {
    source.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// What was measured of a machine; means are of the windows in `judged`.
pub(super) fn of(course: &Course, ticks_per_s: u64, judged: &Range<usize>) -> Vec<Measure> {
    let making = Making { course, judged };
    let named = |prefix: &str| -> Vec<String> {
        let sources = course.sources().filter(|source| source.starts_with(prefix));
        sources.map(str::to_owned).collect()
    };
    let bare = |source: &str| source.split_once(':').map_or(source, |(_, name)| name).to_owned();
    let share = |source: &str, of: &[&str], all: &[&str], from: usize, to: usize| {
        let part = course.rises(source, of, from, to)?;
        let whole = course.rises(source, all, from, to)?;
        (whole > 0.0).then(|| part / whole)
    };
    let all: Vec<&str> = BUSY.iter().chain(&IDLE).copied().collect();
    let mut measures = vec![making.rate(Resource::Processors, "", |from, to| share("cpu", &BUSY, &all, from, to))];
    let cores = course.sources().filter(|source| is_core(source)).map(|core| {
        making.rate(Resource::Core, core, |from, to| {
            share(core, &["busy_ticks"], &["busy_ticks", "idle_ticks"], from, to)
        })
    });
    measures.extend(busiest(cores.collect(), 1));
    let stolen = making.rate(Resource::Stolen, "", |from, to| share("cpu", &["steal_ticks"], &all, from, to));
    measures.extend(Some(stolen).filter(|stolen| stolen.mean.is_some_and(|mean| mean > STOLEN)));
    let per_s = |source: &str, metrics: &[&str], unit: f64, from: usize, to: usize| {
        Some(course.rises(source, metrics, from, to)? * unit / course.seconds(from, to))
    };
    for source in named("cgroup:") {
        let used = |from, to| per_s(&source, &["cpu_us"], 1e-6, from, to);
        measures.push(making.rate(Resource::Group, &bare(&source), used));
        let limited = |from, to| Some(used(from, to)? / course.level(&source, "cpu_limit", from..to)?);
        measures.push(making.rate(Resource::GroupLimit, &bare(&source), limited));
    }
    for source in named("pid:") {
        let unit = 1.0 / ticks_per_s.max(1) as f64;
        let used = |from, to| per_s(&source, &["user_ticks", "system_ticks"], unit, from, to);
        measures.push(making.rate(Resource::Process, &bare(&source), used));
    }
    // It looks while it runs, and is not what anybody waits for.
    let running = |from: usize, to: usize| Some((course.level("system", "running", from..to)? - 1.0).max(0.0));
    measures.push(making.rate(Resource::Running, "", running));
    measures.push(making.rate(Resource::Blocked, "", |from, to| course.level("system", "blocked", from..to)));
    measures.extend(making.of_each(&named("disk:"), &bare, &|source| {
        vec![
            // A tick more may fall into a window than it is long.
            (Resource::Disk, Box::new(move |from, to| Some(per_s(source, &["busy_ms"], 1e-3, from, to)?.min(1.0)))),
            (Resource::DiskQueue, Box::new(move |from, to| per_s(source, &["queue_ms"], 1e-3, from, to))),
            (Resource::DiskRead, Box::new(move |from, to| per_s(source, &["read_sectors"], SECTOR, from, to))),
            (Resource::DiskWritten, Box::new(move |from, to| per_s(source, &["written_sectors"], SECTOR, from, to))),
        ]
    }));
    measures.extend(making.of_each(&named("net:"), &bare, &|source| {
        vec![
            (Resource::NetworkIn, Box::new(move |from, to| per_s(source, &["in_bytes"], 1.0, from, to))),
            (Resource::NetworkOut, Box::new(move |from, to| per_s(source, &["out_bytes"], 1.0, from, to))),
        ]
    }));
    for source in named("pressure:") {
        let held_up = |from, to| per_s(&source, &["some_us"], 1e-6, from, to);
        measures.push(making.rate(Resource::Pressure, &bare(&source), held_up));
    }
    let used = |from: usize, to: usize| {
        let level = |metric| course.level("memory", metric, from..to);
        Some(1.0 - level("available_bytes")? / level("total_bytes")?)
    };
    measures.push(making.rate(Resource::Memory, "", used));
    measures.retain(|measure| measure.over_time.iter().any(Option::is_some));
    measures
}

/// What somebody told of itself, those of a name together and of many the busiest; and how many more there are. The names of `counters`
/// only rise.
pub(super) fn series(course: &Course, counters: &BTreeSet<String>, judged: &Range<usize>) -> (Vec<Measure>, u64) {
    let making = Making { course, judged };
    let mut by_name: BTreeMap<&str, Vec<Measure>> = BTreeMap::new();
    let mut all = 0;
    for source in course.sources().filter(|source| source.starts_with('{')) {
        for name in course.metrics(source) {
            all += 1;
            let of = if source == "{}" { name.to_owned() } else { format!("{name}{source}") };
            let measure = if counters.contains(name) {
                let rise = |from, to| Some(course.rise(source, name, from, to)? / course.seconds(from, to));
                making.rate(Resource::SeriesRate, &of, rise)
            } else {
                making.rate(Resource::SeriesLevel, &of, |from, to| course.level(source, name, from..to))
            };
            if measure.over_time.iter().flatten().any(|value| *value != 0.0) {
                by_name.entry(name).or_default().push(measure);
            }
        }
    }
    let shown = by_name.into_values().flat_map(|measures| busiest(measures, SHOWN)).take(MOST_SERIES);
    let shown: Vec<Measure> = shown.collect();
    let rest = all - shown.len() as u64;
    (shown, rest)
}

/// What is made of the counters between two ends.
type Rate<'a> = Box<dyn Fn(usize, usize) -> Option<f64> + 'a>;

struct Making<'a> {
    course: &'a Course,
    judged: &'a Range<usize>,
}

impl Making<'_> {
    fn rate(&self, resource: Resource, of: &str, rate: impl Fn(usize, usize) -> Option<f64>) -> Measure {
        let windows = self.course.edges().len().saturating_sub(1);
        let finite = |rate: Option<f64>| rate.filter(|rate| rate.is_finite());
        Measure {
            resource,
            of: of.to_owned(),
            mean: (!self.judged.is_empty()).then(|| finite(rate(self.judged.start, self.judged.end))).flatten(),
            over_time: (0..windows).map(|window| finite(rate(window, window + 1))).collect(),
        }
    }

    /// Several measures of each of these; of many the busiest, and none that did nothing.
    fn of_each<'b>(
        &self,
        sources: &'b [String],
        bare: &dyn Fn(&str) -> String,
        rates: &dyn Fn(&'b str) -> Vec<(Resource, Rate<'b>)>,
    ) -> Vec<Measure> {
        let mut each: Vec<(f64, Vec<Measure>)> = Vec::new();
        for source in sources {
            let made = rates(source).into_iter().map(|(resource, rate)| self.rate(resource, &bare(source), rate));
            let made: Vec<Measure> = made.collect();
            let busy: f64 = made.iter().flat_map(|measure| measure.over_time.iter().flatten()).sum();
            if busy > 0.0 {
                each.push((busy, made));
            }
        }
        each.sort_by(|a, b| b.0.total_cmp(&a.0));
        each.into_iter().take(SHOWN).flat_map(|(_, made)| made).collect()
    }
}

/// Those with the largest means.
fn busiest(mut measures: Vec<Measure>, most: usize) -> Vec<Measure> {
    measures.sort_by(|a, b| b.mean.unwrap_or(0.0).total_cmp(&a.mean.unwrap_or(0.0)));
    measures.truncate(most);
    measures
}
