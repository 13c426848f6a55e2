//! Thread groups: users or arrival rates, and durations.

use offered_base::Nanos;
use offered_schedule::arrivals::Process;
use offered_schedule::{Count, Visit};
use offered_schedule::{Pace, Population, Stage, Visitor};

use offered_workload::script::{OnFailure, Per};

use super::Reader;
use super::node::Node;
use crate::chain::Chain;
use crate::plan::{Arrivals, Phase, RateProfile, nanos};

/// Duration for plans without an end.
const DEFAULT_DURATION_S: f64 = 600.0;
/// Assumed maximum time per request, to bound the duration of groups that end after a number of iterations.
const SECONDS_PER_REQUEST: f64 = 2.0;

/// Kind of a thread group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupKind {
    /// A number of threads that iterate.
    Threads,
    /// Iterations that arrive at a rate.
    Arrivals,
}

/// Kind of a thread group; `None` for other elements.
pub(super) fn kind(node: &Node) -> Option<GroupKind> {
    kind_of(node.class())
}

/// Whether this class is a kind of thread group that is translated.
pub(super) fn is_known(class: &str) -> bool {
    kind_of(class).is_some()
}

fn kind_of(class: &str) -> Option<GroupKind> {
    match class {
        "ThreadGroup"
        | "ConcurrencyThreadGroup"
        | "SteppingThreadGroup"
        | "UltimateThreadGroup"
        | "SetupThreadGroup"
        | "PostThreadGroup" => Some(GroupKind::Threads),
        "ArrivalsThreadGroup" | "FreeFormArrivalsThreadGroup" | "OpenModelThreadGroup" => Some(GroupKind::Arrivals),
        _ => None,
    }
}

/// What a thread does after a failed request.
pub(super) fn on_failure(node: &Node) -> OnFailure {
    match node.element.text_of("ThreadGroup.on_sample_error") {
        "startnextloop" | "stopthread" => OnFailure::EndSession,
        "stoptest" | "stoptestnow" => OnFailure::Stop,
        _ => OnFailure::Continue,
    }
}

/// Phase in which a thread group runs.
pub(super) fn phase(node: &Node) -> Phase {
    match node.class() {
        "SetupThreadGroup" => Phase::Setup,
        "PostThreadGroup" => Phase::Teardown,
        _ => Phase::Load,
    }
}

/// Throttling of a group by a throughput timer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Throttle {
    /// All threads share a rate in samples per second.
    Shared { rate: f64, process: Process },
    /// Each thread sends one sample per interval.
    PerThread(Nanos),
}

/// The threads of a group.
struct Users {
    /// Number of threads; with `stages`, the largest number at any time.
    number: u64,
    /// Time in which the threads start one after another.
    ramp: Nanos,
    /// The stages in which the number of threads changes; empty if it is constant.
    stages: Vec<Stage>,
    /// [`Nanos::MAX`] if only a count ends the run.
    duration: Nanos,
}

/// The load of a group.
pub(super) struct Load {
    pub(super) arrivals: Arrivals,
    /// [`Nanos::MAX`] if only `count` ends the run.
    pub(super) duration: Nanos,
    pub(super) count: Option<Count>,
}

impl Reader<'_, '_> {
    /// Arrivals, duration and number of sessions of a group.
    pub(super) fn arrivals(&mut self, node: &Node, chain: &Chain, throttle: Option<Throttle>) -> Load {
        let think = chain.initial_wait.distribution().0;
        let pace = match (kind(node), throttle) {
            (Some(GroupKind::Arrivals), _) => {
                let (rate, process, duration) = self.rates(node);
                let rate = rate.scaled(chain.nonempty_share);
                return Load { arrivals: Arrivals::Open { rate, process, think }, duration, count: None };
            }
            (_, Some(Throttle::Shared { rate, process })) => return self.throttled(node, chain, rate, process),
            (_, Some(Throttle::PerThread(every))) => Some(Pace::Requests(every)),
            (_, None) => None,
        };
        let Users { number: users, ramp, stages, duration } = self.users(node, Some(chain.means()));
        let visitor = self.visitor();
        let arrivals = Arrivals::Closed { users, visits: self.visits(node), pace, visitor, ramp, stages, think };
        Load { arrivals, duration, count: None }
    }

