//! Imported pgbench scripts and commands beside real pgbench on one server: the statements, parameters and kinds of messages in the log of the
//! server are equal.
//!
//! The constructs are the rows of `tests/import/pgbench.csv` that are imported, each with few transactions.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::{Tested, needs};
use crate::postgresql::Cluster;
use crate::process::ended;

tests![imported_scripts_send_what_pgbench_sends];

const TABLE: &str = include_str!("../import/pgbench.csv");

/// Scripts that the commands of the table name.
const SCRIPTS: [(&str, &str); 4] = [
    ("a.sql", "select 1;"),
    ("two.sql", "select 1;\nselect 2;"),
    ("x.sql", "select :x;"),
    ("scale.sql", "select :scale;"),
];

/// A row of the table.
struct Row {
    construct: String,
    sample: String,
    /// The options of pgbench, and the database.
    command: String,
    /// Whether its values are random.
    is_random: bool,
    /// Whether its transactions are random.
    is_branching: bool,
    /// Whether the database computes what pgbench computes, which a note says.
    is_computed: bool,
}

/// The rows that are imported, with few transactions.
fn rows() -> Vec<Row> {
    let mut table = csv::Reader::from_reader(TABLE.as_bytes());
    let row = |record: csv::StringRecord| {
        let (kind, construct, sample, how) = (&record[0], &record[1], &record[2], &record[5]);
        let is_branching = sample.contains("\\if :r") || sample.contains('@');
        // Enough for each branch: the rarest has 5 %, and pgbench takes another seed in each run (0.95^60 is 5 %).
        let transactions = if is_branching { 400 } else { 3 };
        let command = match kind {
            "script" => format!("-M prepared -t {transactions} -f it.sql"),
            "simple" => format!("-t {transactions} -f it.sql"),
            _ => {
                let mode = if sample.contains("-M") { "" } else { "-M prepared " };
                let shorter = ["-T 60", "-T 9"].iter().fold(sample.replace("-t 20", "-t 3"), |words, seconds| {
                    words.replace(seconds, &format!("-t {transactions}"))
                });
                // The server is the test's own.
                format!("{mode}{}", shorter.replace("-p 6000 ", "").replace(" bank", ""))
            }
        };
        let random = ["random(", "-b", "-S", "-N"];
        let is_random = random.iter().any(|word| sample.contains(word)) || construct == "no script";
        let (construct, sample) = (construct.to_owned(), sample.to_owned());
        let is_computed = record[6].contains("computed by the database");
        (how != "refused").then_some(Row { construct, sample, command, is_random, is_branching, is_computed })
    };
    table.records().filter_map(|record| row(record.unwrap())).collect()
}

/// What the server logged of a connection.
#[derive(Default)]
struct Session {
    /// Messages with the kind `statement` or `execute`, the text, and the parameters.
    executed: Vec<(String, String, String)>,
    /// Texts of parsed statements.
    parsed: Vec<String>,
}

/// The sessions of each application.
fn sessions(log: &str) -> BTreeMap<String, Vec<Session>> {
    // Lines of a message after the first begin with a tab.
    let log = log.replace("\n\t", "\u{1}");
    let mut all: BTreeMap<(&str, &str), Session> = BTreeMap::new();
    // Parameters follow the binding of a statement too.
    let mut is_executed = false;
    for line in log.lines().filter_map(|line| line.strip_prefix("said by ")) {
        let mut words = line.splitn(3, ' ');
        let (Some(application), Some(id), Some(message)) = (words.next(), words.next(), words.next()) else { continue };
        let session = all.entry((application, id)).or_default();
        if let Some(parameters) = message.strip_prefix("DETAIL:  parameters: ") {
            if let Some(last) = session.executed.last_mut().filter(|_| is_executed) {
                parameters.clone_into(&mut last.2);
            }
            continue;
        }
        is_executed = message.starts_with("LOG:  execute ");
        let Some(said) = message.strip_prefix("LOG:  ") else { continue };
        let (said, is_timed) = match said.strip_prefix("duration: ").and_then(|said| said.split_once(" ms  ")) {
            Some((_, said)) => (said, true),
            None => (said, false),
        };
        let Some((how, text)) = said.split_once(": ") else { continue };
        let text = canonical(text);
        match how.split(' ').next() {
            Some("parse") if is_timed => session.parsed.push(text),
            Some(kind @ ("statement" | "execute")) => session.executed.push((kind.to_owned(), text, String::new())),
            _ => {}
        }
    }
    let mut by_application: BTreeMap<String, Vec<Session>> = BTreeMap::new();
    for ((application, _), mut session) in all {
        session.executed.retain(|(_, text, _)| !is_set_up(text));
        if !session.executed.is_empty() {
            by_application.entry(application.to_owned()).or_default().push(session);
        }
    }
    by_application
}

/// Without differences in spelling: the semicolon, and the words of BEGIN and COMMIT.
fn canonical(text: &str) -> String {
    let text = text.replace('\u{1}', "\n");
    let text = text.trim().trim_end_matches(';');
    match &*text.to_lowercase() {
        "begin" | "start transaction" => "BEGIN".to_owned(),
        "end" | "commit" | "commit work" => "COMMIT".to_owned(),
        _ => text.to_owned(),
    }
}

