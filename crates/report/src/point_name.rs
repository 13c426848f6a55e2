//! Names of the points of a sweep.

use std::collections::BTreeMap;

use offered_experiment::Field;

/// Fields and their values as a text: `think=5ms, users=25`.
pub(crate) fn names(values: &BTreeMap<Field, String>) -> String {
    let pairs: Vec<String> = values.iter().map(|(field, value)| format!("{field}={value}")).collect();
    pairs.join(", ")
}
