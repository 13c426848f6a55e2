//! Executes every console block of the README and the book.
//!
//! A block fenced as `console` contains commands (`$ ...`) with their output. The commands of a page run in a shell in
//! a fresh directory, with `offered` on the PATH; `cargo run --profile quick -- X` runs `offered X`. The output must match,
//! where any number matches any other number and blanks of any width match, since measurements vary. In a block fenced
//! as `console,exact` numbers must match too. `[..]` matches any text within a line, and a line `...` any lines. A
//! command that ends in ` &` runs until the end of its page. A block fenced as `toml,file=shop.toml` is written to that
//! file. `console,exit=3` expects exit code 3 from the last command. In a block fenced as `console,live` any verdict
//! and its reason match any other, and exit code 3 counts as 0: on a busy machine a run is late and reports it. Ports 8080 to 8089
//! of 127.0.0.1 are replaced by free ones.
//!
//! `UPDATE_GOLDEN=1 cargo test --test docs` writes the differences into the pages, up to a final `...`; review the
//! diff.

mod contributing;
mod cycles;

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            pages(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "md") {
            found.push(entry);
        }
    }
}

/// A command of a page, with its expected output.
struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
    /// Line of the page before the expected output.
    after: usize,
    kind: Kind,
    exit: i32,
}

/// How strictly the output of a block is compared.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Shape,
    Exact,
    Live,
}

/// Steps of a page, in order.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut block: Option<(Kind, i32, usize)> = None;
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        match block {
            None if line.starts_with("```") && line.contains(",file=") => {
                let name = line.rsplit("file=").next().expect("a name after file=");
                let content: Vec<&str> =
                    lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
                let command = format!("printf '%s\\n' '{}' > {name}", content.join("\n").replace('\'', r"'\''"));
                steps.push(Step {
                    line: number + 1,
                    command,
                    expected: Vec::new(),
                    after: number + 1,
                    kind: Kind::Exact,
                    exit: 0,
                });
            }
            None => {
                if let Some(info) = line.strip_prefix("```console") {
                    let exit = info.split(',').find_map(|word| word.strip_prefix("exit="));
                    let exit = exit.map_or(0, |code| code.parse().expect("exit=NUMBER"));
                    let kind = match info {
                        _ if info.contains("exact") => Kind::Exact,
                        _ if info.contains("live") => Kind::Live,
                        _ => Kind::Shape,
                    };
                    block = Some((kind, exit, steps.len()));
                }
            }
            Some((_, exit, first)) if line.starts_with("```") => {
                assert!(steps.len() > first, "line {number}: a console block without a command");
                steps.last_mut().unwrap().exit = exit;
                block = None;
            }
            Some((kind, ..)) => match line.strip_prefix("$ ") {
                Some(command) => {
                    let command = command.to_owned();
                    steps.push(Step {
                        line: number + 1,
                        command,
                        expected: Vec::new(),
                        after: number + 1,
                        kind,
                        exit: 0,
                    });
                }
                None => {
                    let step = steps.last_mut().expect("a command before its output");
                    if let (true, Some(open)) = (step.expected.is_empty(), step.command.strip_suffix('\\')) {
                        step.command = format!("{open} {}", line.trim()); // a command over several lines
                        step.after = number + 1;
                    } else {
                        step.expected.push(line.to_owned());
                    }
                }
            },
        }
    }
    steps
}

/// Words of verdicts, which match each other in a live block.
const VERDICTS: [&str; 15] = [
    "VALID, WITH WARNINGS",
    "WARNINGS",
    "INVALID",
    "VALID",
    "NOT CHECKED",
    "PASSED",
    "FAILED",
    "OVERLOADED",
    "STABLE",
    "over-dispersed",
    "over_dispersed",
    "under-dispersed",
    "under_dispersed",
    "bunched",
    "poisson",
];

