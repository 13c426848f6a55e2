//! Errors of observing and scraping.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Why something cannot be observed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system has no `/proc/stat`.
    #[error(
        "cannot read kernel counters: this system has no /proc (not Linux); run `offered observe` on a Linux server"
    )]
    NotLinux,
    /// There is no such process.
    #[error("there is no process {0} on this machine; find the process ID with `pidof NAME`")]
    NoProcess(u32),
    /// The directory is no control group of version 2.
    #[error(
        "{}: not a control group of version 2 (its cpu.stat has no usage_usec); find the group of a process with `cat /proc/PID/cgroup`, \
         relative to /sys/fs/cgroup, for example /sys/fs/cgroup/system.slice/nginx.service", .0.display()
    )]
    NoGroup(PathBuf),
    /// A file of the kernel cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The address for clock queries is not available.
    #[error("cannot listen at {at}: {source}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The scrape target cannot be requested as configured.
    #[error(transparent)]
    InvalidTarget(#[from] offered_base::InvalidValue),
    /// A thread for scraping cannot be started.
    #[error(transparent)]
    Run(#[from] offered_run::Error),
    /// A directory cannot be created.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The attempted action.
        action: &'static str,
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The samples cannot be written.
    #[error(transparent)]
    Write(offered_store::Error),
}

impl Error {
    /// Whether wrong input caused the error, rather than a later event.
    pub fn is_of_input(&self) -> bool {
        !matches!(self, Self::NotLinux | Self::Io { .. } | Self::File { .. } | Self::Run(offered_run::Error::System(_)))
    }

    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }
}
