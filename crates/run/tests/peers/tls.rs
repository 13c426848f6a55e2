//! TLS: handshakes that come to nothing, and connections that end without a goodbye.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use offered_model::Outcome;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::{first, listen, run};

/// A certificate that nobody has signed, and its key.
pub(crate) fn own() -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    (own.cert.der().clone(), PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap())
}

/// A server's settings, with a certificate that nobody has signed.
pub(crate) fn config() -> Arc<ServerConfig> {
    let (certificate, key) = own();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap())
}

/// What is done with the first connection.
type Act = fn(TcpStream, Arc<ServerConfig>);

fn well(stream: TcpStream, config: Arc<ServerConfig>) {
    answer(stream, config, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

/// Answers each request with these bytes.
fn answer(stream: TcpStream, config: Arc<ServerConfig>, bytes: &[u8]) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) && stream.write_all(bytes).is_ok() {}
}

fn server(act: Act) -> SocketAddr {
    let config = config();
    listen(move |nth, stream| if nth == 0 { act(stream, config.clone()) } else { well(stream, config.clone()) })
}

#[test]
fn each_end_of_a_handshake_or_connection_has_its_outcome() {
    let hangs_up: Act = |mut stream, _| {
        let _ = stream.read(&mut [0; 4096]);
    };
    let plain: Act = |mut stream, _| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read(&mut [0; 4096]);
    };
    let alert: Act = |mut stream, _| {
        let _ = stream.read(&mut [0; 4096]);
        // A fatal alert: handshake_failure.
        let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, 40]);
        let _ = stream.read(&mut [0; 4096]);
    };
    let mute: Act = |mut stream, _| while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {};
    let cut: Act = |stream, config| {
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nmore was to co");
        // Without close_notify nobody knows whether that was all.
    };
    let broken: Act = |stream, config| {
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        let _ = stream.read(&mut [0; 4096]);
        // A record that nobody has encrypted.
        let _ = stream.sock.write_all(&[23, 3, 3, 0, 32]);
        let _ = stream.sock.write_all(&[0; 32]);
        let _ = stream.sock.read(&mut [0; 4096]);
    };
    for (mode, act, outcome) in [
        ("well", well as Act, Outcome::Ok),
        ("hangs up", hangs_up, Outcome::Tls),
        ("no TLS", plain, Outcome::Tls),
        ("an alert", alert, Outcome::Tls),
        ("mute", mute, Outcome::Timeout),
        ("cut", cut, Outcome::Reset),
        ("a broken record", broken, Outcome::Tls),
    ] {
        let target = format!("url = \"https://{}\"\nreuse = \"per-session\"\nresponse_timeout = \"2s\"", server(act));
        let events = run(&format!("{target}\ntls.insecure = true"), "get = \"/\"");
        first(&events, 1, outcome, mode);
        assert!(events[1..].iter().all(|event| event.handshake.is_some()), "{mode}");
    }
}

#[test]
fn who_is_not_trusted_is_not_spoken_to() {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("another.pem");
    std::fs::write(&root, own.cert.pem()).unwrap();
    let target = format!("url = \"https://{}\"\nresponse_timeout = \"20s\"", server(well));
    let target = format!("{target}\ntls = {{ roots = {:?}, server_name = \"localhost\" }}", root.to_str().unwrap());
    let events = run(&target, "get = \"/\"");
    first(&events, 30, Outcome::Tls, "another root");
    assert!(events[0].why().contains("certificate"), "{}", events[0].why());
}
