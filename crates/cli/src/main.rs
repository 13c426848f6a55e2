//! `offered`: plans, runs, verifies, simulates and explains offered load.
//!
//! One file per verb; this one is the table of contents. Results go to stdout, progress and warnings to stderr, and an error
//! is one line that says what to do.

#![allow(rustdoc::broken_intra_doc_links, reason = "the comments of arguments are their help: [server] is a table")]
#![deny(clippy::print_stdout, clippy::print_stderr)] // say! and tell! survive a closed pipe and a full disk

mod calibrate;
mod capacity;
mod conventions;
mod csv;
mod demo;
mod exit;
mod export;
mod file;
mod import;
mod input;
mod kubernetes;
mod logs;
mod news;
mod observe;
mod places;
mod plan;
mod replay;
mod report;
mod run;
mod say;
mod schema;
mod serve;
mod signals;
mod simulate;
mod stored;
mod sweep;
mod table;
mod tolerance;
mod verify;
mod watch;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::{Exit, Failure};

/// A load generator that launches what was meant, and proves it.
#[derive(Parser)]
#[command(name = "offered", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// The arithmetic of a load test before it is run
    #[command(subcommand)]
    Plan(plan::Question),
    Simulate(simulate::Args),
    Run(Box<run::Args>),
    Sweep(sweep::Args),
    Capacity(capacity::Args),
    Watch(watch::Args),
    Observe(observe::Args),
    Verify(verify::Args),
    Export(export::Args),
    Import(import::Args),
    Logs(logs::Args),
    Report(report::Args),
    Serve(serve::Args),
    Calibrate(calibrate::Args),
    Kubernetes(kubernetes::Args),
    Schema(schema::Args),
    Demo(demo::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let done: Result<Exit, Failure> = match cli.verb {
        Verb::Plan(question) => plan::run(question),
        Verb::Simulate(args) => simulate::run(&args),
        Verb::Run(args) => run::run(&args),
        Verb::Capacity(args) => capacity::run(&args),
        Verb::Sweep(args) => sweep::run(&args),
        Verb::Watch(args) => watch::run(&args),
        Verb::Observe(args) => observe::run(&args),
        Verb::Verify(args) => verify::run(&args),
        Verb::Export(args) => export::run(&args),
        Verb::Import(args) => import::run(&args),
        Verb::Logs(args) => logs::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Serve(args) => serve::run(args),
        Verb::Calibrate(args) => calibrate::run(&args),
        Verb::Kubernetes(args) => kubernetes::run(&args),
        Verb::Schema(args) => schema::run(&args),
        Verb::Demo(args) => demo::run(&args),
    };
    exit::code(done)
}
