//! A run of many workers on Kubernetes, as manifests: what `kubectl apply -f -` reads, and nothing that would have to be installed.
//!
//! A `ConfigMap` holds the workload and the files it names; an Indexed Job starts a worker for each number, which meet in a folder of
//! a `PersistentVolumeClaim` or of an object store. What the workload reads from its environment, and the key of a client certificate, come from a Secret
//! that is named and never read here.
//!
//! # Limitations
//! The claim has to be one that all nodes can mount (`ReadWriteMany`), unless all workers are on one. `podFailurePolicy` and
//! `backoffLimitPerIndex` want Kubernetes 1.29 or later.

mod packed;

use std::fmt;
use std::path::{Path, PathBuf};

use offered_model::Nanos;
use offered_model::workload::{Address, Workload};
use serde_json::{Value, json};

pub use packed::Packed;

/// The most bytes of a `ConfigMap`, over all its files (`MaxSecretSize` of its API).
pub const MOST_BYTES: usize = 1 << 20;
/// From so many bytes on `kubectl apply`, which writes what it applied into an annotation too, is refused (annotations hold 256 KiB,
/// and JSON needs more room than the bytes it holds): `kubectl create` is not.
pub const MOST_APPLIED: usize = 200 << 10;
/// The most workers of an Indexed Job whose numbers may fail by themselves.
pub const MOST_WORKERS: u32 = 100_000;
/// So often a worker that was killed is started again: it takes its part up from then on.
const RESTARTS: u32 = 2;
/// Room in a deadline for finding nodes, fetching the image, and judging what was launched.
const AROUND: Nanos = Nanos::from_secs(300);
/// Room after SIGTERM, beside what answers may take, for writing what is there.
const WRITING: Nanos = Nanos::from_secs(15);
/// A pod that reads a run is ended so long after its beginning, whoever has forgotten it.
const READING: Nanos = Nanos::from_secs(3600);
/// Mebibytes for it.
const READER_MIB: u32 = 128;
/// Who runs in the image of our Dockerfile: nobody that a machine knows.
const USER: u32 = 65532;

/// The workload, for a worker in its pod; the files that it names are beside it.
pub const WORKLOAD: &str = "/workload/workload.toml";
/// The claim, for a worker in its pod.
pub const RUNS: &str = "/runs";

/// Where a worker in its pod writes what is judged, or on its way into an object store.
const TEMPORARY: &str = "/tmp";

/// Where the workers of a run meet, and keep what they launch.
#[derive(Clone, Debug)]
pub enum Meets {
    /// In a claim of this name.
    Claim(String),
    /// In an object store, as its program is told.
    Store {
        /// The Secret that is the environment of a worker: the credentials and settings of the store. None are needed where the node, or the
        /// service account, has a role.
        credentials: Option<String>,
    },
}

/// How a run is placed in a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// What Job and `ConfigMap` are called.
    pub name: String,
    /// What each worker's program is told; it finds its workload at [`WORKLOAD`] and the claim at [`RUNS`].
    pub args: Vec<String>,
    /// What the program is told in the pod that reads a run: something that waits.
    pub waiting: Vec<String>,
    /// How many workers, from 1.
    pub workers: u32,
    /// The image that holds the program.
    pub image: String,
    /// Where they meet.
    pub meets: Meets,
    /// The service account of the workers, which may have a role of the cloud; else that of the namespace.
    pub service_account: Option<String>,
    /// Whole processors for each, which it alone has.
    pub cpus: u32,
    /// Mebibytes for each.
    pub memory_mib: u32,
    /// Whether no two may be on one machine.
    pub apart: bool,
    /// How long they wait for each other.
    pub wait: Nanos,
    /// When the Job is ended, from its beginning on; else what the workload takes, and time around it.
    pub deadline: Option<Nanos>,
    /// The Secret that values of the environment and the key of a certificate come from.
    pub secret: String,
}

/// What the API takes, in order.
#[derive(Clone, Debug)]
pub struct Manifests {
    /// The `ConfigMap`.
    pub config: Value,
    /// The Job.
    pub job: Value,
    /// A pod that mounts the claim, and waits, so that a run can be read there. It is not printed: who needs one gives it a name. A run in an
    /// object store is read there.
    pub reader: Option<Value>,
    /// Variables of the environment that come from the Secret.
    pub environment: Vec<String>,
    /// The key in the Secret that is that of a client certificate, and its file beside the workload.
    pub key: Option<(String, String)>,
    /// What may not be as it was meant.
    pub doubts: Vec<Doubt>,
}

