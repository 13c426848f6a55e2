//! `offered kubernetes`: a run of many workers, as manifests for a cluster.

#[cfg(feature = "kubernetes")]
mod placed;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use offered_experiment::is_in_store;
use offered_experiment::kubernetes::{Cluster, Doubt, Error, Manifests, Meets, Named, RUNS, WORKLOAD};
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

  offered kubernetes shop.toml --workers 8 --pvc runs --run --out runs/1       and have the result here
  offered kubernetes shop.toml --workers 8 --meet s3://bucket/run7 --credentials aws      in a bucket, without a claim

The workers meet in a folder of the claim, which has the name of the run. Without --run, when they are done, mount the claim wherever offered is:
  offered verify /runs/shop
What is in a bucket is read anywhere: offered verify s3://bucket/run7. The Secret that opens it:
  kubectl create secret generic aws --from-literal=AWS_ACCESS_KEY_ID=... and so on

Exit codes: 0 done; 1 could not go on; 2 wrong input; with --run also 3 done, but do not believe the result, and 99 a threshold was not kept.";

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
    #[arg(long, value_name = "NAME", required_unless_present = "meet")]
    pvc: Option<String>,
    /// The URL of an object store under which the workers meet instead, and keep what they launched; each run wants its own
    #[arg(long, value_name = "URL", conflicts_with = "pvc")]
    meet: Option<PathBuf>,
    /// The Secret whose keys are what opens the object store, all of which each worker has in its environment; none is needed where the nodes,
    /// or the service account, have a role
    #[arg(long, value_name = "NAME", requires = "meet")]
    credentials: Option<String>,
    /// The service account of the workers [default: the namespace's]
    #[arg(long, value_name = "NAME")]
    service_account: Option<String>,
    /// What the Job is called, and the folder of the run in the claim [default: the workload's file; with --run the time is added]
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
    /// The Secret that holds what the workload reads from its environment, and the key of its client certificate [default: the workload's file, or --name]
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
    /// Place the run in the cluster that kubectl would talk to, follow it, bring the result here, judge it, and leave nothing else there;
    /// Ctrl-C ends the workers first (built with --features kubernetes, as the image is)
    #[arg(long, requires = "out")]
    run: bool,
    /// Write the run to this new directory
    #[arg(long, value_name = "DIR", requires = "run")]
    out: Option<PathBuf>,
    /// Another context of kubectl's configuration than the current one
    #[arg(long, value_name = "NAME", requires = "run")]
    context: Option<String>,
    /// Another namespace than the context's
    #[arg(long, value_name = "NAME", requires = "run")]
    namespace: Option<String>,
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
    let meets = match (&args.pvc, &args.meet) {
        (Some(claim), _) => Meets::Claim(claim.clone()),
        (None, Some(url)) if is_in_store(url) => Meets::Store { credentials: args.credentials.clone() },
        (None, other) => {
            let other = other.as_deref().unwrap_or(Path::new("")).display();
            return Err(Failure::input(format!(
                "--meet {other}: pods reach no folder of this machine; give a URL of an object store (s3://bucket/run7), or a claim with --pvc"
            )));
        }
    };
    let plain = args.name.clone().unwrap_or_else(|| Cluster::name_of(&args.workload));
    // One after another, into one claim.
    let name = if args.run && args.name.is_none() { format!("{plain}-{}", stamp()) } else { plain.clone() };
    let cluster = Cluster {
        secret: args.secret.clone().unwrap_or(plain),
        args: worker(args, &name),
        // In an image of one program something of it has to wait: a server, which nobody can reach.
        waiting: ["serve", "--listen", "127.0.0.1:0", "--service", "constant:0ms"].map(str::to_owned).to_vec(),
        name,
        workers: args.workers,
        image: args.image.clone(),
        meets,
        service_account: args.service_account.clone(),
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
    match &args.out {
        Some(out) => placed(args, &cluster, &manifests, out),
        None => {
            say!(no newline: "{manifests}");
            Ok(Exit::Done)
        }
    }
}

#[cfg(feature = "kubernetes")]
fn placed(args: &Args, cluster: &Cluster, manifests: &Manifests, out: &Path) -> Result<Exit, Failure> {
    placed::run(&placed::Task {
        manifests,
        name: &cluster.name,
        workers: cluster.workers,
        wait: cluster.wait,
        url: args.meet.as_deref(),
        out,
        context: args.context.as_deref(),
        namespace: args.namespace.as_deref(),
    })
}

#[cfg(not(feature = "kubernetes"))]
fn placed(_: &Args, _: &Cluster, _: &Manifests, _: &Path) -> Result<Exit, Failure> {
    Err(Failure::input(
        "--run is not part of this offered: build it with cargo install --path crates/cli --features full, or leave --run and \
         --out away and hand what is printed to kubectl apply -f -",
    ))
}

/// The time, for a name: `1123-142507` on 23 November.
fn stamp() -> String {
    let now = jiff::Timestamp::from_nanosecond(i128::from(offered_clock::unix_now().0)).unwrap_or_default();
    now.strftime("%m%d-%H%M%S").to_string()
}

/// The command line of a worker, whose number is in its environment.
fn worker(args: &Args, name: &str) -> Vec<String> {
    let meet = args.meet.as_ref().map_or_else(|| format!("{RUNS}/{name}"), |url| url.display().to_string());
    let (workers, wait) = (args.workers.to_string(), args.wait.to_string());
    ["run", WORKLOAD, "--meet", &meet, "--workers", &workers, "--wait", &wait].map(str::to_owned).to_vec()
}

/// What is said of flags is said here.
fn refusal(error: Error) -> Failure {
    let flag = match &error {
        Error::Name { what: Named::Job, .. } => "--name: ",
        Error::Name { what: Named::Secret, .. } => "--secret: ",
        Error::Name { what: Named::Image, .. } => "--image: ",
        Error::Name { what: Named::Claim, .. } => "--pvc: ",
        Error::Name { what: Named::Credentials, .. } => "--credentials: ",
        Error::Name { what: Named::ServiceAccount, .. } => "--service-account: ",
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
