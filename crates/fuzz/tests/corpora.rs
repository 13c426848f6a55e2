//! Runs every input of `fuzz/corpus` through its target.

use std::fs;
use std::path::{Path, PathBuf};

use offered_fuzz::{TARGETS, run};

/// Maximum total size of the corpus, in bytes.
const MAX_CORPUS_BYTES: u64 = 1 << 20;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|why| panic!("{}: {why}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn every_corpus_input_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let names: Vec<String> =
        files(&corpus).iter().map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, TARGETS.map(|(name, _)| name), "a corpus for each target");
    let mut size = 0;
    for name in names {
        let inputs = files(&corpus.join(&name));
        assert!(!inputs.is_empty(), "{name}");
        for input in inputs {
            let bytes = fs::read(&input).unwrap();
            size += bytes.len() as u64;
            // If a target panics, the last line names its input.
            println!("{}", input.display());
            run(&name, &bytes);
        }
    }
    assert!(size < MAX_CORPUS_BYTES, "{size} bytes");
}

/// Every target has a program that only runs it.
#[test]
fn every_target_has_a_program() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        let program = fs::read_to_string(fuzz.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("run(\"{name}\", bytes)")), "{program}");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}
