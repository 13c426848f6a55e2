//! Runs the JMeter plan of `offered plan emulate --for jmeter` with JMeter against `offered serve`.
//!
//! Needs `JMETER_HOME`, a directory that `sh tests/foreign/jmeter/fetch DIR` creates from Maven Central.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::harness::{Tested, needs};

tests![jmeter_runs_the_exported_plan];

/// Duration of the ramp and of Java's start-up, in ms, which is excluded.
const START: u64 = 30_000;

/// A process, killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn offered() -> Command {
    Command::new(env!("CARGO_BIN_EXE_offered"))
}

/// A server on a free port, and the URL from its first line.
fn serve() -> (Running, String) {
    let mut child = offered()
        .args(["serve", "--listen", "127.0.0.1:0", "--service", "constant:1ms"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port: String = line
        .split("127.0.0.1:")
        .nth(1)
        .unwrap_or_else(|| panic!("no address in {line:?}"))
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    (Running(child), format!("http://127.0.0.1:{port}/"))
}

fn run_in_jmeter(home: &Path, law: &str) {
    let (_server, url) = serve();
    let folder = tempfile::tempdir().unwrap();
    let (plan, jtl) = (folder.path().join("plan.jmx"), folder.path().join("run.jtl"));
    // 200 users who think 5 s, as in Brady and Gunther's runs; JMeter may be slow to start.
    let written = offered()
        .args(["plan", "emulate", "--rate", "40/s", "--response", "5ms", "--users", "200", "--think-distribution", law])
        .args(["--for", "jmeter", "--url", &url, "--ramp", "20s", "--duration", "80s", "--output"])
        .arg(&plan)
        .status();
    assert!(written.unwrap().success());
    // Options for a fast start of Java. The long ramp starts Groovy for a few users at a time.
    let output = Command::new("java")
        .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar"])
        .arg(home.join("bin/ApacheJMeter.jar"))
        .args(["-n", "-t"])
        .arg(&plan)
        .arg("-l")
        .arg(&jtl)
        .arg("-j")
        .arg(folder.path().join("jmeter.log"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));

    let samples = samples(&std::fs::read_to_string(&jtl).unwrap());
    let law_cov = if law == "uniform" { 1.0 / 3f64.sqrt() } else { 1.0 };
    // About 1800 think times. Think times truncated by the end, mostly long ones, reduce the mean to 0.96 (uniform) and
    // 0.89 (exponential) of the true mean: (m T - m2) / (T - m) over T = 50 s; then four standard errors.
    let (mean, cov) = moments(&thinks(&samples, samples[0].at + START));
    assert!((mean / 5000.0 - 0.93).abs() < 0.13, "{law}: users think {mean} ms");
    assert!((cov / law_cov - 1.0).abs() < 0.15, "{law}: the CoV of think times is {cov}");
    judge(&jtl, law, samples.len());
}

/// Verdict of `offered verify` on the requests, with the expected arrivals.
fn judge(jtl: &Path, law: &str, launches: usize) {
    let meant = if law == "uniform" { "closed:200:uniform:0s,10s" } else { "closed:200:exponential:5s" };
    // 2000 gaps have a CoV with a standard error of 0.02.
    let judged = offered()
        .args(["verify", "--json", "--skip-first", "30s", "--pattern-tolerance", "0.15", "--expected", meant])
        .arg(jtl)
        .output()
        .unwrap();
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
    let verdict: serde_json::Value = serde_json::from_slice(&judged.stdout).unwrap();
    let queue = &verdict["queue"];
    assert_ne!(verdict["validity"], "invalid", "{law}: {}, {queue}", verdict["reason"]);
    let total = &verdict["gaps"].as_array().unwrap().last().unwrap();
    assert!(total["n"].as_u64().unwrap() > launches as u64 / 2, "{law}: {total}");
    // Principle A at the measured response: lambda = N / (Z + R).
    let number = |key: &str| queue[key].as_f64().unwrap();
    let expected = 200.0 / (5.0 + number("response_ms") / 1e3);
    assert!((number("rate_per_s") / expected - 1.0).abs() < 0.15, "{law}: {queue} where N/(Z + R) is {expected}/s");
}

/// A row of the JTL; times in milliseconds.
struct Sample {
    at: u64,
    elapsed: u64,
    user: String,
}

/// Samples by sent time; every sample must have succeeded.
fn samples(jtl: &str) -> Vec<Sample> {
    let mut rows = jtl.lines();
    let head = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success";
    assert!(rows.next().unwrap().starts_with(head));
    let sample = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(cells[7], "true", "{row}");
        Sample { at: cells[0].parse().unwrap(), elapsed: cells[1].parse().unwrap(), user: cells[5].to_owned() }
    };
    let mut samples: Vec<Sample> = rows.map(sample).collect();
    samples.sort_by_key(|sample| sample.at);
    samples
}

/// Think times between a response after `from` and the next request of the same user, milliseconds.
fn thinks(samples: &[Sample], from: u64) -> Vec<f64> {
    let mut free: HashMap<&str, u64> = HashMap::new();
    let mut thinks = vec![];
    for sample in samples {
        if let Some(since) = free.insert(&sample.user, sample.at + sample.elapsed).filter(|since| *since >= from) {
            thinks.push(sample.at.saturating_sub(since) as f64);
        }
    }
    thinks
}

/// Mean and CoV.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt() / mean)
}

fn jmeter_runs_the_exported_plan() -> Tested {
    let home = std::env::var_os("JMETER_HOME");
    needs("jmeter", home.is_some())?;
    let home = std::path::PathBuf::from(home.unwrap());
    std::thread::scope(|scope| {
        for law in ["uniform", "exponential"] {
            scope.spawn(|| run_in_jmeter(&home, law));
        }
    });
    Ok(())
}
