//! `offered llm`: load on an OpenAI-compatible server of a language model, with prompts and responses of a given length.
//!
//! The flags make a workload, which runs as `offered run` runs any other.

mod pilot;
mod workload;

use std::path::PathBuf;

use clap::Parser;
use offered_base::{Nanos, Rate};
use offered_workload::Url;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{out, status};
use crate::run;

const EXAMPLES: &str = "\
Examples:
  5 requests/s for a minute: prompts of 600 tokens, responses of 200
    offered llm http://127.0.0.1:8000/v1 --rate 5/s --input 600 --output 200
  Limits of a good request; lengths from distributions; recorded
    offered llm http://127.0.0.1:8000/v1 --rate 5/s --input lognormal:600,1 \\
      --output exponential:200 --ttft 500ms --tpot 50ms --record runs/1
  Bursts as in vLLM; each prompt begins with one of 8 prefixes of 1000 tokens
    offered llm http://127.0.0.1:8000/v1 --rate 5/s --burstiness 0.5 --prefix 1000,8
  Conversations of 4 turns on average, with 10 s between response and next prompt
    offered llm http://127.0.0.1:8000/v1 --rate 5/s --turns 4 --input 50 --prefix 1000,8
  32 users; each waits for its response before its next request
    offered llm http://127.0.0.1:8000/v1 --closed 32
  Minutes 10 to 20 of a trace at half its rate; only its lengths, at 5/s
    offered llm http://127.0.0.1:8000/v1 --trace azure.csv --window 10m,20m --speed 0.5
    offered llm http://127.0.0.1:8000/v1 --trace azure.csv --rate 5/s
  Write the workload to a file, for example for `offered capacity`
    offered llm http://127.0.0.1:8000/v1 --rate 5/s --write llm.toml
    offered capacity llm.toml --vary rate=1/s..50/s --slo 'ttft.p95 < 500ms'

Exit codes: as for `offered run`.";

/// Load-test a language model server: time to first token, time per token, goodput
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("load").args(["rate", "closed", "trace"]).required(true).multiple(true)))]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line are independent")]
pub(crate) struct Args {
    /// Base URL of the OpenAI-compatible API, such as http://127.0.0.1:8000/v1
    url: String,
    /// Open: requests arrive at RATE whatever the server does, for example 5/s
    #[arg(long, value_name = "RATE", conflicts_with = "closed")]
    rate: Option<Rate>,
    /// Closed: this number of users; each sends its next request when its response is complete
    #[arg(short = 'c', long, value_name = "USERS", value_parser = clap::value_parser!(u64).range(1..))]
    closed: Option<u64>,
    /// Shape of the gamma-distributed gaps between requests, as in vLLM; below 1: more bursts than Poisson
    #[arg(long, value_name = "SHAPE", conflicts_with = "closed")]
    burstiness: Option<f64>,
    /// Send conversations of N requests on average; each prompt contains the earlier prompts and responses
    #[arg(long, value_name = "N", conflicts_with_all = ["closed", "completions"])]
    turns: Option<f64>,
    /// In conversations: time from a response to the next request [default: exponential:10s]
    #[arg(long, value_name = "TIME")]
    think: Option<String>,
    /// Replay a trace (Mooncake, BurstGPT, Azure, ShareGPT): its times, prompts and lengths
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "output", "prefix", "turns"], help_heading = "Trace")]
    trace: Option<PathBuf>,
    /// Speed of the replay: 2 is twice as fast as recorded
    #[arg(long, value_name = "FACTOR", requires = "trace", conflicts_with_all = ["rate", "closed"], help_heading = "Trace")]
    speed: Option<f64>,
    /// Replay only this part of the trace, for example 10m,20m
    #[arg(long, value_name = "FROM,TO", requires = "trace", help_heading = "Trace")]
    window: Option<String>,
    /// Number of tokens in a prompt: a number, or a distribution such as lognormal:600,1
    #[arg(long, value_name = "TOKENS", default_value = "600", help_heading = "Requests")]
    input: String,
    /// Number of tokens in a response, sent as max_tokens: a number or a distribution, but not a file of values
    #[arg(long, value_name = "TOKENS", default_value = "200", help_heading = "Requests")]
    output: String,
    /// Shared prefixes of prompts: tokens in each prefix, number of different prefixes, for example 1000,8
    #[arg(long, value_name = "TOKENS,GROUPS", help_heading = "Requests")]
    prefix: Option<String>,
    /// Text file from which the words of the prompts are taken [default: common English words]
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    corpus: Option<String>,
    /// Model name [default: the first that the server lists at /models]
    #[arg(long, value_name = "NAME", help_heading = "Requests")]
    model: Option<String>,
    /// Use /completions with a plain prompt instead of /chat/completions
    #[arg(long, help_heading = "Requests")]
    completions: bool,
    /// Let the model end its responses: do not send ignore_eos
    #[arg(long, help_heading = "Requests")]
    stop_at_eos: bool,
    /// Environment variable with the API key, sent as a bearer token
    #[arg(long, value_name = "NAME", help_heading = "Requests")]
    api_key_env: Option<String>,
    /// A good request has its first token within this time
    #[arg(long, value_name = "TIME", help_heading = "Goodput")]
    ttft: Option<Nanos>,
    /// A good request takes at most this time per output token
    #[arg(long, value_name = "TIME", help_heading = "Goodput")]
    tpot: Option<Nanos>,
    /// A good request is complete within this time
    #[arg(long, value_name = "TIME", help_heading = "Goodput")]
    response: Option<Nanos>,
    /// Test duration
    #[arg(short, long, value_name = "TIME", default_value = "60s")]
    duration: Nanos,
    /// Exclude the first TIME from statistics (warm-up) [default: 0s]
    #[arg(long, value_name = "TIME")]
    skip_first: Option<Nanos>,
    /// Seed of all random numbers [default: a new one, recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// Do not measure the words per token: assume 1, and that the server adds no tokens
    #[arg(long)]
    no_pilot: bool,
    /// Write the workload to FILE instead of running it
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Record the run in this new directory
    #[arg(short, long, value_name = "DIR", conflicts_with = "write")]
    record: Option<PathBuf>,
    /// Number of sending threads [default: as many as the rate needs]
    #[arg(short, long, value_name = "N")]
    threads: Option<u16>,
    /// Print one JSON document (schema offered.run/1)
    #[arg(long)]
    json: bool,
    /// Show all requests and warnings, outcomes, times, arrivals and every statistical test
    #[arg(long)]
    details: bool,
    /// Serve a live page on a free port of 127.0.0.1
    #[arg(long)]
    ui: bool,
    /// Show no progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// The arguments of `offered run`, as a line.
