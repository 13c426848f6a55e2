//! The commands of the program `offered`, one module each.
//!
//! Results go to stdout; progress and warnings go to stderr. An error is one line on stderr that names the next step.

#![allow(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    rustdoc::broken_intra_doc_links,
    reason = "doc comments of arguments are help texts: [server] is a TOML table"
)]
#![deny(clippy::print_stdout, clippy::print_stderr)] // out! and status! survive a closed pipe and a full disk

mod calibrate;
mod capacity;
mod compare;
mod completions;
mod conventions;
mod csv;
mod demo;
mod exit;
mod export;
mod failure;
mod fit;
mod import;
mod init;
mod input_file;
mod kubernetes;
mod llm;
mod logs;
mod man;
mod messages;
mod object_store;
mod observe;
mod output;
mod placeholders;
mod plan;
mod progress;
mod push;
mod replay_notes;
mod report;
mod result_files;
mod run;
mod schema;
mod screen;
mod serve;
mod signals;
mod simulate;
mod sweep;
mod table;
mod token_facts;
mod tolerance;
mod trust;
mod verdict_lines;
mod verify;
mod version;
mod watch;
mod workload_file;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::Exit;
use failure::Failure;

/// The arguments of the program.
#[derive(Parser)]
#[command(
    name = "offered",
    about = "A load generator that sends requests exactly when they are scheduled, and proves it.",
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    override_usage = "offered <COMMAND>"
)]
struct Cli {
    /// Print version
    #[arg(short = 'V', long)]
    version: bool,
    /// With --version: print a JSON document with commit, target and features
    #[arg(long, requires = "version")]
    json: bool,
    /// `None` only with `--version`.
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Plan a load test: users, think times, rates and expected response times
    #[command(subcommand)]
    Plan(plan::PlanCommand),
    Init(init::Args),
    Simulate(simulate::Args),
    Run(Box<run::Args>),
    Llm(llm::Args),
    Sweep(sweep::Args),
    Capacity(capacity::Args),
    Compare(compare::Args),
    Watch(watch::Args),
    Observe(observe::Args),
    Verify(verify::Args),
    Fit(fit::Args),
    Export(export::Args),
    Push(push::Args),
    Import(import::Args),
    Logs(logs::Args),
    Report(report::Args),
    Serve(serve::Args),
    Calibrate(calibrate::Args),
    Kubernetes(kubernetes::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Man(man::Args),
    Demo(demo::Args),
}

/// The program: parses the arguments of the process, runs the command, and returns the exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let Some(command) = cli.command else {
        version::print(cli.json);
        return ExitCode::SUCCESS;
    };
    let result: Result<Exit, Failure> = match command {
        Command::Init(args) => init::run(&args),
        Command::Plan(command) => plan::run(command),
        Command::Simulate(args) => simulate::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Llm(args) => llm::run(&args),
        Command::Capacity(args) => capacity::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Observe(args) => observe::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Push(args) => push::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Logs(args) => logs::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Serve(args) => serve::run(args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Kubernetes(args) => kubernetes::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Demo(args) => demo::run(&args),
    };
    exit::code(result)
}
