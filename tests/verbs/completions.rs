//! `offered completions` and `offered man`: what shells and packages install.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn offered(args: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_offered")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// What the shell prints for this script; `None` if it is not installed.
fn shell(name: &str, args: &[&str], folder: &Path) -> Option<String> {
    let bin = Path::new(env!("CARGO_BIN_EXE_offered")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(name);
    command.args(args).current_dir(folder).env("PATH", path).env("HOME", folder).stdin(Stdio::null());
    let output = command.output().ok()?;
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn shells_complete_commands_options_values_and_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.toml"), "").unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = String::from_utf8(offered(&["completions", shell])).unwrap();
        assert!(script.contains("skip-first") && script.contains("calibrate"), "{shell}: {script}");
    }
    // As bash calls it for the words of a line, of which the last is completed.
    let bash = |line: &str| {
        let script = format!(
            "source <(offered completions bash)\nCOMP_WORDS=({line})\n{}",
            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_offered offered \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"\nprintf '%s\\n' \"${COMPREPLY[@]}\""
        );
        shell("bash", &["-c", &script], folder.path())
    };
    let Some(commands) = bash("offered ca") else { return };
    assert_eq!(commands, "capacity\ncalibrate\n");
    assert_eq!(bash("offered run --op").unwrap(), "--open\n");
    assert_eq!(bash("offered run --wait-mode s").unwrap(), "spin\nsleep\n");
    assert_eq!(bash("offered verify --jun").unwrap(), "--junit\n");
    assert_eq!(bash("offered run --junit sh").unwrap(), "shop.toml\n");
    for (name, script, expected) in [
        ("fish", "offered completions fish | source; complete -C 'offered ca'", "capacity\t"),
        // zsh completes at a terminal only; here it reads the script.
        (
            "zsh",
            "autoload -U compinit && compinit -u; source <(offered completions zsh); echo ${_comps[offered]}",
            "_offered",
        ),
    ] {
        let printed = shell(name, &["-c", script], folder.path());
        assert!(printed.as_ref().is_none_or(|printed| printed.contains(expected)), "{name}: {printed:?}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let help = String::from_utf8(offered(&["--help"])).unwrap();
    offered(&["man", folder.path().join("man").to_str().unwrap()]);
    let entries = fs::read_dir(folder.path().join("man")).unwrap().map(|entry| entry.unwrap().file_name());
    let pages: BTreeSet<String> = entries.map(|name| name.into_string().unwrap()).collect();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands =
        commands.lines().take_while(|line| !line.is_empty()).map(|line| line.split_whitespace().next().unwrap());
    for command in commands.filter(|command| *command != "help") {
        assert!(pages.contains(&format!("offered-{command}.1")), "{command}: {pages:?}");
    }
    assert!(pages.contains("offered.1") && pages.contains("offered-plan-solve.1"), "{pages:?}");
    let page = fs::read_to_string(folder.path().join("man/offered-run.1")).unwrap();
    assert!(page.contains(".SH EXAMPLES") && page.contains("offered run workload.toml \\-o runs/1"), "{page}");
    // groff reports what a page has wrong; it is not everywhere.
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let check = Command::new("groff")
        .args(["-man", "-Tutf8", "-ww", "-z"])
        .args(&pages)
        .current_dir(folder.path().join("man"))
        .output();
    if let Ok(check) = check {
        assert!(check.status.success() && check.stderr.is_empty(), "{}", String::from_utf8_lossy(&check.stderr));
    }
}
