//! Printed exchanges: a session run once, failures of a real run, and requests of a dry run.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use offered_store::read_failures;

use crate::process::{Ended, Serve, ended};
use crate::run::seen;

tests![
    once_prints_every_exchange_of_a_session,
    once_needs_no_load_for_a_url,
    failures_are_recorded_and_printed_with_a_limit_per_kind,
    extracted_credentials_are_hidden_in_every_exchange,
    redirects_are_followed_up_to_the_limit
];

/// A login with a response that later requests use, and a page with unexpected content.
fn visit(folder: &Path, server: &Serve) -> String {
    std::fs::write(folder.join("users.csv"), "name,password\nann,secret-1\nbob,secret-2\n").unwrap();
    let text = format!(
        "duration = \"1s\"\narrivals.partly_open = {{ rate = \"30/s\", think.constant = \"1h\" }}\ntarget.url = \"{}\"\n\
         [variables]\nuser = {{ file = \"users.csv\" }}\n\
         [[request]]\nname = \"login\"\npost = \"/echo\"\nform = {{ name = \"{{{{user.name}}}}\", password = \"{{{{user.password}}}}\" }}\n\
         extract = [{{ name = \"who\", regex = 'name=(\\w+)' }}]\n\
         [[request]]\nname = \"page\"\nget = \"/echo?of={{{{who}}}}\"\nauth = {{ bearer = \"{{{{user.password}}}}\" }}\n\
         check = [{{ name = \"greeting\", body = true, contains = \"Hello {{{{who}}}}\" }}]\n\
         [[flow]]\nname = \"visit\"\nstep = [{{ request = \"login\" }}, {{ request = \"page\" }}]\n",
        server.url
    );
    let file = folder.join("visit.toml");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn has(ended: &Ended, text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in {ended:?}");
    }
    assert!(!text.contains("secret-"), "{ended:?}");
}

fn once_prints_every_exchange_of_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let server = Serve::start("127.0.0.1:0", &record);
    let file = visit(folder.path(), &server);
    let once = ended(&["run", &file, "--once"]);
    assert_eq!(once.code, Some(99), "{once:?}");
    has(
        &once,
        &once.stdout,
        &[
            "-- login (session 0, step 0): ok, status 200, ",
            " with a new connection\n> POST /echo HTTP/1.1\n> Host: 127.0.0.1",
            ">\n> name=ann&password=***\n< ",
            "   extracted who = ann\n",
            "-- page (session 0, step 1): check_failed, status 200, ",
            "   reason: greeting\n> GET /echo?of=ann HTTP/1.1\n",
            "> Authorization: Bearer ***\n",
            "   check failed: greeting\n      expected: the body contains `Hello ann`\n      found:    `GET /echo?of=ann",
            "2 requests of 1 session: 1 failed\n",
        ],
    );
    let two = ended(&["run", &file, "--sessions", "2", "--verbose"]);
    has(&two, &two.stdout, &["-- login (session 1, step 0): ok", "name=bob", "4 requests of 2 sessions: 2 failed\n"]);
    server.stop();
    assert_eq!(seen(&record).len(), 6, "all sent requests were shown");
}

fn once_needs_no_load_for_a_url() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let once = ended(&["run", &format!("{}/echo", server.url), "--once", "-H", "X-Api-Key: secret-key"]);
    assert_eq!(once.code, Some(0), "{once:?}");
    has(&once, &once.stdout, &["> GET /echo HTTP/1.1\n", "> X-Api-Key: ***\n", "1 request of 1 session: 0 failed\n"]);
    server.stop();
    for args in [&["--once", "--json"][..], &["--once", "--output", "x"], &["--sessions", "0"]] {
        let wrong = ended(&[&["run", "http://127.0.0.1:9/"], args].concat());
        assert_eq!((wrong.code, wrong.stderr.lines().count()), (Some(2), 1), "{wrong:?}");
    }
}

