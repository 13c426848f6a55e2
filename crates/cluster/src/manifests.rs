//! The manifests of a run: what `kubectl apply -f -` reads. Nothing has to be installed in the cluster.
//!
//! A `ConfigMap` holds the workload and the files that it names. An Indexed Job starts one worker per index. The workers synchronise in a
//! directory of a `PersistentVolumeClaim` or of an object store. Environment variables of the workload, and the key of a client
//! certificate, come from a Secret; the manifests name the Secret and never contain its values.
//!
//! # Limitations
//! All nodes must be able to mount the claim (`ReadWriteMany`), unless all workers run on one node. `podFailurePolicy` and
//! `backoffLimitPerIndex` need Kubernetes 1.29 or later.

mod error;
mod names;
mod workload_files;

use std::fmt;
use std::path::Path;

use offered_base::Nanos;
use offered_workload::{Address, EnvironmentVariable, Workload};
use serde_json::{Map, Value, json};

pub use error::{Error, ResourceKind};
pub use names::{Toleration, annotation, label, storage_size};
use names::{is_label, is_subdomain};
pub use workload_files::WorkloadFiles;

/// The maximum size of a `ConfigMap` over all its files, in bytes (`MaxSecretSize` of the API).
pub const MAX_BYTES: usize = 1 << 20;
/// The maximum size for `kubectl apply`, in bytes. `apply` copies the object into an annotation, annotations hold 256 KiB, and JSON needs
/// more space than the bytes it encodes. `kubectl create` has no such limit.
pub const MAX_APPLY_BYTES: usize = 200 << 10;
/// The maximum number of workers of an Indexed Job with a backoff limit per index.
pub const MAX_WORKERS: u32 = 100_000;
/// How often a killed worker is restarted. A restarted worker continues its share from that moment.
const RESTARTS: u32 = 2;
/// The exit codes of `run` after which a restart would end the same way, or would be too late: the worker has ended, and has recorded what
/// it sent.
const FINAL_EXIT_CODES: [u8; 5] = [1, 2, 3, 4, 99];
/// Part of the deadline for scheduling pods, pulling the image and judging the recording.
const STARTUP_AND_VERDICT: Nanos = Nanos::from_secs(300);
/// Grace period after SIGTERM for writing the recording, in addition to the timeouts of a response and of the upload.
const WRITE_GRACE: Nanos = Nanos::from_secs(15);
/// The deadline of the pod that reads a run, in case it is not deleted.
const READER_DEADLINE: Nanos = Nanos::from_secs(3600);
/// The memory of that pod, in MiB.
const READER_MIB: u32 = 128;
/// The user and group ID in the image of our Dockerfile. No host has such a user.
const USER: u32 = 65532;

/// The path of the workload in a worker's pod. The files that it names are in the same directory.
pub const WORKLOAD_PATH: &str = "/workload/workload.toml";
/// The path of the claim in a worker's pod.
pub const RUNS_PATH: &str = "/runs";

/// Where a worker stores its recording before it is uploaded to an object store.
const TEMPORARY_PATH: &str = "/tmp";

/// Where the workers synchronise and store what they record.
#[derive(Clone, Debug)]
pub enum Rendezvous {
    /// A `PersistentVolumeClaim` of this name.
    Claim(String),
    /// An object store; its URL is part of the workers' arguments.
    ObjectStore {
        /// The Secret with the credentials and settings of the store, as environment variables of a worker. `None` where the node or the
        /// service account has a role that grants access.
        credentials: Option<String>,
        /// Where a worker stores its recording before it is uploaded. `None` means the disk of its node (`emptyDir`),
        /// where data that was not uploaded is lost when the worker exits.
        volume: Option<Volume>,
        /// How long a worker with a complete recording tries to upload the rest.
        upload_timeout: Nanos,
    },
}

/// A separate volume for each worker, which exists until the Job is deleted (a generic ephemeral volume).
#[derive(Clone, Debug)]
pub struct Volume {
    /// The size, a quantity of Kubernetes such as `10Gi`; see [`storage_size`].
    pub size: String,
    /// The storage class; `None`: the default of the cluster.
    pub class: Option<String>,
}

