//! Measurements of a machine: utilisations, rates and levels, computed from its counters.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::CounterHistory;

/// Processor times in which a processor is busy, and those in which it is not.
pub(super) const BUSY: [&str; 5] = ["user_ticks", "nice_ticks", "system_ticks", "irq_ticks", "softirq_ticks"];
const IDLE: [&str; 3] = ["idle_ticks", "iowait_ticks", "steal_ticks"];
/// Maximum number of interfaces, and of disks, to report: the busiest.
const MAX_DEVICES: usize = 6;
/// Maximum number of scraped series to report.
const MAX_SERIES: usize = 60;
/// A smaller share of stolen processor time is not reported.
const MIN_STOLEN: f64 = 0.001;
const SECTOR: f64 = 512.0;

offered_base::named! {
    /// The measured resource or series.
    pub enum Resource {
        /// All processors: their utilisation.
        Processors = "processors",
        /// The busiest processor: its utilisation.
        Core = "core",
        /// All processors: the share of time that the hypervisor gave to other machines.
        Stolen = "stolen",
        /// A control group: its busy processors.
        Group = "group",
        /// A control group with a processor limit: its utilisation of the limit.
        GroupLimit = "group_limit",
        /// A process: its busy processors.
        Process = "process",
        /// A process: its utilisation of the processors that it can use. Their number is limited by its threads and by
        /// its processor limit.
        ProcessLimit = "process_limit",
        /// Number of runnable processes, without the observer.
        Running = "running",
        /// Number of processes waiting for a disk.
        Blocked = "blocked",
        /// A disk: the share of time in which it was busy.
        Disk = "disk",
        /// A disk: the mean number of requests in its queue.
        DiskQueue = "disk_queue",
        /// A disk: bytes read per second.
        DiskRead = "disk_read",
        /// A disk: bytes written per second.
        DiskWritten = "disk_written",
        /// An interface: bytes received per second.
        NetworkIn = "network_in",
        /// An interface: bytes sent per second.
        NetworkOut = "network_out",
        /// The share of time in which at least one task waited for the resource.
        Pressure = "pressure",
        /// The share of memory that is not available.
        Memory = "memory",
        /// A scraped counter: its increase per second.
        SeriesRate = "series_rate",
        /// A scraped gauge: its value.
        SeriesLevel = "series_level",
    }
}

impl Resource {
    /// Whether this is a scraped series rather than a resource of the machine.
    pub fn is_series(self) -> bool {
        matches!(self, Self::SeriesRate | Self::SeriesLevel)
    }

    /// Whether its values are utilisations: at 1, the resource is exhausted, and tasks wait.
    pub fn is_utilisation(self) -> bool {
        matches!(self, Self::Processors | Self::Core | Self::GroupLimit | Self::ProcessLimit | Self::Disk)
    }
}

/// A measurement over windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measure {
    /// The resource.
    pub resource: Resource,
    /// The instance, such as `sda`, `eth0`, `cpu3`; empty if there is only one.
    pub instance: String,
    /// The mean over the analysed time; `None` if it is unknown. Utilisations are 0 to 1, rates per second.
    pub mean: Option<f64>,
    /// The value by window; `None` if the window was not observed completely.
    pub over_time: Vec<Option<f64>>,
}

impl Measure {
    /// The name of the resource with its instance, as used in sentences.
    pub fn text(&self) -> String {
        let of = group(&self.instance);
        match self.resource {
            Resource::Processors => "the processors".to_owned(),
            Resource::Core => format!("one processor ({of})"),
            Resource::Stolen => "stolen processor time".to_owned(),
            Resource::Group => format!("control group {of}"),
            Resource::GroupLimit => format!("the limit of control group {of}"),
            Resource::Process => format!("process {of}"),
            Resource::ProcessLimit => format!("the processors that process {of} can use"),
            Resource::Running => "runnable processes".to_owned(),
            Resource::Blocked => "processes waiting for a disk".to_owned(),
            Resource::Disk => format!("disk {of}"),
            Resource::DiskQueue => format!("requests at disk {of}"),
            Resource::DiskRead => format!("read from {of}"),
            Resource::DiskWritten => format!("written to {of}"),
            Resource::NetworkIn => format!("received at {of}"),
            Resource::NetworkOut => format!("sent from {of}"),
            Resource::Pressure => match self.instance.split_once(":cgroup:") {
                Some((kind, own)) => format!("stalled for {kind}, control group {}", group(own)),
                None => format!("stalled for {of}"),
            },
            Resource::Memory => "memory in use".to_owned(),
            Resource::SeriesRate => format!("{}, per second", self.instance),
            Resource::SeriesLevel => self.instance.clone(),
        }
    }
}

