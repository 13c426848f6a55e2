//! The twin: a run compared with a simulation of its server model under the same requests, pair by pair.
//!
//! A minute of load is short: a few long requests, or a burst, can change the mean response time by half. A simulation
//! with the same workload and seed has the same long requests and the same burst, so the ratio of the two means is
//! known more precisely than either mean (common random numbers; Law and Kelton, Simulation Modeling and Analysis,
//! section 11.2).
//!
//! # Method
//! Pairs are sorted by scheduled time and divided into batches of equal size. The ratio is that of the sums of
//! all response times. Its confidence interval is that of the classical ratio estimator (delta method: residuals of the
//! batch sums, R - ratio M), corrected for autocorrelation and skewness of the batches; see
//! [`offered_stats::steady_state::ratio`]. In a short run that happens to be calm, a slower server is hardly slower than its model: where
//! the correlation of the model's responses is known, [`Twin::with_requirements`] moves the end that is farther from 1. Its coverage is measured by `crates/experiment/tests/twin.rs` and reported
//! in book/src/concepts/twin.md.
//!
//! # Limitations
//! Only requests that succeeded in both are compared. If the run lost one request in ten, the comparison
//! uses the other nine.

use std::io;
use std::ops::Range;

use offered_base::{Difference, Instant, Nanos, Purpose, Seed};
use offered_events::{Event, Outcome, Recording};
use offered_stats::requirements::{IntervalRequirements, MeanRequirement};
use offered_stats::steady_state::{Estimate, ratio};
use serde::{Deserialize, Serialize};

use crate::verdict::statistics::Window;

/// Approximate maximum number of requests that are compared.
const MAX_PAIRS: u64 = 1_000_000;
/// Number of batches. A confidence interval needs at least `MIN_BATCHES` batches of at least `MIN_PAIRS_PER_BATCH` pairs.
const BATCHES: usize = 32;
const MIN_BATCHES: usize = 16;
const MIN_PAIRS_PER_BATCH: usize = 8;
/// The variance of a ratio increases by this number divided by the number of correlation lengths of the mean response. The value was chosen
/// by coverage.
const ALLOWANCE: f64 = 60.0;

/// A run compared with a simulation of its server model under the same requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Twin {
    /// The server model: its system and its scheduling discipline.
    pub model: String,
    /// The inverse of the share of requests that were compared: with 4, one in four, selected by session and step; 1: all requests.
    pub sampled_one_in: u64,
    /// Number of requests that succeeded in both run and simulation.
    pub pairs: u64,
    /// Number of pairs with the same scheduled time in run and simulation. In an open system these are all pairs, in a closed one
    /// only the first requests of users.
    pub same_time: u64,
    /// Requests without a pair, by reason.
    pub unpaired: Unpaired,
    /// One row per label, then `Total`; empty without pairs.
    pub requests: Vec<PairedStats>,
    /// Means over intervals with equal numbers of pairs, in the order of time; empty if there are too few pairs.
    pub over_time: Vec<PairedInterval>,
}

/// Requests without a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unpaired {
    /// Requests that the generator did not send.
    pub unsent: u64,
    /// Requests that were sent and failed.
    pub failed: u64,
    /// Requests that succeeded in the run, but that the model rejected because it was full.
    pub rejected_by_model: u64,
    /// Requests with different labels in the run and in the model.
    pub different_request: u64,
    /// Requests only in the run: in the model, their session had ended, or had not reached them at the end of the
    /// simulated time.
    pub only_in_run: u64,
    /// Requests only in the model.
    pub only_in_model: u64,
}

impl Unpaired {
    /// The total number of requests without a pair.
    pub fn all(&self) -> u64 {
        let Self {
            unsent,
            failed,
            rejected_by_model: refused_by_model,
            different_request: other_request,
            only_in_run,
            only_in_model,
        } = self;
        unsent + failed + refused_by_model + other_request + only_in_run + only_in_model
    }
}

