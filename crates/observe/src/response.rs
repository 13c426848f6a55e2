//! What whoever is asked for its numbers answers: the page of an exporter, nginx's `stub_status`, or the rows of a database.
//!
//! Figures of a machine that `node_exporter` tells of are given under the names that this room gives them itself, in the same units,
//! so that nobody has to know who read them. All else is a series: its source is its labels, `{path="/"}`, its metric is its name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::Take;
use crate::exposition::{self, Series};

/// Ticks in a second of what was told in seconds.
pub const TICKS_PER_S: u64 = 100;
/// So many series are kept of one answer.
pub(crate) const MOST: usize = 2000;

/// What exporters tell of themselves, and what is told of a machine anyway.
const OWN: [&str; 7] = ["go_*", "process_*", "promhttp_*", "python_*", "scrape_*", "node_*", "pg_settings_*"];
/// Statistics of PostgreSQL that only rise; manual, section 27.2, and `pg_stat_statements`.
const RISE: [&str; 24] = [
    "xact_commit",
    "xact_rollback",
    "blks_read",
    "blks_hit",
    "tup_*",
    "conflicts",
    "temp_files",
    "temp_bytes",
    "deadlocks",
    "blk_*_time",
    "session_time",
    "active_time",
    "idle_in_transaction_time",
    "sessions*",
    "calls",
    "plans",
    "total_*_time",
    "rows",
    "shared_blks_*",
    "local_blks_*",
    "temp_blks_*",
    "wal_*",
    "buffers_*",
    "*_total",
];

/// Which series are kept, and which of them rise.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Patterns of those that are kept, `*` for any letters; empty: all but what exporters tell of themselves, and histograms' cells.
    pub series: Vec<String>,
    /// Patterns of those that only rise, beside what is known of them.
    pub counters: Vec<String>,
}

/// What an answer came to.
#[derive(Debug, Default, PartialEq)]
pub struct Found {
    /// The names of the series that only rise.
    pub counters: BTreeSet<String>,
    /// Series that were kept, a machine's figures not among them.
    pub series: usize,
    /// Series that would have been, had they been fewer than [`MOST`].
    pub left_out: usize,
    /// Whether there were figures of a machine.
    pub of_machine: bool,
}

/// Gives `take` the numbers of an answer that are kept; `None`: there are none in it, kept or not.
pub fn scraped(answer: &str, chosen: &Chosen, take: Take<'_>) -> Option<Found> {
    let mut reading = Reading { chosen, take, found: Found::default(), cores: BTreeMap::new(), any: false };
    if answer.starts_with("Active connections:") {
        reading.stub_status(answer);
    } else if answer.starts_with('[') {
        reading.rows(answer);
    } else {
        exposition::each(answer, &mut |series| reading.series(series));
    }
    reading.processors();
    reading.any.then_some(reading.found)
}

struct Reading<'a, 'b> {
    chosen: &'a Chosen,
    take: Take<'b>,
    found: Found,
    /// Seconds of each processor by mode.
    cores: BTreeMap<String, BTreeMap<String, f64>>,
    any: bool,
}

impl Reading<'_, '_> {
    fn series(&mut self, series: Series<'_>) {
        let Series { name, labels, value, rises, is_bucket } = series;
        self.any = true;
        let label = |of: &str| labels.iter().find(|(name, _)| *name == of).map(|(_, value)| value.as_str());
        if let ("node_cpu_seconds_total", Some(core), Some(mode)) = (name, label("cpu"), label("mode")) {
            self.cores.entry(core.to_owned()).or_default().insert(mode.to_owned(), value);
        } else if let Some((source, metric, unit)) = of_machine(name, label("device")) {
            self.found.of_machine = true;
            (self.take)(&source, metric, (value * unit).round());
        }
        let by_name = match &self.chosen.series[..] {
            [] => !is_bucket && !fits(&OWN, name),
            some => fits(some, name),
        };
        if by_name {
            let labels = labels.iter().map(|(label, value)| format!("{label}={value:?}")).collect::<Vec<_>>().join(",");
            self.keep(name, &format!("{{{labels}}}"), value, rises);
        }
    }

    fn keep(&mut self, name: &str, labels: &str, value: f64, rises: bool) {
        if self.found.series >= MOST {
            self.found.left_out += 1;
            return;
        }
        self.found.series += 1;
        if rises || fits(&self.chosen.counters, name) {
            self.found.counters.insert(name.to_owned());
        }
        (self.take)(labels, name, value);
    }

