//! An HTTP server on a thread of its own that never takes what a run needs: few connections, and none for longer than it asks.

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

/// At most so many connections are open at a time: more wait, and take none of the descriptors that a run needs.
const MAX_CONNECTIONS: usize = 64;
/// So long whoever connects may take to ask, on a new connection and on one that it keeps.
const HEAD: Duration = Duration::from_secs(5);
/// How soon it is tried again to take a connection when there was no descriptor for one.
const AGAIN: Duration = Duration::from_millis(100);

/// Answers until `closing`, then lets what is under way end for at most `grace`.
pub(crate) fn serve(
    listener: std::net::TcpListener,
    router: Router,
    closing: watch::Receiver<bool>,
    grace: Duration,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    runtime.block_on(async {
        let mut open = answer(tokio::net::TcpListener::from_std(listener)?, router, closing).await;
        // What does not end in time is cut off.
        let _ = tokio::time::timeout(grace, async { while open.join_next().await.is_some() {} }).await;
        Ok(())
    })
}

/// Answers until `closing`; what is then still open.
async fn answer(listener: tokio::net::TcpListener, router: Router, closing: watch::Receiver<bool>) -> JoinSet<()> {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut open = JoinSet::new();
    loop {
        let taken = async {
            let permit = room.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, stream) = tokio::select! {
            (permit, Ok((stream, _))) = taken => (permit, stream),
            () = is_closed(closing.clone()) => return open,
            else => {
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        };
        let (router, closing) = (router.clone(), closing.clone());
        open.spawn(async move {
            let _permit = permit;
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
            let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
            let mut connection = pin!(connection);
            tokio::select! {
                // Whoever hung up has what it wanted.
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

/// Waits until the server is closed; one that was dropped is closed too.
async fn is_closed(mut closing: watch::Receiver<bool>) {
    let _ = closing.wait_for(|closed| *closed).await;
}
