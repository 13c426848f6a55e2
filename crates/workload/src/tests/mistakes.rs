//! Mistakes in a workload file: line, key and a hint in the message.

use super::parse;

/// A workload file, the line of its mistake, and parts of the message.
const MISTAKES: &[(&str, u32, &[&str])] = &[
    (
        "duratoin = \"10s\"",
        1,
        &["unknown key `duratoin`", "did you mean `duration`", "known keys: seed, duration, requests"],
    ),
    ("\nduration = \"10s\"\n[arrivals]\nopne = 1", 4, &["unknown key `opne` in arrivals", "did you mean `open`"]),
    ("duration = \"10s\"\narrivals.open.rat = \"1/s\"", 2, &["unknown key `rat`", "did you mean `rate`"]),
    ("duration = \"10 parsecs\"\n", 1, &["not a duration", "500ms"]),
    ("duration = 10", 1, &["duration: expected a text with its unit", "found integer"]),
    ("duration = \"10s\"", 1, &["`arrivals` is missing"]),
    ("duration = \"0s\"\n", 1, &["longer than 0s"]),
    ("duration = \"10s\"\nskip_first = \"10s\"\narrivals.closed.users = 1", 2, &["leave nothing of the duration"]),
    ("duration = \"10s\"\narrivals.open.rate = \"0/s\"", 2, &["zero", "above zero"]),
    ("duration = \"10s\"\narrivals.open.rate = \"NaN/s\"", 2, &["not a rate"]),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[generator]\ntolerance = \"0.05\"",
        4,
        &["`0.05` is not a percentage", "tolerance = \"5%\""],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[generator]\ntolerance = \"-1%\"",
        4,
        &["-1 % is not a valid tolerance", "0% or more"],
    ),
    ("duration = \"10s\"\narrivals.open.rate = 100", 2, &["such as \"10s\" or \"100/s\""]),
    (
        "duration = \"10s\"\n[arrivals]\nopen = { rate = \"1/s\" }\nclosed = { users = 5 }",
        4,
        &["`closed` cannot be combined with `open`", "exactly one of open, closed, partly_open, replay"],
    ),
    ("duration = \"10s\"\n[arrivals]", 2, &["one of open, closed, partly_open, replay is needed"]),
    ("duration = \"10s\"\narrivals.partly_open = { rate = \"1/s\", stay = 1 }", 2, &["below 1, not 1", "use closed"]),
    ("duration = \"10s\"\narrivals.partly_open = { rate = \"1/s\" }", 2, &["one of stay, length is needed"]),
    ("duration = \"10s\"\narrivals.closed = { users = 0 }", 2, &["at least 1"]),
    ("duration = \"10s\"\narrivals.closed = { users = -3 }", 2, &["not a whole number"]),
    ("duration = \"10s\"\narrivals.closed = { users = 3, think = \"5s\" }", 2, &["{ exponential = \"5s\" }"]),
    (
        "duration = \"10s\"\narrivals.closed = { users = 3, think = { exponental = \"5s\" } }",
        2,
        &["did you mean `exponential`"],
    ),
    ("duration = \"10s\"\narrivals.closed = { users = 3, start = \"now\" }", 2, &["`now` is not one of mid-thought"]),
    ("duration = \"10s\"\narrivals.open = { rate = \"1/s\", process = \"poison\" }", 2, &["did you mean `poisson`"]),
    (
        "duration = \"10s\"\narrivals.open.rate.counts = \"none.txt\"\narrivals.open.rate.interval = \"1s\"",
        2,
        &["cannot read `none.txt`"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = { counts = \"bad.txt\", interval = \"1s\" }",
        2,
        &["bad.txt:2: `two` is not a number"],
    ),
    ("late_after = \"1s\"\nduration = \"10s\"\narrivals.open.rate = \"1/s\"", 1, &["needs late = \"skip\""]),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"wss://x/\"",
        3,
        &["write https:// and a [[request]] with `websocket`"],
    ),
    ("duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"Home\"", 4, &["starts with /"]),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"/\"\npost = \"/\"",
        5,
        &["`post` cannot be combined with `get`"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"/\"\n[[request]]\nget = \"/\"",
        5,
        &["two requests are named"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"/\"\nheaders = { A = \"x\\r\\nB: y\" }",
        5,
        &["control character"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[server]\nservice.constant = \"1s\"\n[[station]]\nname = \"db\"\nservice.constant = \"1s\"",
        5,
        &["[[station]] cannot be combined with [server]"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[station]]\nname = \"db\"\nvisits = 0\nservice.constant = \"1s\"",
        5,
        &["visits must be above zero"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"/\"\nweight = 0",
        3,
        &["weight above zero"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[server]\nservice.constant = \"1s\"\ndiscipline = \"sptr\"",
        5,
        &["server.discipline: unknown discipline `sptr`", "did you mean `srpt`?"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[server]\nservice.constant = \"1s\"\nrates = [1, 0]",
        5,
        &["server.rates: a service rate must be a number above zero, not 0"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[server]\nservice.constant = \"1s\"\nrates = {}",
        5,
        &["server.rates has no coefficient", "contention = 0.05"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[server]\nservice.constant = \"1s\"\nrates = [1]\ndiscipline = \"infinite\"",
        5,
        &["server.rates: infinite serves every request at speed 1", "discipline = \"ps\""],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[server]\nservice.constant = \"1s\"\nrates = [1]\ndiscipline = \"ps\"\nservers = 2",
        5,
        &["`servers` has no effect"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[server]\nservice.constant = \"1s\"\nrates = [1]\ncancel = true",
        6,
        &["server.cancel cannot be combined with rates"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[station]]\nname = \"db\"\nservice.constant = \"1s\"\nwhen_full = \"wait\"",
        6,
        &["station[0].when_full needs capacity"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[region]]\nname = \"p\"\nstations = [\"bd\"]\ncapacity = 2\n[[station]]\nname = \"db\"\nservice.constant = \"1s\"",
        3,
        &["unknown station `bd`", "did you mean `db`?"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[region]]\nname = \"p\"\nstations = [\"a\", \"b\"]\ncapacity = 2\n[[region]]\nname = \"q\"\nstations = [\"b\", \"c\"]\ncapacity = 2\n[[station]]\nname = \"a\"\nservice.constant = \"1s\"\n[[station]]\nname = \"b\"\nservice.constant = \"1s\"\n[[station]]\nname = \"c\"\nservice.constant = \"1s\"",
        7,
        &["`q` and `p` have stations in common"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[region]]\nname = \"p\"\nstations = [\"db\"]\ncapacity = 2\n[[station]]\nname = \"db\"\nservice.constant = \"1s\"\ncapacity = 3",
        3,
        &["`p` and `db` have the same stations; remove one"],
    ),
    ("duration = \"10s\"\ngenerator.threads = 5000\narrivals.open.rate = \"1/s\"", 2, &["threads"]),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\n\"respons.p99\" = \"< 2ms\"",
        4,
        &["thresholds.respons.p99", "did you mean `response.p99`?"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\n\"response.p99\" = \"< 2\"",
        4,
        &["has no unit; write for example", "ms"],
    ),
    ("duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\nresponse.p99 = \"< 2ms\"", 4, &["in quotes"]),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nname = \"home\"\nget = \"/\"\n[thresholds]\n\"p99{hom}\" = \"< 2ms\"",
        7,
        &["did you mean `home`?"],
    ),
    ("duration = \"10s\"\narrivals.closed = { users = 3, every = \"0s\" }", 2, &["must be longer than 0s"]),
    ("duration = \"10s\"\narrivals.closed = { users = 3, every = { turn = \"1s\" } }", 2, &["unknown key `turn`"]),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\nerrors = { bound = \"< 5%\", after = \"1s\" }",
        4,
        &["`after` needs stop = true"],
    ),
    (
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\nerrors = { bound = \"< 5%\", stopp = true }",
        4,
        &["unknown key `stopp`"],
    ),
    ("requests = 0\narrivals.open.rate = \"1/s\"", 1, &["at least 1"]),
    ("requests = 5\nsessions = 5\narrivals.closed.users = 1", 2, &["cannot be combined with `requests`"]),
    (
        "requests = 5\nduration = \"9s\"\nskip_last = \"1s\"\narrivals.closed.users = 1",
        3,
        &["needs a known end of the run"],
    ),
    (
        "requests = 5\narrivals.open = { rate = \"1/s\", process = \"poisson-fixed-count\" }",
        1,
        &["spread over a duration"],
    ),
    (
        "requests = 5\narrivals.open.rate = { counts = [1, 2], interval = \"1s\" }",
        1,
        &["the arrivals end before this number is reached"],
    ),
    (
        "duration = \"1s\"\narrivals.closed.users = 1\n[[requests]]\nget = \"/\"",
        3,
        &["[[request]] tables", "a maximum number"],
    ),
    ("duration = ", 1, &[]),
    ("\n\n[arrivals", 3, &[]),
];

#[test]
fn a_mistake_names_file_line_key_and_the_nearest_spelling() {
    for (text, line, parts) in MISTAKES {
        let mistake = parse(text).expect_err(text);
        let shown = mistake.to_string();
        assert!(shown.starts_with(&format!("w.toml:{line}: ")), "{text:?} gave {shown}");
        assert!(!shown.contains('\n'), "{shown}");
        for part in *parts {
            assert!(shown.contains(part), "{text:?}: `{part}` is not in `{shown}`");
        }
    }
}
