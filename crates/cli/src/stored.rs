//! Runs in an object store: copied here before they are read, and the copy taken away, also where somebody loses patience.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use offered_experiment::Here;

use crate::exit::Failure;
use crate::file::Kind;
use crate::say::tell;
use crate::{signals, words};

/// What is to be taken away when a signal ends the process.
static COPIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The run or the file at this path or URL, to be read.
pub(crate) fn here(at: &Path) -> Result<Here, Failure> {
    // Nobody would be told of a signal that comes before there is a copy.
    let mut watched = Ok(());
    let here = Here::of(at, &mut |copied| {
        tell!("{}", words::of_copied(&copied));
        watched = taken_away(copied.folder);
    })?;
    watched?;
    Ok(here)
}

/// The same of what must be a run, and no sweep.
pub(crate) fn run(at: &Path) -> Result<Here, Failure> {
    let here = here(at)?;
    match here.copy() {
        Some(_) if here.path().join("sweep.json").exists() => Err(Failure::input(Kind::Sweep.told(at))),
        _ => Ok(here),
    }
}

/// The run at this path or URL, to be looked at while it grows.
pub(crate) fn growing(at: &Path) -> Result<Here, Failure> {
    let here = Here::growing(at)?;
    here.copy().map_or(Ok(()), taken_away)?;
    Ok(here)
}

/// Has this folder taken away when a signal ends the process.
pub(crate) fn taken_away(folder: &Path) -> Result<(), Failure> {
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    copies.push(folder.to_owned());
    if copies.len() > 1 {
        return Ok(());
    }
    signals::at_end(|| {
        for copy in COPIES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // It may be gone already.
            let _ = fs::remove_dir_all(copy);
        }
    })
}