/// Statistics of the pairs of one label. Response times are done - scheduled. Confidence intervals are 95 %; `None` if
/// there are too few pairs, or if the sizes of the model have a tail so heavy that it has no interval, however long the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairedStats {
    /// The label, or `Total`.
    pub label: String,
    /// Number of pairs.
    pub n: u64,
    /// The mean response time of the run.
    pub response_ms: f64,
    /// The lower end of the 95 % confidence interval of `response_ms`, computed from the run alone.
    pub response_low_ms: Option<f64>,
    /// The upper end of the 95 % confidence interval of `response_ms`.
    pub response_high_ms: Option<f64>,
    /// The mean response time of the model for the same requests.
    pub model_ms: f64,
    /// The ratio of run to model; `None` if the model takes no time.
    pub ratio: Option<f64>,
    /// The lower end of the 95 % confidence interval of `ratio`, computed from pairs.
    pub ratio_low: Option<f64>,
    /// The upper end of the 95 % confidence interval of `ratio`.
    pub ratio_high: Option<f64>,
    /// Pearson's correlation of the two response times, -1 to 1; `None` if one of them is constant.
    pub correlation: Option<f64>,
}

/// Consecutive pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairedInterval {
    /// The scheduled time of the first pair, in seconds since the start of the run.
    pub start_s: f64,
    /// The mean response time of the run.
    pub response_ms: f64,
    /// The mean response time of the model.
    pub model_ms: f64,
}

/// A request in the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedRequest {
    /// The session.
    pub session: u64,
    /// The number of the request in its session, from 0.
    pub step: u32,
    /// The number of its label.
    pub label: u16,
    /// The scheduled time in the simulation.
    pub intended: Instant,
    /// The response time (done - scheduled); `None` if the model rejected it.
    pub response: Option<Nanos>,
}

/// Selects the requests to compare, as a function of session and step, so that run and model select the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairSampler {
    one_in: u64,
}

impl PairSampler {
    /// A sampler for a run of `launches` requests: it selects all if there are at most a million, otherwise about a million.
    pub fn of(launches: u64) -> Self {
        Self { one_in: launches.div_ceil(MAX_PAIRS).max(1) }
    }

    /// Whether this request is compared.
    pub fn includes(self, session: u64, step: u32) -> bool {
        self.one_in == 1 || Seed(self.one_in).at(Purpose::Judge, session, step).below(self.one_in) == 0
    }
}

/// A request of the run.
struct RunRequest {
    key: (u64, u32),
    label: u16,
    intended: Instant,
    /// `None` if it failed.
    response_ms: Option<f64>,
    sent: bool,
}

impl RunRequest {
    fn of(event: &Event) -> Self {
        let good = event.response().filter(|_| event.outcome == Outcome::Ok);
        Self {
            key: (event.session, event.step),
            label: event.label,
            intended: event.intended,
            response_ms: good.map(Difference::as_millis_f64),
            sent: event.sent.is_some(),
        }
    }
}

/// A request that succeeded in both.
#[derive(Clone, Copy)]
struct Pair {
    intended: Instant,
    label: u16,
    run_ms: f64,
    model_ms: f64,
}

