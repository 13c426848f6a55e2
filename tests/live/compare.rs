//! `offered compare` with two servers, one of which is slower by a known factor.

use std::fs;

use serde_json::Value;

use crate::process::{Serve, ended};

tests![a_slower_server_is_found_and_its_recording_is_a_baseline];

fn a_slower_server_is_found_and_its_recording_is_a_baseline() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody waits for another request: response times are the service times, and what the network adds.
    let serve = |service: &str| {
        Serve::with(&[
            "--listen",
            "127.0.0.1:0",
            "--service",
            service,
            "--discipline",
            "infinite",
            "--wait-mode",
            "sleep",
        ])
    };
    let (fast, slow) = (serve("constant:40ms"), serve("constant:60ms"));
    let (file, out) = (folder.path().join("w.toml"), folder.path().join("out"));
    let text = format!(
        "seed = 5\nduration = \"1m\"\ngenerator = {{ wait = \"sleep\", tolerance = \"1000%\" }}\narrivals.open.rate = \"100/s\"\n[target]\nurl = \"{}/\"\n",
        slow.url
    );
    fs::write(&file, text).unwrap();
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    let compare = |rest: &[&str]| {
        let rounds = ["--round", "1500ms", "--settle", "300ms", "--pairs", "6", "--metric", "p50", "--quiet", "--json"];
        ended(&[&["compare", file], &rounds[..], rest].concat())
    };
    let found = compare(&["--target", &fast.url, "--target", &slow.url, "-o", out]);
    let document: Value = serde_json::from_str(&found.stdout).unwrap_or_else(|_| panic!("{found:?}"));
    let median = &document["responses"][1];
    assert_eq!((&median["statistic"], found.code), (&"p50".into(), Some(0)), "{document}");
    let change = median["change_percent"].as_f64().unwrap();
    assert!(median["low_percent"].as_f64().unwrap() > 0.0 && change > 20.0 && change < 80.0, "+50 % is true: {median}");
    assert_eq!((&document["end"], &document["rounds"]), (&"decided".into(), &4.into()), "{document}");
    let made = fs::read_dir(out).unwrap().count();
    assert_eq!(made, 8, "a run directory for each round that counts");

    // The rounds of B are the baseline of today's server, which is as slow.
    let again = compare(&["--baseline", out, "--no-worse-than", "60%"]);
    let document: Value = serde_json::from_str(&again.stdout).unwrap_or_else(|_| panic!("{again:?}"));
    assert_eq!((again.code, &document["result"]), (Some(0), &"passed".into()), "{document}");
    let warnings = document["warnings"].to_string();
    assert!(document["has_baseline"] == true && warnings.contains("recorded at another time"), "{warnings}");
    // The fast one is no worse, and the slow one is worse than the fast one.
    let worse = compare(&["--target", &fast.url, "--target", &slow.url, "--no-worse-than", "10%"]);
    assert_eq!(worse.code, Some(99), "{worse:?}");
    fast.stop();
    slow.stop();
}
