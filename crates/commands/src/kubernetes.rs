//! `offered kubernetes`: prints, or runs, the manifests of a run with many workers.

#[cfg(feature = "kubernetes")]
mod remote;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use offered_base::Nanos;
use offered_cluster::manifests::{
    Error, JobSettings, Manifests, Placement, RUNS_PATH, Rendezvous, ResourceKind, Toleration, Volume, WORKLOAD_PATH,
    Warning, annotation, label, storage_size,
};
use offered_experiment::is_object_store_url;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{out, status};
use crate::trust::CommandsFlag;
use crate::workload_file;

const EXAMPLES: &str = "\
Examples:
  Eight workers that share a persistent volume
    offered kubernetes shop.toml --workers 8 --pvc runs | kubectl apply -f -
  Each worker on its own node, with four CPUs
    offered kubernetes shop.toml --workers 8 --pvc runs --spread host --cpus 4
  The next run, with a new name, which is also its directory
    offered kubernetes shop.toml --workers 8 --pvc runs --name shop-2
  Run it from here and fetch the result
    offered kubernetes shop.toml --workers 8 --pvc runs --run -o runs/1
  In a bucket instead of a volume
    offered kubernetes shop.toml --workers 8 --rendezvous s3://bucket/run7 \\
      --credentials aws

  On nodes that are reserved for load generators
    offered kubernetes shop.toml --workers 8 --pvc runs --node-selector pool=load \\
      --toleration dedicated=load:NoSchedule

To wait for the end of a Job, whether it succeeds or fails:
  until kubectl get job shop -o 'jsonpath={.status.conditions[*].type}' |
    grep -qwE 'Complete|Failed'; do sleep 5; done
With --pvc, the run is in the volume, in a directory with the name of the run:
  offered verify /runs/shop
A run in a bucket can be read from anywhere: offered verify s3://bucket/run7
The Secret with the credentials of the bucket:
  kubectl create secret generic aws --from-literal=AWS_ACCESS_KEY_ID=...

Exit codes: 0 done; 1 could not continue; 2 wrong input; with --run also 3 the
run is invalid and 99 a threshold failed.";

/// Run a workload with many workers on Kubernetes, or print the manifests
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Workload file; the files that it names are included
    workload: PathBuf,
    /// Number of workers
    #[arg(long, value_name = "N")]
    workers: u32,
    /// PersistentVolumeClaim that the workers share for their start and recordings; each must be able to mount it
    #[arg(long, value_name = "NAME", required_unless_present = "rendezvous")]
    pvc: Option<String>,
    /// Bucket URL that the workers share instead of --pvc; use a new URL for each run
    #[arg(long, value_name = "URL", conflicts_with = "pvc")]
    rendezvous: Option<PathBuf>,
    /// Secret with the bucket's credentials, as environment variables [default: the node's role]
    #[arg(long, value_name = "NAME", requires = "rendezvous")]
    credentials: Option<String>,
    /// Give up an upload to the bucket after this time without progress, counted from the end of the run
    #[arg(long, value_name = "TIME", requires = "rendezvous", default_value = "5m")]
    upload_timeout: Nanos,
    /// Keep each worker's recording in a volume of this size until the Job is deleted [default: no volume]
    #[arg(long, value_name = "SIZE", requires = "rendezvous", value_parser = storage_size)]
    storage: Option<String>,
    /// Storage class of the volumes of --storage [default: the cluster's]
    #[arg(long, value_name = "NAME", requires = "storage")]
    storage_class: Option<String>,
    /// Service account of the workers [default: the namespace's]
    #[arg(long, value_name = "NAME")]
    service_account: Option<String>,
    /// Name of the Job and of the run's directory [default: the name of the workload file]
    #[arg(long)]
    name: Option<String>,
    /// Container image with `offered`, built from the Dockerfile
    #[arg(long, default_value = concat!("offered:", env!("CARGO_PKG_VERSION")))]
    image: String,
    /// Whole CPUs per worker, not shared
    #[arg(long, value_name = "N", default_value_t = 2)]
    cpus: u32,
    /// Memory per worker, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    memory: u32,
    /// Placement of the workers
    #[arg(long, value_enum, default_value_t = Spread::Any)]
    spread: Spread,
    #[command(flatten)]
    placement: PlacementFlags,
    /// Maximum time that workers wait for each other
    #[arg(long, value_name = "TIME", default_value = "5m")]
    wait: Nanos,
    /// Time limit of the Job [default: the sum of the duration, --wait, --upload-timeout and 5 minutes]
    #[arg(long, value_name = "TIME")]
    deadline: Option<Nanos>,
    /// Delete the Job, its pods and its logs this time after its end [default: never; with --run 1h]
    #[arg(long, value_name = "TIME")]
    ttl: Option<Nanos>,
    /// Secret with the workload's environment variables and client key [default: --name]
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
    /// Run in kubectl's current cluster, fetch and verify the result, and clean up
    #[arg(long, requires = "output")]
    run: bool,
    /// Record the run in this new directory
    #[arg(short, long, value_name = "DIR", requires = "run")]
    output: Option<PathBuf>,
    /// Context of kubectl's configuration [default: the current one]
    #[arg(long, value_name = "NAME", requires = "run")]
    context: Option<String>,
    #[command(flatten)]
    commands: CommandsFlag,
}

