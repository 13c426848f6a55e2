//! References within a description.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::data::{Data, NOTHING};

/// Maximum length of a chain of references.
const MAX_HOPS: usize = 16;
/// Maximum number of different references.
const MAX_REFERENCES: usize = 5_000;

/// Resolves references, each once.
pub(super) struct References<'d> {
    api: &'d Data,
    known: RefCell<HashMap<&'d str, &'d Data>>,
}

impl<'d> References<'d> {
    /// References within `api`.
    pub(super) fn new(api: &'d Data) -> Self {
        Self { api, known: RefCell::default() }
    }

    /// What `data` refers to, or `data` itself; [`NOTHING`] if the target is in another file or the references are
    /// circular.
    pub(super) fn follow(&self, mut data: &'d Data) -> &'d Data {
        for _ in 0..MAX_HOPS {
            let reference = data.get("$ref").text();
            if reference.is_empty() {
                return data;
            }
            let known = self.known.borrow().get(reference).copied();
            data = match known {
                Some(found) => found,
                None => {
                    let mut known = self.known.borrow_mut();
                    if known.len() == MAX_REFERENCES {
                        return &NOTHING;
                    }
                    let target = self.find(reference);
                    known.insert(reference, target);
                    target
                }
            };
        }
        &NOTHING
    }

    /// The target of a reference such as `#/components/schemas/Pet`; [`NOTHING`] if it is in another file.
    fn find(&self, reference: &str) -> &'d Data {
        reference.strip_prefix("#/").map_or(&NOTHING, |path| {
            path.split('/').fold(self.api, |data, key| data.get(&key.replace("~1", "/").replace("~0", "~")))
        })
    }

    /// The schema that a mapping of a discriminator names by a reference or by its name.
    pub(super) fn mapped(&self, target: &str) -> &'d Data {
        match target.starts_with('#') {
            true => self.find(target),
            false => self.api.at(&["components", "schemas", target]),
        }
    }
}

/// The name of the schema that `reference` refers to; empty if it is none.
pub(super) fn schema_name(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or_default()
}
