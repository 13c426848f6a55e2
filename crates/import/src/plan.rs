//! The tool-independent plan: all formats are read into it, and a workload is written from it.

use offered_base::Nanos;
use offered_distributions::Distribution;
use offered_schedule::Count;
use offered_schedule::arrivals::Process;
use offered_schedule::{Pace, Stage, Visitor};
use offered_workload::condition::Condition;
use offered_workload::script::{AtEnd, Auth, Body, Check, CsvFormat, Extraction, OnFailure, Order, Per};
use offered_workload::{Sql, Target, Threshold};

use crate::address::{is_reserved_header, is_valid_header};
use crate::note::Note;
use crate::text::Text;

/// A plan of another tool that becomes one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Name in the file, such as the name of the thread group.
    pub name: String,
    /// Short description of the source, for the comment in the workload.
    pub origin: String,
    /// When the plan runs relative to the other plans of the file.
    pub phase: Phase,
    /// Whether the plans of its file run one after another.
    pub serial: bool,
    /// Duration; [`Nanos::MAX`] if only `count` ends the run.
    pub duration: Nanos,
    /// Maximum number of requests or sessions; `None` for no limit.
    pub count: Option<Count>,
    /// System model and arrivals.
    pub arrivals: Arrivals,
    /// Target server.
    pub target: Target,
    /// Further target servers, each with a name.
    pub more_targets: Vec<Target>,
    /// Variables, except those that are extracted from responses.
    pub variables: Vec<Variable>,
    /// Requests; never empty.
    pub requests: Vec<Request>,
    /// Flows; empty if each request is chosen independently by weight.
    pub flows: Vec<Flow>,
    /// The steps that each user makes once, before the flows.
    pub once: Option<Flow>,
    /// Introductory comment for the workload file.
    pub remark: Option<&'static str>,
    /// Limits of the results.
    pub thresholds: Vec<Threshold>,
    /// Start relative to the other plans of its file that run together.
    pub start: Nanos,
    /// Parts that were not translated, in file order.
    pub notes: Vec<Note>,
}

/// When a plan runs relative to the other plans of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Before the load (`JMeter` setUp thread group).
    Setup,
    /// The load itself.
    #[default]
    Load,
    /// After the load (`JMeter` tearDown thread group).
    Teardown,
}

/// The system model.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Closed: a fixed number of users.
    Closed {
        /// Number of users.
        users: u64,
        /// Number of visits after which a user leaves; `None` for no limit.
        visits: Option<u32>,
        /// Minimum interval between requests or visits of a user.
        pace: Option<Pace>,
        /// Whether a user is a new visitor after a visit, or the same one.
        visitor: Visitor,
        /// Time over which users start one after another.
        ramp: Nanos,
        /// The stages in which the number of users changes, instead of `ramp`; empty if it is constant.
        stages: Vec<Stage>,
        /// Default distribution of think times. A user also thinks before the first request.
        think: Distribution,
    },
    /// Open or partly-open: sessions arrive at a rate; without flows, single requests.
    Open {
        /// Arrivals per second.
        rate: RateProfile,
        /// Arrival process.
        process: Process,
        /// Default distribution of think times.
        think: Distribution,
    },
}

/// A rate per second over time.
#[derive(Clone, Debug, PartialEq)]
pub enum RateProfile {
    /// Constant rate.
    Constant(f64),
    /// A rate that changes linearly from the first value to the second over a time, and is constant afterwards.
    Ramp(f64, f64, Nanos),
    /// Constant rates, each for its duration.
    Steps(Vec<(f64, Nanos)>),
    /// Stages with the rate at their start, the rate at their end, and their length.
    Stages(Vec<(f64, f64, Nanos)>),
}

/// A variable of the workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name: letters, digits and `_`.
    pub name: String,
    /// Source of the value.
    pub value: ValueSource,
    /// The event at which a new value is taken (request, session, and so on); ignored for constant sources.
    pub per: Per,
}

