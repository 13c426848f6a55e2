//! The workloads of the situations.

pub(super) const OPEN: &str = "seed = 3\nduration = \"20s\"\narrivals.open.rate = \"300/s\"\n";
pub(super) const CONSTANT: &str =
    "seed = 3\nduration = \"20s\"\narrivals.open = { rate = \"300/s\", process = \"constant\" }\n";
pub(super) const BURSTY: &str =
    "seed = 3\nduration = \"20s\"\narrivals.open = { rate = \"300/s\", process = { gamma = 2.0 } }\n";
pub(super) const STEPS: &str =
    "seed = 3\nduration = \"20s\"\narrivals.open.rate = { steps = [[\"100/s\", \"10s\"], [\"300/s\", \"10s\"]] }\n";
pub(super) const MMPP: &str = "seed = 3\nduration = \"20s\"\narrivals.open = { rate = \"200/s\", process = { mmpp = { factors = [0.2, 3], sojourns = [\"5s\", \"2s\"] } } }\n";
pub(super) const CLOSED: &str =
    "seed = 3\nduration = \"20s\"\narrivals.closed = { users = 50, think.exponential = \"200ms\" }\n";
/// As in the issue: a few pauses are so long that the mean of all is reached in no run.
pub(super) const PAUSES: &str = "seed = 1\nduration = \"300s\"\narrivals.closed = { users = 25, think.empirical = [\"100ms\", \"100ms\", \"100ms\", \"100ms\", \"100ms\", \
    \"100ms\", \"100ms\", \"100ms\", \"100ms\", \"500s\"] }\n";
pub(super) const PARTLY_OPEN: &str = "seed = 3\nduration = \"20s\"\narrivals.partly_open = { rate = \"60/s\", stay = 0.8, think.exponential = \"100ms\" }\n";
pub(super) const REPLAY: &str = "seed = 3\nduration = \"20s\"\narrivals.replay = { trace = \"t.trace\" }\n";
pub(super) const TINY: &str = "seed = 3\nduration = \"5s\"\narrivals.open.rate = \"3/s\"\n";
pub(super) const FEW: &str = "seed = 3\nduration = \"20s\"\narrivals.open.rate = \"4/s\"\n";
pub(super) const SLOW_LIMIT: &str =
    "seed = 3\nduration = \"20s\"\narrivals.open.rate = \"300/s\"\n[thresholds]\np95 = \"< 1s\"\n";
pub(super) const FAST_LIMIT: &str =
    "seed = 3\nduration = \"20s\"\narrivals.open.rate = \"300/s\"\n[thresholds]\np95 = \"< 1ms\"\n";
pub(super) const STOP_LIMIT: &str = "seed = 3\nduration = \"20s\"\narrivals.open.rate = \"300/s\"\n[thresholds]\np95 = { bound = \"< 10ms\", stop = true }\n";
pub(super) const RATE_LIMIT: &str =
    "seed = 3\nduration = \"20s\"\narrivals.open.rate = \"300/s\"\n[thresholds]\nthroughput = \"> 250/s\"\n";
