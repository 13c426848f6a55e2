//! Reads the statistics history of Locust (`--csv`, `..._stats_history.csv`): numbers of users over time, and counts of requests.
//!
//! Source: `locust/stats.py` (`StatsCSVFileWriter`). Every second has one row with the totals; with
//! `--csv-full-history` it also has one row for each request.

use std::collections::HashMap;

use offered_base::Nanos;
use offered_distributions::Distribution;
use offered_schedule::{Stage, Visitor};

use crate::address::{Server, default_target, encode_path};
use crate::note::Note;
use crate::plan::{Arrivals, Plan, Request, nanos};
use crate::request_list::{DefaultArrivals, PlannedRequest, RequestList, Targets, Visit};
use crate::text::Text;
use crate::{Error, ImportOptions};

/// Columns of a history that the reader needs.
const COLUMNS: [&str; 5] = ["Timestamp", "User Count", "Type", "Name", "Total Request Count"];
/// The name of the rows that are totals.
const TOTAL: &str = "Aggregated";
/// Maximum number of stages.
const MAX_STAGES: usize = 100;
/// Maximum number of points to which stages are fitted.
const MAX_POINTS: usize = 4_000;
/// Maximum number of requests.
const MAX_REQUESTS: usize = 1_000;
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];

/// Whether `text` begins as a history.
pub(crate) fn looks_like(text: &str) -> bool {
    let begins = "Timestamp,User Count,Type,Name,";
    text.chars().filter(|c| *c != '"').take(begins.len()).eq(begins.chars())
}

/// The requests of one name.
#[derive(Default)]
struct Counter {
    /// Requests since the statistics were last reset, and their mean response time in milliseconds.
    last: (u64, f64),
    count: u64,
    /// Sum of all response times in milliseconds.
    busy_ms: f64,
}

impl Counter {
    /// Adds the increase since the previous row. If the number of requests has decreased, the count was reset.
    fn add(&mut self, count: u64, mean_ms: f64) {
        let before = if count < self.last.0 { (0, 0.0) } else { self.last };
        self.count += count - before.0;
        self.busy_ms += (count as f64 * mean_ms - before.0 as f64 * before.1).max(0.0);
        self.last = (count, mean_ms);
    }
}

/// What a file contains.
struct History {
    /// Seconds since the epoch and numbers of users, in the order of time.
    users: Vec<(u64, u64)>,
    total: Counter,
    /// Counts by type and name of the request, in the order of the file.
    requests: Vec<((String, String), Counter)>,
}

/// The plan of `text`, the content of `file`.
pub(crate) fn read(text: &str, file: &str, options: &ImportOptions) -> Result<Plan, Error> {
    let refused = |message: &str| Error::File { file: file.to_owned(), message: message.to_owned() };
    let history = History::read(text, file)?;
    let active = |(_, users): &&(u64, u64)| *users > 0;
    let (Some((first, _)), Some((last, _))) =
        (history.users.iter().find(active), history.users.iter().rev().find(active))
    else {
        return Err(refused("no row of the history has users"));
    };
    // A row holds until the next one, the last for a second.
    let users: Vec<(f64, f64)> = history
        .users
        .iter()
        .filter(|(at, _)| (first..=last).contains(&at))
        .map(|(at, users)| ((at - first) as f64, *users as f64))
        .collect();
    let (stages, tolerance) = stages(&users);
    let mut notes = Vec::new();
    let mut note = |message: String| notes.push(Note { line: 0, element: String::new(), message });
    if tolerance > 0.0 {
        note(format!(
            "the history has a number of users for each second; {} stages approximate it, with an error of at most {tolerance:.1} users",
            stages.len()
        ));
    }
    let duration = Nanos(stages.iter().map(|stage| stage.over.0).sum());
    let think = history.think(&users, duration, &mut note);
    let (requests, weights) = history.requests(options, &mut note);
    if requests.is_empty() {
        return Err(refused("the history has no HTTP request"));
    }
    let list = RequestList {
        origin: "a statistics history of Locust",
        remark: "The numbers of users are those of the history. A history has no data of requests: compare the requests with the script.",
        visits: (0..requests.len()).map(|at| Visit { name: "visit".to_owned(), steps: vec![(at, None)] }).collect(),
        requests,
        targets: Targets::One(None),
        keep_flows: false,
        target: default_target().with_cookies(true).with_redirects(30),
        variables: Vec::new(),
        arrivals_default: DefaultArrivals::OnePerSecond,
        notes,
    };
    let mut plan = list.into_plan(file)?;
    for request in &mut plan.requests {
        request.weight = weights.get(&request.name).copied().unwrap_or(1.0);
    }
    plan.duration = duration;
    plan.arrivals = Arrivals::Closed {
        users: stages.iter().map(|stage| stage.from.max(stage.to)).max().unwrap_or(1),
        visits: None,
        pace: None,
        visitor: Visitor::Same,
        ramp: Nanos::ZERO,
        stages,
        think,
    };
    Ok(plan)
}

