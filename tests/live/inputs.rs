//! Invalid input: one `error:` line that says what to do, the right exit code, no files, no hanging.

use std::process::Command;

use crate::process::{Process, ended, offered};

tests![
    invalid_input_is_one_line_and_leaves_no_files,
    closed_ports_and_unknown_names_stop_the_run,
    runs_are_never_overwritten_and_unwritable_directories_are_reported_first,
    invalid_files_are_reported_with_line_numbers,
    closed_pipes_and_full_disks_cause_no_panic
];

const URL: &str = "http://127.0.0.1:9/";

/// Arguments, and words of the error message.
const WRONG: &[(&[&str], &str)] = &[
    (&["ftp://127.0.0.1/", "--open", "1/s"], "unknown scheme `ftp`"),
    (&["wss://127.0.0.1/", "--open", "1/s"], "write https://"),
    (&["http://", "--open", "1/s"], "no host"),
    (&["http://127.0.0.1:0/", "--open", "1/s"], "not a port"),
    (&["http://127.0.0.1:99999/", "--open", "1/s"], "not a port"),
    (&["http://a b/", "--open", "1/s"], "space"),
    (&["127.0.0.1:8080", "--open", "1/s"], "a URL starts with http://"),
    (&["/no/such/file.toml"], "cannot read /no/such/file.toml"),
    (&["/"], "cannot read /"),
    (&[URL], "--open 100/s"),
    (&[URL, "--open", "0/s"], "above zero"),
    (&[URL, "--open", "NaN/s"], "not a rate"),
    (&[URL, "--open", "inf/s"], "not a rate"),
    (&[URL, "--open=-5/s"], "not a rate"),
    (&[URL, "--open", "-5/s"], "--open -5/s must not be negative"),
    (&[URL, "--open", "5/s", "--protocol", "auto"], "--protocol: "),
    (&[URL, "--open", "5/s", "--insecure"], "--insecure: "),
    (&[URL, "--open", "5/s", "--proxy", "p:1"], "--proxy: "),
    (&[URL, "--open", "5/s", "--follow", "1000"], "--follow: "),
    (&[URL, "--partly-open", "5/s", "--stay", "80"], "write 80%"),
    (&[URL, "--open", "100"], "not a rate"),
    (&[URL, "--open", "10/s", "--closed", "5"], "cannot be used with"),
    (&[URL, "--closed", "0"], "--closed must be at least 1"),
    (&[URL, "--closed", "18446744073709551615"], "up to 100000000"),
    (&[URL, "--closed", "5", "--think", "exponential:-5s"], "not a duration"),
    (&[URL, "--closed", "5", "--think", "exponentail:5s"], "exponential"),
    (&[URL, "--partly-open", "5/s", "--stay", "1"], "below 1"),
    (&[URL, "--partly-open", "5/s", "--stay", "NaN"], "below 1"),
    (&[URL, "--partly-open", "5/s"], "stay"),
    (&[URL, "--open", "5/s", "--stay", "0.5"], "stay"),
    (&[URL, "--open", "5/s", "--arrivals", "gamma:0"], "above zero"),
    (&[URL, "--open", "5/s", "--arrivals", "gamma:x"], "not a CoV"),
    (&[URL, "--open", "5/s", "--arrivals", "possion"], "--arrivals: `possion` is not one of poisson"),
    (&[URL, "--open", "5/s", "--duration", "0s"], "--duration must be longer than 0s"),
    (&[URL, "--open", "5/s", "--duration", "10"], "not a duration"),
    (&[URL, "--open", "5/s", "--skip-first", "10s"], "--skip-first: skip_first 10s and skip_last 0s leave nothing"),
    (&[URL, "--open", "5/s", "--threads", "0"], "--threads must be at least 1"),
    (&[URL, "--open", "5/s", "--threads", "2000"], "1024"),
    (&[URL, "--open", "5/s", "--connections", "0"], "--connections must be at least 1"),
    (&[URL, "--open", "5/s", "--threads", "4", "--connections", "3"], "less than the number of threads (4)"),
    (&[URL, "--open", "5/s", "--timeout", "0s"], "--timeout must be longer than 0s"),
    (&[URL, "--open", "5/s", "--connect-timeout", "0s"], "--connect-timeout must be longer than 0s"),
    (&[URL, "--open", "5/s", "-H", "no colon"], "not a header"),
    (&[URL, "--open", "5/s", "-H", "Content-Length: 3"], "--header: "),
    (&[URL, "--open", "5/s", "-H", "X: a\r\nY: b"], "control character"),
    (&[URL, "--open", "5/s", "--body", "@/no/such/file"], "cannot read /no/such/file"),
    (&[URL, "--open", "5/s", "--body", "{{sesion}}"], "{{sesion}} is undefined (did you mean `session`?)"),
    (&[URL, "--open", "5/s", "--share", "1/2"], "seed"),
    (&[URL, "--open", "5/s", "--seed", "1", "--share", "3/2"], "not a share"),
    (&[URL, "--open", "5/s", "--start-at", "soon"], "`soon` is not a time"),
    (&[URL, "--open", "5/s", "--start-at", "2020-01-01T00:00:00Z"], "is in the past"),
    (&[URL, "--open", "5/s", "--dry-run", "constant:x"], "not a duration"),
    (&[URL, "--opne", "5/s"], "--open"),
    (&["ftp://127.0.0.1/"], "unknown scheme `ftp`"),
    (&[URL, "--open", "5/s", "--follow", "x"], "invalid value 'x' for '--follow <N>': not a whole number; see --help"),
    (&[URL, "--open", "5/s", "--follow", "99999999999"], "99999999999 is not in 0..=4294967295"),
    (&["simulation.log", "--open", "5/s"], "cannot read simulation.log"),
    (&[URL, "--vu", "5"], "--closed 50"),
    (&[], "TARGET"),
];

