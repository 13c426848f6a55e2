//! Every input that is kept in `fuzz/corpus`, through its target.

use std::fs;
use std::path::{Path, PathBuf};

use offered_fuzz::{TARGETS, run};

/// All of them together are no larger than this.
const MOST: u64 = 1 << 20;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|why| panic!("{}: {why}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn every_input_that_is_kept_comes_to_its_end() {
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
            // Who panics here is named by the last line.
            println!("{}", input.display());
            run(&name, &bytes);
        }
    }
    assert!(size < MOST, "{size} bytes");
}

/// Every target has its program, which does nothing else.
#[test]
fn every_target_can_be_fuzzed() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        let program = fs::read_to_string(fuzz.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("run(\"{name}\", bytes)")), "{program}");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}
