//! Per-request results of the load generators for language models: `AIPerf`, `guidellm`, vLLM's `bench serve` and `inference-perf`.
//!
//! All of them record instants of sending and the received part of a stream. Only guidellm records scheduled times.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, TokenStream};
use serde::Deserialize;
use serde_json::Value;

use super::ReadOptions;
use super::intake::{Bad, Intake};
use super::number::from_f64;
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

/// `profile_export.jsonl` of `AIPerf`.
pub(super) static AIPERF: Reader = Reader {
    name: "aiperf",
    sniff: |head| head.json_line(&["metadata", "metrics"]) && head.contains("\"request_start_ns\""),
    read: read_aiperf,
};
/// guidellm's `benchmarks.json`.
pub(super) static GUIDELLM: Reader = Reader {
    name: "guidellm",
    sniff: |head| {
        head.starts_with("{") && (head.contains("\"guidellm_version\"") || head.contains("\"generative_benchmark"))
    },
    read: read_guidellm,
};
/// The result of vLLM's `bench serve --save-result --save-detailed`.
pub(super) static VLLM: Reader = Reader {
    name: "vllm-bench",
    sniff: |head| {
        head.starts_with("{") && head.contains("\"total_input_tokens\"") && head.contains("\"request_throughput\"")
    },
    read: read_vllm,
};
/// inference-perf's `per_request_lifecycle_metrics.json`.
pub(super) static INFERENCE_PERF: Reader = Reader {
    name: "inference-perf",
    sniff: |head| head.starts_with("[") && head.contains("\"start_time\"") && head.contains("\"end_time\""),
    read: read_inference_perf,
};

const S: Nanos = Nanos::from_secs(1);
const MS: Nanos = Nanos::from_millis(1);

/// The instant that many seconds after the origin of a clock.
fn instant(seconds: f64) -> Option<Instant> {
    from_f64(seconds, S).map(|since| Instant::ZERO + since)
}

/// The instants of chunks: the first instant, and one instant after each of these gaps.
fn chunks_after(first: Option<Instant>, gaps: impl Iterator<Item = Nanos>) -> Vec<Instant> {
    let mut chunks: Vec<Instant> = first.into_iter().collect();
    for gap in gaps {
        chunks.extend(chunks.last().map(|last| *last + gap));
    }
    chunks
}

/// The stream whose chunks arrived at these instants.
fn stream(chunks: &[Instant], tokens_in: Option<u64>, tokens_out: Option<u64>) -> Option<Box<TokenStream>> {
    let (first, last) = (*chunks.first()?, *chunks.last()?);
    let gaps = chunks.windows(2).map(|pair| pair[0].until(pair[1])).filter(|gap| *gap > Nanos::ZERO);
    let gaps: Vec<Nanos> = gaps.collect();
    Some(Box::new(TokenStream {
        head: first,
        first_token: Some(first),
        first_answer: Some(first),
        last_token: Some(last),
        tokens_in,
        tokens_out,
        chunks: chunks.len() as u64,
        // Chunks with the same instant were read together.
        coalesced: (chunks.len() - 1 - gaps.len()) as u64,
        gap_max: gaps.iter().max().copied(),
        gaps_us: gaps.iter().map(|gap| u32::try_from((gap.0 + 500) / 1000).unwrap_or(u32::MAX)).collect(),
        ..TokenStream::default()
    }))
}

fn document<T: for<'de> Deserialize<'de>>(content: Content, intake: &Intake, tool: &str) -> Result<T, Error> {
    serde_json::from_reader(content).map_err(|why| Error::content(intake.name(), format!("as {tool}: {why}")))
}

#[derive(Deserialize)]
struct AiperfLine {
    metadata: AiperfMetadata,
    metrics: Value,
    error: Option<AiperfError>,
}

#[derive(Deserialize)]
struct AiperfMetadata {
    request_start_ns: u64,
    request_end_ns: u64,
    #[serde(default)]
    session_num: u64,
    #[serde(default)]
    turn_index: Option<u32>,
    #[serde(default)]
    benchmark_phase: Option<String>,
    #[serde(default)]
    was_cancelled: bool,
}

#[derive(Deserialize)]
struct AiperfError {
    code: Option<i64>,
    message: Option<String>,
}

