//! Sweeps and capacity searches with real runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Process, Serve, ended, offered, until_exists};

tests![a_killed_sweep_resumes, a_search_limited_by_the_generator_reports_it];

/// All files of the finished cells.
fn finished(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for cell in fs::read_dir(out.join("cells")).unwrap().map(|entry| entry.unwrap().path()) {
        if !cell.join("run.json").exists() {
            continue;
        }
        let parts = fs::read_dir(cell.join("events")).unwrap().map(|entry| entry.unwrap().path());
        for file in parts.chain([cell.join("run.json"), cell.join("workload.toml")]) {
            files.insert(file.display().to_string(), fs::read(&file).unwrap());
        }
    }
    files
}

fn a_killed_sweep_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let (file, out) = (folder.path().join("w.toml"), folder.path().join("sweep"));
    let text = format!(
        "seed = 5\nduration = \"1s\"\nskip_first = \"100ms\"\ngenerator.wait = \"sleep\"\n[arrivals]\nopen = {{ rate = \"50/s\" }}\n[target]\nurl = \"{}/\"\n",
        server.url
    );
    fs::write(&file, &text).unwrap();
    let sweep = || {
        let mut command = offered(&["sweep", "--vary", "rate=50,100,200", "--slo", "p99 < 10s", "--json"]);
        command.arg(&file).arg("--output").arg(&out);
        Process::start(command)
    };

    let killed = sweep();
    until_exists(&out.join("cells/rate=200/run.json")); // the second of the three, by the stride
    killed.signal(Signal::KILL);
    assert_eq!(killed.end().code, None, "killed");
    let before = finished(&out);
    assert!(before.len() >= 6, "two cells had ended: {:?}", before.keys());

    let ended = sweep().end();
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    assert!(ended.stderr.contains("2 finished; 1 to do"), "{}", ended.stderr);
    let after = finished(&out);
    assert!(before.iter().all(|(name, content)| after.get(name) == Some(content)), "finished cells are left alone");
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["schema"], "offered.sweep/1");
    assert_eq!(document["cells"].as_array().unwrap().len(), 3);
    assert_eq!(fs::read_to_string(out.join("cells.csv")).unwrap().lines().count(), 4);
    assert!(out.join("cells.parquet").exists() && out.join("sweep.json").exists());

    fs::write(&file, text.replace("seed = 5", "seed = 6")).unwrap();
    let refused = sweep().end();
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("belongs to another workload"), "{refused:?}");
    server.stop();
}

fn a_search_limited_by_the_generator_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let file = folder.path().join("w.toml");
    // One request in flight at a time, 100 ms each: nine of ten requests are not sent, on any machine. The server would
    // meet this objective at any rate.
    let text = format!(
        "seed = 5\nduration = \"2s\"\ngenerator.wait = \"sleep\"\narrivals.open.rate = \"100/s\"\n[target]\nurl = \"{}/delay/100ms\"\nin_flight = 1\n",
        server.url
    );
    fs::write(&file, text).unwrap();
    let search = |rest: &[&str]| {
        let args = ["capacity", file.to_str().unwrap(), "--vary", "rate", "--slo", "p99 < 40s", "--quiet"];
        ended(&[&args, rest].concat())
    };
    let told = search(&["--json"]);
    assert_eq!(told.code, Some(3), "{told:?}");
    let found: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(found["generator_limit"]["value"], 100.0);
    assert_eq!((&found["low"], &found["high"], &found["trials"]), (&Value::Null, &Value::Null, &2.into()));
    let reason = found["generator_limit"]["reason"].as_str().unwrap();
    assert!(reason.contains("not sent"), "{reason}");
    let page = search(&[]).stdout;
    assert!(page.starts_with("INVALID  the generator, not the server, was the limit at rate=100: "), "{page}");
    server.stop();
}
