//! Object stores, by the room that knows them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_meet::Place;
use offered_objects::{Bucket, Copy};

use super::Copied;
use crate::Error;

/// The way of a worker's directory into an object store.
pub(crate) struct Upload(offered_objects::Upload);

/// A folder of an object store, and the copy of it that is here.
pub(super) struct Store(Copy);

impl Store {
    pub(super) fn whole(url: &str, told: &mut dyn FnMut(Copied)) -> Result<Self, Error> {
        let told = &mut |folder: &Path, objects, bytes| told(Copied { name: url, folder, objects, bytes });
        Ok(Self(Copy::whole(Bucket::open(url)?, told)?))
    }

    pub(super) fn fetch(url: &str, to: &Path, told: &mut dyn FnMut(Copied)) -> Result<(), Error> {
        let told = &mut |folder: &Path, objects, bytes| told(Copied { name: url, folder, objects, bytes });
        let beside = to.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        std::fs::create_dir_all(beside).map_err(Error::file("create", beside))?;
        let copy = Copy::whole_in(beside, Bucket::open(url)?, told)?;
        std::fs::rename(copy.path(), to).map_err(Error::file("rename to", to))
    }

    pub(super) fn begun(url: &str) -> Result<Self, Error> {
        Ok(Self(Copy::begun(Bucket::open(url)?)?))
    }

    pub(super) fn empty(url: &str) -> Result<Self, Error> {
        Ok(Self(Copy::new(Bucket::open(url)?)?))
    }

    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        Ok(self.0.refresh()?)
    }

    pub(super) fn place(&self) -> &dyn Place {
        self.0.bucket()
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn copy(&self) -> &Path {
        self.0.folder()
    }

    pub(super) fn look(&self, worker: &str) -> Result<(), Error> {
        Ok(self.0.signs(worker)?)
    }

    pub(super) fn said(&self, folder: String, claim: &str) -> Result<(), Error> {
        Ok(self.0.said(&[folder], claim)?)
    }

    pub(super) fn said_beneath(&self, under: &str, claim: &str) -> Result<(), Error> {
        let folders: Vec<String> = self.0.folders(under)?.iter().map(|name| format!("{under}/{name}")).collect();
        Ok(self.0.said(&folders, claim)?)
    }

    pub(super) fn launched(
        &self,
        under: &str,
        wanted: &dyn Fn(&str) -> bool,
        told: &mut dyn FnMut(Copied),
    ) -> Result<(), Error> {
        let told = &mut |folder: &Path, objects, bytes| {
            told(Copied { name: self.0.bucket().url(), folder, objects, bytes });
        };
        Ok(self.0.launched(under, wanted, told)?)
    }

    pub(super) fn bring(&self, name: &str) -> Result<(), Error> {
        Ok(self.0.bring(name)?)
    }

    pub(super) fn upload(&self, name: &str, own: &Path) -> Result<Upload, Error> {
        Ok(Upload(offered_objects::Upload::start(self.0.bucket(), name, own)?))
    }

    pub(super) fn keep(self) {
        self.0.keep();
    }
}

impl Upload {
    pub(crate) fn refusal(&self) -> Box<dyn Fn() -> Option<String> + Send> {
        Box::new(self.0.refusal())
    }

    pub(crate) fn finish(self, hurry: &Arc<AtomicBool>, refused: &mut dyn FnMut(&str)) -> Result<(), Error> {
        Ok(self.0.finish(hurry, refused)?)
    }

    pub(crate) fn forget(self) {
        self.0.forget();
    }
}
