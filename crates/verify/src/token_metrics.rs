//! Metrics of streamed responses: time to first token, time per output token, gaps, throughput of tokens, and goodput.
//!
//! The formulas are those of book/src/concepts/tokens.md. Every instant is an arrival by the kernel's clock, if that is
//! known, so late reading changes no figure. The difference that it would have made is reported ([`ReadingError`]).

use offered_base::{Difference, Nanos};
use offered_events::{Event, Outcome, TokenStream};
use offered_stats::values::{Sorted, Values};
use offered_workload::Goodput;
use serde::{Deserialize, Serialize};

use crate::metric_error::{MetricError, PERCENTILES};
use crate::verdict::statistics::TimeStats;

/// From this share of chunks that were read together on, gaps are unknown too often.
const MAX_COALESCED: f64 = 0.01;
/// Prompts may differ from their intended length by this share, over a run.
const MAX_PROMPT_ERROR: f64 = 0.05;

/// Time to first token: arrival of the first chunk - scheduled time. `None` without one.
pub fn time_to_first_token(event: &Event) -> Option<Difference> {
    Some(event.stream.as_ref()?.first_token? - event.intended)
}

/// The smallest time to first token that a generator without delays may have measured: earliest arrival of the first
/// chunk - instant at which the request was written. `None` without one.
pub fn punctual_time_to_first_token(event: &Event) -> Option<Difference> {
    let stream = event.stream.as_ref()?;
    Some(stream.first_earliest.or(stream.first_token)? - event.written()?)
}

/// Time per output token after the first chunk, to the nanosecond. `None` if the server did not count its tokens, or sent one chunk only.
pub fn time_per_token(event: &Event) -> Option<Difference> {
    Some(Difference(event.stream.as_ref()?.time_per_token_ns()?.round() as i64))
}

/// The gaps between chunks.
pub fn gaps(event: &Event) -> impl Iterator<Item = Difference> {
    event.stream.iter().flat_map(|stream| &stream.gaps_us).map(|us| Difference(i64::from(*us) * 1000))
}

/// The gaps between tokens, which are the gaps between chunks if each chunk has one token.
pub fn token_gaps(event: &Event) -> impl Iterator<Item = Difference> {
    let is_single = |stream: &TokenStream| stream.tokens_out == Some(stream.chunks);
    gaps(event).filter(move |_| event.stream.as_deref().is_some_and(is_single))
}

/// Whether a request meets all limits. A response of one chunk meets any limit of the time per token; a response
/// without a count of tokens meets none.
pub fn is_good(event: &Event, limits: Goodput) -> bool {
    let within = |time: Option<Difference>, limit: Option<Nanos>| {
        limit.is_none_or(|limit| time.is_some_and(|time| time <= Difference::from(limit)))
    };
    let is_one_chunk = event.stream.as_ref().is_some_and(|stream| stream.chunks == 1);
    event.outcome == Outcome::Ok
        && within(time_to_first_token(event), limits.ttft)
        && (is_one_chunk || within(time_per_token(event), limits.tpot))
        && within(event.response(), limits.response)
}

/// The metrics of the streamed responses of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenMetrics {
    /// Number of successful requests with a stream.
    pub streams: u64,
    /// Times of successful requests, one row per metric: `ttft`, `ttfa` (first chunk that is not reasoning, if it is another one), `tpot`, `gap`,
    /// `itl` (if each chunk has one token) and `response`.
    pub times: Vec<TimeStats>,
    /// Tokens of the prompts, counted by the server.
    pub tokens_in: u64,
    /// The intended number of tokens of the prompts relative to the number that the server counted, minus one, as a
    /// percentage; `None` if the workload draws no prompts.
    pub prompt_error_percent: Option<f64>,
    /// Number of prompt tokens that the server took from a cache.
    pub tokens_cached: u64,
    /// Tokens of the responses, counted by the server.
    pub tokens_out: u64,
    /// Output tokens per second: the tokens of the responses that ended in the analysed time, divided by its length.
    pub output_tokens_per_s: Option<f64>,
    /// Output tokens per second of one user while a response arrives: the inverse of the median of `tpot`.
    pub output_tokens_per_s_per_user: Option<f64>,
    /// Number of chunks.
    pub chunks: u64,
    /// Mean number of tokens in a chunk; `None` if the server counted none.
    pub tokens_per_chunk: Option<f64>,
    /// The percentage of chunks that were read together with a later one, so that their gaps are unknown.
    pub coalesced_percent: f64,
    /// Number of streams whose tokens the server did not count.
    pub without_usage: u64,
    /// The errors that late reading would have caused; empty if they were not measured.
    pub reading_errors: Vec<ReadingError>,
    /// The requests within the limits of the workload; `None` if it has none.
    pub goodput: Option<GoodputStats>,
}

