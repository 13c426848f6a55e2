//! `offered plan emulate`: Principle A, and the ready workload or script that does it.

use std::path::{Path, PathBuf};

use clap::{Args as Arguments, ValueEnum};
use offered_experiment::document::plan::{self, Fewer};
use offered_experiment::plan::emulate::{self, Question, Users};
use offered_import::scripts;
use offered_model::workload::{Closed, Draft, Request, Sessions, Target, Url, Workload};
use offered_model::{Law, Nanos, Rate};
use offered_plan::emulate::Emulation;

use super::figures::{figure, percent, rate, time};
use super::{per_second, seconds, share, users};
use crate::exit::{Exit, Failure};
use crate::input;
use crate::say::{json, say, tell};
use crate::table::Table;

#[derive(Arguments)]
pub(crate) struct Args {
    /// Take the requests and the target from this workload
    workload: Option<PathBuf>,
    /// Launches per second wanted, e.g. 31.73/s
    #[arg(long, allow_hyphen_values = true, required_unless_present = "load")]
    rate: Option<Rate>,
    /// Instead of a rate: this load of the bottleneck
    #[arg(long, allow_hyphen_values = true, conflicts_with = "rate", requires = "bottleneck", value_parser = super::load)]
    load: Option<f64>,
    /// Mean response time expected at that rate, e.g. 53ms
    #[arg(long, allow_hyphen_values = true)]
    response: Nanos,
    /// Service demand of the slowest station (`S_max`), if it is known
    #[arg(long, allow_hyphen_values = true)]
    bottleneck: Option<Nanos>,
    /// This many users
    #[arg(long, allow_hyphen_values = true, conflicts_with = "rort", value_parser = users)]
    users: Option<u64>,
    /// As many users as keep R/(R+Z) below this
    #[arg(long, allow_hyphen_values = true, default_value = "3%", value_parser = share)]
    rort: f64,
    /// The law of the think times
    #[arg(long, value_enum, default_value_t = Think::Uniform)]
    think_law: Think,
    /// Write a script for this tool
    #[arg(long = "for", value_enum)]
    tool: Option<Tool>,
    /// Write the script, or without --for a workload of ours, to this file
    #[arg(long)]
    out: Option<PathBuf>,
    /// What the script or workload asks for
    #[arg(long, conflicts_with = "workload")]
    url: Option<Url>,
    /// How long the script or workload runs
    #[arg(long, allow_hyphen_values = true, default_value = "25m")]
    duration: Nanos,
    /// Users start over this time [default: one think time]
    #[arg(long, allow_hyphen_values = true)]
    ramp: Option<Nanos>,
    /// Print one JSON document
    #[arg(long, conflicts_with = "tool")]
    json: bool,
}

/// A tool that people already have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tool {
    /// Apache JMeter 5.6, a .jmx test plan
    Jmeter,
    /// Grafana k6, a JavaScript module
    K6,
    /// Locust, a Python file
    Locust,
    /// Gatling, a Java simulation
    Gatling,
    /// wrk2, a Lua script
    Wrk2,
}

impl From<Tool> for scripts::Tool {
    fn from(tool: Tool) -> Self {
        match tool {
            Tool::Jmeter => Self::Jmeter,
            Tool::K6 => Self::K6,
            Tool::Locust => Self::Locust,
            Tool::Gatling => Self::Gatling,
            Tool::Wrk2 => Self::Wrk2,
        }
    }
}

/// A law of think times; its mean is solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Think {
    /// Between 0 and 2Z
    Uniform,
    /// Exponential of mean Z
    Exponential,
    /// Always Z
    Constant,
    /// JMeter's Poisson timer: a Poisson count of milliseconds, nearly constant
    Poisson,
}

impl Think {
    /// As it is written on the command line.
    fn name(self) -> String {
        self.to_possible_value().expect("each may be given").get_name().to_owned()
    }

