//! The exact output of the program: each file in this directory is a command with its exit code, stdout and stderr.
//!
//! Runs are dry runs on the virtual clock, so they are reproducible. CPU times and the temporary directory are masked. Numbers in
//! JSON are rounded to nine digits, as mathematical libraries differ in the last ones. After an intended change,
//! `UPDATE_GOLDEN=1 cargo test --test golden` rewrites the files; read the diff before committing it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const URL: &str = "http://127.0.0.1:8080/";

/// File name and arguments; `@` is a directory with the workload `w.toml`.
const COMMANDS: &[(&str, &[&str])] = &[
    ("help", &["--help"]),
    ("help-run", &["run", "--help"]),
    ("help-init", &["init", "--help"]),
    ("help-completions", &["completions", "--help"]),
    ("help-serve", &["serve", "--help"]),
    ("help-calibrate", &["calibrate", "--help"]),
    ("help-demo", &["demo", "--help"]),
    ("help-verify", &["verify", "--help"]),
    ("help-watch", &["watch", "--help"]),
    ("help-observe", &["observe", "--help"]),
    ("error-watch", &["watch", "nowhere"]),
    ("help-export", &["export", "--help"]),
    ("help-import", &["import", "--help"]),
    ("help-kubernetes", &["kubernetes", "--help"]),
    ("help-plan", &["plan", "--help"]),
    ("help-simulate", &["simulate", "--help"]),
    ("help-logs", &["logs", "--help"]),
    ("help-report", &["report", "--help"]),
    ("nothing", &[]),
    ("run-open", &["run", URL, "--open", "100/s", "--seed", "3", "--duration", "30s", "--dry-run"]),
    ("run-details", &["run", "@/thresholds.toml", "--dry-run", "exponential:20ms", "--in-flight", "4", "--details"]),
    ("run-open-json", &["run", URL, "--open", "100/s", "--seed", "3", "--dry-run", "exponential:20ms", "--json"]),
    (
        "run-closed",
        &[
            "run",
            URL,
            "--closed",
            "20",
            "--think",
            "exponential:1s",
            "--seed",
            "3",
            "-d",
            "2m",
            "--dry-run",
            "exponential:20ms",
        ],
    ),
    (
        "run-closed-json",
        &["run", URL, "--closed", "20", "--think", "exponential:1s", "--seed", "3", "-d", "2m", "--dry-run", "--json"],
    ),
    (
        "run-partly-open",
        &[
            "run",
            URL,
            "--partly-open",
            "20/s",
            "--stay",
            "0.8",
            "--think",
            "exponential:1s",
            "--seed",
            "3",
            "-d",
            "20s",
            "--dry-run",
        ],
    ),
    ("run-requests", &["run", URL, "--open", "100/s", "--seed", "3", "-n", "2000", "--dry-run", "exponential:20ms"]),
    (
        "run-requests-closed",
        &[
            "run",
            URL,
            "-c",
            "20",
            "--think",
            "exponential:1s",
            "--seed",
            "3",
            "-n",
            "2000",
            "--dry-run",
            "exponential:20ms",
        ],
    ),
    ("run-constant", &["run", URL, "--open", "100/s", "--arrivals", "constant", "--seed", "3", "--dry-run"]),
    ("run-bursty", &["run", URL, "--open", "100/s", "--arrivals", "gamma:1.5", "--seed", "3", "--dry-run"]),
    ("run-unsent", &["run", URL, "--open", "100/s", "--seed", "3", "--in-flight", "2", "--dry-run", "constant:30ms"]),
    ("run-share", &["run", URL, "--open", "100/s", "--seed", "3", "--share", "2/4", "--dry-run"]),
    ("run-file", &["run", "@/w.toml", "--dry-run", "--output", "@/out"]),
    ("run-file-json", &["run", "@/w.toml", "--dry-run", "--json", "--output", "@/out"]),
    ("run-thresholds", &["run", "@/thresholds.toml", "--dry-run", "exponential:20ms"]),
    ("run-thresholds-json", &["run", "@/thresholds.toml", "--dry-run", "exponential:20ms", "--json"]),
    ("run-thresholds-unbelievable", &["run", "@/thresholds.toml", "--dry-run", "exponential:20ms", "--in-flight", "1"]),
    ("error-threshold", &["run", "@/wrong-threshold.toml", "--dry-run"]),
    ("logs", &["logs", "@/access.log", "--labels"]),
    ("logs-json", &["logs", "@/access.log", "--json"]),
    ("help-llm", &["llm", "--help"]),
    ("help-sweep", &["sweep", "--help"]),
    (
        "sweep",
        &[
            "sweep",
            "@/closed.toml",
            "--vary",
            "users=5,10,20",
            "--vary",
            "think=50ms,100ms",
            "--simulate",
            "--slo",
            "p90 < 31ms",
            "--output",
            "@/out",
        ],
    ),
    (
        "sweep-json",
        &["sweep", "@/closed.toml", "--vary", "users=5", "--simulate", "--json", "--quiet", "--output", "@/out"],
    ),
    ("help-capacity", &["capacity", "--help"]),
    (
        "capacity",
        &["capacity", "@/closed.toml", "--vary", "users=20", "--slo", "p90 < 31ms", "--simulate", "--precision", "20%"],
    ),
    ("help-compare", &["compare", "--help"]),
    ("help-fit", &["fit", "--help"]),
    (
        "compare",
        &[
            "compare",
            "@/open.toml",
            "@/slower.toml",
            "--simulate",
            "--round",
            "30s",
            "--pairs",
            "8",
            "--no-worse-than",
            "5%",
        ],
    ),
    ("error-capacity-start", &["capacity", "@/closed.toml", "--vary", "rate", "--slo", "p90 < 31ms"]),
    ("error-sweep-value", &["sweep", "@/closed.toml", "--vary", "users=0", "--output", "@/out"]),
    ("error-sweep-slo", &["sweep", "@/closed.toml", "--vary", "users=1", "--slo", "p90 < 31", "--output", "@/out"]),
    ("kubernetes", &["kubernetes", "@/shop.toml", "--workers", "8", "--pvc", "runs", "--spread", "host"]),
    (
        "kubernetes-bucket",
        &[
            "kubernetes",
            "@/shop.toml",
            "--workers",
            "2",
            "--rendezvous",
            "s3://bucket/run7",
            "--credentials",
            "aws",
            "--storage",
            "10Gi",
            "--storage-class",
            "fast",
            "--namespace",
            "load",
            "--label",
            "team=checkout",
            "--annotation",
            "example.com/note=before the sale",
            "--node-selector",
            "pool=load",
            "--toleration",
            "dedicated=load:NoSchedule",
            "--pull-secret",
            "registry",
            "--ttl",
            "1h",
        ],
    ),
    (
        "error-kubernetes-label",
        &["kubernetes", "@/shop.toml", "--workers", "2", "--pvc", "runs", "--label", "team=a b"],
    ),
    ("help-push", &["push", "--help"]),
    ("error-push", &["push", "@", "runs/1"]),
    ("error-kubernetes", &["kubernetes", "@/shop.toml", "--workers", "0", "--pvc", "runs"]),
    ("error-kubernetes-pvc", &["kubernetes", "@/shop.toml", "--workers", "8"]),
    ("error-no-load", &["run", URL]),
    ("error-two-models", &["run", URL, "--open", "1/s", "--closed", "2"]),
    ("error-flag", &["run", URL, "--opne", "1/s"]),
    ("error-rate", &["run", URL, "--open", "0/s"]),
    ("error-scheme", &["run", "gopher://x/", "--open", "1/s"]),
    ("error-file", &["run", "@/absent.toml"]),
    ("error-key", &["run", "@/wrong.toml", "--dry-run"]),
    ("error-verb", &["rnu"]),
    ("error-discipline", &["serve", "--discipline", "psj"]),
];