/// A line with every number replaced by `#` and every run of blanks by one.
fn shape(line: &str, kind: Kind) -> String {
    let mut line = line.to_owned();
    if kind == Kind::Live {
        // An unknown interval of a short run matches a known one.
        line = line.replace("run too short", "0 to 0");
        line = VERDICTS.iter().fold(line, |line, verdict| line.replace(verdict, "VERDICT"));
    }
    let mut shaped = String::new();
    let mut before = ' ';
    for c in line.trim().chars() {
        let numeric =
            kind != Kind::Exact && (c.is_ascii_digit() || (matches!(c, '.' | ',') && before.is_ascii_digit()));
        match c {
            _ if numeric => {
                if !shaped.ends_with('#') {
                    shaped.push('#');
                }
            }
            ' ' if shaped.ends_with(' ') => {}
            _ => shaped.push(c),
        }
        before = c;
    }
    shaped
}

/// Whether a line matches the expectation, where `[..]` matches any text.
fn like(expected: &str, actual: &str) -> bool {
    let mut parts = expected.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = actual.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Whether the line states the validity of a run.
fn is_validity(line: &str) -> bool {
    ["VALID", "INVALID"].iter().any(|word| line.starts_with(word))
}

/// The lines after those that continue the reason of a verdict.
fn past_reason(lines: &[String]) -> &[String] {
    &lines[lines.iter().take_while(|line| line.starts_with("  ")).count()..]
}

fn agrees(expected: &[String], actual: &[String], kind: Kind) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((any, rest)) if any.trim() == "..." => (0..=actual.len()).any(|skip| agrees(rest, &actual[skip..], kind)),
        Some((line, rest)) if kind == Kind::Live && is_validity(line) => actual
            .split_first()
            .is_some_and(|(first, after)| is_validity(first) && agrees(past_reason(rest), past_reason(after), kind)),
        Some((line, rest)) => actual
            .split_first()
            .is_some_and(|(first, after)| like(&shape(line, kind), &shape(first, kind)) && agrees(rest, after, kind)),
    }
}

/// Held while a process is started: until it has executed its program, it holds the reserved ports of all pages.
static STARTING: Mutex<()> = Mutex::new(());

/// A page in execution: its directory, its substituted ports, and its background processes.
struct Page {
    name: String,
    folder: tempfile::TempDir,
    ports: HashMap<String, String>,
    /// Reserves each substituted port until a command of the page listens on it.
    held: HashMap<String, TcpListener>,
    beside: Vec<Child>,
    /// With `UPDATE_GOLDEN`: the line, the number of lines replaced after it, and the new text.
    updates: Vec<(usize, usize, Vec<String>)>,
}

