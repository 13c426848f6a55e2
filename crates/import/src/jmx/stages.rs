//! The number of threads over time of groups that start and stop them in stages.

use offered_base::Nanos;
use offered_schedule::Stage;

use super::Reader;
use super::node::Node;
use crate::plan::nanos;

/// Maximum number of rows of a table, and of groups of threads that start or stop together.
const MAX_ROWS: usize = 1000;

/// Stages that are built one after another.
#[derive(Default)]
pub(super) struct Stages(pub(super) Vec<Stage>);

impl Stages {
    /// Adds a stage of this length in seconds; one without a length is a sudden change.
    pub(super) fn add(&mut self, from: f64, to: f64, seconds: f64) {
        let users = |number: f64| number.clamp(0.0, 1e8) as u64;
        let over = nanos(seconds);
        if over > Nanos::ZERO {
            self.0.push(Stage { from: users(from), to: users(to), over });
        }
    }
}

impl Reader<'_, '_> {
    /// The stages of a group of threads that start after a delay; none without a duration (`ThreadGroup.scheduleThread`).
    pub(super) fn delayed(&mut self, node: &Node) -> Stages {
        let mut number = |name: &str, otherwise: f64| self.number(node, name, otherwise).max(0.0);
        let (delay, length) = (number("ThreadGroup.delay", 0.0), number("ThreadGroup.duration", 0.0));
        let mut stages = Stages::default();
        if node.element.text_of("ThreadGroup.scheduler") == "true" && delay > 0.0 && length > 0.0 {
            let users = number("ThreadGroup.num_threads", 1.0);
            let ramp = number("ThreadGroup.ramp_time", 0.0).min(length);
            stages.add(0.0, 0.0, delay);
            stages.add(0.0, users, ramp);
            stages.add(users, users, length - ramp);
        }
        stages
    }

    /// The stages of a concurrency thread group whose ramp has steps (`ConcurrencyThreadStarter.getPlannedConcurrency`): the first
    /// threads start at once, and all have started before the last step ends.
    pub(super) fn concurrency_steps(&mut self, node: &Node, unit: f64) -> Stages {
        let mut number = |name: &str, otherwise: f64| self.number(node, name, otherwise).max(0.0);
        let (ramp, hold) = (number("RampUp", 0.0) * unit, number("Hold", 0.0) * unit);
        let steps = number("Steps", 0.0).min(MAX_ROWS as f64).floor();
        let mut stages = Stages::default();
        if steps >= 1.0 && ramp > 0.0 {
            let users = number("TargetLevel", 1.0);
            for step in 1..=steps as u32 {
                let started = (users / steps * f64::from(step)).round();
                stages.add(started, started, ramp / steps);
            }
            stages.add(users, users, hold);
        }
        stages
    }

    /// The stages of a stepping thread group: after a delay some threads start, further ones after each period, all within a short ramp. After
    /// the hold time some stop after each period.
    pub(super) fn stepping(&mut self, node: &Node) -> Stages {
        let mut number = |name: &str| self.number(node, name, 0.0).max(0.0);
        let users = number("ThreadGroup.num_threads");
        let (delay, ramp, period) = (number("Threads initial delay"), number("rampUp"), number("Start users period"));
        let all_if_none = |count: f64| if count >= 1.0 { count } else { users };
        let more = all_if_none(number("Start users count"));
        let first = match number("Start users count burst") {
            burst if burst >= 1.0 => burst,
            _ => more,
        };
        let (fewer, stop_period) = (all_if_none(number("Stop users count")), number("Stop users period"));
        let hold = number("flighttime");
        let mut stages = Stages::default();
        stages.add(0.0, 0.0, delay);
        let (mut now, mut next) = (0.0, first.min(users));
        for _ in 0..MAX_ROWS {
            stages.add(now, next, ramp);
            (now, next) = (next, (next + more).min(users));
            if now >= users {
                break;
            }
            stages.add(now, now, period);
        }
        stages.add(users, users, hold);
        let mut left = users - fewer;
        for _ in 0..MAX_ROWS {
            if left <= 0.0 {
                break;
            }
            stages.add(left, left, stop_period);
            left -= fewer;
        }
        stages
    }

    /// The stages of an ultimate thread group: the sum of its rows, each of which starts, holds and stops some threads.
    pub(super) fn ultimate(&mut self, node: &Node) -> Stages {
        let rows: Vec<[f64; 5]> = node
            .element
            .entries("ultimatethreadgroupdata")
            .iter()
            .take(MAX_ROWS)
            .map(|row| {
                let mut cells = row.children.iter().map(|cell| self.resolve(node, cell.text.trim()).to_display());
                let mut cell = || cells.next().and_then(|cell| cell.parse::<f64>().ok()).unwrap_or(0.0);
                [(); 5].map(|()| cell().max(0.0))
            })
            .collect();
        // The corners of a row: threads begin to start, all have started, they begin to stop, all have stopped.
        let corners = |[_, delay, ramp, hold, stop]: &[f64; 5]| {
            let (up, down) = (delay + ramp, delay + ramp + hold);
            [*delay, up, down, down + stop]
        };
        // The number of threads of a row just after `at`, or just before it.
        let threads = |row: &[f64; 5], at: f64, after: bool| {
            let ([start, up, down, end], users) = (corners(row), row[0]);
            let is_before = |corner: f64| at < corner || (at == corner && !after);
            if is_before(start) {
                0.0
            } else if is_before(up) {
                users * (at - start) / (up - start)
            } else if is_before(down) {
                users
            } else if is_before(end) {
                users * (end - at) / (end - down)
            } else {
                0.0
            }
        };
        let mut times: Vec<f64> = rows.iter().flat_map(corners).chain([0.0]).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let all = |at: f64, after: bool| rows.iter().map(|row| threads(row, at, after)).sum::<f64>().round();
        let mut stages = Stages::default();
        for pair in times.windows(2) {
            stages.add(all(pair[0], true), all(pair[1], false), pair[1] - pair[0]);
        }
        stages
    }
}
