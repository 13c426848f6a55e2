//! HTTP/2 with a real nginx: streams on few connections, and every way in which a server ends them.

use std::path::Path;

use offered_events::Outcome;

use crate::harness::{Missing, Tested};
use crate::nginx::Nginx;
use crate::process::ended;
use crate::run::{Run, run};
use crate::tls::{SECURE, certificates};

tests![
    streams_share_a_connection_and_every_request_is_logged_once,
    http2_is_negotiated_by_alpn,
    goaway_leads_to_a_new_connection,
    a_stream_limit_leads_to_more_connections,
    scripts_run_over_streams,
    reset_streams_are_reported
];

/// Without TLS, by prior knowledge.
const PLAIN: &str = "listen 127.0.0.1:PORT http2; keepalive_requests 100000; access_log FOLDER/access.log counted;";

fn nginx(folder: &Path, directives: &str) -> Result<Nginx, Missing> {
    certificates(folder);
    Nginx::listening(folder, directives)
}

const OPEN: [&str; 4] = ["--open", "200/s", "--duration", "1s"];

fn streams_share_a_connection_and_every_request_is_logged_once() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = nginx(folder.path(), PLAIN)?;
    let at = |rate: &str, path: &str, more: &[&str]| {
        let url = format!("{}{path}", nginx.url);
        run(&[&[url.as_str(), "--protocol", "h2", "--open", rate, "--duration", "1s"], more].concat())
    };
    let h2 = |path: &str, more: &[&str]| at("200/s", path, more);
    let pooled = h2("/ok/0", &[]);
    let several = h2("/ok/1", &["--connections", "3"]);
    let fresh = h2("/ok/2", &["--reuse", "fresh"]);
    let sessions = h2("/ok/3", &["--reuse", "per-session"]);
    let posted = h2("/ok/4", &["--body", "a={{session}}"]);
    let failed = h2("/error", &[]);
    let large = at("20/s", "/large", &[]);
    let runs = [&pooled, &several, &fresh, &sessions, &posted, &failed, &large];
    let log = nginx.stop();
    let lines = ["GET /ok/0", "GET /ok/1", "GET /ok/2", "GET /ok/3", "POST /ok/4", "GET /error", "GET /large"];
    for (run, line) in runs.iter().zip(lines) {
        let outcome = if line.ends_with("/error") { Outcome::HttpError } else { Outcome::Ok };
        assert_eq!(run.count(outcome), run.events.len(), "{line}: {}", run.json["outcomes"]);
        assert_eq!(log.iter().filter(|logged| logged.ends_with(line)).count(), run.events.len(), "{line}");
        assert!(run.events.iter().all(|event| event.first_byte.is_some() && event.handshake.is_none()));
    }
    assert_eq!((pooled.connections(), several.connections()), (1, 3));
    assert_eq!(fresh.connections(), fresh.events.len());
    assert_eq!(sessions.connections(), sessions.events.len());
    // The flow control windows were refilled many times.
    assert!(large.events.iter().all(|event| event.bytes_in == 1 << 20) && large.connections() == 1);
    Ok(())
}

fn http2_is_negotiated_by_alpn() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let two = nginx(folder.path(), SECURE)?;
    let ask =
        |url: &str, protocol: &str| -> Run { run(&[&[url, "--insecure", "--protocol", protocol], &OPEN[..]].concat()) };
    let (auto, told) = (ask(&format!("{}/ok", two.url), "auto"), ask(&format!("{}/ok", two.url), "h2"));
    for run in [&auto, &told] {
        run.all(Outcome::Ok, "");
        assert_eq!(run.events.iter().filter(|event| event.handshake.is_some()).count(), run.connections());
    }
    let log = two.stop();
    assert!(log.iter().all(|line| line.starts_with("200 HTTP/2.0")), "{:?}", log.first());
    let folder = tempfile::tempdir().unwrap();
    let one = nginx(folder.path(), &SECURE.replace(" http2", ""))?;
    let auto = ask(&format!("{}/ok", one.url), "auto");
    auto.all(Outcome::Ok, "");
    let refused = ended(&["run", &format!("{}/ok", one.url), "--insecure", "--protocol", "h2", "--open", "1/s"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("target.protocol"), "{refused:?}");
    let log = one.stop();
    assert_eq!(log.iter().filter(|line| line.starts_with("200 HTTP/1.1")).count(), auto.events.len());
    Ok(())
}

