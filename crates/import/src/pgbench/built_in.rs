//! pgbench's own scripts, as `pgbench --show-script` shows them.

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

/// The script whose name begins with `name`, with its whole name.
pub(super) fn script(name: &str) -> Result<(&'static str, &'static str), String> {
    let mut found = SCRIPTS.iter().filter(|(known, _)| known.starts_with(name));
    match (found.next(), found.next()) {
        (Some(script), None) => Ok(*script),
        (Some(_), Some(_)) => Err(format!("`{name}` begins the names of several of pgbench's own scripts")),
        (None, _) => {
            Err(format!("pgbench has no script `{name}` of its own; it has tpcb-like, simple-update and select-only"))
        }
    }
}