impl Twin {
    /// Compares the requests of `recording` scheduled in `window` with the requests of the simulation that `sieve`
    /// selects. `model` is the name of the server model.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn of(
        recording: &Recording,
        window: &Window,
        sampler: PairSampler,
        model: String,
        mut simulated: Vec<SimulatedRequest>,
    ) -> io::Result<Self> {
        let mut run_requests = Vec::new();
        recording.events.each_response(|event| {
            if sampler.includes(event.session, event.step) {
                run_requests.push(RunRequest::of(event));
            }
        })?;
        run_requests.sort_by_key(|request| request.key);
        simulated.sort_unstable_by_key(|simulated_request| (simulated_request.session, simulated_request.step));
        let at = |seconds: f64| Instant::ZERO + Nanos::from_secs_f64(seconds);
        // After a run was stopped, the rest of its time is empty.
        let last = recording.events.extent().last_intended.map_or(Instant::ZERO, |last| last + Nanos(1));
        let counted = at(window.start_s)..at(window.end_s).min(last);
        let (mut pairs, same_time, unpaired) = pair_requests(&run_requests, simulated, &counted);
        pairs.sort_by_key(|pair| pair.intended);
        let mut by_label = pairs.clone();
        by_label.sort_by_key(|pair| pair.label);
        let alike = by_label.chunk_by(|one, next| one.label == next.label);
        let name = |label: u16| recording.labels.get(usize::from(label)).map_or("", String::as_str);
        let mut requests: Vec<PairedStats> = alike.filter_map(|own| PairedStats::of(name(own[0].label), own)).collect();
        requests.sort_unstable_by(|a, b| a.label.cmp(&b.label));
        requests.extend(PairedStats::of("Total", &pairs));
        Ok(Self {
            model,
            sampled_one_in: sampler.one_in,
            pairs: pairs.len() as u64,
            same_time,
            unpaired,
            requests,
            over_time: batches(&pairs).map(PairedInterval::of).collect(),
        })
    }

    /// Allows for what is known of the model. Where the correlation of its responses is known, moves the end of the interval of each ratio
    /// that is farther from 1; the other end, which shows whether run and model differ, stays. Where its sizes permit no interval of a mean,
    /// removes that of the run alone: large sizes cancel in the ratio. If its mean is infinite, so that the ratio of the means is undefined,
    /// removes all intervals.
    #[must_use]
    pub fn with_requirements(mut self, requirements: &IntervalRequirements) -> Self {
        let responses = self.pairs * self.sampled_one_in;
        let lengths = requirements.queue.map_or(f64::INFINITY, |queue| queue.correlation_lengths_of_mean(responses));
        let factor = (1.0 + ALLOWANCE / lengths).sqrt();
        for row in &mut self.requests {
            if !matches!(requirements.mean, MeanRequirement::Responses(_)) {
                (row.response_low_ms, row.response_high_ms) = (None, None);
            }
            if requirements.mean == MeanRequirement::InfiniteMean {
                (row.ratio_low, row.ratio_high) = (None, None);
            }
            let Some(ratio) = row.ratio else { continue };
            let farther = if ratio < 1.0 { &mut row.ratio_low } else { &mut row.ratio_high };
            *farther = farther.map(|end| (ratio + (end - ratio) * factor).max(0.0));
        }
        self
    }

    /// The statistics of all pairs.
    pub fn total(&self) -> Option<&PairedStats> {
        self.requests.last()
    }

    /// A summary in sentences: the comparison of run and model, its precision, and the requests that were not compared.
    pub fn sentences(&self) -> Vec<String> {
        let compared = self.total().map(PairedStats::sentences);
        compared.into_iter().flatten().chain([self.pairs_sentence()]).chain(self.sample_sentence()).collect()
    }

    fn pairs_sentence(&self) -> String {
        let Unpaired { unsent, failed, rejected_by_model, different_request, only_in_run, only_in_model } =
            self.unpaired;
        let reasons = [
            (unsent, "not sent"),
            (failed, "failed"),
            (rejected_by_model, "rejected by the model"),
            (different_request, "of another label in the model"),
            (only_in_run, "only in the run"),
            (only_in_model, "only in the model"),
        ];
        let reasons = reasons.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let without = if reasons.is_empty() { String::new() } else { format!("; without a pair: {reasons}") };
        let moved = if self.same_time == self.pairs {
            String::new()
        } else {
            format!(", {} of them with the same scheduled time in both", self.same_time)
        };
        format!("{} requests have a pair{moved}{without}.", self.pairs)
    }

    fn sample_sentence(&self) -> Option<String> {
        (self.sampled_one_in > 1)
            .then(|| format!("One request in {} was compared, selected by session and step.", self.sampled_one_in))
    }
}

/// Joins requests by session and step, sorted on both sides. Returns the pairs, the number of pairs with equal
/// scheduled times, and the unpaired requests.
fn pair_requests(
    run_requests: &[RunRequest],
    simulated: Vec<SimulatedRequest>,
    counted: &Range<Instant>,
) -> (Vec<Pair>, u64, Unpaired) {
    let key = |simulated_request: &SimulatedRequest| (simulated_request.session, simulated_request.step);
    let mut simulated = simulated.into_iter().peekable();
    let (mut pairs, mut same_time, mut unpaired) = (Vec::new(), 0, Unpaired::default());
    for request in run_requests {
        while let Some(alone) = simulated.next_if(|simulated_request| key(simulated_request) < request.key) {
            unpaired.only_in_model += u64::from(counted.contains(&alone.intended));
        }
        let simulated_request = simulated.next_if(|simulated_request| key(simulated_request) == request.key);
        if !counted.contains(&request.intended) {
            continue;
        }
        match (request.response_ms, simulated_request) {
            (None, _) if !request.sent => unpaired.unsent += 1,
            (None, _) => unpaired.failed += 1,
            (_, None) => unpaired.only_in_run += 1,
            (_, Some(SimulatedRequest { response: None, .. })) => unpaired.rejected_by_model += 1,
            (_, Some(simulated_request)) if simulated_request.label != request.label => unpaired.different_request += 1,
            (Some(run_ms), Some(SimulatedRequest { intended, response: Some(response), .. })) => {
                let model_ms = response.as_millis_f64();
                pairs.push(Pair { intended: request.intended, label: request.label, run_ms, model_ms });
                same_time += u64::from(intended == request.intended);
            }
        }
    }
    unpaired.only_in_model += simulated.filter(|alone| counted.contains(&alone.intended)).count() as u64;
    (pairs, same_time, unpaired)
}

