//! What can go wrong between a run and an object store.

use std::io;
use std::path::{Path, PathBuf};

/// Why an object store cannot be used; one line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL names no folder of a bucket.
    #[error("{url} {why}; write for example s3://bucket/run7, gs://bucket/run7 or az://container/run7")]
    Url {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The store refused, or did not answer for as long as it was tried.
    #[error("cannot {action} {at}: {why}")]
    Store {
        /// `read`, `write`, `list`, `open`, `remove`.
        action: &'static str,
        /// What.
        at: String,
        /// What it said, and what to do.
        why: String,
    },
    /// The store overwrites where it was asked not to.
    #[error(
        "{url}: this store overwrites what is there although it is asked not to (PUT with If-None-Match: *), so that workers cannot agree \
         in it; take a newer version of it, or meet in a shared folder"
    )]
    Overwrites {
        /// Where.
        url: String,
    },
    /// There is no run.
    #[error(
        "{url} holds no run: nothing of one lies there; give the URL under which its workers have met, or that of one worker in it"
    )]
    NoRun {
        /// Where.
        url: String,
    },
    /// A run is not all in the store.
    #[error("{missing} of the {of} objects of this worker are not in {url}: {why}; all of them are in {}", local.display())]
    Unsent {
        /// So many are missing.
        missing: u64,
        /// Of so many.
        of: u64,
        /// Where.
        url: String,
        /// Why, the last time it was tried.
        why: Box<Error>,
        /// Where all of it is on this machine.
        local: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Whether the question is wrong, and not the answer missing.
    pub fn is_of_input(&self) -> bool {
        matches!(self, Self::Url { .. } | Self::Overwrites { .. } | Self::NoRun { .. })
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn store(action: &'static str, at: impl Into<String>) -> impl FnOnce(object_store::Error) -> Self {
        move |error| Self::Store { action, at: at.into(), why: why(&error) }
    }
}

/// What is to be known of an error of the store: its own words where it has some, else the first cause; and where credentials come from.
fn why(error: &object_store::Error) -> String {
    let text = error.to_string();
    let mut first: &dyn std::error::Error = error;
    while let Some(source) = first.source() {
        first = source;
    }
    let said = between(&text, "<Message>", "</Message>").or_else(|| between(&text, "\"message\": \"", "\""));
    let said = said.map_or_else(|| first.to_string(), str::to_owned);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_refused =
        matches!(error, object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. });
    let remedy = match () {
        () if is_refused => "; the credentials that the environment names are not allowed to",
        () if text.contains("169.254.169.254") || text.contains("metadata.google.internal") => {
            "; there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (GOOGLE_APPLICATION_CREDENTIALS, \
             AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY), or give this machine a role"
        }
        () if said.contains("No CA certificates") || said.contains("UnknownIssuer") => {
            "; have the roots of this machine installed (ca-certificates), or name the file of the store's own with SSL_CERT_FILE"
        }
        () if text.contains("redirect") => "; is the bucket in another region? Set AWS_REGION",
        () => "",
    };
    said + remedy
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(from)?;
    Some(rest.split_once(to)?.0)
}
