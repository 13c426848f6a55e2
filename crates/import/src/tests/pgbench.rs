//! Checks `tests/import/pgbench.csv`: constructs of scripts and command lines, their meaning in pgbench, and their
//! translation.

use std::collections::BTreeMap;

use super::*;

const TABLE: &str = include_str!("../../../../tests/import/pgbench.csv");

/// Note that every import has.
const ALWAYS: &str = "ends a pgbench client";

/// A row of the table.
#[derive(Debug)]
struct Row {
    /// `script` (`-M prepared`), `simple` (script with `-M simple`) or `command`.
    kind: String,
    sample: String,
    /// `exact`, `noted` or `refused`.
    how: String,
    /// Text that the workload, the note or the error must contain.
    shows: String,
}

fn table() -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(TABLE.as_bytes());
    let row = |record: csv::StringRecord| {
        let cell = |at: usize| record[at].to_owned();
        Row { kind: cell(0), sample: cell(2), how: cell(5), shows: cell(6) }
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

/// The plan of a command with these script files.
fn import_command(command: &str, scripts: &[(&str, &str)]) -> Result<Plan, Error> {
    let included = |name: &str| {
        let script = scripts.iter().find(|(other, _)| *other == name);
        script.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    };
    let given = ImportOptions { read_include: Some(&included), ..ImportOptions::default() };
    super::super::read(command, "load.sh", &given).map(|mut plans| plans.remove(0))
}

#[test]
fn every_row_of_the_table_holds() {
    let mut wrong = Vec::new();
    for row in table() {
        let beside = [
            ("it.sql", row.sample.as_str()),
            ("a.sql", "select 1;"),
            ("two.sql", "select 1;\nselect 2;"),
            ("x.sql", "select :x;"),
            ("scale.sql", "select :scale;"),
            ("client.sql", "select :client_id;"),
        ];
        let command = match row.kind.as_str() {
            "script" => "-M prepared -T 9 -c 2 -f it.sql",
            "simple" => "-T 9 -c 2 -f it.sql",
            "command" if row.sample.contains("-M") => &row.sample,
            "command" => &format!("-M prepared {}", row.sample),
            other => panic!("{row:?}: no kind is called {other}"),
        };
        let (written, notes, refusal) = match import_command(&format!("pgbench -n -h h -U u {command}\n"), &beside) {
            Ok(plan) => {
                (plan.text("load.sh").unwrap_or_else(|why| panic!("{row:?}: {why}")), plan.notes, String::new())
            }
            Err(error) => (String::new(), Vec::new(), error.to_string()),
        };
        let is_usual =
            |note: &Note| note.message.contains(ALWAYS) || row.kind == "simple" && note.element == "-M simple";
        let own: Vec<&Note> = notes.iter().filter(|note| !is_usual(note)).collect();
        let body = written.split_once("seed = ").map_or("", |(_, body)| body);
        let holds = match row.how.as_str() {
            "exact" => own.is_empty() && body.contains(&row.shows),
            "noted" => own.iter().any(|note| note.message.contains(&row.shows) && note.line > 0),
            "refused" => refusal.contains(&row.shows),
            _ => false,
        };
        if !written.is_empty()
            && let Err(mistake) = Workload::parse(&written, "w", &|name| Err(name.to_owned()))
        {
            wrong.push(format!("{row:?} cannot be parsed again: {mistake}"));
        }
        if !holds {
            wrong.push(format!("{row:?}\n  notes {own:?} {refusal}\n  {written}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows do not hold:\n{}", wrong.len(), wrong.join("\n"));
}

/// Scripts and commands are detected by content.
#[test]
fn scripts_and_commands_are_detected_by_content() {
    let values: BTreeMap<String, String> = ["PGHOST", "PGUSER"].map(|name| (name.to_owned(), "me".to_owned())).into();
    let given = ImportOptions { variables: Some(&values), ..ImportOptions::default() };
    for text in [
        "select 1;",
        "-- a script\n\n/* of ours */\nSELECT 1;\n",
        "\\set x 1\nselect :x",
        "\\if true\nselect 1;\n\\endif",
        "begin;\nupdate a set b = 1;\nend;",
        "#!/bin/sh\ncreatedb bank\npgbench -i -s 2 bank\nPGUSER=me /usr/bin/pgbench -T 5 bank | tee out\n",
        "$ time pgbench -T 5 -S",
    ] {
        let plan = super::super::read(text, "x", &given).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert!(plan[0].requests.iter().all(|request| request.sql.is_some()), "{text}");
    }
    for text in ["select a plan", "Selected works; volume two", "begin at the beginning", "\\documentclass{article}"] {
        let error = super::super::read(text, "x", &given).unwrap_err().to_string();
        assert!(error.contains("unknown file format"), "{text}: {error}");
    }
}

/// Errors name their position.
#[test]
fn errors_name_their_position() {
    let refused = |command: &str, scripts: &[(&str, &str)]| import_command(command, scripts).unwrap_err().to_string();
    for (command, why) in [
        ("pgbench -U me", "load.sh: the host of line 1 `pgbench` is unknown: the variable `PGHOST`"),
        ("PGHOST=h pgbench", "the variable `PGUSER` has no value"),
        ("pgbench -h h -U me -p x", "load.sh:1: `x` is not a port number"),
        ("pgbench -T 5 \"host=h user=me\"", "write a URL instead"),
        ("pgbench -h h -U me -c", "ends after client, which needs a value"),
        ("pgbench -h h -U me -c 0", "--client 0: invalid number"),
        ("pgbench -h h -U me -t 1 -T 1", "-t and -T cannot be combined"),
        ("pgbench -h h -U me -b s", "`s` is ambiguous"),
        ("pgbench -h h -U me -b x", "no built-in script `x`"),
        ("pgbench -h h -U me -f gone.sql", "-f gone.sql: no such file"),
        ("pgbench -h h -U me -f -", "no such file next to the command"),
        ("pgbench -h h -U me -f bad.sql", "bad.sql:2: \\set: expected a value at the end"),
        ("pgbench -h h -U me -f empty.sql", "sends no SQL statement"),
        ("pgbench -h h -U me -f a.sql@x", "`x` is not a weight"),
        ("pgbench -h h -U me -c $N", "the shell variable `N` has no value"),
        ("pgbench -h h -U me -t $(nproc)", "contains the output of a command"),
        ("pgbench -h h -U me a b", "two databases are given"),
        ("\npgbench -h h -U me\npgbench -h h -U me -S\n", "load.sh:3: a second pgbench command"),
        ("pgbench -h 'h", "unclosed quote"),
    ] {
        let error = refused(
            command,
            &[("bad.sql", "select 1;\n\\set x 1 +"), ("empty.sql", "-- nothing"), ("a.sql", "select 1")],
        );
        assert!(error.contains(why), "{command}: {error}");
    }
    let url = |command: &str| import_command(command, &[]).unwrap().target.url().to_string();
    assert_eq!(url("PGPORT=7 pgbench -h /run/pg -U me"), "postgres://me@/me?host=/run/pg&port=7");
    assert_eq!(url("pgbench -T 1 postgres://me@h/bank?sslmode=disable"), "postgres://me@h/bank?sslmode=disable");
    assert_eq!(
        url("PGOPTIONS='-c a.b=c' PGSSLMODE=disable pgbench -hh -Ume -d bank"),
        "postgres://me@h/bank?sslmode=disable&options=-c%20a.b%3Dc"
    );
}

/// Conditions on random numbers: probabilities of the paths and conditional ranges are as in pgbench.
#[test]
fn paths_have_the_probabilities_of_pgbench() {
    let script = "\\set r random(1, 10)\n\\set s random(1, 4)\n\\if :r <= 5 and :r <> 3\nselect 'a';\n\\if :s = 1\nselect 'b', :s;\n\\endif\n\\elif :r = 3\n\
                  select 'c', :r;\n\\else\nselect 'd', :r;\n\\endif\n";
    let plan = import_command("pgbench -n -M prepared -h h -U u -T 5 -f a.sql", &[("a.sql", script)]).unwrap();
    let asked = |flow: &Flow| {
        let sql = |step: &Step| {
            let request = plan.requests.iter().find(|request| request.name == step.request).unwrap();
            request.sql.as_ref().unwrap().statements[0].text.clone()
        };
        (flow.steps.iter().map(sql).collect::<Vec<_>>().join(" "), (flow.weight * 1e9).round() / 1e9)
    };
    let ways: Vec<(String, f64)> = plan.flows.iter().map(asked).collect();
    let expected =
        [("select 'a' select 'b', $1", 0.1), ("select 'a'", 0.3), ("select 'c', $1", 0.1), ("select 'd', $1", 0.5)];
    assert_eq!(ways, expected.map(|(text, weight)| (text.to_owned(), weight)));
    let drawn =
        |name: &str| plan.variables.iter().find(|variable| variable.name == name).map(|variable| &variable.value);
    assert_eq!(drawn("r_2").or(drawn("r")), Some(&ValueSource::UniformInteger(6, 10)));
}
