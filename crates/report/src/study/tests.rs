//! A small study, and what is wrong with descriptions.

use tempfile::TempDir;

use super::*;
use crate::html::html;
use crate::svg::svg;

const TABLE: &str = "load,policy,mean_s,low_s,high_s\n0.9,fcfs,0.9,0.5,1.5\n0.5,fcfs,0.02,0.01,0.03\n0.5,ps,0.01,,\n";
const SHEET: &str = r#"
title = "A study"
[[figure]]
id = "load"
title = "Response & load"
claim = "FCFS is <slow>."
found = "It is."
x = { label = "load" }
y = { label = "response", unit = "ms", scale = "log", times = 1000 }
[[figure.series]]
name = "FCFS"
file = "table.csv"
where = { policy = "fcfs" }
x = "load"
y = "mean_s"
low = "low_s"
high = "high_s"
printed = [[0.9, 450.0], [0.95, 800.0]]
[[figure.line]]
name = "limit"
points = [[0, 500], [1, 500]]
[[figure.check]]
claim = "FCFS is ten times slower at 0.9"
file = "table.csv"
column = "mean_s"
low = "low_s"
high = "high_s"
over = { policy = "fcfs", load = 0.9 }
under = { policy = "fcfs", load = 0.5 }
expected = [10, inf]
[[figure]]
id = "other"
title = "Another"
not_made = "it needs a database"
[[figure.series]]
name = "{policy}"
by = ["policy"]
file = "absent.csv"
x = "load"
y = "mean_s"
[[figure]]
id = "rows"
title = "Table"
table = { files = ["table.json"], columns = [{ head = "N", of = "users" }, { head = "X", of = "rates.x" }], printed = [["5", "1.23"], ["6", "2.00"]] }
"#;
const JSON: &str = r#"{ "schema": "offered.plan.table/1", "rows": [{ "users": 5, "rates": { "x": 1.2345 } }, { "users": 6, "rates": { "x": 1.9 } }] }"#;

/// The description and the table in a folder, drawn.
fn figures(description: &str, table: &str) -> Result<(TempDir, Document), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.toml");
    fs::write(&path, description).unwrap();
    assert!(is_page(&path));
    fs::write(folder.path().join("table.csv"), table).unwrap();
    fs::write(folder.path().join("table.json"), JSON).unwrap();
    let document = document(&[path], folder.path(), None)?;
    Ok((folder, document))
}

#[test]
fn a_figure_is_a_picture_with_the_claim_and_whether_it_holds() {
    let (_, document) = figures(SHEET, TABLE).unwrap();
    let page = html(&document).unwrap();
    for words in [
        "<h2>Response &#38; load</h2>",
        "<p>The paper: FCFS is &#60;slow&#62;.</p>",
        "<p>Here: It is.</p>",
        "x is load, y is response (ms)",
        "<data value=\"900\">900</data>",
        "500 to 1500",
        "<data value=\"2\">2</data>",
        "1 of 1 hold",
        "<p>Not made: it needs a database</p>",
        "1 of 2 printed values agree in every digit",
        "1.90 (printed 2.00)",
    ] {
        assert!(page.contains(words), "{words} is missing");
    }
    let (name, chart) = document.charts().next().unwrap();
    let svg = svg(chart).unwrap();
    assert_eq!(name, "load-figure");
    for words in ["response (ms)", "FCFS, published", "limit"] {
        assert!(svg.contains(words), "{words} is missing");
    }
    assert_eq!(svg.matches("<circle").count(), 2 + 2 + 1, "two points, two rings, and one in the legend");
}

#[test]
fn a_column_can_make_series() {
    let sheet = SHEET.replace("absent.csv", "table.csv");
    let (_, document) = figures(&sheet, TABLE).unwrap();
    let (_, chart) = document.charts().nth(1).unwrap();
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["fcfs", "ps"]);
}

#[test]
fn a_column_can_make_columns() {
    let sheet = r#"
title = "t"
[[figure]]
id = "matrix"
title = "t"
table = { files = ["table.csv"], across = "policy", columns = [{ head = "load", of = "load" }, { head = "mean", of = "mean_s", decimals = 2 }] }
"#;
    let (_, document) = figures(sheet, TABLE).unwrap();
    let tables: Vec<String> = document.tables().map(|(_, table)| crate::csv::table(table)).collect();
    assert_eq!(tables[1], "load,mean fcfs,mean ps\n0.9,0.90,\n0.5,0.02,0.01\n");
}

