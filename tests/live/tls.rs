//! TLS: real handshakes with a real nginx, readable errors, and each handshake counted once.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use offered_base::Difference;
use offered_events::Outcome;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use serde_json::Value;

use crate::harness::{Missing, Tested};
use crate::nginx::Nginx;
use crate::process::ended;
use crate::run::{Run, run, start};

tests![
    every_connection_has_one_timed_handshake,
    tls_sessions_are_resumed_only_on_request,
    client_certificates_are_presented,
    invalid_certificates_are_refused_in_one_line_before_the_run,
    insecure_is_mentioned_in_every_output,
    targets_without_tls_have_their_own_outcome,
    plain_http_to_a_tls_port_gets_a_hint
];

/// nginx directives for TLS with the certificates of [`certificates`].
pub(crate) const SECURE: &str = "listen 127.0.0.1:PORT ssl http2; ssl_certificate FOLDER/server.pem; \
    ssl_certificate_key FOLDER/server.key; ssl_client_certificate FOLDER/root.pem; ssl_verify_client optional; \
    ssl_session_cache shared:tests:1m; keepalive_requests 100000; access_log FOLDER/access.log told;";

/// Writes a root certificate, a server certificate for 127.0.0.1, localhost and shop.test, and a client certificate,
/// each with its key.
pub(crate) fn certificates(folder: &Path) {
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    write("root.pem", root.pem());
    let names = ["127.0.0.1", "localhost", "shop.test"].map(str::to_owned);
    for (name, use_, names) in [
        ("server", ExtendedKeyUsagePurpose::ServerAuth, names.to_vec()),
        ("client", ExtendedKeyUsagePurpose::ClientAuth, vec!["a.client".to_owned()]),
    ] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![use_];
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        write(&format!("{name}.pem"), params.signed_by(&key, &root).unwrap().pem());
        write(&format!("{name}.key"), key.serialize_pem());
    }
}

/// A workload of 100 requests per second for half a second, with these lines of `[target]`, beside the certificates.
fn workload(folder: &Path, name: &str, target: &str) -> String {
    let file = folder.join(name);
    let text = format!("duration = \"500ms\"\narrivals.open.rate = \"200/s\"\n[target]\n{target}\n");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn secure(folder: &Path) -> Result<Nginx, Missing> {
    certificates(folder);
    Nginx::listening(folder, SECURE)
}

fn every_connection_has_one_timed_handshake() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = secure(folder.path())?;
    let target = |more: &str| format!("url = \"{}/ok\"\ntls.roots = \"root.pem\"\n{more}", nginx.url);
    let pooled = run(&[&workload(folder.path(), "pool.toml", &target(""))]);
    let fresh = run(&[&workload(folder.path(), "fresh.toml", &target("reuse = \"fresh\""))]);
    let large = target("").replace("/ok", "/large");
    let large = run(&[&workload(folder.path(), "large.toml", &large), "--open", "20/s"]);
    let post = run(&[&workload(folder.path(), "named.toml", &target("tls.server_name = \"shop.test\""))]);
    let (http1, named) = ("200 HTTP/1.1 . - -", "200 HTTP/1.1 . shop.test -");
    let log = nginx.stop();
    for run in [&pooled, &fresh, &large, &post] {
        assert_eq!(run.count(Outcome::Ok), run.events.len(), "{}", run.json["outcomes"]);
        let timed = run.events.iter().filter(|event| event.handshake.is_some());
        assert!(timed.clone().all(|event| !event.reused && event.handshake.map(Difference::from) < event.service()));
        assert_eq!(timed.count(), run.connections());
        assert!(run.json["handshake_ms"]["p50"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(fresh.connections(), fresh.events.len());
    assert!(pooled.connections() < pooled.events.len());
    assert!(large.events.iter().all(|event| event.bytes_in > 1 << 20));
    assert_eq!(log.iter().filter(|line| **line == named).count(), post.events.len());
    let others = pooled.events.len() + fresh.events.len() + large.events.len();
    assert_eq!(log.iter().filter(|line| **line == http1).count(), others, "{:?}", log.first());
    Ok(())
}

fn tls_sessions_are_resumed_only_on_request() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = secure(folder.path())?;
    let target = format!("url = \"{}/ok\"\nreuse = \"fresh\"\ntls.roots = \"root.pem\"", nginx.url);
    run(&[&workload(folder.path(), "whole.toml", &target)]);
    let file = workload(folder.path(), "resumed.toml", &format!("{target}\ntls.resume = true"));
    let resumed = run(&[&file]);
    let log = nginx.stop();
    let (again, whole): (Vec<_>, Vec<_>) = log.iter().partition(|line| line.starts_with("200 HTTP/1.1 r "));
    assert!(!again.is_empty() && again.len() <= resumed.events.len(), "{} of {}", again.len(), log.len());
    assert!(whole.len() >= log.len() - resumed.events.len());
    Ok(())
}

fn client_certificates_are_presented() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = secure(folder.path())?;
    let target = format!(
        "url = \"{}/ok\"\ntls = {{ roots = \"root.pem\", certificate = \"client.pem\", key = \"client.key\" }}",
        nginx.url
    );
    let shown = run(&[&workload(folder.path(), "client.toml", &target)]);
    shown.all(Outcome::Ok, "");
    let log = nginx.stop();
    assert!(log.iter().all(|line| line.contains("CN=client")), "{:?}", log.first());
    let swapped = target.replace("client.key", "server.key");
    let ended = ended(&["run", &workload(folder.path(), "swapped.toml", &swapped)]);
    assert!(ended.code == Some(2) && ended.stderr.contains("are not a certificate and its key"), "{ended:?}");
    Ok(())
}

fn invalid_certificates_are_refused_in_one_line_before_the_run() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = secure(folder.path())?;
    for (tls, words) in [
        ("roots = \"client.pem\"", "it is not signed by a trusted root"),
        ("resume = true", "it is not signed by a trusted root"),
        ("roots = \"root.pem\", server_name = \"other.test\"", "other.test"),
        ("roots = \"nowhere.pem\"", "nowhere.pem"),
        ("roots = \"root.pem\", certificate = \"root.pem\", key = \"root.pem\"", "private key"),
    ] {
        let target = format!("url = \"{}/ok\"\ntls = {{ {tls} }}", nginx.url);
        let ended = ended(&["run", &workload(folder.path(), "wrong.toml", &target)]);
        assert!(matches!(ended.code, Some(1 | 2)), "{ended:?}");
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    }
    assert_eq!(nginx.stop(), Vec::<String>::new());
    Ok(())
}

