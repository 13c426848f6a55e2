//! Unique names.

use std::collections::{HashMap, HashSet};

/// Names in use.
#[derive(Clone, Default)]
pub(crate) struct UniqueNames {
    taken: HashSet<String>,
    /// For each wanted name, the number from which the search for a free name continues.
    next: HashMap<String, u32>,
}

impl UniqueNames {
    /// Takes `wanted`, or `wanted (2)`, `wanted (3)`, ... if it is taken, and returns it. Avoids names that are reserved in workloads.
    pub(crate) fn take(&mut self, wanted: &str) -> String {
        let wanted = if wanted == "leave" { "leave it" } else { wanted };
        let next = self.next.entry(wanted.to_owned()).or_insert(1);
        loop {
            let name = if *next == 1 { wanted.to_owned() } else { format!("{wanted} ({next})") };
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_gets_the_next_free_number() {
        let mut names = UniqueNames::default();
        let taken: Vec<String> =
            ["a", "a (2)", "a", "a", "a (2)", "leave", "leave"].map(|name| names.take(name)).into();
        assert_eq!(taken, ["a", "a (2)", "a (3)", "a (4)", "a (2) (2)", "leave it", "leave it (2)"]);
    }
}