impl History {
    fn read(text: &str, file: &str) -> Result<Self, Error> {
        let wrong = |line: u64, message: String| Error::Line { file: file.to_owned(), line: line as usize, message };
        let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let header = rows.headers().map_err(|error| wrong(1, error.to_string()))?.clone();
        let column = |name: &str| header.iter().position(|column| column == name);
        let mut places = [0; COLUMNS.len()];
        for (place, name) in places.iter_mut().zip(COLUMNS) {
            let missing = || wrong(1, format!("the history has no column `{name}`; Locust 1.2 and later write it"));
            *place = column(name).ok_or_else(missing)?;
        }
        let mean = column("Total Average Response Time");
        let mut history = Self { users: Vec::new(), total: Counter::default(), requests: Vec::new() };
        let mut known: HashMap<(String, String), usize> = HashMap::new();
        for row in rows.records() {
            let row = row.map_err(|error| {
                wrong(error.position().map_or(1, csv::Position::line), "not a row of CSV".to_owned())
            })?;
            let [at, users, kind, name, count] = places.map(|place| row.get(place).unwrap_or_default());
            let (Ok(at), Ok(users), Ok(count)) = (at.parse::<u64>(), users.parse::<u64>(), count.parse::<u64>()) else {
                let line = row.position().map_or(1, csv::Position::line);
                return Err(wrong(line, format!("`{at}`, `{users}` and `{count}` are not a time, users and a count")));
            };
            let mean_ms = mean.and_then(|place| row.get(place)?.parse::<f64>().ok()).unwrap_or(0.0);
            let counter = if name == TOTAL && kind.is_empty() {
                if history.users.last().is_none_or(|(before, _)| *before < at) {
                    history.users.push((at, users));
                }
                &mut history.total
            } else {
                let key = (kind.to_owned(), name.to_owned());
                let at = *known.entry(key.clone()).or_insert_with(|| {
                    history.requests.push((key, Counter::default()));
                    history.requests.len() - 1
                });
                &mut history.requests[at].1
            };
            counter.add(count, mean_ms);
        }
        Ok(history)
    }

    /// The mean think time by the interactive response time law, Z = N / X - R (Denning and Buzen 1978).
    fn think(&self, users: &[(f64, f64)], duration: Nanos, note: &mut impl FnMut(String)) -> Distribution {
        let zero = || Distribution::constant(0.0).expect("zero is a constant");
        if self.total.count == 0 {
            note("the history has no requests, so the think time is unknown; set `think`".to_owned());
            return zero();
        }
        let user_seconds: f64 = users.windows(2).map(|pair| (pair[1].0 - pair[0].0) * pair[0].1).sum::<f64>()
            + users.last().map_or(0.0, |(_, users)| *users);
        let count = self.total.count as f64;
        let response = self.total.busy_ms / 1e3 / count;
        let think = (user_seconds / count - response).max(0.0);
        note(format!(
            "the mean think time of {think:.3} s follows from N = X (R + Z), with {:.4} users, {:.4} requests/s and a mean response time of {response:.3} s; its distribution is unknown: here it is constant",
            user_seconds / duration.as_secs_f64(),
            count / duration.as_secs_f64()
        ));
        // Rounded to the millisecond, the resolution of the history.
        Distribution::constant((think * 1e3).round() / 1e3).unwrap_or_else(|_| zero())
    }

