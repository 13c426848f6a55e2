//! Compares the table of JMeter elements and functions with a census of public plans.

use std::collections::BTreeSet;
use std::path::Path;

use crate::harness::{Tested, needs};

tests![every_census_element_is_in_the_table];

fn every_census_element_is_in_the_table() -> Tested {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let census = root.join("../shared/data/plans/census.csv");
    needs("shared", census.is_file())?;
    let named = |file: &Path| -> BTreeSet<String> {
        let text = std::fs::read_to_string(file).unwrap();
        // Kinds and names contain no commas.
        text.lines().skip(1).map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",")).collect()
    };
    let (census, table) = (named(&census), named(&root.join("tests/import/jmeter.csv")));
    let outside: Vec<&String> = census.difference(&table).collect();
    assert!(census.len() > 100 && outside.is_empty(), "outside the table: {outside:?}");
    Ok(())
}