/// The difference between a percentile by the times of reading and by the times of arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadingError {
    /// The metric: `ttft` or `tpot`.
    pub metric: String,
    /// The percentile: 50, 95 or 99.
    pub percentile: f64,
    /// The value by the times of arrival, which is the reported value.
    pub arrival_ms: f64,
    /// The value by the times of reading.
    pub reading_ms: f64,
}

impl ReadingError {
    /// The share that late reading caused in the value by the times of reading, as a fraction.
    pub fn share(&self) -> f64 {
        if self.reading_ms == 0.0 { 0.0 } else { (self.reading_ms - self.arrival_ms).abs() / self.reading_ms.abs() }
    }
}

/// The requests that meet all limits. Failed requests, and requests that were not sent, are not good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GoodputStats {
    /// The limit of the time to first token.
    pub ttft_ms: Option<f64>,
    /// The limit of the time per output token.
    pub tpot_ms: Option<f64>,
    /// The limit of the response time.
    pub response_ms: Option<f64>,
    /// Number of good requests.
    pub good: u64,
    /// Number of scheduled requests, except those that the end of the run cut off.
    pub requests: u64,
    /// Good requests per second of the analysed time.
    pub rate_per_s: Option<f64>,
    /// The percentage of good requests.
    pub share_percent: Option<f64>,
}

/// A warning about the streams of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum StreamWarning {
    /// Chunks were read together.
    Coalesced {
        /// The percentage of such chunks.
        percent: f64,
    },
    /// The server did not count tokens.
    WithoutUsage {
        /// Number of such streams.
        streams: u64,
        /// Number of all streams.
        of: u64,
    },
    /// Chunks have more or less than one token.
    TokensPerChunk {
        /// Mean number of tokens in a chunk.
        mean: f64,
    },
    /// Prompts do not have the intended length.
    PromptLength {
        /// The intended lengths over the counted ones, minus one, as a percentage.
        percent: f64,
    },
    /// Late reading would have changed a percentile by more than the tolerance.
    ReadLate {
        /// The percentile.
        error: ReadingError,
    },
    /// The generator may have changed a percentile by more than the tolerance.
    GeneratorError {
        /// The percentile.
        error: MetricError,
    },
}

impl StreamWarning {
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Coalesced { percent } => {
                format!(
                    "{percent:.1} % of the chunks were read together with a later chunk, so the gaps between them are unknown"
                )
            }
            Self::WithoutUsage { streams, of } => {
                format!("{streams} of {of} streams have no count of tokens, so tpot and tokens/s exclude them")
            }
            Self::TokensPerChunk { mean } => {
                format!("a chunk has {mean:.2} tokens on average: gaps are times between chunks, not between tokens")
            }
            Self::PromptLength { percent } => {
                let (side, percent) = (if *percent > 0.0 { "shorter" } else { "longer" }, percent.abs());
                format!("prompts are {side} than intended, by {percent:.0} % of the tokens that the server counted")
            }
            Self::ReadLate { error } => format!(
                "the generator read responses late: the {} p{} is {:.1} ms by the kernel's timestamps, and {:.1} ms by the times of reading",
                error.metric, error.percentile, error.arrival_ms, error.reading_ms
            ),
            Self::GeneratorError { error } => format!("the generator was late: it {}", error.text()),
        }
    }

    pub(crate) fn fix(&self) -> &'static str {
        match self {
            Self::Coalesced { .. } | Self::ReadLate { .. } | Self::GeneratorError { .. } => {
                "add threads, divide the load between machines, or reserve cores for the generator"
            }
            Self::PromptLength { .. } => {
                "set words_per_token and overhead_tokens of the prompt, or run `offered llm`, which measures them"
            }
            Self::WithoutUsage { .. } => "request the counts: \"stream_options\": {\"include_usage\": true}",
            Self::TokensPerChunk { .. } => {
                "compare tpot, which counts tokens; or make the server send each token by itself"
            }
        }
    }
}

