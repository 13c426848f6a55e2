//! A directory as rendezvous: each file is created once and never changed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use offered_base::Nanos;

use crate::error::Error;
use crate::rendezvous::Rendezvous;

/// Interval between two polls, and the addition per worker, which limits the load by many workers.
const POLL_INTERVAL: Nanos = Nanos::from_millis(100);
const POLL_INTERVAL_PER_WORKER: Nanos = Nanos::from_millis(1);

/// A directory that all workers reach, for example on NFS.
#[derive(Clone, Debug)]
pub struct Directory(PathBuf);

impl Directory {
    /// The directory at `path`, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

impl Rendezvous for Directory {
    fn name(&self) -> String {
        self.0.display().to_string()
    }

    /// Creates the file with `O_EXCL`, which is atomic on NFS from version 3 on too.
    fn put_if_absent(&self, name: &str, content: &[u8]) -> Result<bool, Error> {
        let path = self.0.join(name);
        let directory = path.parent().unwrap_or(&self.0);
        fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
        let mut file = match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            made => made.map_err(Error::file("create", &path))?,
        };
        file.write_all(content).and_then(|()| file.sync_all()).map_err(Error::file("write", &path))?;
        Ok(true)
    }

    fn read(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let read = |name: &String| {
            let path = self.0.join(name);
            match fs::read(&path) {
                Ok(text) => Ok(Some(text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(Error::file("read", &path)(error)),
            }
        };
        names.iter().map(read).collect()
    }

    fn poll_interval(&self, workers: u64) -> Nanos {
        POLL_INTERVAL + POLL_INTERVAL_PER_WORKER * workers
    }
}
