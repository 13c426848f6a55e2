//! The twin: a run beside a model of its server that was given the same launches, paired one by one.
//!
//! A minute of load is short: a few long requests, or a burst, move its mean response by half. A simulation of the same workload
//! and seed has the same long requests and the same burst, so the ratio of the two means is known much better than either
//! of them (common random numbers; Law and Kelton, Simulation Modeling and Analysis, section 11.2).
//!
//! # Method
//! Pairs stand in the order in which the run meant them, and are cut into batches of equally many. The ratio is that of the sums
//! of all responses. Its interval is that of the classical ratio estimator (the delta method: residuals of the sums of
//! batches, R - ratio M), and takes into account that batches that follow one another are alike, and skewed: see
//! [`offered_stats::steady_state::ratio`]. How often it holds the truth is measured by `crates/experiment/tests/twin.rs` and told in
//! book/src/concepts/twin.md.
//!
//! # Limitations
//! What is compared are the launches that both have answered: of a run that lost every tenth, the nine others.

use std::io;
use std::ops::Range;

use offered_model::{Difference, Event, Instant, Nanos, Outcome, Purpose, Recording, Seed};
use offered_stats::steady_state::{Estimate, ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Window;

/// About so many launches are compared at most.
const MOST: u64 = 1_000_000;
/// Pairs are cut into so many batches; an interval needs at least so many, of at least so many pairs each.
const BATCHES: usize = 32;
const FEWEST: usize = 16;
const LEAST: usize = 8;

/// A run beside a model of its server that was given the same launches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Twin {
    /// The model: its system and policy.
    pub model: String,
    /// One launch in so many was compared, drawn by session and step; 1: all of them.
    pub one_in: u64,
    /// Launches that both have answered.
    pub pairs: u64,
    /// Those of them that both meant for the same instant: all of an open system, and only the first of each user of a closed one.
    pub same_instant: u64,
    /// Launches that have no pair, by what they lack.
    pub unpaired: Unpaired,
    /// One row per label, then `Total`; empty without pairs.
    pub requests: Vec<Paired>,
    /// The same in stretches of equally many pairs, in the order of time; empty where they are too few for an interval.
    pub over_time: Vec<Stretch>,
}

/// Launches that could not be paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unpaired {
    /// Never sent by the generator.
    pub unsent: u64,
    /// Sent, and not answered well.
    pub failed: u64,
    /// Answered well in the run, and refused by the model, which had no room.
    pub refused_by_model: u64,
    /// Another request in the run than in the model.
    pub other_request: u64,
    /// In the run, and not in the model: there its session had not come so far when the time was over, or had ended.
    pub only_in_run: u64,
    /// In the model, and not in the run.
    pub only_in_model: u64,
}

impl Unpaired {
    /// All of them.
    pub fn all(&self) -> u64 {
        let Self { unsent, failed, refused_by_model, other_request, only_in_run, only_in_model } = self;
        unsent + failed + refused_by_model + other_request + only_in_run + only_in_model
    }
}

/// The pairs of one kind of request. Responses are done - intended; intervals are of 95 %, and `None` where pairs are too few.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Paired {
    /// The label, or `Total`.
    pub label: String,
    /// How many.
    pub n: u64,
    /// The mean response of the run.
    pub response_ms: f64,
    /// The lower end of its interval, by the run alone.
    pub response_low_ms: Option<f64>,
    /// The upper end.
    pub response_high_ms: Option<f64>,
    /// The mean response of the model to the same launches.
    pub model_ms: f64,
    /// The one over the other; `None` where the model takes no time.
    pub ratio: Option<f64>,
    /// The lower end of its interval, by the pairs.
    pub ratio_low: Option<f64>,
    /// The upper end.
    pub ratio_high: Option<f64>,
    /// How much the two responses of a launch go together: Pearson's correlation, -1 to 1. `None` where one of them is always the same.
    pub correlation: Option<f64>,
}

/// Pairs that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stretch {
    /// When the first of them was meant, seconds from the start of the run.
    pub from_s: f64,
    /// The mean response of the run.
    pub response_ms: f64,
    /// The mean response of the model.
    pub model_ms: f64,
}

/// What a model made of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counterpart {
    /// Its session.
    pub session: u64,
    /// Which request of it, from 0.
    pub step: u32,
    /// Which request of the workload.
    pub label: u16,
    /// When the model had it launched.
    pub intended: Instant,
    /// done - intended; `None`: there was no room for it.
    pub response: Option<Nanos>,
}