fn goaway_leads_to_a_new_connection() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let goes_away = PLAIN.replace("100000", "10");
    let nginx = nginx(folder.path(), &goes_away)?;
    let url = format!("{}/ok", nginx.url);
    let run = run(&[&[url.as_str(), "--protocol", "h2"], &OPEN[..]].concat());
    let log = nginx.stop();
    let gone = run.count(Outcome::Reset);
    assert_eq!(run.count(Outcome::Ok) + gone, run.events.len(), "{}", run.json["outcomes"]);
    assert!(run.connections() * 12 > run.events.len() && gone < run.events.len() / 10, "{gone}");
    for event in run.events.iter().filter(|event| event.outcome == Outcome::Reset) {
        let why = event.why();
        assert!(why.contains("GOAWAY") || why.contains("closed"), "{why}");
    }
    assert_eq!(log.len(), run.count(Outcome::Ok));
    Ok(())
}

fn a_stream_limit_leads_to_more_connections() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let few = format!("{PLAIN} http2_max_concurrent_streams 2;");
    let nginx = nginx(folder.path(), &few)?;
    let url = format!("{}/slow", nginx.url);
    let some = ["--protocol", "h2", "--open", "40/s", "--duration", "1s", "--timeout", "2s"];
    let free = run(&[&[url.as_str()], &some[..]].concat());
    free.all(Outcome::Timeout, "no complete response");
    assert!(free.connections() * 2 + 100 >= free.events.len() && free.connections() > 1, "{}", free.connections());
    let limited = run(&[&[url.as_str(), "--connections", "1"], &some[..]].concat());
    assert!(limited.count(Outcome::Unsent) > 0, "{}", limited.json["outcomes"]);
    let busy = limited.events.iter().find(|event| event.outcome == Outcome::Unsent).unwrap();
    assert!(busy.why().contains("connections limit"), "{busy:?}");
    nginx.stop();
    Ok(())
}

fn scripts_run_over_streams() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = nginx(folder.path(), PLAIN)?;
    let text = format!(
        "duration = \"1s\"\narrivals.open.rate = \"50/s\"\n[target]\nurl = \"{}\"\nprotocol = \"h2\"\n[[request]]\nget = \"/ok\"\n\
         check = [{{ body = true, contains = \"ok\" }}, {{ header = \"Server\", contains = \"nginx\" }}]\nobjects = [\"/ok/a\", \"/ok/b\"]\n",
        nginx.url
    );
    let file = folder.path().join("page.toml");
    std::fs::write(&file, text).unwrap();
    let ended = ended(&["run", file.to_str().unwrap(), "--json", "--quiet"]);
    let run: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    let launched = run["total_requests"].as_u64().unwrap();
    assert_eq!(run["outcomes"], serde_json::json!({ "ok": launched }), "{ended:?}");
    assert_eq!(run["pages"]["objects"], 2 * launched);
    let log = nginx.stop();
    for path in ["/ok", "/ok/a", "/ok/b"] {
        let asked = log.iter().filter(|line| line.ends_with(&format!("GET {path}"))).count();
        assert_eq!(asked as u64, launched, "{path}");
    }
    Ok(())
}

fn reset_streams_are_reported() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = nginx(folder.path(), PLAIN)?;
    let run = run(&[&[format!("{}/drop", nginx.url).as_str(), "--protocol", "h2"], &OPEN[..]].concat());
    nginx.stop();
    assert_eq!(run.count(Outcome::Reset), run.events.len(), "{:?}", run.events.first());
    Ok(())
}