fn insecure_is_mentioned_in_every_output() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = secure(folder.path())?;
    let out = folder.path().join("run");
    let url = format!("{}/ok", nginx.url);
    let json = Run::of(start(&out, &[&url, "--insecure", "--open", "100/s", "--duration", "500ms"]).end(), &out);
    json.all(Outcome::Ok, "");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    let out = out.to_str().unwrap();
    // On a busy machine a warning of lateness stands before it on the first screen.
    let page =
        ended(&["run", &url, "--insecure", "--open", "100/s", "--duration", "300ms", "--quiet", "--details"]).stdout;
    let markdown = ended(&["report", out, "--format", "md"]).stdout;
    let verdict = ended(&["verify", out, "--details"]).stdout;
    let held_otherwise = ended(&["verify", out, "--expected", "constant", "--details"]).stdout;
    let (json, kept) = (json.json["warnings"].to_string(), kept.to_string());
    for output in [&json, &kept, &page, &markdown, &verdict, &held_otherwise] {
        assert!(output.contains("was not verified (insecure)"), "{output}");
    }
    nginx.stop();
    Ok(())
}

fn targets_without_tls_have_their_own_outcome() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            // Every second connection is closed during the handshake.
            let mut stream: TcpStream = stream;
            let _ = stream.read(&mut [0; 2048]);
            if number % 2 == 0 {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            }
        }
    });
    let told = ended(&["run", &url, "--open", "10/s", "--insecure"]);
    assert!(told.code == Some(1) && told.stderr.contains("does not speak TLS"), "{told:?}");
    // A run with a start time has no preflight check.
    let soon = jiff::Timestamp::from_second((offered_io::unix_now().0 / 1_000_000_000) as i64 + 2).unwrap().to_string();
    let run = run(&[&url, "--open", "100/s", "--duration", "500ms", "--insecure", "--seed", "1", "--start-at", &soon]);
    assert!(!run.events.is_empty());
    for event in run.events.iter().filter(|event| event.outcome != Outcome::Unsent) {
        let words = ["does not speak TLS", "closed the connection during the TLS handshake"];
        let error = event.why();
        assert!(event.outcome == Outcome::Tls && words.iter().any(|w| error.contains(w)), "{event:?}");
    }
}

fn plain_http_to_a_tls_port_gets_a_hint() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = secure(folder.path())?;
    let (plain, out) = (nginx.url.replacen("https://", "http://", 1), folder.path().join("run"));
    let told = ended(&["run", &format!("{plain}/ok"), "--open", "50/s", "--output", out.to_str().unwrap(), "--quiet"]);
    nginx.stop();
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "{told:?}");
    let place = plain.trim_start_matches("http://");
    assert_eq!(told.stderr, format!("error: {place} speaks TLS; use https:// in the URL\n"));
    assert!(!out.exists(), "nothing was recorded");
    Ok(())
}