/// Ninety visits in two hours: a page, its image, and zero to three articles a minute apart; and one invalid line.
fn access_log() -> String {
    let mut lines: Vec<(u32, String)> = vec![(4000, "<script>\u{1b}[2J\n".to_owned())];
    for visit in 0..90u32 {
        for step in 0..2 + visit % 4 {
            let at = visit * 79 + [0, 1, 50, 110, 180][step as usize];
            let path = ["/", "/logo.gif", "/news/1", "/news/2", "/about"][step as usize];
            let stamp = format!("{:02}:{:02}:{:02}", at / 3600, at / 60 % 60, at % 60);
            let bytes = 900 * (step + 1);
            lines.push((
                at,
                format!(
                    "2001:db8::{visit:x} - - [01/Jan/2026:{stamp} +0000] \"GET {path} HTTP/1.1\" 200 {bytes} \"-\" \"-\"\n"
                ),
            ));
        }
    }
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

const WORKLOAD: &str = "\
seed = 3
duration = \"20s\"
skip_first = \"2s\"

[arrivals]
open = { rate = { steps = [[\"50/s\", \"10s\"], [\"100/s\", \"10s\"]] } }

[target]
url = \"http://127.0.0.1:8080\"

[[request]]
name = \"home\"
get = \"/Home.aspx\"
weight = 4

[[request]]
name = \"buy\"
post = \"/buy\"
body = \"{{session}}\"
";

const OPEN: &str =
    "seed = 1\nduration = \"1m\"\narrivals.open.rate = \"60/s\"\nserver.service = { exponential = \"8ms\" }\n";

const CLOSED: &str = "\
duration = \"30s\"
skip_first = \"2s\"

[arrivals]
closed = { users = 5, think = { exponential = \"100ms\" } }

[server]
service = { exponential = \"5ms\" }
";

const THRESHOLDS: &str = "
[thresholds]
\"response.p99\" = \"< 250ms\"
\"response.p90{buy}\" = \"< 40ms\"
\"errors.rate\" = \"< 0.1%\"
\"arrivals.cov\" = \"0.95..1.05\"
";

const SHOP: &str = "\
seed = 3
duration = \"10m\"
arrivals.open.rate = \"2000/s\"

[target]
url = \"https://shop.example/\"

[variables]
user = { file = \"users.csv\" }
token = { env = \"TOKEN\" }

[[request]]
get = \"/of/{{user.id}}\"
auth.bearer = \"{{token}}\"
";

#[test]
fn every_command_prints_what_it_printed() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut changed = Vec::new();
    for (name, args) in COMMANDS {
        let printed = printed(args);
        let file = beside.join(format!("{name}.txt"));
        if update {
            fs::write(&file, printed).unwrap();
        } else if let Some(difference) = difference(&fs::read_to_string(&file).unwrap_or_default(), &printed) {
            changed.push(format!("{name}.txt: {difference}"));
        }
    }
    assert!(
        changed.is_empty(),
        "{}\nif this is intended: UPDATE_GOLDEN=1 cargo test --test golden",
        changed.join("\n")
    );
}

#[test]
fn every_file_belongs_to_a_command() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let files = fs::read_dir(beside).unwrap().map(|entry| PathBuf::from(entry.unwrap().file_name()));
    let mut files: Vec<_> =
        files.filter(|f| f.extension().is_some_and(|e| e == "txt")).map(|f| f.with_extension("")).collect();
    let mut names: Vec<_> = COMMANDS.iter().map(|(name, _)| PathBuf::from(name)).collect();
    files.sort();
    names.sort();
    assert_eq!(files, names);
}

/// Outputs that may be wider than 80 columns: documents for programs, manifests, and the texts that clap lays out.
const WIDE: [&str; 4] = ["-json", "help", "nothing", "kubernetes"];

/// The name of each golden file, below the folder, with its text.
fn golden_files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut files = Vec::new();
    for folder in [root.clone(), root.join("plan"), root.join("verify")] {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        for path in entries.filter(|path| path.extension().is_some_and(|extension| extension == "txt")) {
            let name = path.strip_prefix(&root).unwrap().with_extension("").display().to_string();
            files.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    files
}

/// What a golden file has of stdout.
fn stdout(text: &str) -> &str {
    let stdout = text.split_once("--- stdout\n").map_or(text, |(_, rest)| rest);
    stdout.split("--- stderr\n").next().unwrap_or_default()
}

#[test]
fn outputs_fit_into_eighty_columns() {
    let files = golden_files();
    let narrow = files.iter().filter(|(name, _)| !WIDE.iter().any(|wide| name.contains(wide)));
    let mut wide = Vec::new();
    for (name, text) in narrow.clone() {
        let lines = stdout(text).lines().filter(|line| line.chars().count() > 80);
        wide.extend(lines.map(|line| format!("{name}: {line}")));
    }
    assert!(wide.is_empty(), "wider than 80 columns:\n{}", wide.join("\n"));
    assert!(narrow.count() > 40 && files.iter().any(|(name, _)| name == "verify/users"), "{} files", files.len());
}

#[test]
fn first_screens_have_at_most_twenty_lines() {
    let mut seen = 0;
    for (name, text) in golden_files() {
        let is_run = name.starts_with("run-") || name.starts_with("verify/");
        // Several files and tables that were asked for are more than a first screen.
        let command = text.lines().next().unwrap_or_default();
        let more = ["--json", "--details", "--by-threads", "a.jtl b.jtl"];
        let asks_for_more = more.iter().any(|flag| command.contains(flag));
        if !is_run || asks_for_more {
            continue;
        }
        // A dry run also shows the first requests.
        let screen: Vec<&str> = stdout(&text).lines().take_while(|line| !line.starts_with("-- ")).collect();
        let end = screen.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        assert!(end <= 20, "{name}: {end} lines\n{}", screen.join("\n"));
        seen += usize::from(end > 5);
    }
    assert!(seen > 12, "{seen} first screens");
}

/// The command, its exit code, and all it printed.
fn printed(args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
    fs::write(folder.path().join("closed.toml"), CLOSED).unwrap();
    fs::write(folder.path().join("open.toml"), OPEN).unwrap();
    fs::write(folder.path().join("slower.toml"), OPEN.replace("8ms", "9ms").replace("seed = 1", "seed = 1001"))
        .unwrap();
    let thresholds = format!("{WORKLOAD}{THRESHOLDS}");
    fs::write(folder.path().join("thresholds.toml"), &thresholds).unwrap();
    fs::write(folder.path().join("wrong-threshold.toml"), thresholds.replace("{buy}", "{by}")).unwrap();
    fs::write(folder.path().join("wrong.toml"), WORKLOAD.replace("skip_first", "skip_frist")).unwrap();
    fs::write(folder.path().join("access.log"), access_log()).unwrap();
    fs::write(folder.path().join("shop.toml"), SHOP).unwrap();
    fs::write(folder.path().join("users.csv"), "id\n7\n8\n").unwrap();
    let given = args.iter().map(|arg| arg.replace('@', place));
    let output = Command::new(env!("CARGO_BIN_EXE_offered"))
        .args(given)
        .env_remove("COLUMNS")
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(place, "@");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let stdout = match serde_json::from_str::<Value>(&stdout) {
        Ok(mut document) => {
            plain("", &mut document);
            serde_json::to_string_pretty(&document).unwrap() + "\n"
        }
        Err(_) => stdout,
    };
    let code = output.status.code().unwrap();
    let shown: Vec<String> =
        args.iter().map(|a| if a.contains(' ') { format!("'{a}'") } else { (*a).to_owned() }).collect();
    format!("$ offered {}\nexit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}", shown.join(" "))
}

/// Masks what belongs to the machine, and rounds.
fn plain(key: &str, value: &mut Value) {
    match value {
        _ if key == "cpu_s" => *value = "(masked)".into(),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| plain(key, value)),
        Value::Array(items) => items.iter_mut().for_each(|item| plain("", item)),
        Value::Number(number) if number.is_f64() => {
            let rounded: f64 = format!("{:.8e}", number.as_f64().unwrap()).parse().unwrap();
            *value = rounded.into();
        }
        _ => {}
    }
}

/// The first line in which the two differ.
fn difference(expected: &str, printed: &str) -> Option<String> {
    let (mut old, mut new) = (expected.lines(), printed.lines());
    for line in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (old, new) if old == new => {}
            (old, new) => {
                let (old, new) = (old.unwrap_or("(the end)"), new.unwrap_or("(the end)"));
                return Some(format!("line {line}:\n  - {old}\n  + {new}"));
            }
        }
    }
    None
}
