//! The server side of a run: resource usage of its machines, processor time per response, and saturated resources.
//!
//! Samples contain raw counters (`offered observe`); rates are computed here. The value of a counter at the end of a
//! window is interpolated linearly between the two nearest samples. Windows start at the start of the run.
//!
//! # Utilisation law
//! U = X S: busy processors are the completed rate times the service demand of a response (Denning
//! and Buzen 1978). The usage of a machine without load is the intercept at X = 0 of the regression over windows.
//! Counters of a control group, or of the server processes, are preferred over those of the machine, which include
//! everything else.

mod counter_history;
mod demands;
mod host_note;
mod measures;
#[cfg(test)]
mod tests;
mod utilisation_law;

pub use counter_history::CounterHistory;
pub use demands::{Demand, Demands};
pub use host_note::HostNote;
pub use measures::{Measure, Resource};
pub use utilisation_law::{Counter, DemandRegression, UtilisationLaw};

use std::collections::BTreeSet;
use std::io;

use offered_base::Instant;
use offered_base::time::span;
use offered_events::Recording;
use serde::{Deserialize, Serialize};

use crate::policies::PolicySpan;
use crate::verdict::statistics::Window;

/// A resource with this mean utilisation or more counts as saturated. At 0.9 the queue of a single server is ten times
/// as long as at 0.5.
pub const SATURATED: f64 = 0.9;
/// A busiest core is reported separately if it exceeds the utilisation of all processors by this much.
const BUSY_CORE_MARGIN: f64 = 0.1;
/// Maximum number of windows of a run.
const MAX_WINDOWS: u64 = 120;

/// The measurements of the machines of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerSide {
    /// The saturated resources, in a sentence.
    pub saturation: String,
    /// One entry per observed machine.
    pub hosts: Vec<Host>,
}

/// An observed machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// The name.
    pub name: String,
    /// The path from which its samples were read.
    pub path: String,
    /// How the clock of the machine was aligned with that of the run.
    pub clock: HostClock,
    /// The configured sampling interval.
    pub interval_ms: f64,
    /// Number of samples during the run.
    pub samples: u64,
    /// Number of its processors; 0 if unknown.
    pub processors: u64,
    /// The share of one processor that observing took; 0 if unknown.
    pub observer_cpu_share: f64,
    /// The URL that was scraped; `None` if an observer ran on the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrape_target: Option<String>,
    /// The ends of the windows, from the start of the run; one more than there are windows.
    pub window_edges_s: Vec<f64>,
    /// Responses per second of the whole run, by window.
    #[serde(default)]
    pub completed_rate_per_s: Vec<f64>,
    /// The measurements.
    pub measures: Vec<Measure>,
    /// For alternating policies: the number of busy processors under each policy.
    #[serde(default)]
    pub policies: Vec<PolicyWork>,
    /// The service demand of a response; `None` if it could not be determined, for the reason in `notes`.
    pub utilisation_law: Option<UtilisationLaw>,
    /// The service demand by label; `None` if there is only one label or if it could not be determined.
    #[serde(default)]
    pub demands: Option<Demands>,
    /// Notes for the reader.
    pub notes: Vec<HostNote>,
}

/// The busy processors of a machine under a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyWork {
    /// The policy.
    pub policy: String,
    /// The source of the processor time.
    pub counter: Counter,
    /// The mean number of busy processors.
    pub busy_processors: f64,
}

/// The busy processors under each policy; the windows of `course` are the parts in `spans`.
pub fn work_by_policy(
    names: &[String],
    spans: &[PolicySpan],
    history: &CounterHistory,
    ticks_per_s: u64,
) -> Vec<PolicyWork> {
    let Some((counter, work)) = utilisation_law::work(history, ticks_per_s) else { return Vec::new() };
    let under = |(policy, name): (usize, &String)| {
        let of_server = spans.iter().enumerate().filter(|(_, span)| span.policy == policy);
        let parts = of_server.filter_map(|(number, span)| {
            Some((work(2 * number, 2 * number + 1)?, (span.end_ns - span.start_ns) as f64 / 1e9))
        });
        let (used, seconds) = parts.fold((0.0, 0.0), |(used, seconds), part| (used + part.0, seconds + part.1));
        (seconds > 0.0).then(|| PolicyWork { policy: name.clone(), counter, busy_processors: used / seconds })
    };
    names.iter().enumerate().filter_map(under).collect()
}