impl Drop for Page {
    fn drop(&mut self) {
        for child in &mut self.beside {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Page {
    fn new(path: &Path) -> Self {
        // Each port once, and below those that systems give to clients: both could take a port between its release and its use.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let start = std::process::id() * 100;
        let port = || 20_000 + ((start + NEXT.fetch_add(1, Relaxed)) % 12_000) as u16;
        let bound = || TcpListener::bind(("127.0.0.1", port())).ok();
        let free = |i| {
            (
                format!("127.0.0.1:808{i}"),
                std::iter::repeat_with(bound).take(12_000).flatten().next().expect("a free port"),
            )
        };
        let held: HashMap<String, TcpListener> = (0..10).map(free).collect();
        let port =
            |(written, socket): (&String, &TcpListener)| (written.clone(), socket.local_addr().unwrap().to_string());
        let ports = held.iter().map(port).collect();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        Self { name, folder: tempfile::tempdir().unwrap(), ports, held, beside: Vec::new(), updates: Vec::new() }
    }

    fn play(&mut self, step: &Step) -> Result<(), String> {
        let mut line = step.command.replace("cargo run --profile quick -- ", "offered ");
        if line == "cargo test" {
            return Ok(()); // which is what is running now
        }
        for (written, used) in &self.ports {
            line = line.replace(written, used);
        }
        let beside = line.strip_suffix('&').map(str::trim).map(str::to_owned);
        let bin = Path::new(env!("CARGO_BIN_EXE_offered")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.current_dir(self.folder.path()).env("PATH", path).env("ROOT", root()).stdin(Stdio::null());
        let place = format!("{}:{}: `{}`", self.name, step.line, step.command);
        if let Some(command) = beside {
            let alone = STARTING.lock().unwrap();
            self.held.retain(|written, _| !step.command.contains(written.as_str()));
            let mut child = shell.args(["-c", &format!("exec {command}")]).stdout(Stdio::piped()).spawn().unwrap();
            drop(alone);
            let mut first = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
            self.beside.push(child);
            return self.compare(&place, step, &[first.trim_end().to_owned()]);
        }
        shell.args(["-c", &line]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let alone = STARTING.lock().unwrap();
        let started = shell.spawn().unwrap();
        drop(alone);
        let output = started.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let live = step.kind == Kind::Live && output.status.code() == Some(3);
        if output.status.code() != Some(step.exit) && !live {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{place} ended with {}, not {}:\n{text}{error}", output.status, step.exit));
        }
        self.compare(&place, step, &lines)
    }

    /// Writes the actual output into the page where it differs.
    fn update(&self, path: &Path) {
        if self.updates.is_empty() {
            return;
        }
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (after, count, new) in self.updates.iter().rev() {
            lines.splice(*after..after + count, new.iter().cloned());
        }
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }

    fn compare(&mut self, place: &str, step: &Step, actual: &[String]) -> Result<(), String> {
        let written =
            |line: &String| self.ports.iter().fold(line.clone(), |line, (written, used)| line.replace(used, written));
        let mut actual: Vec<String> = actual.iter().map(written).collect();
        while actual.last().is_some_and(|line| line.trim().is_empty()) {
            actual.pop(); // a page cannot show them either
        }
        let end = step.expected.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
        if agrees(&step.expected[..end], &actual, step.kind) {
            return Ok(());
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let cut = step.expected[..end].last().is_some_and(|line| line.trim() == "...");
            let mut lines = actual;
            if cut && lines.len() >= end {
                lines.truncate(end - 1);
                lines.push("...".to_owned());
            }
            self.updates.push((step.after, end, lines));
            return Ok(());
        }
        Err(format!("{place} printed\n{}\nwhere the page says\n{}", actual.join("\n"), step.expected[..end].join("\n")))
    }
}

#[test]
fn every_console_block_of_readme_and_book_does_what_it_shows() {
    let mut found = vec![root().join("README.md")];
    pages(&root().join("book/src"), &mut found);
    let played: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = found
            .iter()
            .map(|path| {
                scope.spawn(move || {
                    let steps = steps(&std::fs::read_to_string(path).unwrap());
                    let mut page = Page::new(path);
                    let failed = steps.iter().filter_map(|step| page.play(step).err()).collect();
                    page.update(path);
                    (steps.len(), failed)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let failures: Vec<String> = played.iter().flat_map(|(_, failures)| failures.clone()).collect();
    let commands: usize = played.iter().map(|(commands, _)| commands).sum();
    assert!(failures.is_empty(), "{} of {commands} commands:\n\n{}", failures.len(), failures.join("\n\n"));
    assert!(commands > 0, "no console block was found");
    println!("{commands} commands of {} pages", found.len());
}

#[test]
fn a_number_stands_for_any_other_and_a_word_for_itself() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(agrees(&lines("CoV 1.002  sent 7\n...\nend"), &lines("CoV 0.9 sent 12345\nx\ny\nend"), Kind::Shape));
    assert!(agrees(&lines("holds: [..]"), &lines("holds: it is 3 of 4"), Kind::Shape));
    assert!(
        agrees(&lines("a [..] b [..] c"), &lines("a 1 b 2 c"), Kind::Exact)
            && !agrees(&lines("a [..] b"), &lines("a 1 c"), Kind::Exact)
    );
    assert!(!agrees(&lines("CoV 1.002 VALID"), &lines("CoV 1.002 INVALID"), Kind::Shape));
    assert!(agrees(&lines("CoV 1.002 VALID"), &lines("CoV 1.002 INVALID"), Kind::Live));
    assert!(!agrees(&lines("N = 7"), &lines("N = 8"), Kind::Exact));
    assert!(agrees(&lines("total 998 ok"), &lines("total 1,002 ok"), Kind::Shape));
    assert!(!agrees(&lines("one"), &lines("one\ntwo"), Kind::Shape));
}

#[test]
fn every_example_is_launched_as_it_says() {
    let examples = std::fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut played = 0;
    for example in examples.filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let run = ["run", "--dry-run", "--seed", "2", "--json"];
        let output = Command::new(env!("CARGO_BIN_EXE_offered")).args(run).arg(&example).output().unwrap();
        let name = example.display();
        assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_ne!(summary["validity"], "invalid", "{name}");
        assert!(summary["total_requests"].as_u64().unwrap() > 1000, "{name}");
        played += 1;
    }
    assert!(played >= 5, "{played} examples");
}

/// Sources that name flags of *other* programs.
const FLAGS_OF_OTHERS: [&str; 22] = [
    "import/src/artillery.rs",        // how to choose an environment
    "import/src/artillery/values.rs", // how to give a variable its value
    "import/src/curl.rs",
    "import/src/curl/data.rs",
    "import/src/har/hosts.rs", // how to name hosts
    "import/src/locust.rs",
    "import/src/curl/options.rs",
    "import/src/jmx.rs", // how to give a variable its value
    "import/src/pgbench.rs",
    "import/src/pgbench/options.rs",
    "import/src/pgbench/paths.rs",
    "import/src/scripts/k6.rs",
    "import/src/scripts/locust.rs",
    "import/src/shell.rs",
    "run/src/script/body.rs", // a boundary of multipart bodies
    "run/src/transport/grpc.rs",
    "store/src/foreign/k6.rs",
    "store/src/foreign/language_models.rs",
    "store/src/foreign/oha_db.rs",
    "store/src/foreign/pgbench.rs",
    "store/src/foreign/refused.rs",
    "workload/src/shape/target.rs", // protoc
];

/// String literals of a source, with their lines, without comments and tests.
fn texts(source: &str) -> Vec<(usize, String)> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in source.lines().enumerate() {
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match (&mut open, c) {
                (None, '/') if chars.peek() == Some(&'/') => break,
                (None, '\'') => {
                    // A quote as a character literal, not the start of a string.
                    let rest: String = chars.clone().take(3).collect();
                    let skipped = if rest.starts_with("\"'") {
                        2
                    } else if rest.starts_with("\\\"'") {
                        3
                    } else {
                        0
                    };
                    chars.by_ref().take(skipped).for_each(drop);
                }
                (None, '"') => open = Some((number + 1, String::new())),
                (Some(_), '"') => found.extend(open.take()),
                (Some((_, text)), '\\') => text.extend(chars.next()),
                (Some((_, text)), c) => text.push(c),
                (None, _) => {}
            }
        }
    }
    found
}

/// Whether a text contains a flag: `--` and a letter at the start of a word.
fn names_a_flag(text: &str) -> bool {
    text.match_indices("--").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '-')
            && text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
    })
}

/// Sources under a directory, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let is_test = path.file_stem().is_some_and(|name| name == "tests");
        if path.is_dir() && !is_test {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !is_test {
            found.push(path);
        }
    }
}

#[test]
fn libraries_do_not_speak_of_flags() {
    assert_eq!(texts("a(\"x --y\", '\"', \"z\") // \"--no\""), [(1, "x --y".to_owned()), (1, "z".to_owned())]);
    assert!(names_a_flag("with --format") && !names_a_flag("a--b ---c -- d"));
    let (crates, mut all) = (root().join("crates"), Vec::new());
    for room in std::fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path()) {
        if room.file_name().is_some_and(|name| name != "commands" && name != "cli") && room.join("src").is_dir() {
            sources(&room.join("src"), &mut all);
        }
    }
    assert!(all.len() > 200, "{} sources", all.len());
    let name = |path: &Path| path.strip_prefix(&crates).unwrap().display().to_string();
    let told = all.iter().filter(|path| !FLAGS_OF_OTHERS.contains(&name(path).as_str())).flat_map(|path| {
        let said = texts(&std::fs::read_to_string(path).unwrap());
        said.into_iter()
            .filter(|(_, text)| names_a_flag(text))
            .map(|(line, text)| format!("{}:{line}: {text}", name(path)))
    });
    let told: Vec<String> = told.collect();
    assert!(
        told.is_empty(),
        "a library knows no flags; its words are completed in crates/commands/src/messages.rs:\n{}",
        told.join("\n")
    );
}
