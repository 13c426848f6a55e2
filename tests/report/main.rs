//! The HTML page: its exact text, its numbers equal to the JSON document, and no scripts but its own.

mod hostile;
mod verdicts;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use hostile::hostile;

/// A run of a few hundred requests on the virtual clock, the same on every machine.
const WORKLOAD: &str = "\
seed = 7
duration = \"62s\"
skip_first = \"2s\"
arrivals.closed = { users = 20, think = { exponential = \"500ms\" } }

[server]
discipline = \"ps\"
service = { exponential = \"10ms\" }

[thresholds]
\"response.p99\" = \"< 250ms\"
\"response.p50\" = \"< 1us\"

[[request]]
name = \"home\"
get = \"/\"
weight = 3

[[request]]
name = \"a|b<i>\"
get = \"/search\"
";

fn offered(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).args(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    // 99: a threshold of the workload fails.
    assert!(matches!(output.status.code(), Some(0 | 99)), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// A directory with a simulated run `run`.
fn simulated() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
    offered(folder.path(), &["simulate", "w.toml", "--output", "run"]);
    folder
}

/// The text of a page, without scripts, styles and link data.
fn words(page: &str) -> String {
    let mut rest = page;
    let mut words = String::new();
    loop {
        let next = [("<script", "</script>"), ("<style", "</style>"), ("href=\"data:", ",")]
            .into_iter()
            .filter_map(|(open, close)| Some((rest.find(open)?, open, close)))
            .min();
        let Some((at, open, close)) = next else { break };
        words += &rest[..at];
        let end =
            rest[at + open.len()..].find(close).expect("what is opened is closed") + at + open.len() + close.len();
        rest = &rest[end..];
    }
    words + rest
}

/// The values of all attributes with this name.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let open = format!(" {name}=\"");
    page.split(open.as_str()).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// All numbers in a JSON text, as bits.
fn numbers(json: &str) -> HashSet<u64> {
    let tokens = json.split(|c: char| c.is_whitespace() || ",:[]{}\"".contains(c));
    tokens.filter_map(|token| token.parse::<f64>().ok()).map(f64::to_bits).collect()
}

/// Compares with a golden file, or rewrites it.
fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/report").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path, text).unwrap();
        return;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    let differs = expected.lines().zip(text.lines()).position(|(old, new)| old != new);
    let at = differs.unwrap_or(expected.lines().count().min(text.lines().count()));
    assert!(
        expected == text,
        "{name}:{}:\n- {}\n+ {}\nif this is intended: UPDATE_GOLDEN=1 cargo test --test report",
        at + 1,
        expected.lines().nth(at).unwrap_or_default(),
        text.lines().nth(at).unwrap_or_default()
    );
}

/// The text with fractions cut to nine digits, as mathematical libraries differ in the last ones.
fn rounded(text: &str) -> String {
    let mut out = String::new();
    let mut digits = 0;
    let mut fraction = false;
    for c in text.chars() {
        match c {
            '.' => fraction = true,
            _ if !c.is_ascii_digit() => (digits, fraction) = (0, false),
            _ => {}
        }
        digits += usize::from(c.is_ascii_digit());
        if !(fraction && c.is_ascii_digit() && digits > 9) {
            out.push(c);
        }
    }
    out
}

#[test]
fn page_summary_and_test_cases_equal_the_golden_files() {
    let folder = simulated();
    offered(folder.path(), &["report", "run", "-o", "page.html"]);
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
    golden("page.html", &rounded(&words(&page)));
    golden("summary.md", &offered(folder.path(), &["report", "run", "--format", "md"]));
    golden("junit.xml", &rounded(&offered(folder.path(), &["report", "run", "--format", "junit"])));
}

#[test]
fn the_extension_of_each_output_file_names_its_format() {
    let folder = simulated();
    let files = ["page.html", "summary.md", "junit.xml", "all.json"];
    let flags: Vec<&str> = files.iter().flat_map(|file| ["-o", file]).collect();
    offered(folder.path(), &[&["report", "run"], &flags[..]].concat());
    let text = |file| fs::read_to_string(folder.path().join(file)).unwrap();
    assert!(text("page.html").starts_with("<!doctype html>"));
    assert_eq!(text("summary.md"), offered(folder.path(), &["report", "run", "--format", "md"]));
    assert_eq!(text("junit.xml"), offered(folder.path(), &["report", "run", "--format", "junit"]));
    assert_eq!(text("all.json"), offered(folder.path(), &["report", "run", "--json"]));
}

#[test]
fn every_number_of_the_page_is_in_the_document() {
    let folder = simulated();
    offered(folder.path(), &["report", "run", "run", "-o", "page.html"]);
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    let json = offered(folder.path(), &["report", "run", "run", "--json"]);
    let known = numbers(&json);
    let page = words(&page);
    let shown: Vec<&str> =
        ["value", "data-low", "data-high"].into_iter().flat_map(|name| attributes(&page, name)).collect();
    assert!(shown.len() > 200, "{} numbers", shown.len());
    for number in shown {
        assert!(
            known.contains(&number.parse::<f64>().unwrap().to_bits()),
            "{number} is on the page and not in the JSON document"
        );
    }
    let document: Value = serde_json::from_str(&json).unwrap();
    // The verdict is that of `verify`.
    let verdict: Value =
        serde_json::from_str(&offered(folder.path(), &["verify", "run", "--by-threads", "--json"])).unwrap();
    assert_eq!(document["runs"][0]["verdict"], verdict);
}

#[test]
fn external_text_is_escaped_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = hostile(folder.path());
    let file = file.file_name().unwrap().to_str().unwrap();
    offered(folder.path(), &["report", file, "-o", "page.html"]);
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(
        !page.contains("<img")
            && !page.contains("document.title='ran'</script>")
            && !page.contains("<a href=\"javascript")
    );
    assert!(page.contains("&#60;img src=x") || page.contains("&lt;img src=x"), "the label is shown");
    let summary = offered(folder.path(), &["report", file, "--format", "md"]);
    assert!(!summary.contains("<img") && !summary.contains("</script>"));
    let cases = offered(folder.path(), &["report", file, "--format", "junit"]);
    assert!(!cases.contains("<img") && cases.contains("&lt;img"), "{cases}");
}

#[test]
fn every_chart_is_written_as_svg() {
    let folder = simulated();
    let file = hostile(folder.path());
    let file = file.file_name().unwrap().to_str().unwrap();
    offered(folder.path(), &["report", "run", file, "-o", "page.html", "--svg", "charts"]);
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    let figures: HashSet<String> =
        attributes(&words(&page), "data-from").iter().map(|id| id.replace("-data", ".svg")).collect();
    let files: HashSet<String> = fs::read_dir(folder.path().join("charts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(files == figures && files.len() > 20, "{files:?} {figures:?}");
    for file in files {
        let text = fs::read_to_string(folder.path().join("charts").join(&file)).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{file}");
        assert!(!text.contains("<img") && !text.contains("<script"), "{file}");
    }
    // Without a page, and over existing files.
    offered(folder.path(), &["report", "run", "--svg", "charts"]);
}

/// An access log of visits of three pages each, half a minute apart.
fn access_log(folder: &Path) {
    let mut lines = Vec::new();
    for visit in 0..200u64 {
        let start = (visit * 97 + (visit * visit * 53) % 61) % 18_000;
        lines.extend((0..3).map(|page| (start + 30 * page, visit, page)));
    }
    lines.sort_unstable();
    let line = |(at, visit, page): (u64, u64, u64)| {
        let time = format!("{:02}:{:02}:{:02}", at / 3600, at / 60 % 60, at % 60);
        let bytes = 500 + 100 * page;
        format!(
            "10.0.{}.{} - - [10/Oct/2026:{time} +0000] \"GET /{page} HTTP/1.1\" 200 {bytes}\n",
            visit / 100,
            visit % 100
        )
    };
    fs::write(folder.join("access.log"), lines.into_iter().map(line).collect::<String>()).unwrap();
}

#[test]
fn a_log_analysis_and_a_sweep_have_their_own_sections() {
    let folder = tempfile::tempdir().unwrap();
    access_log(folder.path());
    fs::write(folder.path().join("site.json"), offered(folder.path(), &["logs", "access.log", "--json"])).unwrap();
    let interval = |value: f64| serde_json::json!({ "value": value, "low": value * 0.9, "high": value * 1.1 });
    let cell = |users: u64, think: &str, mean: f64| {
        let times = ["mean", "p50", "p90", "p95", "p99", "p999"].map(|name| (name.to_owned(), interval(mean)));
        let rest =
            [("n", 100.into()), ("max", mean.into())].map(|(name, value): (&str, Value)| (name.to_owned(), value));
        serde_json::json!({
            "values": { "users": users.to_string(), "think": think }, "directory": "cells/1", "position": 0,
            "validity": "valid", "reason": "", "warnings": [], "total_requests": 100, "unsent": 0,
            "target_rate_per_s": null, "service_ms": null, "lateness_us": null, "expected_cov": null, "thresholds": [],
            "sent_rate_per_s": 80.0, "completed_rate_per_s": interval(79.5),
            "errors_percent": interval(0.25), "response_ms": times.into_iter().chain(rest).collect::<serde_json::Map<_, _>>(),
            "measured_cov": { "value": 1.02, "low": null, "high": null }, "queue": { "rort": 0.125 },
            "response_histogram": { "edges_ms": [1.0, 10.0, 100.0], "counts": [30, 70] },
        })
    };
    let sweep = serde_json::json!({
        "schema": "offered.sweep/1", "version": "0.1.0", "workload": "w<b>.toml", "simulated": true, "order": "strided",
        "fields": [{ "field": "users", "values": ["25", "50"] }, { "field": "think", "values": ["5ms", "25ms"] }],
        "cells": [cell(25, "5ms", 11.0), cell(50, "5ms", 22.0), cell(25, "25ms", 13.0), cell(50, "25ms", 17.0)],
        "objective": "p90 < 31ms",
        "limits": [{ "fixed": { "think": "5ms" }, "field": "users", "value": 41.5, "low": 40.0, "high": 43.0, "note": null }],
    });
    fs::create_dir(folder.path().join("sweep")).unwrap();
    // The schema comes first, as the command writes it.
    let text = sweep
        .to_string()
        .replacen('{', "{\"schema\":\"offered.sweep/1\",", 1)
        .replace(",\"schema\":\"offered.sweep/1\"", "");
    fs::write(folder.path().join("sweep/sweep.json"), text).unwrap();
    offered(folder.path(), &["report", "sweep", "site.json", "-o", "page.html"]);
    let page = words(&fs::read_to_string(folder.path().join("page.html")).unwrap());
    for expected in [
        "The site from 2026-10-10",
        "Sessions by timeout",
        "p90 &#60; 31ms",
        "41.5",
        "w&#60;b&#62;.toml",
        "Response time, p95",
    ] {
        assert!(page.contains(expected), "{expected} is missing");
    }
    let known = numbers(&offered(folder.path(), &["report", "sweep", "site.json", "--json"]));
    for number in attributes(&page, "value") {
        assert!(known.contains(&number.parse::<f64>().unwrap().to_bits()), "{number}");
    }
    let broken =
        offered_fails(folder.path(), &["report", "broken.json", "-o", "x.html"], "{\"schema\":\"offered.sweep/1\"}");
    assert!(broken.contains("broken.json") && broken.contains("missing field"), "{broken}");
    let other = "{\n  \"schema\": \"offered.capacity/1\",\n  \"workload\": \"w.toml\"}";
    let other = offered_fails(folder.path(), &["report", "broken.json", "-o", "x.html"], other);
    assert!(
        other.contains("offered.capacity/1 documents cannot be reported") && other.contains("run or sweep directories"),
        "{other}"
    );
}

/// Stderr of the program for a file `broken.json` with this content.
fn offered_fails(folder: &Path, args: &[&str], content: &str) -> String {
    fs::write(folder.join("broken.json"), content).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn errors_have_a_fix() {
    let folder = simulated();
    for (args, why) in [
        (&["report", "run"][..], "-o report.html"),
        (&["report", "run", "-o", "report.pdf"], "write .html and print it in a browser"),
        (&["report", "run", "-o", "x.html", "-o", "report"], "unknown extension"),
        (&["report", "run", "-o", "x.md", "--format", "html"], "write a .html file"),
        (&["report", "absent.jtl", "-o", "x.html"], "absent.jtl"),
        (&["report", "w.toml", "-o", "x.html"], "w.toml"),
        (&["report", "run", "-o", "no/such/folder/x.html"], "no/such/folder"),
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder.path()).args(args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{args:?}: {}", output.status);
        assert!(error.starts_with("error: ") && error.lines().count() == 1 && error.contains(why), "{args:?}: {error}");
    }
}
