//! `offered init` without a URL: the file, its alternatives in comments, and wrong input.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs `offered` in `folder`; returns exit code, stdout and stderr.
fn offered(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_offered")).args(args).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The workload that `init` writes, with the lines that begin with `# FIRST` for each of `firsts` as keys instead of comments, and
/// without the lines that begin with `without`.
fn with(text: &str, firsts: &[&str], without: &str) -> String {
    let mut changed = String::new();
    for line in text.lines().filter(|line| without.is_empty() || !line.starts_with(without)) {
        let content = line.strip_prefix("# ").filter(|content| firsts.iter().any(|first| content.starts_with(first)));
        changed += &format!("{}\n", content.unwrap_or(line));
    }
    assert_ne!(changed, text, "{firsts:?}");
    changed
}

#[test]
fn the_workload_and_its_commented_alternatives_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = offered(folder.path(), &["init"]);
    assert!(code == Some(0) && stdout.contains("next: edit target.url"), "{stdout}{stderr}");
    let text = fs::read_to_string(folder.path().join("workload.toml")).unwrap();
    assert!(!text.contains("{{"), "{text}");
    let variants = [
        with(&text, &["closed = "], "open = "),
        with(&text, &["partly_open = "], "open = "),
        with(&text, &["headers = ", "[[request]]", "name = ", "get = ", "weight = "], ""),
        with(&text, &["tls = "], "").replace("http://", "https://"),
    ];
    for variant in [text].iter().chain(&variants) {
        fs::write(folder.path().join("w.toml"), variant).unwrap();
        let (code, stdout, stderr) = offered(folder.path(), &["run", "w.toml", "--dry-run", "--seed", "1"]);
        assert_eq!(code, Some(0), "{stdout}{stderr}\n{variant}");
        assert!(stdout.lines().any(|line| line.starts_with("PASSED") && line.contains("response.p95")), "{stdout}");
    }
}

#[test]
fn wrong_input_is_one_line_and_writes_nothing() {
    for (args, message) in [
        (&["127.0.0.1:8080"][..], "it has no scheme"),
        (&["postgres://me@127.0.0.1/shop"], "examples/postgresql.toml"),
        (&["http://127.0.0.1:9/", "-o", "no/such/directory/w.toml"], "no/such/directory"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (code, _, stderr) = offered(folder.path(), &[&["init"], args].concat());
        assert!(matches!(code, Some(1 | 2)) && stderr.contains(message), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_schema_file_of_something_else_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("workload.schema.json");
    fs::write(&schema, "{\"title\": \"another\"}").unwrap();
    let (code, _, stderr) = offered(folder.path(), &["init"]);
    assert!(code == Some(2) && stderr.contains("is not overwritten"), "{stderr}");
    assert_eq!(fs::read_to_string(&schema).unwrap(), "{\"title\": \"another\"}");
    // The schema of another version is replaced.
    fs::write(&schema, "{\"title\": \"offered workload\"}").unwrap();
    assert_eq!(offered(folder.path(), &["init"]).0, Some(0));
    assert!(fs::read_to_string(&schema).unwrap().len() > 1000);
}
