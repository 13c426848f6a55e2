//! The figures of a run for a Prometheus, or whoever else reads what it reads.
//!
//! | path | answer |
//! |---|---|
//! | `/metrics` | the figures of the last second: `OpenMetrics` 1.0 to who accepts it, else the text format 0.0.4 of Prometheus |
//!
//! They are written when they are asked for, by the server's own thread.

mod text;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::sync::watch;

use crate::{Pulse, http};
use text::Form;

/// So long a scrape may take.
const GRACE: Duration = Duration::from_secs(2);
/// So long whoever asked before is given to ask once more when the run is over.
const LAST: Duration = Duration::from_secs(15);
/// So often it is looked meanwhile whether that is still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// A server of metrics.
pub struct Metrics {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Told at every scrape.
    asked: mpsc::Receiver<()>,
    closed: watch::Sender<bool>,
    server: JoinHandle<io::Result<()>>,
}

/// What feeds it.
pub struct Scraped(Arc<Shared>);

struct Shared {
    last: Mutex<Option<Pulse>>,
    asked: mpsc::Sender<()>,
}

impl Metrics {
    /// Serves at `address` (port 0: a free one).
    ///
    /// # Errors
    /// The address cannot be had, or the system has no room for another thread.
    pub fn serve(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (told, asked) = mpsc::channel();
        let shared = Arc::new(Shared { last: Mutex::default(), asked: told });
        let router = Router::new()
            .route("/metrics", get(metrics))
            .fallback((axum::http::StatusCode::NOT_FOUND, "the figures are at /metrics\n"))
            .with_state(shared.clone());
        let (closed, closing) = watch::channel(false);
        let server = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || http::serve(listener, router, closing, GRACE))?;
        Ok(Self { address, shared, asked, closed, server })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What feeds it.
    pub fn feed(&self) -> Scraped {
        Scraped(self.shared.clone())
    }

    /// Whether anybody has asked since this was last called, or [`Metrics::end`].
    pub fn was_asked(&self) -> bool {
        self.asked.try_iter().count() > 0
    }

    /// Lets whoever asks have the last figures once, for at most 15 s and as long as `wanted`, and ends the server; whether they were
    /// fetched.
    pub fn end_asked(self, wanted: impl Fn() -> bool) -> bool {
        let looks = LAST.as_millis() / LOOK.as_millis();
        let fetched = (0..looks)
            .take_while(|_| wanted())
            .map(|_| self.asked.recv_timeout(LOOK))
            .find(|asked| !matches!(asked, Err(RecvTimeoutError::Timeout)));
        self.end();
        fetched == Some(Ok(()))
    }

    /// Ends the server.
    pub fn end(self) {
        let _ = self.closed.send(true);
        // A server that failed has nothing more to serve.
        let _ = self.server.join();
    }
}

impl Scraped {
    /// Has this answered to whoever asks from now on.
    pub fn show(&self, pulse: &Pulse) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(pulse.clone());
    }
}

async fn metrics(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> impl IntoResponse {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    let form = Form::accepted(accepted);
    let last = shared.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let _ = shared.asked.send(());
    ([(CONTENT_TYPE, form.content_type())], text::text(last.as_ref(), form))
}

#[cfg(test)]
mod tests;