/// The ends of these parts, which become the windows of a counter history.
pub fn span_edges(spans: &[PolicySpan]) -> Vec<i64> {
    spans.iter().flat_map(|span| [span.start_ns as i64, span.end_ns as i64]).collect()
}

/// How the clock of a machine was aligned with that of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostClock {
    /// The source of the alignment.
    pub source: ClockSource,
    /// The offset from the clock of the generator (positive: ahead, negative: behind). The samples are corrected for
    /// it. `None` if it was not measured.
    pub offset_ms: Option<f64>,
    /// The largest error of the corrected sample times; `None` if it is unknown.
    pub offset_uncertainty_ms: Option<f64>,
}

offered_base::named! {
    /// The source of a clock alignment.
    #[derive(Default)]
    pub enum ClockSource {
        /// The offset was measured before or after the run.
        Measured = "measured",
        /// The machine and the generator have the same clock.
        SameClock = "same_clock",
        /// The offset was not measured; both clocks are assumed to be right.
        #[default]
        Assumed = "assumed",
    }
}

/// Information about samples.
#[derive(Clone, Debug)]
pub struct SampleInfo {
    /// The name of the machine.
    pub name: String,
    /// The path from which the samples were read.
    pub path: String,
    /// How the clock of the machine was aligned with that of the run.
    pub clock: HostClock,
    /// The sampling interval, in nanoseconds.
    pub interval_ns: u64,
    /// The unit of the kernel's processor times, in ticks per second.
    pub ticks_per_s: u64,
    /// The share of one processor that observing took.
    pub observer_cpu_share: f64,
    /// Whether the generator ran on this machine too.
    pub runs_generator: bool,
    /// Information about scraping; `None` if an observer ran on the machine.
    pub scrape: Option<ScrapeInfo>,
}

/// Information about scraped metrics.
#[derive(Clone, Debug, Default)]
pub struct ScrapeInfo {
    /// The URL that was scraped.
    pub target: String,
    /// The names of the series that are counters.
    pub counters: BTreeSet<String>,
    /// Number of failed scrapes.
    pub failures: u64,
    /// The error of the first failed scrape.
    pub first_error: Option<String>,
    /// Number of series that were dropped because there were too many.
    pub excluded_series: u64,
}

/// The ends of the windows of a run that is judged in `window` with this sampling interval, in nanoseconds from the
/// origin of the window. There are at most 120 windows, each at least two sampling intervals long.
pub fn window_edges(window: &Window, every_ns: u64) -> Vec<i64> {
    let span = (window.end_s.max(0.0) * 1e9) as u64;
    let least = (span / MAX_WINDOWS).max(2 * every_ns).max(1);
    let decades = (0..18).map(|power| 10u64.pow(power));
    let round = decades.flat_map(|decade| [decade, 2 * decade, 5 * decade]).find(|round| *round >= least);
    let width = round.unwrap_or(least);
    (0..=span.div_ceil(width).max(1)).map(|edge| (edge * width) as i64).collect()
}

/// The completed responses by window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseCounts {
    /// Number of responses that completed in each window.
    pub per_window: Vec<u64>,
    /// Number of requests sent in each window, including those without a response.
    pub sent_per_window: Vec<u64>,
    /// The mean service time (done - sent), in seconds.
    pub mean_service_s: f64,
    /// The labels.
    pub labels: Vec<String>,
    /// By label and window: the number of responses in service. A response counts in each window with the fraction of
    /// its service time in that window.
    pub served_by_label: Vec<Vec<f64>>,
    /// By label and window: the number of responses that completed in it.
    pub completed_by_label: Vec<Vec<u64>>,
    /// By label and window: the sum of their service times (done - sent), in seconds.
    pub service_by_label: Vec<Vec<f64>>,
}