/// Namespace, labels and annotations of the objects of a run, and the nodes on which their pods may run.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// The namespace; `None`: the namespace of the client.
    pub namespace: Option<String>,
    /// Labels of all objects, in addition to our own; see [`label`].
    pub labels: Vec<(String, String)>,
    /// Annotations of all objects; see [`annotation`].
    pub annotations: Vec<(String, String)>,
    /// Labels that the node of a worker must have.
    pub node_selector: Vec<(String, String)>,
    /// Taints that the workers tolerate.
    pub tolerations: Vec<Toleration>,
    /// Secrets with the credentials of the image registry.
    pub pull_secrets: Vec<String>,
}

/// How a run is started on Kubernetes.
#[derive(Clone, Debug)]
pub struct JobSettings {
    /// The name of the Job and of the `ConfigMap`.
    pub name: String,
    /// The arguments of each worker's program. Its workload is at [`WORKLOAD_PATH`], the claim at [`RUNS_PATH`].
    pub args: Vec<String>,
    /// The arguments of the program in the pod that reads a run: a command that waits until it is killed.
    pub reader_args: Vec<String>,
    /// The number of workers, at least 1.
    pub workers: u32,
    /// The container image with the program.
    pub image: String,
    /// Where the workers synchronise.
    pub rendezvous: Rendezvous,
    /// The service account of the workers, which may have a cloud role; `None`: the default of the namespace.
    pub service_account: Option<String>,
    /// The number of processors of each worker, for its exclusive use.
    pub cpus: u32,
    /// The memory of each worker, in MiB.
    pub memory_mib: u32,
    /// Whether every worker needs a node of its own.
    pub one_per_node: bool,
    /// Namespace, labels, nodes.
    pub placement: Placement,
    /// How long the Job and its pods exist after its end. `None`: they exist until they are deleted.
    pub ttl: Option<Nanos>,
    /// How long the workers wait for each other.
    pub wait: Nanos,
    /// The deadline of the Job, counted from its creation. `None`: the duration of the workload, `wait`, the timeout of an upload, and five
    /// minutes.
    pub deadline: Option<Nanos>,
    /// The Secret with the values of environment variables and the key of a client certificate.
    pub secret: String,
}

/// The objects for the API, in the order in which they must be created.
#[derive(Clone, Debug)]
pub struct Manifests {
    /// The `ConfigMap`.
    pub config: Value,
    /// The Job.
    pub job: Value,
    /// A pod that mounts the claim and waits, so that a run can be read there. It has no name and is not printed. `None` for an object
    /// store, which is read directly.
    pub reader: Option<Value>,
    /// The names of the environment variables whose values come from the Secret.
    pub environment: Vec<String>,
    /// The key of the client certificate: its key in the Secret, and its path relative to the workload.
    pub key: Option<(String, String)>,
    /// Warnings about parts that may not work as intended.
    pub warnings: Vec<Warning>,
}

/// A part of the manifests that may not work as intended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The address of the target is a loopback address: in a pod that is the pod itself.
    LoopbackTarget {
        /// The URL of the target.
        url: String,
    },
    /// The `ConfigMap` is too large for `kubectl apply`.
    TooLargeToApply {
        /// The size of all files, in bytes.
        bytes: usize,
    },
    /// The workload runs a program, which must be in the image.
    NeedsProgram {
        /// The program.
        name: String,
    },
}

impl JobSettings {
    /// A name made from the file name of a workload: `shop` for `load/Shop.toml`. Empty if the file name has no letter or digit.
    pub fn name_from(workload: &Path) -> String {
        let stem = workload.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        let plain: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        plain.trim_matches('-').to_owned()
    }