/// Divides `pairs` into batches of equal size; none if they are too few for a confidence interval.
fn batches(pairs: &[Pair]) -> impl Iterator<Item = &[Pair]> {
    let n = pairs.len();
    let batches = Some(BATCHES.min(n / MIN_PAIRS_PER_BATCH)).filter(|batches| *batches >= MIN_BATCHES).unwrap_or(0);
    (0..batches).map(move |i| &pairs[i * n / batches..(i + 1) * n / batches])
}

/// The sums of the response times of run and model.
fn sums(pairs: &[Pair]) -> (f64, f64) {
    pairs.iter().fold((0.0, 0.0), |(run, model), pair| (run + pair.run_ms, model + pair.model_ms))
}

impl PairedInterval {
    fn of(pairs: &[Pair]) -> Self {
        let ((run, model), n) = (sums(pairs), pairs.len() as f64);
        Self {
            start_s: Instant::ZERO.until(pairs[0].intended).as_secs_f64(),
            response_ms: run / n,
            model_ms: model / n,
        }
    }
}

impl PairedStats {
    /// The statistics of these pairs, in the order of time; `None` without pairs.
    fn of(label: &str, pairs: &[Pair]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let ((run, model), n) = (sums(pairs), pairs.len() as f64);
        let ends = |each: &dyn Fn(&[Pair]) -> (f64, f64)| {
            let Estimate { low, high, .. } = ratio(&batches(pairs).map(each).collect::<Vec<_>>());
            let known = |end: f64| Some(end).filter(|end| end.is_finite());
            (known(low), known(high))
        };
        let (response_low_ms, response_high_ms) = ends(&|batch| (sums(batch).0, batch.len() as f64));
        let (ratio_low, ratio_high) = ends(&|batch| sums(batch));
        Some(Self {
            label: label.to_owned(),
            n: pairs.len() as u64,
            response_ms: run / n,
            response_low_ms,
            response_high_ms,
            model_ms: model / n,
            ratio: (model > 0.0).then_some(run / model),
            ratio_low,
            ratio_high,
            correlation: correlation(pairs),
        })
    }
}

impl PairedStats {
    /// The comparison of run and model, and its precision, as text.
    fn sentences(&self) -> Vec<String> {
        let (Some(ratio), Some(low), Some(high)) = (self.ratio, self.ratio_low, self.ratio_high) else {
            let enough = MIN_BATCHES * MIN_PAIRS_PER_BATCH;
            return vec![if self.ratio.is_none() || self.n < enough as u64 {
                format!("These are too few pairs for a confidence interval; {enough} would suffice.")
            } else {
                "The mean response time of the model is infinite, so the ratio of the means has no confidence interval."
                    .to_owned()
            }];
        };
        let percent = |part: f64| format!("{:.1}", 100.0 * part);
        let compared = if low <= 1.0 && high >= 1.0 {
            "Run and model do not differ significantly.".to_owned()
        } else {
            let (least, most, how) =
                if low > 1.0 { (low - 1.0, high - 1.0, "slower") } else { (1.0 - high, 1.0 - low, "faster") };
            format!("The run is {} to {} % {how} than its model.", percent(least), percent(most))
        };
        let of_mean = self.response_low_ms.zip(self.response_high_ms).map(|(low, high)| (high - low) / 2.0);
        let known = of_mean.map(|half| {
            format!(
                "The mean response time is known to ±{} % from the run alone, its ratio to the model to ±{} %.",
                percent(half / self.response_ms),
                percent((high - low) / 2.0 / ratio)
            )
        });
        [compared].into_iter().chain(known).collect()
    }
}

/// Pearson's correlation of the two response times.
fn correlation(pairs: &[Pair]) -> Option<f64> {
    let ((run, model), n) = (sums(pairs), pairs.len() as f64);
    let (run, model) = (run / n, model / n);
    let product = |of: fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|pair| of(pair.run_ms - run, pair.model_ms - model)).sum()
    };
    let spread = (product(|x, _| x * x) * product(|_, y| y * y)).sqrt();
    // Differences by rounding do not count.
    (spread > 1e-12 * n * run * model).then(|| product(|x, y| x * y) / spread)
}

#[cfg(test)]
mod tests;