fn read_aiperf(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut rows = Rows::of_lines(content);
    intake.each_row(&mut rows, |intake, row| {
        let line: AiperfLine = serde_json::from_slice(row.get(0)).map_err(|why| Bad::from(why.to_string()))?;
        let AiperfLine { metadata, metrics, error } = line;
        if metadata.benchmark_phase.as_deref().is_some_and(|phase| phase != "profiling") {
            return Ok(());
        }
        let (sent, done) = (Instant(metadata.request_start_ns), Instant(metadata.request_end_ns));
        let value = |name: &str| metrics[name]["value"].as_f64();
        let count = |name: &str| value(name).map(|number| number as u64);
        let tokens_out = count("output_sequence_length").or(count("output_token_count"));
        let gaps = metrics["inter_chunk_latency"]["value"].as_array();
        let done = done.max(sent);
        let first = value("time_to_first_token").and_then(|ms| from_f64(ms, MS)).map(|ttft| (sent + ttft).min(done));
        let gaps = gaps.into_iter().flatten().filter_map(|gap| from_f64(gap.as_f64()?, MS));
        let chunks = chunks_after(first, gaps);
        let code = error.as_ref().and_then(|error| error.code).unwrap_or(0);
        let outcome = match &error {
            _ if metadata.was_cancelled => Outcome::Cut,
            None => Outcome::Ok,
            Some(_) if (400..600).contains(&code) => Outcome::HttpError,
            Some(_) => Outcome::Reset,
        };
        let event = Event {
            sent: Some(sent),
            first_byte: first,
            done: Some(done),
            session: metadata.session_num,
            step: metadata.turn_index.unwrap_or(0),
            outcome,
            status: if outcome == Outcome::HttpError { code as u16 } else { 0 },
            error: error.and_then(|error| error.message).map(Into::into),
            stream: stream(&chunks, count("input_sequence_length"), tokens_out),
            ..Event::at(sent)
        };
        intake.add(b"request", event);
        Ok(())
    })
}

#[derive(Deserialize)]
struct Guidellm {
    benchmarks: Vec<GuidellmBenchmark>,
}

#[derive(Deserialize)]
struct GuidellmBenchmark {
    requests: GuidellmRequests,
}

#[derive(Deserialize)]
struct GuidellmRequests {
    #[serde(default)]
    successful: Vec<GuidellmRequest>,
    #[serde(default)]
    incomplete: Vec<GuidellmRequest>,
    #[serde(default)]
    errored: Vec<GuidellmRequest>,
}

