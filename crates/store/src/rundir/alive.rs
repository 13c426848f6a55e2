//! Signs of life: what a worker of a run says of itself every two seconds, so that others know whether it is at work.

use std::fs;
use std::path::Path;

use offered_model::{Nanos, Share, WorkerClock};
use serde::{Deserialize, Serialize};

use super::files::ALIVE as FILE;
use crate::error::Error;
use crate::record::{from_text, to_text};

/// From one sign of life to the next.
pub const BEAT: Nanos = Nanos::from_secs(2);
/// Who has given none for so long is taken for dead, or frozen.
pub const SILENT: Nanos = Nanos::from_secs(10);

/// A sign of life of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alive {
    /// The machine it is on.
    pub host: String,
    /// What of the run it launches.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub share: Share,
    /// When the run began, since the Unix epoch.
    pub started_unix_ns: u64,
    /// When it gave this sign, by its own clock.
    pub at_unix_ns: u64,
    /// Launches under way then.
    pub in_flight: u64,
    /// What was known of its clock at the start.
    pub clock: Option<WorkerClock>,
    /// Of a directory that was copied from where it was written: what was in that one at this instant is in this one. `None`
    /// where it was written here, and the sign itself says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_unix_ns: Option<u64>,
}

impl Alive {
    /// Writes it into the worker's directory, in the place of the one before. Nobody waits for the disk: after a power
    /// cut nobody is alive.
    ///
    /// # Errors
    /// The disk refused.
    pub fn write(&self, worker: &Path) -> Result<(), Error> {
        let (path, tmp) = (worker.join(FILE), worker.join("alive.json.tmp"));
        let json = serde_json::to_vec(self).expect("numbers and texts are JSON");
        fs::write(&tmp, json).map_err(Error::io("write", &tmp))?;
        fs::rename(&tmp, &path).map_err(Error::io("rename to", &path))
    }

    /// Takes the last one away, of a run that has ended and that nobody but who made it waits for.
    pub fn forget(worker: &Path) {
        // One that stays is a sign of long ago.
        let _ = fs::remove_file(worker.join(FILE));
    }

    /// The last of a worker; `None` where it has given none.
    pub fn read(worker: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(worker.join(FILE)).ok()?).ok()
    }

    /// When everything was in the directory in which this sign stands that was kept until then.
    pub(crate) fn kept_unix_ns(&self) -> u64 {
        self.copied_unix_ns.unwrap_or(self.at_unix_ns)
    }

    /// For how long there has been none since, at `now` since the Unix epoch.
    pub fn silence(&self, now: Nanos) -> Nanos {
        now.saturating_sub(Nanos(self.at_unix_ns))
    }
}