    /// Whether a thread is a new visitor in its next iteration. The thread keeps its variables; the cookie manager
    /// determines whether it keeps its cookies.
    fn visitor(&mut self) -> Visitor {
        let keeps = self.requests.iter().any(|request| !request.extract.is_empty())
            || self.variables.definitions.iter().any(|variable| variable.per == Per::Session);
        match self.clears_cookies.take() {
            Some(_) if !keeps && !self.has_once => Visitor::New,
            kept => {
                self.notes.extend(kept);
                Visitor::Same
            }
        }
    }

    /// A group whose threads share a rate in samples per second. Finite loops limit the number of its sessions.
    fn throttled(&mut self, node: &Node, chain: &Chain, rate: f64, process: Process) -> Load {
        let visits = self.visits(node);
        let Users { number: users, duration, .. } = self.users(node, visits.is_none().then(|| chain.means()));
        let sessions = visits.map(|visits| {
            let iterations = users.saturating_mul(u64::from(visits));
            ((iterations as f64 * chain.nonempty_share).round() as u64).max(1)
        });
        let single = chain.weights(self.requests.len()).is_some();
        let count = sessions.map(|n| if single { Count::Requests(n) } else { Count::Sessions(n) });
        let limit = match count {
            Some(Count::Requests(n)) => format!(", {n} requests in all"),
            Some(Count::Sessions(n)) => format!(", {n} iterations in all"),
            None => String::new(),
        };
        self.note(
            node,
            format!("a timer throttles its {users} threads to a rate: translated as open arrivals at that rate, which do not wait for responses{limit}"),
        );
        if chain.is_conditional() {
            self.note(node, "the rate of its iterations is computed as if all requests with a condition and all repetitions were sent");
        }
        // Without an end there is no fixed number to distribute.
        let process = if duration == Nanos::MAX && process == Process::FixedCount { Process::Poisson } else { process };
        let rate = RateProfile::Constant(rate / chain.means().0);
        let think = chain.initial_wait.distribution().0;
        Load { arrivals: Arrivals::Open { rate, process, think }, duration, count }
    }

    /// Number of iterations after which a thread ends; `None` for no limit.
    fn visits(&mut self, node: &Node) -> Option<u32> {
        let rounds = match node.class() {
            "ConcurrencyThreadGroup" => self.number(node, "Iterations", 0.0),
            "SteppingThreadGroup" | "UltimateThreadGroup" => return None,
            _ if self.single_round => 1.0,
            _ => self.loops_of(node),
        };
        if rounds > f64::from(Visit::MAX) {
            self.note(
                node,
                format!("each thread ends after {rounds} iterations; here users continue until the end of the run"),
            );
        }
        (1.0..=f64::from(Visit::MAX)).contains(&rounds).then_some(rounds as u32)
    }

    /// The threads of a group. `iteration` is the mean number of requests and the mean think time (in seconds) of an
    /// iteration, which bound the duration of finite loops; `None` if a number of iterations ends the run.
    fn users(&mut self, node: &Node, iteration: Option<(f64, f64)>) -> Users {
        match node.element.text_of("ThreadGroup.on_sample_error") {
            "startnextloop" if !self.single_round => self.note(
                node,
                "starts the next iteration after an error; here a new visitor starts it, without cookies and values",
            ),
            "stopthread" if !self.single_round => {
                self.note(node, "stops the thread after an error; here a new visitor starts its next iteration");
            }
            _ => {}
        }
        let stages = match node.class() {
            "SteppingThreadGroup" => self.stepping(node).0,
            "UltimateThreadGroup" => self.ultimate(node).0,
            "ConcurrencyThreadGroup" => self.concurrency_steps(node, unit_seconds(node)).0,
            _ => self.delayed(node).0,
        };
        if let Ok(population) = Population::new(&stages) {
            let (number, duration) = (population.peak(), population.duration());
            // A number that does not change, or after one ramp, has keys of its own.
            let ramp = match stages[..] {
                [Stage { from, to, .. }] if from == to => Some(Nanos::ZERO),
                [Stage { from: 0, to, over }, held] if held.from == to && held.to == to => Some(over),
                _ => None,
            };
            return match ramp {
                Some(ramp) => Users { number, ramp, stages: Vec::new(), duration },
                None => Users { number, ramp: Nanos::ZERO, stages, duration },
            };
        }
        let (users, ramp, length) = match node.class() {
            "ConcurrencyThreadGroup" => {
                let unit = unit_seconds(node);
                let (ramp, hold) = (self.number(node, "RampUp", 0.0) * unit, self.number(node, "Hold", 0.0) * unit);
                (self.number(node, "TargetLevel", 1.0), ramp, ramp + hold)
            }
            "SteppingThreadGroup" | "UltimateThreadGroup" => (0.0, 0.0, DEFAULT_DURATION_S),
            _ => self.standard_group(node, iteration),
        };
        if users < 1.0 {
            self.note(node, "has no users; one is used");
        }
        let duration = if length.is_infinite() { Nanos::MAX } else { nanos(length) };
        Users { number: users.clamp(1.0, 1e8) as u64, ramp: nanos(ramp), stages: Vec::new(), duration }
    }

