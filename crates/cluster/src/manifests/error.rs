//! Reasons why manifests cannot be made.

use std::path::PathBuf;

use offered_base::Nanos;

use super::{MAX_BYTES, MAX_WORKERS};

offered_base::named! {
    /// The kinds of names in [`JobSettings`].
    pub enum ResourceKind {
        /// The Job and the `ConfigMap`.
        Job = "a Job",
        /// The claim where workers synchronise.
        Claim = "a PersistentVolumeClaim",
        /// The Secret with values of the workload.
        Secret = "a Secret",
        /// The Secret with credentials of an object store.
        Credentials = "a Secret with credentials",
        /// The service account of the workers.
        ServiceAccount = "a ServiceAccount",
        /// The container image.
        Image = "an image",
        /// The namespace of all objects.
        Namespace = "a namespace",
        /// A Secret with the credentials of the image registry.
        PullSecret = "a Secret of a registry",
        /// The storage class of the workers' volumes.
        StorageClass = "a StorageClass",
    }
}

/// Why manifests cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name breaks the naming rules of Kubernetes.
    #[error("`{name}` is not a valid name for {kind}: use {rule}")]
    InvalidName {
        /// The name.
        name: String,
        /// The kind of the named resource.
        kind: ResourceKind,
        /// The naming rule.
        rule: String,
    },
    /// A number is 0.
    #[error("{what} must be at least 1")]
    Zero {
        /// The counted things, in the plural.
        what: &'static str,
    },
    /// There are more workers than a Job can have.
    #[error("{workers} workers are too many: an Indexed Job has at most {MAX_WORKERS}")]
    TooManyWorkers {
        /// The number of workers.
        workers: u32,
    },
    /// The workload has no seed, so every worker would draw its own seed.
    #[error("{}: a run of many workers needs a seed; add the line seed = 42", workload.display())]
    NoSeed {
        /// The file.
        workload: PathBuf,
    },
    /// The workload has no target.
    #[error("{}: the workload has no [target], so there is nothing to run", workload.display())]
    NoTarget {
        /// The file.
        workload: PathBuf,
    },
    /// The workload contains a secret, which must not be in a `ConfigMap`.
    #[error(
        "{}: the workload contains a password, token or key, and a ConfigMap is not secret; use a variable instead, token = {{ env = \
         \"TOKEN\" }}, and set its value from a Secret",
        workload.display()
    )]
    SecretInWorkload {
        /// The file.
        workload: PathBuf,
    },
    /// The workload ends after a number of requests, so its duration is unknown.
    #[error("the workload ends after a number of requests, so its duration is unknown: set a deadline for the Job")]
    NoDeadline,
    /// The Job would end before the run.
    #[error("the deadline of {deadline} is shorter than the run itself, {duration}")]
    DeadlineTooShort {
        /// The deadline.
        deadline: Nanos,
        /// The duration of the workload.
        duration: Nanos,
    },
    /// A file is outside the directory of the workload.
    #[error("the workload names {file}, which is outside its own directory; move the file into that directory")]
    FileOutside {
        /// The path in the workload.
        file: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The files are larger than a `ConfigMap` can be.
    #[error("{}", too_large(files))]
    TooLarge {
        /// All files with their bytes, the largest first.
        files: Vec<(String, usize)>,
    },
    /// The workload is invalid.
    #[error(transparent)]
    Workload(#[from] offered_workload::Mistake),
}

fn too_large(files: &[(String, usize)]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = files.iter().take(SHOWN).map(|(name, bytes)| format!("{name} {bytes}")).collect();
    let more = if files.len() > SHOWN { format!(", {} more", files.len() - SHOWN) } else { String::new() };
    let all: usize = files.iter().map(|(_, bytes)| bytes).sum();
    format!(
        "the workload and its files have {all} bytes ({}{more}), but a ConfigMap can contain at most {MAX_BYTES}; compress data files \
         (.csv.gz), or put the files into the image",
        shown.join(", ")
    )
}