/// Where the objects of a run are created, and where its pods may run.
#[derive(clap::Args)]
struct PlacementFlags {
    /// Namespace of all objects [default: kubectl's]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Label that the nodes of the workers must have (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    node_selector: Vec<(String, String)>,
    /// Taint that the workers tolerate (repeatable)
    #[arg(long, value_name = "KEY=VALUE:EFFECT")]
    toleration: Vec<Toleration>,
    /// Secret with the credentials of the image registry (repeatable)
    #[arg(long, value_name = "NAME")]
    pull_secret: Vec<String>,
    /// Label of all objects (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// Annotation of all objects (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = annotation)]
    annotation: Vec<(String, String)>,
}

impl PlacementFlags {
    fn placement(&self) -> Placement {
        Placement {
            namespace: self.namespace.clone(),
            labels: self.label.clone(),
            annotations: self.annotation.clone(),
            node_selector: self.node_selector.clone(),
            tolerations: self.toleration.clone(),
            pull_secrets: self.pull_secret.clone(),
        }
    }
}

/// Placement of the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Spread {
    /// Anywhere
    Any,
    /// Each worker on its own node
    Host,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.workload == Path::new("-") {
        return Err(Failure::input(
            "stdin is not supported: give a workload file in the directory of the files that it names",
        ));
    }
    let rendezvous = rendezvous(args)?;
    let source = workload_file::read(&args.workload)?;
    let access = source.local_access(&source.parse(&source.text).map_err(Failure::input)?);
    args.commands.check(&source, &access)?;
    let has_commands = !access.commands.is_empty();
    let plain = args.name.clone().unwrap_or_else(|| JobSettings::name_from(&args.workload));
    // Runs with the same workload need different directories in the claim.
    let name = if args.run && args.name.is_none() { format!("{plain}-{}", stamp()) } else { plain.clone() };
    let settings = JobSettings {
        secret: args.secret.clone().unwrap_or(plain),
        args: worker(args, &name, has_commands),
        // The reader pod needs a process that waits, and the image has only this program: an unreachable server.
        reader_args: ["serve", "--listen", "127.0.0.1:0", "--service", "constant:0ms"].map(str::to_owned).to_vec(),
        name,
        workers: args.workers,
        image: args.image.clone(),
        rendezvous,
        service_account: args.service_account.clone(),
        cpus: args.cpus,
        memory_mib: args.memory,
        one_per_node: args.spread == Spread::Host,
        placement: args.placement.placement(),
        ttl: args.ttl,
        wait: args.wait,
        deadline: args.deadline,
    };
    let manifests = settings.manifests(&args.workload).map_err(refusal)?;
    manifests.warnings.iter().for_each(|doubt| status!("warning: {}", warning_text(doubt)));
    if let Some(wanted) = wanted(&manifests, &settings.secret, args.placement.namespace.as_deref()) {
        status!("note: {wanted}");
    }
    match &args.output {
        Some(out) => run_in_cluster(args, &settings, &manifests, out),
        None => {
            out!(no newline: "{manifests}");
            Ok(Exit::Done)
        }
    }
}

/// Where the workers synchronise.
fn rendezvous(args: &Args) -> Result<Rendezvous, Failure> {
    match (&args.pvc, &args.rendezvous) {
        (Some(claim), _) => Ok(Rendezvous::Claim(claim.clone())),
        (None, Some(url)) if is_object_store_url(url) => Ok(Rendezvous::ObjectStore {
            credentials: args.credentials.clone(),
            volume: args.storage.clone().map(|size| Volume { size, class: args.storage_class.clone() }),
            upload_timeout: args.upload_timeout,
        }),
        (None, other) => {
            let other = other.as_deref().unwrap_or(Path::new("")).display();
            Err(Failure::input(format!(
                "--rendezvous {other}: pods cannot reach a directory of this machine; give a bucket URL (s3://bucket/run7) or --pvc NAME"
            )))
        }
    }
}

