//! The shape of a workload file: which keys stand where, and what each may say.
//!
//! The reader takes the keys that it knows from these tables, and the JSON Schema that editors check a file with is made of them:
//! what one knows, the other knows. The schema is the looser of the two. What depends on other keys, on the files that are named
//! and on the size of numbers, only the reader tells.

mod schema;
#[cfg(test)]
mod tests;

pub use schema::schema;

/// A table of the file.
pub(super) struct Shape {
    /// What it says, for those who write it.
    about: &'static str,
    /// Its keys, in the order in which they are listed.
    keys: &'static [Key],
    /// Those without which it says nothing.
    needed: &'static [&'static str],
    /// Exactly one of these is needed, where there are any.
    pub(super) one_of: &'static [&'static str],
    /// At least one of these is needed, where there are any.
    some_of: &'static [&'static str],
}

/// A key of a table.
struct Key {
    name: &'static str,
    about: &'static str,
    value: Kind,
}

/// What a value may be.
enum Kind {
    /// `"1m30s"`.
    Time,
    /// `"100/s"`.
    Rate,
    /// A rate, or `"0/s"`.
    RateOrZero,
    /// A text in quotes.
    Text,
    /// A text with places for values, such as `{{token}}`.
    Template,
    /// The name of a file beside the workload.
    File,
    /// A text of this form, a regular expression.
    Form(&'static str),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// The name of a discipline.
    Discipline,
    /// A number from so much on.
    Number(f64),
    /// A whole number from so much up to so much.
    Whole(u64, u64),
    /// `true` or `false`.
    Truth,
    /// This truth alone.
    Only(bool),
    /// A law of times.
    Distribution,
    /// A table with these keys.
    Table(&'static Shape),
    /// A list of such values.
    List(&'static Self),
    /// A list of exactly these.
    Pair(&'static Self, &'static Self),
    /// A table whose keys are names, with such values.
    Named(&'static Self),
    /// A table whose keys are metrics and whose values are their bounds.
    Thresholds,
    /// Any of these.
    Any(&'static [Self]),
}

use crate::script::{AtEnd, OnFailure, Order, Per, Unit, When};
use crate::{OnDiskFull, WaitMode, Protocol, Reuse};
use offered_schedule::Opening;
use offered_schedule::{Start, Visitor};

use Kind::{
    Any, Choice, Discipline, File, Form, List, Named, Number, Only, Pair, Rate, RateOrZero, Template, Text, Time,
    Truth, Whole,
};

impl Shape {
    /// The names of its keys.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
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

/// What becomes of late launches.
pub(super) const LATE: [&str; 2] = ["send", "skip"];
/// Patterns of arrivals without a setting.
pub(super) const PATTERNS: [&str; 3] = ["poisson", "constant", "poisson-fixed-count"];
/// How a log is replayed.
pub(super) const WAYS: [&str; 3] = ["open", "sessions", "closed"];
/// What is made of stamps in whole seconds.
pub(super) const STAMPS: [&str; 2] = ["spread", "as-recorded"];
/// Which of those found, other than by number.
pub(super) const ANY_FOUND: [&str; 1] = ["random"];

/// The file.
pub(super) static WORKLOAD: Shape = shape(
    "What is meant: who comes, what is asked, and what must be kept.",
    &[
        key("seed", Whole(0, u64::MAX), "From it every random choice follows. Default: 1; a run without one draws it, and records it."),
        key("duration", Time, "Launches are meant from 0 up to here. Needed, but where a number of requests or sessions ends them."),
        key("requests", Whole(1, u64::MAX), "So many launches at most; what comes first, this or the duration, ends them."),
        key(
            "sessions",
            Whole(1, u64::MAX),
            "So many sessions at most, each of them whole; of closed users so many visits (without flows: requests).",
        ),
        key("skip_first", Time, "The ramp-up: kept in the data, left out of statistics. Default 0s."),
        key("skip_last", Time, "The ramp-down: kept in the data, left out of statistics. Default 0s."),
        key(
            "late",
            Choice(&LATE),
            "What becomes of late launches: sent all the same (default), or skipped when later than late_after, and counted.",
        ),
        key("late_after", Time, "With late = \"skip\": later launches are not sent. Default 10ms."),
        key("arrivals", Kind::Table(&ARRIVALS), "The system model: exactly one of open, closed, partly_open, replay."),
        key("target", Kind::Table(&TARGET), "The real server, for run."),
        key("server", Kind::Table(&SERVER), "The modelled server, for serve, simulate and plan."),
        key(
            "station",
            List(&Kind::Table(&STATION)),
            "Instead of [server]: the stations of a network, for simulate and plan.",
        ),
        key(
            "variables",
            Named(&VARIABLE),
            "What templates may ask for: a constant, or a table that says where values come from.",
        ),
        key("generator", Kind::Table(&GENERATOR), "The threads that launch."),
        key("observe", Kind::Table(&OBSERVE), "The machines that serve, as far as they are asked something themselves."),
        key("policies", Kind::Table(&POLICIES), "Policies of the server that take turns within one run, to be compared."),
        key("request", List(&Kind::Table(&REQUEST)), "What is asked. Without it: the path of the target's url."),
        key("flow", List(&Kind::Table(&FLOW)), "One request after another, for partly_open and closed."),
        key("thresholds", Kind::Thresholds, "What the run must keep to pass, such as \"response.p99\" = \"< 250ms\"."),
        key("files", Kind::Table(&FILES), "Where the files that are named were, and what they were; a run writes it."),
    ],
)
.needs(&["arrivals"])
.some_of(&["duration", "requests", "sessions"]);

pub(super) static FILES: Shape = shape(
    "The files that a workload names. A run writes this into the workload that it keeps, so that it can be judged later by the same files.",
    &[
        key("from", Text, "The folder in which they are looked for where they do not stand beside the workload."),
        key(
            "sha256",
            Named(&Form("^[0-9A-Fa-f]{64}$")),
            "By their names, the digests of what was in them, unzipped; another file under such a name is refused.",
        ),
    ],
);

pub(super) static THRESHOLD: Shape = shape(
    "A bound, and whether a run that breaks it ends.",
    &[
        key("bound", Text, "The bound."),
        key("stop", Truth, "Whether a run that breaks it ends early. Default: false."),
        key("after", Time, "With stop: not before so much of the time that counts is over. Default 0s."),
    ],
)
.needs(&["bound"]);

pub(super) static ARRIVALS: Shape = shape(
    "The system model.",
    &[
        key("open", Kind::Table(&OPEN), "Requests arrive whatever the server does."),
        key("closed", Kind::Table(&CLOSED), "Users who wait for their answer, think, and ask again."),
        key("partly_open", Kind::Table(&PARTLY_OPEN), "Sessions arrive, make some requests, and leave."),
        key("replay", Kind::Table(&REPLAY), "The requests of a log, from a trace."),
    ],
)
.one_of(&["open", "closed", "partly_open", "replay"]);

static RATES: [Kind; 2] = [Rate, Kind::Table(&PROFILE)];
const RATE: Key = key("rate", Any(&RATES), "Sessions (of open: requests) per second, or a profile.");
static PATTERN: [Kind; 2] = [Choice(&PATTERNS), Kind::Table(&PROCESSES)];
const PROCESS: Key = key(
    "process",
    Any(&PATTERN),
    "The pattern of arrivals. Default \"poisson\". \"poisson-fixed-count\": n sorted uniforms, what some tools call Poisson.",
);
static SIZES: [Kind; 2] = [Whole(1, MAX_WHOLE), Kind::Table(&BATCHES)];
const BATCH: Key = key(
    "batch",
    Any(&SIZES),
    "So many sessions at the same instant, or { geometric = 2.5 }. The rate counts sessions. Default 1.",
);
const THINK: Key =
    key("think", Kind::Distribution, "The law of the time from an answer to the session's next launch. Default: none.");
const USERS: Key = key("users", Whole(1, u64::MAX), "N.");
const RAMP: Key = key("ramp", Time, "The time over which users start one after another. Default 0s.");
const START: Key = key(
    "start",
    Choice(Start::NAMES),
    "How users begin: as if they had been there long (default), with a whole think time, or with a request.",
);
const OPENING: Key = key(
    "start",
    Choice(Opening::NAMES),
    "Who is there when the run begins: nobody (default), or as many sessions in mid-thought as in the long run.",
);
/// The largest of the numbers that are kept in 32 bits.
const MAX_WHOLE: u64 = u32::MAX as u64;

pub(super) static OPEN: Shape =
    shape("Requests arrive whatever the server does.", &[RATE, PROCESS, BATCH]).needs(&["rate"]);

pub(super) static CLOSED: Shape = shape(
    "Users who wait for their answer, think, and ask again.",
    &[
        USERS,
        THINK,
        RAMP,
        START,
        key(
            "visits",
            Whole(1, MAX_WHOLE),
            "How many walks through the flows (without flows: requests) each makes before it leaves. Default: it never leaves.",
        ),
        key(
            "every",
            Any(&[Time, Kind::Table(&EVERY)]),
            "Its pace: from the beginning of a visit to that of the next at least so long, or { request = \"10s\" }. Default: none.",
        ),
        key(
            "visitor",
            Choice(Visitor::NAMES),
            "Who a user is that has walked to the end of its flow: somebody new, who remembers nothing (default), or the same.",
        ),
    ],
)
.needs(&["users"]);

pub(super) static EVERY: Shape = shape(
    "A pace: what is left of the interval is waited for.",
    &[
        key("visit", Time, "From the beginning of a visit to that of the next."),
        key("request", Time, "From one request to the next."),
    ],
)
.one_of(&["visit", "request"]);

pub(super) static PARTLY_OPEN: Shape = shape(
    "Sessions arrive, make some requests, and leave.",
    &[
        RATE,
        PROCESS,
        BATCH,
        key("stay", Number(0.0), "After each answer the session goes on with this probability, below 1."),
        key("length", Kind::Table(&LENGTH), "Instead of stay: how many requests a session makes."),
        THINK,
        OPENING,
    ],
)
.needs(&["rate"]);

pub(super) static LENGTH: Shape = shape(
    "How many requests a session makes.",
    &[
        key("fixed", Whole(1, MAX_WHOLE), "So many."),
        key("mean", Number(1.0), "Geometric, so many on average."),
        key("empirical", List(&Whole(1, MAX_WHOLE)), "Each of these as likely."),
    ],
)
.one_of(&["fixed", "mean", "empirical"]);

pub(super) static BATCHES: Shape =
    shape("A random number of sessions.", &[key("geometric", Number(1.0), "Geometric, so many on average.")])
        .needs(&["geometric"]);

pub(super) static PROFILE: Shape = shape(
    "A rate that changes.",
    &[
        key("ramp", Pair(&RateOrZero, &RateOrZero), "From the first rate to the second, `over` so long."),
        key("over", Time, "Goes with ramp."),
        key(
            "steps",
            List(&Pair(&RateOrZero, &Time)),
            "Rates, each for so long: [[\"10/s\", \"1m\"], [\"50/s\", \"2m\"]].",
        ),
        key("sine", Kind::Table(&SINE), "A wave."),
        key(
            "counts",
            Any(&[List(&Number(0.0)), File]),
            "So many sessions in each interval: a list, or a file with one number a line.",
        ),
        key("interval", Time, "Goes with counts."),
    ],
)
.one_of(&["ramp", "steps", "sine", "counts"]);

pub(super) static SINE: Shape = shape(
    "mean + amplitude sin(2 pi t / period).",
    &[
        key("mean", RateOrZero, "The mean rate."),
        key("amplitude", RateOrZero, "How far it goes up and down."),
        key("period", Time, "The length of a wave."),
    ],
)
.needs(&["mean", "amplitude", "period"]);

pub(super) static PROCESSES: Shape = shape(
    "A pattern of arrivals with a setting.",
    &[
        key("gamma", Number(0.0), "Independent gaps of this CoV."),
        key("renewal", Kind::Distribution, "Independent gaps of this form, scaled to the rate."),
        key("mmpp", Kind::Table(&MMPP), "A Poisson process whose rate is multiplied by factors that hold for a while."),
    ],
)
.one_of(&["gamma", "renewal", "mmpp"]);

pub(super) static MMPP: Shape = shape(
    "A Markov-modulated Poisson process, scaled so that the long-run rate is `rate`.",
    &[
        key("factors", List(&Number(0.0)), "What the rate is multiplied by, state after state."),
        key("sojourns", List(&Time), "How long each holds on average, exponentially."),
    ],
)
.needs(&["factors", "sojourns"]);

pub(super) static REPLAY: Shape = shape(
    "The requests of a log.",
    &[
        key("trace", File, "A trace that `offered logs` wrote."),
        key("speed", Number(0.0), "So many times as fast. Default 1."),
        key(
            "as",
            Choice(&WAYS),
            "Each request at its instant (default), each session at its instant, or users who take one session after another.",
        ),
        key(
            "timestamps",
            Choice(&STAMPS),
            "Whether the launches of each second are spread over it. Default: where the log's stamps are whole seconds.",
        ),
        key("think", Kind::Distribution, "Of sessions: instead of the recorded think times. Of closed users: as everywhere."),
        USERS,
        RAMP,
        START,
    ],
)
.needs(&["trace"]);

/// The laws of times, by name.
pub(super) static LAWS: Shape = shape(
    "A law of times: a table with one key, the law's name.",
    &[
        key("constant", Time, "Always this."),
        key("uniform", Pair(&Time, &Time), "Between the two, each as likely."),
        key("exponential", Time, "Exponential with this mean."),
        key("erlang", Kind::Table(&ERLANG), "A sum of exponential stages."),
        key("gamma", Kind::Table(&MEAN_AND_SCV), "Gamma."),
        key("hyperexponential", Kind::Table(&HYPEREXPONENTIAL), "One of two exponentials, scv above 1."),
        key("lognormal", Kind::Table(&LOGNORMAL), "The exponential of a normal number."),
        key("weibull", Kind::Table(&WEIBULL), "Weibull; a shape below 1 is heavier than exponential."),
        key("pareto", Kind::Table(&PARETO), "P(X > x) = (min/x)^shape."),
        key("bounded_pareto", Kind::Table(&BOUNDED_PARETO), "Pareto between min and max."),
        key(
            "poisson",
            Time,
            "A Poisson count of milliseconds with this mean: JMeter's Poisson timer, nearly constant.",
        ),
        key(
            "empirical",
            Any(&[List(&Time), File]),
            "Each of these as likely: a list, or a file with seconds, one a line.",
        ),
    ],
)
.one_of(&offered_distributions::NAMES);

const MEAN: Key = key("mean", Time, "The mean.");
const SCV: Key = key("scv", Number(0.0), "The squared coefficient of variation.");
const MIN: Key = key("min", Time, "The smallest.");
const SHAPE: Key = key("shape", Number(0.0), "The shape.");

pub(super) static ERLANG: Shape =
    shape("A sum of exponential stages.", &[MEAN, key("stages", Whole(1, MAX_WHOLE), "How many stages.")])
        .needs(&["mean", "stages"]);
pub(super) static MEAN_AND_SCV: Shape = shape("A law by mean and spread.", &[MEAN, SCV]).needs(&["mean", "scv"]);
const WITHIN: Key = key(
    "within",
    Pair(&Time, &Time),
    "No value below the first and none above the second; mean and scv are those before. Default: no bounds.",
);
pub(super) static LOGNORMAL: Shape =
    shape("The exponential of a normal number.", &[MEAN, SCV, WITHIN]).needs(&["mean", "scv"]);
pub(super) static HYPEREXPONENTIAL: Shape = shape(
    "One of two exponentials.",
    &[MEAN, SCV, key("p", Number(0.0), "The probability of the first. Default: both bring half of the mean."), WITHIN],
)
.needs(&["mean", "scv"]);
pub(super) static WEIBULL: Shape = shape("Weibull.", &[MEAN, SHAPE]).needs(&["mean", "shape"]);
pub(super) static PARETO: Shape = shape("Pareto.", &[MIN, SHAPE]).needs(&["min", "shape"]);
pub(super) static BOUNDED_PARETO: Shape =
    shape("Pareto between two ends.", &[MIN, key("max", Time, "The largest."), SHAPE]).needs(&["min", "max", "shape"]);

const HEADERS: Key = key("headers", Named(&Template), "Headers by name, such as { Accept = \"text/html\" }.");

pub(super) static TARGET: Shape = shape(
    "The real server.",
    &[
        key(
            "url",
            Form(r"^(https?://\S+|unix:\S+|postgres(ql)?://\S+)$"),
            "http://host:port/path, https://host/path, unix:/run/app.sock:/path or postgres://user@host/database.",
        ),
        key(
            "reuse",
            Choice(Reuse::NAMES),
            "How launches find a connection: one that is free (default), their session's own, or always a new one.",
        ),
        key(
            "connections",
            Whole(1, MAX_WHOLE),
            "At most so many; launches that find none are unsent. To a database exactly so many, made before the run and waited for.",
        ),
        key("in_flight", Whole(1, MAX_WHOLE), "At most so many requests under way; launches beyond are unsent."),
        key("connect_timeout", Time, "Default 5s."),
        key("response_timeout", Time, "From sending to the last byte. Default 30s."),
        key("resolve_every", Time, "Resolve the name again so often. Default: once per run."),
        key(
            "sources",
            List(&Text),
            "Addresses of this machine that connections come from, in turn, or ranges: \"127.0.1.1-127.0.1.9\".",
        ),
        HEADERS,
        key("auth", Any(&[Kind::Table(&AUTH), Only(false)]), "Who asks. Default: nobody."),
        key("cookies", Truth, "Each session keeps its own, and forgets them when it leaves. Default false."),
        key("redirects", Whole(0, super::Target::MOST_REDIRECTS as u64), "Follow up to so many in a row. Default 0: a 3xx is the answer."),
        key("resend", Truth, "Over HTTP/2: send again what the server says it did not process. Default true."),
        key("tls", Kind::Table(&TLS), "With an https url."),
        key("proxy", Form("^http://\\S+$"), "http://user:password@host:3128."),
        key("protocol", Choice(Protocol::NAMES), "HTTP/1.1 (default), HTTP/2, or what the server takes (https only)."),
        key("descriptors", File, "For gRPC: a descriptor set that protoc wrote, with its imports."),
        key("reflection", Truth, "For gRPC: the server is asked for descriptors before the run. Default false."),
        key(
            "pools",
            Named(&Whole(1, MAX_WHOLE)),
            "Of a database, instead of connections: { short = 20, long = 5 }, chosen by the class of a request.",
        ),
        key("on_connect", List(&Text), "Of a database: what each connection says first."),
        key(
            "hook",
            List(&Text),
            "Of a database: a command and its arguments, run for each connection before requests go there.",
        ),
    ],
)
.needs(&["url"]);

pub(super) static TLS: Shape = shape(
    "How TLS is spoken.",
    &[
        key("insecure", Truth, "Any certificate is taken, and every output says so. Default false."),
        key("roots", File, "A PEM file of the certificates that are trusted instead of the system's."),
        key("certificate", File, "A PEM file of a certificate of ours, for servers that ask."),
        key("key", File, "A PEM file of its key."),
        key("server_name", Text, "The name asked for and held against the certificate. Default: the url's host."),
        key("resume", Truth, "A connection may resume the handshake of an earlier one. Default false."),
    ],
);

pub(super) static AUTH: Shape = shape(
    "Who asks.",
    &[key("basic", Template, "\"user:password\"."), key("bearer", Template, "A token, such as \"{{token}}\".")],
)
.one_of(&["basic", "bearer"]);

const SERVERS: Key = key("servers", Whole(1, MAX_WHOLE), "How many. Default 1.");
const DISCIPLINE: Key = key("discipline", Discipline, "Who is served next. Default \"fcfs\".");

pub(super) static SERVER: Shape = shape(
    "The modelled server.",
    &[
        SERVERS,
        DISCIPLINE,
        key(
            "service",
            Kind::Distribution,
            "The law of the work of a request. Needed, but where all requests bring work of their own.",
        ),
        key("capacity", Whole(1, MAX_WHOLE), "At most so many in the system; the others are refused."),
    ],
);

pub(super) static STATION: Shape = shape(
    "A station of a network.",
    &[
        key("name", Text, "Unlike the others'."),
        key("visits", Number(0.0), "How often a request comes by on average. Default 1."),
        SERVERS,
        DISCIPLINE,
        key("service", Kind::Distribution, "The law of the work of one visit."),
    ],
)
.needs(&["name", "service"]);

pub(super) static OBSERVE: Shape = shape(
    "The machines that serve, as far as they are asked something themselves.",
    &[
        key(
            "hosts",
            Named(&Text),
            "Observers whose clocks are asked before the run and after it, such as { db = \"10.0.0.2:7799\" }: by name, where each listens.",
        ),
        key(
            "scrape",
            List(&Kind::Table(&SCRAPE)),
            "What tells its numbers to whoever asks: exporters for Prometheus, nginx's stub_status, a database's own statistics.",
        ),
    ],
);

pub(super) static SCRAPE: Shape = shape(
    "Something that is asked for its numbers again and again while the run goes on.",
    &[
        key("name", Form(r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$"), "What its numbers are kept under. Unlike the others'."),
        key("target", Kind::Table(&TARGET), "Who is asked, such as target.url = \"http://10.0.0.2:9100/metrics\"."),
        key(
            "sql",
            Text,
            "Of a database: its numbers are series, named after their columns, and its texts tell rows apart. Default: pg_stat_database.",
        ),
        key("every", Time, "From one to the next. Default 1s."),
        key(
            "series",
            List(&Text),
            "Those that are kept, such as [\"http_requests_*\"]. Default: of node_exporter the machine's figures, of others all but buckets.",
        ),
        key("counters", List(&Text), "Numbers that only rise, where nobody else says so, such as [\"calls\", \"*_time\"]."),
    ],
)
.needs(&["name", "target"]);

pub(super) static POLICIES: Shape = shape(
    "Policies of the server that take turns within one run, forth and back (ABBA): launches go on, and a command puts each in place.",
    &[
        key("names", List(&Text), "What they are called, two or more, in the order of their first blocks."),
        key("block", Time, "How long each holds at a time. The time that counts is a multiple of all of them, forth and back."),
        key(
            "settle",
            Time,
            "The beginning of each block, in which the queue is still that of the one before: left out. Default: a quarter of the block.",
        ),
        key(
            "hook",
            List(&Text),
            "A command and its arguments, run before the start and at the beginning of each block; {{policy}} is its name.",
        ),
    ],
)
.needs(&["names", "block", "hook"]);

pub(super) static GENERATOR: Shape = shape(
    "The threads that launch.",
    &[
        key("threads", Whole(1, 1024), "Default: as many as the rate needs."),
        key("wait", Choice(WaitMode::NAMES), "How a thread waits for the next instant. Default \"spin\"."),
        key(
            "tolerance",
            Form(r"^\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%$"),
            "How much of a run's percentiles may be its own doing, such as \"5%\", which is the default.",
        ),
        key(
            "on_disk_full",
            Choice(OnDiskFull::NAMES),
            "What to do when the disk takes no more of what is recorded. Default \"continue\": it waits in memory, and is tried again.",
        ),
    ],
);

/// Requests.
pub(super) static REQUEST: Shape = shape(
    "A request.",
    &[
        key("name", Text, "Default: the path, without its query."),
        key("method", Text, "Any method, with path; else one of the keys get, post, ..."),
        key("path", Template, "Goes with method."),
        key(
            "catalogue",
            File,
            "Many files, of which each launch asks for one: a .csv with the columns path, weight, service and class. A request for each class.",
        ),
        key("grpc", Form("^[\\w.]+/\\w+$"), "A call of gRPC: service and method; the body is the message in JSON."),
        key("websocket", Kind::Table(&WEBSOCKET), "Something said on a WebSocket."),
        key("weight", Number(0.0), "How often it is asked, against the others. Default 1."),
        HEADERS,
        key("service", Kind::Distribution, "The law of its work at the modelled server. Default: the server's."),
        key("body", Template, "A text."),
        key("body_file", File, "A file, read as a template."),
        key("raw", Truth, "Goes with body_file: it is sent as it is. Default false."),
        key("form", Named(&Template), "URL-encoded, such as { a = \"1\" }."),
        key("multipart", List(&Kind::Table(&PART)), "The parts of a form with files."),
        key("auth", Any(&[Kind::Table(&AUTH), Only(false)]), "Stands in for the target's; false: nobody."),
        key("extract", List(&Kind::Table(&EXTRACT)), "What is kept of the answer for later requests of the session."),
        key(
            "check",
            List(&Kind::Table(&CHECK)),
            "What the answer must be; the first that fails makes it check_failed.",
        ),
        key(
            "on_failure",
            Choice(OnFailure::NAMES),
            "When the outcome is not ok: go on (default), the session leaves, or the run stops with exit code 99.",
        ),
        key("objects", List(&Template), "Paths fetched with it, as a browser does."),
        key("connections", Whole(1, 64), "Objects come over at most so many at a time. Default 6."),
        key(
            "objects_when",
            Choice(When::NAMES),
            "After the answer is there and went well (default), or while it comes.",
        ),
        key(
            "objects_may_fail",
            Truth,
            "Whether a launch goes well all the same when one of its objects fails. Default false.",
        ),
        key("get", Template, "Method and path."),
        key("post", Template, "Method and path."),
        key("put", Template, "Method and path."),
        key("delete", Template, "Method and path."),
        key("head", Template, "Method and path."),
        key("patch", Template, "Method and path."),
        key("options", Template, "Method and path."),
        key("sql", Text, "Of a database: a statement, prepared on every connection before the run."),
        key("transaction", List(&STATEMENTS), "Of a database: several statements as one."),
        PARAMETERS,
        key(
            "class",
            Text,
            "Of a database: the pool, by its name in target.pools. Of a catalogue: only the files of this class.",
        ),
    ],
);

static STATEMENTS: Kind = Any(&[Text, Kind::Table(&STATEMENT)]);
static PARAMETER: Kind = Any(&[Template, Number(f64::NEG_INFINITY), Truth, Kind::Table(&NULL)]);
const PARAMETERS: Key = key("parameters", List(&PARAMETER), "What stands for $1, $2, ... in the statement.");

pub(super) static STATEMENT: Shape =
    shape("A statement of a transaction.", &[key("sql", Text, "The statement."), PARAMETERS]).needs(&["sql"]);

pub(super) static NULL: Shape =
    shape("A parameter that is NULL.", &[key("null", Only(true), "It is NULL.")]).needs(&["null"]);

pub(super) static WEBSOCKET: Shape = shape(
    "Something said on a WebSocket.",
    &[
        key("send", Template, "What is said. Default: nothing."),
        key("send_hex", Template, "The same as a binary message, in hexadecimal digits, such as 01 ff."),
        key(
            "await",
            Template,
            "The answer is the first message that matches this regular expression. Default: the next one.",
        ),
        key("count", Whole(1, u32::MAX as u64), "So many messages are awaited. Default 1."),
        key(
            "listen",
            Time,
            "It is over after this time, whatever has come; with count as soon as so many have come. Default: no such time.",
        ),
    ],
);

pub(super) static PART: Shape = shape(
    "A part of a multipart form.",
    &[
        key("name", Text, "The field's name."),
        key("value", Template, "Its text."),
        key("file", File, "Or a file."),
        key("type", Text, "Its media type, such as image/png."),
        key("raw", Truth, "Whether a file is sent as it is; else it is a template. Default true."),
    ],
)
.needs(&["name"])
.one_of(&["value", "file"]);

const JSON: Key = key("json", Text, "By JSONPath (RFC 9535), such as $.token.");
const REGEX: Key = key("regex", Text, "By a regular expression.");
const GROUP: Key = key("group", Whole(0, MAX_WHOLE), "Goes with regex. Default: the first group.");
const HEADER: Key = key("header", Text, "The value of this header.");
const CSS: Key = key("css", Text, "By a CSS selector, such as input[name=csrf].");
const COLUMN: Key = key("column", Text, "Of a database: a column of its rows.");
const ATTRIBUTE: Key = key("attribute", Text, "Goes with css. Default: the text of the element.");

pub(super) static EXTRACT: Shape = shape(
    "A value taken from an answer.",
    &[
        key("name", Form("^\\w+$"), "What templates call it."),
        JSON,
        REGEX,
        GROUP,
        HEADER,
        CSS,
        ATTRIBUTE,
        COLUMN,
        key(
            "nth",
            Any(&[Whole(1, MAX_WHOLE), Choice(&ANY_FOUND)]),
            "Which of those found; random: each as likely. Default 1.",
        ),
        key("default", Text, "The value where none is found."),
        key("keep", Truth, "Where none is found, it keeps the value it had."),
    ],
)
.needs(&["name"])
.one_of(&["json", "regex", "header", "css", "column"]);

pub(super) static CHECK: Shape = shape(
    "What an answer must be.",
    &[
        key("name", Text, "What a failure is called. Default: what the check says."),
        GROUP,
        ATTRIBUTE,
        key("is", Template, "It is this."),
        key("contains", Template, "It has this in it."),
        key("matches", Text, "It matches this regular expression."),
        key("status", Any(&[STATUS, List(&STATUS)]), "200, [200, 302], \"2xx\" or \"200..299\"."),
        HEADER,
        key("body", Only(true), "The whole decoded body; with is, contains or matches."),
        JSON,
        REGEX,
        CSS,
        COLUMN,
        key("size", Any(&[Text, Whole(0, u64::MAX)]), "Bytes of the body as it came: \"< 100000\" or \"100..2000\"."),
        key(
            "rows",
            Any(&[Text, Whole(0, u64::MAX)]),
            "Of a database: rows that it returned or changed, 1 or \">= 1\".",
        ),
        key("sha256", Form("^[0-9A-Fa-f]{64}$"), "The digest of the decoded body."),
    ],
)
.one_of(&["status", "header", "body", "json", "regex", "css", "column", "size", "rows", "sha256"]);

const STATUS: Kind = Any(&[Whole(100, 999), Form("^([1-9]xx|[1-9]\\d\\d(\\.\\.[1-9]\\d\\d)?)$")]);

/// A variable: a constant, or where its values come from.
static VARIABLE: Kind = Any(&[Text, Number(f64::NEG_INFINITY), Truth, List(&ITEM), Kind::Table(&VALUES)]);
static ITEM: Kind = Any(&[Text, Number(f64::NEG_INFINITY), Truth]);

pub(super) static VALUES: Shape = shape(
    "Where the values of a variable come from.",
    &[
        key("env", Text, "An environment variable; unset, it is an error before the launch."),
        key(
            "file",
            Form("^.+\\.([cC][sS][vV]|[jJ][sS][oO][nN][lL])(\\.gz)?$"),
            "Rows of a .csv or .jsonl file, also .gz.",
        ),
        key("uuid", Only(true), "A random UUID."),
        key("sequence", Whole(0, u64::MAX), "From this number on, over the whole run."),
        key(
            "random",
            Form("^\\s*[a-z]+\\s*:.+$"),
            "A law of plain numbers: uniform:1..100, exponential:5, lognormal:20,2.",
        ),
        key(
            "work",
            Choice(Unit::NAMES),
            "The work of the launch at the modelled [server], in ms or s: what a simulation draws for it.",
        ),
        key(
            "per",
            Choice(Per::NAMES),
            "How often it takes a new value. Default: session; of a sequence and of work: request.",
        ),
        key("order", Choice(Order::NAMES), "Goes with file. Default sequential: session n takes row n."),
        key(
            "at_end",
            Choice(AtEnd::NAMES),
            "Goes with file: begin again (default), stop the run, or stop it with exit code 1.",
        ),
        key("columns", List(&Text), "Goes with file: the names of its columns. Default: the first row has them."),
        key("decimals", Whole(0, 9), "Goes with random: digits after the point. Default 0."),
    ],
)
.one_of(&["env", "file", "uuid", "sequence", "random", "work"]);

pub(super) static FLOW: Shape = shape(
    "What sessions do one thing after another.",
    &[
        key("name", Text, "Unlike the others'."),
        key("weight", Number(0.0), "How many take it, against the other flows. Default 1."),
        key("step", List(&Kind::Table(&STEP)), "Its steps."),
        key(
            "matrix",
            Named(&Named(&Number(0.0))),
            "Instead of steps: from each request to the next, or to `leave`; a row sums to 1.",
        ),
        key("start", Text, "The first step. Default: the uppermost; of a matrix it must be said."),
    ],
)
.needs(&["name"])
.one_of(&["step", "matrix"]);

pub(super) static STEP: Shape = shape(
    "A step of a flow.",
    &[
        key("request", Text, "A [[request]] by name."),
        key("name", Text, "Default: the request's name."),
        key("think", Kind::Distribution, "After it. Default: the think law of [arrivals]."),
        key("repeat", Whole(1, 65_535), "So many times in a row. Default 1."),
        key("stay", Number(0.0), "The session goes on with this probability, else leaves. Default 1."),
        key("next", Named(&Number(0.0)), "Steps by weight, such as { look = 3, leave = 1 }. Default: the step below."),
    ],
)
.needs(&["request"]);
