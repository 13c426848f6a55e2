//! Facts about the build for `offered --version --json`: target and commit. The JSON Schemas, compressed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::DeflateEncoder;

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
    compress_schemas().expect("the schemas can be read, and the folder of the build written");
}

/// Compresses all files of `schemas/` into one file, which `src/schema.rs` reads: for each schema its name and its text,
/// both followed by a zero byte. This reduces the size to an eighth.
fn compress_schemas() -> io::Result<()> {
    let folder = Path::new("../../schemas");
    println!("cargo::rerun-if-changed={}", folder.display());
    let output = Path::new(&std::env::var_os("OUT_DIR").expect("cargo sets it")).join("schemas.deflate");
    let mut encoder = DeflateEncoder::new(File::create(output)?, Compression::default());
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    let mut files: Vec<PathBuf> =
        files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    files.sort(); // a directory has no order
    for file in files {
        let name = file.file_stem().and_then(|name| name.to_str()).expect("names of schemas are ASCII");
        write!(encoder, "{name}\0{}\0", fs::read_to_string(&file)?)?;
    }
    encoder.finish().map(drop)
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
