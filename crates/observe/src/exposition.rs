//! The formats of exporters: Prometheus' text format 0.0.4, and `OpenMetrics` 1.0.
//!
//! Lines that are neither a comment nor a metric are skipped. Exemplars and timestamps are ignored: the time of a value
//! is the time of the scrape. Sources: <https://prometheus.io/docs/instrumenting/exposition_formats>, and the
//! `OpenMetrics` specification, sections on types and on the ABNF of its text format.

use std::collections::HashMap;

/// Names and values of labels.
pub(crate) type Labels<'a> = Vec<(&'a str, String)>;

/// One value of a page.
#[derive(Debug, PartialEq)]
pub(crate) struct Series<'a> {
    pub(crate) name: &'a str,
    /// In the order of the page.
    pub(crate) labels: Labels<'a>,
    pub(crate) value: f64,
    /// Whether it is a counter: it only increases, except for resets.
    pub(crate) is_counter: bool,
    /// Whether it is a histogram bucket.
    pub(crate) is_bucket: bool,
}

/// Passes every value of the page to `visit`.
pub(crate) fn each<'a>(page: &'a str, visit: &mut dyn FnMut(Series<'a>)) {
    let mut types: HashMap<&str, &str> = HashMap::new();
    for line in page.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_ascii_whitespace();
            if let (Some("TYPE"), Some(name), Some(kind)) = (words.next(), words.next(), words.next()) {
                types.insert(name, kind);
            }
            continue;
        }
        let Some((name, labels, value)) = number(line) else { continue };
        let (is_counter, is_bucket) = match types.get(name) {
            Some(kind) => (*kind == "counter", false),
            None => {
                let of = |end: &str| name.strip_suffix(end).and_then(|family| types.get(family)).copied();
                // The creation time of a counter is not a measurement.
                if matches!(of("_created"), Some("counter" | "histogram" | "summary")) {
                    continue;
                }
                let parts = ["_count", "_sum", "_bucket"].map(|end| matches!(of(end), Some("histogram" | "summary")));
                let is_total = match of("_total") {
                    Some(kind) => kind == "counter",
                    None => name.ends_with("_total"),
                };
                (is_total || parts.contains(&true), parts[2])
            }
        };
        visit(Series { name, labels, value, is_counter, is_bucket });
    }
}

/// Parses `name{label="value"} 1.5`; anything after the value is ignored.
fn number(line: &str) -> Option<(&str, Labels<'_>, f64)> {
    let (name, mut rest) = word(line)?;
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner.trim_start();
        while !rest.starts_with('}') {
            let (label, after) = word(rest)?;
            let (value, after) = text(after.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?)?;
            labels.push((label, value));
            let after = after.trim_start();
            rest = after.strip_prefix(',').map_or(after, str::trim_start);
            if rest.len() == after.len() && !rest.starts_with('}') {
                return None;
            }
        }
        rest = &rest[1..];
    }
    let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
    value.is_finite().then_some((name, labels, value))
}

/// Splits a text after the name at its start.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    word.starts_with(|c: char| !c.is_ascii_digit()).then_some((word, rest))
}

/// Splits a text at the next unescaped quote; escapes before it are resolved.
fn text(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(page: &str) -> Vec<String> {
        let mut read = Vec::new();
        each(page, &mut |series| {
            let Series { name, labels, value, is_counter, is_bucket } = series;
            let kind = if is_bucket {
                "bucket"
            } else if is_counter {
                "counter"
            } else {
                "gauge"
            };
            let labels: Vec<_> = labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
            read.push(format!("{name} [{}] {value} {kind}", labels.join(",")));
        });
        read
    }

    /// The example in the documentation of the format, with escapes, timestamps and irregular spaces.
    #[test]
    fn the_example_of_prometheus_is_parsed() {
        let page = r#"# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9

# Minimalistic line:
metric_without_timestamp_and_labels 12.47

# A weird metric from before the epoch:
something_weird{problem="division by zero"} +Inf -3982045

# TYPE http_request_duration_seconds histogram
http_request_duration_seconds_bucket{le="0.05"} 24054
http_request_duration_seconds_bucket{le="+Inf"} 144320
http_request_duration_seconds_sum 53423
http_request_duration_seconds_count 144320

# TYPE rpc_duration_seconds summary
rpc_duration_seconds{quantile="0.01"} 3102
rpc_duration_seconds_sum 1.7560473e+07
rpc_duration_seconds_count 2693
"#;
        assert_eq!(
            read(page),
            [
                "http_requests_total [method=post,code=200] 1027 counter",
                "http_requests_total [method=post,code=400] 3 counter",
                "msdos_file_access_time_seconds [path=C:\\DIR\\FILE.TXT,error=Cannot find file:\n\"FILE.TXT\"] 1458255915 gauge",
                "metric_without_timestamp_and_labels [] 12.47 gauge",
                "http_request_duration_seconds_bucket [le=0.05] 24054 bucket",
                "http_request_duration_seconds_bucket [le=+Inf] 144320 bucket",
                "http_request_duration_seconds_sum [] 53423 counter",
                "http_request_duration_seconds_count [] 144320 counter",
                "rpc_duration_seconds [quantile=0.01] 3102 gauge",
                "rpc_duration_seconds_sum [] 17560473 counter",
                "rpc_duration_seconds_count [] 2693 counter",
            ]
        );
    }

    #[test]
    fn openmetrics_is_parsed() {
        let page = "# TYPE acme_http counter\n# UNIT acme_http_seconds seconds\nacme_http_total{path=\"/a b\",} 5 1.5 # {trace_id=\"x\"} 1 2\n\
                    acme_http_created 1395066363.1\n# TYPE queue gauge\nqueue 3\n# TYPE odd_total gauge\nodd_total 4\nplain_total 9\n# EOF\n";
        let expected = [
            "acme_http_total [path=/a b] 5 counter",
            "queue [] 3 gauge",
            "odd_total [] 4 gauge",
            "plain_total [] 9 counter",
        ];
        assert_eq!(read(page), expected);
    }

    #[test]
    fn lines_without_a_number_are_skipped() {
        for line in [
            "<html>",
            "a",
            "a{",
            "a{b",
            "a{b=c} 1",
            "a{b=\"c} 1",
            "a{b=\"c\"d=\"e\"} 1",
            "a NaN",
            "9a 1",
            "a{b=\"c\"}",
            "",
            "é 1",
            "a{\\",
        ] {
            assert_eq!(read(line), [""; 0], "{line}");
        }
    }
}
