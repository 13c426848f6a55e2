//! The configuration of a script.

use crate::data::Data;

/// The configuration of a script, with that of an environment before it.
#[derive(Clone, Copy)]
pub(super) struct Config<'d, 'o> {
    base: &'d Data,
    environment: &'o str,
}

impl<'d, 'o> Config<'d, 'o> {
    /// The table `config` of a script; `environment` is the name of the chosen environment, or empty.
    pub(super) fn new(base: &'d Data, environment: &'o str) -> Self {
        Self { base, environment }
    }

    /// The names of the environments.
    pub(super) fn environments(self) -> Vec<&'d str> {
        self.base.get("environments").entries().iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The name of the chosen environment, or empty.
    pub(super) fn environment(self) -> &'o str {
        self.environment
    }

    /// The value of a key.
    pub(super) fn get(self, key: &str) -> &'d Data {
        let own = self.base.at(&["environments", self.environment, key]);
        if own.is() { own } else { self.base.get(key) }
    }

    /// The value of a key of a table.
    pub(super) fn at(self, table: &str, key: &str) -> &'d Data {
        self.get(table).get(key)
    }

    /// A key of `http.defaults`, or of `defaults` in older scripts.
    pub(super) fn default(self, key: &str) -> &'d Data {
        let new = self.get("http").at(&["defaults", key]);
        if new.is() { new } else { self.at("defaults", key) }
    }
}

/// One element, or the elements of a list.
pub(super) fn as_list(data: &Data) -> Vec<&Data> {
    match data {
        Data::List(all) => all.iter().collect(),
        Data::Null => Vec::new(),
        one => vec![one],
    }
}
