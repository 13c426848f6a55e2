//! Proxies: plain requests with absolute URLs, TLS through a tunnel, and readable errors.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use offered_events::Outcome;

use crate::harness::Tested;
use crate::nginx::Nginx;
use crate::process::ended;
use crate::run::run;
use crate::tls::{SECURE, certificates};

tests![tls_goes_through_a_tunnel, plain_requests_use_absolute_urls];

/// A proxy that opens tunnels for clients with the password; and the request heads that it received.
fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let heads = asked.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let heads = heads.clone();
            std::thread::spawn(move || tunnel(client, &heads));
        }
    });
    (address.to_string(), asked)
}

fn tunnel(mut client: TcpStream, heads: &Mutex<Vec<String>>) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    heads.lock().unwrap().push(head.clone());
    let place = head.strip_prefix("CONNECT ")?.split(' ').next()?;
    // "me:p@ss" in base64.
    if !head.contains("Proxy-Authorization: Basic bWU6cEBzcw==\r\n") {
        client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n").ok()?;
        return None;
    }
    let Ok(mut server) = TcpStream::connect(place) else {
        client.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").ok()?;
        return None;
    };
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").ok()?;
    let (mut from_server, mut to_client) = (server.try_clone().ok()?, client.try_clone().ok()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let _ = std::io::copy(&mut client, &mut server);
    let _ = server.shutdown(Shutdown::Both);
    Some(())
}

fn tls_goes_through_a_tunnel() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let nginx = Nginx::listening(folder.path(), SECURE)?;
    let (proxy, asked) = proxy();
    let url = format!("{}/ok", nginx.url);
    let through = format!("http://me:p%40ss@{proxy}");
    let load = ["--insecure", "--open", "100/s", "--duration", "500ms"];
    let one = run(&[&[url.as_str(), "--proxy", &through], &load[..]].concat());
    let two = run(&[&[url.as_str(), "--proxy", &through, "--protocol", "h2"], &load[..]].concat());
    let stranger = ended(&[&["run", &url, "--proxy", &format!("http://{proxy}")], &load[..]].concat());
    assert!(
        stranger.code == Some(1) && stranger.stderr.contains("the proxy demands credentials (407)"),
        "{stranger:?}"
    );
    let nowhere = ended(&[&["run", "https://127.0.0.1:9/", "--proxy", &through], &load[..]].concat());
    assert!(nowhere.code == Some(1) && nowhere.stderr.contains("the proxy refused the tunnel: 502"), "{nowhere:?}");
    one.all(Outcome::Ok, "");
    two.all(Outcome::Ok, "");
    assert_eq!(nginx.stop().len(), one.events.len() + two.events.len());
    let host = url.trim_start_matches("https://").trim_end_matches("/ok").to_owned();
    let asked = asked.lock().unwrap();
    assert!(asked.iter().any(|head| head.starts_with(&format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n"))));
    Ok(())
}

fn plain_requests_use_absolute_urls() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    // nginx responds for any host to an absolute URL, like a proxy.
    let listen = "listen 127.0.0.1:PORT; access_log FOLDER/access.log whole;";
    let nginx = Nginx::listening(folder.path(), listen)?;
    let through = nginx.url.replace("http://", "http://me:secret@");
    let run = run(&["http://shop.invalid/ok", "--proxy", &through, "--open", "100/s", "--duration", "500ms"]);
    run.all(Outcome::Ok, "");
    let log = nginx.stop();
    assert_eq!(log.len(), run.events.len());
    let whole = "GET http://shop.invalid/ok HTTP/1.1 shop.invalid Basic bWU6c2VjcmV0";
    assert!(log.iter().all(|line| line == whole), "{:?}", log.first());
    Ok(())
}
