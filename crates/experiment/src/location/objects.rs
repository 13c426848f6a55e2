//! Object stores, by `offered_rendezvous::objects`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_base::Nanos;
use offered_rendezvous::Rendezvous;
use offered_rendezvous::objects::{Bucket, LocalCopy, Pushed, push};

use super::{CopyProgress, OnFailure, PushResult};
use crate::Error;

/// The upload of a worker's directory to an object store.
pub(crate) struct Upload(offered_rendezvous::objects::Upload);

/// A directory of an object store, and its local copy.
pub(super) struct Store(LocalCopy);

impl Store {
    pub(super) fn whole(url: &str, told: &mut dyn FnMut(CopyProgress), on_failure: OnFailure) -> Result<Self, Error> {
        let told = &mut |folder: &Path, objects, bytes| told(CopyProgress { name: url, folder, objects, bytes });
        Ok(Self(LocalCopy::fetch_all(Bucket::open(url, on_failure)?, told)?))
    }

    pub(super) fn fetch(
        url: &str,
        to: &Path,
        told: &mut dyn FnMut(CopyProgress),
        on_failure: OnFailure,
    ) -> Result<(), Error> {
        let told = &mut |folder: &Path, objects, bytes| told(CopyProgress { name: url, folder, objects, bytes });
        let beside = to.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        std::fs::create_dir_all(beside).map_err(Error::file("create", beside))?;
        let copy = LocalCopy::fetch_all_in(beside, Bucket::open(url, on_failure)?, told)?;
        std::fs::rename(copy.path(), to).map_err(Error::file("rename to", to))
    }

    pub(super) fn begun(url: &str, on_failure: OnFailure) -> Result<Self, Error> {
        Ok(Self(LocalCopy::follow(Bucket::open(url, on_failure)?)?))
    }

    pub(super) fn empty(url: &str, on_failure: OnFailure) -> Result<Self, Error> {
        Ok(Self(LocalCopy::empty(Bucket::open(url, on_failure)?)?))
    }

    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        Ok(self.0.refresh()?)
    }

    pub(super) fn place(&self) -> &dyn Rendezvous {
        self.0.bucket()
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn copy(&self) -> &Path {
        self.0.temporary_directory()
    }

    pub(super) fn look(&self, worker: &str) -> Result<(), Error> {
        Ok(self.0.fetch_status_of(worker)?)
    }

    pub(super) fn said(&self, folder: String, claim: &str) -> Result<(), Error> {
        Ok(self.0.fetch_status(&[folder], claim)?)
    }

    pub(super) fn said_beneath(&self, under: &str, claim: &str) -> Result<(), Error> {
        let folders: Vec<String> = self.0.list_folders(under)?.iter().map(|name| format!("{under}/{name}")).collect();
        Ok(self.0.fetch_status(&folders, claim)?)
    }

    pub(super) fn launched(
        &self,
        under: &str,
        wanted: &dyn Fn(&str) -> bool,
        told: &mut dyn FnMut(CopyProgress),
    ) -> Result<(), Error> {
        let told = &mut |folder: &Path, objects, bytes| {
            told(CopyProgress { name: self.0.bucket().url(), folder, objects, bytes });
        };
        Ok(self.0.fetch_events(under, wanted, told)?)
    }

    pub(super) fn bring(&self, name: &str) -> Result<(), Error> {
        Ok(self.0.upload(name)?)
    }

    pub(super) fn upload(&self, name: &str, own: &Path) -> Result<Upload, Error> {
        Ok(Upload(offered_rendezvous::objects::Upload::start(self.0.bucket(), name, own)?))
    }

    pub(super) fn push(
        from: &Path,
        url: &str,
        on_start: &mut dyn FnMut(u64, u64),
        on_failure: OnFailure,
    ) -> Result<PushResult, Error> {
        let Pushed { present, uploaded, bytes } = push(&Bucket::open(url, on_failure)?, from, on_start)?;
        Ok(PushResult { present, uploaded, bytes })
    }

    pub(super) fn keep(self) {
        self.0.into_path();
    }
}

impl Upload {
    pub(crate) fn error(&self) -> Box<dyn Fn() -> Option<String> + Send> {
        Box::new(self.0.last_error())
    }

    pub(crate) fn finish(
        self,
        timeout: Nanos,
        abort: &Arc<AtomicBool>,
        on_error: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        Ok(self.0.finish(timeout, abort, on_error)?)
    }

    pub(crate) fn remove(self) {
        self.0.discard();
    }
}
