//! The server's side of a run: what its machines did in the same time, how much work an answer took, and what was saturated.
//!
//! Counters are read as counts (`offered observe`), and made into rates here: a counter is what it was at both ends of a window, on the
//! straight line between two samples where none fell on an end. Windows begin at the start of the run, as everything on its page does.
//!
//! # The utilisation law
//! U = X S: processors at work are answers a second times the work of one (Denning and Buzen 1978). What a machine does without
//! load is the height at X = 0 of the line through windows. The counter of a control group, or of the processes themselves, is
//! believed before that of the machine, which counts whatever else runs there.

mod course;
mod demands;
mod law;
mod measures;
mod note;
#[cfg(test)]
mod tests;

pub use course::Course;
pub use demands::{Demand, Demands};
pub use law::{Counter, UtilisationLaw, WorkLine};
pub use measures::{Measure, Resource};
pub use note::HostNote;

use std::collections::BTreeSet;
use std::io;

use offered_model::time::span;
use offered_model::{Instant, Recording};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policies::Span;
use crate::verdict::Window;

/// From this mean utilisation on something is called saturated: at 0.9 a queue in front of one server is ten times as long as at half.
pub const SATURATED: f64 = 0.9;
/// A busiest core counts for itself where all of them together stay so far below it.
const ALONE: f64 = 0.1;
/// Windows shown of a run at most.
const MOST: u64 = 120;

/// What a run's machines did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSide {
    /// What was saturated, in a sentence.
    pub saturation: String,
    /// Each machine that was observed.
    pub hosts: Vec<Host>,
}

/// A machine that was observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// What it is called.
    pub name: String,
    /// Where its samples were read.
    pub path: String,
    /// How its clock was laid beside the run's.
    pub clock: HostClock,
    /// From one sample to the next, as it was meant.
    pub every_ms: f64,
    /// Samples in the time of the run.
    pub samples: u64,
    /// Its processors; 0 where the samples do not tell.
    pub processors: u64,
    /// The share of one processor that observing took; 0 where that is not known.
    pub own_cost: f64,
    /// Who was asked for its numbers again and again; `None`: an observer took them there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<String>,
    /// The ends of the windows, from the run's start, one more than there are windows.
    pub edges_s: Vec<f64>,
    /// Answers per second of the whole run in each window.
    #[serde(default)]
    pub answers_per_s: Vec<f64>,
    /// What was measured of it.
    pub measures: Vec<Measure>,
    /// Of policies that took turns: what was at work while each counted.
    #[serde(default)]
    pub policies: Vec<WorkUnder>,
    /// How much work an answer took; `None` where nobody can tell, which `notes` says.
    pub law: Option<UtilisationLaw>,
    /// How much an answer of each label took; `None` where there is one label, or nobody can tell.
    #[serde(default)]
    pub demands: Option<Demands>,
    /// What a reader must know.
    pub notes: Vec<HostNote>,
}

/// What was at work on a machine while a policy counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkUnder {
    /// The policy.
    pub policy: String,
    /// What counted the work.
    pub counter: Counter,
    /// Processors at work, on average.
    pub processors: f64,
}

/// What was at work while each policy counted, by the `course` of counters between the ends of the spans.
pub fn work_under(names: &[String], spans: &[Span], course: &Course, ticks_per_s: u64) -> Vec<WorkUnder> {
    let Some((counter, work)) = law::work(course, ticks_per_s) else { return Vec::new() };
    let under = |(policy, name): (usize, &String)| {
        let own = spans.iter().enumerate().filter(|(_, span)| span.policy == policy);
        let parts = own.filter_map(|(number, span)| {
            Some((work(2 * number, 2 * number + 1)?, (span.to_ns - span.from_ns) as f64 / 1e9))
        });
        let (used, seconds) = parts.fold((0.0, 0.0), |(used, seconds), part| (used + part.0, seconds + part.1));
        (seconds > 0.0).then(|| WorkUnder { policy: name.clone(), counter, processors: used / seconds })
    };
    names.iter().enumerate().filter_map(under).collect()
}

/// The ends of spans, as a course wants them.
pub fn edges_of(spans: &[Span]) -> Vec<i64> {
    spans.iter().flat_map(|span| [span.from_ns as i64, span.to_ns as i64]).collect()
}

