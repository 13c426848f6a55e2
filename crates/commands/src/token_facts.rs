//! The metrics of streamed responses on a first screen.

use offered_base::{count, short};
use offered_verify::TokenMetrics;

use crate::screen::Fact;

/// Times to and between tokens, throughput of tokens, and goodput.
pub(crate) fn facts(tokens: &TokenMetrics) -> Vec<Fact> {
    let times = |name: &'static str| {
        let row = tokens.times_of(name)?;
        let [p50, p95, p99] = [row.p50_ms, row.p95_ms, row.p99_ms].map(short);
        Some(Fact::new(name, format!("p50 {p50} ms, p95 {p95} ms, p99 {p99} ms")))
    };
    let mut facts: Vec<Fact> = ["ttft", "tpot"].into_iter().filter_map(times).collect();
    if let Some(rate) = tokens.output_tokens_per_s.filter(|_| tokens.tokens_out > 0) {
        let user = tokens.output_tokens_per_s_per_user;
        let user = user.map_or_else(String::new, |rate| format!(", {}/s per user", short(rate)));
        let each = |n: u64| count((n as f64 / tokens.streams.max(1) as f64).round() as u64);
        let (input, output) = (each(tokens.tokens_in), each(tokens.tokens_out));
        facts.push(Fact::new("tokens", format!("{}/s{user}; {input} in, {output} out per request", short(rate))));
    }
    if let Some(goodput) = &tokens.goodput
        && let (Some(rate), Some(share)) = (goodput.rate_per_s, goodput.share_percent)
    {
        let limit = |name: &str, ms: Option<f64>| ms.map(|ms| format!("{name} <= {ms} ms"));
        let limits = [("ttft", goodput.ttft_ms), ("tpot", goodput.tpot_ms), ("response", goodput.response_ms)];
        let limits: Vec<String> = limits.into_iter().filter_map(|(name, ms)| limit(name, ms)).collect();
        facts.push(Fact::new("goodput", format!("{}/s, {} % ({})", short(rate), short(share), limits.join(", "))));
    }
    facts
}