/// Counts the responses of a whole recording by window; `edges` are the ends of the windows, in nanoseconds from the
/// origin of the recording.
///
/// # Errors
/// The recording cannot be read.
pub fn count_responses(recording: &Recording, edges: &[i64]) -> io::Result<ResponseCounts> {
    let origin = match recording.events.extent().sent {
        Some((first, _)) if !recording.on_run_clock => first,
        _ => Instant::ZERO,
    };
    let windows = edges.len().saturating_sub(1);
    let labels = recording.labels.clone();
    let (mut per_window, mut served) = (vec![0u64; windows], vec![vec![0.0; windows]; labels.len()]);
    let (mut sent_per_window, mut completed) = (vec![0u64; windows], vec![vec![0u64; windows]; labels.len()]);
    let mut service = served.clone();
    let (mut service_sum, mut all) = (0.0, 0u64);
    let window = |at: i64| edges.partition_point(|edge| *edge <= at).wrapping_sub(1);
    recording.events.each_response(|event| {
        let Some(sent) = event.sent else { return };
        if let Some(count) = sent_per_window.get_mut(window(origin.until(sent).0 as i64)) {
            *count += 1;
        }
        let Some(done) = event.done else { return };
        if !event.outcome.is_response() {
            return;
        }
        all += 1;
        service_sum += sent.until(done).as_secs_f64();
        let at = origin.until(done).0 as i64;
        if let Some(count) = per_window.get_mut(window(at)) {
            *count += 1;
            let label = usize::from(event.label);
            if let (Some(completed), Some(service)) = (completed.get_mut(label), service.get_mut(label)) {
                completed[window(at)] += 1;
                service[window(at)] += sent.until(done).as_secs_f64();
            }
        }
        let (Some(parts), from) = (served.get_mut(usize::from(event.label)), origin.until(sent).0 as i64) else {
            return;
        };
        let (first, service_time) = (window(from), (at - from).max(1) as f64);
        for index in if first < windows { first } else { 0 }..windows {
            let inside = edges[index + 1].min(at.max(from + 1)) - edges[index].max(from);
            if inside <= 0 {
                break;
            }
            parts[index] += inside as f64 / service_time;
        }
    })?;
    Ok(ResponseCounts {
        per_window,
        sent_per_window,
        mean_service_s: if all == 0 { 0.0 } else { service_sum / all as f64 },
        labels,
        served_by_label: served,
        completed_by_label: completed,
        service_by_label: service,
    })
}

impl Host {
    /// The measurements of a machine, from its counter history over the run that is judged in `window`; `answers` is
    /// the result of [`count_responses`].
    pub fn of(origin: SampleInfo, history: &CounterHistory, responses: &ResponseCounts, window: &Window) -> Self {
        let SampleInfo {
            name,
            path,
            clock,
            interval_ns: every_ns,
            ticks_per_s,
            observer_cpu_share,
            runs_generator: has_generator,
            scrape: scraped,
        } = origin;
        let mut notes = Vec::new();
        let judged = history.judged_windows(window);
        let mut measures = measures::of(history, ticks_per_s, &judged);
        let scrape_target = scraped.as_ref().map(|asked| asked.target.clone());
        if let Some(ScrapeInfo { counters, failures, first_error: why, excluded_series: left_out, .. }) = scraped {
            let (series, still) = measures::series(history, &counters, &judged);
            measures.extend(series);
            notes.extend(
                (failures > 0).then(|| HostNote::ScrapeFailed { failures, first_error: why.unwrap_or_default() }),
            );
            notes.extend((left_out > 0).then_some(HostNote::TooManySeries { excluded_series: left_out }));
            notes.extend((still > 0).then_some(HostNote::SeriesNotShown { series: still }));
            notes.extend(
                history.reset_counters(&counters).into_iter().map(|name| HostNote::CounterReset { counter: name }),
            );
        }
        notes.extend(history.machine_was_reset().then(|| HostNote::CounterReset { counter: "processors".to_owned() }));
        let processors = history.sources().filter(|source| measures::is_core(source)).count() as u64;
        if history.samples() == 0 {
            notes.push(HostNote::NotObserved);
        } else if judged.is_empty() {
            notes.push(HostNote::BarelyObserved);
        }
        let utilisation_law = match utilisation_law::of(history, ticks_per_s, responses, &judged) {
            Ok(utilisation_law) => Some(utilisation_law),
            Err(why) => {
                notes.extend(
                    why.filter(|_| history.samples() > 0).map(|why| HostNote::NoUtilisationLaw { reason: why }),
                );
                None
            }
        };
        let demands = match demands::of(history, ticks_per_s, responses, &judged, processors, limit_share(&measures)) {
            Ok((demands, note)) => {
                notes.extend(note);
                Some(demands)
            }
            Err(why) => {
                notes.extend(why.filter(|_| utilisation_law.is_some()).map(|why| HostNote::NoDemands { reason: why }));
                None
            }
        };
        notes.extend(
            utilisation_law
                .iter()
                .filter(|utilisation_law| utilisation_law.counter == Counter::Machine)
                .map(|_| HostNote::WholeMachineCounter),
        );
        notes.extend(other_load_note(&measures, processors, utilisation_law.as_ref()));
        notes.extend((has_generator && processors > 0).then_some(HostNote::RunsGenerator));
        notes.extend((clock.source == ClockSource::Assumed).then_some(HostNote::ClockAssumed));
        Self {
            name,
            path,
            clock,
            interval_ms: every_ns as f64 / 1e6,
            samples: history.samples(),
            processors,
            observer_cpu_share,
            scrape_target,
            window_edges_s: history.edges().iter().map(|edge| *edge as f64 / 1e9).collect(),
            completed_rate_per_s: completed_rates(history, &responses.per_window),
            measures,
            policies: Vec::new(),
            utilisation_law,
            demands,
            notes,
        }
    }