/// Collects the metrics of streams.
#[derive(Default)]
pub(crate) struct TokenCollector {
    limits: Option<Goodput>,
    good: u64,
    requests: u64,
    streams: u64,
    ttft: Values<i64>,
    ttfa: Values<i64>,
    tpot: Values<i64>,
    gap: Values<i64>,
    itl: Values<i64>,
    response: Values<i64>,
    /// Time to first token and per token by the times of reading; `None` if unknown.
    read_ttft: Values<i64>,
    read_tpot: Values<i64>,
    /// The smallest times to first token, and the smallest and largest times per token, without delays of the
    /// generator.
    least_ttft: Values<i64>,
    least_tpot: Values<i64>,
    most_tpot: Values<i64>,
    tokens_in: u64,
    /// Intended and counted tokens of the prompts for which both are known.
    intended: (u64, u64),
    tokens_cached: u64,
    tokens_out: u64,
    tokens_in_time: u64,
    chunks: u64,
    counted_chunks: u64,
    coalesced: u64,
    without_usage: u64,
    has_other_answers: bool,
}

impl TokenCollector {
    /// A collector for these limits of goodput.
    pub(crate) fn new(limits: Option<Goodput>) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Adds an event of the run. `is_scheduled`: it is scheduled in the analysed time; `has_ended`: it ended in it.
    #[inline]
    pub(crate) fn add(&mut self, event: &Event, is_scheduled: bool, has_ended: bool) {
        if is_scheduled
            && let Some(limits) = self.limits
            && !matches!(event.outcome, Outcome::Cut | Outcome::Unprocessed)
        {
            self.requests += 1;
            self.good += u64::from(is_good(event, limits));
        }
        if let Some(stream) = event.stream.as_deref().filter(|_| event.outcome == Outcome::Ok) {
            if has_ended {
                self.tokens_in_time += stream.tokens_out.unwrap_or(0);
            }
            if is_scheduled {
                self.add_stream(event, stream);
            }
        }
    }

    fn add_stream(&mut self, event: &Event, stream: &TokenStream) {
        self.streams += 1;
        let (ttft, tpot) = (time_to_first_token(event), time_per_token(event));
        for (values, time) in [
            (&mut self.ttft, ttft),
            (&mut self.ttfa, stream.first_answer.map(|at| at - event.intended)),
            (&mut self.tpot, tpot),
            (&mut self.response, event.response()),
            (&mut self.least_ttft, punctual_time_to_first_token(event)),
        ] {
            if let Some(time) = time {
                values.add(time.0);
            }
        }
        if let Some([least, most]) = stream.time_per_token_range_ns() {
            self.least_tpot.add(least.round() as i64);
            self.most_tpot.add(most.round() as i64);
        }
        self.has_other_answers |= stream.first_answer != stream.first_token;
        gaps(event).for_each(|gap| self.gap.add(gap.0));
        token_gaps(event).for_each(|gap| self.itl.add(gap.0));
        if let (Some(ttft), Some(late)) = (ttft, stream.read_late) {
            self.read_ttft.add(ttft.0 + late.0 as i64);
        }
        if let (Some(tpot), Some(rest), Some(first), Some(last)) =
            (tpot, stream.later_tokens(), stream.read_late, stream.last_read_late)
        {
            let longer = (last.0 as f64 - first.0 as f64) / rest;
            self.read_tpot.add(tpot.0 + longer.round() as i64);
        }
        self.tokens_in += stream.tokens_in.unwrap_or(0);
        if let (Some(intended), Some(counted)) = (stream.tokens_intended, stream.tokens_in) {
            self.intended = (self.intended.0 + intended, self.intended.1 + counted);
        }
        self.tokens_cached += stream.tokens_cached.unwrap_or(0);
        self.tokens_out += stream.tokens_out.unwrap_or(0);
        self.chunks += stream.chunks;
        self.counted_chunks += if stream.tokens_out.is_some() { stream.chunks } else { 0 };
        self.coalesced += stream.coalesced;
        self.without_usage += u64::from(stream.tokens_out.is_none());
    }

