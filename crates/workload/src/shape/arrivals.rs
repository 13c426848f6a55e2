//! Keys of `[arrivals]` and `[[flow]]`.

use super::Kind::{
    self, Any, Boolean, Choice, File, List, Named, Number, Only, Pair, Rate, RateOrZero, Template, Text, Time, Triple,
    Whole,
};
use super::request::{CHECK, STATUS};
use super::target::{AUTH, HEADERS, REDIRECTS};
use super::{Key, MAX_WHOLE, PATTERNS, STAMPS, Shape, WAYS, key, shape};
use crate::script::OnFailure;
use offered_schedule::{MAX_USERS, Opening, Start, Visitor};

pub(crate) static ARRIVALS: Shape = shape(
    "The system model.",
    &[
        key("open", Kind::Table(&OPEN), "Open: requests arrive independently of responses."),
        key(
            "closed",
            Kind::Table(&CLOSED),
            "Closed: a fixed number of users; each waits for its response, thinks, and sends again.",
        ),
        key(
            "partly_open",
            Kind::Table(&PARTLY_OPEN),
            "Partly open: sessions arrive, send requests one after another, and leave.",
        ),
        key("replay", Kind::Table(&REPLAY), "Replay of a recorded trace."),
    ],
)
.one_of(&["open", "closed", "partly_open", "replay"]);

pub(crate) static SCENARIO: Shape = shape(
    "One of several loads that run at the same time.",
    &[
        key("name", Text, "Unique name."),
        key("arrivals", Kind::Table(&ARRIVALS), "The system model of the scenario: open, closed or partly_open."),
        key("start", Time, "Start, since the start of the run. Default 0s."),
        key("end", Time, "End, since the start of the run. Default: the end of its stages, or of the run."),
        key("flows", List(&Text), "Names of its flows. Default: all, for closed and partly_open."),
        key("requests", List(&Text), "Names of its requests, chosen by weight. Default: all, if it has no flows."),
        key("once", Kind::Table(&ONCE), "Steps that each of its sessions executes once, at its start or its end."),
        key("target", Text, "Name of the target of its requests that do not name one. Default: the first target."),
        HEADERS,
        SHARED_AUTH,
        SHARED_TIMEOUT,
        SHARED_CHECKS,
        REDIRECTS,
    ],
)
.needs(&["name", "arrivals"]);

static ANY_AUTH: [Kind; 2] = [Kind::Table(&AUTH), Only(false)];
static A_CHECK: Kind = Kind::Table(&CHECK);
const SHARED_AUTH: Key = key("auth", Any(&ANY_AUTH), "Authentication of its requests that do not set their own.");
const SHARED_TIMEOUT: Key = key("timeout", Time, "Time limit of an attempt of its requests that do not set their own.");
const SHARED_CHECKS: Key =
    key("check", List(&A_CHECK), "Checks of its responses, in addition to those of its requests.");

static RATES: [Kind; 2] = [Rate, Kind::Table(&PROFILE)];
const RATE: Key = key("rate", Any(&RATES), "Arrival rate of sessions (open: of requests), or a rate profile.");
static PATTERN: [Kind; 2] = [Choice(&PATTERNS), Kind::Table(&PROCESSES)];
const PROCESS: Key = key(
    "process",
    Any(&PATTERN),
    "Arrival process. Default \"poisson\". \"poisson-fixed-count\": n sorted uniforms, which some tools call Poisson.",
);
static SIZES: [Kind; 2] = [Whole(1, MAX_WHOLE), Kind::Table(&BATCHES)];
const BATCH: Key = key(
    "batch",
    Any(&SIZES),
    "Batch size: number of sessions that arrive together, or { geometric = 2.5 }. The rate counts sessions. Default 1.",
);
const THINK: Key = key(
    "think",
    Kind::Distribution,
    "Think time: distribution of the time from a response to the session's next request. Default 0s.",
);
const USERS: Key = key("users", Whole(1, MAX_USERS), "Number of users.");
static NUMBER_OF_USERS: [Kind; 2] = [Whole(1, MAX_USERS), Kind::Table(&USER_STAGES)];
const RAMP: Key = key("ramp", Time, "Duration in which the users start one after another. Default 0s.");
const START: Key = key(
    "start",
    Choice(Start::NAMES),
    "First action of users: the rest of a think time (default; stationary), a whole think time, or a request.",
);
const OPENING: Key = key(
    "start",
    Choice(Opening::NAMES),
    "Initial state: no sessions (default), or the stationary number of thinking sessions.",
);
pub(crate) static OPEN: Shape =
    shape("Open: requests arrive independently of responses.", &[RATE, PROCESS, BATCH]).needs(&["rate"]);