/// Which launches are compared: a function of session and step, so that run and model agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sieve {
    one_in: u64,
}

impl Sieve {
    /// For a run of so many launches: all of up to a million, of more about a million.
    pub fn of(launches: u64) -> Self {
        Self { one_in: launches.div_ceil(MOST).max(1) }
    }

    /// Whether this launch is compared.
    pub fn keeps(self, session: u64, step: u32) -> bool {
        self.one_in == 1 || Seed(self.one_in).at(Purpose::Judge, session, step).below(self.one_in) == 0
    }
}

/// A launch of the run.
struct Deed {
    key: (u64, u32),
    label: u16,
    intended: Instant,
    /// Of a good answer.
    response_ms: Option<f64>,
    sent: bool,
}

impl Deed {
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

/// A launch that both have answered.
#[derive(Clone, Copy)]
struct Pair {
    intended: Instant,
    label: u16,
    run_ms: f64,
    model_ms: f64,
}

impl Twin {
    /// Of the launches of `recording` that were meant for `window`, and what the model called `model` made of all that `sieve` keeps.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn of(
        recording: &Recording,
        window: &Window,
        sieve: Sieve,
        model: String,
        mut counterparts: Vec<Counterpart>,
    ) -> io::Result<Self> {
        let mut deeds = Vec::new();
        recording.events.each_answer(|event| {
            if sieve.keeps(event.session, event.step) {
                deeds.push(Deed::of(event));
            }
        })?;
        deeds.sort_by_key(|deed| deed.key);
        counterparts.sort_unstable_by_key(|counterpart| (counterpart.session, counterpart.step));
        let at = |seconds: f64| Instant::ZERO + Nanos::from_secs_f64(seconds);
        // Of a run that was stopped the rest of its time holds nothing.
        let last = recording.events.extent().last_meant.map_or(Instant::ZERO, |last| last + Nanos(1));
        let counted = at(window.start_s)..at(window.end_s).min(last);
        let (mut pairs, same_instant, unpaired) = paired(&deeds, counterparts, &counted);
        pairs.sort_by_key(|pair| pair.intended);
        let mut by_label = pairs.clone();
        by_label.sort_by_key(|pair| pair.label);
        let alike = by_label.chunk_by(|one, next| one.label == next.label);
        let name = |label: u16| recording.labels.get(usize::from(label)).map_or("", String::as_str);
        let mut requests: Vec<Paired> = alike.filter_map(|own| Paired::of(name(own[0].label), own)).collect();
        requests.sort_unstable_by(|a, b| a.label.cmp(&b.label));
        requests.extend(Paired::of("Total", &pairs));
        Ok(Self {
            model,
            one_in: sieve.one_in,
            pairs: pairs.len() as u64,
            same_instant,
            unpaired,
            requests,
            over_time: batches(&pairs).map(Stretch::of).collect(),
        })
    }

    /// All pairs together.
    pub fn total(&self) -> Option<&Paired> {
        self.requests.last()
    }

    /// What it says, in sentences: how run and model compare, what that is worth, and what was not compared.
    pub fn in_words(&self) -> Vec<String> {
        let compared = self.total().map(Paired::in_words);
        compared.into_iter().flatten().chain([self.of_pairs()]).chain(self.of_sample()).collect()
    }

    fn of_pairs(&self) -> String {
        let Unpaired { unsent, failed, refused_by_model, other_request, only_in_run, only_in_model } = self.unpaired;
        let lacking = [
            (unsent, "never sent"),
            (failed, "failed"),
            (refused_by_model, "refused by the model"),
            (other_request, "another request in the model"),
            (only_in_run, "only in the run"),
            (only_in_model, "only in the model"),
        ];
        let lacking = lacking.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        let lacking = lacking.collect::<Vec<_>>().join(", ");
        let without = if lacking.is_empty() { String::new() } else { format!("; without a pair: {lacking}") };
        let moved = if self.same_instant == self.pairs {
            String::new()
        } else {
            format!(", {} of them meant for the same instant in both", self.same_instant)
        };
        format!("{} launches have a pair{moved}{without}.", self.pairs)
    }

    fn of_sample(&self) -> Option<String> {
        (self.one_in > 1)
            .then(|| format!("Of so many launches one in {} was compared, drawn by session and step.", self.one_in))
    }
}

