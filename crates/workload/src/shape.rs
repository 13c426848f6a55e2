//! The keys of a workload file, as tables: name, kind of value and description of every key.
//!
//! The reader takes the keys that it accepts and its suggestions for misspelled ones from these tables. The JSON Schema for editors is
//! generated from them. The schema accepts more than the reader: only the reader checks rules about other keys, named
//! files or the size of numbers.

mod arrivals;
mod distributions;
mod request;
mod retry;
mod schema;
mod target;
#[cfg(test)]
mod tests;

pub(crate) use arrivals::*;
pub(crate) use distributions::*;
pub(crate) use request::*;
pub(crate) use retry::*;
pub use schema::schema;
pub(crate) use target::*;

/// A table of the file with its keys.
pub(super) struct Shape {
    /// Description for users.
    about: &'static str,
    /// The keys, in the order of the documentation.
    keys: &'static [Key],
    /// Required keys.
    needed: &'static [&'static str],
    /// Exactly one of these keys is required. Empty: no such condition.
    pub(super) one_of: &'static [&'static str],
    /// Keys of which at least one is required. Empty: no key is required in this way.
    some_of: &'static [&'static str],
}

/// A key of a table.
struct Key {
    name: &'static str,
    about: &'static str,
    value: Kind,
}

/// The kind of a value.
pub(crate) enum Kind {
    /// `"1m30s"`.
    Time,
    /// `"100/s"`.
    Rate,
    /// A rate, or `"0/s"`.
    RateOrZero,
    /// A string.
    Text,
    /// A string with placeholders such as `{{token}}`.
    Template,
    /// A file name, relative to the workload file.
    File,
    /// A string that matches this regular expression.
    Form(&'static str),
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// The name of a scheduling discipline.
    Discipline,
    /// A step of a flow: the name of a request, or a table.
    Step,
    /// A part of a condition, which may have parts.
    Condition,
    /// A number of at least this.
    Number(f64),
    /// An integer between these, inclusive.
    Whole(u64, u64),
    /// `true` or `false`.
    Boolean,
    /// Only this boolean.
    Only(bool),
    /// A distribution of times.
    Distribution,
    /// A table with these keys.
    Table(&'static Shape),
    /// A list of values of this kind.
    List(&'static Self),
    /// A list of exactly two values.
    Pair(&'static Self, &'static Self),
    /// A list of exactly three values.
    Triple(&'static [Self; 3]),
    /// A table with arbitrary keys and values of this kind.
    Named(&'static Self),
    /// A table of thresholds: metrics and bounds.
    Thresholds,
    /// A value of any of these kinds.
    Any(&'static [Self]),
}

use crate::{OnDiskFull, Priority, WaitMode};

use Kind::{Boolean, Choice, Form, List, Named, Text, Time, Whole};

impl Shape {
    /// The names of all keys.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    /// Whether `name` is a key.
    pub(super) fn has(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }
}

const fn key(name: &'static str, value: Kind, about: &'static str) -> Key {
    Key { name, about, value }
}

const fn shape(about: &'static str, keys: &'static [Key]) -> Shape {
    Shape { about, keys, needed: &[], one_of: &[], some_of: &[] }
}

impl Shape {
    const fn needs(mut self, needed: &'static [&'static str]) -> Self {
        self.needed = needed;
        self
    }

    const fn one_of(mut self, names: &'static [&'static str]) -> Self {
        self.one_of = names;
        self
    }

    const fn some_of(mut self, names: &'static [&'static str]) -> Self {
        self.some_of = names;
        self
    }
}

/// What happens to sessions at the end.
pub(super) const ENDS: [&str; 2] = ["cut", "finish"];
/// Policies for late requests.
pub(super) const LATE: [&str; 2] = ["send", "skip"];
/// Arrival processes without parameters.
pub(super) const PATTERNS: [&str; 3] = ["poisson", "constant", "poisson-fixed-count"];
/// Modes of replay.
pub(super) const WAYS: [&str; 3] = ["open", "sessions", "closed"];
/// Treatments of timestamps of a coarse clock.
pub(super) const STAMPS: [&str; 2] = ["spread", "as-recorded"];
/// Values of `nth` other than a number.
pub(super) const ANY_FOUND: [&str; 2] = ["last", "random"];

/// Maximum of integers stored in 32 bits.
const MAX_WHOLE: u64 = u32::MAX as u64;

/// The whole file.
pub(super) static WORKLOAD: Shape = shape(
    "A load test: arrivals, requests, target and thresholds.",
    &[
        key("seed", Whole(0, u64::MAX), "Seed of all random numbers. Default: 1; `run` draws and records one."),
        key(
            "duration",
            Time,
            "Test duration. Required unless requests or sessions is set. Default with stages: the length of all stages; with a replay: the length of its trace or window.",
        ),
        key(
            "requests",
            Whole(1, u64::MAX),
            "Maximum number of requests; the test ends at this number or at duration, whichever comes first.",
        ),
        key(
            "sessions",
            Whole(1, u64::MAX),
            "Maximum number of sessions, each completed. With closed users: visits (without flows: requests).",
        ),
        key("skip_first", Time, "Exclude the first part of the test from statistics (ramp-up). Default 0s."),
        key("skip_last", Time, "Exclude the last part of the test from statistics (ramp-down). Default 0s."),
        key(
            "end",
            Kind::Any(&[Choice(&ENDS), Kind::Table(&END)]),
            "Sessions at the end of the test: cut off (default), or finish within 30s or { finish = \"2m\" }.",
        ),
        key(
            "late",
            Choice(&LATE),
            "Policy for late requests: send them (default), or skip and count those later than late_after.",
        ),
        key("late_after", Time, "With late = \"skip\": maximum lateness of a request that is sent. Default 10ms."),
        key(
            "secret_names",
            List(&Text),
            "Further names of headers, parameters, JSON members and variables with secret values, which are redacted.",
        ),
        key("arrivals", Kind::Table(&ARRIVALS), "The system model: exactly one of open, closed, partly_open, replay."),
        key("scenario", List(&Kind::Table(&SCENARIO)), "Instead of arrivals: several loads in one run."),
        key(
            "target",
            Kind::Any(&[Kind::Table(&TARGET), List(&Kind::Table(&TARGET))]),
            "The server under test, for run; or several, of which the first is the default.",
        ),
        key("server", Kind::Table(&SERVER), "The modelled server, for serve, simulate and plan."),
        key(
            "station",
            List(&Kind::Table(&STATION)),
            "Instead of [server]: the stations of a network, for simulate and plan.",
        ),
        key(
            "region",
            List(&Kind::Table(&REGION)),
            "Regions of the network with a limited capacity, such as a pool of threads, for simulate and plan.",
        ),
        key(
            "variables",
            Named(&VARIABLE),
            "Variables for templates: a constant, or a table with the source of the values.",
        ),
        key("generator", Kind::Table(&GENERATOR), "Settings of the load generator."),
        key("observe", Kind::Table(&OBSERVE), "Server hosts to observe during the run."),
        key("policies", Kind::Table(&POLICIES), "Server policies to compare by alternating them within one run."),
        key("request", List(&Kind::Table(&REQUEST)), "The requests. Default: GET of the path of target.url."),
        key("flow", List(&Kind::Table(&FLOW)), "Sequences of requests, for partly_open and closed."),
        key("once", Kind::Table(&ONCE), "Steps that each session executes once, before or after its flows: login, logout."),
        key("group", List(&Kind::Table(&GROUP)), "Parts of visits, from one step of a flow to another, that are measured."),
        key(
            "goodput",
            Kind::Table(&GOODPUT),
            "Limits of a good request; the goodput counts requests that meet all of them.",
        ),
        key("thresholds", Kind::Thresholds, "Conditions for a passed run, such as \"response.p99\" = \"< 250ms\"."),
        key(
            "files",
            Kind::Table(&FILES),
            "Directory and digests of the files that the workload names; written by run.",
        ),
    ],
)
.one_of(&["arrivals", "scenario"]);

pub(super) static END: Shape =
    shape("Sessions finish after the end.", &[key("finish", Time, "Maximum time after the end.")]).needs(&["finish"]);

pub(super) static GROUP: Shape = shape(
    "A part of a visit.",
    &[
        key("name", Text, "Unique name."),
        key("flow", Text, "The flow of both steps. Default: the only one that has them."),
        key("from", Text, "The group begins with the first request of this step."),
        key("to", Text, "The group ends with the last response of this step."),
    ],
)
.needs(&["name", "from", "to"]);

pub(super) static GOODPUT: Shape = shape(
    "The limits of a good request.",
    &[
        key("ttft", Time, "Maximum time to first token, from the scheduled time."),
        key("tpot", Time, "Maximum time per output token after the first chunk."),
        key("response", Time, "Maximum response time."),
    ],
)
.some_of(&["ttft", "tpot", "response"]);

pub(super) static FILES: Shape = shape(
    "The files that a workload names. A run adds this to its copy of the workload, so that verify finds the same files.",
    &[
        key("from", Text, "Directory of the files that are not in the directory of the workload."),
        key(
            "sha256",
            Named(&Form("^[0-9A-Fa-f]{64}$")),
            "SHA-256 of each file's uncompressed content, by file name. A file with another digest is an error.",
        ),
    ],
);

pub(super) static THRESHOLD: Shape = shape(
    "A threshold that may end the run.",
    &[
        key("bound", Text, "The bound, such as \"< 250ms\"."),
        key("stop", Boolean, "End the run when the threshold fails. Default false."),
        key(
            "after",
            Time,
            "With stop: earliest time at which the run may end, counted from the end of skip_first. Default 0s.",
        ),
    ],
)
.needs(&["bound"]);

pub(super) static OBSERVE: Shape = shape(
    "Server hosts to observe during the run.",
    &[
        key(
            "hosts",
            Named(&Text),
            "Observers (`offered observe`) by name and address, such as { db = \"10.0.0.2:7799\" }; their clocks are compared before and after the run.",
        ),
        key(
            "scrape",
            List(&Kind::Table(&SCRAPE)),
            "Metrics endpoints to scrape: Prometheus exporters, nginx's stub_status, database statistics.",
        ),
    ],
);

pub(super) static SCRAPE: Shape = shape(
    "An endpoint that is scraped during the run.",
    &[
        key("name", Form(r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$"), "Unique name of the endpoint in the recording."),
        key("target", Kind::Table(&TARGET), "The endpoint, such as target.url = \"http://10.0.0.2:9100/metrics\"."),
        key(
            "sql",
            Text,
            "Database: query with the series as numeric columns and the labels as text columns. Default: pg_stat_database.",
        ),
        key("every", Time, "Scrape interval. Default 1s."),
        key(
            "series",
            List(&Text),
            "Series to record, such as [\"http_requests_*\"]. Default: host metrics of node_exporter; all series of other exporters except buckets.",
        ),
        key("counters", List(&Text), "Series that are counters, although the endpoint does not declare their type, such as [\"calls\", \"*_time\"]."),
    ],
)
.needs(&["name", "target"]);

pub(super) static POLICIES: Shape = shape(
    "Server policies that alternate within one run (ABBA order); a command sets the policy.",
    &[
        key("names", List(&Text), "Names of two or more policies, in the order of their first blocks."),
        key("block", Time, "Duration of a block. The test duration without its skipped parts must be a multiple of one ABBA round."),
        key(
            "settle",
            Time,
            "Start of each block to exclude, while the queue of the previous policy drains. Default: a quarter of the block.",
        ),
        key(
            "hook",
            List(&Text),
            "Command and arguments, run before the start and at the start of each block; {{policy}} is the policy's name.",
        ),
    ],
)
.needs(&["names", "block", "hook"]);

pub(super) static GENERATOR: Shape = shape(
    "Settings of the load generator.",
    &[
        key("threads", Whole(1, 1024), "Number of threads. Default: as many as the rate needs."),
        key(
            "wait",
            Choice(WaitMode::NAMES),
            "How a thread waits for the next request: \"spin\" (default; precise) or \"sleep\" (less CPU).",
        ),
        key(
            "priority",
            Choice(Priority::NAMES),
            "Scheduling priority of the sending threads: \"auto\" (default; the highest safe priority), \"normal\" or \"realtime\".",
        ),
        key(
            "tolerance",
            Form(r"^\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%$"),
            "Largest part of p50, p95 and p99 that may come from requests sent late. Default \"5%\".",
        ),
        key(
            "on_disk_full",
            Choice(OnDiskFull::NAMES),
            "Behaviour when the disk is full. Default \"continue\": buffer in memory and retry.",
        ),
    ],
);