    /// The manifests that run the workload in the file at `path`.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn manifests(&self, path: &Path) -> Result<Manifests, Error> {
        self.check()?;
        let files = WorkloadFiles::read(path)?;
        let target = files.workload.target().ok_or_else(|| Error::NoTarget { workload: path.to_owned() })?;
        let deadline = self.deadline_for(&files.workload)?;
        let grace = target.response_timeout() + WRITE_GRACE + self.upload_timeout();
        let job = self.job(&files, whole_seconds(deadline), whole_seconds(grace));
        let mut warnings = Vec::new();
        let url = target.url();
        let is_loopback = match &url.address {
            Address::Unix(_) => true,
            Address::Tcp { host, .. } => {
                host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
            }
        };
        warnings.extend(is_loopback.then(|| Warning::LoopbackTarget { url: url.to_string() }));
        warnings.extend(target.hook().first().map(|name| Warning::NeedsProgram { name: name.clone() }));
        let bytes = files.bytes();
        warnings.extend((bytes > MAX_APPLY_BYTES).then_some(Warning::TooLargeToApply { bytes }));
        Ok(Manifests {
            config: self.config(&files),
            job,
            reader: self.reader(),
            environment: files.environment.iter().map(|variable| variable.name.clone()).collect(),
            key: files.key.map(|file| (workload_files::key_for(&file), file)),
            warnings,
        })
    }

    fn check(&self) -> Result<(), Error> {
        for (what, number) in [("workers", self.workers), ("processors", self.cpus), ("memory", self.memory_mib)] {
            if number == 0 {
                return Err(Error::Zero { what });
            }
        }
        if self.workers > MAX_WORKERS {
            return Err(Error::TooManyWorkers { workers: self.workers });
        }
        // The host name of a pod is the name of the Job with the index, `shop-7`, and is a DNS label.
        let max_length = 63 - 1 - (self.workers - 1).to_string().len();
        let invalid = |name: &str, kind, rule: String| Err(Error::InvalidName { name: name.to_owned(), kind, rule });
        if !is_label(&self.name) || self.name.len() > max_length {
            let rule = format!(
                "lower-case letters and digits, with - between them, at most {max_length} characters (DNS-1123)"
            );
            return invalid(&self.name, ResourceKind::Job, rule);
        }
        let (claim, credentials, class) = match &self.rendezvous {
            Rendezvous::Claim(claim) => (Some(claim), None, None),
            Rendezvous::ObjectStore { credentials, volume, .. } => {
                (None, credentials.as_ref(), volume.as_ref().and_then(|volume| volume.class.as_ref()))
            }
        };
        if let Some(namespace) = self.placement.namespace.as_ref().filter(|name| !is_label(name) || name.len() > 63) {
            let rule = "lower-case letters and digits, with - between them, at most 63 characters (DNS-1123)";
            return invalid(namespace, ResourceKind::Namespace, rule.to_owned());
        }
        let named = [
            (claim, ResourceKind::Claim),
            (Some(&self.secret), ResourceKind::Secret),
            (credentials, ResourceKind::Credentials),
            (self.service_account.as_ref(), ResourceKind::ServiceAccount),
            (class, ResourceKind::StorageClass),
        ];
        let named = named.into_iter().filter_map(|(name, kind)| Some((name?, kind)));
        let pull_secrets = self.placement.pull_secrets.iter().map(|name| (name, ResourceKind::PullSecret));
        for (name, kind) in named.chain(pull_secrets) {
            if !is_subdomain(name) {
                let rule =
                    "lower-case letters and digits, with - and . between them, at most 253 characters (DNS-1123)"
                        .to_owned();
                return invalid(name, kind, rule);
            }
        }
        if self.image.is_empty() || self.image.contains(char::is_whitespace) {
            return invalid(
                &self.image,
                ResourceKind::Image,
                "one word such as registry.example.com/offered:1".to_owned(),
            );
        }
        Ok(())
    }

    fn deadline_for(&self, workload: &Workload) -> Result<Nanos, Error> {
        match (self.deadline, workload.time_limit()) {
            (Some(deadline), Some(duration)) if deadline <= duration => {
                Err(Error::DeadlineTooShort { deadline, duration })
            }
            (Some(deadline), _) => Ok(deadline),
            (None, Some(duration)) => {
                Ok(self.wait + duration + workload.finish() + self.upload_timeout() + STARTUP_AND_VERDICT)
            }
            (None, None) => Err(Error::NoDeadline),
        }
    }

    /// How long a worker tries to upload the rest of its recording; zero with a claim.
    fn upload_timeout(&self) -> Nanos {
        match self.rendezvous {
            Rendezvous::Claim(_) => Nanos::ZERO,
            Rendezvous::ObjectStore { upload_timeout, .. } => upload_timeout,
        }
    }

    /// The labels by which the pods of this run are selected.
    fn own_labels(&self) -> Value {
        json!({ "app.kubernetes.io/name": "offered", "app.kubernetes.io/instance": self.name })
    }

    /// The metadata of an object or of a template, without a name.
    fn metadata(&self) -> Value {
        let mut labels = self.own_labels();
        labels.as_object_mut().expect("labels are an object").extend(map(&self.placement.labels));
        let mut metadata = json!({ "labels": labels });
        if !self.placement.annotations.is_empty() {
            metadata["annotations"] = map(&self.placement.annotations).into();
        }
        metadata
    }

    /// The metadata of an object of the run.
    fn named_metadata(&self) -> Value {
        let mut metadata = self.metadata();
        metadata["name"] = self.name.as_str().into();
        if let Some(namespace) = &self.placement.namespace {
            metadata["namespace"] = namespace.as_str().into();
        }
        metadata
    }

    fn config(&self, files: &WorkloadFiles) -> Value {
        let mut config = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": self.named_metadata(),
            "data": files.texts(),
        });
        let binaries = files.binaries();
        if !binaries.is_empty() {
            config["binaryData"] = binaries.into();
        }
        config
    }

    fn job(&self, files: &WorkloadFiles, deadline_s: u64, grace_s: u64) -> Value {
        let mut job = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": self.named_metadata(),
            "spec": {
                "completionMode": "Indexed",
                "completions": self.workers,
                "parallelism": self.workers,
                "activeDeadlineSeconds": deadline_s,
                "backoffLimitPerIndex": RESTARTS,
                "podReplacementPolicy": "Failed",
                "podFailurePolicy": { "rules": [
                    {
                        "action": "FailIndex",
                        "onExitCodes": { "containerName": "offered", "operator": "In", "values": FINAL_EXIT_CODES },
                    },
                    // The node was drained or reclaimed: not a failure of the worker.
                    { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
                ] },
                "template": {
                    "metadata": self.metadata(),
                    "spec": self.pod(files, grace_s),
                },
            },
        });
        if let Some(ttl) = self.ttl {
            job["spec"]["ttlSecondsAfterFinished"] = whole_seconds(ttl).into();
        }
        job
    }

    /// The pod that reads a run. It waits until a program is executed in it.
    fn reader(&self) -> Option<Value> {
        let Rendezvous::Claim(claim) = &self.rendezvous else { return None };
        let resources = json!({ "cpu": "100m", "memory": format!("{READER_MIB}Mi") });
        let mut reader = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": self.metadata(),
            "spec": {
                "restartPolicy": "Never",
                "activeDeadlineSeconds": whole_seconds(READER_DEADLINE),
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "terminationGracePeriodSeconds": 0,
                "securityContext": unprivileged_user(),
                "containers": [{
                    "name": "offered",
                    "image": self.image,
                    "args": self.reader_args,
                    "resources": { "requests": resources, "limits": { "memory": resources["memory"] } },
                    "securityContext": no_privileges(),
                    "volumeMounts": [{ "name": "runs", "mountPath": RUNS_PATH, "readOnly": true }],
                }],
                "volumes": [{ "name": "runs", "persistentVolumeClaim": { "claimName": claim } }],
            },
        });
        self.place(&mut reader["spec"]);
        Some(reader)
    }

    /// Adds node selectors, tolerations and pull secrets to a pod.
    fn place(&self, pod: &mut Value) {
        let Placement { node_selector, tolerations, pull_secrets, .. } = &self.placement;
        if !node_selector.is_empty() {
            pod["nodeSelector"] = map(node_selector).into();
        }
        if !tolerations.is_empty() {
            pod["tolerations"] = tolerations.iter().map(Toleration::to_json).collect();
        }
        if !pull_secrets.is_empty() {
            pod["imagePullSecrets"] = pull_secrets.iter().map(|name| json!({ "name": name })).collect();
        }
    }

    fn pod(&self, files: &WorkloadFiles, grace_s: u64) -> Value {
        let resources = json!({ "cpu": self.cpus.to_string(), "memory": format!("{}Mi", self.memory_mib) });
        let mut worker = json!({
            "name": "offered",
            "image": self.image,
            "args": self.args,
            // Equal requests and limits: QoS class Guaranteed, to which a static CPU manager assigns exclusive processors.
            "resources": { "requests": resources, "limits": resources },
            "securityContext": no_privileges(),
        });
        // The file system of the image is read-only.
        let (volume_name, path, mut volume) = match &self.rendezvous {
            Rendezvous::Claim(claim) => ("runs", RUNS_PATH, json!({ "persistentVolumeClaim": { "claimName": claim } })),
            Rendezvous::ObjectStore { volume, .. } => ("temporary", TEMPORARY_PATH, self.temporary(volume.as_ref())),
        };
        worker["volumeMounts"] = json!([
            { "name": "workload", "mountPath": "/workload", "readOnly": true },
            { "name": volume_name, "mountPath": path },
        ]);
        volume["name"] = volume_name.into();
        if let Rendezvous::ObjectStore { credentials: Some(secret), .. } = &self.rendezvous {
            worker["envFrom"] = json!([{ "secretRef": { "name": secret } }]);
        }
        if !files.environment.is_empty() {
            let from_secret = |EnvironmentVariable { name, optional }: &EnvironmentVariable| {
                let mut reference = json!({ "name": self.secret, "key": name });
                if *optional {
                    reference["optional"] = true.into();
                }
                json!({ "name": name, "valueFrom": { "secretKeyRef": reference } })
            };
            worker["env"] = files.environment.iter().map(from_secret).collect();
        }
        let mut sources = vec![json!({ "configMap": { "name": self.name, "items": files.items() } })];
        sources.extend(files.key.as_ref().map(
            |key| json!({ "secret": { "name": self.secret, "items": [{ "key": workload_files::key_for(key), "path": key }] } }),
        ));
        let mut pod = json!({
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": grace_s,
            "securityContext": unprivileged_user(),
            "containers": [worker],
            "volumes": [
                { "name": "workload", "projected": { "sources": sources } },
                volume,
            ],
        });
        if let Some(account) = &self.service_account {
            pod["serviceAccountName"] = account.as_str().into();
        }
        if self.one_per_node {
            let selector = json!({ "matchLabels": self.own_labels() });
            pod["affinity"] = json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
                { "topologyKey": "kubernetes.io/hostname", "labelSelector": selector },
            ] } });
        }
        self.place(&mut pod);
        pod
    }

    /// The volume for a recording before it is uploaded.
    fn temporary(&self, volume: Option<&Volume>) -> Value {
        let Some(Volume { size, class }) = volume else { return json!({ "emptyDir": {} }) };
        let mut claim = json!({
            "metadata": { "labels": self.own_labels() },
            "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": size } } },
        });
        if let Some(class) = class {
            claim["spec"]["storageClassName"] = class.as_str().into();
        }
        json!({ "ephemeral": { "volumeClaimTemplate": claim } })
    }
}

/// Keys and values as an object.
fn map(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
}

/// The user of a pod, who also owns the files that it writes.
fn unprivileged_user() -> Value {
    json!({
        "runAsNonRoot": true,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": { "type": "RuntimeDefault" },
    })
}

/// A container without privileges and with a read-only file system.
fn no_privileges() -> Value {
    json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] }, "readOnlyRootFilesystem": true })
}

fn whole_seconds(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000_000)
}

/// Multi-document YAML of the `ConfigMap` and the Job.
impl fmt::Display for Manifests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let documents = [&self.config, &self.job];
        f.write_str(&serde_saphyr::to_string_multiple(&documents).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests;
