//! `offered plan emulate`: users and think time by Principle A, and a workload or script with them.

use std::path::{Path, PathBuf};

use clap::{Args as Arguments, ValueEnum};
use offered_base::{Nanos, Rate};
use offered_distributions::Distribution;
use offered_import::scripts;
use offered_plan::document::emulate::{self, Question, Users};
use offered_plan::document::{self, FewerUsers};
use offered_plan::emulate::Emulation;
use offered_schedule::{Closed, Sessions};
use offered_workload::{Draft, Request, Target, Url, Workload};

use super::{per_second, prose, seconds, share, users};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out, status};
use crate::table::Table;
use crate::workload_file;
use offered_report::format::{duration, number, percent, rate};

#[derive(Arguments)]
pub(crate) struct Args {
    /// Workload file with the requests and the target
    workload: Option<PathBuf>,
    /// Target rate of requests, for example 31.73/s
    #[arg(long, allow_hyphen_values = true, required_unless_present = "load")]
    rate: Option<Rate>,
    /// Target utilisation of the bottleneck, instead of --rate
    #[arg(long, allow_hyphen_values = true, conflicts_with = "rate", requires = "bottleneck", value_parser = super::load)]
    load: Option<f64>,
    /// Expected mean response time at that rate, for example 53ms
    #[arg(long, allow_hyphen_values = true)]
    response: Nanos,
    /// Service time per request of the slowest server (S_max), if known
    #[arg(long, allow_hyphen_values = true)]
    bottleneck: Option<Nanos>,
    /// Number of users
    #[arg(long, allow_hyphen_values = true, conflicts_with = "rort", value_parser = users)]
    users: Option<u64>,
    /// Maximum share of time that users wait for responses, R/(R+Z); determines the number of users
    #[arg(long, allow_hyphen_values = true, default_value = "3%", value_parser = share)]
    rort: f64,
    /// Think time distribution
    #[arg(long, value_enum, default_value_t = Think::Uniform)]
    think_distribution: Think,
    /// Write a script for this tool instead of a workload
    #[arg(long = "for", value_enum)]
    tool: Option<Tool>,
    /// File for the script or workload
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Target URL of the script or workload
    #[arg(long, conflicts_with = "workload")]
    url: Option<Url>,
    /// Duration of the script or workload
    #[arg(long, allow_hyphen_values = true, default_value = "25m")]
    duration: Nanos,
    /// Ramp-up time of the users [default: one think time]
    #[arg(long, allow_hyphen_values = true)]
    ramp: Option<Nanos>,
    /// Print one JSON document (schema offered.plan.emulate/1)
    #[arg(long, conflicts_with = "tool")]
    json: bool,
}

/// A tool for which scripts can be written.
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

/// A think time distribution; its mean Z is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Think {
    /// Uniform from 0 to 2Z
    Uniform,
    /// Exponential with mean Z
    Exponential,
    /// Constant Z
    Constant,
    /// JMeter's Poisson timer: Poisson-distributed milliseconds, nearly constant
    Poisson,
}

impl Think {
    /// The name on the command line.
    fn name(self) -> String {
        self.to_possible_value().expect("no variant is skipped").get_name().to_owned()
    }

    /// The constructor of the distribution, given the mean in seconds.
    fn law(self) -> emulate::Think {
        match self {
            Self::Uniform => |mean| Distribution::uniform(0.0, 2.0 * mean),
            Self::Exponential => Distribution::exponential,
            Self::Constant => Distribution::constant,
            Self::Poisson => Distribution::poisson_millis,
        }
    }

