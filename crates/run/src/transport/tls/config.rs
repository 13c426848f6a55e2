//! The TLS configuration of a workload: trusted certificates, the client certificate, session resumption.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_workload::{Address, Encryption, Identity, Protocol, Target, Tls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, InconsistentKeys, RootCertStore,
    SignatureScheme,
};

use super::TlsClient;
use crate::Error;

/// Number of sessions remembered for resumption.
const SESSION_CACHE_SIZE: usize = 1024;

impl TlsClient {
    /// For `target`, whose URL is secure.
    ///
    /// # Errors
    /// A file that cannot be used, or a name that is invalid in a certificate.
    pub(crate) fn new(target: &Target) -> Result<Self, Error> {
        Self::with_settings(target, target.tls())
    }

    /// For `target`, whose URL is plain: accepts any certificate.
    ///
    /// # Errors
    /// A name that is invalid in a certificate.
    pub(crate) fn insecure(target: &Target) -> Result<Self, Error> {
        Self::with_settings(target, &Tls { insecure: true, ..Tls::default() })
    }

    fn with_settings(target: &Target, tls: &Tls) -> Result<Self, Error> {
        let host = match (&tls.server_name, &target.url().address) {
            (Some(name), _) => name.clone(),
            (None, Address::Tcp { host, .. }) => host.clone(),
            (None, Address::Unix(_)) => "localhost".to_owned(),
        };
        let name = ServerName::try_from(host.clone()).map_err(|_| {
            Error::Tls(format!("`{host}` is not a valid name in a certificate; set target.tls.server_name"))
        })?;
        let provider = Arc::new(ring::default_provider());
        let encryption = target.url().login.as_ref().map(|login| login.encryption);
        // Like libpq, verify the certificate only if the URL says so.
        let insecure = tls.insecure || encryption.is_some_and(|encryption| encryption != Encryption::Verified);
        let verifier: Arc<dyn ServerCertVerifier> = match insecure {
            true => Arc::new(AcceptAnyCertificate(provider.clone())),
            false => Arc::new(TrustedCertificates::new(tls, provider.clone())?),
        };
        let own = tls.identity.as_ref().map(|own| client_certificate(own, &provider)).transpose()?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|reason| Error::Tls(reason.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.resumption =
            if tls.resume { Resumption::in_memory_sessions(SESSION_CACHE_SIZE) } else { Resumption::disabled() };
        let protocols: &[&[u8]] = match target.protocol() {
            _ if encryption.is_some() => &[b"postgresql"],
            Protocol::Http1 => &[b"http/1.1"],
            Protocol::Http2 => &[b"h2"],
            Protocol::Auto => &[b"h2", b"http/1.1"],
        };
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let certificate_requested = Arc::new(AtomicBool::new(false));
        config.client_auth_cert_resolver =
            Arc::new(ClientCertificate { own, certificate_requested: certificate_requested.clone() });
        Ok(Self { config: Arc::new(config), name, certificate_requested })
    }
}

/// Presents the client certificate, if there is one, and records that the server requested one.
#[derive(Debug)]
struct ClientCertificate {
    own: Option<Arc<CertifiedKey>>,
    certificate_requested: Arc<AtomicBool>,
}

impl ResolvesClientCert for ClientCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.certificate_requested.store(true, Relaxed);
        self.own.clone()
    }

    fn has_certs(&self) -> bool {
        self.own.is_some()
    }
}

/// The client certificate in these files. A certificate of X.509 version 1 cannot be compared with its key here; the
/// server checks it.
fn client_certificate(own: &Identity, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, Error> {
    let mismatch = |reason: TlsError| {
        let files = format!("{} and {}", own.certificate.display(), own.key.display());
        Error::Tls(format!("{files} are not a certificate and its key: {reason}"))
    };
    let key = PrivateKeyDer::from_pem_file(&own.key).map_err(|reason| unusable(&own.key, "a private key", &reason))?;
    let key = provider.key_provider.load_private_key(key).map_err(mismatch)?;
    let own = CertifiedKey::new(certificates(&own.certificate)?, key);
    match own.keys_match() {
        Err(TlsError::InvalidCertificate(reason)) if is_webpki(&reason, "UnsupportedCertVersion") => {}
        Ok(()) | Err(TlsError::InconsistentKeys(InconsistentKeys::Unknown)) => {}
        Err(reason) => return Err(mismatch(reason)),
    }
    Ok(Arc::new(own))
}

/// Whether this is the error of webpki with this name, for which rustls has no name.
pub(super) fn is_webpki(error: &CertificateError, name: &str) -> bool {
    matches!(error, CertificateError::Other(other) if format!("{:?}", other.0) == name)
}

/// Verifies the certificate of the server by the trusted certificates. One that is itself among the trusted ones is valid even if it may sign
/// others (`CA:TRUE`), as for OpenSSL and therefore for curl: `openssl req -x509` makes such certificates.
#[derive(Debug)]
struct TrustedCertificates {
    verifier: Arc<WebPkiServerVerifier>,
    /// The certificates of `target.tls.roots`.
    given: Vec<CertificateDer<'static>>,
}

impl TrustedCertificates {
    fn new(tls: &Tls, provider: Arc<CryptoProvider>) -> Result<Self, Error> {
        let given = tls.roots.as_ref().map(|file| certificates(file)).transpose()?.unwrap_or_default();
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(tls, &given)?), provider)
            .build()
            .map_err(|reason| Error::Tls(format!("the trusted certificates cannot be used: {reason}")))?;
        Ok(Self { verifier, given })
    }
}

impl ServerCertVerifier for TrustedCertificates {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        match self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The period of validity is checked before this error (webpki, `check_issuer_independent_properties`), the name after it.
            Err(TlsError::InvalidCertificate(reason))
                if is_webpki(&reason, "CaUsedAsEndEntity") && self.given.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// The trusted certificates: those in `given`, otherwise those of the system.
fn roots(tls: &Tls, given: &[CertificateDer<'static>]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = &tls.roots {
        for certificate in given {
            roots.add(certificate.clone()).map_err(|reason| unusable(file, "a trusted certificate", &reason))?;
        }
        return Ok(roots);
    }
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let reason = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(Error::Tls(format!(
            "this system has no trusted certificates{reason}; install ca-certificates, or set target.tls.roots"
        )));
    }
    Ok(roots)
}

/// The certificates of a PEM file, at least one.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|reason| unusable(file, "a certificate", &reason))?;
    match certificates.is_empty() {
        true => Err(unusable(file, "a certificate", &"it has none")),
        false => Ok(certificates),
    }
}

fn unusable(file: &Path, what: &str, reason: &dyn std::fmt::Display) -> Error {
    Error::Tls(format!("cannot read {what} from {}: {reason}; a PEM file is expected", file.display()))
}

/// Accepts any certificate. Still verifies that the server has its private key.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
