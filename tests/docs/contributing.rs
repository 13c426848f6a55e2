//! DESIGN.md, CONTRIBUTING.md, the decisions and the book name crates, fuzz targets and files that exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{pages, root};

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Names of the entries of a directory, without extensions.
fn entries(folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The names in backticks in the first column of the table under `head`.
fn first_column(text: &str, head: &str) -> Vec<String> {
    let (_, table) = text.split_once(head).unwrap_or_else(|| panic!("no table with the head {head}"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('`').nth(1).expect("a name in backticks").to_owned()).collect()
}

#[test]
fn the_design_lists_every_crate_above_the_crates_that_it_uses() {
    let listed = first_column(&read("DESIGN.md"), "| crate | contents |");
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), entries("crates"));
    let place = |name: &str| listed.iter().position(|listed| listed == name).unwrap();
    for name in &listed {
        let manifest = read(format!("crates/{name}/Cargo.toml"));
        let (_, rest) = manifest.split_once("\n[dependencies]\n").unwrap_or(("", ""));
        let dependencies = rest.lines().take_while(|line| !line.starts_with('['));
        for used in dependencies.filter_map(|line| line.strip_prefix("offered-")?.split(['.', ' ']).next()) {
            assert!(place(name) < place(used), "{name} uses {used}; list it above {used} in DESIGN.md");
        }
    }
}

#[test]
fn fuzz_targets_are_listed_with_corpus_and_binary() {
    let listed = first_column(&read("CONTRIBUTING.md"), "| target | reads |").into_iter().collect::<BTreeSet<_>>();
    assert_eq!(listed, entries("fuzz/fuzz_targets"));
    assert_eq!(listed, entries("fuzz/corpus"));
    let manifest = read("fuzz/Cargo.toml");
    let binaries = manifest.split("[[bin]]").skip(1).map(|binary| binary.split('"').nth(1).unwrap().to_owned());
    assert_eq!(listed, binaries.collect());
}

/// The destinations of the links of a page, and the paths in backticks that start with a directory of the repository.
fn paths(page: &Path, text: &str) -> Vec<(String, PathBuf)> {
    let folders = [".ci", "benches", "book", "crates", "docs", "examples", "fuzz", "schemas", "studies", "tests"];
    let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
    let links = links.filter(|link| !link.is_empty() && !link.contains(':'));
    let links = links.map(|link| (link.to_owned(), page.parent().unwrap().join(link)));
    // The content of a code block is between two fences of three backticks.
    let prose = text.split("```").step_by(2);
    let quoted = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2)).filter(|quoted| {
        let (folder, rest) = quoted.split_once('/').unwrap_or_default();
        folders.contains(&folder) && rest.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c))
    });
    links.chain(quoted.map(|quoted| (quoted.to_owned(), root().join(quoted)))).collect()
}

#[test]
fn pages_name_files_that_exist() {
    let mut found =
        ["README.md", "DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name)).to_vec();
    pages(&root().join("docs"), &mut found);
    pages(&root().join("book/src"), &mut found);
    let (mut checked, mut missing) = (0, Vec::new());
    for page in &found {
        for (name, path) in paths(page, &read(page)) {
            checked += 1;
            if !path.exists() {
                missing.push(format!("{}: {name}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(missing.is_empty(), "these paths do not exist:\n{}", missing.join("\n"));
    assert!(checked > 100, "{checked} paths");
}

/// The Rust files in a directory and its subdirectories.
pub(crate) fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_source_file_is_longer_than_600_lines() {
    let mut found = Vec::new();
    for folder in ["crates", "tests"] {
        sources(&root().join(folder), &mut found);
    }
    let lengths = found.iter().map(|path| (read(path).lines().count(), path.strip_prefix(root()).unwrap()));
    let long: Vec<String> =
        lengths.filter(|(lines, _)| *lines > 600).map(|(n, path)| format!("{}: {n}", path.display())).collect();
    assert!(long.is_empty(), "split these files by idea:\n{}", long.join("\n"));
    assert!(found.len() > 500, "{} files", found.len());
}
