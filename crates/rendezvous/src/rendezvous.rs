//! The storage in which workers synchronise. Its one rule: an entry is written at most once.

use offered_base::Nanos;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// Storage that all workers reach, with entries such as `rendezvous/decision.json` that are written at most once.
pub trait Rendezvous {
    /// The name in error messages.
    fn name(&self) -> String;

    /// Writes `content` under `name` unless the entry exists; returns whether it was written. Of several concurrent calls one succeeds.
    ///
    /// # Errors
    /// The storage cannot be written.
    fn put_if_absent(&self, name: &str, content: &[u8]) -> Result<bool, Error>;

    /// Reads the entries `names`, which are in one folder; `None` for each that does not exist.
    ///
    /// # Errors
    /// The storage cannot be read.
    fn read(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, Error>;

    /// The interval between two polls when this number of workers polls.
    fn poll_interval(&self, workers: u64) -> Nanos;
}

pub(crate) fn put_document_if_absent(
    rendezvous: &dyn Rendezvous,
    name: &str,
    document: &impl Serialize,
) -> Result<bool, Error> {
    let json = serde_json::to_string_pretty(document).expect("numbers and texts are JSON");
    rendezvous.put_if_absent(name, (json + "\n").as_bytes())
}

/// Reads the document `name`; `None` if it does not exist or is still incomplete.
pub(crate) fn document<T: DeserializeOwned>(rendezvous: &dyn Rendezvous, name: &str) -> Result<Option<T>, Error> {
    Ok(rendezvous.read(&[name.to_owned()])?.pop().and_then(parse))
}

/// Parses the content of an entry; `None` if there is none or it is incomplete.
pub(crate) fn parse<T: DeserializeOwned>(content: Option<Vec<u8>>) -> Option<T> {
    serde_json::from_slice(&content?).ok()
}