    /// The metrics over this time, `None` without streams and without limits of goodput; and the errors of their percentiles, if late reading
    /// was measured for most of the streams.
    pub(crate) fn finish(self, judged: Nanos) -> (Option<TokenMetrics>, Vec<MetricError>) {
        if self.streams == 0 && self.limits.is_none() {
            return (None, Vec::new());
        }
        let per_s = |n: u64| (judged > Nanos::ZERO).then(|| n as f64 / judged.as_secs_f64());
        let [ttft, ttfa, tpot, gap, itl, response] =
            [self.ttft, self.ttfa, self.tpot, self.gap, self.itl, self.response].map(Values::sorted);
        let [read_ttft, read_tpot] = [self.read_ttft, self.read_tpot].map(Values::sorted);
        let [least_ttft, least_tpot, most_tpot] =
            [self.least_ttft, self.least_tpot, self.most_tpot].map(Values::sorted);
        let mut errors = Vec::new();
        if 2 * read_ttft.len() > ttft.len() {
            errors.extend(MetricError::all("ttft", &ttft, [&least_ttft, &ttft]));
            errors.extend(MetricError::all("tpot", &tpot, [&least_tpot, &most_tpot]));
        }
        let row = |name: &str, values: &Sorted<i64>| {
            Some(TimeStats::of(name.to_owned(), &values.summary(1e6)?, judged.as_secs_f64() * 1e3, None))
        };
        let answers = row("ttfa", &ttfa).filter(|_| self.has_other_answers);
        let rows = [row("ttft", &ttft), answers, row("tpot", &tpot), row("gap", &gap), row("itl", &itl)];
        let median_tpot = tpot.quantile(0.5).filter(|ns| *ns > 0);
        let metrics = TokenMetrics {
            streams: self.streams,
            times: rows.into_iter().chain([row("response", &response)]).flatten().collect(),
            tokens_in: self.tokens_in,
            prompt_error_percent: (self.intended.1 > 0)
                .then(|| 100.0 * (self.intended.0 as f64 / self.intended.1 as f64 - 1.0)),
            tokens_cached: self.tokens_cached,
            tokens_out: self.tokens_out,
            output_tokens_per_s: per_s(self.tokens_in_time),
            output_tokens_per_s_per_user: median_tpot.map(|ns| 1e9 / ns as f64),
            chunks: self.chunks,
            tokens_per_chunk: (self.counted_chunks > 0).then(|| self.tokens_out as f64 / self.counted_chunks as f64),
            coalesced_percent: 100.0 * self.coalesced as f64 / self.chunks.max(1) as f64,
            without_usage: self.without_usage,
            reading_errors: [("ttft", &ttft, &read_ttft), ("tpot", &tpot, &read_tpot)]
                .into_iter()
                .flat_map(|(metric, arrival, reading)| reading_errors(metric, arrival, reading))
                .collect(),
            goodput: self.limits.map(|limits| {
                let [ttft_ms, tpot_ms, response_ms] =
                    [limits.ttft, limits.tpot, limits.response].map(|limit| limit.map(Nanos::as_millis_f64));
                let (good, requests, rate_per_s) = (self.good, self.requests, per_s(self.good));
                let share_percent = (requests > 0).then(|| 100.0 * good as f64 / requests as f64);
                GoodputStats { ttft_ms, tpot_ms, response_ms, good, requests, rate_per_s, share_percent }
            }),
        };
        (Some(metrics), errors)
    }
}

/// The reading errors of a metric, if late reading was measured for most of its values.
fn reading_errors(metric: &str, arrival: &Sorted<i64>, reading: &Sorted<i64>) -> Vec<ReadingError> {
    let error = |p: f64| {
        let [arrival_ms, reading_ms] = [arrival.quantile(p)?, reading.quantile(p)?].map(|ns| ns as f64 / 1e6);
        Some(ReadingError { metric: metric.to_owned(), percentile: 100.0 * p, arrival_ms, reading_ms })
    };
    if 2 * reading.len() > arrival.len() { PERCENTILES.into_iter().filter_map(error).collect() } else { Vec::new() }
}

impl TokenMetrics {
    /// The row of `metric` in `times`; `None` if it has no values.
    pub fn times_of(&self, metric: &str) -> Option<&TimeStats> {
        self.times.iter().find(|row| row.label == metric)
    }