/// Those of both that are of one session and step, how many of them were meant for one instant, and the others; both in order.
fn paired(deeds: &[Deed], counterparts: Vec<Counterpart>, counted: &Range<Instant>) -> (Vec<Pair>, u64, Unpaired) {
    let key = |counterpart: &Counterpart| (counterpart.session, counterpart.step);
    let mut counterparts = counterparts.into_iter().peekable();
    let (mut pairs, mut same_instant, mut unpaired) = (Vec::new(), 0, Unpaired::default());
    for deed in deeds {
        while let Some(alone) = counterparts.next_if(|counterpart| key(counterpart) < deed.key) {
            unpaired.only_in_model += u64::from(counted.contains(&alone.intended));
        }
        let counterpart = counterparts.next_if(|counterpart| key(counterpart) == deed.key);
        if !counted.contains(&deed.intended) {
            continue;
        }
        match (deed.response_ms, counterpart) {
            (None, _) if !deed.sent => unpaired.unsent += 1,
            (None, _) => unpaired.failed += 1,
            (_, None) => unpaired.only_in_run += 1,
            (_, Some(Counterpart { response: None, .. })) => unpaired.refused_by_model += 1,
            (_, Some(counterpart)) if counterpart.label != deed.label => unpaired.other_request += 1,
            (Some(run_ms), Some(Counterpart { intended, response: Some(response), .. })) => {
                let model_ms = response.as_millis_f64();
                pairs.push(Pair { intended: deed.intended, label: deed.label, run_ms, model_ms });
                same_instant += u64::from(intended == deed.intended);
            }
        }
    }
    unpaired.only_in_model += counterparts.filter(|alone| counted.contains(&alone.intended)).count() as u64;
    (pairs, same_instant, unpaired)
}

/// `pairs` in stretches of equally many; none where they are too few for an interval.
fn batches(pairs: &[Pair]) -> impl Iterator<Item = &[Pair]> {
    let n = pairs.len();
    let batches = Some(BATCHES.min(n / LEAST)).filter(|batches| *batches >= FEWEST).unwrap_or(0);
    (0..batches).map(move |i| &pairs[i * n / batches..(i + 1) * n / batches])
}

/// The sums of the responses of the run and of the model.
fn sums(pairs: &[Pair]) -> (f64, f64) {
    pairs.iter().fold((0.0, 0.0), |(run, model), pair| (run + pair.run_ms, model + pair.model_ms))
}

impl Stretch {
    fn of(pairs: &[Pair]) -> Self {
        let ((run, model), n) = (sums(pairs), pairs.len() as f64);
        Self { from_s: Instant::ZERO.until(pairs[0].intended).as_secs_f64(), response_ms: run / n, model_ms: model / n }
    }
}

impl Paired {
    /// Of these pairs, in the order of time; `None` without any.
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

impl Paired {
    /// How run and model compare, and how well that is known.
    fn in_words(&self) -> Vec<String> {
        let (Some(ratio), Some(low), Some(high)) = (self.ratio, self.ratio_low, self.ratio_high) else {
            return vec![format!("These are too few for an interval: {} pairs would give one.", FEWEST * LEAST)];
        };
        let percent = |part: f64| format!("{:.1}", 100.0 * part);
        let compared = if low <= 1.0 && high >= 1.0 {
            "Run and model agree as far as these launches tell.".to_owned()
        } else {
            let (least, most, how) =
                if low > 1.0 { (low - 1.0, high - 1.0, "slower") } else { (1.0 - high, 1.0 - low, "faster") };
            format!("The run is {} to {} % {how} than its model.", percent(least), percent(most))
        };
        let of_mean = self.response_low_ms.zip(self.response_high_ms).map(|(low, high)| (high - low) / 2.0);
        let known = of_mean.map(|half| {
            format!(
                "The mean response is known to {} % by the run alone, its ratio to the model to {} %.",
                percent(half / self.response_ms),
                percent((high - low) / 2.0 / ratio)
            )
        });
        [compared].into_iter().chain(known).collect()
    }
}

/// Pearson's correlation of the two responses.
fn correlation(pairs: &[Pair]) -> Option<f64> {
    let ((run, model), n) = (sums(pairs), pairs.len() as f64);
    let (run, model) = (run / n, model / n);
    let product = |of: fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|pair| of(pair.run_ms - run, pair.model_ms - model)).sum()
    };
    let spread = (product(|x, _| x * x) * product(|_, y| y * y)).sqrt();
    // What differs by rounding only does not differ.
    (spread > 1e-12 * n * run * model).then(|| product(|x, y| x * y) / spread)
}

#[cfg(test)]
mod tests;
