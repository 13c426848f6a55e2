//! The live display in a terminal of 80 by 24, in tmux.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::harness::{Missing, Tested, needs};
use crate::process::{Serve, soon};

tests![
    the_live_display_updates_and_disappears_at_the_end,
    a_sweep_shows_the_display_of_the_current_cell,
    ctrl_c_removes_the_display_and_prints_the_summary,
    colours_can_be_disabled,
    quiet_disables_the_display
];

/// Possible interim verdicts; the first only at the start.
const JUDGEMENTS: [&str; 4] = ["NOT CHECKED so far", "VALID so far", "VALID, WITH WARNINGS so far", "INVALID so far"];

/// Number of terminals of this process, for their names.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A private tmux server with one pane, stopped when dropped.
struct Terminal {
    name: String,
}

impl Terminal {
    /// Runs `command` in a shell.
    fn start(command: &str) -> Result<Self, Missing> {
        needs("tmux", Command::new("tmux").arg("-V").output().is_ok())?;
        let number = NUMBER.fetch_add(1, Relaxed);
        let terminal = Self { name: format!("offered-{}-{number}", std::process::id()) };
        // Environment variables of the tests must not affect the display.
        let shell = format!("unset NO_COLOR CLICOLOR; {command}; echo ended with $?; exec cat");
        let size = ["-x", "80", "-y", "24"];
        let started = terminal.tmux(&[&["new-session", "-d"], &size[..], &[&shell]].concat());
        assert!(started.status.success(), "{started:?}");
        Ok(terminal)
    }

    fn tmux(&self, args: &[&str]) -> Output {
        Command::new("tmux").args(["-f", "/dev/null", "-L", &self.name]).args(args).output().expect("tmux")
    }

    /// Current content of the screen, with colours if requested.
    fn seen(&self, colours: bool) -> String {
        let how: &[&str] = if colours { &["capture-pane", "-p", "-e"] } else { &["capture-pane", "-p"] };
        String::from_utf8(self.tmux(how).stdout).expect("text")
    }

    /// Everything printed so far, also what has left the screen at the top.
    fn history(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p", "-S", "-"]).stdout).expect("text")
    }

    /// Content of the screen as soon as `which` is true for it.
    fn until(&self, which: impl Fn(&str) -> bool) -> String {
        let seen = soon(|| Some(self.seen(false)).filter(|seen| which(seen)));
        seen.unwrap_or_else(|| panic!("never seen; at last: {}", self.seen(false)))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn run(server: &Serve, rest: &str) -> String {
    let offered = env!("CARGO_BIN_EXE_offered");
    format!("{offered} run {}/ --open 200/s --seed 4 --wait-mode sleep {rest}", server.url)
}

/// The number after `word`.
fn after(seen: &str, word: &str) -> Option<f64> {
    let rest = seen.split_once(word)?.1.trim_start();
    rest.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?.parse().ok()
}

/// Whether the live display is visible: its table has a column that no result has.
fn is_shown(seen: &str) -> bool {
    seen.contains("late p99 us")
}

fn serve(folder: &Path) -> Serve {
    Serve::start("127.0.0.1:0", &folder.join("seen.csv"))
}

fn the_live_display_updates_and_disappears_at_the_end() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path());
    let json = folder.path().join("run.json");
    let command = run(&server, &format!("-d 4s --json > {}", json.display()));
    let terminal = Terminal::start(&command)?;
    let first = terminal.until(is_shown);
    let launched = after(&first, "requests").unwrap();
    let later = terminal.until(|seen| after(seen, "requests").is_some_and(|n| n > launched));
    assert_ne!(after(&first, "]"), after(&later, "]"), "the time advances: {later}");
    for part in ["s of 4 s", "target/s", "so far 200 ", "CoV of the gaps", "errors: none", "so far: "] {
        let later = later.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(later.contains(part), "{part}: {later}");
    }
    assert!(JUDGEMENTS.iter().any(|judgement| later.contains(judgement)), "{later}");
    let ended = terminal.until(|seen| seen.contains("ended with"));
    assert!(!is_shown(&ended) && !ended.contains("[="), "{ended}");
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert!(json["total_requests"].as_f64().unwrap() >= after(&later, "requests").unwrap(), "{later}");
    Ok(())
}

fn a_sweep_shows_the_display_of_the_current_cell() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path());
    let (file, out) = (folder.path().join("w.toml"), folder.path().join("sweep"));
    let text = format!(
        "seed = 5\nduration = \"3s\"\ngenerator.wait = \"sleep\"\narrivals.open.rate = \"50/s\"\ntarget.url = \"{}/\"\n",
        server.url
    );
    std::fs::write(&file, text).unwrap();
    let sweep = |rest: &str| {
        let (offered, file, out) = (env!("CARGO_BIN_EXE_offered"), file.display(), out.display());
        format!("{offered} sweep {file} --vary rate=100,200 --output {out}{rest} --json > /dev/null")
    };
    let terminal = Terminal::start(&sweep(""))?;
    for (cell, rate) in [("cell 1 of 2: rate=100", "so far 100 "), ("cell 2 of 2: rate=200", "so far 200 ")] {
        let seen = terminal.until(|seen| seen.contains(cell) && is_shown(seen));
        assert!(seen.contains("s of 3 s"), "{seen}");
        terminal.until(|seen| seen.split_whitespace().collect::<Vec<_>>().join(" ").contains(rate));
    }
    let ended = terminal.until(|seen| seen.contains("ended with"));
    assert!(!is_shown(&ended) && ended.contains("cell 2 of 2"), "{ended}");
    let quiet = Terminal::start(&sweep("-quiet --quiet"))?;
    let ended = quiet.until(|seen| !seen.trim().is_empty());
    assert!(ended.trim_start().starts_with("ended with"), "{ended}");
    Ok(())
}

fn ctrl_c_removes_the_display_and_prints_the_summary() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path());
    let terminal = Terminal::start(&run(&server, "-d 60s"))?;
    terminal.until(is_shown);
    terminal.tmux(&["send-keys", "C-c"]);
    let ended = terminal.until(|seen| seen.contains("ended with"));
    assert!(!is_shown(&ended), "{ended}");
    assert!(ended.contains("request  requests"), "{ended}");
    let all = terminal.history();
    assert!(all.contains("STOPPED") && all.contains("from outside"), "{all}");
    Ok(())
}

fn colours_can_be_disabled() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path());
    for (set, coloured) in [("", true), ("NO_COLOR=1 ", false)] {
        // The verdict depends on the machine: valid or invalid.
        let terminal = Terminal::start(&format!("{set}{}", run(&server, "-d 60s")))?;
        let judged = |seen: &str| JUDGEMENTS[1..].iter().any(|judgement| seen.contains(judgement));
        terminal.until(judged);
        let seen = terminal.seen(true);
        assert_eq!(seen.contains("\x1b[3"), coloured, "{seen:?}");
    }
    Ok(())
}

fn quiet_disables_the_display() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path());
    let terminal = Terminal::start(&run(&server, "-d 2s --json --quiet > /dev/null"))?;
    let ended = terminal.until(|seen| !seen.trim().is_empty());
    assert!(ended.trim_start().starts_with("ended with"), "{ended}");
    Ok(())
}
