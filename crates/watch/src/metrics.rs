//! Metrics of a run for Prometheus and compatible systems.
//!
//! | path | response |
//! |---|---|
//! | `/metrics` | metrics of the last second: `OpenMetrics` 1.0 if the client accepts it, otherwise the Prometheus text format 0.0.4 |
//!
//! The server's thread formats them at each scrape.

mod text;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::watch;

use crate::http::numeric_host;
use crate::{Snapshot, http};
use text::Format;

/// Maximum duration of a scrape.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum wait for a last scrape after the run.
const LAST_SCRAPE_TIMEOUT: Duration = Duration::from_secs(15);
/// Interval between two checks whether to continue waiting.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A server of metrics in Prometheus format.
pub struct MetricsServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Receives a message per scrape.
    scraped: mpsc::Receiver<()>,
    closed: watch::Sender<bool>,
    server: JoinHandle<io::Result<()>>,
}

/// Updates the metrics of a [`MetricsServer`].
pub struct MetricsFeed(Arc<Shared>);

struct Shared {
    last: Mutex<Option<Snapshot>>,
    scraped: mpsc::Sender<()>,
}

impl MetricsServer {
    /// Serves at `address`; port 0 means any free port. At a loopback address, the server responds only to requests for
    /// an IP address or `localhost`.
    ///
    /// # Errors
    /// The address is not available, or the system cannot start a thread.
    pub fn serve(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (on_scrape, scraped) = mpsc::channel();
        let shared = Arc::new(Shared { last: Mutex::default(), scraped: on_scrape });
        let router = Router::new()
            .route("/metrics", get(metrics))
            .fallback((StatusCode::NOT_FOUND, "metrics are at /metrics\n"))
            .with_state(shared.clone());
        let router = if address.ip().is_loopback() { router.layer(from_fn(guard)) } else { router };
        let (closed, closing) = watch::channel(false);
        let server = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || http::serve(listener, router, closing, SCRAPE_TIMEOUT))?;
        Ok(Self { address, shared, scraped, closed, server })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle to update the metrics.
    pub fn feed(&self) -> MetricsFeed {
        MetricsFeed(self.shared.clone())
    }

    /// Whether there was a scrape since the last call.
    pub fn was_scraped(&self) -> bool {
        self.scraped.try_iter().count() > 0
    }

    /// Waits for a last scrape, at most 15 s and while `wanted` returns true, and ends the server. Returns whether there was
    /// one.
    pub fn end_after_last_scrape(self, wanted: impl Fn() -> bool) -> bool {
        let checks = LAST_SCRAPE_TIMEOUT.as_millis() / CHECK_INTERVAL.as_millis();
        let fetched = (0..checks)
            .take_while(|_| wanted())
            .map(|_| self.scraped.recv_timeout(CHECK_INTERVAL))
            .find(|scraped| !matches!(scraped, Err(RecvTimeoutError::Timeout)));
        self.end();
        fetched == Some(Ok(()))
    }

    /// Ends the server.
    pub fn end(self) {
        let _ = self.closed.send(true);
        // An error of the server no longer matters.
        let _ = self.server.join();
    }
}

impl MetricsFeed {
    /// Sets the metrics for the following scrapes.
    pub fn update(&self, snapshot: &Snapshot) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot.clone());
    }
}

/// Rejects requests for other hosts. Who serves only this machine does not serve a page of another site that runs in a browser here.
async fn guard(request: Request, next: Next) -> Response {
    match numeric_host(request.headers()) {
        Some(_) => next.run(request).await,
        None => {
            let how = "request for another host; use an IP address or localhost\n";
            (StatusCode::FORBIDDEN, how).into_response()
        }
    }
}

async fn metrics(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> impl IntoResponse {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    let format = Format::from_accept(accepted);
    let last = shared.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let _ = shared.scraped.send(());
    ([(CONTENT_TYPE, format.content_type())], text::text(last.as_ref(), format))
}

#[cfg(test)]
mod tests;