/// How the clock of a machine was laid beside the run's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostClock {
    /// How.
    pub known_by: KnownBy,
    /// How far it was ahead of the generator's (negative: behind), which was taken out; `None` where it was not measured.
    pub ahead_ms: Option<f64>,
    /// Its samples lie no further than this from where they are placed; `None` where that is not known.
    pub within_ms: Option<f64>,
}

offered_model::named! {
    /// By what a machine's clock is known.
    #[derive(Default)]
    pub enum KnownBy {
        /// It was asked before the run, or after it.
        Asked = "asked",
        /// It is the generator's own.
        SameClock = "same-clock",
        /// Nobody asked: both were taken for right.
        #[default]
        Believed = "believed",
    }
}

/// What is known of samples beside their numbers.
#[derive(Clone, Debug)]
pub struct Origin {
    /// What the machine is called.
    pub name: String,
    /// Where the samples were read.
    pub path: String,
    /// How its clock was laid beside the run's.
    pub clock: HostClock,
    /// From one sample to the next, in ns.
    pub every_ns: u64,
    /// Ticks in a second, which its kernel counts processor time in.
    pub ticks_per_s: u64,
    /// The share of one processor that observing took.
    pub own_cost: f64,
    /// Whether the generator ran on that machine too.
    pub has_generator: bool,
    /// How its numbers were asked for; `None`: an observer took them there.
    pub scraped: Option<Asked>,
}

/// How numbers were asked for that somebody else counts.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Who was asked.
    pub at: String,
    /// The names of those that only rise, among series.
    pub counters: BTreeSet<String>,
    /// How often it was asked in vain.
    pub failures: u64,
    /// Why, the first time.
    pub why: Option<String>,
    /// Series that were not kept, for they were too many.
    pub left_out: u64,
}

/// The ends of windows for a run that is judged in `window`, of a machine that was looked at every so many ns: in ns since what the window
/// counts from. Few enough to be seen, and none shorter than two samples.
pub fn edges(window: &Window, every_ns: u64) -> Vec<i64> {
    let span = (window.end_s.max(0.0) * 1e9) as u64;
    let least = (span / MOST).max(2 * every_ns).max(1);
    let decades = (0..18).map(|power| 10u64.pow(power));
    let round = decades.flat_map(|decade| [decade, 2 * decade, 5 * decade]).find(|round| *round >= least);
    let width = round.unwrap_or(least);
    (0..=span.div_ceil(width).max(1)).map(|edge| (edge * width) as i64).collect()
}

/// What was answered, between the ends of windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// How many answers came in each window.
    pub per_window: Vec<u64>,
    /// The mean time from sending to answer, seconds.
    pub stay_s: f64,
    /// The labels.
    pub labels: Vec<String>,
    /// By label and window: answers that were worked on in it, each in parts as its stay lies.
    pub worked: Vec<Vec<f64>>,
}

/// What was answered in the whole of a recording, between `edges` in ns since what it counts from.
///
/// # Errors
/// The recording cannot be read.
pub fn answers(recording: &Recording, edges: &[i64]) -> io::Result<Answers> {
    let origin = match recording.events.extent().sent {
        Some((first, _)) if !recording.on_run_clock => first,
        _ => Instant::ZERO,
    };
    let windows = edges.len().saturating_sub(1);
    let labels = recording.labels.clone();
    let (mut per_window, mut worked) = (vec![0u64; windows], vec![vec![0.0; windows]; labels.len()]);
    let (mut stays, mut all) = (0.0, 0u64);
    let window = |at: i64| edges.partition_point(|edge| *edge <= at).wrapping_sub(1);
    recording.events.each_answer(|event| {
        let (Some(sent), Some(done)) = (event.sent, event.done) else { return };
        if !event.outcome.is_answer() {
            return;
        }
        all += 1;
        stays += sent.until(done).as_secs_f64();
        let at = origin.until(done).0 as i64;
        if let Some(count) = per_window.get_mut(window(at)) {
            *count += 1;
        }
        let (Some(parts), from) = (worked.get_mut(usize::from(event.label)), origin.until(sent).0 as i64) else {
            return;
        };
        let (first, stay) = (window(from), (at - from).max(1) as f64);
        for index in if first < windows { first } else { 0 }..windows {
            let inside = edges[index + 1].min(at.max(from + 1)) - edges[index].max(from);
            if inside <= 0 {
                break;
            }
            parts[index] += inside as f64 / stay;
        }
    })?;
    Ok(Answers { per_window, stay_s: if all == 0 { 0.0 } else { stays / all as f64 }, labels, worked })
}

