//! An engine of language models against the queues that it becomes in its limits.
//!
//! Every number must be within four thirds of its own 95 % interval, apart from the bias of steps of known length.

use offered_simulate::{SimulationResult, Stop, simulate};
use offered_stats::steady_state::Estimate;
use offered_workload::Workload;

/// Responses of `output` tokens to prompts of `prompt` tokens, at an engine.
fn workload(arrivals: &str, prompt: &str, output: &str, engine: &str) -> Workload {
    let text = format!(
        "duration = \"1000s\"\narrivals.{arrivals}\nserver.engine = {{ {engine} }}\n[variables]\nprompt = {{ prompt = \"{prompt}\" }}\n\
         answer = {{ random = \"{output}\", per = \"request\" }}\n[[request]]\npost = \"/v1/chat/completions\"\nstream = \"openai\"\n\
         body = '{{\"messages\": [{{\"content\": \"{{{{prompt}}}}\"}}], \"max_tokens\": {{{{answer}}}}}}'\n[goodput]\nttft = \"200ms\"\n"
    );
    Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|mistake| panic!("{mistake}\n{text}"))
}

fn run(arrivals: &str, prompt: &str, output: &str, engine: &str) -> SimulationResult {
    simulate(&workload(arrivals, prompt, output, engine), Stop::Jobs(100_000), None).unwrap()
}

/// Checks that `estimate` is `truth` within its interval, and up to `bias` above.
#[track_caller]
fn holds(name: &str, estimate: Estimate, truth: f64, bias: f64) {
    let half = estimate.half_width() * 4.0 / 3.0;
    assert!(
        estimate.value > truth - half && estimate.value < truth + bias + half,
        "{name}: {} +- {half} against {truth} to {}",
        estimate.value,
        truth + bias
    );
    assert!(half <= 0.08 * truth, "{name}: {} +- {half} is too coarse to tell", estimate.value);
}

#[test]
fn one_sequence_at_a_time_is_first_come_first_served() {
    // S is 10 to 30 tokens of 1 ms, after 10 ms for the prompt: E[S] = 30 ms, and the response by Pollaczek and Khinchine.
    let answer = run(
        "open.rate = \"25/s\"",
        "constant:100",
        "uniform:10..30",
        "step = \"900us\", per_sequence = \"100us\", sequences = 1, per_prompt_token = \"100us\"",
    );
    let mean = 0.030;
    let second = mean * mean + (21.0 * 21.0 - 1.0) / 12.0 * 1e-6;
    let wait = 25.0 * second / 2.0 / (1.0 - 25.0 * mean);
    holds("response", answer.summary.response.mean, mean + wait, 0.0);
    let tokens = answer.summary.tokens.unwrap();
    // The first token comes at the end of the first step.
    holds("ttft", tokens.ttft.mean, wait + 0.011, 0.0);
    let tpot = tokens.tpot.unwrap();
    assert!((tpot.mean.value - 0.001).abs() < 1e-9 && (tpot.max - 0.001).abs() < 1e-9, "{tpot:?}");
    holds("tokens", tokens.output_per_s, 25.0 * 20.0, 0.0);
    holds("load", answer.load_reached, 0.75, 0.0);
    assert_eq!(answer.load.map(|load| (load * 100.0).round()), Some(75.0));
    let (rate, share) = tokens.goodput.unwrap();
    assert!(share.value > 0.5 && share.value < 1.0 && (rate.value / 25.0 - share.value).abs() < 0.02);
}

#[test]
fn steps_that_grow_with_the_batch_share_the_processor() {
    // Tokens of 50 us for each sequence: processor sharing in small quanta, so E[T] = E[S] / (1 - rho) whatever the distribution.
    for output in ["constant:200", "uniform:100..300"] {
        let answer = run(
            "open.rate = \"70/s\"",
            "constant:1",
            output,
            "step = \"0s\", per_sequence = \"50us\", sequences = 100000",
        );
        // A request waits for the step in progress, of a token for each sequence.
        holds(output, answer.summary.response.mean, 0.010 / 0.3, 0.0003);
        holds("load", answer.load_reached, 0.7, 0.0);
    }
}

#[test]
fn steps_of_constant_length_serve_everybody_at_once() {
    // 100 tokens of 1 ms each for any number of sequences, after at most a step of waiting.
    let answer = run("open.rate = \"300/s\"", "constant:1", "constant:100", "step = \"1ms\", sequences = 100000");
    holds("response", answer.summary.response.mean, 0.1, 0.001);
    let tokens = answer.summary.tokens.unwrap();
    assert!(tokens.ttft.mean.value > 0.0014 && tokens.ttft.max <= 0.002, "{:?}", tokens.ttft);
    holds("in system", answer.summary.in_system, 30.0, 0.3);
}

#[test]
fn closed_users_wait_for_a_place_in_the_batch() {
    // Eight users without think time and a batch of four: X = 4 / (N (a + 4 b)), and half of each response is waiting.
    let answer =
        run("closed.users = 8", "constant:1", "constant:50", "step = \"6ms\", per_sequence = \"1ms\", sequences = 4");
    let service = 50.0 * 0.010;
    assert!(
        (answer.summary.throughput.value * service / 4.0 - 1.0).abs() < 0.005,
        "{}",
        answer.summary.throughput.value
    );
    assert!(
        (answer.summary.response.mean.value / service - 2.0).abs() < 0.02,
        "{}",
        answer.summary.response.mean.value
    );
    assert!((answer.load_reached.value - 1.0).abs() < 0.005, "{}", answer.load_reached.value);
}

#[test]
fn every_step_of_a_flow_counts_in_the_load_of_an_engine() {
    // Responses of 10 and 30 tokens of 1 ms: 20 requests per second of 20 ms.
    let text = "duration = \"1000s\"\narrivals.partly_open.rate = \"10/s\"\n\
        server.engine = { step = \"900us\", per_sequence = \"100us\", sequences = 1 }\n\
        [variables]\nprompt = { prompt = \"constant:1\" }\n\
        [[request]]\nname = \"short\"\npost = \"/v1/completions\"\nbody = '{\"prompt\": \"{{prompt}}\", \"max_tokens\": 10}'\n\
        [[request]]\nname = \"long\"\npost = \"/v1/completions\"\nbody = '{\"prompt\": \"{{prompt}}\", \"max_tokens\": 30}'\n\
        [[flow]]\nname = \"f\"\nstep = [\"short\", \"long\"]\n";
    let workload = Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap();
    let answer = simulate(&workload, Stop::Jobs(20_000), None).unwrap();
    assert!(answer.load.is_some_and(|load| (load - 0.4).abs() < 1e-9), "{:?}", answer.load);
    assert!((answer.load_reached.value - 0.4).abs() < 0.03, "{}", answer.load_reached.value);
}

#[test]
fn an_engine_needs_the_lengths_of_its_requests() {
    let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\nserver.engine = { step = \"1ms\", sequences = 4 }\n";
    let workload = Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap();
    let error = simulate(&workload, Stop::Duration, None).unwrap_err().to_string();
    assert!(error.contains("an engine needs the numbers of tokens"), "{error}");
    let overloaded =
        self::workload("open.rate = \"21/s\"", "constant:1", "constant:50", "step = \"1ms\", sequences = 1");
    let error = simulate(&overloaded, Stop::Duration, None).unwrap_err().to_string();
    assert!(error.contains("1.05"), "{error}");
}
