//! Exact output of `offered verify` for small files. tests/golden/verify/NAME.txt contains a command with its exit
//! code, stdout and stderr; the input files are in tests/golden/verify/data, with the script that created them.
//!
//! `UPDATE_GOLDEN=1 cargo test -p offered --test foreign` rewrites them after an intended change.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::offered;

tests![
    outputs_match_the_golden_files,
    the_document_has_every_documented_key,
    stdin_and_compression_change_only_the_name,
    toolkit_tables_and_histograms_are_written
];

/// Name of the golden file, and the arguments after `verify`.
const COMMANDS: &[(&str, &str)] = &[
    ("even", "even.txt"),
    ("even-meant", "even.txt --expected constant --rate 100/s"),
    ("even-strict", "even.txt --strict"),
    ("even-json", "even.txt --json"),
    ("bunches", "bunches.csv"),
    ("users", "a.jtl --by-threads --skip-first 2s --take 25s"),
    ("users-details", "a.jtl --details"),
    ("users-json", "a.jtl --by-threads --skip-first 2s --take 25s --json"),
    ("users-meant", "a.jtl --skip-first 1s --expected closed:6:uniform:0s,1s"),
    ("users-drop", "a.jtl --failures drop"),
    ("users-end", "a.jtl --stamps end"),
    ("several", "a.jtl b.jtl even.txt"),
    ("merge", "a.jtl b.jtl --merge"),
    ("two-runs", "two-runs.txt"),
    ("columns", "columns.csv --start-column begun --end-column ended --label-column page --unit 1ms --by-threads"),
    ("window", "even.txt --skip-first 1h"),
    ("error-nothing", ""),
    ("error-absent", "absent.jtl"),
    ("error-empty", "empty.csv"),
    ("error-prose", "prose.txt"),
    ("error-folder", "."),
    ("error-stdin", "-"),
    ("error-columns", "columns.csv"),
    ("error-column", "columns.csv --start-column start"),
    ("error-half", "half.csv --start-column begun"),
    ("error-format", "even.txt --input-format jtl-csv"),
    ("error-stamps", "even.txt --stamps end"),
    ("error-meant", "even.txt --expected closed:10"),
    ("error-gaps", "a.jtl b.jtl --gaps gaps.txt"),
];

fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/verify")
}

/// The command, its exit code, and its output. Numbers in JSON have nine digits, which all mathematical libraries
/// share.
fn page(args: &str) -> String {
    let words: Vec<&str> = ["verify"].into_iter().chain(args.split_whitespace()).collect();
    let output = offered(&words).current_dir(place().join("data")).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (mut stdout, stderr) = (text(output.stdout), text(output.stderr));
    if let Ok(mut document) = serde_json::from_str::<Value>(&stdout) {
        round(&mut document);
        stdout = serde_json::to_string_pretty(&document).unwrap() + "\n";
    }
    let code = output.status.code().unwrap();
    format!("$ offered {}\nexit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}", words.join(" "))
}

fn round(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(round),
        Value::Array(items) => items.iter_mut().for_each(round),
        Value::Number(number) if number.is_f64() => {
            let rounded: f64 = format!("{:.8e}", number.as_f64().unwrap()).parse().unwrap();
            *value = rounded.into();
        }
        _ => {}
    }
}

fn outputs_match_the_golden_files() {
    let mut changed = Vec::new();
    for (name, args) in COMMANDS {
        let (file, found) = (place().join(format!("{name}.txt")), page(args));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&file, found).unwrap();
            continue;
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if let Some((old, new)) = expected.lines().zip(found.lines()).find(|(old, new)| old != new) {
            changed.push(format!("{name}.txt:\n  - {old}\n  + {new}"));
        } else if expected.len() != found.len() {
            changed.push(format!("{name}.txt: {} bytes, now {}", expected.len(), found.len()));
        }
    }
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

fn the_document_has_every_documented_key() {
    let text = page("a.jtl --by-threads --json");
    let json = text.split("--- stdout\n").nth(1).unwrap().split("--- stderr").next().unwrap();
    let verdict: Value = serde_json::from_str(json).unwrap();
    assert_eq!(verdict["schema"], "offered.verify/1");
    let times = "label n rate_per_s p50_ms mean_ms sdev_ms cov p90_ms p95_ms p99_ms min_ms max_ms";
    for (table, keys) in [
        ("gaps", format!("{times} cov_low cov_high")),
        ("responses", format!("{times} error_percent kb_per_s")),
        ("first_byte", times.to_owned()),
        ("sizes", "label n".to_owned()),
        ("by_threads", "threads requests rate_per_s mean_ms sdev_ms cov".to_owned()),
        ("findings", "check statistic p_value estimate low high result".to_owned()),
        ("dispersion", "window_s idc low high".to_owned()),
        ("warnings", "message fix".to_owned()),
    ] {
        let row = &verdict[table][0];
        for key in keys.split(' ') {
            assert!(row.get(key).is_some(), "{table}: {key} is missing in {row}");
        }
    }
    for (part, keys) in [
        ("source", "path format requests unreadable_rows timestamps"),
        ("queue", "rate_per_s response_ms concurrency think_ms users rort"),
        ("window", "start_s end_s requests excluded"),
    ] {
        for key in keys.split(' ') {
            assert!(verdict[part].get(key).is_some(), "{part}: {key} is missing");
        }
    }
    for key in ["pattern", "validity", "runs"] {
        assert!(verdict.get(key).is_some(), "{key} is missing");
    }
}

fn stdin_and_compression_change_only_the_name() {
    use std::io::Write;
    let plain = fs::read(place().join("data/a.jtl")).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&plain).unwrap();
    let of_stdin = |bytes: &[u8]| {
        let mut command = offered(&["verify", "-", "--json"]);
        let mut child =
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        serde_json::from_slice::<Value>(&child.wait_with_output().unwrap().stdout).unwrap()
    };
    let mut file: Value = serde_json::from_slice(
        &offered(&["verify", "a.jtl", "--json"]).current_dir(place().join("data")).output().unwrap().stdout,
    )
    .unwrap();
    file["source"]["path"] = "-".into();
    assert_eq!(of_stdin(&plain), file);
    assert_eq!(of_stdin(&gz.finish().unwrap()), file);
}

fn toolkit_tables_and_histograms_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().to_str().unwrap();
    let args = ["verify", "a.jtl", "--csv", csv, "--bin-widths", "50", "500"];
    assert!(offered(&args).current_dir(place().join("data")).output().unwrap().status.success());
    let mut names: Vec<String> =
        fs::read_dir(csv).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    // Four tables; for three labels and Total, gaps and responses with two bin widths.
    assert_eq!(names.len(), 4 + 4 * 2 * 2, "{names:?}");
    let text =
        |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_else(|_| panic!("{name}: {names:?}"));
    let rows = text("a_arr.csv");
    assert_eq!(rows.lines().nth(1).unwrap(), "label,n,tps,median,mean,sdev,cv,p90,p95,p99,min,max");
    let n = |row: &str| row.split(',').nth(1).unwrap().parse::<u64>().unwrap();
    let total = n(rows.lines().last().unwrap());
    for cell in ["0050", "0500"] {
        let histogram = text(&format!("a_Total_arr_{cell}.csv"));
        assert_eq!(histogram.lines().nth(1).unwrap(), "Milliseconds,Count");
        assert_eq!(histogram.lines().skip(2).map(n).sum::<u64>(), total);
    }
}
