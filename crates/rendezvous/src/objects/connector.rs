//! The HTTP client of a store. It does not retry requests that cannot succeed, and reports lasting failures.

use std::error::Error as StdError;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use offered_base::{Instant, Nanos};
use offered_io::Clock;
use rustls::AlertDescription;

/// Shorter failures are not reported.
const REPORTED_AFTER: Nanos = Nanos::from_secs(1);

/// Makes HTTP clients, which share one report.
#[derive(Clone, Debug)]
pub(crate) struct Connector(Arc<Report>);

/// The failures of a store.
#[derive(Debug)]
struct Report {
    clock: Clock,
    failing: Mutex<Option<Failing>>,
    on_failure: fn(&str),
}

/// A store that fails since some time.
#[derive(Debug)]
struct Failing {
    since: Instant,
    is_reported: bool,
}

impl Connector {
    /// Calls `on_failure` with the reason when a store has failed for a second, once until it responds again.
    pub(crate) fn new(on_failure: fn(&str)) -> Self {
        Self(Arc::new(Report { clock: Clock::start(), failing: Mutex::default(), on_failure }))
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Service { client, report: Arc::clone(&self.0) }))
    }
}

#[derive(Debug)]
struct Service {
    client: HttpClient,
    report: Arc<Report>,
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let result = self.client.execute(request).await;
        let now = self.report.clock.now();
        match result {
            Ok(response) => {
                let status = response.status();
                match status.is_server_error() {
                    true => self.report.failed(now, &format!("the store responds with {status}")),
                    false => self.report.succeeded(),
                }
                Ok(response)
            }
            // An error while decoding is not retried.
            Err(error) if is_permanent(&error) => Err(HttpError::new(HttpErrorKind::Decode, error)),
            Err(error) => {
                self.report.failed(now, &root_cause(&error));
                Err(error)
            }
        }
    }
}

impl Report {
    fn succeeded(&self) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn failed(&self, now: Instant, reason: &str) {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let failing = failing.get_or_insert(Failing { since: now, is_reported: false });
        if !failing.is_reported && now >= failing.since + REPORTED_AFTER {
            failing.is_reported = true;
            (self.on_failure)(reason);
        }
    }
}

/// The text of the innermost error.
pub(crate) fn root_cause(error: &dyn StdError) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Whether TLS cannot succeed between the two sides: a certificate is not valid, or there is no common version.
fn is_permanent(error: &HttpError) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(tls) = tls_error(error) {
            return is_permanent_tls(tls);
        }
        cause = error.source();
    }
    false
}

/// The rustls error in a chain of errors. The error inside an `io::Error` is examined separately, because `source` of
/// an `io::Error` skips it.
fn tls_error<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e rustls::Error> {
    match error.downcast_ref::<io::Error>() {
        Some(error) => tls_error(error.get_ref()?),
        None => error.downcast_ref(),
    }
}

fn is_permanent_tls(error: &rustls::Error) -> bool {
    match error {
        rustls::Error::InvalidCertificate(_)
        | rustls::Error::PeerIncompatible(_)
        | rustls::Error::InvalidMessage(_)
        | rustls::Error::NoCertificatesPresented => true,
        rustls::Error::AlertReceived(alert) => matches!(
            alert,
            AlertDescription::HandshakeFailure
                | AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRequired
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied
                | AlertDescription::ProtocolVersion
                | AlertDescription::UnrecognisedName
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    #[test]
    fn certificate_errors_are_permanent_and_lost_connections_are_not() {
        let http = |inner: io::Error| HttpError::new(HttpErrorKind::Connect, inner);
        let tls = |error: rustls::Error| http(io::Error::new(io::ErrorKind::InvalidData, error));
        let unknown_issuer = || rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        assert!(is_permanent(&tls(unknown_issuer())));
        assert!(is_permanent(&HttpError::new(HttpErrorKind::Connect, unknown_issuer())));
        assert!(is_permanent(&http(io::Error::other(io::Error::other(unknown_issuer())))), "as hyper-rustls wraps it");
        assert!(is_permanent(&tls(rustls::Error::AlertReceived(AlertDescription::CertificateRequired))));
        assert!(!is_permanent(&tls(rustls::Error::AlertReceived(AlertDescription::InternalError))));
        assert!(!is_permanent(&http(io::ErrorKind::ConnectionReset.into())));
        assert!(!is_permanent(&http(io::Error::other("name not known"))));
    }

    #[test]
    fn a_failure_that_lasts_is_reported_once() {
        static REPORTS: AtomicU32 = AtomicU32::new(0);
        let report = Report {
            clock: Clock::start(),
            failing: Mutex::default(),
            on_failure: |_| {
                REPORTS.fetch_add(1, Relaxed);
            },
        };
        let failed = |at_ms| {
            report.failed(Instant::ZERO + Nanos::from_millis(at_ms), "refused");
            REPORTS.load(Relaxed)
        };
        assert_eq!([0, 900, 1000, 9000].map(failed), [0, 0, 1, 1]);
        report.succeeded();
        assert_eq!([9500, 10_400, 10_500].map(failed), [1, 1, 2], "a new failure");
    }
}