#[cfg(feature = "kubernetes")]
fn run_in_cluster(args: &Args, settings: &JobSettings, manifests: &Manifests, out: &Path) -> Result<Exit, Failure> {
    remote::run(&remote::RemoteRun {
        manifests,
        name: &settings.name,
        workers: settings.workers,
        wait: settings.wait,
        url: args.rendezvous.as_deref(),
        out,
        has_volumes: args.storage.is_some(),
        context: args.context.as_deref(),
        namespace: args.placement.namespace.as_deref(),
    })
}

#[cfg(not(feature = "kubernetes"))]
fn run_in_cluster(_: &Args, _: &JobSettings, _: &Manifests, _: &Path) -> Result<Exit, Failure> {
    Err(Failure::input(
        "this build has no --run: install with `cargo install --path crates/cli --features full`, or omit --run and \
         -o and pipe the manifests to `kubectl apply -f -`",
    ))
}

/// The time for a name: `1123-142507` is 23 November, 14:25:07.
fn stamp() -> String {
    let now = jiff::Timestamp::from_nanosecond(i128::from(offered_io::unix_now().0)).unwrap_or_default();
    now.strftime("%m%d-%H%M%S").to_string()
}

/// The command line of a worker; its index is in the environment. With `has_commands` it permits the commands of the
/// workload.
fn worker(args: &Args, name: &str, has_commands: bool) -> Vec<String> {
    let (workers, wait, timeout) = (args.workers.to_string(), args.wait.to_string(), args.upload_timeout.to_string());
    let claim = || (format!("{RUNS_PATH}/{name}"), Vec::new());
    let bucket = |url: &PathBuf| (url.display().to_string(), vec!["--upload-timeout", &timeout]);
    let (rendezvous, more) = args.rendezvous.as_ref().map_or_else(claim, bucket);
    let fixed = ["run", WORKLOAD_PATH, "--rendezvous", &rendezvous, "--workers", &workers, "--wait", &wait];
    let all = fixed.into_iter().chain(more).chain(has_commands.then_some(CommandsFlag::NAME));
    all.map(str::to_owned).collect()
}

/// The error, prefixed with the flag that caused it.
fn refusal(error: Error) -> Failure {
    let flag = match &error {
        Error::InvalidName { kind: ResourceKind::Job, .. } => "--name: ",
        Error::InvalidName { kind: ResourceKind::Secret, .. } => "--secret: ",
        Error::InvalidName { kind: ResourceKind::Image, .. } => "--image: ",
        Error::InvalidName { kind: ResourceKind::Claim, .. } => "--pvc: ",
        Error::InvalidName { kind: ResourceKind::Credentials, .. } => "--credentials: ",
        Error::InvalidName { kind: ResourceKind::ServiceAccount, .. } => "--service-account: ",
        Error::InvalidName { kind: ResourceKind::Namespace, .. } => "--namespace: ",
        Error::InvalidName { kind: ResourceKind::PullSecret, .. } => "--pull-secret: ",
        Error::InvalidName { kind: ResourceKind::StorageClass, .. } => "--storage-class: ",
        Error::TooManyWorkers { .. } => "--workers: ",
        Error::NoDeadline | Error::DeadlineTooShort { .. } => "--deadline: ",
        _ => "",
    };
    Failure::input(format!("{flag}{error}"))
}

fn warning_text(warning: &Warning) -> String {
    match warning {
        Warning::LoopbackTarget { url } => {
            format!("in the cluster, {url} is the worker's own pod; use the address of a Service as target")
        }
        Warning::TooLargeToApply { bytes } => {
            format!("the files ({bytes} bytes) are too large for `kubectl apply`; use `kubectl create -f -`")
        }
        Warning::NeedsProgram { name } => format!("the workload runs the program {name}; the image must contain it"),
    }
}

/// The command that creates the Secret; `None` if the workload needs none.
fn wanted(manifests: &Manifests, secret: &str, namespace: Option<&str>) -> Option<String> {
    let literals = manifests.environment.iter().map(|name| format!("--from-literal={name}=..."));
    let file = manifests.key.as_ref().map(|(key, file)| format!("--from-file={key}={file}"));
    let wanted: Vec<String> = literals.chain(file).collect();
    let namespace = namespace.map_or_else(String::new, |namespace| format!(" --namespace {namespace}"));
    (!wanted.is_empty()).then(|| {
        format!(
            "the workload needs the Secret {secret}: kubectl create secret generic {secret}{namespace} {}",
            wanted.join(" ")
        )
    })
}