#[test]
fn errors_name_the_mistake() {
    // Text in the description, its replacement, and the error.
    let cases = [
        ("printed", "printid", "page.toml:18: unknown field `printid`"),
        ("title = \"Response", "titel = \"Response", "unknown field `titel`"),
        ("title = \"Response & load\"\n", "", "missing field `title`"),
        ("load = 0.5 }", "load = 0.7 }", "check: no row with load = 0.7 among 0.5, 0.9"),
        ("id = \"other\"", "id = \"load\"", "two figures have the id \"load\""),
        ("not_made = \"it needs a database\"\n", "", "absent.csv: no such data file"),
        ("[\"5\", \"1.23\"]", "[\"7\", \"1.23\"]", "figure \"rows\": a printed row has none of the data"),
        ("\"log\"", "\"lag\"", "unknown variant `lag`, expected one of `linear`, `log`, `names`"),
        ("\"mean_s\"", "\"mean\"", "table.csv: no column \"mean\" among load, policy, mean_s, low_s, high_s"),
        ("\"fcfs\"", "\"lifo\"", "table.csv: series \"FCFS\": no row with policy = lifo among fcfs, ps"),
        ("\"load\"\ny", "\"policy\"\ny", "table.csv: row 1, column policy: \"fcfs\" is not a number"),
        ("x = \"load\"\n", "", "series \"FCFS\": `file` needs the column names `x` and `y`"),
        ("low = \"low_s\"\n", "", "series \"FCFS\": `low` and `high` must be given together"),
        (
            "high = \"high_s\"\nover",
            "over",
            "check \"FCFS is ten times slower at 0.9\": `low` and `high` must be given together",
        ),
        ("table.csv", "none.csv", "none.csv: no such data file"),
        ("file = \"table.csv\"\n", "", "series \"FCFS\": columns need a `file`"),
        ("[1, 500]", "", "line \"limit\": needs two or more `points`, or a `slope`"),
    ];
    for (from, to, message) in cases {
        assert!(SHEET.contains(from), "{from}");
        let error = figures(&SHEET.replacen(from, to, 1), TABLE).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let error = figures(SHEET, "").unwrap_err().to_string();
    assert!(error.contains("table.csv: no column \"policy\": the file has no columns"), "{error}");
    let error = figures(&SHEET.replace("times = 1000", "times = 0").replace("450.0", "0").replace("800.0", "0"), TABLE);
    assert!(error.unwrap_err().to_string().contains("a logarithmic axis needs positive numbers"));
}

#[test]
fn a_line_is_correct_on_linear_and_logarithmic_axes() {
    let description = r#"
title = "t"
[[figure]]
id = "l"
title = "t"
x = { label = "users", scale = "log" }
y = { label = "rate" }
series = [{ name = "s", printed = [[1, 1], [10000, 10000]] }]
line = [{ name = "diagonal", slope = 1 }, { name = "falling", intercept = 10000, slope = -1 }]
"#;
    let (_, document) = figures(description, TABLE).unwrap();
    let (_, chart) = document.charts().next().unwrap();
    let points = |i: usize| match &chart.series[i].shape {
        crate::chart::Shape::Line(points) => points.clone(),
        other => panic!("{other:?}"),
    };
    assert!(points(1).iter().all(|[x, y]| (x - y).abs() < 1e-6) && points(1).len() > 200);
    assert!(points(1).iter().filter(|point| point[0] < 100.0).count() > 100, "small values are shown");
    assert!(points(2).iter().all(|[x, y]| (x + y - 10000.0).abs() < 1e-6));
}

#[test]
fn the_descriptions_of_the_studies_are_valid() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut read = 0;
    for study in fs::read_dir(studies).unwrap().map(|study| study.unwrap().path()).filter(|study| study.is_dir()) {
        for file in fs::read_dir(study).unwrap().map(|file| file.unwrap().path()).filter(|file| is_page(file)) {
            Page::read(&file).unwrap();
            read += 1;
        }
    }
    assert!(read >= 5, "{read}");
}
