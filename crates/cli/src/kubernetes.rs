//! `offered kubernetes`: a run of many workers, as manifests for a cluster.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use offered_experiment::kubernetes::{Cluster, Doubt, Error, Manifests, Named, RUNS, WORKLOAD};
use offered_model::Nanos;

use crate::exit::{Exit, Failure};
use crate::file;
use crate::say::{say, tell};

const EXAMPLES: &str = "\
Examples:
  offered kubernetes shop.toml --workers 8 --pvc runs | kubectl apply -f -
  offered kubernetes shop.toml --workers 8 --pvc runs --spread host --cpus 4      no two on one machine, four processors each
  offered kubernetes shop.toml --workers 8 --pvc runs --name shop-2               the next run: each has a name, and a folder, of its own
  offered kubernetes shop.toml --workers 8 --pvc runs --image registry.example.com/offered:1

The workers meet in a folder of the claim, which has the name of the run. When they are done, mount the claim wherever offered is:
  offered verify /runs/shop

Exit codes: 0 done; 2 wrong input.";

/// Print the manifests that run a workload with many workers on Kubernetes
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The workload; the files it names go with it
    workload: PathBuf,
    /// How many workers share the run
    #[arg(long, value_name = "N")]
    workers: u32,
    /// The volume claim in which the workers meet and keep what they launched; all of them must be able to mount it
    #[arg(long, value_name = "NAME")]
    pvc: String,
    /// What the Job is called, and the folder of the run in the claim [default: the workload's file]
    #[arg(long)]
    name: Option<String>,
    /// The image that holds offered: what docker build -t of the Dockerfile has made
    #[arg(long, default_value = concat!("offered:", env!("CARGO_PKG_VERSION")))]
    image: String,
    /// Whole processors for each worker, which are its own
    #[arg(long, value_name = "N", default_value_t = 2)]
    cpus: u32,
    /// Memory for each worker, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    memory: u32,
    /// Where workers are put
    #[arg(long, value_enum, default_value_t = Spread::Any)]
    spread: Spread,
    /// How long the workers wait for each other
    #[arg(long, value_name = "TIME", default_value = "5m")]
    wait: Nanos,
    /// When the Job is ended, whatever it does [default: duration, --wait and five minutes more]
    #[arg(long, value_name = "TIME")]
    deadline: Option<Nanos>,
    /// The Secret that holds what the workload reads from its environment, and the key of its client certificate [default: the name]
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
}

/// Where workers are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Spread {
    /// Where the scheduler finds room
    Any,
    /// Each on a machine of its own
    Host,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.workload == Path::new("-") {
        return Err(Failure::input("a workload is given as a file, beside which the files stand that it names"));
    }
    file::refuse(&args.workload, &[file::Kind::Workload])?;
    let name = args.name.clone().unwrap_or_else(|| Cluster::name_of(&args.workload));
    let cluster = Cluster {
        secret: args.secret.clone().unwrap_or_else(|| name.clone()),
        args: worker(args, &name),
        name,
        workers: args.workers,
        image: args.image.clone(),
        claim: args.pvc.clone(),
        cpus: args.cpus,
        memory_mib: args.memory,
        apart: args.spread == Spread::Host,
        wait: args.wait,
        deadline: args.deadline,
    };
    let manifests = cluster.manifests(&args.workload).map_err(refusal)?;
    manifests.doubts.iter().for_each(|doubt| tell!("warning: {}", of_doubt(doubt)));
    if let Some(wanted) = wanted(&manifests, &cluster.secret) {
        tell!("note: {wanted}");
    }
    say!(no newline: "{manifests}");
    Ok(Exit::Done)
}

/// The command line of a worker, whose number is in its environment.
fn worker(args: &Args, name: &str) -> Vec<String> {
    let (meet, workers, wait) = (format!("{RUNS}/{name}"), args.workers.to_string(), args.wait.to_string());
    ["run", WORKLOAD, "--meet", &meet, "--workers", &workers, "--wait", &wait].map(str::to_owned).to_vec()
}

/// What is said of flags is said here.
fn refusal(error: Error) -> Failure {
    let flag = match &error {
        Error::Name { what: Named::Job, .. } => "--name: ",
        Error::Name { what: Named::Secret, .. } => "--secret: ",
        Error::Name { what: Named::Image, .. } => "--image: ",
        Error::Name { what: Named::Claim, .. } => "--pvc: ",
        Error::Workers { .. } => "--workers: ",
        Error::NoDeadline | Error::Deadline { .. } => "--deadline: ",
        _ => "",
    };
    Failure::input(format!("{flag}{error}"))
}

fn of_doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::OwnPod { url } => {
            format!("{url} is, for a worker in a pod, that pod itself; give the address of a Service")
        }
        Doubt::TooBigToApply { bytes } => {
            format!("the files have {bytes} bytes, too many for `kubectl apply`; use `kubectl create -f -`")
        }
        Doubt::Program { name } => format!("the workload runs the program {name}, which the image must have"),
    }
}

/// What the Secret must hold, and how it is made.
fn wanted(manifests: &Manifests, secret: &str) -> Option<String> {
    let literals = manifests.environment.iter().map(|name| format!("--from-literal={name}=..."));
    let file = manifests.key.as_ref().map(|(key, file)| format!("--from-file={key}={file}"));
    let wanted: Vec<String> = literals.chain(file).collect();
    (!wanted.is_empty()).then(|| {
        format!("it takes values from the Secret {secret}: kubectl create secret generic {secret} {}", wanted.join(" "))
    })
}
