//! `offered import` of plans from other people: each plan is imported or refused in one line, and the result passes a
//! dry run.
//!
//! `OFFERED_PLANS=DIR cargo test -p offered --test foreign plans` imports every plan under DIR and prints a table;
//! nothing is downloaded.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::harness::{Tested, needs};
use crate::program;

tests![plans_of_a_given_directory];

fn offered(folder: &Path, arguments: &[&str]) -> Output {
    program::offered(arguments).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// All files under a directory.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() { files(&entry, found) } else { found.push(entry) }
    }
}

/// Enabled test elements of a `JMeter` plan; requests of other formats are counted by their method.
fn elements(text: &str) -> usize {
    if text.trim_start().starts_with('<') {
        let tags = text.split('<').filter(|tag| tag.contains(" testclass=") && !tag.starts_with("elementProp"));
        return tags.filter(|tag| !tag.contains("enabled=\"false\"")).count();
    }
    text.matches("\"method\"").count()
}

fn plans_of_a_given_directory() -> Tested {
    let folder = std::env::var_os("OFFERED_PLANS");
    needs("plans", folder.is_some())?;
    let folder = folder.unwrap();
    let work = tempfile::tempdir().unwrap();
    let mut plans = Vec::new();
    files(Path::new(&folder), &mut plans);
    println!("| file | elements | listed | workloads |\n|---|---|---|---|");
    for plan in &plans {
        let name = plan.strip_prefix(&folder).unwrap().display();
        let output = offered(work.path(), &["import", plan.to_str().unwrap(), "--json"]);
        let (stdout, stderr) = said(&output);
        if output.status.code() == Some(2) {
            assert_eq!(stderr.lines().count(), 1, "{name}: {stderr}");
            let why = stderr
                .trim()
                .rsplit_once(&*plan.file_name().unwrap().to_string_lossy())
                .map_or(stderr.trim(), |(_, why)| why);
            println!("| {name} | | | {} |", why.trim_start_matches(':').trim());
            continue;
        }
        assert!(output.status.success(), "{name}: {stderr}");
        let text = String::from_utf8_lossy(&std::fs::read(plan).unwrap()).into_owned();
        let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let workloads = document["workloads"].as_array().unwrap();
        let mut listed: Vec<String> = Vec::new();
        for workload in workloads {
            let notes = workload["not_translated"].as_array().unwrap();
            listed.extend(notes.iter().map(|note| format!("{}{}", note["line"], note["element"])));
            // Durations are shortened to a few seconds; data files and the environment are not available.
            let toml = workload["workload"].as_str().unwrap();
            let toml: String = toml
                .lines()
                .filter(|line| !line.starts_with("skip_first"))
                .map(|line| {
                    if line.starts_with("duration = ") {
                        "duration = \"20s\"\n".to_owned()
                    } else {
                        format!("{line}\n")
                    }
                })
                .collect();
            std::fs::write(work.path().join("w.toml"), toml).unwrap();
            let run = offered(work.path(), &["run", "w.toml", "--dry-run", "--quiet", "--seed", "1"]);
            let (stdout, stderr) = said(&run);
            let at_hand = run.status.code() != Some(2)
                || ["cannot", "not set", "No such file"].iter().any(|why| stderr.contains(why));
            assert!(at_hand && run.status.code() != Some(101), "{name}: {stdout}{stderr}");
        }
        listed.sort();
        listed.dedup();
        println!("| {name} | {} | {} | {} |", elements(&text), listed.len(), workloads.len());
    }
    println!("{} files", plans.len());
    Ok(())
}
