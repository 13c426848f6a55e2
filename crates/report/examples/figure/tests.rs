//! A small study, and what is wrong with descriptions.

use std::fs;

use tempfile::TempDir;

use super::*;

const TABLE: &str = "load,policy,mean_s,low_s,high_s\n0.9,fcfs,0.9,0.5,1.5\n0.5,fcfs,0.02,0.01,0.03\n0.5,ps,0.01,,\n";
const SHEET: &str = r#"
title = "Response & load"
claim = "FCFS is <slow>."
found = "It is."
x = { label = "load" }
y = { label = "response", unit = "ms", scale = "log", times = 1000 }
[[series]]
name = "FCFS"
file = "table.csv"
where = { policy = "fcfs" }
x = "load"
y = "mean_s"
low = "low_s"
high = "high_s"
printed = [[0.9, 450.0], [0.95, 800.0]]
[[line]]
name = "limit"
points = [[0, 500], [1, 500]]
"#;

/// The description and the table in a folder, drawn.
fn figures(sheet: &str, table: &str) -> Result<(TempDir, PathBuf), Wrong> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.toml");
    fs::write(&path, sheet).unwrap();
    fs::write(folder.path().join("table.csv"), table).unwrap();
    let page = draw(&[path], folder.path())?;
    Ok((folder, page))
}

#[test]
fn a_figure_is_a_picture_and_a_page_with_the_claim_and_the_table() {
    let (folder, page) = figures(SHEET, TABLE).unwrap();
    let page = fs::read_to_string(page).unwrap();
    for words in [
        "<h2>Response &#38; load</h2>",
        "<p>The paper: FCFS is &#60;slow&#62;.</p>",
        "<p>Here: It is.</p>",
        "x is load, y is response (ms)",
        "<data value=\"900\">900</data>",
        "500 to 1500",
        "<data value=\"2\">2</data>",
    ] {
        assert!(page.contains(words), "{words} is missing");
    }
    let svg = fs::read_to_string(folder.path().join("load.svg")).unwrap();
    for words in ["response (ms)", "FCFS, printed", "limit"] {
        assert!(svg.contains(words), "{words} is missing");
    }
    assert_eq!(svg.matches("<circle").count(), 2 + 2 + 1, "two points, two rings, and one in the legend");
}

#[test]
fn what_is_wrong_is_named() {
    // What is changed in the description, to what, and what is said of it.
    let cases = [
        ("printed", "printid", "unknown field `printid`"),
        ("title", "titel", "unknown field `titel`"),
        ("title = \"Response & load\"\n", "", "missing field `title`"),
        ("\"log\"", "\"lag\"", "unknown variant `lag`, expected `linear` or `log`"),
        ("\"mean_s\"", "\"mean\"", "table.csv: no column \"mean\" among load, policy, mean_s, low_s, high_s"),
        ("\"fcfs\"", "\"lifo\"", "table.csv: series \"FCFS\": no row with policy = lifo among fcfs, ps"),
        ("\"load\"\ny", "\"policy\"\ny", "table.csv: row 1, column policy: \"fcfs\" is no number"),
        ("x = \"load\"\n", "", "series \"FCFS\": `file` wants the names of its columns, `x` and `y`"),
        ("low = \"low_s\"\n", "", "series \"FCFS\": `low` and `high` go together"),
        ("table.csv", "none.csv", "none.csv: No such file"),
        ("file = \"table.csv\"\n", "", "series \"FCFS\": columns without a `file`"),
        ("[1, 500]", "", "line \"limit\": two `points` or more, or a `slope`"),
    ];
    for (from, to, message) in cases {
        assert!(SHEET.contains(from), "{from}");
        let said = figures(&SHEET.replacen(from, to, 1), TABLE).unwrap_err().to_string();
        assert!(said.contains(message), "{said}");
    }
    let said = figures(SHEET, "").unwrap_err().to_string();
    assert!(said.contains("no column \"policy\""), "{said}");
    let said = figures(&SHEET.replace("times = 1000", "times = 0").replace("450.0", "0").replace("800.0", "0"), TABLE);
    assert!(said.unwrap_err().to_string().contains("a logarithmic axis wants numbers above zero"));
}

#[test]
fn a_line_is_straight_on_linear_axes_and_reaches_over_a_logarithmic_one() {
    let sheet = r#"
title = "t"
x = { label = "users", scale = "log" }
y = { label = "rate" }
series = [{ name = "s", printed = [[1, 1], [10000, 10000]] }]
line = [{ name = "diagonal", slope = 1 }, { name = "falling", intercept = 10000, slope = -1 }]
"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.toml");
    fs::write(&path, sheet).unwrap();
    let (chart, _) = drawn::drawn(&Sheet::read(&path).unwrap(), "l", &path, folder.path()).unwrap();
    let points = |i: usize| match &chart.series[i].shape {
        offered_report::chart::Shape::Line(points) => points.clone(),
        other => panic!("{other:?}"),
    };
    assert!(points(1).iter().all(|[x, y]| (x - y).abs() < 1e-6) && points(1).len() > 200);
    assert!(points(1).iter().filter(|point| point[0] < 100.0).count() > 100, "the small ones are seen too");
    assert!(points(2).iter().all(|[x, y]| (x + y - 10000.0).abs() < 1e-6));
}

#[test]
fn two_descriptions_of_one_name_would_overwrite_each_other() {
    let (folder, _) = figures(SHEET, TABLE).unwrap();
    let path = folder.path().join("load.toml");
    let said = draw(&[path.clone(), path], folder.path()).unwrap_err().to_string();
    assert!(said.contains("another description is named load too"), "{said}");
}

#[test]
fn the_descriptions_of_our_studies_are_read() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut read = 0;
    for study in fs::read_dir(studies).unwrap().map(|study| study.unwrap().path()).filter(|study| study.is_dir()) {
        for file in fs::read_dir(study).unwrap().map(|file| file.unwrap().path()) {
            let is_toml = file.extension().is_some_and(|extension| extension == "toml");
            if is_toml && fs::read_to_string(&file).unwrap().starts_with("title = ") {
                Sheet::read(&file).unwrap();
                read += 1;
            }
        }
    }
    assert!(read >= 4, "{read}");
}
