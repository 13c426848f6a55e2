//! The names of what is in a run directory, for who copies one from or to where it is no folder.

/// The workload, as it was given.
pub const WORKLOAD: &str = "workload.toml";
/// The run record, whose presence says that the run is complete.
pub const RECORD: &str = "run.json";
/// The last sign of life.
pub const ALIVE: &str = "alive.json";
/// A few of the exchanges that failed.
pub const FAILED: &str = "failed.jsonl";

/// The folder with samples of the machines that served.
pub const OBSERVED: &str = "observed";

/// The folder with what is known of launches under way; it is gone when the run has its record.
pub const UNDER_WAY: &str = "under-way";

/// The part of this number, from 0. There is none without those before it.
pub fn part(number: u32) -> String {
    format!("events/part-{number:04}.parquet")
}

/// Whether `name` is that of a part.
pub fn is_part(name: &str) -> bool {
    let number = name.strip_prefix("events/part-").and_then(|name| name.strip_suffix(".parquet"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_known_by_its_name() {
        assert!(is_part(&part(0)) && is_part(&part(12_345)));
        for other in ["events/part-.parquet", "events/part-1.parquet.tmp", "part-0001.parquet", "events/part-a.parquet"]
        {
            assert!(!is_part(other), "{other}");
        }
    }
}
