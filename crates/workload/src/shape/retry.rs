//! Keys of time limits, retries and circuit breakers.

use super::Kind::{self, Any, Choice, Form, List, Number, Only, Time, Whole};
use super::{Key, MAX_WHOLE, Shape, key, shape};

/// Kinds of jitter.
pub(crate) const JITTER: [&str; 2] = ["full", "none"];

static RETRY_OR_NONE: [Kind; 2] = [Kind::Table(&RETRY), Only(false)];

pub(super) const RETRY_KEY: Key = key(
    "retry",
    Any(&RETRY_OR_NONE),
    "Send a failed request again, such as { times = 3 }; false: never. Default: that of the target, otherwise false.",
);
static BREAKER_OR_NONE: [Kind; 2] = [Kind::Table(&CIRCUIT_BREAKER), Only(false)];

pub(super) const BREAKER_KEY: Key = key(
    "circuit_breaker",
    Any(&BREAKER_OR_NONE),
    "Circuit breaker: send nothing for a time after too many failures, such as { failure_rate = 0.5 }; false: none. Default: that of the target, otherwise false.",
);
pub(super) const PATIENCE: Key = key(
    "patience",
    Kind::Distribution,
    "Distribution of the time after which a user gives up and its session ends: from the scheduled time, over all attempts. Default: no limit.",
);

pub(crate) static RETRY: Shape = shape(
    "A retry policy.",
    &[
        key("times", Whole(1, MAX_WHOLE), "Maximum number of retries of a request."),
        key(
            "on",
            List(&FAILURE),
            "Outcomes and statuses to retry, such as [\"timeout\", 429, \"5xx\"]. Default: timeout, refused, reset, unprocessed, 408, 429, 500, 502 to 504.",
        ),
        key(
            "wait",
            Any(&[Time, Kind::Table(&BACKOFF)]),
            "Time from the end of an attempt to the next. Default: { initial = \"100ms\" }.",
        ),
        key(
            "budget",
            Any(&[Number(0.0), Kind::Table(&BUDGET)]),
            "Maximum number of retries as a share of first attempts, such as 0.1. Default: no limit.",
        ),
    ],
)
.needs(&["times"]);

pub(crate) static CIRCUIT_BREAKER: Shape = shape(
    "A circuit breaker of the client.",
    &[
        key(
            "failure_rate",
            Number(0.0),
            "The breaker opens when this share of the attempts in the window has failed: above 0, at most 1. Default 0.5.",
        ),
        key("window", Time, "Time over which attempts are counted, by their ends. Default 10s."),
        key(
            "minimum_calls",
            Whole(1, MAX_WHOLE),
            "Minimum number of attempts in the window before the breaker can open. Default 20.",
        ),
        key("open", Time, "Time during which the breaker stays open, so that no request is sent. Default 5s."),
        key(
            "half_open_calls",
            Whole(1, MAX_WHOLE),
            "Number of trial attempts after this time; their results determine whether the breaker closes or opens again. Default 1.",
        ),
        key("on", List(&FAILURE), "Outcomes and statuses that count as failures. Default: the same as for retry."),
    ],
);

static FAILURE: Kind = Any(&[Whole(100, 999), Form("^([a-z_]+|[1-9]xx|[1-9]\\d\\d(\\.\\.[1-9]\\d\\d)?)$")]);

pub(crate) static BACKOFF: Shape = shape(
    "Exponential backoff: a random part of min(max, initial * multiplier^(n - 1)) before retry n.",
    &[
        key("initial", Time, "Bound of the wait before the first retry."),
        key("max", Time, "Largest bound. Default 10s."),
        key("multiplier", Number(1.0), "Factor from one bound to the next. Default 2."),
        key("jitter", Choice(&JITTER), "full (default): uniform between zero and the bound; none: the bound."),
    ],
)
.needs(&["initial"]);

pub(crate) static BUDGET: Shape = shape(
    "A token bucket: each first attempt adds share of a token, each retry takes one.",
    &[
        key("share", Number(0.0), "Retries per first attempt."),
        key("burst", Number(1.0), "Number of tokens at the start, which is also the maximum. Default 10."),
    ],
)
.needs(&["share"]);
