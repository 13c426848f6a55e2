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
fn figures(description: &str, table: &str) -> Result<(TempDir, PathBuf), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.toml");
    fs::write(&path, description).unwrap();
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
    for words in ["response (ms)", "FCFS, published", "limit"] {
        assert!(svg.contains(words), "{words} is missing");
    }
    assert_eq!(svg.matches("<circle").count(), 2 + 2 + 1, "two points, two rings, and one in the legend");
}

#[test]
fn errors_name_the_mistake() {
    // Text in the description, its replacement, and the error.
    let cases = [
        ("printed", "printid", "unknown field `printid`"),
        ("title", "titel", "unknown field `titel`"),
        ("title = \"Response & load\"\n", "", "missing field `title`"),
        ("\"log\"", "\"lag\"", "unknown variant `lag`, expected `linear` or `log`"),
        ("\"mean_s\"", "\"mean\"", "table.csv: no column \"mean\" among load, policy, mean_s, low_s, high_s"),
        ("\"fcfs\"", "\"lifo\"", "table.csv: series \"FCFS\": no row with policy = lifo among fcfs, ps"),
        ("\"load\"\ny", "\"policy\"\ny", "table.csv: row 1, column policy: \"fcfs\" is not a number"),
        ("x = \"load\"\n", "", "series \"FCFS\": `file` needs the column names `x` and `y`"),
        ("low = \"low_s\"\n", "", "series \"FCFS\": `low` and `high` must be given together"),
        ("table.csv", "none.csv", "none.csv: No such file"),
        ("file = \"table.csv\"\n", "", "series \"FCFS\": columns need a `file`"),
        ("[1, 500]", "", "line \"limit\": needs two or more `points`, or a `slope`"),
    ];
    for (from, to, message) in cases {
        assert!(SHEET.contains(from), "{from}");
        let error = figures(&SHEET.replacen(from, to, 1), TABLE).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let error = figures(SHEET, "").unwrap_err().to_string();
    assert!(error.contains("no column \"policy\""), "{error}");
    let error = figures(&SHEET.replace("times = 1000", "times = 0").replace("450.0", "0").replace("800.0", "0"), TABLE);
    assert!(error.unwrap_err().to_string().contains("a logarithmic axis needs positive numbers"));
}

#[test]
fn a_line_is_correct_on_linear_and_logarithmic_axes() {
    let description = r#"
title = "t"
x = { label = "users", scale = "log" }
y = { label = "rate" }
series = [{ name = "s", printed = [[1, 1], [10000, 10000]] }]
line = [{ name = "diagonal", slope = 1 }, { name = "falling", intercept = 10000, slope = -1 }]
"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.toml");
    fs::write(&path, description).unwrap();
    let (chart, _) = draw::chart_and_section(&Description::read(&path).unwrap(), "l", &path, folder.path()).unwrap();
    let points = |i: usize| match &chart.series[i].shape {
        offered_report::chart::Shape::Line(points) => points.clone(),
        other => panic!("{other:?}"),
    };
    assert!(points(1).iter().all(|[x, y]| (x - y).abs() < 1e-6) && points(1).len() > 200);
    assert!(points(1).iter().filter(|point| point[0] < 100.0).count() > 100, "small values are shown");
    assert!(points(2).iter().all(|[x, y]| (x + y - 10000.0).abs() < 1e-6));
}

#[test]
fn two_descriptions_with_one_name_are_an_error() {
    let (folder, _) = figures(SHEET, TABLE).unwrap();
    let path = folder.path().join("load.toml");
    let error = draw(&[path.clone(), path], folder.path()).unwrap_err().to_string();
    assert!(error.contains("another description is named load, too"), "{error}");
}

#[test]
fn the_descriptions_of_the_studies_are_valid() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut read = 0;
    for study in fs::read_dir(studies).unwrap().map(|study| study.unwrap().path()).filter(|study| study.is_dir()) {
        for file in fs::read_dir(study).unwrap().map(|file| file.unwrap().path()) {
            let is_toml = file.extension().is_some_and(|extension| extension == "toml");
            if is_toml && fs::read_to_string(&file).unwrap().starts_with("title = ") {
                Description::read(&file).unwrap();
                read += 1;
            }
        }
    }
    assert!(read >= 4, "{read}");
}