    /// Sums over processors, and each of them.
    fn processors(&mut self) {
        let ticks = |seconds: f64| (seconds * TICKS_PER_S as f64).round();
        let mut all: BTreeMap<&str, f64> = BTreeMap::new();
        for (core, modes) in &self.cores {
            let of = |some: &[&str]| ticks(some.iter().filter_map(|mode| modes.get(*mode)).sum());
            let source = format!("cpu{core}");
            (self.take)(&source, "busy_ticks", of(&["user", "nice", "system", "irq", "softirq"]));
            (self.take)(&source, "idle_ticks", of(&["idle", "iowait"]));
            for (mode, seconds) in modes {
                *all.entry(mode).or_default() += seconds;
            }
        }
        for mode in ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"] {
            if let Some(seconds) = all.get(mode) {
                (self.take)("cpu", &format!("{mode}_ticks"), ticks(*seconds));
            }
        }
        self.found.of_machine |= !self.cores.is_empty();
    }

    /// `ngx_http_stub_status_module`, under the names that nginx's own exporter gives its numbers.
    fn stub_status(&mut self, answer: &str) {
        let mut numbers = answer.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<f64>().ok());
        for (name, rises) in [
            ("nginx_connections_active", false),
            ("nginx_connections_accepted", true),
            ("nginx_connections_handled", true),
            ("nginx_http_requests_total", true),
            ("nginx_connections_reading", false),
            ("nginx_connections_writing", false),
            ("nginx_connections_waiting", false),
        ] {
            let Some(value) = numbers.next() else { return };
            self.series(Series { name, labels: Vec::new(), value, rises, is_bucket: false });
        }
    }

    /// Of each row the numbers; its texts, and what is called an id, tell it from the others.
    fn rows(&mut self, answer: &str) {
        let end = if answer.ends_with(']') { "" } else { "]" };
        let Ok(rows) = serde_json::from_str::<Vec<Map<String, Value>>>(&format!("{answer}{end}")) else { return };
        for row in rows {
            let texts = row.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
            let number = |name: &str, value: &str| {
                let number: Option<f64> = value.parse().ok().filter(|number: &f64| number.is_finite());
                number.filter(|_| !name.ends_with("id"))
            };
            let (numbers, labels): (Vec<_>, Vec<_>) = texts.partition(|(name, value)| number(name, value).is_some());
            for (name, value) in numbers {
                let labels = labels.iter().map(|(label, value)| (*label, (*value).to_owned())).collect();
                let value = number(name, value).unwrap_or_default();
                let rises = fits(&RISE, name);
                self.series(Series { name, labels, value, rises, is_bucket: false });
            }
        }
    }
}

/// What a figure of `node_exporter` is here: its source, its name and what one of its unit is of ours.
fn of_machine(name: &str, device: Option<&str>) -> Option<(String, &'static str, f64)> {
    let one = |source: &str, metric, unit| Some((source.to_owned(), metric, unit));
    match name {
        "node_procs_running" => return one("system", "running", 1.0),
        "node_procs_blocked" => return one("system", "blocked", 1.0),
        "node_context_switches_total" => return one("system", "context_switches", 1.0),
        "node_memory_MemTotal_bytes" => return one("memory", "total_bytes", 1.0),
        "node_memory_MemAvailable_bytes" => return one("memory", "available_bytes", 1.0),
        "node_memory_SwapTotal_bytes" => return one("memory", "swap_total_bytes", 1.0),
        "node_memory_SwapFree_bytes" => return one("memory", "swap_free_bytes", 1.0),
        "node_pressure_cpu_waiting_seconds_total" => return one("pressure:cpu", "some_us", 1e6),
        "node_pressure_memory_waiting_seconds_total" => return one("pressure:memory", "some_us", 1e6),
        "node_pressure_io_waiting_seconds_total" => return one("pressure:io", "some_us", 1e6),
        _ => {}
    }
    let (kind, metric, unit) = match name {
        "node_network_receive_bytes_total" => ("net", "in_bytes", 1.0),
        "node_network_transmit_bytes_total" => ("net", "out_bytes", 1.0),
        "node_network_receive_packets_total" => ("net", "in_packets", 1.0),
        "node_network_transmit_packets_total" => ("net", "out_packets", 1.0),
        "node_disk_io_time_seconds_total" => ("disk", "busy_ms", 1e3),
        "node_disk_io_time_weighted_seconds_total" => ("disk", "queue_ms", 1e3),
        "node_disk_read_bytes_total" => ("disk", "read_sectors", 1.0 / 512.0),
        "node_disk_written_bytes_total" => ("disk", "written_sectors", 1.0 / 512.0),
        "node_disk_reads_completed_total" => ("disk", "reads", 1.0),
        "node_disk_writes_completed_total" => ("disk", "writes", 1.0),
        _ => return None,
    };
    Some((format!("{kind}:{}", device?), metric, unit))
}

