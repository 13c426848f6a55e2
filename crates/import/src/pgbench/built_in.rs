//! The built-in scripts of pgbench, as shown by `pgbench --show-script`.

const SCRIPTS: [(&str, &str); 3] = [
    (
        "tpcb-like",
        r"\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
",
    ),
    (
        "simple-update",
        r"\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
",
    ),
    (
        "select-only",
        r"\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
",
    ),
];

/// The full name and the text of the built-in script whose name starts with `name`.
pub(super) fn script(name: &str) -> Result<(&'static str, &'static str), String> {
    let mut found = SCRIPTS.iter().filter(|(known, _)| known.starts_with(name));
    match (found.next(), found.next()) {
        (Some(script), None) => Ok(*script),
        (Some(_), Some(_)) => Err(format!("`{name}` is ambiguous: several built-in scripts of pgbench start with it")),
        (None, _) => {
            Err(format!("pgbench has no built-in script `{name}`; expected tpcb-like, simple-update or select-only"))
        }
    }
}