fn failures_are_recorded_and_printed_with_a_limit_per_kind() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let file = visit(folder.path(), &server).replace("1h", "1ms");
    let text = std::fs::read_to_string(&file).unwrap().replace("1h", "1ms");
    std::fs::write(&file, text).unwrap();
    let out = folder.path().join("run");
    let run = ended(&["run", &file, "--quiet", "--verbose", "--output", out.to_str().unwrap()]);
    let kept = read_failures(&out).unwrap();
    assert_eq!(kept.len(), offered_run::ExchangeObserver::MAX_PER_KIND, "{run:?}");
    assert_eq!(run.stderr.matches("-- page (session ").count(), kept.len(), "{run:?}");
    has(&run, &run.stderr, &["> Authorization: Bearer ***\n", "check failed: greeting\n"]);
    for exchange in &kept {
        let (failed, answered) = (&exchange.failed_checks[0], exchange.received.as_ref().unwrap());
        assert_eq!((failed.check.as_str(), exchange.reason.as_deref()), ("greeting", Some("greeting")));
        assert!(answered.body.as_ref().unwrap().len() <= 4096);
    }
    let file = out.join("failed.jsonl");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("secret-"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // A page with these exchanges is as private, also where another file was.
    let page = folder.path().join("page.html");
    std::fs::write(&page, "").unwrap();
    let report = ended(&["report", out.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert_eq!(std::fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
    // Responses of requests without a script are recorded only on request.
    let missing = [&format!("{}/status/404", server.url), "--open", "50/s", "-d", "500ms", "--quiet"];
    let run = ended(&[&["run"], &missing[..], &["--verbose"]].concat());
    assert_eq!(
        run.stderr.matches(": http_error, status 404").count(),
        offered_run::ExchangeObserver::MAX_PER_KIND,
        "{run:?}"
    );
    server.stop();
}

fn extracted_credentials_are_hidden_in_every_exchange() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let text = format!(
        "duration = \"1s\"\narrivals.closed.users = 1\ntarget.url = \"{}\"\nsecret_names = [\"shop\"]\n\
         [[request]]\nname = \"in\"\npost = \"/echo?shop=s7\"\nform = {{ x = \"open-12345\", pin = \"99\" }}\n\
         extract = [{{ name = \"badge\", regex = 'x=([^&]*)' }}]\n\
         [[request]]\nname = \"page\"\nget = \"/echo?of={{{{badge}}}}\"\nauth = {{ bearer = \"{{{{badge}}}}\" }}\n\
         [[flow]]\nname = \"visit\"\nstep = [{{ request = \"in\" }}, {{ request = \"page\" }}]\n",
        server.url
    );
    let file = folder.path().join("w.toml");
    std::fs::write(&file, text).unwrap();
    let once = ended(&["run", file.to_str().unwrap(), "--once"]);
    server.stop();
    for part in ["> POST /echo?shop=*** HTTP/1.1", "x=***&pin=***", "extracted badge = ***", "/echo?of=*** HTTP/1.1"] {
        assert!(once.stdout.contains(part), "`{part}` is not in {once:?}");
    }
    assert!(!once.stdout.contains("open-12345"), "{once:?}");
}

fn redirects_are_followed_up_to_the_limit() {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                    // Responds only to the first line of a request.
                    let asked = std::mem::take(&mut line);
                    let answer = match asked.split(' ').nth(1).filter(|_| asked.starts_with("GET ")) {
                        Some("/0") => "200 OK",
                        Some("/1") => "302 Found\r\nLocation: /0",
                        Some("/2") => "302 Found\r\nLocation: /1",
                        Some("/3") => "302 Found\r\nLocation: /2",
                        Some("/away") => "302 Found\r\nLocation: http://example.org/?token=s3cret77",
                        _ => continue,
                    };
                    let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
                    // The client may have closed.
                    let _ = reader.get_mut().write_all(answer.as_bytes());
                }
            });
        }
    });
    let statuses = |path: &str, follow: &[&str]| {
        let url = format!("http://{address}{path}");
        let args = ["run", &url, "--open", "20/s", "--duration", "500ms", "--quiet", "--json"];
        let ended = ended(&[&args[..], follow].concat());
        let json: serde_json::Value =
            serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
        (json["statuses"].clone(), json["outcomes"].clone(), json["failures"][0]["reason"].clone())
    };
    let all_are = |value: &serde_json::Value, key: &str| value.as_object().unwrap().keys().all(|found| found == key);
    assert!(all_are(&statuses("/3", &[]).0, "302"));
    assert!(all_are(&statuses("/3", &["--follow", "3"]).0, "200"));
    let (_, outcomes, why) = statuses("/3", &["--follow", "2"]);
    assert!(all_are(&outcomes, "check_failed") && why == "more than 2 redirects", "{outcomes} {why}");
    let (_, outcomes, why) = statuses("/away", &["--follow", "2"]);
    let why = why.as_str().unwrap();
    assert!(all_are(&outcomes, "check_failed") && why.contains("example.org/?token=***"), "{outcomes} {why}");
}