impl Variable {
    /// A variable with a constant value.
    pub(crate) fn constant(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: ValueSource::Constant(value.into()), per: Per::Session }
    }
}

/// Source of a variable's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// Constant text.
    Constant(String),
    /// Environment variable of this name.
    Env(String),
    /// Rows of a CSV file.
    File {
        /// File name as written in the plan.
        file: String,
        /// Column names; empty if the first row contains them.
        columns: Vec<String>,
        /// The order in which rows are taken.
        order: Order,
        /// How its lines are read.
        format: CsvFormat,
        /// What happens after the last row.
        at_end: AtEnd,
    },
    /// Random UUID (version 4).
    Uuid,
    /// Consecutive numbers, starting here.
    Sequence(u64),
    /// Uniformly distributed integer between two bounds, inclusive.
    UniformInteger(i64, i64),
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Unique name.
    pub name: String,
    /// Number of its target: 0 for `target`, from 1 for `more_targets`.
    pub target: u16,
    /// HTTP method in lower case.
    pub method: String,
    /// Path and query, encoded for a request line.
    pub path: Text,
    /// Relative frequency, if there are no flows.
    pub weight: f64,
    /// Headers.
    pub headers: Vec<(String, Text)>,
    /// Body.
    pub body: Body,
    /// Authentication, if it differs from the target's.
    pub auth: Option<Auth>,
    /// Values extracted from the response.
    pub extract: Vec<Extraction>,
    /// Checks of the response.
    pub check: Vec<Check>,
    /// The action of the session if the request fails.
    pub on_failure: OnFailure,
    /// Maximum number of consecutive redirects, if it differs from the target's.
    pub redirects: Option<u32>,
    /// SQL statements, for a database target; then `method`, `path`, `headers` and `body` are not used.
    pub sql: Option<Sql>,
    /// Paths of embedded objects that are fetched after the response, as browsers do.
    pub objects: Vec<Text>,
    /// Whether the request succeeds even if an embedded object fails.
    pub objects_may_fail: bool,
}

/// A kind of visit: a Markov chain of steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Relative frequency.
    pub weight: f64,
    /// Steps; the flow starts with the first one.
    pub steps: Vec<Step>,
    /// Steps that are repeated together or have one condition, in the order of their first steps, outer blocks before inner ones.
    pub blocks: Vec<Block>,
}

impl Flow {
    /// The conditions of its steps and then of its blocks, `only_if` before `until`.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        let of_steps = self.steps.iter().flat_map(|step| [&step.only_if, &step.until]);
        of_steps.chain(self.blocks.iter().flat_map(|block| [&block.only_if, &block.until])).flatten()
    }

    /// Whether a condition of the step or of a block around it decides whether the step is made.
    pub(crate) fn may_skip(&self, step: usize) -> bool {
        let around = |block: &Block| (block.first..=block.last).contains(&step) && block.only_if.is_some();
        self.steps[step].only_if.is_some() || self.blocks.iter().any(around)
    }
}

/// Steps of a flow that are repeated together.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Index of the first step in the flow.
    pub first: usize,
    /// Index of the last step.
    pub last: usize,
    /// Maximum number of repetitions.
    pub repeat: u32,
    /// Condition of the block: it is executed only if this holds before its first step.
    pub only_if: Option<Condition>,
    /// The repetitions end as soon as this holds after its last step.
    pub until: Option<Condition>,
}

/// A step of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Name, unique in the flow.
    pub name: String,
    /// Name of the request.
    pub request: String,
    /// Number of times that the request is sent in a row.
    pub repeat: u32,
    /// Think time after each request, if it differs from the default.
    pub think: Option<Distribution>,
    /// Condition of the step: it is executed only if this holds.
    pub only_if: Option<Condition>,
    /// The repetitions end as soon as this holds.
    pub until: Option<Condition>,
    /// Next steps with their probabilities: an index into the flow's steps, or `None` to leave.
    pub next: Vec<(Option<usize>, f64)>,
}

