//! An HTTP server in its own thread that uses few resources: it has few connections and short timeouts.
//!
//! Clients that send no complete request cannot block others: when all connections are in use, the oldest one without a
//! request is closed.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use axum::Router;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Maximum number of open connections, so that they take few file descriptors from the run.
const MAX_CONNECTIONS: usize = 64;
/// Maximum time until a client has sent a request head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed `accept`, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `closing`, then waits at most `grace` for responses in progress.
pub(crate) fn serve(
    listener: std::net::TcpListener,
    router: Router,
    closing: watch::Receiver<bool>,
    grace: Duration,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    runtime.block_on(async {
        let mut open = accept_connections(tokio::net::TcpListener::from_std(listener)?, router, closing).await;
        // Connections that do not end in time are dropped.
        let _ = tokio::time::timeout(grace, async { while open.join_next().await.is_some() {} }).await;
        Ok(())
    })
}

/// An open connection.
struct Connection {
    task: AbortHandle,
    /// Whether the request is complete; then the connection waits for its response.
    has_request: Arc<AtomicBool>,
}

/// Serves until `closing`; returns the connections that are still open.
async fn accept_connections(
    listener: tokio::net::TcpListener,
    router: Router,
    closing: watch::Receiver<bool>,
) -> JoinSet<()> {
    let (mut open, mut connections) = (JoinSet::new(), VecDeque::new());
    loop {
        // One more than the limit: a new connection waits where all others get their responses.
        let is_full = open.len() > MAX_CONNECTIONS;
        let accepted = tokio::select! {
            accepted = listener.accept(), if !is_full => accepted,
            Some(_) = open.join_next() => continue,
            () = is_closed(closing.clone()) => return open,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let has_request = Arc::new(AtomicBool::new(false));
        let task = open.spawn(serve_connection(stream, router.clone(), Arc::clone(&has_request), closing.clone()));
        connections.retain(|connection: &Connection| !connection.task.is_finished());
        connections.push_back(Connection { task, has_request });
        if connections.len() > MAX_CONNECTIONS
            && let Some(oldest) =
                connections.iter().take(MAX_CONNECTIONS).position(|connection| !connection.has_request.load(Relaxed))
            && let Some(connection) = connections.remove(oldest)
        {
            connection.task.abort();
        }
    }
}

/// Serves one request. Without persistent connections a connection either sends its request or gets its response.
async fn serve_connection(
    stream: TcpStream,
    router: Router,
    has_request: Arc<AtomicBool>,
    closing: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        has_request.store(true, Relaxed);
        router.call(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).keep_alive(false);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // A client may close the connection at any time.
        _ = connection.as_mut() => {}
        () = is_closed(closing) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Waits until the server is closed or dropped.
async fn is_closed(mut closing: watch::Receiver<bool>) {
    let _ = closing.wait_for(|closed| *closed).await;
}

/// The `Host` of a request, if it is an IP address or `localhost`. A page of another site with a name that resolves to this machine (DNS
/// rebinding) sends its own name.
pub(crate) fn numeric_host(headers: &HeaderMap) -> Option<&str> {
    let host = headers.get(HOST)?.to_str().ok()?;
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    (name == "localhost" || name.parse::<IpAddr>().is_ok()).then_some(host)
}