/// Whether one of the patterns names it; `*` stands for any letters.
fn fits<P: AsRef<str>>(patterns: &[P], name: &str) -> bool {
    patterns.iter().any(|pattern| {
        let mut parts = pattern.as_ref().split('*');
        let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
        let mut parts: Vec<&str> = parts.collect();
        let Some(last) = parts.pop() else { return rest.is_empty() };
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(answer: &str, series: &[&str]) -> (Vec<String>, Option<Found>) {
        let mut told = Vec::new();
        let chosen =
            Chosen { series: series.iter().map(ToString::to_string).collect(), counters: vec!["spent".to_owned()] };
        let found =
            scraped(answer, &chosen, &mut |source, metric, value| told.push(format!("{source} {metric} {value}")));
        (told, found)
    }

    /// Lines of `node_exporter`'s own expected output (`collector/fixtures/e2e-output.txt`, Apache-2.0), with its figures of a machine.
    const NODE: &str = include_str!("../tests/node_exporter.txt");

    #[test]
    fn a_machine_that_node_exporter_tells_of_is_told_as_our_own_observer_tells_it() {
        let (told, found) = found(NODE, &[]);
        let found = found.unwrap();
        assert!(found.of_machine && found.series == 0, "{found:?}");
        let has = |line: &str| assert!(told.iter().any(|told| told == line), "{line} is not among {told:#?}");
        for line in [
            "cpu0 busy_ticks 68965",
            "cpu0 idle_ticks 1087289",
            "cpu1 busy_ticks 64412",
            "cpu user_ticks 301851",
            "system running 2",
            "system blocked 0",
            "disk:sda busy_ms 9653880",
            "disk:sda read_sectors 1003346126",
            "memory total_bytes 3831959552",
            "pressure:cpu some_us 14036781",
        ] {
            has(line);
        }
    }

    #[test]
    fn of_others_all_is_kept_but_buckets_and_what_exporters_say_of_themselves() {
        let page = "# TYPE pg_up gauge\npg_up 1\ngo_goroutines 8\nprocess_cpu_seconds_total 4\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_sum 3\n\
                    h_count 4\nspent 1\n";
        let (told, all) = found(page, &[]);
        assert_eq!(told, ["{} pg_up 1", "{} h_sum 3", "{} h_count 4", "{} spent 1"]);
        let rise: Vec<String> = all.unwrap().counters.into_iter().collect();
        assert_eq!(rise, ["h_count", "h_sum", "spent"]);
        assert_eq!(
            found(page, &["process_*", "h_bucket"]).0,
            ["{} process_cpu_seconds_total 4", "{le=\"1\"} h_bucket 2"]
        );
        assert_eq!(found("<html>no page of numbers</html>", &[]).1, None);
        assert_eq!(found("a 1\n", &["b"]).1, Some(Found::default()), "there are numbers, and none that is kept");
        let many: String = (0..MOST + 3).map(|n| format!("a{{n=\"{n}\"}} {n}\n")).collect();
        assert_eq!(found(&many, &[]).1.map(|found| (found.series, found.left_out)), Some((MOST, 3)));
    }

    #[test]
    fn nginx_is_read_as_its_exporter_reads_it() {
        let page = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630947 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";
        let (told, all) = found(page, &[]);
        assert_eq!(
            told[..4],
            [
                "{} nginx_connections_active 291",
                "{} nginx_connections_accepted 16630948",
                "{} nginx_connections_handled 16630947",
                "{} nginx_http_requests_total 31070465",
            ]
        );
        assert_eq!((told.len(), all.unwrap().counters.len()), (7, 3));
    }

    #[test]
    fn rows_are_told_apart_by_their_texts_and_ids() {
        let rows = r#"[{"datname":"shop","datid":"5","xact_commit":"12","numbackends":"3","stats_reset":null},{"datname":"it's \"b\"","xact_commit":"-1.5e3"}]"#;
        let (told, all) = found(rows, &[]);
        assert_eq!(
            told,
            [
                "{datid=\"5\",datname=\"shop\"} numbackends 3",
                "{datid=\"5\",datname=\"shop\"} xact_commit 12",
                "{datname=\"it's \\\"b\\\"\"} xact_commit -1500",
            ]
        );
        assert_eq!(all.unwrap().counters.into_iter().collect::<Vec<_>>(), ["xact_commit"]);
        assert_eq!(found("[", &[]).1, None);
        assert_eq!(found("[]", &[]).1, None);
    }

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name, said) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("*", "", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcd", false),
            ("a*a", "a", false),
            ("", "a", false),
        ] {
            assert_eq!(fits(&[pattern], name), said, "{pattern} {name}");
        }
    }
}