/// Questions that pgbench asks before the first transaction.
fn is_set_up(text: &str) -> bool {
    let text = text.to_lowercase();
    text.starts_with("select count(*) from pgbench_branches")
        || text.starts_with("select o.n, p.partstrat")
        || text.starts_with("vacuum")
}

/// With `#` for each number.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        shown += if digits.is_empty() { "" } else { "#" };
        shown += &part[digits.len()..];
    }
    shown.replace("-#", "#")
}

/// Why the sessions differ; `None`: they do not.
fn difference(row: &Row, pgbench: &[Session], ours: &[Session]) -> Option<String> {
    let is_prepared = row.command.contains("-M prepared");
    let shown = |(kind, text, parameters): &(String, String, String)| {
        // Other modes are imported as prepared statements, which a note says.
        if is_prepared { format!("{kind} {text} {parameters}") } else { substituted(text, parameters) }
    };
    let all = |sessions: &[Session]| -> Vec<String> {
        let mut all: Vec<String> = sessions.iter().flat_map(|session| &session.executed).map(shown).collect();
        if row.is_random {
            all = all.iter().map(|text| without_numbers(text)).collect();
        }
        if row.is_branching || row.command.contains("-c ") {
            // Connections are shared by all clients.
            all.sort();
        }
        if row.is_branching {
            all.dedup();
        }
        all
    };
    let parsed =
        |sessions: &[Session]| sessions.iter().flat_map(|session| session.parsed.clone()).collect::<BTreeSet<_>>();
    let (theirs, own) = (all(pgbench), all(ours));
    if row.is_computed {
        return (theirs.len() != own.len()).then(|| format!("pgbench {theirs:?}\noffered {own:?}"));
    }
    if theirs != own {
        return Some(format!("pgbench {theirs:#?}\noffered {own:#?}"));
    }
    let (theirs, own) = (parsed(pgbench), parsed(ours));
    (is_prepared && theirs != own).then(|| format!("parsed by pgbench {theirs:?}, by offered {own:?}"))
}

/// The text with the parameters in their places, as `-M simple` sends it.
fn substituted(text: &str, parameters: &str) -> String {
    let mut text = text.to_owned();
    for parameter in parameters.rsplit(", ") {
        if let Some((name, value)) = parameter.split_once(" = ") {
            text = text.replace(name, value.trim_matches('\''));
        }
    }
    ["::int", "::bigint", "::numeric"].iter().fold(text, |text, cast| text.replace(cast, ""))
}

fn imported_scripts_send_what_pgbench_sends() -> Tested {
    let mut cluster = Cluster::start()?;
    needs("postgresql", cluster.command("pgbench").arg("--version").output().is_ok_and(|out| out.status.success()))?;
    let folder = cluster.folder.path().to_str().unwrap().to_owned();
    let place = format!("-n -h {folder} -p {} -U me", cluster.port);
    let pgbench = |application: &str, words: &str| {
        let mut command = cluster.command("pgbench");
        command.env("PGAPPNAME", application).args(place.split_whitespace().chain(words.split_whitespace()));
        command.arg("postgres").output().unwrap()
    };
    let made = pgbench("setup", "-i -q -s 1");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for setting in ["log_line_prefix = 'said by %a %c '", "log_statement = 'all'", "log_min_duration_statement = 0"] {
        cluster.ask(&format!("alter system set {setting}"));
    }
    cluster.ask("select pg_reload_conf()");
    for (name, text) in SCRIPTS {
        std::fs::write(cluster.path(name), text).unwrap();
    }
    let (rows, mut wrong, mut failed) = (rows(), Vec::new(), BTreeSet::new());
    for (number, row) in rows.iter().enumerate() {
        std::fs::write(cluster.path("it.sql"), &row.sample).unwrap();
        let said = pgbench(&format!("pgbench-{number}"), &row.command);
        let message = String::from_utf8_lossy(&said.stderr);
        if message.contains("unrecognized option") {
            // A later version of pgbench has it.
            failed.insert(number);
            continue;
        }
        let command = format!("PGAPPNAME=offered-{number} pgbench {place} {} postgres\n", row.command);
        let (from, to) = (cluster.path("load.sh"), cluster.path("load.toml"));
        std::fs::write(&from, command).unwrap();
        let _ = std::fs::remove_file(&to);
        let import = ended(&["import", from.to_str().unwrap(), "-o", to.to_str().unwrap()]);
        assert_eq!(import.code, Some(0), "{}: {import:?}", row.construct);
        let run = ended(&["run", to.to_str().unwrap(), "--quiet"]);
        // A busy machine may make it invalid, which does not matter here.
        let is_run = matches!(run.code, Some(0 | 3));
        if !said.status.success() {
            failed.insert(number);
        }
        if said.status.success() != is_run {
            wrong.push(format!("{} ({}): pgbench {message}\noffered {run:?}", row.construct, row.command));
        }
    }
    let sessions = sessions(&cluster.end());
    let of = |application: String| sessions.get(&application).map_or(&[][..], Vec::as_slice);
    for (number, row) in rows.iter().enumerate() {
        if failed.contains(&number) {
            continue;
        }
        let (theirs, ours) = (of(format!("pgbench-{number}")), of(format!("offered-{number}")));
        assert!(!theirs.is_empty(), "{}: the log has nothing of pgbench", row.construct);
        if let Some(difference) = difference(row, theirs, ours) {
            wrong.push(format!("{} ({}, {}):\n{difference}", row.construct, row.sample, row.command));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    Ok(())
}