    /// The first measurement of this resource.
    pub fn measure(&self, resource: Resource) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.resource == resource)
    }

    /// The mean of this resource over the analysed time; of the first resource if there are several.
    pub fn mean(&self, resource: Resource) -> Option<f64> {
        self.measure(resource)?.mean
    }

    /// The measurements of scraped series.
    pub fn series(&self) -> impl Iterator<Item = &Measure> {
        self.measures.iter().filter(|measure| measure.resource.is_series())
    }

    /// Whether the machine itself was measured, so that it belongs in a table of machines.
    pub fn is_machine(&self) -> bool {
        self.averages().iter().any(Option::is_some)
    }

    /// The columns of a table of machines, as means over the analysed time: all processors, the busiest core, runnable
    /// processes, the disk, megabytes received and sent per second over all interfaces except loopback, memory.
    pub fn averages(&self) -> [Option<f64>; 7] {
        let megabytes = |resource| {
            let all = self.measures.iter().filter(|measure| measure.resource == resource && measure.instance != "lo");
            all.filter_map(|measure| measure.mean).reduce(|a, b| a + b).map(|bytes| bytes / 1e6)
        };
        [
            self.mean(Resource::Processors),
            self.mean(Resource::Core),
            self.mean(Resource::Running),
            self.mean(Resource::Disk),
            megabytes(Resource::NetworkIn),
            megabytes(Resource::NetworkOut),
            self.mean(Resource::Memory),
        ]
    }

    /// How the machine was observed, and how its clock was aligned.
    pub fn observation_text(&self) -> String {
        let Self { samples, interval_ms, observer_cpu_share, clock, .. } = self;
        let ms = |ms: f64| span(ms * 1e6);
        let alignment = match (clock.source, clock.offset_ms, clock.offset_uncertainty_ms) {
            (ClockSource::SameClock, ..) => "on the clock of the generator".to_owned(),
            (ClockSource::Measured, Some(offset), Some(uncertainty)) => {
                let side = if offset < 0.0 { "behind" } else { "ahead of" };
                format!("its clock was {} ± {} {side} that of the generator", ms(offset.abs()), ms(uncertainty))
            }
            _ => "its clock offset was not measured".to_owned(),
        };
        if let Some(target) = &self.scrape_target {
            let error =
                clock.offset_uncertainty_ms.map_or_else(String::new, |error| format!(", times ± {}", ms(error)));
            return format!("{samples} scrapes of {target}, one every {}{error}", ms(*interval_ms));
        }
        let cost = 100.0 * observer_cpu_share;
        let interval = ms(*interval_ms);
        format!("{samples} samples, one every {interval}, {alignment}; observing took {cost:.2} % of a processor")
    }

    /// The resources that can saturate, with their mean utilisations.
    fn utilisations(&self) -> impl Iterator<Item = (&Measure, f64)> {
        let all = self.mean(Resource::Processors);
        self.measures.iter().filter_map(move |measure| {
            let mean = measure.mean.filter(|_| measure.resource.is_utilisation())?;
            // A busy core among idle ones is a single thread; among busy ones it adds nothing.
            let is_alone = all.is_none_or(|all| mean - all > BUSY_CORE_MARGIN);
            (measure.resource != Resource::Core || is_alone).then_some((measure, mean))
        })
    }
}