pub(crate) static CLOSED: Shape = shape(
    "Closed: a fixed number of users; each waits for its response, thinks, and sends again.",
    &[
        key("users", Any(&NUMBER_OF_USERS), "Number of users, or stages in which it changes."),
        THINK,
        RAMP,
        START,
        key(
            "visits",
            Whole(1, MAX_WHOLE),
            "Visits of each user before it leaves: passes through the flows (without flows: requests). Default: unlimited.",
        ),
        key(
            "every",
            Any(&[Time, Kind::Table(&EVERY)]),
            "Pacing: minimum time between the starts of visits, or { request = \"10s\" } between requests. Default: none.",
        ),
        key(
            "visitor",
            Choice(Visitor::NAMES),
            "After the end of a flow the user continues as a new visitor without state (default) or as the same.",
        ),
    ],
)
.needs(&["users"]);

static USER_STAGE: [Kind; 3] = [Whole(0, MAX_USERS), Whole(0, MAX_USERS), Time];
pub(crate) static USER_STAGES: Shape = shape(
    "A number of users that changes over time.",
    &[key(
        "stages",
        List(&Any(&[Pair(&Whole(0, MAX_USERS), &Time), Triple(&USER_STAGE)])),
        "Stages: number of users at the start, number of users at the end, and duration: [[0, 100, \"1m\"], [100, \"5m\"]].",
    )],
)
.needs(&["stages"]);

pub(crate) static EVERY: Shape = shape(
    "Pacing: the user waits for the rest of the interval.",
    &[
        key("visit", Time, "Minimum time between the starts of two visits."),
        key("request", Time, "Minimum time between two requests."),
    ],
)
.one_of(&["visit", "request"]);

pub(crate) static PARTLY_OPEN: Shape = shape(
    "Partly open: sessions arrive, send requests one after another, and leave.",
    &[
        RATE,
        PROCESS,
        BATCH,
        key("stay", Number(0.0), "Probability, below 1, that a session continues after a response."),
        key("length", Kind::Table(&LENGTH), "Instead of stay: distribution of the number of requests of a session."),
        THINK,
        OPENING,
    ],
)
.needs(&["rate"]);

pub(crate) static LENGTH: Shape = shape(
    "Number of requests of a session.",
    &[
        key("fixed", Whole(1, MAX_WHOLE), "The same number for every session."),
        key("mean", Number(1.0), "Geometric distribution with this mean."),
        key("empirical", List(&Whole(1, MAX_WHOLE)), "Empirical: each value is equally likely."),
    ],
)
.one_of(&["fixed", "mean", "empirical"]);

pub(crate) static BATCHES: Shape =
    shape("A random batch size.", &[key("geometric", Number(1.0), "Geometric distribution with this mean.")])
        .needs(&["geometric"]);

static RATE_STAGE: [Kind; 3] = [RateOrZero, RateOrZero, Time];
pub(crate) static PROFILE: Shape = shape(
    "A rate that changes over time.",
    &[
        key(
            "ramp",
            Pair(&RateOrZero, &RateOrZero),
            "Linear ramp from the first rate to the second, over the time `over`.",
        ),
        key("over", Time, "With ramp: its duration."),
        key(
            "steps",
            List(&Pair(&RateOrZero, &Time)),
            "Steps of a rate and its duration: [[\"10/s\", \"1m\"], [\"50/s\", \"2m\"]].",
        ),
        key(
            "stages",
            List(&Any(&[Pair(&RateOrZero, &Time), Triple(&RATE_STAGE)])),
            "Stages of the rate at their start, at their end, and duration: [[\"0/s\", \"100/s\", \"1m\"], [\"100/s\", \"5m\"]].",
        ),
        key("sine", Kind::Table(&SINE), "Sine wave."),
        key(
            "counts",
            Any(&[List(&Number(0.0)), File]),
            "Number of sessions per interval: a list, or a file with one number per line.",
        ),
        key("interval", Time, "With counts: the length of an interval."),
    ],
)
.one_of(&["ramp", "steps", "stages", "sine", "counts"]);

