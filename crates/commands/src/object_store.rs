//! Runs in object stores are copied to a local directory before they are read; the copy is deleted at exit, also after Ctrl-C.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use offered_base::visible;
use offered_experiment::{CopyProgress, LocalRun};

use crate::failure::Failure;
use crate::input_file::Kind;
use crate::output::status;
use crate::{messages, signals};

/// Directories to delete when a signal ends the process.
static COPIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The run or file at this path or URL; a URL is copied first.
pub(crate) fn here(at: &Path) -> Result<LocalRun, Failure> {
    // Signals are handled from the first copy on.
    let mut registered = Ok(());
    let on_copy = &mut |copied: CopyProgress| {
        status!("{}", messages::copied(&copied));
        registered = delete_on_signal(copied.folder);
    };
    let here = LocalRun::open(at, on_copy, store_fails)?;
    registered?;
    Ok(here)
}

/// Like [`here`], but an error for a sweep.
pub(crate) fn run(at: &Path) -> Result<LocalRun, Failure> {
    let here = here(at)?;
    match here.copy() {
        Some(_) if here.path().join("sweep.json").exists() => Err(Failure::input(Kind::Sweep.hint(at))),
        _ => Ok(here),
    }
}

/// The run at this path or URL, read while it is under way.
pub(crate) fn growing(at: &Path) -> Result<LocalRun, Failure> {
    let here = LocalRun::growing(at, store_fails)?;
    here.copy().map_or(Ok(()), delete_on_signal)?;
    Ok(here)
}

/// Prints that a store has failed for a second.
pub(crate) fn store_fails(reason: &str) {
    status!("warning: the object store failed: {}; retrying for at most a minute", visible(reason));
}

/// Deletes this directory when a signal ends the process.
pub(crate) fn delete_on_signal(folder: &Path) -> Result<(), Failure> {
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    copies.push(folder.to_owned());
    if copies.len() > 1 {
        return Ok(());
    }
    signals::at_end(|| {
        for copy in COPIES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // It may be deleted already.
            let _ = fs::remove_dir_all(copy);
        }
    })
}
