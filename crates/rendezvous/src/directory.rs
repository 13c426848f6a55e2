//! A folder as the place where workers meet: a file is made once and never changed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use offered_model::Nanos;

use crate::error::Error;
use crate::rendezvous::Place;

/// From one look at the folder to the next; and so much more for every other worker, so that many of them do not besiege it.
const LOOK: Nanos = Nanos::from_millis(100);
const LOOK_EACH: Nanos = Nanos::from_millis(1);

/// A folder that all workers reach.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The one at `path`, which need not be there yet.
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

impl Place for Folder {
    fn name(&self) -> String {
        self.0.display().to_string()
    }

    /// Makes the file unless it is there (`O_EXCL`: on NFS too, from version 3 on).
    fn put_new(&self, name: &str, content: &[u8]) -> Result<bool, Error> {
        let path = self.0.join(name);
        let folder = path.parent().unwrap_or(&self.0);
        fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
        let mut file = match File::create_new(&path) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
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
                Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(why) => Err(Error::file("read", &path)(why)),
            }
        };
        names.iter().map(read).collect()
    }

    fn look_every(&self, workers: u64) -> Nanos {
        LOOK + LOOK_EACH * workers
    }
}
