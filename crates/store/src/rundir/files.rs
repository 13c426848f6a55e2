//! The names of the files in a run directory.

/// The workload, as given.
pub const WORKLOAD: &str = "workload.toml";
/// The run record, which marks the run as complete.
pub const RECORD: &str = "run.json";
/// The last heartbeat.
pub const HEARTBEAT: &str = "heartbeat.json";
/// A few of the failed exchanges.
pub const FAILURES: &str = "failed.jsonl";

/// The folder with samples of the server's machines.
pub const OBSERVED: &str = "observed";

/// The folder with requests in flight; removed when the run has its record.
pub const IN_FLIGHT: &str = "in-flight";

/// The path of the part with this number, from 0. Numbers have no gaps.
pub fn part(number: u32) -> String {
    format!("events/part-{number:04}.parquet")
}

/// Whether `name` is the path of a part.
pub fn is_part(name: &str) -> bool {
    let number = name.strip_prefix("events/part-").and_then(|name| name.strip_suffix(".parquet"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_recognised_by_name() {
        assert!(is_part(&part(0)) && is_part(&part(12_345)));
        for other in ["events/part-.parquet", "events/part-1.parquet.tmp", "part-0001.parquet", "events/part-a.parquet"]
        {
            assert!(!is_part(other), "{other}");
        }
    }
}