pub(crate) static SINE: Shape = shape(
    "mean + amplitude sin(2 pi t / period).",
    &[
        key("mean", RateOrZero, "The mean rate."),
        key("amplitude", RateOrZero, "The amplitude."),
        key("period", Time, "The period."),
    ],
)
.needs(&["mean", "amplitude", "period"]);

pub(crate) static PROCESSES: Shape = shape(
    "An arrival process with parameters.",
    &[
        key("gamma", Number(0.0), "Independent gamma-distributed gaps with this CoV."),
        key(
            "renewal",
            Kind::Distribution,
            "Renewal process: independent gaps with this distribution, scaled to the rate.",
        ),
        key("mmpp", Kind::Table(&MMPP), "Markov-modulated Poisson process."),
    ],
)
.one_of(&["gamma", "renewal", "mmpp"]);

pub(crate) static MMPP: Shape = shape(
    "A Markov-modulated Poisson process, scaled so that the long-run rate is `rate`.",
    &[
        key("factors", List(&Number(0.0)), "Rate factor of each state."),
        key("sojourns", List(&Time), "Mean sojourn time in each state (exponential)."),
    ],
)
.needs(&["factors", "sojourns"]);

pub(crate) static REPLAY: Shape = shape(
    "Replay of a recorded trace.",
    &[
        key(
            "trace",
            File,
            "Trace file: written by `offered logs`, or of a language model service (Mooncake, BurstGPT, Azure, ShareGPT).",
        ),
        key("window", Pair(&Time, &Time), "Part of the trace, from and to these times since its first entry. Default: all."),
        key("speed", Number(0.0), "Speed factor: 2 replays twice as fast. Default 1."),
        key(
            "rate",
            Any(&RATES),
            "With open and sessions: arrival rate, or a rate profile, instead of the recorded times. Required if the trace has no times.",
        ),
        PROCESS,
        BATCH,
        key(
            "as",
            Choice(&WAYS),
            "Replay requests at their times (default), sessions at their start times, or sessions by closed users one after another.",
        ),
        key(
            "timestamps",
            Choice(&STAMPS),
            "Spread the requests of each tick of a coarse clock over the tick, or replay timestamps as recorded. Default: spread if all timestamps are whole seconds, or are a second or more apart with two or more requests each.",
        ),
        key("think", Kind::Distribution, "With sessions: replaces the recorded think times. With closed: the think time."),
        USERS,
        RAMP,
        START,
    ],
)
.needs(&["trace"]);

pub(crate) static FLOW: Shape = shape(
    "A sequence of requests of a session.",
    &[
        key("name", Text, "Unique name."),
        key("weight", Number(0.0), "Relative frequency among the flows. Default 1."),
        STEPS,
        key(
            "matrix",
            Named(&Named(&Number(0.0))),
            "Instead of steps: transition probabilities from each request to the next or to `leave`; each row sums to 1.",
        ),
        key("start", Text, "First step. Default: the first in the file; required with matrix."),
        HEADERS,
        SHARED_AUTH,
        SHARED_TIMEOUT,
        SHARED_CHECKS,
        REDIRECTS,
    ],
)
.needs(&["name"])
.one_of(&["step", "matrix"]);

const STEPS: Key = key("step", List(&Kind::Step), "The steps; the name of a request is a step that sends it.");

pub(crate) static ONCE: Shape = shape(
    "Steps that each session executes once, outside its flows.",
    &[
        key("start", List(&Kind::Step), "Steps before the first flow, such as a login."),
        key("end", List(&Kind::Step), "Steps after the last flow, such as a logout."),
    ],
)
.some_of(&["start", "end"]);

/// What a condition examines.
pub(crate) static CONDITIONED: [&str; 6] = ["value", "status", "check", "ok", "all", "any"];

