//! Keys of time limits, retries and circuit breakers.

use super::Kind::{self, Any, Choice, Form, List, Number, Only, Time, Whole};
use super::{Key, MAX_WHOLE, Shape, key, shape};

/// Kinds of jitter.
pub(crate) const JITTER: [&str; 2] = ["full", "none"];

static RETRY_OR_NONE: [Kind; 2] = [Kind::Table(&RETRY), Only(false)];

pub(super) const RETRY_KEY: Key = key(
    "retry",
    Any(&RETRY_OR_NONE),
    "Send a failed request again, such as { times = 3 }; false: do not. Default: that of the target, otherwise false.",
);
static BREAKER_OR_NONE: [Kind; 2] = [Kind::Table(&CIRCUIT_BREAKER), Only(false)];

pub(super) const BREAKER_KEY: Key = key(
    "circuit_breaker",
    Any(&BREAKER_OR_NONE),
    "Send nothing for a time after too many failures, such as { failure_rate = 0.5 }; false: do. Default: that of the target, otherwise false.",
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
            "It opens when this share of the attempts in the window have failed: above 0, at most 1. Default 0.5.",
        ),
        key("window", Time, "Time over which attempts are counted, by their ends. Default 10s."),
        key(
            "minimum_calls",
            Whole(1, MAX_WHOLE),
            "Number of attempts in the window below which it does not open. Default 20.",
        ),
        key("open", Time, "How long nothing is sent. Default 5s."),
        key(
            "half_open_calls",
            Whole(1, MAX_WHOLE),
            "Number of trial attempts after that, which decide whether it closes or opens again. Default 1.",
        ),
        key("on", List(&FAILURE), "Outcomes and statuses that are failures. Default: those of retry."),
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
        key("burst", Number(1.0), "Tokens at the start and at most. Default 10."),
    ],
)
.needs(&["share"]);