#[derive(Parser)]
struct RunLine {
    #[command(flatten)]
    args: run::Args,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let url: Url = args.url.parse()?;
    if url.login.is_some() {
        return Err(Failure::input("give the URL of an HTTP API, such as http://127.0.0.1:8000/v1"));
    }
    let mut draft = workload::Draft::new(args, &url)?;
    if let Some(trace) = draft.trace.as_ref().filter(|_| !args.quiet) {
        status!("{}", trace.about());
    }
    // Wrong flags are reported before anything is sent.
    draft.text()?;
    // Where these requests fail, the run counts the failures of its own, and ends as `offered run` does.
    let mut is_known = true;
    if args.model.is_none() {
        match pilot::model(&draft)? {
            Some(model) => draft.model = model,
            None => is_known = false,
        }
    }
    if !args.no_pilot
        && is_known
        && let Some(lengths) = pilot::lengths(&draft)?
    {
        if !args.quiet {
            status!("{}: {}", draft.model, lengths.text());
        }
        draft.lengths = lengths;
    }
    let text = draft.text()?;
    if let Some(file) = &args.write {
        std::fs::write(file, text).map_err(|error| Failure::stopped(format!("{}: {error}", file.display())))?;
        out!("{}: next: offered run {}", file.display(), file.display());
        return Ok(Exit::Done);
    }
    let mut line = vec!["offered run".to_owned(), args.url.clone()];
    let mut flag = |name: &str, value: Option<String>| line.extend(value.map(|value| format!("--{name}={value}")));
    flag("output", args.record.as_ref().map(|directory| directory.display().to_string()));
    flag("threads", args.threads.map(|threads| threads.to_string()));
    flag("seed", args.seed.map(|seed| seed.to_string()));
    // The files of this workload are those that the command line names.
    let files = args.trace.is_some() || args.corpus.is_some();
    let switches = [
        ("json", args.json),
        ("details", args.details),
        ("ui", args.ui),
        ("quiet", args.quiet),
        ("allow-files", files),
    ];
    line.extend(switches.into_iter().filter(|(_, given)| *given).map(|(name, _)| format!("--{name}")));
    let line = RunLine::try_parse_from(line).map_err(|error| Failure::input(error.to_string()))?;
    run::run(&line.args.of_text(text))
}
