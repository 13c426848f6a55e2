//! Errors of object stores.

use std::io;
use std::path::{Path, PathBuf};

use crate::objects::connector::root_cause;

/// Why an object store operation failed. The message is one line with the next step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL is not a folder of a bucket.
    #[error("{url} {reason}; write for example s3://bucket/run7, gs://bucket/run7 or az://container/run7")]
    Url {
        /// The URL as given.
        url: String,
        /// What is wrong with the URL.
        reason: String,
    },
    /// The store refused, or did not respond within the retry time.
    #[error("cannot {action} {object}: {reason}")]
    Store {
        /// `read`, `write`, `list`, `open`, `remove`.
        action: &'static str,
        /// The URL of the object or folder.
        object: String,
        /// The response of the store, and the next step.
        reason: String,
    },
    /// The store ignores the condition of conditional puts.
    #[error(
        "{url}: this store overwrites existing objects despite `If-None-Match: *`, so workers cannot synchronise there; use a newer version of \
         the store, or a shared directory"
    )]
    NoConditionalPut {
        /// The URL.
        url: String,
    },
    /// There is no run at this URL.
    #[error("{url} contains no run; give the rendezvous URL of its workers, or the URL of one worker below it")]
    NoRun {
        /// The URL.
        url: String,
    },
    /// Some objects of a run could not be uploaded.
    #[error(
        "{missing} of {total} objects of this worker are not in {url}: {reason}; the complete run is in {0}; upload the rest later: \
         offered push {0} {url}",
        local.display()
    )]
    IncompleteUpload {
        /// Number of missing objects.
        missing: u64,
        /// Number of all objects.
        total: u64,
        /// The URL.
        url: String,
        /// The last error.
        reason: Box<Error>,
        /// The directory of the complete run on this machine.
        local: PathBuf,
    },
    /// The directory to be uploaded is not a run.
    #[error(
        "{} is not a run directory: it has no workload.toml; give the directory of one worker, or of a run (a sweep: each of \
         its cells)", path.display()
    )]
    NotARun {
        /// The directory.
        path: PathBuf,
    },
    /// An object differs from the file that is to be uploaded.
    #[error("{object} differs from {}: the URL belongs to another run; give the URL of this run, or a new one", file.display())]
    AnotherRun {
        /// The URL of the object.
        object: String,
        /// The file.
        file: PathBuf,
    },
    /// The operating system reported an error.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The failed operation.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// Whether wrong input causes the error, rather than the environment.
    pub fn is_of_input(&self) -> bool {
        matches!(
            self,
            Self::Url { .. }
                | Self::NoConditionalPut { .. }
                | Self::NoRun { .. }
                | Self::NotARun { .. }
                | Self::AnotherRun { .. }
        )
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn store(action: &'static str, object: impl Into<String>) -> impl FnOnce(object_store::Error) -> Self {
        move |error| Self::Store { action, object: object.into(), reason: reason(&error) }
    }
}

/// The message of the store, or the root cause, with a fix.
fn reason(error: &object_store::Error) -> String {
    let text = error.to_string();
    let said = between(&text, "<Message>", "</Message>").or_else(|| between(&text, "\"message\": \"", "\""));
    let said = said.map_or_else(|| root_cause(error), str::to_owned);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_refused =
        matches!(error, object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. });
    let fix = match () {
        () if is_refused => "; the configured credentials lack this permission",
        () if text.contains("169.254.169.254") || text.contains("metadata.google.internal") => {
            "; no credentials found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (GOOGLE_APPLICATION_CREDENTIALS, \
             AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY), or assign a role to this machine"
        }
        () if said.contains("No CA certificates") || said.contains("UnknownIssuer") => {
            "; install root certificates (ca-certificates), or set SSL_CERT_FILE to the certificate file of the store"
        }
        () if said.contains("InvalidContentType") || said.contains("corrupt message") => {
            "; the store does not use TLS at this address: write http:// in AWS_ENDPOINT_URL"
        }
        () if text.contains("redirect") => "; if the bucket is in another region, set AWS_REGION",
        () => "",
    };
    said + fix
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(from)?;
    Some(rest.split_once(to)?.0)
}