const VALUE: Key = key(
    "value",
    Template,
    "A text with placeholders, such as \"{{role}}\"; without further keys, the condition is that the text has a value.",
);
const IS: Key = key("is", Template, "The value equals this text.");
const CONTAINS: Key = key("contains", Template, "The value contains this text.");
const MATCHES: Key = key("matches", Text, "The value matches this regular expression.");
const NUMBER: Key =
    key("number", Any(&[Text, Number(f64::NEG_INFINITY)]), "The value is a number in this range, such as \"> 3.5\".");
const RESPONSE_STATUS: Key =
    key("status", Any(&[STATUS, List(&STATUS)]), "The status of the last response is one of these.");
const PASSED: Key = key("check", Text, "The last response passed the check with this name.");
const SUCCEEDED: Key = key("ok", Boolean, "Whether the last request was successful.");
const ALL: Key = key("all", List(&Kind::Condition), "All of these conditions hold.");
const ANY: Key = key("any", List(&Kind::Condition), "At least one of these conditions holds.");
const NOT: Key = key("not", Boolean, "Negate the condition. Default false.");
const PROBABILITY: Key =
    key("probability", Number(0.0), "Probability that the condition holds, for simulations, plans and dry runs.");

pub(crate) static CONDITION: Shape = shape(
    "A condition on the session and its last response.",
    &[VALUE, IS, CONTAINS, MATCHES, NUMBER, RESPONSE_STATUS, PASSED, SUCCEEDED, ALL, ANY, NOT, PROBABILITY],
)
.one_of(&CONDITIONED);

pub(crate) static CONDITION_PART: Shape = shape(
    "A part of a condition.",
    &[VALUE, IS, CONTAINS, MATCHES, NUMBER, RESPONSE_STATUS, PASSED, SUCCEEDED, ALL, ANY, NOT],
)
.one_of(&CONDITIONED);

pub(crate) static CASE: Shape = shape(
    "A condition, and the step that follows if it holds.",
    &[
        key("next", Text, "Name of the step, or leave."),
        VALUE,
        IS,
        CONTAINS,
        MATCHES,
        NUMBER,
        RESPONSE_STATUS,
        PASSED,
        SUCCEEDED,
        ALL,
        ANY,
        NOT,
        PROBABILITY,
    ],
)
.needs(&["next"])
.one_of(&CONDITIONED);

pub(crate) static STEP: Shape = shape(
    "A step of a flow.",
    &[
        key("request", Text, "Name of a [[request]]."),
        key(
            "step",
            List(&Kind::Step),
            "Instead of request: several steps, to which repeat, if, until and while apply as a whole.",
        ),
        key("name", Text, "Name of the step. Default: the request's name."),
        key("think", Kind::Distribution, "Think time after the request. Default: the think time of [arrivals]."),
        key("repeat", Whole(1, 65_535), "Number of repetitions. Default 1."),
        key("stay", Number(0.0), "Probability that the session continues after this step. Default 1."),
        key("if", Kind::Table(&CONDITION), "Make the step only if this holds; otherwise continue as after the step."),
        key("until", Kind::Table(&CONDITION), "With repeat: end the repetitions as soon as this holds."),
        key("while", Kind::Table(&CONDITION), "With repeat: end the repetitions as soon as this does not hold."),
        key(
            "switch",
            List(&Kind::Table(&CASE)),
            "Instead of next: the first condition that holds selects the next step.",
        ),
        key("on_failure", Choice(OnFailure::NAMES), "Overrides on_failure of the request."),
        key(
            "next",
            Named(&ANY_WEIGHT),
            "Next steps with weights, such as { look = 3, leave = 1 }. Default: the next step in the file.",
        ),
    ],
)
.one_of(&["request", "step"]);

static ANY_WEIGHT: Kind = Any(&[Number(0.0), Kind::Table(&WEIGHT)]);

pub(crate) static WEIGHT: Shape = shape(
    "A weight that depends on the session.",
    &[
        key(
            "value",
            Template,
            "The weight, such as \"{{premium}}\". A text that is not a number of at least 0 counts as 0.",
        ),
        key("expected", Number(0.0), "Expected weight, for simulations, plans and dry runs."),
    ],
)
.needs(&["value", "expected"]);
