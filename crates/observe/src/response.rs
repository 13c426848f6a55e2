//! Reading the response of a scrape: the page of an exporter, nginx's `stub_status`, or the rows of a database.
//!
//! Machine metrics of `node_exporter` get the names and units of the kernel counters of this crate, so that later
//! analysis does not depend on how they were read. Every other number is a series: its labels, such as `{path="/"}`,
//! are its source, and its name is its metric.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::SampleVisitor;
use crate::exposition::{self, Series};

/// Clock ticks per second into which scraped processor times, in seconds, are converted.
pub const TICKS_PER_S: u64 = 100;
/// Maximum number of series read from one response.
pub(crate) const MAX_SERIES: usize = 2000;

/// Patterns of metrics that are excluded by default: those about the exporter itself, and machine metrics, which are read separately.
const EXCLUDED: [&str; 7] = ["go_*", "process_*", "promhttp_*", "python_*", "scrape_*", "node_*", "pg_settings_*"];
/// Patterns of PostgreSQL statistics that are counters; manual, section 27.2, and `pg_stat_statements`.
const POSTGRES_COUNTERS: [&str; 24] = [
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

/// Selects the series to read, and marks counters.
#[derive(Clone, Debug, Default)]
pub struct SeriesFilter {
    /// Patterns of metric names to read; `*` matches any characters. Empty: all except metrics about the exporter and histogram buckets.
    pub series: Vec<String>,
    /// Patterns of metric names that are counters, in addition to metrics declared or known as counters.
    pub counters: Vec<String>,
}

/// The values of a response.
#[derive(Debug, Default, PartialEq)]
pub struct ScrapeResult {
    /// Names of the series that are counters.
    pub counters: BTreeSet<String>,
    /// Number of series read, without machine metrics.
    pub series: usize,
    /// Number of series not read because the response has more than 2000.
    pub excluded: usize,
    /// Whether the response has machine metrics.
    pub has_machine_metrics: bool,
}

/// Reads a response and passes its numbers to `visit`. Returns `None` if the response has no numbers at all.
pub fn read_response(response: &str, filter: &SeriesFilter, visit: SampleVisitor<'_>) -> Option<ScrapeResult> {
    let mut reader =
        Reader { filter, visit, result: ScrapeResult::default(), cores: BTreeMap::new(), has_numbers: false };
    if response.starts_with("Active connections:") {
        reader.stub_status(response);
    } else if response.starts_with('[') {
        reader.rows(response);
    } else {
        exposition::each(response, &mut |series| reader.series(series));
    }
    reader.processors();
    reader.has_numbers.then_some(reader.result)
}

struct Reader<'a, 'b> {
    filter: &'a SeriesFilter,
    visit: SampleVisitor<'b>,
    result: ScrapeResult,
    /// Processor seconds by processor and mode.
    cores: BTreeMap<String, BTreeMap<String, f64>>,
    has_numbers: bool,
}

impl Reader<'_, '_> {
    fn series(&mut self, series: Series<'_>) {
        let Series { name, labels, value, is_counter, is_bucket } = series;
        self.has_numbers = true;
        let label = |of: &str| labels.iter().find(|(name, _)| *name == of).map(|(_, value)| value.as_str());
        if let ("node_cpu_seconds_total", Some(core), Some(mode)) = (name, label("cpu"), label("mode")) {
            self.cores.entry(core.to_owned()).or_default().insert(mode.to_owned(), value);
        } else if let Some((source, metric, unit)) = machine_metric(name, label("device")) {
            self.result.has_machine_metrics = true;
            (self.visit)(&source, metric, (value * unit).round());
        }
        let by_name = match &self.filter.series[..] {
            [] => !is_bucket && !matches_any(&EXCLUDED, name),
            some => matches_any(some, name),
        };
        if by_name {
            let labels = labels.iter().map(|(label, value)| format!("{label}={value:?}")).collect::<Vec<_>>().join(",");
            self.add_series(name, &format!("{{{labels}}}"), value, is_counter);
        }
    }

    fn add_series(&mut self, name: &str, labels: &str, value: f64, is_counter: bool) {
        if self.result.series >= MAX_SERIES {
            self.result.excluded += 1;
            return;
        }
        self.result.series += 1;
        if is_counter || matches_any(&self.filter.counters, name) {
            self.result.counters.insert(name.to_owned());
        }
        (self.visit)(labels, name, value);
    }

    /// Passes on processor times, per processor and in total.
    fn processors(&mut self) {
        let ticks = |seconds: f64| (seconds * TICKS_PER_S as f64).round();
        let mut all: BTreeMap<&str, f64> = BTreeMap::new();
        for (core, modes) in &self.cores {
            let of = |some: &[&str]| ticks(some.iter().filter_map(|mode| modes.get(*mode)).sum());
            let source = format!("cpu{core}");
            (self.visit)(&source, "busy_ticks", of(&["user", "nice", "system", "irq", "softirq"]));
            (self.visit)(&source, "idle_ticks", of(&["idle", "iowait"]));
            for (mode, seconds) in modes {
                *all.entry(mode).or_default() += seconds;
            }
        }
        for mode in ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"] {
            if let Some(seconds) = all.get(mode) {
                (self.visit)("cpu", &format!("{mode}_ticks"), ticks(*seconds));
            }
        }
        self.result.has_machine_metrics |= !self.cores.is_empty();
    }

    /// The response of `ngx_http_stub_status_module`, with the metric names of nginx's own exporter.
    fn stub_status(&mut self, response: &str) {
        let mut numbers = response.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<f64>().ok());
        for (name, is_counter) in [
            ("nginx_connections_active", false),
            ("nginx_connections_accepted", true),
            ("nginx_connections_handled", true),
            ("nginx_http_requests_total", true),
            ("nginx_connections_reading", false),
            ("nginx_connections_writing", false),
            ("nginx_connections_waiting", false),
        ] {
            let Some(value) = numbers.next() else { return };
            self.series(Series { name, labels: Vec::new(), value, is_counter, is_bucket: false });
        }
    }

    /// Reads the rows of a database. Numbers are values; texts, and columns with a name that ends in `id`, are labels.
    fn rows(&mut self, response: &str) {
        let end = if response.ends_with(']') { "" } else { "]" };
        let Ok(rows) = serde_json::from_str::<Vec<Map<String, Value>>>(&format!("{response}{end}")) else { return };
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
                let is_counter = matches_any(&POSTGRES_COUNTERS, name);
                self.series(Series { name, labels, value, is_counter, is_bucket: false });
            }
        }
    }
}

