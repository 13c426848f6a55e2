//! An untrusted workload: its commands and files on this machine are listed; commands and files outside its directory need permission.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs `offered` in `folder` without a terminal. Returns its exit code and stderr.
fn offered(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
    let output = command.args(args).current_dir(folder).env("API_KEY", "k").stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A workload beside the directory `outside`; port 9 has no listener, so a run that may start exits with 1.
fn folder(rest: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let workload = format!(
        "seed = 1\nduration = \"74s\"\nskip_first = \"10s\"\narrivals.open.rate = \"20/s\"\nserver.service.constant = \"1ms\"\n\
         target.url = \"https://127.0.0.1:9/\"\n{rest}"
    );
    fs::create_dir(folder.path().join("w")).unwrap();
    fs::write(folder.path().join("w/w.toml"), workload).unwrap();
    fs::write(folder.path().join("secret"), "1ms\n2ms\n").unwrap();
    folder
}

/// Commands that send requests.
const SENDING: [&[&str]; 4] = [
    &["run", "w/w.toml"],
    &["run", "w/w.toml", "--once"],
    &["sweep", "w/w.toml", "--vary", "rate=1,2", "-o", "sweep"],
    &["capacity", "w/w.toml", "--vary", "rate", "--slo", "p99 < 1s"],
];

/// Commands that read the workload, but send nothing.
const READING: [&[&str]; 4] = [
    &["run", "w/w.toml", "--dry-run"],
    &["simulate", "w/w.toml"],
    &["sweep", "w/w.toml", "--vary", "rate=1,2", "-o", "sweep", "--simulate"],
    &["serve", "w/w.toml", "--listen", "unix:no/such/directory"],
];

#[test]
fn commands_of_a_workload_are_listed_and_need_permission_to_run() {
    let rest = "[policies]\nnames = [\"a\", \"b\"]\nblock = \"8s\"\nhook = [\"touch\", \"started\"]\n\
                [variables]\nkey = { env = \"API_KEY\" }\n[[request]]\nget = \"/?k={{key}}\"\n";
    for args in SENDING {
        let folder = folder(rest);
        let (code, stderr) = offered(folder.path(), args);
        let expected = "note: w/w.toml runs commands: touch started\nnote: w/w.toml reads environment variables: API_KEY\n\
                        error: w/w.toml runs commands: touch started; if you trust it, add --allow-commands\n";
        assert_eq!((code, stderr.as_str()), (Some(2), expected), "{args:?}");
        let (_, stderr) = offered(folder.path(), &[args, &["--allow-commands"]].concat());
        assert!(!stderr.contains("--allow-commands"), "{args:?}: {stderr}");
        assert!(stderr.contains("127.0.0.1:9"), "the run reaches its target: {args:?}: {stderr}");
    }
    let folder = folder(rest);
    for args in &READING[..2] {
        let (code, stderr) = offered(folder.path(), args);
        assert_eq!(code, Some(0), "{args:?}: {stderr}");
        assert!(stderr.contains("runs commands: touch started"), "{args:?}: {stderr}");
        assert!(!folder.path().join("started").exists(), "{args:?}");
    }
}

#[test]
fn files_outside_the_directory_of_a_workload_need_permission() {
    for (rest, file) in [
        ("[[request]]\npost = \"/\"\nbody_file = \"../secret\"\n", "w/../secret"),
        ("[[request]]\nget = \"/\"\nservice = { empirical = \"../secret\" }\n", "../secret"),
        ("[target.tls]\nroots = \"../secret\"\n[[request]]\nget = \"/\"\n", "w/../secret"),
    ] {
        let folder = folder(rest);
        for args in SENDING.iter().chain(&READING) {
            let (code, stderr) = offered(folder.path(), args);
            assert_eq!(code, Some(2), "{args:?}: {stderr}");
            assert!(stderr.contains("--allow-files") && stderr.contains(file), "{args:?}: {stderr}");
            let (_, stderr) = offered(folder.path(), &[args, &["--allow-files"][..]].concat());
            assert!(!stderr.contains("add --allow-files"), "{args:?}: {stderr}");
        }
    }
}

#[test]
fn the_workers_of_a_cluster_get_the_permission_that_the_user_gave() {
    let folder = folder(
        "[policies]\nnames = [\"a\", \"b\"]\nblock = \"8s\"\nhook = [\"touch\", \"started\"]\n[[request]]\nget = \"/\"\n",
    );
    let args = ["kubernetes", "w/w.toml", "--workers", "2", "--pvc", "runs"];
    let (code, stderr) = offered(folder.path(), &args);
    assert!(code == Some(2) && stderr.contains("add --allow-commands"), "{stderr}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
    let printed = command.args(args).arg("--allow-commands").current_dir(folder.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&printed.stdout).contains("--allow-commands"), "{printed:?}");
}
