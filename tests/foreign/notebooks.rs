//! The page "Events in pandas, Polars, `DuckDB` and R", block by block, and the notebook in `examples/notebooks`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::{Tested, needs};
use crate::program::printed;

tests![
    every_python_and_sql_block_prints_what_the_page_shows,
    the_r_block_prints_the_same_percentiles,
    the_notebook_is_executed_with_its_pictures
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const PAGE: &str = "book/src/guides/notebooks.md";

/// A fenced block of the page.
struct Block {
    /// `python`, `sql`, `r`, `console`, `text`.
    kind: String,
    text: String,
    /// The line of the page after its first fence, from 0.
    line: usize,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), is_open) {
            (Some(kind), false) => {
                is_open = true;
                blocks.push(Block { kind: kind.to_owned(), text: String::new(), line: number + 1 });
            }
            (Some(_), true) => is_open = false,
            (None, true) => blocks.last_mut().unwrap().text += &format!("{line}\n"),
            (None, false) => {}
        }
    }
    blocks
}

/// Makes the runs of the page, by its console blocks.
fn runs(blocks: &[Block]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text: String = blocks.iter().filter(|block| block.kind == "console").map(|block| block.text.as_str()).collect();
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    let mut shell = Command::new("sh");
    shell.args(["-ec", &commands.join("\n")]).current_dir(folder.path()).env("PATH", path()).env("ROOT", root());
    printed(shell);
    folder
}

/// The search path, with `offered` first.
fn path() -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_offered")).parent().unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

/// Python in `folder` with this script; `stdin` is what the script reads.
fn python(folder: &Path, script: &str, stdin: &str) -> String {
    let mut command = Command::new("python3");
    command.args(["-c", script]).current_dir(folder).env("PATH", path()).env("OFFERED_RUN", "runs/1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn has(modules: &str) -> bool {
    let code = format!("import {modules}");
    Command::new("python3").args(["-c", &code]).output().is_ok_and(|output| output.status.success())
}

/// Executes blocks in one session; prints a JSON list of their outputs. After the first, its percentiles must be those of `run.json`.
const EXECUTE: &str = r#"
import contextlib, io, json, sys
outputs, session = [], {}
for number, (kind, text) in enumerate(json.load(sys.stdin)):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        if kind == "sql":
            import duckdb
            print(duckdb.sql(text))
        else:
            exec(text, session)
    outputs.append(said.getvalue())
    if number == 0:
        for row in session["run"]["summary"]["requests"][:-1]:
            for column in ("p50", "p95", "p99"):
                ours, theirs = row[column + "_ms"], session["times"][column][row["label"]]
                assert abs(ours - theirs) < 1e-9, (row["label"], column, ours, theirs)
json.dump(outputs, sys.stdout)
"#;

/// Words and numbers of an output. Frames and widths of tables differ between versions of the libraries.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || "│┆┌┐└┘├┤┬┴┼─═╞╡╪".contains(c)).filter(|word| !word.is_empty()).collect()
}

/// With `UPDATE_GOLDEN`: writes the outputs into their blocks, the last one first.
fn update(page: &str, outputs: &[(usize, String)]) {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    for (line, output) in outputs.iter().rev() {
        let end = (*line..lines.len()).find(|at| lines[*at].starts_with("```")).unwrap();
        lines.splice(*line..end, output.trim_end().lines().map(|line| line.trim_end().to_owned()));
    }
    fs::write(root().join(PAGE), lines.join("\n") + "\n").unwrap();
}

fn every_python_and_sql_block_prints_what_the_page_shows() -> Tested {
    needs("parquet", has("pandas, polars, duckdb, pyarrow"))?;
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let blocks = blocks(&page);
    let folder = runs(&blocks);
    let executed: Vec<usize> =
        (0..blocks.len()).filter(|index| ["python", "sql"].contains(&blocks[*index].kind.as_str())).collect();
    assert!(executed.len() >= 10, "{} blocks", executed.len());
    let scripts: Vec<[&str; 2]> =
        executed.iter().map(|index| [blocks[*index].kind.as_str(), blocks[*index].text.as_str()]).collect();
    let outputs = python(folder.path(), EXECUTE, &serde_json::to_string(&scripts).unwrap());
    let outputs: Vec<String> = serde_json::from_str(&outputs).unwrap();
    // Every block is followed by its output.
    let shown = executed.iter().map(|index| &blocks[index + 1]).inspect(|block| assert_eq!(block.kind, "text"));
    let shown: Vec<&Block> = shown.collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        update(&page, &shown.iter().map(|block| block.line).zip(outputs).collect::<Vec<_>>());
        return Ok(());
    }
    for (shown, output) in shown.iter().zip(&outputs) {
        assert_eq!(words(&shown.text), words(output), "{PAGE}:{}: printed\n{output}", shown.line);
    }
    Ok(())
}

fn the_r_block_prints_the_same_percentiles() -> Tested {
    let libraries = Command::new("Rscript").args(["-e", "library(arrow); library(jsonlite)"]).output();
    needs("r", libraries.is_ok_and(|output| output.status.success()))?;
    let blocks = blocks(&fs::read_to_string(root().join(PAGE)).unwrap());
    let folder = runs(&blocks);
    let block = blocks.iter().find(|block| block.kind == "r").unwrap();
    let mut command = Command::new("Rscript");
    command.args(["-e", &block.text]).current_dir(folder.path());
    let printed = printed(command);
    let run: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("runs/1/run.json")).unwrap()).unwrap();
    for row in run["summary"]["requests"].as_array().unwrap().iter().filter(|row| row["label"] != "Total") {
        let line = printed.lines().find(|line| words(line).contains(&row["label"].as_str().unwrap()));
        let p50: f64 = words(line.unwrap_or_else(|| panic!("{row}: {printed}")))[2].parse().unwrap();
        // Its quantiles may be the neighbouring value.
        assert!((p50 / row["p50_ms"].as_f64().unwrap() - 1.0).abs() < 0.02, "{row}: {printed}");
    }
    Ok(())
}

/// Executes a notebook; prints the number of its pictures, and its text.
const NOTEBOOK: &str = r#"
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.stdin, 4)
NotebookClient(notebook, timeout=100, kernel_name="python3").execute()
data = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
print(sum(len(one.get("image/png", "")) > 10_000 for one in data))
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        print(output.get("text", "") or output.get("data", {}).get("text/plain", ""))
"#;

fn the_notebook_is_executed_with_its_pictures() -> Tested {
    needs("notebook", has("nbclient, ipykernel, matplotlib, pandas, pyarrow"))?;
    let folder = runs(&blocks(&fs::read_to_string(root().join(PAGE)).unwrap()));
    let notebook = fs::read_to_string(root().join("examples/notebooks/run.ipynb")).unwrap();
    assert!(!notebook.contains("image/png"), "commit the notebook without outputs");
    let printed = python(folder.path(), NOTEBOOK, &notebook);
    assert!(printed.starts_with("3\nvalid - every request was sent"), "{printed}");
    let run: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("runs/1/run.json")).unwrap()).unwrap();
    let p95 = run["summary"]["requests"][0]["p95_ms"].as_f64().unwrap();
    assert!(printed.contains(&format!(" {p95:.2} ")), "{p95}: {printed}");
    Ok(())
}
