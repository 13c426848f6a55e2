//! The JMeter plan that `offered plan emulate --for jmeter` writes, run by JMeter itself against `offered serve`.
//!
//! Needs `JMETER_HOME`, a directory that `sh tests/live/jmeter/fetch DIR` makes from Maven Central; skipped, with the reason,
//! where it is absent.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A process that ends with the test.
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

/// A server on a free port, and its URL as its first line tells it.
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
    // 100 users who think half a second: 200 launches a second for 20 s.
    let written = offered()
        .args(["plan", "emulate", "--rate", "200/s", "--response", "2ms", "--users", "100", "--think-law", law])
        .args(["--for", "jmeter", "--url", &url, "--ramp", "2s", "--duration", "20s", "--out"])
        .arg(&plan)
        .status();
    assert!(written.unwrap().success());
    let output = Command::new("java")
        .arg("-jar")
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

    let (rate, cov) = launches(&std::fs::read_to_string(&jtl).unwrap());
    // About 2700 launches: the rate to four standard errors, the CoV to twice its interval's width.
    assert!((rate / 200.0 - 1.0).abs() < 0.08, "{law}: {rate}/s");
    assert!((cov - 1.0).abs() < 0.12, "{law}: CoV {cov}");
}

/// Rate and CoV of the launches from 5 s after the first to 1 s before the last; every sample must have succeeded.
fn launches(jtl: &str) -> (f64, f64) {
    let mut rows = jtl.lines();
    assert!(
        rows.next()
            .unwrap()
            .starts_with("timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success")
    );
    let mut stamps: Vec<u64> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split(',').collect();
            assert_eq!(cells[7], "true", "{row}");
            cells[0].parse().unwrap()
        })
        .collect();
    stamps.sort_unstable();
    let (from, to) = (stamps[0] + 5000, stamps[stamps.len() - 1] - 1000);
    stamps.retain(|stamp| (from..=to).contains(stamp));
    let gaps: Vec<f64> = stamps.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    (1000.0 / mean, variance.sqrt() / mean)
}

#[test]
fn jmeter_runs_the_plan_and_launches_as_it_says() {
    let Some(home) = std::env::var_os("JMETER_HOME") else {
        eprintln!("skipped: JMETER_HOME is not set; make one with: sh tests/live/jmeter/fetch DIR");
        return;
    };
    for law in ["uniform", "exponential"] {
        run_in_jmeter(Path::new(&home), law);
    }
}
