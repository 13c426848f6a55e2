//! The folder where workers meet, and its one rule: a file is made once and never changed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// A folder that all workers reach.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The one at `path`, which need not be there yet.
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the file `name` unless it is there; whether it was made. Of several who try, one makes it (`O_EXCL`: on NFS too, from
    /// version 3 on).
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn put_new(&self, name: &str, content: &[u8]) -> Result<bool, Error> {
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

    pub(crate) fn put_new_document(&self, name: &str, document: &impl Serialize) -> Result<bool, Error> {
        let json = serde_json::to_string_pretty(document).expect("numbers and texts are JSON");
        self.put_new(name, (json + "\n").as_bytes())
    }

    /// What the file `name` says; `None` where it is not there, or not whole yet.
    pub(crate) fn document<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let path = self.0.join(name);
        match fs::read(&path) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(Error::file("read", &path)(why)),
        }
    }
}
