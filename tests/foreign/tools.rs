//! Other load testers, run against `offered serve` and judged by their result files.
//!
//! `sh tests/foreign/tools/fetch DIR` builds them with Go; they are searched on the PATH. `jmeter.rs` covers JMeter.

use std::fs;
use std::process::{Command, Stdio};

use crate::harness::{Missing, Tested, needs};
use crate::program::{Server, offered, printed, total, verdict};

tests![hey_sends_in_bunches, vegeta_is_constant_and_its_csv_and_json_agree, vegeta_reads_the_export];

/// Path of the tool with this name.
fn tool(name: &'static str) -> Result<Command, Missing> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    needs(name, found.is_some())?;
    Ok(Command::new(found.unwrap()))
}

fn hey_sends_in_bunches() -> Tested {
    let mut hey = tool("hey")?;
    let server = Server::start();
    // Ten workers with ten requests per second each: at 100 per second it sends ten bunches of ten.
    hey.args(["-c", "10", "-q", "10", "-z", "5s", "-o", "csv", &server.url]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hey.csv");
    let csv = printed(hey);
    fs::write(&file, &csv).unwrap();
    let verdict = verdict(file.to_str().unwrap(), &[]);
    assert_eq!((&verdict["source"]["format"], &verdict["source"]["unreadable_rows"]), (&"hey-csv".into(), &0.into()));
    assert_eq!(verdict["source"]["requests"], csv.lines().count() - 1, "every row is a launch");
    assert_eq!((&verdict["pattern"], &verdict["validity"]), (&"bunched".into(), &"invalid".into()), "{verdict:#}");
    let because = verdict["reason"].as_str().unwrap();
    let size: u32 = because.split_whitespace().find_map(|word| word.trim_matches(',').parse().ok()).expect("a size");
    assert!(because.contains("in bunches of") && (8..=10).contains(&size), "{because}");
    let strict = offered(&["verify", file.to_str().unwrap(), "--strict"]).output().unwrap();
    assert_eq!(strict.status.code(), Some(3));
    Ok(())
}

fn vegeta_is_constant_and_its_csv_and_json_agree() -> Tested {
    let mut attack = tool("vegeta")?;
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(place("targets"), format!("GET {}\n", server.url)).unwrap();
    let (targets, results) = (format!("-targets={}", place("targets")), format!("-output={}", place("results")));
    let vegeta = attack.get_program().to_owned();
    attack.args(["attack", "-rate=25", "-duration=4s", &targets, &results]);
    printed(attack);
    let of = |format: &str| {
        let (encoded, to) = (place(&format!("vegeta.{format}")), format!("--to={format}"));
        let output = format!("--output={encoded}");
        printed({
            let mut encode = Command::new(&vegeta);
            encode.args(["encode", &to, &output, &place("results")]);
            encode
        });
        verdict(&encoded, &["--expected", "constant", "--rate", "25/s"])
    };
    let (json, csv) = (of("json"), of("csv"));
    assert_eq!((&json["source"]["format"], &csv["source"]["format"]), (&"vegeta-json".into(), &"vegeta-csv".into()));
    assert_eq!((&json["source"]["requests"], &json["pattern"]), (&100.into(), &"constant".into()), "{json:#}");
    for table in ["gaps", "responses", "sizes", "findings"] {
        assert_eq!(json[table], csv[table], "{table}");
    }
    // The stream is not Poisson.
    assert_eq!(verdict(&place("vegeta.csv"), &[])["validity"], "invalid");
    Ok(())
}

fn vegeta_reads_the_export() -> Tested {
    let mut report = tool("vegeta")?;
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run").to_str().unwrap().to_owned();
    let dry = ["run", "http://127.0.0.1:1/", "--open", "100/s", "--seed", "3", "--dry-run", "--output", &run];
    printed(offered(&dry));
    let exported = format!("{run}.json");
    printed(offered(&["export", &run, "--format", "vegeta", "-o", &exported]));
    let ours = verdict(&run, &[]);
    report.args(["report", "-type=json", &exported]).stderr(Stdio::inherit());
    let theirs: serde_json::Value = serde_json::from_str(&printed(report)).unwrap();
    let responses = total(&ours, "responses");
    assert_eq!(theirs["requests"], responses["n"]);
    // Vegeta's rate is the number of requests over the time from the first to the last; ours is the number of gaps.
    let (n, rate) = (responses["n"].as_f64().unwrap(), theirs["rate"].as_f64().unwrap());
    let gaps = ours["queue"]["rate_per_s"].as_f64().unwrap();
    assert!((rate / gaps - n / (n - 1.0)).abs() < 1e-6, "{rate} and {gaps}");
    let mean_ms = theirs["latencies"]["mean"].as_f64().unwrap() / 1e6;
    assert!((mean_ms - responses["mean_ms"].as_f64().unwrap()).abs() < 1e-3, "{mean_ms}");
    Ok(())
}