    /// The HTTP requests, and their weights by name.
    fn requests(
        &self,
        options: &ImportOptions,
        note: &mut impl FnMut(String),
    ) -> (Vec<PlannedRequest>, HashMap<String, f64>) {
        let host = options.variable("host").and_then(|url| Server::parse_text(&Text::from(url), |_| None));
        let default = host.map_or(Server::default(), |(server, _)| server);
        let total = ((METHODS[0].to_owned(), "/".to_owned()), &self.total);
        let mut all: Vec<_> = self.requests.iter().map(|(key, counter)| (key.clone(), counter)).collect();
        if all.is_empty() {
            note("the history has totals only, so every request is GET /; write the requests of the script, or record it with --csv-full-history".to_owned());
            all.push(total);
        }
        let (mut requests, mut weights) = (Vec::new(), HashMap::new());
        let (mut bodies, mut names) = (Vec::new(), Vec::new());
        for ((kind, name), counter) in all.into_iter().filter(|(_, counter)| counter.count > 0 || self.total.count == 0)
        {
            let element = format!("{kind} {name}");
            if !METHODS.contains(&kind.as_str()) {
                note(format!("`{element}` is not an HTTP request; left out"));
                continue;
            }
            if requests.len() == MAX_REQUESTS {
                note(format!("the history has more than {MAX_REQUESTS} names of requests; the others are left out"));
                break;
            }
            let (server, path) = match Server::parse(&name) {
                Some((server, path)) => (server, path),
                None => (default.clone(), name.clone()),
            };
            if !path.is_empty() && !path.starts_with(['/', '?']) {
                names.push(name.clone());
            }
            if ["POST", "PUT", "PATCH"].contains(&kind.as_str()) {
                bodies.push(element.clone());
            }
            let mut request = Request::new(&kind, encode_path(&Text::from(path)));
            request.name.clone_from(&element);
            request.add_header("Accept-Encoding", Text::from("gzip, deflate"));
            // Before the first response every count is 0; then each name has the same weight.
            weights.insert(element.clone(), counter.count.max(1) as f64);
            requests.push(PlannedRequest { line: 0, element, server, request });
        }
        let shown = |all: &[String]| all.iter().take(5).map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ");
        if !names.is_empty() {
            note(format!("{} names are not paths ({}); set the `path` of these requests", names.len(), shown(&names)));
        }
        if !bodies.is_empty() {
            note(format!("a history has no bodies; add the bodies of {} requests ({})", bodies.len(), shown(&bodies)));
        }
        (requests, weights)
    }
}

/// Stages that follow the points (seconds, users), and their largest difference from the points, in users. It is zero
/// if at most [`MAX_STAGES`] stages can follow the points exactly. The last point lasts one second.
fn stages(points: &[(f64, f64)]) -> (Vec<Stage>, f64) {
    // A number of users holds until the next point.
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for (at, users) in points {
        if let Some((_, before)) = corners.last().copied().filter(|(_, before)| before != users) {
            corners.push((*at, before));
            corners.push((*at, *users));
        } else if corners.is_empty() {
            corners.push((*at, *users));
        }
    }
    let end = points.last().map_or(1.0, |(at, _)| at + 1.0);
    corners.extend(corners.last().map(|(_, users)| (end, *users)));
    let exact = of_corners(&corners);
    if exact.len() <= MAX_STAGES {
        return (exact, 0.0);
    }
    let every = points.len().div_ceil(MAX_POINTS);
    let some: Vec<(f64, f64)> = points.iter().step_by(every).chain(points.last()).copied().collect();
    let mut tolerance = 1.0;
    loop {
        let mut ends = vec![corners[0]];
        simplify(&some, tolerance, &mut ends);
        ends.push((end, ends[ends.len() - 1].1));
        let stages = of_corners(&ends);
        if stages.len() <= MAX_STAGES {
            let off = difference(points, &ends);
            return (stages, off);
        }
        tolerance *= 2.0;
    }
}

/// The largest difference, in users, of the points from lines between these ends.
fn difference(points: &[(f64, f64)], ends: &[(f64, f64)]) -> f64 {
    let mut lines = ends.windows(2).peekable();
    let mut most: f64 = 0.0;
    for (at, users) in points {
        while lines.peek().is_some_and(|line| line[1].0 < *at) {
            lines.next();
        }
        let Some([from, to]) = lines.peek() else { break };
        let slope = if to.0 > from.0 { (to.1 - from.1) / (to.0 - from.0) } else { 0.0 };
        most = most.max((users - from.1 - slope * (at - from.0)).abs());
    }
    most
}

/// A stage from each corner to the next corner with a later time.
fn of_corners(corners: &[(f64, f64)]) -> Vec<Stage> {
    let later = corners.windows(2).filter(|pair| pair[1].0 > pair[0].0);
    later
        .map(|pair| Stage { from: pair[0].1 as u64, to: pair[1].1 as u64, over: nanos(pair[1].0 - pair[0].0) })
        .collect()
}

/// Appends the ends of lines that differ from the points by at most `tolerance` (Ramer 1972, Douglas and Peucker 1973).
fn simplify(points: &[(f64, f64)], tolerance: f64, ends: &mut Vec<(f64, f64)>) {
    let mut open = vec![(0, points.len() - 1)];
    while let Some((first, last)) = open.pop() {
        let (from, to) = (points[first], points[last]);
        let slope = if last > first { (to.1 - from.1) / (to.0 - from.0) } else { 0.0 };
        let error = |at: usize| (points[at].1 - from.1 - slope * (points[at].0 - from.0)).abs();
        match (first + 1..last).max_by(|a, b| error(*a).total_cmp(&error(*b))) {
            Some(worst) if error(worst) > tolerance => {
                open.push((worst, last));
                open.push((first, worst));
            }
            _ => ends.push(to),
        }
    }
}