    fn standard_group(&mut self, node: &Node, iteration: Option<(f64, f64)>) -> (f64, f64, f64) {
        let users = self.number(node, "ThreadGroup.num_threads", 1.0);
        let ramp = self.number(node, "ThreadGroup.ramp_time", 0.0);
        if self.number(node, "ThreadGroup.delay", 0.0) > 0.0 && node.element.text_of("ThreadGroup.scheduler") == "true"
        {
            self.note(node, "starts after a delay; here it starts at once");
        }
        let length = self.number(node, "ThreadGroup.duration", 0.0);
        let scheduled = node.element.text_of("ThreadGroup.scheduler") == "true";
        if scheduled && length > 0.0 {
            return (users, ramp, length);
        }
        let mut instant = |name: &str| self.number(node, name, 0.0) / 1e3;
        let between = instant("ThreadGroup.end_time") - instant("ThreadGroup.start_time");
        if scheduled && between > 0.0 {
            // Written by JMeter before version 4; later versions ignore them.
            self.note(
                node,
                format!(
                    "starts and ends at fixed times of day; here it starts with the run and has the same duration, {}",
                    nanos(between)
                ),
            );
            return (users, ramp, between);
        }
        let loops = self.loops_of(node);
        if loops < 0.0 {
            self.note(node, format!("runs until stopped; here it runs for {}", nanos(DEFAULT_DURATION_S)));
            return (users, ramp, ramp + DEFAULT_DURATION_S);
        }
        let Some((requests, think_s)) = iteration else { return (users, ramp, f64::INFINITY) };
        let length = (ramp + loops.max(1.0) * (think_s + requests * SECONDS_PER_REQUEST)).max(60.0).ceil();
        let rounds = if loops == 1.0 { "one iteration".to_owned() } else { format!("{loops} iterations") };
        self.note(
            node,
            format!("each thread ends after {rounds}; here the run ends after {} at the latest", nanos(length)),
        );
        (users, ramp, length)
    }

    /// Number of iterations of a thread; negative for infinite.
    pub(super) fn loops_of(&mut self, node: &Node) -> f64 {
        let Some(main) = node.element.property("ThreadGroup.main_controller") else { return 1.0 };
        if main.text_of("LoopController.continue_forever") == "true" {
            return -1.0;
        }
        let text = self.resolve(node, main.text_of("LoopController.loops")).to_display();
        text.trim().parse().unwrap_or(1.0)
    }

    /// Arrival rate per second over time, arrival process and duration.
    fn rates(&mut self, node: &Node) -> (RateProfile, Process, Nanos) {
        match node.class() {
            "ArrivalsThreadGroup" => {
                let unit = unit_seconds(node);
                let target = self.number(node, "TargetLevel", 1.0) / unit;
                let (ramp, hold) = (self.number(node, "RampUp", 0.0) * unit, self.number(node, "Hold", 0.0) * unit);
                let steps = self.number(node, "Steps", 0.0).clamp(0.0, 1000.0) as u32;
                if self.number(node, "ConcurrencyLimit", 0.0) > 0.0 {
                    self.note(node, "has a thread limit above which arrivals wait; here arrivals never wait");
                }
                let rate = match steps {
                    _ if ramp <= 0.0 => RateProfile::Constant(target),
                    0 => RateProfile::Ramp(0.0, target, nanos(ramp)),
                    _ => {
                        let each =
                            |step: u32| (target * f64::from(step) / f64::from(steps), nanos(ramp / f64::from(steps)));
                        RateProfile::Steps(
                            (1..=steps).map(each).chain([(target, nanos(hold))]).filter(|(_, t)| t.0 > 0).collect(),
                        )
                    }
                };
                (rate, Process::Constant, nanos(ramp + hold))
            }
            "FreeFormArrivalsThreadGroup" => {
                let unit = unit_seconds(node);
                let rows: Vec<[f64; 3]> = node
                    .element
                    .entries("Schedule")
                    .iter()
                    .map(|row| {
                        let mut cells = row.children.iter().map(|cell| cell.text.trim().parse().unwrap_or(0.0));
                        [(); 3].map(|()| cells.next().unwrap_or(0.0))
                    })
                    .collect();
                let pieces = rows.iter().map(|[from, to, over]| (from / unit, to / unit, over * unit));
                let (rate, length) = RateProfile::of_pieces(pieces.collect());
                (rate, Process::Constant, length)
            }
            _ => self.open_model(node),
        }
    }

