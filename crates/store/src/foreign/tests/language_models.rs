//! Results of load generators for language models.

use super::shapes::{T0, after, sample};
use super::*;

/// Three lines of `AIPerf`: of the warm-up, of a successful and of a failed request.
pub(super) const AIPERF: &str = r#"{"metadata":{"session_num":0,"turn_index":0,"request_start_ns":1499999999000000000,"request_ack_ns":null,"request_end_ns":1499999999500000000,"benchmark_phase":"warmup","was_cancelled":false},"metrics":{},"error":null}
{"metadata":{"session_num":45,"x_request_id":"7609a2e7","turn_index":1,"request_start_ns":1500000000000000000,"request_ack_ns":1500000000030000000,"request_end_ns":1500000000100000000,"worker_id":"worker_1","benchmark_phase":"profiling","was_cancelled":false,"cancellation_time_ns":null},"metrics":{"input_sequence_length":{"value":550,"unit":"tokens"},"time_to_first_token":{"value":50.0,"unit":"ms"},"inter_chunk_latency":{"value":[20.0,30.0],"unit":"ms"},"output_sequence_length":{"value":3,"unit":"tokens"}},"error":null}
{"metadata":{"session_num":46,"turn_index":0,"request_start_ns":1500000000200000000,"request_ack_ns":null,"request_end_ns":1500000000210000000,"benchmark_phase":"profiling","was_cancelled":false},"metrics":{"error_isl":{"value":550,"unit":"tokens"}},"error":{"code":503,"type":"ServerError","message":"busy"}}
"#;

/// guidellm's report of one benchmark.
pub(super) const GUIDELLM: &str = r#"{"metadata":{"version":1,"guidellm_version":"0.6.0"},"args":{"type":"x","metric":1,"data":[]},"benchmarks":[{"type_":"generative_benchmark","requests":{"successful":[{"type_":"generative_request_stats","request_id":"a","info":{"request_id":"a","status":"completed","timings":{"targeted_start":1500000000.0,"queued":1499999999.5,"resolve_start":1500000000.001,"request_start":1500000000.002,"first_token_iteration":1500000000.052,"last_token_iteration":1500000000.112,"token_iterations":4,"request_end":1500000000.113,"resolve_end":1500000000.114},"error":null},"prompt_tokens":600,"output_tokens":4}],"incomplete":[{"request_id":"b","info":{"status":"cancelled","timings":{"targeted_start":1500000000.5,"request_start":null,"resolve_start":null}}}],"errored":[{"request_id":"c","info":{"status":"errored","timings":{"targeted_start":1500000000.1,"request_start":1500000000.3,"request_end":1500000000.4},"error":"timeout"}}]}}]}
"#;

/// vLLM's detailed result.
pub(super) const VLLM: &str = r#"{"date": "20260101-000000", "backend": "openai-chat", "model_id": "m", "num_prompts": 2, "request_rate": 5.0, "burstiness": 1.0, "duration": 1.0, "completed": 1, "failed": 1, "total_input_tokens": 600, "total_output_tokens": 3, "request_throughput": 1.0, "input_lens": [600, 0], "output_lens": [3, 0], "ttfts": [0.05, 0.0], "itls": [[0.02, 0.0], []], "latencies": [0.09, 0.0], "start_times": [1500000000.0, 1500000000.25], "generated_texts": ["a", ""], "errors": ["", "Traceback"]}
"#;

/// inference-perf's requests, in both forms.
pub(super) const INFERENCE_PERF: &str = r#"[{"start_time": 1500000000.0, "end_time": 1500000000.1, "request": "{}", "response": "", "info": {"input_tokens": 591, "output_tokens": 3, "output_token_times": [1500000000.05, 1500000000.07, 1500000000.09]}, "error": null},
{"start_time": 1500000000.25, "end_time": 1500000000.5, "request": "{}", "info": {"request_metrics": {"text": {"input_tokens": 7}}, "response_metrics": {"output_tokens": 4, "chunk_times": [1500000000.3, 1500000000.4]}}, "error": null},
{"start_time": 1500000000.5, "end_time": 1500000000.6, "request": "{}", "info": null, "error": {"error_type": "TimeoutError", "error_msg": "timeout"}}]
"#;

fn requests(format: &str) -> Vec<Event> {
    sample(format, 0).events.to_vec().unwrap()
}

/// The number of chunks, the gaps, the coalesced chunks and the tokens of a request's stream.
fn counts(event: &Event) -> (u64, &[u32], u64, Option<u64>, Option<u64>) {
    let stream = event.stream.as_ref().unwrap();
    (stream.chunks, &stream.gaps_us, stream.coalesced, stream.tokens_in, stream.tokens_out)
}

fn near(found: Option<Instant>, ms: f64) -> bool {
    found.is_some_and(|at| (at - after(ms)).0.abs() < 1000)
}

#[test]
fn aiperf_records_sent_requests_without_those_of_the_warm_up() {
    let [good, failed] = &requests("aiperf")[..] else { panic!() };
    assert_eq!((good.sent, good.first_byte, good.done), (Some(T0), Some(after(50.0)), Some(after(100.0))));
    assert_eq!((good.session, good.step, good.outcome), (45, 1, Outcome::Ok));
    assert_eq!(counts(good), (3, &[20_000, 30_000][..], 0, Some(550), Some(3)));
    assert_eq!((failed.outcome, failed.status, &*failed.why()), (Outcome::HttpError, 503, "busy"));
    assert_eq!(failed.stream, None);
}

#[test]
fn guidellm_records_when_requests_should_have_been_sent() {
    let recording = sample("guidellm", 0);
    let [good, failed] = &recording.events.to_vec().unwrap()[..] else {
        panic!("a request without a start was not sent")
    };
    assert!(recording.intent_known && recording.labels == ["benchmark 1"]);
    assert!(near(Some(good.intended), 0.0) && near(good.sent, 2.0) && near(good.done, 113.0), "{good:?}");
    assert_eq!(counts(good), (4, &[][..], 0, Some(600), Some(4)));
    assert!(near(Some(failed.intended), 100.0) && near(failed.sent, 300.0), "{failed:?}");
    assert_eq!((failed.outcome, &*failed.why()), (Outcome::Reset, "timeout"));
}

#[test]
fn vllm_needs_start_times() {
    let [good, failed] = &requests("vllm-bench")[..] else { panic!() };
    assert!(near(good.sent, 0.0) && near(good.first_byte, 50.0) && near(good.done, 90.0), "{good:?}");
    assert_eq!(counts(good), (3, &[20_000][..], 1, Some(600), Some(3)), "a gap of zero is no gap");
    assert_eq!((failed.outcome, &*failed.why(), failed.done), (Outcome::Reset, "Traceback", failed.sent));
    let error = parse(VLLM.replace("start_times", "starts")).unwrap_err().to_string();
    assert!(error.contains("--save-detailed"), "{error}");
}

#[test]
fn inference_perf_in_both_forms() {
    let [early, late, failed] = &requests("inference-perf")[..] else { panic!() };
    assert!(near(early.sent, 0.0) && near(early.done, 100.0), "{early:?}");
    assert_eq!(counts(early).0, 3);
    assert_eq!((counts(early).3, counts(early).4), (Some(591), Some(3)));
    assert_eq!((counts(late).0, counts(late).3, counts(late).4), (2, Some(7), Some(4)));
    assert_eq!((failed.outcome, &*failed.why()), (Outcome::Reset, "timeout"));
}