    /// The distribution in scripts for other tools.
    fn in_scripts(self) -> Result<scripts::ThinkShape, Failure> {
        match self {
            Self::Uniform => Ok(scripts::ThinkShape::Uniform),
            Self::Exponential => Ok(scripts::ThinkShape::Exponential),
            Self::Constant => Ok(scripts::ThinkShape::Constant),
            Self::Poisson => Err(Failure::input(
                "JMeter's Poisson timer is nearly constant, so arrivals are not Poisson; use --think-distribution uniform or \
                 exponential",
            )),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let bottleneck = args.bottleneck.map(seconds);
    let wanted_rate = match (args.rate, args.load, bottleneck) {
        (Some(rate), ..) => per_second(rate),
        (None, Some(load), Some(slowest)) => offered_plan::load::open_rate(load, 1, slowest)?,
        _ => return Err(Failure::input("the target rate is missing; add --rate, or --load with --bottleneck")),
    };
    if let Some(slowest) = bottleneck.filter(|slowest| seconds(args.response) < *slowest) {
        return Err(Failure::input(format!(
            "--response {} is shorter than the service demand of the bottleneck, {}; a response includes all service times",
            args.response,
            duration(slowest)
        )));
    }
    let question = Question {
        rate: wanted_rate,
        response: seconds(args.response),
        bottleneck,
        users: args.users.map_or(Users::MaxRort(args.rort), Users::Fixed),
        distribution: &args.think_distribution.name(),
        think: args.think_distribution.law(),
    };
    let result = emulate::emulate(&question)?;
    if args.tool.is_some() || args.output.is_some() {
        return OutputFile { args, emulation: result.emulation }.write();
    }
    if args.json {
        json(&result.document);
    } else {
        print(&result.document);
    }
    Ok(Exit::Done)
}

fn print(result: &document::Emulation) {
    let line = |name: &str, value: String, note: &str| {
        out!("{}", format!("{name:<24}{value:>12}  {note}").trim_end());
    };
    line("users N", result.users.to_string(), "");
    line("think time Z", duration(result.think_s), &format!("mean; {}", result.think_distribution));
    line("N/Z", rate(result.ratio_per_s), "");
    line("expected Q", number(result.concurrency), "Q = lambda R");
    line("expected rate", rate(result.rate_per_s), "lambda = N/Z - Q/Z");
    line("RoRT", percent(result.rort), "R / (R + Z)");
    let (exact, note) = result.exact_think_s.map_or(("-".to_owned(), "too few users for this response time"), |z| {
        (duration(z), "think time, if R does not change")
    });
    line(&format!("for {} exactly", rate(result.target.rate_per_s)), exact, note);
    out!("\nrequests                 CoV of gaps  dispersion of counts over long windows");
    line("without queueing", format!("{:.4}", result.cov), &format!("{:>11.4}", result.dispersion));
    let queueing = &result.with_queueing;
    line("with queueing", format!("{:.4}", queueing.cov), &format!("{:>11.4}", queueing.dispersion));
    let (service, load) = (duration(queueing.service_s), number(queueing.load));
    prose(&format!("With queueing: M/M/1/N/N, S = {service}, load {load}, exponential think times."));
    prose(
        "Both are 1 for web traffic. A CoV near 1 does not prove Poisson arrivals: the dispersion shows correlation between gaps.",
    );

    if !result.fewer_users.is_empty() {
        out!("\nwith fewer users at the same N/Z");
        let mut table = Table::new(["users", "think", "rate", "RoRT", "CoV"]);
        for FewerUsers { users, think_s, rate_per_s, rort, cov, .. } in &result.fewer_users {
            table.row([users.to_string(), duration(*think_s), rate(*rate_per_s), percent(*rort), format!("{cov:.4}")]);
        }
        out!(no newline: "{table}");
    }
    let twice = &result.if_response_doubles;
    let [unchanged, restored] = [twice.rate_unchanged_plan_per_s, twice.rate_per_s].map(rate);
    let (users, think) = (twice.users, duration(twice.think_s));
    out!("");
    prose(&format!(
        "if the response time doubles: this plan sends {unchanged}; N = {users} and Z = {think} restore {restored} and the RoRT"
    ));
}

/// A script or workload file to write.
struct OutputFile<'a> {
    args: &'a Args,
    emulation: Emulation,
}

impl OutputFile<'_> {
    /// Writes the script or the workload to `--output` or to stdout.
    fn write(&self) -> Result<Exit, Failure> {
        let workload = self.requests_and_target()?;
        let target = workload.target().expect("checked by requests_and_target");
        let ramp = self.args.ramp.unwrap_or(Nanos::from_secs(self.emulation.think.ceil() as u64));
        if ramp * 2 >= self.args.duration {
            return Err(Failure::input(format!(
                "the ramp-up of {ramp} is more than half of --duration {}; use a longer --duration or a shorter --ramp",
                self.args.duration
            )));
        }
        let emulation = scripts::Emulation {
            url: target.url().clone(),
            requests: workload.requests().to_vec(),
            users: self.emulation.users,
            think: self.emulation.think,
            rate: self.emulation.rate,
            ratio: self.emulation.ratio,
            ramp,
            duration: self.args.duration,
        };
        let text = match self.args.tool {
            Some(tool) => emulation.script(tool.into(), self.args.think_distribution.in_scripts()?).map_err(
                |error| match error {
                    scripts::Error::UnixSocket { .. } => {
                        Failure::input(format!("{error}; use an http:// URL, or omit --for to write a workload"))
                    }
                },
            )?,
            None => emulation.workload_text(&workload, self.args.think_distribution.law()(self.emulation.think)?)?,
        };
        match &self.args.output {
            None => out!(no newline: "{text}"),
            Some(path) => {
                std::fs::write(path, text)
                    .map_err(|e| Failure::stopped(format!("cannot write {}: {e}", path.display())))?;
                status!("wrote {}", path.display());
            }
        }
        Ok(Exit::Done)
    }

    /// A workload with the target and the requests: from the file, or from `--url`.
    fn requests_and_target(&self) -> Result<Workload, Failure> {
        let Some(path) = &self.args.workload else {
            let url = self.args.url.clone().ok_or_else(|| {
                Failure::input("no target: add --url http://127.0.0.1:8080/, or a workload file with a [target]")
            })?;
            let users =
                Sessions::Closed(Closed::new(self.emulation.users, Distribution::constant(self.emulation.think)?)?);
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
                "{path} has [[flow]]s, which cannot be translated into a script; remove the flows, or use `offered run`"
            )));
        }
        if workload.target().is_none() {
            return Err(Failure::input(format!(
                "{path} has no [target]; add [target] url = \"http://127.0.0.1:8080/\""
            )));
        }
        if let (Some(_), Some(request)) = (self.args.tool, workload.requests().iter().find(|r| r.one_of().is_some())) {
            return Err(Failure::input(format!(
                "{path}: the request `{}` uses a catalogue, which cannot be translated into a script; use `offered run`",
                request.name()
            )));
        }
        if workload.is_scripted() {
            return Err(Failure::input(format!(
                "{path} has cookies, variables or checks, which cannot be translated into a script; remove these keys"
            )));
        }
        Ok(workload)
    }
}

/// Reads a workload file.
pub(super) fn read_workload(path: &Path) -> Result<Workload, Failure> {
    let input = workload_file::read(path)?;
    input.parse(&input.text).map_err(Failure::input)
}