    /// Reads a schedule such as `rate(10/s) random_arrivals(2 min) rate(50/s) pause(5 s)`. The rate changes linearly
    /// from one `rate` to the next over the arrivals between them.
    fn open_model(&mut self, node: &Node) -> (RateProfile, Process, Nanos) {
        let schedule = self.resolve(node, node.element.text_of("OpenModelThreadGroup.schedule")).to_display();
        let (mut rate, mut pieces, mut even): (f64, Vec<(f64, f64, f64)>, bool) = (0.0, Vec::new(), false);
        // Pieces whose end rate is not known yet; they end at the next rate.
        let mut open = 0;
        for call in schedule.split(')').map(str::trim).filter(|call| !call.is_empty()) {
            let (function, argument) = call.split_once('(').unwrap_or((call, ""));
            let argument = argument.trim();
            match function.trim() {
                "rate" => {
                    let (count, unit) = argument.split_once('/').unwrap_or((argument, "s"));
                    let parsed = count.trim().parse::<f64>().ok().zip(parse_span(&format!("1{}", unit.trim())));
                    match parsed {
                        Some((count, unit)) => rate = count.max(0.0) / unit,
                        None => self.note(node, format!("the schedule contains an invalid rate: {argument}")),
                    }
                    pieces[open..].iter_mut().for_each(|(_, to, _)| *to = rate);
                    open = pieces.len();
                }
                kind @ ("random_arrivals" | "even_arrivals" | "pause") => {
                    let over = parse_span(argument).unwrap_or_else(|| {
                        self.note(node, format!("the schedule contains an invalid time: {argument}"));
                        0.0
                    });
                    even |= kind == "even_arrivals";
                    if kind == "pause" {
                        pieces.push((0.0, 0.0, over));
                        open = pieces.len();
                    } else {
                        pieces.push((rate, rate, over));
                    }
                }
                _ => self.note(node, format!("the schedule contains `{call})`, which is not translated")),
            }
        }
        let (rate, length) = RateProfile::of_pieces(pieces);
        (rate, if even { Process::Constant } else { Process::Poisson }, length)
    }

    /// The throttling by `node`, if it is a constant or precise throughput timer.
    pub(super) fn throttle(&mut self, node: &Node) -> Option<Throttle> {
        let throughput = self.number(node, "throughput", 0.0);
        let (rate, process) = match node.class() {
            "ConstantThroughputTimer" => {
                // A number in old files, a key in newer ones, sometimes the label of the user interface. Like JMeter,
                // treat everything else as the first mode.
                let mode = node.element.text_of("calcMode").trim().to_lowercase();
                let all = ["1", "2", "3", "4", "calcmode.2", "calcmode.3", "calcmode.4", "calcmode.5"];
                if !all.contains(&mode.as_str()) && !mode.contains("all active") {
                    // JMeter waits for whole milliseconds.
                    let every = (60e6 / throughput).round() / 1e3;
                    return (every.is_finite() && every >= 1.0)
                        .then(|| Throttle::PerThread(Nanos::from_millis(every as u64)));
                }
                if ["1", "3", "calcmode.2", "calcmode.4"].contains(&mode.as_str()) && self.groups > 1 {
                    self.note(
                        node,
                        "the rate is shared by the threads of all groups; here this group has the whole rate",
                    );
                }
                (throughput / 60.0, Process::Constant)
            }
            "PreciseThroughputTimer" => {
                let period = self.number(node, "throughputPeriod", 3600.0);
                (throughput / period, Process::FixedCount)
            }
            _ => return None,
        };
        (rate.is_finite() && rate > 0.0).then_some(Throttle::Shared { rate, process })
    }
}

/// Parses a time such as `2 min`; returns seconds.
fn parse_span(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(end);
    let unit = match unit.trim() {
        "ms" => 1e-3,
        "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86400.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit)
}

/// The time unit of a plugin's thread group in seconds.
fn unit_seconds(node: &Node) -> f64 {
    if node.element.text_of("Unit") == "S" { 1.0 } else { 60.0 }
}
