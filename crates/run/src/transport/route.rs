//! The route to the target: its addresses, the proxy, and TLS.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use offered_workload::{Address, Proxy, Target};

use super::addresses::Addresses;
use super::tls::TlsClient;
use crate::Error;

/// The route to a target, shared by all threads.
#[derive(Debug)]
pub(crate) struct Route {
    /// The addresses of the target, or of its proxy.
    pub(super) addresses: Arc<Addresses>,
    /// The `CONNECT` request to the proxy, if a tunnel is needed.
    pub(super) tunnel: Option<Arc<[u8]>>,
    pub(super) tls: Option<TlsClient>,
    /// Whether to send PostgreSQL's `SSLRequest` before TLS.
    pub(super) postgres_tls_request: bool,
    /// The TLS client for testing whether a plain target speaks TLS.
    tls_probe: Option<TlsClient>,
}

impl Route {
    /// The route to `target`.
    ///
    /// # Errors
    /// A name that cannot be resolved, or TLS settings that cannot be used.
    pub(crate) fn new(target: &Target) -> Result<Self, Error> {
        let by_proxy = target.proxy().map(|proxy| Address::Tcp { host: proxy.host.clone(), port: proxy.port });
        let tunnel = match (target.proxy(), &target.url().address) {
            (Some(proxy), Address::Tcp { host, port }) if target.url().secure => {
                Some(connect_request(proxy, host, *port))
            }
            _ => None,
        };
        let addresses = Addresses::resolve(by_proxy.as_ref().unwrap_or(&target.url().address), target)?;
        let is_plain = !target.url().secure && target.proxy().is_none();
        Ok(Self {
            addresses: Arc::new(addresses),
            tunnel,
            tls: target.url().secure.then(|| TlsClient::new(target)).transpose()?,
            // A name that is invalid in a certificate is no error for plain text.
            tls_probe: is_plain.then(|| TlsClient::insecure(target).ok()).flatten(),
            postgres_tls_request: false,
        })
    }

    /// The route to `target`, which is a database.
    ///
    /// # Errors
    /// A name that cannot be resolved, or TLS settings that cannot be used.
    pub(super) fn to_database(target: &Target, tls: bool) -> Result<Self, Error> {
        Ok(Self {
            addresses: Arc::new(Addresses::resolve(&target.url().address, target)?),
            tunnel: None,
            tls: tls.then(|| TlsClient::new(target)).transpose()?,
            postgres_tls_request: tls,
            tls_probe: None,
        })
    }

    /// Whether a stream is open once its socket is connected.
    pub(super) fn is_plain(&self) -> bool {
        self.tls.is_none() && self.tunnel.is_none() && !self.postgres_tls_request
    }

    /// The same route with TLS, for a plain one; `None` if TLS is not possible.
    pub(super) fn with_tls(&self) -> Option<Self> {
        let client = self.tls_probe.clone()?;
        Some(Self {
            addresses: self.addresses.clone(),
            tunnel: None,
            tls: Some(client),
            postgres_tls_request: false,
            tls_probe: None,
        })
    }
}

/// The `CONNECT` request.
fn connect_request(proxy: &Proxy, host: &str, port: u16) -> Arc<[u8]> {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let proxy_authorization =
        proxy_authorization(proxy).map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
    format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{proxy_authorization}\r\n").into_bytes().into()
}

/// The value of the `Proxy-Authorization` header; `None` without credentials.
pub(super) fn proxy_authorization(proxy: &Proxy) -> Option<String> {
    let user = proxy.user.as_ref()?;
    Some(format!("Basic {}", STANDARD.encode(user)))
}
