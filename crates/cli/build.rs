//! Facts about the build for `offered --version --json`: target and commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=OFFERED_COMMIT");
    println!("cargo::rustc-env=OFFERED_TARGET={}", std::env::var("TARGET").expect("cargo sets it"));
    // Only of optimised builds: otherwise every commit would compile the program and its tests again.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release")
        && let Some(commit) = std::env::var("OFFERED_COMMIT").ok().or_else(checked_out)
    {
        println!("cargo::rustc-env=OFFERED_COMMIT={commit}");
    }
}

/// The commit that is checked out; `None` outside of a clone of this repository.
fn checked_out() -> Option<String> {
    // Unpacked sources may lie in the repository of another project, which does not track this file.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // The log of HEAD changes with every commit and checkout.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "HEAD"])
}

/// What `git` prints, without the line end; `None` if it fails or is not installed.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