/// The short name of a control group, without common parent directories.
fn group(path: &str) -> &str {
    path.strip_prefix("/sys/fs/cgroup/").unwrap_or(path)
}

/// Whether this is a single processor, such as `cpu3`.
pub(super) fn is_core(source: &str) -> bool {
    source.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// All measurements of a machine; means are over the windows `judged`.
pub(super) fn of(history: &CounterHistory, ticks_per_s: u64, judged: &Range<usize>) -> Vec<Measure> {
    let making = MeasureBuilder { history, judged };
    let named = |prefix: &str| -> Vec<String> {
        let sources = history.sources().filter(|source| source.starts_with(prefix));
        sources.map(str::to_owned).collect()
    };
    let bare = |source: &str| source.split_once(':').map_or(source, |(_, name)| name).to_owned();
    let share = |source: &str, of: &[&str], all: &[&str], from: usize, to: usize| {
        let part = history.total_increase(source, of, from, to)?;
        let whole = history.total_increase(source, all, from, to)?;
        (whole > 0.0).then(|| part / whole)
    };
    let all: Vec<&str> = BUSY.iter().chain(&IDLE).copied().collect();
    let mut measures = vec![making.rate(Resource::Processors, "", |from, to| share("cpu", &BUSY, &all, from, to))];
    let cores = history.sources().filter(|source| is_core(source)).map(|core| {
        making.rate(Resource::Core, core, |from, to| {
            share(core, &["busy_ticks"], &["busy_ticks", "idle_ticks"], from, to)
        })
    });
    measures.extend(keep_busiest(cores.collect(), 1));
    let stolen = making.rate(Resource::Stolen, "", |from, to| share("cpu", &["steal_ticks"], &all, from, to));
    measures.extend(Some(stolen).filter(|stolen| stolen.mean.is_some_and(|mean| mean > MIN_STOLEN)));
    let per_s = |source: &str, metrics: &[&str], unit: f64, from: usize, to: usize| {
        Some(history.total_increase(source, metrics, from, to)? * unit / history.seconds(from, to))
    };
    for source in named("cgroup:") {
        let used = |from, to| per_s(&source, &["cpu_us"], 1e-6, from, to);
        measures.push(making.rate(Resource::Group, &bare(&source), used));
        let limited = |from, to| Some(used(from, to)? / history.level(&source, "cpu_limit", from..to)?);
        measures.push(making.rate(Resource::GroupLimit, &bare(&source), limited));
    }
    for source in named("pid:") {
        let unit = 1.0 / ticks_per_s.max(1) as f64;
        let used = |from, to| per_s(&source, &["user_ticks", "system_ticks"], unit, from, to);
        measures.push(making.rate(Resource::Process, &bare(&source), used));
        let limited = |from, to| {
            let level = |metric| history.level(&source, metric, from..to);
            let processors = history.sources().filter(|source| is_core(source)).count() as f64;
            let allowed = level("allowed_processors").or((processors > 0.0).then_some(processors));
            // The mean number of threads of a process that starts and ends some is no whole number.
            let usable = allowed.map_or(f64::INFINITY, |allowed| allowed).min(level("threads")?.max(1.0));
            Some(used(from, to)? / usable)
        };
        measures.push(making.rate(Resource::ProcessLimit, &bare(&source), limited));
    }
    // The observer is runnable while it samples, and nobody waits for it.
    let running = |from: usize, to: usize| Some((history.level("system", "running", from..to)? - 1.0).max(0.0));
    measures.push(making.rate(Resource::Running, "", running));
    measures.push(making.rate(Resource::Blocked, "", |from, to| history.level("system", "blocked", from..to)));
    measures.extend(making.rate_of_each(&named("disk:"), &bare, &|source| {
        vec![
            // A window may contain one more tick than its length.
            (Resource::Disk, Box::new(move |from, to| Some(per_s(source, &["busy_ms"], 1e-3, from, to)?.min(1.0)))),
            (Resource::DiskQueue, Box::new(move |from, to| per_s(source, &["queue_ms"], 1e-3, from, to))),
            (Resource::DiskRead, Box::new(move |from, to| per_s(source, &["read_sectors"], SECTOR, from, to))),
            (Resource::DiskWritten, Box::new(move |from, to| per_s(source, &["written_sectors"], SECTOR, from, to))),
        ]
    }));
    measures.extend(making.rate_of_each(&named("net:"), &bare, &|source| {
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
        let level = |metric| history.level("memory", metric, from..to);
        Some(1.0 - level("available_bytes")? / level("total_bytes")?)
    };
    measures.push(making.rate(Resource::Memory, "", used));
    measures.retain(|measure| measure.over_time.iter().any(Option::is_some));
    measures
}

/// The measurements of scraped series, sorted by name; of many the busiest, and the number of the others. `counters`
/// are the names of the series that are counters.
pub(super) fn series(
    history: &CounterHistory,
    counters: &BTreeSet<String>,
    judged: &Range<usize>,
) -> (Vec<Measure>, u64) {
    let making = MeasureBuilder { history, judged };
    let mut by_name: BTreeMap<&str, Vec<Measure>> = BTreeMap::new();
    let mut all = 0;
    for source in history.sources().filter(|source| source.starts_with('{')) {
        for name in history.metrics(source) {
            all += 1;
            let of = if source == "{}" { name.to_owned() } else { format!("{name}{source}") };
            let measure = if counters.contains(name) {
                let rise = |from, to| Some(history.increase(source, name, from, to)? / history.seconds(from, to));
                making.rate(Resource::SeriesRate, &of, rise)
            } else {
                making.rate(Resource::SeriesLevel, &of, |from, to| history.level(source, name, from..to))
            };
            if measure.over_time.iter().flatten().any(|value| *value != 0.0) {
                by_name.entry(name).or_default().push(measure);
            }
        }
    }
    let shown = by_name.into_values().flat_map(|measures| keep_busiest(measures, MAX_DEVICES)).take(MAX_SERIES);
    let shown: Vec<Measure> = shown.collect();
    let rest = all - shown.len() as u64;
    (shown, rest)
}

/// Computes a value from the counters between two edges.
type Rate<'a> = Box<dyn Fn(usize, usize) -> Option<f64> + 'a>;

struct MeasureBuilder<'a> {
    history: &'a CounterHistory,
    judged: &'a Range<usize>,
}

impl MeasureBuilder<'_> {
    fn rate(&self, resource: Resource, of: &str, rate: impl Fn(usize, usize) -> Option<f64>) -> Measure {
        let windows = self.history.edges().len().saturating_sub(1);
        let finite = |rate: Option<f64>| rate.filter(|rate| rate.is_finite());
        Measure {
            resource,
            instance: of.to_owned(),
            mean: (!self.judged.is_empty()).then(|| finite(rate(self.judged.start, self.judged.end))).flatten(),
            over_time: (0..windows).map(|window| finite(rate(window, window + 1))).collect(),
        }
    }

    /// Several measurements of each of these instances. Idle instances are omitted; if there are many, only the busiest
    /// are included.
    fn rate_of_each<'b>(
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
        each.into_iter().take(MAX_DEVICES).flat_map(|(_, made)| made).collect()
    }
}

/// Those with the largest means.
fn keep_busiest(mut measures: Vec<Measure>, most: usize) -> Vec<Measure> {
    measures.sort_by(|a, b| b.mean.unwrap_or(0.0).total_cmp(&a.mean.unwrap_or(0.0)));
    measures.truncate(most);
    measures
}
