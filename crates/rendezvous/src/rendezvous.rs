//! A place where workers meet, and its one rule: what is written there is written once.

use offered_model::Nanos;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// A place that all workers reach and where things are written once, under names such as `meeting/decision.json`.
pub trait Place {
    /// What errors call it.
    fn name(&self) -> String;

    /// Writes `content` under `name` unless something is there; whether it was written. Of several who try one does it.
    ///
    /// # Errors
    /// The place cannot be written to.
    fn put_new(&self, name: &str, content: &[u8]) -> Result<bool, Error>;

    /// What is written under each of `names`; `None` where nothing is.
    ///
    /// # Errors
    /// The place cannot be read.
    fn read(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, Error>;

    /// From one look at the place to the next, where so many workers look.
    fn look_every(&self, workers: u64) -> Nanos;
}

pub(crate) fn put_new_document(place: &dyn Place, name: &str, document: &impl Serialize) -> Result<bool, Error> {
    let json = serde_json::to_string_pretty(document).expect("numbers and texts are JSON");
    place.put_new(name, (json + "\n").as_bytes())
}

/// What is written under `name`; `None` where nothing is, or not all of it yet.
pub(crate) fn document<T: DeserializeOwned>(place: &dyn Place, name: &str) -> Result<Option<T>, Error> {
    Ok(place.read(&[name.to_owned()])?.pop().and_then(read))
}

/// The same of what was read already.
pub(crate) fn read<T: DeserializeOwned>(text: Option<Vec<u8>>) -> Option<T> {
    serde_json::from_slice(&text?).ok()
}
