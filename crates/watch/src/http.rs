//! An HTTP server in its own thread that leaves resources to the run: few connections, short time-outs.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Maximum number of open connections. Further ones wait, so that they take no file descriptors from the run.
const MAX_CONNECTIONS: usize = 64;
/// Maximum time until a client has sent a request head, on new and on persistent connections.
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

/// Serves until `closing`; returns the connections that are still open.
async fn accept_connections(
    listener: tokio::net::TcpListener,
    router: Router,
    closing: watch::Receiver<bool>,
) -> JoinSet<()> {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut open = JoinSet::new();
    loop {
        let accepted = async {
            let permit = permits.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, stream) = tokio::select! {
            (permit, Ok((stream, _))) = accepted => (permit, stream),
            () = is_closed(closing.clone()) => return open,
            else => {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (router, closing) = (router.clone(), closing.clone());
        open.spawn(async move {
            let _permit = permit;
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
            let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
            let mut connection = pin!(connection);
            tokio::select! {
                // A client may close the connection at any time.
                _ = connection.as_mut() => {}
                () = is_closed(closing) => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
        });
        while open.try_join_next().is_some() {}
    }
}

/// Waits until the server is closed or dropped.
async fn is_closed(mut closing: watch::Receiver<bool>) {
    let _ = closing.wait_for(|closed| *closed).await;
}
