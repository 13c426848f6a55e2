//! Reads the files named in a workload: from its folder or the folder in `[files]`, and only if their digests match.

use std::collections::HashMap;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::Files;
use crate::shape;
use crate::source::{Mistake, Table};

/// The way to what a workload names.
pub(super) struct Named<'f> {
    read: Files<'f>,
    /// The folder for files that are not in the folder of the workload.
    from: Option<PathBuf>,
    /// Expected digests, by file name.
    digests: HashMap<String, String>,
}

impl<'f> Named<'f> {
    /// The files of the workload `root`; `read` reads from the folder of the workload.
    pub(super) fn of(root: &Table<'_>, read: Files<'f>) -> Result<Self, Mistake> {
        let Some(table) = root.get("files").map(|value| value.table(&shape::FILES)).transpose()? else {
            return Ok(Self { read, from: None, digests: HashMap::new() });
        };
        let from = table.get("from").map(|from| from.text()).transpose()?.map(PathBuf::from);
        let digests = table.get("sha256").map(|digests| digests.texts()).transpose()?.unwrap_or_default();
        Ok(Self { read, from, digests: digests.into_iter().collect() })
    }

    /// The content of the file `name`.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let content = (self.read)(name).or_else(|why| {
            let elsewhere = self.from.as_ref().map(|from| from.join(name));
            elsewhere.and_then(|path| (self.read)(path.to_str()?).ok()).ok_or(why)
        })?;
        let Some(known) = self.digests.get(name) else { return Ok(content) };
        let found = digest(&content);
        if known.eq_ignore_ascii_case(&found) {
            return Ok(content);
        }
        Err(format!("the file has changed: its SHA-256 begins with {found:.8}, but [files] has {known:.8}"))
    }
}

/// The SHA-256 of `content` as in `[files]` and checks of bodies: 64 lower-case hexadecimal digits.
pub fn digest(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}
