//! What may go wrong between here and a cluster.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

/// Why something was not done in a cluster.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing says which cluster, or how to log in.
    #[error(
        "no cluster is known here: {why}; kubectl's configuration ($KUBECONFIG or ~/.kube/config) says which it is"
    )]
    Unknown {
        /// What was looked for.
        why: String,
    },
    /// Something of this name is there already.
    #[error("there is a {kind} {name} in the cluster already")]
    There {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The API says no.
    #[error("the cluster refuses to {what}: {message} ({code})")]
    Refused {
        /// What was asked of it.
        what: String,
        /// What it answered.
        message: String,
        /// As HTTP has it.
        code: u16,
    },
    /// There is no answer.
    #[error("cannot {what}: {why}")]
    Silent {
        /// What was asked of it.
        what: String,
        /// Why there is none.
        why: String,
    },
    /// What was started in the cluster to read a run could not do so.
    #[error("the run cannot be read in the cluster: {why}")]
    Unread {
        /// What it said.
        why: String,
    },
    /// Less came than was sent.
    #[error("the run did not come whole: {why}")]
    Torn {
        /// What is missing of it.
        why: String,
    },
    /// What came cannot be kept.
    #[error("cannot write {}: {source}", path.display())]
    Unwritten {
        /// Where it should go.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// This process lacks something.
    #[error("cannot talk to a cluster: {0}")]
    Here(#[source] io::Error),
    /// It was told to.
    #[error("stopped")]
    Stopped,
}

impl Error {
    pub(crate) fn unknown(why: &dyn StdError) -> Self {
        Self::Unknown { why: whole(why) }
    }

    pub(crate) fn of(what: &str, why: kube::Error) -> Self {
        let what = what.to_owned();
        match why {
            kube::Error::Api(status) => Self::Refused { what, message: status.message.clone(), code: status.code },
            why => Self::Silent { what, why: whole(&why) },
        }
    }

    /// Whether asking again may help.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Silent { .. } => true,
            // Too many requests, and what stands between here and a server that is being changed.
            Self::Refused { code, .. } => *code == 429 || *code >= 500,
            _ => false,
        }
    }
}

/// An error and its causes, none of which says what another has said.
fn whole(why: &dyn StdError) -> String {
    let mut said = why.to_string();
    let mut next = why.source();
    while let Some(cause) = next {
        let cause_said = cause.to_string();
        if !said.contains(&cause_said) {
            said = format!("{said}: {cause_said}");
        }
        next = cause.source();
    }
    said
}
