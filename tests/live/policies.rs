//! Policies that alternate within one run, applied by a command that logs their names.

use std::path::Path;

use serde_json::Value;

use crate::process::{Serve, ended};
use crate::run::run;

tests![policies_alternate_during_the_run, failing_policy_commands_are_reported_and_their_blocks_excluded];

/// A server that responds after a millisecond.
const SERVED: [&str; 4] = ["--listen", "127.0.0.1:0", "--service", "exponential:1ms"];

/// A workload of 3.4 s with policies applied by this script; the last 3.2 s are measured.
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

fn policies_alternate_during_the_run() {
    let (folder, served) = (tempfile::tempdir().unwrap(), Serve::with(&SERVED));
    let file = workload(folder.path(), &served.url, "echo \"$1\" >> \"$0\"; sleep 0.05");
    let run = run(&[&file, "--allow-commands"]);
    let order: Vec<String> =
        std::fs::read_to_string(folder.path().join("log")).unwrap().lines().map(str::to_owned).collect();
    let (a, b) = ("fair", "short first");
    assert_eq!(order, [a, b, b, a, a, b, b, a], "forth and back");
    assert!(run.json["total_requests"].as_u64().unwrap() > 400, "{}", run.json["total_requests"]);
    served.stop();
}

fn failing_policy_commands_are_reported_and_their_blocks_excluded() {
    let (folder, served) = (tempfile::tempdir().unwrap(), Serve::with(&SERVED));
    let out = folder.path().join("run");
    // The second policy fails as soon as the log has a line.
    let script = "if [ \"$1\" = fair ]; then echo >> \"$0\"; else echo no such lever >&2; exit 1; fi";
    let file = workload(folder.path(), &served.url, script);
    let made = ended(&[
        "run",
        &file,
        "--allow-commands",
        "--wait-mode",
        "sleep",
        "--details",
        "--output",
        out.to_str().unwrap(),
    ]);
    assert!(made.stdout.contains("4 of 8 blocks are excluded") && made.stdout.contains("no such lever"), "{made:?}");
    let verdict = ended(&["verify", out.to_str().unwrap(), "--json"]);
    let verdict: Value = serde_json::from_str(&verdict.stdout).unwrap();
    let [fair, short] = [0, 1].map(|n| &verdict["policies"][n]);
    assert_eq!((&fair["policy"], &fair["blocks"], &short["blocks"]), (&"fair".into(), &4.into(), &0.into()));
    let total = &fair["rows"].as_array().unwrap().last().unwrap();
    assert!(total["mean_ms"].as_f64().unwrap() > 0.0 && total["mean_low_ms"].is_f64(), "{total}");
    assert_eq!(short["rows"][0]["mean_ms"], Value::Null);
    // Before the start, a failing command is an error: there is nothing to compare.
    let refused = ended(&["run", &workload(folder.path(), &served.url, "echo none >&2; exit 7"), "--allow-commands"]);
    assert!(matches!(refused.code, Some(1 | 2)) && refused.stderr.contains("none ([policies])"), "{refused:?}");
    served.stop();
}
