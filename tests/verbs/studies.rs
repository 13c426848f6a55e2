//! `studies/run`: its descriptions are complete and agree with the program, and it makes the figures of a paper.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use toml_edit::DocumentMut;

fn studies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

/// `studies/run OUT ...`.
fn run(out: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(studies().join("run"));
    command.arg(out).args(more).env("OFFERED", env!("CARGO_BIN_EXE_offered")).output().unwrap()
}

/// The figures and tables of the papers, by the beginning of their titles.
const PAPERS: [(&str, &[&str]); 4] = [
    (
        "emulate-web-traffic",
        &[
            "Table 1(a)",
            "Table 1(b)",
            "Table 2",
            "Table 3",
            "Table 4",
            "Figure 1",
            "Figures 2, 3, 4 and 8",
            "Figure 5",
            "Figure 6",
            "Figure 7",
            "Figure 9",
            "Figure 10",
            "Figure 11",
            "Figure 12",
        ],
    ),
    (
        "bunched-requests",
        &[
            "Figure 12",
            "Figure 13",
            "Figure 14",
            "Figures 15 and 16",
            "Figure 16",
            "Figure 17",
            "Toolkit",
            "The toolkit's options",
        ],
    ),
    (
        "think-time",
        &["All 15 cells", "Throughput", "Mean", "90th percentile", "Density", "JMeter's Poisson Random Timer"],
    ),
    (
        "open-vs-closed",
        &[
            "Table 1",
            "Table 2",
            "Figure 2(c)",
            "Figure 2(d)",
            "Figure 3",
            "Figure 4(a) and (b)",
            "Figure 4(c) and (d)",
            "Figure 5",
            "Figure 6(a)",
            "Figure 6(b)",
            "Figure 6(c)",
            "Figure 6(d)",
            "Figure 7(a) and (b)",
            "Figure 7(c) and (d)",
            "Figure 8",
            "The eight principles",
        ],
    ),
];

#[test]
fn the_pages_have_every_figure_and_table_of_the_papers() {
    for (study, figures) in PAPERS {
        let text = fs::read_to_string(studies().join(study).join("page.toml")).unwrap();
        let page: DocumentMut = text.parse().unwrap();
        let titles: Vec<&str> = page["figure"]
            .as_array_of_tables()
            .unwrap()
            .iter()
            .map(|figure| figure["title"].as_str().unwrap())
            .collect();
        for figure in figures {
            assert!(titles.iter().any(|title| title.starts_with(figure)), "{study}: no {figure} among {titles:?}");
        }
    }
}

#[test]
fn the_commands_of_the_studies_have_options_that_exist() {
    let help = |verb: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_offered")).args(verb).arg("--help").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let verbs = ["plan", "simulate", "sweep", "verify", "report", "logs", "serve", "observe", "run", "export"];
    let known: String = verbs
        .into_iter()
        .map(|verb| help(&[verb]))
        .chain(["table", "solve", "web-users"].into_iter().map(|plan| help(&["plan", plan])))
        .collect();
    let known: BTreeSet<&str> = known.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
    let mut read = 0;
    for file in fs::read_dir(studies().join("lib")).unwrap().map(|file| file.unwrap().path()) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        for option in
            text.split('"').filter_map(|word| word.split(['=', ' ']).next().filter(|word| word.starts_with("--")))
        {
            assert!(known.contains(option), "{}: no verb has {option}", file.display());
            read += 1;
        }
    }
    assert!(read > 40, "{read}");
}

#[test]
fn one_command_makes_the_figures_of_a_paper_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let output = run(&out, &["--small", "--paper", "5"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--paper takes numbers from 1 to 4"));
    let output = run(&out, &["--toolkit", folder.path().to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("has no NNNN_AggRpt.csv"));
    let output = run(&out, &["--small", "--paper", "2"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(out.join("bunched-requests/page.html")).unwrap();
    for words in ["Run 2100 is bunched: CoV 1.17", "does not hold", "studies/run --toolkit DIR", "RoRT"] {
        assert!(page.contains(words), "{words} is missing");
    }
    for file in ["17-simulated-figure.svg", "17-simulated.csv", "15-simulated-figure.csv"] {
        assert!(out.join("bunched-requests/figures").join(file).exists(), "{file}");
    }
}