impl Host {
    /// What a machine did, by the `course` of its counters over the run that was judged in `window`; `answers` as [`answers`] counts them.
    pub fn of(origin: Origin, course: &Course, answers: &Answers, window: &Window) -> Self {
        let Origin { name, path, clock, every_ns, ticks_per_s, own_cost, has_generator, scraped } = origin;
        let mut notes = Vec::new();
        let judged = course.judged(window);
        let mut measures = measures::of(course, ticks_per_s, &judged);
        let asked_at = scraped.as_ref().map(|asked| asked.at.clone());
        if let Some(Asked { counters, failures, why, left_out, .. }) = scraped {
            let (series, still) = measures::series(course, &counters, &judged);
            measures.extend(series);
            notes.extend((failures > 0).then(|| HostNote::AskedInVain { failures, why: why.unwrap_or_default() }));
            notes.extend((left_out > 0).then_some(HostNote::TooMany { left_out }));
            notes.extend((still > 0).then_some(HostNote::NotShown { series: still }));
            notes.extend(course.began_anew(&counters).into_iter().map(|name| HostNote::BeganAnew { name }));
        }
        notes.extend(course.machine_began_anew().then(|| HostNote::BeganAnew { name: "processors".to_owned() }));
        let processors = course.sources().filter(|source| measures::is_core(source)).count() as u64;
        if course.samples() == 0 {
            notes.push(HostNote::NotObserved);
        } else if judged.is_empty() {
            notes.push(HostNote::HardlyObserved);
        }
        let law = match law::of(course, ticks_per_s, answers, &judged) {
            Ok(law) => Some(law),
            Err(why) => {
                notes.extend(why.filter(|_| course.samples() > 0).map(|why| HostNote::NoLaw { why }));
                None
            }
        };
        let demands = match demands::of(course, ticks_per_s, answers, &judged, processors) {
            Ok(demands) => Some(demands),
            Err(why) => {
                notes.extend(why.filter(|_| law.is_some()).map(|why| HostNote::NoDemands { why }));
                None
            }
        };
        notes.extend(law.iter().filter(|law| law.counter == Counter::Machine).map(|_| HostNote::WholeMachine));
        notes.extend(of_others(&measures, processors, law.as_ref()));
        notes.extend((has_generator && processors > 0).then_some(HostNote::HasGenerator));
        notes.extend((clock.known_by == KnownBy::Believed).then_some(HostNote::ClockBelieved));
        Self {
            name,
            path,
            clock,
            every_ms: every_ns as f64 / 1e6,
            samples: course.samples(),
            processors,
            own_cost,
            asked_at,
            edges_s: course.edges().iter().map(|edge| *edge as f64 / 1e9).collect(),
            answers_per_s: answers_per_s(course, &answers.per_window),
            measures,
            policies: Vec::new(),
            law,
            demands,
            notes,
        }
    }