fn invalid_input_is_one_line_and_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deep/run");
    let mut bad = Vec::new();
    for (args, words) in WRONG {
        let ended = ended(&[&["run", "--output", out.to_str().unwrap()], *args].concat());
        let is_a_line = ended.stderr.starts_with("error: ") && ended.stderr.lines().count() == 1;
        if !is_a_line || !ended.stderr.contains(words) || ended.code != Some(2) || !ended.stdout.is_empty() {
            bad.push(format!("{args:?}, `{words}`: {ended:?}"));
        }
        assert!(!folder.path().join("deep").exists(), "{args:?} left something behind");
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

fn closed_ports_and_unknown_names_stop_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed = format!("http://127.0.0.1:{port}/");
    for (url, words) in [
        (closed.as_str(), "start the server"),
        ("unix:/no/such.sock", "start the server"),
        ("http://nobody.invalid/", "check the name"),
    ] {
        let ended = ended(&["run", url, "--open", "5/s", "--output", out.to_str().unwrap()]);
        assert!(ended.stderr.starts_with("error: ") && ended.stderr.lines().count() == 1, "{ended:?}");
        assert!(ended.stderr.contains(words) && ended.code == Some(1), "{ended:?}");
        assert!(!out.exists());
    }
}

fn runs_are_never_overwritten_and_unwritable_directories_are_reported_first() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "mine").unwrap();
    for (out, words) in [(".", "already exists"), ("file", "already exists"), ("file/run", "cannot create")] {
        let out = folder.path().join(out);
        let args = ["run", URL, "--open", "5/s", "--dry-run", "constant:1ms", "--output", out.to_str().unwrap()];
        let ended = ended(&args);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.starts_with("error: ") && ended.stderr.lines().count() == 1, "{ended:?}");
        assert!(ended.stderr.contains(words), "{ended:?}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("file")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

fn invalid_files_are_reported_with_line_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    let open = "[arrivals]\nopen = { rate = \"1/s\" }\n";
    for (text, words) in [
        (String::new(), "w.toml"),
        ("duration = \"1s\"\n".to_owned(), "arrivals"),
        (format!("duration = \"1s\"\nsede = 1\n{open}"), "w.toml:2: "),
        (format!("duration = \"1s\"\n{open}closed = {{ users = 2 }}\n"), "w.toml:"),
        (format!("duration = \"1s\"\n{open}[target]\nurl = \"gopher://x\"\n"), "w.toml:5: "),
        ("duration = \n".to_owned(), "w.toml:1: "),
        (format!("duration = \"1s\"\n{open}"), "the workload has no target; add [target]"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let ended = ended(&["run", file.to_str().unwrap()]);
        assert_eq!(ended.code, Some(2), "{text}: {ended:?}");
        assert!(ended.stderr.starts_with("error: ") && ended.stderr.lines().count() == 1, "{text}: {ended:?}");
        assert!(ended.stderr.contains(words), "{text}: {ended:?}");
    }
    std::fs::write(&file, [0xff, 0xfe, 0]).unwrap();
    assert!(ended(&["run", file.to_str().unwrap()]).stderr.contains("not a text file"));
}

fn closed_pipes_and_full_disks_cause_no_panic() {
    let program = offered(&[]).get_program().to_owned();
    for (pipe, code) in [("| true", 0), (">/dev/full", 1)] {
        let mut command = Command::new("sh");
        let line = format!("\"$0\" run {URL} --open 50/s --duration 10m --dry-run --json {pipe}");
        command.args(["-c", &line]).arg(&program);
        let ended = Process::start(command).end();
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.is_empty() || ended.stderr.starts_with("error: cannot write to stdout"), "{ended:?}");
    }
}
