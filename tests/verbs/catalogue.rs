//! `[[request]] catalogue`: slices of a run draw the same files, and errors name file and line.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const FILES: &str =
    "path,weight,service,class\n/,60,1ms,page\n/news,20,3ms,page\n/logo,15,500us,image\n/film,5,120ms,film\n";

fn workload(arrivals: &str) -> String {
    format!(
        "seed = 5\nduration = \"30s\"\narrivals.{arrivals}\ntarget.url = \"http://127.0.0.1:1/\"\n[server]\ndiscipline = \"ps\"\n\
         \n[[request]]\ncatalogue = \"files.csv\"\n"
    )
}

fn offered(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).args(args).output().unwrap()
}

fn result(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn results_are_by_class_and_a_run_finds_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("w.toml"), workload("closed = { users = 20, think = { exponential = \"100ms\" } }")).unwrap();
    fs::write(path.join("files.csv"), FILES).unwrap();
    let (code, _, error) = result(&offered(path, &["simulate", "w.toml", "--output", "runs/1"]));
    assert_eq!(code, Some(0), "{error}");
    let (code, verdict, _) = result(&offered(path, &["verify", "runs/1", "--twin", "--json"]));
    let verdict: Value = serde_json::from_str(&verdict).unwrap();
    let rows = verdict["twin"]["requests"].as_array().unwrap();
    let seen: Vec<_> =
        rows.iter().map(|row| (row["label"].as_str().unwrap(), row["ratio"].as_f64().unwrap())).collect();
    assert_eq!(seen, [("film", 1.0), ("image", 1.0), ("page", 1.0), ("Total", 1.0)]);
    assert_eq!(code, Some(0));
    let refused = |said: &str| {
        let (code, _, why) = result(&offered(path, &["verify", "runs/1"]));
        assert_eq!(code, Some(2));
        assert!(why.contains("runs/1/workload.toml:9: request[0].catalogue: cannot read `files.csv`"), "{why}");
        assert!(why.contains(said), "{why}");
    };
    fs::rename(path.join("files.csv"), path.join("elsewhere.csv")).unwrap();
    refused("a run directory does not contain the files that its workload names");
    fs::write(path.join("files.csv"), FILES.replace("120ms", "130ms")).unwrap();
    refused("the file has changed: its SHA-256 begins with");
    fs::copy(path.join("elsewhere.csv"), path.join("runs/1/files.csv")).unwrap();
    assert_eq!(result(&offered(path, &["verify", "runs/1"])).0, Some(0));
    // It can be verified against another workload.
    assert_eq!(result(&offered(path, &["verify", "runs/1", "--workload", "w.toml"])).0, Some(0));
    let page = offered(path, &["report", "runs/1", "-o", "report.html"]);
    assert_eq!(result(&page).0, Some(0), "{page:?}");
}

#[test]
fn slices_of_a_run_send_the_requests_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("w.toml"), workload("open = { rate = \"50/s\" }")).unwrap();
    fs::write(path.join("files.csv"), FILES).unwrap();
    let launches = |share: &str, out: &str| {
        let run = offered(
            path,
            &["run", "w.toml", "--dry-run", "constant:1ms", "--share", share, "--output", out, "--quiet"],
        );
        assert!(matches!(run.status.code(), Some(0 | 3)), "{run:?}");
        let (_, rows, why) = result(&offered(path, &["export", out, "--format", "csv"]));
        let rows: Vec<String> =
            rows.lines().skip(1).map(|row| row.split(',').take(7).collect::<Vec<_>>().join(",")).collect();
        assert!(rows.len() > 100, "{why}");
        rows
    };
    let mut parts = [launches("1/3", "a"), launches("2/3", "b"), launches("3/3", "c")].concat();
    let mut whole = launches("1/1", "whole");
    parts.sort();
    whole.sort();
    assert_eq!(parts, whole);
}

#[test]
fn errors_name_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("w.toml"), workload("open = { rate = \"50/s\" }")).unwrap();
    for (files, why) in [
        (
            "path,weigth\n/,1\n",
            "w.toml:9: request[0].catalogue: files.csv:1: unknown column `weigth` (did you mean `weight`?)",
        ),
        (
            "path,service\n/,1ms\n/a,2\n",
            "w.toml:9: request[0].catalogue: files.csv:3: the service `2` is not a time with its unit",
        ),
        ("", "w.toml:9: request[0].catalogue: files.csv:1: no column `path`"),
    ] {
        fs::write(path.join("files.csv"), files).unwrap();
        for verb in [
            &["run", "w.toml", "--dry-run"][..],
            &["simulate", "w.toml"],
            &["serve", "w.toml"],
            &["plan", "solve", "w.toml"],
        ] {
            let (code, _, error) = result(&offered(path, verb));
            assert!(code == Some(2) && error.contains(why), "{verb:?}: {error}");
        }
    }
    fs::write(path.join("files.csv"), FILES).unwrap();
    let emulate = ["plan", "emulate", "--rate", "10/s", "--response", "100ms", "--for", "k6", "w.toml"];
    let (code, _, why) = result(&offered(path, &emulate));
    assert!(code == Some(2) && why.contains("uses a catalogue"), "{why}");
}
