//! `offered init`: one request to the target, a workload with comments, and a run of it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use crate::process::{Ended, Process, Serve, ended, offered};

tests![
    the_workload_of_init_is_run_with_the_next_command,
    redirects_of_the_same_server_are_followed_and_those_to_another_named,
    a_failed_request_is_shown_and_nothing_is_written
];

/// `offered init` with these arguments, in `folder`.
fn init(folder: &Path, args: &[&str]) -> Ended {
    let mut command = offered(&[&["init"], args].concat());
    command.current_dir(folder);
    Process::start(command).end()
}

fn the_workload_of_init_is_run_with_the_next_command() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let first = init(folder.path(), &[&server.url]);
    assert_eq!(first.code, Some(0), "{first:?}");
    for line in ["> GET / HTTP/1.1", "ok, status 200", "next: offered run workload.toml"] {
        assert!(first.stdout.contains(line), "{line}: {first:?}");
    }
    let file = folder.path().join("workload.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("#:schema ./workload.schema.json\n") && text.contains("# the first response took "),
        "{text}"
    );
    let schema = fs::read_to_string(folder.path().join("workload.schema.json")).unwrap();
    assert_eq!(schema, ended(&["schema", "workload"]).stdout);
    // Not 3: at this rate a busy machine costs no validity.
    let run =
        ended(&["run", file.to_str().unwrap(), "-d", "3s", "--skip-first", "0s", "--wait-mode", "sleep", "--quiet"]);
    assert!(run.stdout.contains("errors.rate < 1%"), "{run:?}");
    let again = init(folder.path(), &[&server.url]);
    assert!(again.code == Some(2) && again.stderr.contains("add --force"), "{again:?}");
    assert_eq!(init(folder.path(), &[&server.url, "--force"]).code, Some(0));
    server.stop();
}

/// A server that answers a connection with the next of these responses, one request each.
fn answering(responses: Vec<String>) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/old", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        for response in responses {
            // A preflight check may open a connection and send nothing.
            loop {
                let (mut connection, _) = listener.accept().unwrap();
                let mut request = [0; 4096];
                if connection.read(&mut request).is_ok_and(|bytes| bytes > 0) {
                    connection.write_all(response.as_bytes()).unwrap();
                    break;
                }
            }
        }
    });
    (url, thread)
}

fn response(status: &str, more: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n{more}\r\n")
}

fn redirects_of_the_same_server_are_followed_and_those_to_another_named() {
    let folder = tempfile::tempdir().unwrap();
    let (url, server) = answering(vec![response("302 Found", "Location: /new\r\n"), response("200 OK", "")]);
    let first = init(folder.path(), &[&url]);
    server.join().unwrap();
    assert!(first.code == Some(0) && first.stdout.contains("> GET /new HTTP/1.1"), "{first:?}");
    let text = fs::read_to_string(folder.path().join("workload.toml")).unwrap();
    assert!(text.contains("\nredirects = 1 ") && text.contains("\nget = \"/old\"\n"), "{text}");

    let (url, server) = answering(vec![response("301 Moved Permanently", "Location: https://shop.example/\r\n")]);
    let other = init(folder.path(), &[&url, "--force"]);
    server.join().unwrap();
    assert!(other.code == Some(1) && other.stderr.contains("use: offered init https://shop.example/"), "{other:?}");
}

fn a_failed_request_is_shown_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let failed = init(folder.path(), &[&format!("{}/status/404", server.url), "-o", "w.toml"]);
    assert!(failed.code == Some(1) && failed.stdout.contains("check_failed, status 404"), "{failed:?}");
    assert!(failed.stderr.contains("responds with status 404, not 2xx; nothing was written"), "{failed:?}");
    server.stop();
    let refused = init(folder.path(), &["http://127.0.0.1:9/", "-o", "w.toml"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("127.0.0.1:9"), "{refused:?}");
    assert!(!folder.path().join("w.toml").exists() && !folder.path().join("workload.schema.json").exists());
}
