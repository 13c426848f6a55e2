//! Heartbeats: the file that each worker rewrites every two seconds, so that others know that it runs.

use std::fs;
use std::path::Path;

use offered_base::{Nanos, Share};
use offered_events::WorkerClock;
use offered_io::read_regular;
use serde::{Deserialize, Serialize};

use super::files::HEARTBEAT as FILE;
use crate::error::Error;
use crate::record::{from_text, to_text};

/// The interval between two heartbeats.
pub const HEARTBEAT_INTERVAL: Nanos = Nanos::from_secs(2);
/// A worker without a heartbeat for this long counts as silent, or as lost when the run is over.
pub const HEARTBEAT_TIMEOUT: Nanos = Nanos::from_secs(10);

/// The heartbeat of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The host name of its machine.
    pub host: String,
    /// The share of the run that the worker sends.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub share: Share,
    /// When the run started, since the Unix epoch.
    pub started_unix_ns: u64,
    /// When the heartbeat was written, by the worker's clock, since the Unix epoch.
    pub at_unix_ns: u64,
    /// Number of requests in flight at that time.
    pub in_flight: u64,
    /// The state of its clock at the start of the run.
    pub clock: Option<WorkerClock>,
    /// In a copied directory: all files that the original directory contained at this time have been copied. `None`:
    /// the directory is not a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_until_unix_ns: Option<u64>,
}

impl Heartbeat {
    /// Writes the heartbeat into the worker's directory and replaces the previous one. Does not sync, because after a
    /// power failure no worker is running.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, worker: &Path) -> Result<(), Error> {
        let (path, tmp) = (worker.join(FILE), worker.join("heartbeat.json.tmp"));
        let json = serde_json::to_vec(self).expect("numbers and texts are JSON");
        fs::write(&tmp, json).map_err(Error::io("write", &tmp))?;
        fs::rename(&tmp, &path).map_err(Error::io("rename to", &path))
    }

    /// Removes the heartbeat when the run has ended.
    pub fn remove(worker: &Path) {
        // A file that remains is only an old heartbeat.
        let _ = fs::remove_file(worker.join(FILE));
    }

    /// Reads the last heartbeat of a worker; `None` if there is none.
    pub fn read(worker: &Path) -> Option<Self> {
        serde_json::from_slice(&read_regular(&worker.join(FILE)).ok()?).ok()
    }

    /// Everything recorded before this time is in the directory that holds this heartbeat.
    pub(crate) fn complete_until_unix_ns(&self) -> u64 {
        self.copied_until_unix_ns.unwrap_or(self.at_unix_ns)
    }

    /// The time since this heartbeat, at `now` since the Unix epoch.
    pub fn silence(&self, now: Nanos) -> Nanos {
        now.saturating_sub(Nanos(self.at_unix_ns))
    }
}
