//! A saturated generator reports it and exits with code 3, on the run itself and not only on edited records.

use std::process::Command;

use offered_base::Seed;
use offered_distributions::Distribution;
use offered_serve::{Options, Server};
use offered_simulate::policy::{BuildDiscipline, Policy, ServerConfig};
use serde_json::Value;

use crate::process::{Process, offered};

tests![a_saturated_thread_is_reported, more_users_than_open_files_gives_a_warning,];

/// Half a million requests, all scheduled within a quarter of a second: the thread is late from the first and never
/// sleeps until the last. Few connections limit the load on the server.
fn a_saturated_thread_is_reported() {
    let seed = Seed(1);
    let policy =
        Policy::Infinite.boxed(&ServerConfig { servers: 1, class_means: Vec::new(), seed, rates: None }).unwrap();
    let server = Server::start(Options::new(policy, Distribution::constant(0.0).unwrap(), seed)).unwrap();
    let target = format!("{}/", server.address());
    let load = ["--open", "2000000/s", "--duration", "250ms", "--threads", "1", "--connections", "4", "--seed", "1"];
    let ended = Process::start(offered(&[&["run", &target, "--json", "--quiet"][..], &load].concat())).end();
    server.stop().unwrap();
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let beyond = "warning: the target rate of 2000000/s on 1 thread exceeds ";
    assert!(ended.stderr.starts_with(beyond), "said before the run, too: {}", ended.stderr);
    let run: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(run["validity"], "invalid");
    assert_eq!(run["busy_shares"].as_array().unwrap().len(), 1);
    // Which message is first depends on whether the thread could run all the time.
    let because = run["reason"].as_str().unwrap();
    assert!(
        ["saturated", "not sent", "late or more", "sent rate"].iter().any(|word| because.contains(word)),
        "{because}"
    );
}

/// None of the users sends a request in this short time.
fn more_users_than_open_files_gives_a_warning() {
    let seed = Seed(1);
    let policy =
        Policy::Infinite.boxed(&ServerConfig { servers: 1, class_means: Vec::new(), seed, rates: None }).unwrap();
    let server = Server::start(Options::new(policy, Distribution::constant(0.0).unwrap(), seed)).unwrap();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 232; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_offered"), "run"]);
    limited.arg(format!("{}/", server.address())).args([
        "--closed",
        "1000",
        "--think",
        "constant:1h",
        "-d",
        "100ms",
        "--quiet",
    ]);
    let ended = Process::start(limited).end();
    server.stop().unwrap();
    let beyond = "warning: the run may need 1000 connections, but this process may open only 200;";
    assert!(ended.stderr.starts_with(beyond), "{}", ended.stderr);
}
