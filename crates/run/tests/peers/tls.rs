//! TLS: certificates that are trusted or not, and certificates of clients.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use offered_events::Outcome;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, ServerConfig, ServerConnection, SignatureScheme, StreamOwned,
};

use crate::{assert_first_events, listen, run};

tests![
    an_untrusted_certificate_is_rejected,
    a_self_signed_certificate_is_trusted_as_a_root_although_it_may_sign,
    a_client_certificate_of_version_1_is_sent
];

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

pub(crate) fn well(stream: TcpStream, config: Arc<ServerConfig>) {
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

/// What `openssl req -x509` makes: a self-signed certificate that may sign others, for `localhost`.
fn a_self_signed_certificate_is_trusted_as_a_root_although_it_may_sign() {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let own = params.self_signed(&key).unwrap();
    let other = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let der = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = Arc::new(builder.with_no_client_auth().with_single_cert(vec![own.der().clone()], der).unwrap());
    let server = listen(move |_, stream| well(stream, config.clone()));
    let folder = tempfile::tempdir().unwrap();
    let events = |root: &rcgen::Certificate, name: &str| {
        let file = folder.path().join("root.pem");
        std::fs::write(&file, root.pem()).unwrap();
        let tls = format!("tls = {{ roots = {:?}, server_name = \"{name}\" }}", file.to_str().unwrap());
        run(&format!("url = \"https://{server}\"\nresponse_timeout = \"20s\"\n{tls}"), "get = \"/\"")
    };
    assert_first_events(&events(&own, "localhost"), 0, Outcome::Ok, "it is the root");
    for (root, name, reason) in [
        (&own, "other.example", "not valid for name"),
        (&other, "localhost", "the certificate of an authority (CA:TRUE) that is not in target.tls.roots"),
    ] {
        let events = events(root, name);
        assert_first_events(&events, 30, Outcome::Tls, reason);
        assert!(events[0].why().contains(reason), "{}", events[0].why());
    }
}

/// Accepts any certificate of a client, and requires one.
#[derive(Debug)]
struct AnyClient(CertificateDer<'static>);

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match *end_entity == self.0 {
            true => Ok(ClientCertVerified::assertion()),
            false => Err(Error::General("another certificate".to_owned())),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// `openssl x509 -req` without extensions makes certificates of version 1 (`certificates/version-1.pem`, made so).
fn a_client_certificate_of_version_1_is_sent() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/certificates");
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let theirs = CertificateDer::from_pem_file(file("version-1.pem")).unwrap();
    let (certificate, key) = own();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_client_cert_verifier(Arc::new(AnyClient(theirs)));
    let config = Arc::new(builder.with_single_cert(vec![certificate], key).unwrap());
    let server = listen(move |_, stream| well(stream, config.clone()));
    let tls = format!(
        "tls = {{ insecure = true, certificate = {:?}, key = {:?} }}",
        file("version-1.pem"),
        file("version-1.key")
    );
    let events = run(&format!("url = \"https://{server}\"\nresponse_timeout = \"20s\"\n{tls}"), "get = \"/\"");
    assert_first_events(&events, 0, Outcome::Ok, "the server decides");
}