/// The source and metric name of a machine metric of `node_exporter`, and the factor between its unit and ours.
fn machine_metric(name: &str, device: Option<&str>) -> Option<(String, &'static str, f64)> {
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

/// Whether a pattern matches the name; `*` matches any characters.
fn matches_any<P: AsRef<str>>(patterns: &[P], name: &str) -> bool {
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

    fn read(response: &str, series: &[&str]) -> (Vec<String>, Option<ScrapeResult>) {
        let mut values = Vec::new();
        let filter = SeriesFilter {
            series: series.iter().map(ToString::to_string).collect(),
            counters: vec!["spent".to_owned()],
        };
        let result = read_response(response, &filter, &mut |source, metric, value| {
            values.push(format!("{source} {metric} {value}"));
        });
        (values, result)
    }

    /// Machine metrics from the expected output of `node_exporter`'s tests (`collector/fixtures/e2e-output.txt`, Apache-2.0).
    const NODE: &str = include_str!("../tests/node_exporter.txt");

    #[test]
    fn machine_metrics_of_node_exporter_have_our_names() {
        let (values, result) = read(NODE, &[]);
        let result = result.unwrap();
        assert!(result.has_machine_metrics && result.series == 0, "{result:?}");
        let has = |line: &str| assert!(values.iter().any(|value| value == line), "{line} is not among {values:#?}");
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
    fn buckets_and_metrics_of_the_exporter_itself_are_excluded() {
        let page = "# TYPE pg_up gauge\npg_up 1\ngo_goroutines 8\nprocess_cpu_seconds_total 4\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_sum 3\n\
                    h_count 4\nspent 1\n";
        let (values, all) = read(page, &[]);
        assert_eq!(values, ["{} pg_up 1", "{} h_sum 3", "{} h_count 4", "{} spent 1"]);
        let rise: Vec<String> = all.unwrap().counters.into_iter().collect();
        assert_eq!(rise, ["h_count", "h_sum", "spent"]);
        assert_eq!(
            read(page, &["process_*", "h_bucket"]).0,
            ["{} process_cpu_seconds_total 4", "{le=\"1\"} h_bucket 2"]
        );
        assert_eq!(read("<html>no page of numbers</html>", &[]).1, None);
        assert_eq!(read("a 1\n", &["b"]).1, Some(ScrapeResult::default()), "there are numbers, and all are excluded");
        let many: String = (0..MAX_SERIES + 3).map(|n| format!("a{{n=\"{n}\"}} {n}\n")).collect();
        assert_eq!(read(&many, &[]).1.map(|result| (result.series, result.excluded)), Some((MAX_SERIES, 3)));
    }

    #[test]
    fn nginx_metrics_have_the_names_of_its_exporter() {
        let page = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630947 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";
        let (values, all) = read(page, &[]);
        assert_eq!(
            values[..4],
            [
                "{} nginx_connections_active 291",
                "{} nginx_connections_accepted 16630948",
                "{} nginx_connections_handled 16630947",
                "{} nginx_http_requests_total 31070465",
            ]
        );
        assert_eq!((values.len(), all.unwrap().counters.len()), (7, 3));
    }

    #[test]
    fn texts_and_ids_of_rows_are_labels() {
        let rows = r#"[{"datname":"shop","datid":"5","xact_commit":"12","numbackends":"3","stats_reset":null},{"datname":"it's \"b\"","xact_commit":"-1.5e3"}]"#;
        let (values, all) = read(rows, &[]);
        assert_eq!(
            values,
            [
                "{datid=\"5\",datname=\"shop\"} numbackends 3",
                "{datid=\"5\",datname=\"shop\"} xact_commit 12",
                "{datname=\"it's \\\"b\\\"\"} xact_commit -1500",
            ]
        );
        assert_eq!(all.unwrap().counters.into_iter().collect::<Vec<_>>(), ["xact_commit"]);
        assert_eq!(read("[", &[]).1, None);
        assert_eq!(read("[]", &[]).1, None);
    }

    #[test]
    fn a_star_matches_any_characters() {
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
            assert_eq!(matches_any(&[pattern], name), said, "{pattern} {name}");
        }
    }
}
