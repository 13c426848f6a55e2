//! First lines of a run against a server that is too slow or only fails.

use std::path::Path;

use offered_base::Seed;
use offered_distributions::Distribution;
use offered_serve::{Options, Server};
use offered_simulate::policy::{BuildDiscipline, Policy, ServerConfig};

use crate::process::{Serve, ended};

tests![
    overload_is_reported_in_the_first_lines,
    a_run_without_successes_reports_it_first_and_exits_with_99,
    markdown_and_junit_results_are_written
];

/// Whether the line contains a positive verdict, which must not precede a failure.
fn praises(line: &str) -> bool {
    line.starts_with("VALID")
}

fn overload_is_reported_in_the_first_lines() {
    // One request at a time, 20 ms each: 50/s.
    let seed = Seed(1);
    let policy = Policy::Fcfs.boxed(&ServerConfig { servers: 1, class_means: Vec::new(), seed, rates: None }).unwrap();
    let server = Server::start(Options::new(policy, Distribution::constant(0.02).unwrap(), seed)).unwrap();
    let url = format!("{}/", server.address());
    let ended = ended(&["run", &url, "--open", "150/s", "-d", "4s", "--seed", "1", "--quiet", "--details"]);
    server.stop().unwrap();
    // A verdict is a line that may continue on indented lines.
    let mut first: Vec<String> = Vec::new();
    for line in ended.stdout.lines().take_while(|line| !line.is_empty()) {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match first.last_mut().filter(|_| line.starts_with(' ')) {
            Some(verdict) => *verdict += &format!(" {words}"),
            None => first.push(words),
        }
    }
    first.truncate(3);
    // The validity of the run depends on the machine and has its own line.
    let told = first.iter().position(|line| line.starts_with("OVERLOADED target 150/s"));
    let praised = first.iter().position(|line| praises(line));
    assert!(told.is_some() && praised.is_none_or(|praised| told < Some(praised)), "{ended:?}");
    let line = &first[told.unwrap()];
    assert!(line.contains("/s, completed ") && line.contains(": backlog grows "), "{line}");
    assert!(line.contains(", in flight 0 -> "), "{line}");
    assert!(line.contains("; the longer the run, the longer the response times fix: lower the rate below "), "{line}");
    assert!(
        ended.stdout.contains("\nLittle      Q = lambda R does not apply: the system is overloaded\n"),
        "{ended:?}"
    );
}

fn failing(folder: &Path) -> (Serve, String) {
    let server = Serve::start("127.0.0.1:0", &folder.join("seen.csv"));
    let url = format!("{}/status/500", server.url);
    (server, url)
}

fn a_run_without_successes_reports_it_first_and_exits_with_99() {
    let folder = tempfile::tempdir().unwrap();
    let (server, url) = failing(folder.path());
    let ended = ended(&["run", &url, "--open", "50/s", "-d", "1s", "--seed", "1", "--quiet"]);
    server.stop();
    assert_eq!(ended.code, Some(99), "{ended:?}");
    // Only an invalid run, of a machine that stops the generator, has another verdict first. It may continue on indented lines.
    let is_invalid = |line: &&str| line.starts_with("INVALID") || line.starts_with(' ');
    let first = ended.stdout.lines().find(|line| !is_invalid(line)).filter(|line| line.starts_with("FAILED"));
    assert!(
        first.is_some_and(|line| line.contains(" all ") && line.ends_with(" requests failed: status 500")),
        "{ended:?}"
    );
}

fn markdown_and_junit_results_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (server, url) = failing(folder.path());
    let run = |format: &str| {
        let load = ["--open", "50/s", "-d", "1s", "--seed", "1", "--quiet", "--format", format];
        let ended = ended(&[&["run", &url][..], &load].concat());
        assert_eq!(ended.code, Some(99), "{ended:?}");
        ended.stdout
    };
    let (markdown, junit) = (run("md"), run("junit"));
    server.stop();
    assert!(markdown.starts_with("### ❌ All requests failed") && markdown.contains("| Total | "), "{markdown}");
    assert!(junit.contains("name=\"requests succeed\"") && junit.contains("<failure message=\"0 of "), "{junit}");
}