/// What may not be as it was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The target's address means the worker's own pod there.
    OwnPod {
        /// The address.
        url: String,
    },
    /// `kubectl apply` is refused.
    TooBigToApply {
        /// The bytes of all files.
        bytes: usize,
    },
    /// A program that the image must have.
    Program {
        /// Its name.
        name: String,
    },
}

offered_model::named! {
    /// What of a cluster is given a name.
    pub enum Named {
        /// The Job, and with it the `ConfigMap`.
        Job = "a Job",
        /// Where workers meet.
        Claim = "a PersistentVolumeClaim",
        /// Where values come from.
        Secret = "a Secret",
        /// Where credentials of an object store come from.
        Credentials = "a Secret of credentials",
        /// Whose rights workers have.
        ServiceAccount = "a ServiceAccount",
        /// Where the program is.
        Image = "an image",
    }
}

/// Why there are no manifests.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not a name of the kind that is wanted.
    #[error("`{name}` is no name for {what}: {rule}")]
    Name {
        /// What was given.
        name: String,
        /// What would be called so.
        what: Named,
        /// What names are like.
        rule: String,
    },
    /// A number that must be larger.
    #[error("{what} must be at least 1")]
    None {
        /// Of what.
        what: &'static str,
    },
    /// More workers than a Job has.
    #[error("{workers} workers are more than an Indexed Job has, {MOST_WORKERS}")]
    Workers {
        /// How many.
        workers: u32,
    },
    /// Each worker would draw a seed of its own.
    #[error("{}: a run of many workers needs a seed; write seed = 42 in it", workload.display())]
    NoSeed {
        /// The file.
        workload: PathBuf,
    },
    /// Nobody is asked.
    #[error("{}: the workload has no [target], so there is nothing to run", workload.display())]
    NoTarget {
        /// The file.
        workload: PathBuf,
    },
    /// The text holds what a `ConfigMap` must not.
    #[error(
        "{}: a password, token or key stands in the text, and a ConfigMap is read by many; write it as a variable, token = {{ env = \
         \"TOKEN\" }}, whose value comes from a Secret",
        workload.display()
    )]
    SecretInText {
        /// The file.
        workload: PathBuf,
    },
    /// A number of requests says nothing of how long they take.
    #[error(
        "the workload ends after a number of requests, not after a time: say when the Job is to be ended at the latest"
    )]
    NoDeadline,
    /// The Job would be ended before the run is over.
    #[error("a deadline of {deadline} is shorter than the run itself, {duration}")]
    Deadline {
        /// What was given.
        deadline: Nanos,
        /// What the workload takes.
        duration: Nanos,
    },
    /// A file that does not stand in the workload's folder or beneath it.
    #[error("the workload names {file}, which is not beneath its own folder; put it there")]
    Outside {
        /// As the workload names it.
        file: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unread {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The files are larger than a `ConfigMap` may be.
    #[error("{}", too_big(files))]
    TooBig {
        /// All of them, the largest first, with their bytes.
        files: Vec<(String, usize)>,
    },
    /// The text is no workload.
    #[error(transparent)]
    Workload(#[from] offered_model::workload::Mistake),
}

fn too_big(files: &[(String, usize)]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = files.iter().take(SHOWN).map(|(name, bytes)| format!("{name} {bytes}")).collect();
    let more = if files.len() > SHOWN { format!(", {} more", files.len() - SHOWN) } else { String::new() };
    let all: usize = files.iter().map(|(_, bytes)| bytes).sum();
    format!(
        "a ConfigMap holds {MOST_BYTES} bytes, and the workload with its files has {all} ({}{more}); zip rows (.csv.gz), or put the \
         files into the image",
        shown.join(", ")
    )
}

impl Cluster {
    /// The name that a workload's file suggests: `shop` of `load/Shop.toml`. Empty where it suggests none.
    pub fn name_of(workload: &Path) -> String {
        let stem = workload.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        let plain: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        plain.trim_matches('-').to_owned()
    }

    /// What runs the workload in the file at `path`.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn manifests(&self, path: &Path) -> Result<Manifests, Error> {
        self.check()?;
        let packed = Packed::of(path)?;
        let target = packed.workload.target().ok_or_else(|| Error::NoTarget { workload: path.to_owned() })?;
        let deadline = self.deadline_of(&packed.workload)?;
        let grace = target.response_timeout() + WRITING;
        let job = self.job(&packed, whole_seconds(deadline), whole_seconds(grace));
        let mut doubts = Vec::new();
        let url = target.url();
        let own = match &url.address {
            Address::Unix(_) => true,
            Address::Tcp { host, .. } => {
                host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
            }
        };
        doubts.extend(own.then(|| Doubt::OwnPod { url: url.to_string() }));
        doubts.extend(target.hook().first().map(|name| Doubt::Program { name: name.clone() }));
        let bytes = packed.bytes();
        doubts.extend((bytes > MOST_APPLIED).then_some(Doubt::TooBigToApply { bytes }));
        Ok(Manifests {
            config: self.config(&packed),
            job,
            reader: self.reader(),
            environment: packed.environment.iter().map(|(name, _)| name.clone()).collect(),
            key: packed.key.map(|file| (packed::key_of(&file), file)),
            doubts,
        })
    }

    fn check(&self) -> Result<(), Error> {
        for (what, number) in [("workers", self.workers), ("processors", self.cpus), ("memory", self.memory_mib)] {
            if number == 0 {
                return Err(Error::None { what });
            }
        }
        if self.workers > MOST_WORKERS {
            return Err(Error::Workers { workers: self.workers });
        }
        // Each pod is called `name-7` to its own, which is a label too.
        let longest = 63 - 1 - (self.workers - 1).to_string().len();
        let is_label = |name: &str| {
            let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
            let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            ends(name.chars().next()) && ends(name.chars().last()) && name.chars().all(inner)
        };
        let wrong = |name: &str, what, rule: String| Err(Error::Name { name: name.to_owned(), what, rule });
        if !is_label(&self.name) || self.name.len() > longest {
            let rule = format!("lower-case letters, digits and - between them, {longest} at most (DNS-1123)");
            return wrong(&self.name, Named::Job, rule);
        }
        let (claim, credentials) = match &self.meets {
            Meets::Claim(claim) => (Some(claim), None),
            Meets::Store { credentials } => (None, credentials.as_ref()),
        };
        let named = [
            (claim, Named::Claim),
            (Some(&self.secret), Named::Secret),
            (credentials, Named::Credentials),
            (self.service_account.as_ref(), Named::ServiceAccount),
        ];
        for (name, what) in named.into_iter().filter_map(|(name, what)| Some((name?, what))) {
            if !name.split('.').all(is_label) || name.len() > 253 {
                let rule = "lower-case letters, digits, - and . between them, 253 at most (DNS-1123)".to_owned();
                return wrong(name, what, rule);
            }
        }
        if self.image.is_empty() || self.image.contains(char::is_whitespace) {
            return wrong(&self.image, Named::Image, "one word, such as registry.example.com/offered:1".to_owned());
        }
        Ok(())
    }

    fn deadline_of(&self, workload: &Workload) -> Result<Nanos, Error> {
        match (self.deadline, workload.time_limit()) {
            (Some(deadline), Some(duration)) if deadline <= duration => Err(Error::Deadline { deadline, duration }),
            (Some(deadline), _) => Ok(deadline),
            (None, Some(duration)) => Ok(self.wait + duration + AROUND),
            (None, None) => Err(Error::NoDeadline),
        }
    }

    fn labels(&self) -> Value {
        json!({ "app.kubernetes.io/name": "offered", "app.kubernetes.io/instance": self.name })
    }

    fn config(&self, packed: &Packed) -> Value {
        let mut config = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": self.name, "labels": self.labels() },
            "data": packed.texts(),
        });
        let bytes = packed.binaries();
        if !bytes.is_empty() {
            config["binaryData"] = bytes.into();
        }
        config
    }

    fn job(&self, packed: &Packed, deadline_s: u64, grace_s: u64) -> Value {
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": self.name, "labels": self.labels() },
            "spec": {
                "completionMode": "Indexed",
                "completions": self.workers,
                "parallelism": self.workers,
                "activeDeadlineSeconds": deadline_s,
                "backoffLimitPerIndex": RESTARTS,
                "podReplacementPolicy": "Failed",
                "podFailurePolicy": { "rules": [
                    // It has said why it ends; started again it would say so again.
                    {
                        "action": "FailIndex",
                        "onExitCodes": { "containerName": "offered", "operator": "In", "values": [1, 2, 3, 99] },
                    },
                    // Its machine was taken away, which is nobody's failure.
                    { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
                ] },
                "template": {
                    "metadata": { "labels": self.labels() },
                    "spec": self.pod(packed, grace_s),
                },
            },
        })
    }

    /// It waits until somebody runs a program in it.
    fn reader(&self) -> Option<Value> {
        let Meets::Claim(claim) = &self.meets else { return None };
        let room = json!({ "cpu": "100m", "memory": format!("{READER_MIB}Mi") });
        Some(json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "labels": self.labels() },
            "spec": {
                "restartPolicy": "Never",
                "activeDeadlineSeconds": whole_seconds(READING),
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "terminationGracePeriodSeconds": 0,
                "securityContext": nobody(),
                "containers": [{
                    "name": "offered",
                    "image": self.image,
                    "args": self.waiting,
                    "resources": { "requests": room, "limits": { "memory": room["memory"] } },
                    "securityContext": without_rights(),
                    "volumeMounts": [{ "name": "runs", "mountPath": RUNS, "readOnly": true }],
                }],
                "volumes": [{ "name": "runs", "persistentVolumeClaim": { "claimName": claim } }],
            },
        }))
    }

    fn pod(&self, packed: &Packed, grace_s: u64) -> Value {
        let room = json!({ "cpu": self.cpus.to_string(), "memory": format!("{}Mi", self.memory_mib) });
        let mut worker = json!({
            "name": "offered",
            "image": self.image,
            "args": self.args,
            // The same for both: guaranteed, and a static CPU manager gives it whole processors.
            "resources": { "requests": room, "limits": room },
            "securityContext": without_rights(),
        });
        // The image itself cannot be written to.
        let (volume, path, of) = match &self.meets {
            Meets::Claim(claim) => ("runs", RUNS, json!({ "persistentVolumeClaim": { "claimName": claim } })),
            Meets::Store { .. } => ("temporary", TEMPORARY, json!({ "emptyDir": {} })),
        };
        worker["volumeMounts"] = json!([
            { "name": "workload", "mountPath": "/workload", "readOnly": true },
            { "name": volume, "mountPath": path },
        ]);
        let mut kept = of;
        kept["name"] = volume.into();
        if let Meets::Store { credentials: Some(secret) } = &self.meets {
            worker["envFrom"] = json!([{ "secretRef": { "name": secret } }]);
        }
        if !packed.environment.is_empty() {
            let of_secret = |(name, optional): &(String, bool)| {
                let mut from = json!({ "name": self.secret, "key": name });
                if *optional {
                    from["optional"] = true.into();
                }
                json!({ "name": name, "valueFrom": { "secretKeyRef": from } })
            };
            worker["env"] = packed.environment.iter().map(of_secret).collect();
        }
        let mut sources = vec![json!({ "configMap": { "name": self.name, "items": packed.items() } })];
        sources.extend(packed.key.as_ref().map(
            |key| json!({ "secret": { "name": self.secret, "items": [{ "key": packed::key_of(key), "path": key }] } }),
        ));
        let mut pod = json!({
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": grace_s,
            "securityContext": nobody(),
            "containers": [worker],
            "volumes": [
                { "name": "workload", "projected": { "sources": sources } },
                kept,
            ],
        });
        if let Some(account) = &self.service_account {
            pod["serviceAccountName"] = account.as_str().into();
        }
        if self.apart {
            let same = json!({ "matchLabels": self.labels() });
            pod["affinity"] = json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
                { "topologyKey": "kubernetes.io/hostname", "labelSelector": same },
            ] } });
        }
        pod
    }
}

/// Who runs in a pod, and owns what it writes.
fn nobody() -> Value {
    json!({
        "runAsNonRoot": true,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": { "type": "RuntimeDefault" },
    })
}

/// What a container may do.
fn without_rights() -> Value {
    json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] }, "readOnlyRootFilesystem": true })
}

fn whole_seconds(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000_000)
}

/// YAML, a document after another.
impl fmt::Display for Manifests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let documents = [&self.config, &self.job];
        f.write_str(&serde_saphyr::to_string_multiple(&documents).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests;
