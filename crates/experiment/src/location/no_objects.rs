//! A build without object stores: opening one is an error.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_base::Nanos;
use offered_rendezvous::Rendezvous;

use super::{CopyProgress, OnFailure, PushResult};
use crate::Error;

/// An object store; no value exists.
pub(super) struct Store(Infallible);

/// An upload; no value exists.
pub(crate) struct Upload(Infallible);

impl Store {
    pub(super) fn whole(url: &str, _: &mut dyn FnMut(CopyProgress), on_failure: OnFailure) -> Result<Self, Error> {
        Self::empty(url, on_failure)
    }

    pub(super) fn fetch(
        url: &str,
        _: &Path,
        _: &mut dyn FnMut(CopyProgress),
        on_failure: OnFailure,
    ) -> Result<(), Error> {
        Self::empty(url, on_failure).map(drop)
    }

    pub(super) fn begun(url: &str, on_failure: OnFailure) -> Result<Self, Error> {
        Self::empty(url, on_failure)
    }

    pub(super) fn empty(url: &str, _: OnFailure) -> Result<Self, Error> {
        Err(Error::NoObjects { url: url.to_owned() })
    }

    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        match self.0 {}
    }

    pub(super) fn place(&self) -> &dyn Rendezvous {
        match self.0 {}
    }

    pub(super) fn path(&self) -> &Path {
        match self.0 {}
    }

    pub(super) fn copy(&self) -> &Path {
        match self.0 {}
    }

    pub(super) fn look(&self, _: &str) -> Result<(), Error> {
        match self.0 {}
    }

    pub(super) fn said(&self, _: String, _: &str) -> Result<(), Error> {
        match self.0 {}
    }

    pub(super) fn said_beneath(&self, _: &str, _: &str) -> Result<(), Error> {
        match self.0 {}
    }

    pub(super) fn launched(
        &self,
        _: &str,
        _: &dyn Fn(&str) -> bool,
        _: &mut dyn FnMut(CopyProgress),
    ) -> Result<(), Error> {
        match self.0 {}
    }

    pub(super) fn bring(&self, _: &str) -> Result<(), Error> {
        match self.0 {}
    }

    pub(super) fn upload(&self, _: &str, _: &Path) -> Result<Upload, Error> {
        match self.0 {}
    }

    pub(super) fn push(_: &Path, url: &str, _: &mut dyn FnMut(u64, u64), _: OnFailure) -> Result<PushResult, Error> {
        Err(Error::NoObjects { url: url.to_owned() })
    }

    pub(super) fn keep(self) {
        match self.0 {}
    }
}

impl Upload {
    pub(crate) fn error(&self) -> Box<dyn Fn() -> Option<String> + Send> {
        match self.0 {}
    }

    pub(crate) fn finish(self, _: Nanos, _: &Arc<AtomicBool>, _: &mut dyn FnMut(&str)) -> Result<(), Error> {
        match self.0 {}
    }

    pub(crate) fn remove(self) {
        match self.0 {}
    }
}