/// A request. Its instants are in `info.timings` (`scheduler_info.request_timings` before version 0.4).
#[derive(Deserialize)]
struct GuidellmRequest {
    #[serde(alias = "scheduler_info")]
    info: GuidellmInfo,
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct GuidellmInfo {
    #[serde(alias = "request_timings")]
    timings: GuidellmTimings,
    #[serde(default)]
    error: Option<String>,
}

/// Seconds since the Unix epoch.
#[derive(Default, Deserialize)]
#[serde(default)]
struct GuidellmTimings {
    targeted_start: Option<f64>,
    resolve_start: Option<f64>,
    request_start: Option<f64>,
    #[serde(alias = "first_iteration")]
    first_token_iteration: Option<f64>,
    #[serde(alias = "last_iteration")]
    last_token_iteration: Option<f64>,
    #[serde(alias = "iterations")]
    token_iterations: Option<u64>,
    request_end: Option<f64>,
    resolve_end: Option<f64>,
}

fn read_guidellm(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let whole: Guidellm = document(content, intake, "guidellm's benchmarks")?;
    let (mut sent_requests, mut targeted) = (0u64, 0u64);
    for (number, GuidellmBenchmark { requests }) in (1..).zip(whole.benchmarks) {
        let GuidellmRequests { successful, incomplete, errored } = requests;
        let kinds = [(successful, Outcome::Ok), (incomplete, Outcome::Cut), (errored, Outcome::Reset)];
        for (request, outcome) in
            kinds.into_iter().flat_map(|(all, outcome)| all.into_iter().map(move |one| (one, outcome)))
        {
            let GuidellmInfo { timings, error } = request.info;
            let start = timings.request_start.or(timings.resolve_start).and_then(instant);
            // A request that the end of the run cancelled before it was sent has no start.
            let Some(sent) = start else { continue };
            intake.understood();
            let intended = timings.targeted_start.and_then(instant).filter(|_| timings.request_start.is_some());
            (sent_requests, targeted) = (sent_requests + 1, targeted + u64::from(intended.is_some()));
            let [first, last] =
                [timings.first_token_iteration, timings.last_token_iteration].map(|at| at.and_then(instant));
            let done = timings.request_end.or(timings.resolve_end).and_then(instant).unwrap_or(sent).max(sent);
            let ends: Vec<Instant> = [first, last].into_iter().flatten().collect();
            let stream = stream(&ends, request.prompt_tokens, request.output_tokens).map(|stream| {
                // Instants in between are not recorded.
                let chunks = timings.token_iterations.unwrap_or(stream.chunks);
                Box::new(TokenStream { chunks, coalesced: 0, gap_max: None, gaps_us: Vec::new(), ..*stream })
            });
            let event = Event {
                sent: Some(sent),
                first_byte: first.map(|first| first.clamp(sent, done)),
                done: Some(done),
                outcome,
                error: error.map(Into::into),
                stream,
                ..Event::at(intended.unwrap_or(sent))
            };
            intake.add(format!("benchmark {number}").as_bytes(), event);
        }
    }
    intake.recording.intent_known = sent_requests > 0 && targeted == sent_requests;
    Ok(())
}

#[derive(Deserialize)]
struct Vllm {
    #[serde(default)]
    start_times: Vec<f64>,
    #[serde(default)]
    latencies: Vec<f64>,
    #[serde(default)]
    ttfts: Vec<f64>,
    #[serde(default)]
    itls: Vec<Vec<f64>>,
    #[serde(default)]
    input_lens: Vec<u64>,
    #[serde(default)]
    output_lens: Vec<u64>,
    #[serde(default)]
    errors: Vec<Option<String>>,
}

fn read_vllm(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let whole: Vllm = document(content, intake, "vLLM's result")?;
    if whole.start_times.is_empty() {
        return Err(Error::content(
            intake.name(),
            "is a result of vLLM's bench without start times; run `vllm bench serve` with --save-result --save-detailed, of a version that \
             writes start_times",
        ));
    }
    for (at, start) in whole.start_times.iter().enumerate() {
        let Some(sent) = instant(*start) else {
            intake.bad(format_args!("request {}", at + 1), "start_time is not a time in seconds");
            continue;
        };
        intake.understood();
        let ttft = whole.ttfts.get(at).copied().filter(|ttft| *ttft > 0.0);
        let gaps = whole.itls.get(at).map_or(&[][..], Vec::as_slice);
        let first = ttft.and_then(|ttft| from_f64(ttft, S)).map(|ttft| sent + ttft);
        let chunks = chunks_after(first, gaps.iter().filter_map(|gap| from_f64(*gap, S)));
        let latency = whole.latencies.get(at).and_then(|latency| from_f64(*latency, S)).map(|latency| sent + latency);
        let done = latency.or(chunks.last().copied()).unwrap_or(sent);
        let error = whole.errors.get(at).cloned().flatten().filter(|error| !error.is_empty());
        let count = |counts: &[u64]| counts.get(at).copied();
        intake.add(
            b"request",
            Event {
                sent: Some(sent),
                first_byte: chunks.first().copied(),
                done: Some(done.max(chunks.last().copied().unwrap_or(sent))),
                outcome: if error.is_some() { Outcome::Reset } else { Outcome::Ok },
                stream: stream(&chunks, count(&whole.input_lens), count(&whole.output_lens)),
                error: error.map(Into::into),
                ..Event::at(sent)
            },
        );
    }
    Ok(())
}

#[derive(Deserialize)]
struct InferencePerf {
    start_time: f64,
    end_time: f64,
    #[serde(default)]
    info: Option<InferencePerfInfo>,
    #[serde(default)]
    error: Option<Value>,
}

/// The counts and instants of a response; since version 0.7 they are in tables of their own.
#[derive(Default, Deserialize)]
#[serde(default)]
struct InferencePerfInfo {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_token_times: Option<Vec<f64>>,
    request_metrics: Option<Value>,
    response_metrics: Option<Value>,
}

fn read_inference_perf(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let whole: Vec<InferencePerf> = document(content, intake, "inference-perf's requests")?;
    for (request, number) in whole.into_iter().zip(1..) {
        let (Some(sent), Some(done)) = (instant(request.start_time), instant(request.end_time)) else {
            intake.bad(format_args!("request {number}"), "start_time or end_time is not a time in seconds");
            continue;
        };
        intake.understood();
        let info = request.info.unwrap_or_default();
        let response = info.response_metrics.unwrap_or_default();
        let times = |name: &str| {
            let list = response[name].as_array()?.iter().filter_map(Value::as_f64);
            Some(list.collect::<Vec<f64>>()).filter(|times| !times.is_empty())
        };
        let times = info.output_token_times.or_else(|| times("chunk_times")).or_else(|| times("output_token_times"));
        let chunks: Vec<Instant> = times.unwrap_or_default().into_iter().filter_map(instant).collect();
        let tokens_out = info.output_tokens.or_else(|| response["output_tokens"].as_u64());
        let tokens_in =
            info.input_tokens.or_else(|| info.request_metrics.unwrap_or_default()["text"]["input_tokens"].as_u64());
        let error = request.error.filter(|error| !error.is_null());
        let message =
            error.as_ref().map(|error| error["error_msg"].as_str().map_or_else(|| error.to_string(), str::to_owned));
        intake.add(
            b"request",
            Event {
                sent: Some(sent),
                first_byte: chunks.first().map(|first| (*first).clamp(sent, done.max(sent))),
                done: Some(done.max(sent)),
                outcome: if error.is_some() { Outcome::Reset } else { Outcome::Ok },
                error: message.map(Into::into),
                stream: stream(&chunks, tokens_in, tokens_out),
                ..Event::at(sent)
            },
        );
    }
    Ok(())
}