    /// The measure of this resource, the first where there are several.
    pub fn measure(&self, resource: Resource) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.resource == resource)
    }

    /// The mean of this resource over the time that was judged, of the first where there are several.
    pub fn mean(&self, resource: Resource) -> Option<f64> {
        self.measure(resource)?.mean
    }

    /// What it told of itself that is no figure of a machine.
    pub fn series(&self) -> impl Iterator<Item = &Measure> {
        self.measures.iter().filter(|measure| measure.resource.is_series())
    }

    /// Whether anything of the machine itself is known, to be shown in a table of machines.
    pub fn is_machine(&self) -> bool {
        self.averages().iter().any(Option::is_some)
    }

    /// What a table of machines shows of it, means over the time that was judged: all processors, the busiest of them, processes that
    /// wanted to run, the disk, megabytes in and out per second over all interfaces without what stays on the machine, memory.
    pub fn averages(&self) -> [Option<f64>; 7] {
        let megabytes = |resource| {
            let all = self.measures.iter().filter(|measure| measure.resource == resource && measure.of != "lo");
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

    /// How it was observed, and by which clock.
    pub fn observed_in_words(&self) -> String {
        let Self { samples, every_ms, own_cost, clock, .. } = self;
        let ms = |ms: f64| span(ms * 1e6);
        let placed = match (clock.known_by, clock.ahead_ms, clock.within_ms) {
            (KnownBy::SameClock, ..) => "by the generator's own clock".to_owned(),
            (KnownBy::Asked, Some(ahead), Some(within)) => {
                let side = if ahead < 0.0 { "behind" } else { "ahead of" };
                format!("its clock was {} {side} the generator's, known to {}", ms(ahead.abs()), ms(within))
            }
            _ => "its clock was not asked".to_owned(),
        };
        if let Some(at) = &self.asked_at {
            let within = clock.within_ms.map_or_else(String::new, |within| format!(", placed to {}", ms(within)));
            return format!("{samples} answers of {at}, one in {}{within}", ms(*every_ms));
        }
        let cost = 100.0 * own_cost;
        format!("{samples} samples, one in {}, {placed}; observing took {cost:.2} % of a processor", ms(*every_ms))
    }

    /// What can be saturated, each with its mean utilisation.
    fn utilisations(&self) -> impl Iterator<Item = (&Measure, f64)> {
        let all = self.mean(Resource::Processors);
        self.measures.iter().filter_map(move |measure| {
            let mean = measure.mean.filter(|_| measure.resource.is_utilisation())?;
            // A busy core among idle ones is a thread alone; among busy ones it says nothing new.
            let is_alone = all.is_none_or(|all| mean - all > ALONE);
            (measure.resource != Resource::Core || is_alone).then_some((measure, mean))
        })
    }
}

/// Answers per second in each window.
fn answers_per_s(course: &Course, counts: &[u64]) -> Vec<f64> {
    counts.iter().enumerate().map(|(window, count)| *count as f64 / course.seconds(window, window + 1)).collect()
}

impl ServerSide {
    /// The machines among what was observed: not those of which only series are known.
    pub fn machines(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.is_machine())
    }

    /// How work was split between the machines, each with its shares of the processors at work and of the bytes that came and went; of
    /// one machine, and where that is not known of all of them, there is nothing to say.
    pub fn split(&self) -> Vec<(&Host, [Option<f64>; 2])> {
        let machines: Vec<&Host> = self.machines().collect();
        if machines.len() < 2 {
            return Vec::new();
        }
        let of = |host: &Host| {
            let [busy, _, _, _, came_in, went_out, _] = host.averages();
            [busy.map(|busy| busy * host.processors as f64), came_in.zip(went_out).map(|(came, went)| came + went)]
        };
        let each: Vec<[Option<f64>; 2]> = machines.iter().map(|host| of(host)).collect();
        let all = |what: usize| each.iter().map(|own| own[what]).sum::<Option<f64>>().filter(|all| *all > 0.0);
        let all = [all(0), all(1)];
        let share = |own: &[Option<f64>; 2], what: usize| Some(own[what]? / all[what]?);
        machines.iter().zip(&each).map(|(host, own)| (*host, [share(own, 0), share(own, 1)])).collect()
    }

    /// Of these machines.
    pub fn of(hosts: Vec<Host>) -> Self {
        Self { saturation: saturation(&hosts), hosts }
    }
}

/// That most of the work of a machine was not that of the server, where that is known.
fn of_others(measures: &[Measure], processors: u64, law: Option<&UtilisationLaw>) -> Option<HostNote> {
    let law = law.filter(|law| law.counter != Counter::Machine)?;
    let busy = measures.iter().find(|measure| measure.resource == Resource::Processors)?.mean? * processors as f64;
    let own = law.processors;
    (own < busy / 2.0 && busy - own > ALONE * processors as f64).then_some(HostNote::Others { busy, own })
}

/// What was saturated, in a sentence.
fn saturation(hosts: &[Host]) -> String {
    let mut all: Vec<(String, f64)> = Vec::new();
    for host in hosts {
        all.extend(host.utilisations().map(|(measure, mean)| (format!("{} of {}", measure.words(), host.name), mean)));
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let saturated = all.iter().take_while(|(_, mean)| *mean >= SATURATED).count();
    let told = |some: &[(String, f64)]| {
        some.iter().map(|(what, mean)| format!("{what} at {mean:.2}")).collect::<Vec<_>>().join(", ")
    };
    match (saturated, all.get(saturated)) {
        (0, None) => "nothing was observed in the time that was judged".to_owned(),
        (0, Some(first)) => {
            format!("nothing that was observed was saturated; the busiest: {}", told(std::slice::from_ref(first)))
        }
        (_, None) => format!("saturated: {}", told(&all)),
        (n, Some((_, next))) => {
            format!("saturated: {}; everything else at {next:.2} or below", told(&all[..n]))
        }
    }
}