/// The highest share of its processor limit that a control group or a process used; 0 if none has a limit.
fn limit_share(measures: &[Measure]) -> f64 {
    let limits = measures.iter().filter(|of| matches!(of.resource, Resource::GroupLimit | Resource::ProcessLimit));
    limits.filter_map(|of| of.mean).fold(0.0, f64::max)
}

/// Responses per second, by window.
fn completed_rates(history: &CounterHistory, counts: &[u64]) -> Vec<f64> {
    counts.iter().enumerate().map(|(window, count)| *count as f64 / history.seconds(window, window + 1)).collect()
}

impl ServerSide {
    /// The hosts that are machines, not only scraped series.
    pub fn machines(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.is_machine())
    }

    /// How load was divided among the machines: the share of each in the busy processors and in the network traffic.
    /// Empty if there is only one machine; a share is `None` if it is not known for all machines.
    pub fn processor_shares(&self) -> Vec<(&Host, [Option<f64>; 2])> {
        let machines: Vec<&Host> = self.machines().collect();
        if machines.len() < 2 {
            return Vec::new();
        }
        let of = |host: &Host| {
            let [busy, _, _, _, came_in, went_out, _] = host.averages();
            [busy.map(|busy| busy * host.processors as f64), came_in.zip(went_out).map(|(came, went)| came + went)]
        };
        let each: Vec<[Option<f64>; 2]> = machines.iter().map(|host| of(host)).collect();
        let all =
            |what: usize| each.iter().map(|of_server| of_server[what]).sum::<Option<f64>>().filter(|all| *all > 0.0);
        let all = [all(0), all(1)];
        let share = |of_server: &[Option<f64>; 2], what: usize| Some(of_server[what]? / all[what]?);
        machines
            .iter()
            .zip(&each)
            .map(|(host, of_server)| (*host, [share(of_server, 0), share(of_server, 1)]))
            .collect()
    }

    /// Creates the summary of these machines.
    pub fn of(hosts: Vec<Host>) -> Self {
        Self { saturation: saturation_text(&hosts), hosts }
    }
}

/// A note if most of the load of the machine did not come from the server.
fn other_load_note(
    measures: &[Measure],
    processors: u64,
    utilisation_law: Option<&UtilisationLaw>,
) -> Option<HostNote> {
    let utilisation_law = utilisation_law.filter(|utilisation_law| utilisation_law.counter != Counter::Machine)?;
    let busy = measures.iter().find(|measure| measure.resource == Resource::Processors)?.mean? * processors as f64;
    let of_server = utilisation_law.busy_processors;
    (of_server < busy / 2.0 && busy - of_server > BUSY_CORE_MARGIN * processors as f64)
        .then_some(HostNote::OtherLoad { busy_processors: busy, server_processors: of_server })
}

/// The saturated resources, in a sentence.
fn saturation_text(hosts: &[Host]) -> String {
    let mut all: Vec<(String, f64)> = Vec::new();
    for host in hosts {
        all.extend(host.utilisations().map(|(measure, mean)| (format!("{} of {}", measure.text(), host.name), mean)));
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let saturated = all.iter().take_while(|(_, mean)| *mean >= SATURATED).count();
    let listed = |some: &[(String, f64)]| {
        some.iter().map(|(what, mean)| format!("{what} at {mean:.2}")).collect::<Vec<_>>().join(", ")
    };
    match (saturated, all.get(saturated)) {
        (0, None) => "nothing was observed in the analysed time".to_owned(),
        (0, Some(first)) => {
            format!("no observed resource was saturated; the busiest: {}", listed(std::slice::from_ref(first)))
        }
        (_, None) => format!("saturated: {}", listed(&all)),
        (n, Some((_, next))) => {
            format!("saturated: {}; all others at {next:.2} or below", listed(&all[..n]))
        }
    }
}
