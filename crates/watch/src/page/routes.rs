//! The routes of the live page's server.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::sse::{Event, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::{Stream, unfold};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{Message, Shared};
use crate::http::numeric_host;

const PAGE: &str = include_str!("live.html");
const STYLE: &str = include_str!("live.css");
const SCRIPT: &str = include_str!("live.js");

/// Allows only our own script and style, no external resources, and no embedding.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

type Headers = [(HeaderName, HeaderValue); 3];

/// Keeps the token out of caches and referrers, and forbids content sniffing.
const fn headers() -> Headers {
    [
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ]
}

/// All paths below `token`.
pub(super) fn router(token: &str, shared: Arc<Shared>) -> Router {
    let of_type = |kind: &'static str, text: &'static str| {
        get(async move || (headers(), [(CONTENT_TYPE, HeaderValue::from_static(kind))], text))
    };
    let at = |path: &str| format!("/{token}/{path}");
    Router::new()
        .route(&at(""), get(page))
        .route(&at("live.css"), of_type("text/css; charset=utf-8", STYLE))
        .route(&at("live.js"), of_type("text/javascript; charset=utf-8", SCRIPT))
        .route(&at("events"), get(events))
        .route(&at("stop"), post(stop))
        .fallback((StatusCode::NOT_FOUND, "not found; the run prints the complete link on stderr\n"))
        .layer(from_fn(guard))
        .with_state(shared)
}

/// Rejects requests that another site caused.
async fn guard(request: Request, next: Next) -> Response {
    match is_ours(request.headers()) {
        true => next.run(request).await,
        false => (StatusCode::FORBIDDEN, "request from another site\n").into_response(),
    }
}

/// Whether `Host` is an address or localhost, and `Origin`, if present, is that of this page. (A cross-site request has
/// a foreign origin.)
fn is_ours(headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).map(|value| value.to_str().unwrap_or_default());
    let is_same = |host: &str| origin.is_none_or(|origin| origin.strip_prefix("http://") == Some(host));
    numeric_host(headers).is_some_and(is_same)
}

/// The live page, or the report once there is one.
async fn page(State(shared): State<Arc<Shared>>) -> Response {
    match shared.report.get() {
        Some(report) => {
            // The page may already have been shut down.
            let _ = shared.fetched.send(());
            (headers(), Html(report.clone())).into_response()
        }
        None => (headers(), [(CONTENT_SECURITY_POLICY, POLICY)], Html(PAGE)).into_response(),
    }
}

/// The events that are still to be sent to an open page.
struct EventStream {
    first: Option<Event>,
    past: VecDeque<Arc<str>>,
    messages: Option<Receiver<Message>>,
}

async fn events(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let (past, messages) = shared.subscribe();
    let about = serde_json::json!({ "about": shared.about, "can_stop": shared.stop.is_some() });
    let first = Event::default().event("about").data(about.to_string());
    (headers(), Sse::new(stream(EventStream { first: Some(first), past, messages: Some(messages) })))
}

fn stream(state: EventStream) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(state, |mut state| async move { Some((Ok(next(&mut state).await?), state)) })
}

/// The next event; `None` at the end.
async fn next(state: &mut EventStream) -> Option<Event> {
    let snapshot = |json: Arc<str>| Event::default().event("snapshot").data(json);
    if let Some(event) = state.first.take().or_else(|| state.past.pop_front().map(snapshot)) {
        return Some(event);
    }
    loop {
        match state.messages.as_mut()?.recv().await {
            Ok(Message::Snapshot(json)) => return Some(snapshot(json)),
            Ok(Message::Ended) => {
                state.messages = None;
                // Browsers ignore events without data.
                return Some(Event::default().event("ended").data("the page is now the report"));
            }
            // A slow browser has missed some messages; the next snapshot has all current figures.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}

async fn stop(State(shared): State<Arc<Shared>>) -> StatusCode {
    let Some(stop) = &shared.stop else { return StatusCode::NOT_FOUND };
    stop.store(true, Relaxed);
    StatusCode::NO_CONTENT
}
