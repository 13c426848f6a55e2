//! Errors of the client.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

/// Why a request to a cluster failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no configuration, or it has no login.
    #[error(
        "no Kubernetes cluster is configured: {reason}; check `kubectl config view`, or set KUBECONFIG to the configuration file (default: \
         ~/.kube/config)"
    )]
    NoConfiguration {
        /// The missing part.
        reason: String,
    },
    /// An object of this name exists already.
    #[error("the cluster already has a {kind} {name}")]
    AlreadyExists {
        /// The kind.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The API refused the request.
    #[error("cannot {action}: the cluster refused the request: {message} ({code})")]
    Refused {
        /// The request.
        action: String,
        /// The message of the API.
        message: String,
        /// The HTTP status.
        code: u16,
    },
    /// The API did not respond.
    #[error("cannot {action}: {reason}")]
    NoResponse {
        /// The request.
        action: String,
        /// Why there is no response.
        reason: String,
    },
    /// The pod that reads the run failed.
    #[error("cannot read the run in the cluster: {reason}")]
    Read {
        /// The message of its program or of the API.
        reason: String,
    },
    /// The transfer ended before the end of the run.
    #[error("the run was not transferred completely: {reason}")]
    Incomplete {
        /// The missing part.
        reason: String,
    },
    /// The run cannot be written to this machine.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The target directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The runtime of the client cannot be started.
    #[error("cannot start the client of the Kubernetes API: {0}")]
    Runtime(#[source] io::Error),
    /// The caller stopped the transfer.
    #[error("stopped")]
    Stopped,
}

impl Error {
    pub(crate) fn no_configuration(error: &dyn StdError) -> Self {
        Self::NoConfiguration { reason: with_causes(error) }
    }

    pub(crate) fn from_api(action: &str, error: kube::Error) -> Self {
        let action = action.to_owned();
        match error {
            kube::Error::Api(status) => Self::Refused { action, message: status.message.clone(), code: status.code },
            error => Self::NoResponse { action, reason: with_causes(&error) },
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoResponse { .. } => true,
            // 429: too many requests. 5xx: the API server, or a proxy before it, is being replaced.
            Self::Refused { code, .. } => *code == 429 || *code >= 500,
            _ => false,
        }
    }
}

/// An error and its causes, without causes that are already part of the message.
fn with_causes(error: &dyn StdError) -> String {
    let mut message = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        next = cause.source();
    }
    message
}
