//! Policies that take turns within one run, put in place by a command that writes down its name.

use std::path::Path;

use serde_json::Value;

use crate::process::{Serve, ended};
use crate::run::run;

tests![policies_take_turns_while_launches_go_on, a_command_that_fails_is_told_and_its_blocks_count_for_nobody];

/// Answers after a millisecond.
const SERVED: [&str; 4] = ["--listen", "127.0.0.1:0", "--service", "exponential:1ms"];

/// A workload of 3.4 s, of which the last 3.2 count, whose policies are put in place by this script.
fn workload(folder: &Path, url: &str, script: &str) -> String {
    let file = folder.join("w.toml");
    let text = format!(
        "seed = 3\nduration = \"3400ms\"\nskip_first = \"200ms\"\narrivals.open.rate = \"200/s\"\n[target]\nurl = \"{url}\"\n\
         [policies]\nnames = [\"fair\", \"short first\"]\nblock = \"400ms\"\nsettle = \"200ms\"\n\
         hook = [\"sh\", \"-c\", '''{script}''', \"{}\", \"{{{{policy}}}}\"]\n",
        folder.join("log").display()
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn policies_take_turns_while_launches_go_on() {
    let (folder, served) = (tempfile::tempdir().unwrap(), Serve::with(&SERVED));
    let run = run(&[&workload(folder.path(), &served.url, "echo \"$1\" >> \"$0\"; sleep 0.05")]);
    let order: Vec<String> =
        std::fs::read_to_string(folder.path().join("log")).unwrap().lines().map(str::to_owned).collect();
    let (a, b) = ("fair", "short first");
    assert_eq!(order, [a, b, b, a, a, b, b, a], "forth and back");
    assert!(run.json["launched"].as_u64().unwrap() > 400, "{}", run.json["launched"]);
    served.stop();
}

fn a_command_that_fails_is_told_and_its_blocks_count_for_nobody() {
    let (folder, served) = (tempfile::tempdir().unwrap(), Serve::with(&SERVED));
    let out = folder.path().join("run");
    // Once the log has a line the second policy cannot be had.
    let script = "if [ \"$1\" = fair ]; then echo >> \"$0\"; else echo no such lever >&2; exit 1; fi";
    let file = workload(folder.path(), &served.url, script);
    let made = ended(&["run", &file, "--wait-mode", "sleep", "--output", out.to_str().unwrap()]);
    assert!(made.stdout.contains("4 of 8 blocks do not count") && made.stdout.contains("no such lever"), "{made:?}");
    let verdict = ended(&["verify", out.to_str().unwrap(), "--json"]);
    let verdict: Value = serde_json::from_str(&verdict.stdout).unwrap();
    let [fair, short] = [0, 1].map(|n| &verdict["policies"][n]);
    assert_eq!((&fair["policy"], &fair["blocks"], &short["blocks"]), (&"fair".into(), &4.into(), &0.into()));
    let total = &fair["requests"].as_array().unwrap().last().unwrap();
    assert!(total["mean_ms"].as_f64().unwrap() > 0.0 && total["mean_low_ms"].is_f64(), "{total}");
    assert_eq!(short["requests"][0]["mean_ms"], Value::Null);
    // Before the start it is an error: nothing is compared.
    let refused = ended(&["run", &workload(folder.path(), &served.url, "echo none >&2; exit 7")]);
    assert!(matches!(refused.code, Some(1 | 2)) && refused.stderr.contains("none ([policies])"), "{refused:?}");
    served.stop();
}