    /// Itself, of a mean in seconds.
    fn law(self) -> emulate::Think {
        match self {
            Self::Uniform => |mean| Law::uniform(0.0, 2.0 * mean),
            Self::Exponential => Law::exponential,
            Self::Constant => Law::constant,
            Self::Poisson => Law::poisson_millis,
        }
    }

    /// As scripts for other tools can draw it.
    fn in_scripts(self) -> Result<scripts::Think, Failure> {
        match self {
            Self::Uniform => Ok(scripts::Think::Uniform),
            Self::Exponential => Ok(scripts::Think::Exponential),
            Self::Constant => Ok(scripts::Think::Constant),
            Self::Poisson => Err(Failure::input(
                "a Poisson timer draws a Poisson count of milliseconds, which is nearly constant and no Poisson process; \
                 take --think-law uniform or exponential",
            )),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let bottleneck = args.bottleneck.map(seconds);
    let wanted_rate = match (args.rate, args.load, bottleneck) {
        (Some(rate), ..) => per_second(rate),
        (None, Some(load), Some(slowest)) => offered_plan::load::open_rate(load, 1, slowest)?,
        _ => return Err(Failure::input("give --rate, or --load with --bottleneck")),
    };
    if let Some(slowest) = bottleneck.filter(|slowest| seconds(args.response) < *slowest) {
        return Err(Failure::input(format!(
            "a response of {} is shorter than the bottleneck's own {}; a response includes all service",
            args.response,
            time(slowest)
        )));
    }
    let question = Question {
        rate: wanted_rate,
        response: seconds(args.response),
        bottleneck,
        users: args.users.map_or(Users::Rort(args.rort), Users::These),
        law: &args.think_law.name(),
        think: args.think_law.law(),
    };
    let answer = emulate::emulate(&question)?;
    if args.tool.is_some() || args.out.is_some() {
        return Emulated { args, emulation: answer.emulation }.write();
    }
    if args.json {
        json(&answer.document);
    } else {
        print(&answer.document);
    }
    Ok(Exit::Done)
}

fn print(answer: &plan::Emulation) {
    let line = |name: &str, value: String, note: &str| {
        say!("{}", format!("{name:<24}{value:>12}  {note}").trim_end());
    };
    line("users N", answer.users.to_string(), "");
    line("think time Z", time(answer.think_s), &format!("mean; {} law", answer.think_law));
    line("N/Z", rate(answer.ratio_per_s), "");
    line("expected Q", figure(answer.concurrency), "Q = lambda R");
    line("expected rate", rate(answer.rate_per_s), "lambda = N/Z - Q/Z");
    line("RoRT", percent(answer.rort), "R / (R + Z)");
    let (exact, note) = answer
        .exact_think_s
        .map_or(("-".to_owned(), "too few users at this response"), |z| (time(z), "think time, if R stays as it is"));
    line(&format!("for {} exactly", rate(answer.wanted.rate_per_s)), exact, note);
    say!(
        "\nlaunches                 CoV of gaps  dispersion of counts over long windows (both are 1 for the open web)"
    );
    line("nothing queues", format!("{:.4}", answer.cov), &format!("{:>11.4}", answer.dispersion));
    let queueing = &answer.with_queueing;
    let note = format!(
        "{:>11.4}  M/M/1/N/N, S = {}, load {}, exponential think times",
        queueing.dispersion,
        time(queueing.service_s),
        figure(queueing.load)
    );
    line("with its queue", format!("{:.4}", queueing.cov), &note);
    say!("A CoV near 1 does not make the launches Poisson: the dispersion shows what the gaps hide.");

    if !answer.fewer_users.is_empty() {
        say!("\nwith fewer users at the same N/Z");
        let mut table = Table::new(["users", "think", "rate", "RoRT", "CoV"]);
        for Fewer { users, think_s, rate_per_s, rort, cov, .. } in &answer.fewer_users {
            table.row([users.to_string(), time(*think_s), rate(*rate_per_s), percent(*rort), format!("{cov:.4}")]);
        }
        say!(no newline: "{table}");
    }
    let twice = &answer.if_response_doubles;
    say!(
        "\nif the response doubles: this plan launches {}; N = {} with Z = {} keeps {} and the RoRT",
        rate(twice.rate_unchanged_plan_per_s),
        twice.users,
        time(twice.think_s),
        rate(twice.rate_per_s)
    );
}

/// What is written for somebody to run.
struct Emulated<'a> {
    args: &'a Args,
    emulation: Emulation,
}

impl Emulated<'_> {
    /// Writes the script or the workload, to `--out` or to stdout.
    fn write(&self) -> Result<Exit, Failure> {
        let asked = self.what_to_ask()?;
        let target = asked.target().expect("what is asked has a target");
        let ramp = self.args.ramp.unwrap_or(Nanos::from_secs(self.emulation.think.ceil() as u64));
        if ramp * 2 >= self.args.duration {
            return Err(Failure::input(format!(
                "a ramp of {ramp} leaves too little of {}; make --duration longer than twice the ramp, or give a shorter --ramp",
                self.args.duration
            )));
        }
        let emulation = scripts::Emulation {
            url: target.url().clone(),
            requests: asked.requests().to_vec(),
            users: self.emulation.users,
            think: self.emulation.think,
            rate: self.emulation.rate,
            ratio: self.emulation.ratio,
            ramp,
            duration: self.args.duration,
        };
        let text = match self.args.tool {
            Some(tool) => {
                emulation.script(tool.into(), self.args.think_law.in_scripts()?).map_err(|error| match error {
                    scripts::Error::UnixSocket { .. } => {
                        Failure::input(format!("{error}; give an http:// URL, or write a workload without --for"))
                    }
                })?
            }
            None => emulation.workload_text(&asked, self.args.think_law.law()(self.emulation.think)?)?,
        };
        match &self.args.out {
            None => say!(no newline: "{text}"),
            Some(path) => {
                std::fs::write(path, text)
                    .map_err(|e| Failure::stopped(format!("cannot write {}: {e}", path.display())))?;
                tell!("wrote {}", path.display());
            }
        }
        Ok(Exit::Done)
    }

