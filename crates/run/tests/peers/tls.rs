//! TLS: a certificate that is not trusted.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use offered_events::Outcome;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::{assert_first_events, listen, run};

/// A self-signed certificate and its key.
pub(crate) fn own() -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    (own.cert.der().clone(), PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap())
}

/// A server configuration with a self-signed certificate.
pub(crate) fn config() -> Arc<ServerConfig> {
    let (certificate, key) = own();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap())
}

/// Handles the first connection.
type Act = fn(TcpStream, Arc<ServerConfig>);

fn well(stream: TcpStream, config: Arc<ServerConfig>) {
    answer(stream, config, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

/// Responds to each request with these bytes.
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
fn an_untrusted_certificate_is_rejected() {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("another.pem");
    std::fs::write(&root, own.cert.pem()).unwrap();
    let target = format!("url = \"https://{}\"\nresponse_timeout = \"20s\"", server(well));
    let target = format!("{target}\ntls = {{ roots = {:?}, server_name = \"localhost\" }}", root.to_str().unwrap());
    let events = run(&target, "get = \"/\"");
    assert_first_events(&events, 30, Outcome::Tls, "another root");
    assert!(events[0].why().contains("certificate"), "{}", events[0].why());
}
