//! The preflight check: a target that does not fit is one error before any request, and a target that fits gets no
//! request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use offered_base::Share;
use offered_events::Event;
use offered_run::{Error, Generator, Load};
use offered_workload::Workload;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::http2::{DATA, HEADERS, Peer};
use crate::listen;
use crate::tls::{config, own};

tests![
    the_preflight_check_requires_http2,
    the_preflight_check_verifies_both_certificates,
    plain_text_to_a_tls_server_ends_the_run_at_its_first_response
];

fn generator(target: &str) -> Generator {
    let text = format!(
        "duration = \"300ms\"\narrivals.open = {{ rate = \"100/s\", process = \"constant\" }}\n\
         generator = {{ threads = 1, wait = \"sleep\" }}\n[target]\nconnect_timeout = \"20s\"\n{target}\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"));
    Generator::new(workload, Share::ALL, Load::Target).unwrap_or_else(|why| panic!("{why}"))
}

fn run(target: &str) -> Result<Vec<Event>, Error> {
    let (_, sinks) = generator(target).run(None, Vec::new, |_| ())?;
    Ok(sinks.into_iter().flatten().collect())
}

/// Completes the handshake, then waits for the client to close.
fn secure(stream: TcpStream, config: Arc<ServerConfig>) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
}

/// Reads, sends these bytes, and closes.
fn says(stream: &mut TcpStream, words: &[u8]) {
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write_all(words);
}

const NO_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

fn the_preflight_check_requires_http2() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let peer = listen(move |_, stream| {
        let Ok(mut peer) = Peer::greet(stream, &[]) else { return };
        while let Ok(frame) = peer.next() {
            count.fetch_add(usize::from(frame.kind == HEADERS || frame.kind == DATA), Relaxed);
        }
    });
    generator(&format!("url = \"http://{peer}\"\nprotocol = \"h2\"")).preflight().unwrap();
    assert_eq!(asked.load(Relaxed), 0, "no request was sent");
    let http1 = listen(|_, mut stream| says(&mut stream, NO_HTTP));
    let ssh = listen(|_, mut stream| says(&mut stream, b"SSH-2.0-OpenSSH_9.2\r\n"));
    let mute = listen(|_, mut stream| says(&mut stream, b""));
    for (address, why) in [
        (http1, "the server responds in HTTP/1"),
        (ssh, "the server responds in another protocol"),
        (mute, "the server closed the connection"),
    ] {
        let error = generator(&format!("url = \"http://{address}\"\nprotocol = \"h2\"")).preflight().unwrap_err();
        assert!(matches!(&error, Error::NoHttp2 { reason: told, .. } if *told == why), "{why}: {error}");
    }
    let secured = listen(|_, stream| secure(stream, config()));
    let plainly = generator(&format!("url = \"http://{secured}\"\nprotocol = \"h2\"")).preflight().unwrap_err();
    assert!(matches!(plainly, Error::SpeaksTls { .. }), "{plainly}");
    // A server without ALPN agrees on no protocol.
    let error = generator(&format!("url = \"https://{secured}\"\nprotocol = \"h2\"\ntls.insecure = true"))
        .preflight()
        .unwrap_err();
    assert!(matches!(error, Error::NoHttp2 { .. }), "{error}");
    // A server that knows only other protocols aborts the handshake.
    let mut http1 = Arc::unwrap_or_clone(config());
    http1.alpn_protocols = vec![b"http/1.1".to_vec()];
    let http1 = Arc::new(http1);
    let secured = listen(move |_, stream| secure(stream, http1.clone()));
    let error = generator(&format!("url = \"https://{secured}\"\nprotocol = \"h2\"\ntls.insecure = true"))
        .preflight()
        .unwrap_err();
    assert!(
        matches!(&error, Error::NoHttp2 { reason: why, .. } if why.starts_with("the server rejected all")),
        "{error}"
    );
}

fn the_preflight_check_verifies_both_certificates() {
    let server = listen(|_, stream| secure(stream, config()));
    let error = generator(&format!("url = \"https://{server}\"")).preflight().unwrap_err();
    assert!(
        matches!(&error, Error::Certificate { reason: why, .. } if why.contains("not signed by a trusted root")),
        "{error}"
    );
    assert!(error.to_string().contains("target.tls.insecure"), "{error}");
    generator(&format!("url = \"https://{server}\"\ntls.insecure = true")).preflight().unwrap();

    // Under TLS 1.3 the client completes the handshake before the server has seen that there is no certificate.
    let (certificate, key) = own();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let strict = |verifier| {
        let builder =
            ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
        let chain = vec![certificate.clone()];
        Arc::new(builder.with_client_cert_verifier(verifier).with_single_cert(chain, key.clone_key()).unwrap())
    };
    let needed = strict(verifier.clone().build().unwrap());
    let server = listen(move |_, stream| secure(stream, needed.clone()));
    let error = generator(&format!("url = \"https://{server}\"\ntls.insecure = true")).preflight().unwrap_err();
    assert!(error.to_string().contains("requires a client certificate"), "{error}");
    let liked = strict(verifier.allow_unauthenticated().build().unwrap());
    let server = listen(move |_, stream| secure(stream, liked.clone()));
    generator(&format!("url = \"https://{server}\"\ntls.insecure = true")).preflight().unwrap();
}

/// A TLS server that responds to plain text as such servers do.
fn secured(plain: &'static [u8]) -> SocketAddr {
    listen(move |_, mut stream| {
        let mut first = [0];
        match stream.peek(&mut first) {
            Ok(1) if first == *b"\x16" => secure(stream, config()),
            _ => says(&mut stream, plain),
        }
    })
}

fn plain_text_to_a_tls_server_ends_the_run_at_its_first_response() {
    const ALERT: &[u8] = &[21, 3, 3, 0, 2, 2, 40];
    for plain in [&b""[..], ALERT, NO_HTTP] {
        let address = secured(plain);
        let error = run(&format!("url = \"http://{address}\"")).unwrap_err();
        assert!(
            matches!(&error, Error::SpeaksTls { address: place } if *place == address.to_string()),
            "{plain:?}: {error}"
        );
    }
    // A server that closes or responds with 400 and does not speak TLS is a server with failures.
    for plain in [&b""[..], NO_HTTP] {
        let events =
            run(&format!("url = \"http://{}\"", listen(move |_, mut stream| says(&mut stream, plain)))).unwrap();
        assert_eq!(events.len(), 30);
    }
}