    /// A workload with the target and the requests.
    fn what_to_ask(&self) -> Result<Workload, Failure> {
        let Some(path) = &self.args.workload else {
            let url = self.args.url.clone().ok_or_else(|| {
                Failure::input("what should be asked? give --url http://127.0.0.1:8080/ or a workload with a [target]")
            })?;
            let users = Sessions::Closed(Closed::new(self.emulation.users, Law::constant(self.emulation.think)?)?);
            return Ok(Workload::new(Draft {
                requests: vec![Request::get(&url.path)],
                target: Some(Target::new(url)),
                ..Draft::new(users, self.args.duration)
            })?);
        };
        let workload = read_workload(path)?;
        let path = path.display();
        if workload.flows().is_some() {
            return Err(Failure::input(format!(
                "{path} has flows, which other tools' scripts are not made of here; take [[flow]] out, or run it with `offered run`"
            )));
        }
        if workload.target().is_none() {
            return Err(Failure::input(format!(
                "{path} has no [target]; add [target] url = \"http://127.0.0.1:8080/\""
            )));
        }
        if let (Some(_), Some(request)) = (self.args.tool, workload.requests().iter().find(|r| r.one_of().is_some())) {
            return Err(Failure::input(format!(
                "{path}: the request `{}` asks for the files of a catalogue, which a script for another tool would lose; run it with `offered run`",
                request.name()
            )));
        }
        if workload.is_scripted() {
            return Err(Failure::input(format!(
                "{path} has cookies, variables, checks or the like, which a script for another tool would lose; take them out"
            )));
        }
        Ok(workload)
    }
}

/// The workload in a file.
pub(super) fn read_workload(path: &Path) -> Result<Workload, Failure> {
    let input = input::read(path)?;
    input.parse(&input.text).map_err(Failure::input)
}