impl Plan {
    /// Prepends `folder` to all relative file names.
    pub fn find_files_in(&mut self, folder: &std::path::Path) {
        let found = |name: &str| folder.join(name).to_string_lossy().into_owned();
        for variable in &mut self.variables {
            if let ValueSource::File { file, .. } = &mut variable.value {
                *file = found(file);
            }
        }
        let mut tls = self.target.tls().clone();
        let own = tls.identity.as_mut().map(|own| [&mut own.certificate, &mut own.key]);
        for file in tls.roots.iter_mut().chain(own.into_iter().flatten()) {
            *file = folder.join(&*file);
        }
        self.target = self.target.clone().with_tls(tls);
        for request in &mut self.requests {
            match &mut request.body {
                Body::File { file, .. } => *file = found(file),
                Body::Multipart(parts) => {
                    parts.iter_mut().filter_map(|part| part.file.as_mut()).for_each(|file| *file = found(file));
                }
                _ => {}
            }
        }
    }
}

impl Request {
    /// A request with default settings.
    pub(crate) fn new(method: &str, path: Text) -> Self {
        Self { method: method.to_lowercase(), path, weight: 1.0, ..Self::default() }
    }

    /// Value of the header `name`, case-insensitive.
    pub(crate) fn header(&self, name: &str) -> Option<&Text> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Adds a header; if the name exists already, appends the value to its list. Returns `false` for headers that are
    /// invalid or set by the generator itself.
    pub(crate) fn add_header(&mut self, name: &str, value: Text) -> bool {
        let valid = is_valid_header(name, &value) && !is_reserved_header(name);
        match self.headers.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
            _ if !valid => {}
            None => self.headers.push((name.to_owned(), value)),
            Some((_, before)) => {
                before.push_str(if name.eq_ignore_ascii_case("cookie") { "; " } else { ", " });
                before.push(&value);
            }
        }
        valid
    }
}

/// Maximum duration in seconds.
const MAX_SECONDS: f64 = 1e6;

/// Maximum number of pieces of a rate.
const MAX_PIECES: usize = 1_000;

/// Converts seconds to a duration between 0 and 1e6 s, rounded to a microsecond: plans use seconds and milliseconds.
pub(crate) fn nanos(secs: f64) -> Nanos {
    Nanos::from_secs_f64((secs.clamp(0.0, MAX_SECONDS) * 1e6).round() / 1e6)
}

impl RateProfile {
    /// A rate in pieces (rate per second at the start, at the end, seconds), and its length.
    pub(crate) fn of_pieces(pieces: Vec<(f64, f64, f64)>) -> (Self, Nanos) {
        let pieces: Vec<_> = pieces.into_iter().filter(|(.., over)| *over > 0.0).take(MAX_PIECES).collect();
        let length = nanos(pieces.iter().map(|(.., over)| over).sum());
        let profile = match pieces.as_slice() {
            [(from, to, _)] if from == to => Self::Constant(*from),
            [(from, to, over)] => Self::Ramp(*from, *to, nanos(*over)),
            [(from, to, over), (then, on, _)] if from != to && to == then && then == on => {
                Self::Ramp(*from, *to, nanos(*over))
            }
            _ => Self::Stages(pieces.iter().map(|(from, to, over)| (*from, *to, nanos(*over))).collect()),
        };
        (profile, length)
    }

    /// Multiplies all rates by `factor`.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        match self {
            Self::Constant(rate) => Self::Constant(rate * factor),
            Self::Ramp(from, to, over) => Self::Ramp(from * factor, to * factor, over),
            Self::Steps(steps) => Self::Steps(steps.into_iter().map(|(rate, time)| (rate * factor, time)).collect()),
            Self::Stages(stages) => {
                Self::Stages(stages.into_iter().map(|(from, to, over)| (from * factor, to * factor, over)).collect())
            }
        }
    }
}
