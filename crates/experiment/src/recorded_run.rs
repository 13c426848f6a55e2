//! The workload and the record in a run directory.

use std::path::Path;

use offered_store::RunRecord;
use offered_workload::{Mistake, Workload};

use crate::Error;
use crate::workload_source::{BadLineHandler, WorkloadSource, file_reader};

/// The workload and the record in a run directory.
pub struct RecordedRun {
    /// The recorded (redacted) text of the workload.
    pub text: String,
    /// The workload, or why it cannot be parsed.
    pub workload: Result<Workload, Mistake>,
    /// The run record; `None` if the run was killed.
    pub record: Option<RunRecord>,
}

impl RecordedRun {
    /// Reads the run directory at `path`; `None` if it is not a run directory.
    ///
    /// # Errors
    /// Its files cannot be read, or its record is invalid.
    pub fn read(path: &Path, broken: BadLineHandler) -> Result<Option<Self>, Error> {
        let file = path.join("workload.toml");
        if !file.is_file() {
            return Ok(None);
        }
        let input = WorkloadSource::open(&file, broken)?;
        let missing = std::cell::Cell::new(false);
        let read = file_reader(Some(&file), broken);
        let workload = Workload::parse(&input.text, &input.name, &|name| read(name).inspect_err(|_| missing.set(true)));
        let workload = workload.map_err(|mut mistake| {
            if missing.get() {
                mistake.what += "; a run directory does not contain the files that its workload names: copy the file into the run directory, or verify with the original workload";
            }
            mistake
        });
        Ok(Some(Self { text: input.text, workload, record: RunRecord::read(path).map_err(Error::Read)? }))
    }

    /// Whether certificates of the target were not verified.
    pub(crate) fn is_insecure(&self) -> bool {
        let target = self.workload.as_ref().ok().and_then(Workload::target);
        target.is_some_and(|target| target.tls().insecure)
    }
}