    /// Warnings about the streams; a reading error counts from this share of its percentile on, if it is at least `noticeable_ms`.
    pub(crate) fn warnings(&self, tolerance: f64, noticeable_ms: f64) -> Vec<StreamWarning> {
        let mut all = Vec::new();
        if self.streams > 0 {
            let matters = |error: &&ReadingError| {
                error.share() > tolerance && (error.reading_ms - error.arrival_ms).abs() >= noticeable_ms
            };
            let worst = self.reading_errors.iter().filter(matters).max_by(|a, b| a.share().total_cmp(&b.share()));
            all.extend(worst.map(|error| StreamWarning::ReadLate { error: error.clone() }));
            if self.coalesced_percent > 100.0 * MAX_COALESCED {
                all.push(StreamWarning::Coalesced { percent: self.coalesced_percent });
            }
            if self.without_usage > 0 {
                all.push(StreamWarning::WithoutUsage { streams: self.without_usage, of: self.streams });
            }
            let error = self.prompt_error_percent.filter(|percent| percent.abs() > 100.0 * MAX_PROMPT_ERROR);
            all.extend(error.map(|percent| StreamWarning::PromptLength { percent }));
            let differs = |mean: &f64| (mean - 1.0).abs() > 0.01;
            let mean = self.tokens_per_chunk.filter(differs);
            all.extend(mean.map(|mean| StreamWarning::TokensPerChunk { mean }));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::Instant;

    const MS: u64 = 1_000_000;

    /// A request every 10 ms, whose first token comes after 50 ms and 63 others every 10 ms. The first token of every hundredth comes after
    /// a second; every twentieth fails.
    fn event(i: u64) -> Event {
        let intended = Instant::from_millis(10 * i);
        let ttft = if i.is_multiple_of(100) { 1000 } else { 50 };
        let first_token = Some(intended + Nanos(ttft * MS));
        let last_token = first_token.map(|at| at + Nanos(630 * MS));
        let stream = TokenStream {
            head: intended,
            first_token,
            first_answer: first_token,
            last_token,
            tokens_in: Some(600),
            tokens_out: Some(64),
            chunks: 64,
            gaps_us: vec![10_000; 63],
            read_late: Some(Nanos(2 * MS)),
            last_read_late: Some(Nanos(2 * MS)),
            ..TokenStream::default()
        };
        let outcome = if i % 20 == 7 { Outcome::StreamError } else { Outcome::Ok };
        Event { sent: Some(intended), done: last_token, outcome, stream: Some(Box::new(stream)), ..Event::at(intended) }
    }

    const LIMITS: Goodput =
        Goodput { ttft: Some(Nanos::from_millis(500)), tpot: Some(Nanos::from_millis(10)), response: None };

    fn metrics(events: impl Iterator<Item = Event>, limits: Option<Goodput>) -> Option<TokenMetrics> {
        let mut collector = TokenCollector::new(limits);
        events.for_each(|event| collector.add(&event, true, true));
        collector.finish(Nanos::from_secs(10)).0
    }

    #[test]
    fn metrics_follow_from_arrivals_and_counts() {
        let metrics = metrics((0..1000).map(event), Some(LIMITS)).unwrap();
        let times: Vec<_> =
            metrics.times.iter().map(|row| (row.label.as_str(), row.n, row.p50_ms, row.p99_ms)).collect();
        assert_eq!(
            times,
            [
                ("ttft", 950, 50.0, 1000.0),
                ("tpot", 950, 10.0, 10.0),
                ("gap", 950 * 63, 10.0, 10.0),
                ("itl", 950 * 63, 10.0, 10.0),
                ("response", 950, 680.0, 1630.0)
            ]
        );
        assert_eq!((metrics.streams, metrics.tokens_in, metrics.tokens_out), (950, 950 * 600, 950 * 64));
        assert_eq!((metrics.output_tokens_per_s, metrics.output_tokens_per_s_per_user), (Some(6080.0), Some(100.0)));
        assert_eq!((metrics.tokens_per_chunk, metrics.coalesced_percent), (Some(1.0), 0.0));
        let goodput = metrics.goodput.clone().unwrap();
        assert_eq!(
            (goodput.good, goodput.requests, goodput.rate_per_s, goodput.share_percent),
            (940, 1000, Some(94.0), Some(94.0))
        );
        let error = &metrics.reading_errors[0];
        assert_eq!((error.percentile, error.arrival_ms, error.reading_ms), (50.0, 50.0, 52.0));
        assert_eq!(metrics.warnings(0.05, 1.0), []);
        let warning = &metrics.warnings(0.03, 1.0)[0];
        assert!(
            warning
                .message()
                .contains("the ttft p95 is 50.0 ms by the kernel's timestamps, and 52.0 ms by the times of reading"),
            "{warning:?}"
        );
        assert_eq!(metrics.warnings(0.03, 3.0), []);
    }

    /// A punctual generator would have measured a `ttft` of 50 ms and a `tpot` of 10 ms of every request. Of a hundred requests one is sent 20 ms
    /// late, one is written 20 ms late, and the thread reads the first three chunks of one at once, when the third arrives.
    #[test]
    fn stated_errors_bound_the_true_ones() {
        let delayed = |i: u64| {
            let intended = Instant::from_millis(10 * i);
            let after = |ms: u64| intended + Nanos(ms * MS);
            let (late, writing) = (u64::from(i.is_multiple_of(100)) * 20, u64::from(i % 100 == 30) * 20);
            let on_wire = late + writing;
            let mut stream = *event(1).stream.unwrap();
            stream.first_token = Some(after(on_wire + 50));
            stream.last_token = Some(after(on_wire + 680));
            if i % 100 == 60 {
                (stream.first_token, stream.first_earliest) = (Some(after(70)), Some(after(49)));
            }
            Event {
                sent: Some(after(late)),
                writing_lateness: Some(Nanos(writing * MS)),
                done: stream.last_token,
                outcome: Outcome::Ok,
                stream: Some(Box::new(stream)),
                ..Event::at(intended)
            }
        };
        let mut collector = TokenCollector::new(None);
        for i in 0..10_000 {
            collector.add(&delayed(i), true, true);
        }
        let (metrics, errors) = collector.finish(Nanos::from_secs(100));
        let metrics = metrics.unwrap();
        for (metric, truth) in [("ttft", 50.0), ("tpot", 10.0)] {
            let row = metrics.times_of(metric).unwrap();
            let of = |p: f64| errors.iter().find(|error| (&*error.metric, error.percentile) == (metric, p)).unwrap();
            for (p, value) in [(50.0, row.p50_ms), (95.0, row.p95_ms), (99.0, row.p99_ms)] {
                let error = of(p);
                assert_eq!(error.value_ms, value);
                assert!((value - truth).abs() <= error.error_ms, "{error:?}");
            }
        }
        let p99 = &errors[2];
        assert_eq!((p99.value_ms, p99.least_ms, p99.most_ms, p99.error_ms), (70.0, 50.0, 70.0, 20.0));
        assert_eq!((MetricError::worst(&errors, 0.05), MetricError::worst(&errors, 0.3)), (Some(p99), None));
    }

    #[test]
    fn warnings_name_what_the_figures_lack() {
        let changed = |change: fn(&mut TokenStream)| {
            let events = (1..100).map(event).map(|mut event| {
                event.stream.as_deref_mut().into_iter().for_each(change);
                event
            });
            metrics(events, None).unwrap().warnings(0.05, 1.0)
        };
        assert_eq!(changed(|_| ()), []);
        assert!(matches!(changed(|stream| stream.coalesced = 1)[..], [StreamWarning::Coalesced { .. }]));
        // The share of tpot is larger, but less than a millisecond.
        let late = changed(|stream| {
            stream.read_late = Some(Nanos(4 * MS));
            stream.last_read_late = Some(Nanos(60 * MS));
        });
        assert!(matches!(&late[..], [StreamWarning::ReadLate { error }] if error.metric == "ttft"), "{late:?}");
        assert_eq!(changed(|stream| stream.tokens_out = None), [StreamWarning::WithoutUsage { streams: 94, of: 94 }]);
        assert_eq!(changed(|stream| stream.chunks = 16), [StreamWarning::TokensPerChunk { mean: 4.0 }]);
        assert_eq!(changed(|stream| stream.tokens_intended = Some(620)), []);
        let [StreamWarning::PromptLength { percent }] = changed(|stream| stream.tokens_intended = Some(660))[..] else {
            panic!("prompts are longer than intended");
        };
        assert!((percent - 10.0).abs() < 1e-9, "{percent}");
        for warning in changed(|stream| (stream.coalesced, stream.tokens_out) = (1, None)) {
            assert!(!warning.message().is_empty() && !warning.fix().is_empty());
        }
        assert_eq!(metrics([Event::at(Instant::ZERO)].into_iter(), None), None);
    }

    #[test]
    fn a_good_request_meets_every_limit() {
        let response = |ms| Goodput { response: Some(Nanos::from_millis(ms)), ..Goodput::default() };
        assert!(is_good(&event(1), LIMITS) && is_good(&event(1), response(680)) && !is_good(&event(1), response(679)));
        assert!(!is_good(&event(100), LIMITS) && !is_good(&event(7), LIMITS));
        let with = |stream: TokenStream| Event { stream: Some(Box::new(stream)), ..event(1) };
        let stream = *event(1).stream.unwrap();
        assert!(!is_good(&with(TokenStream { tokens_out: None, ..stream.clone() }), LIMITS), "its tokens are unknown");
        assert!(is_good(&with(TokenStream { tokens_out: None, chunks: 1, ..stream }), LIMITS));
        assert!(!is_good(&Event { stream: None, ..event(1) }, LIMITS));
    }
}
