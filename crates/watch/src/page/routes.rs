//! What the live page's server answers.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::sse::{Event, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::{Stream, unfold};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{News, Shared};

const PAGE: &str = include_str!("live.html");
const STYLE: &str = include_str!("live.css");
const SCRIPT: &str = include_str!("live.js");

/// Only our own script and style, nothing from elsewhere, and in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

type Headers = [(HeaderName, HeaderValue); 3];

/// The token stays out of caches, of the referrers of links, and of sniffers' guesses.
const fn headers() -> Headers {
    [
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ]
}

/// The paths under `token`; there are no others.
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
        .fallback((StatusCode::NOT_FOUND, "nothing here; the run prints the whole link on stderr\n"))
        .layer(from_fn(guard))
        .with_state(shared)
}

/// Lets pass what was asked of this server by its own page.
async fn guard(request: Request, next: Next) -> Response {
    match is_ours(request.headers()) {
        true => next.run(request).await,
        false => (StatusCode::FORBIDDEN, "asked in the name of another site\n").into_response(),
    }
}

/// Whether this is asked in no other name than ours. A foreign page whose name was made to point here (DNS rebinding) asks in that name,
/// and one that sends its readers here says where they come from.
fn is_ours(headers: &HeaderMap) -> bool {
    let header = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = header(HOST).unwrap_or_default();
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    let is_address = name == "localhost" || name.parse::<IpAddr>().is_ok();
    is_address && header(ORIGIN).is_none_or(|origin| origin.strip_prefix("http://") == Some(host))
}

/// The live page, or the report once there is one.
async fn page(State(shared): State<Arc<Shared>>) -> Response {
    match shared.report.get() {
        Some(report) => {
            // Whoever waited may have given up.
            let _ = shared.fetched.send(());
            (headers(), Html(report.clone())).into_response()
        }
        None => (headers(), [(CONTENT_SECURITY_POLICY, POLICY)], Html(PAGE)).into_response(),
    }
}

/// What a page that is open has still to be told.
struct Told {
    first: Option<Event>,
    past: VecDeque<Arc<str>>,
    news: Option<Receiver<News>>,
}

async fn events(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let (past, news) = shared.listen();
    let about = serde_json::json!({ "about": shared.about, "can_stop": shared.stop.is_some() });
    let first = Event::default().event("about").data(about.to_string());
    (headers(), Sse::new(stream(Told { first: Some(first), past, news: Some(news) })))
}

fn stream(told: Told) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(told, |mut told| async move { Some((Ok(next(&mut told).await?), told)) })
}

/// What to tell next; `None`: nothing any more.
async fn next(told: &mut Told) -> Option<Event> {
    let pulse = |json: Arc<str>| Event::default().event("pulse").data(json);
    if let Some(event) = told.first.take().or_else(|| told.past.pop_front().map(pulse)) {
        return Some(event);
    }
    loop {
        match told.news.as_mut()?.recv().await {
            Ok(News::Pulse(json)) => return Some(pulse(json)),
            Ok(News::Ended) => {
                told.news = None;
                // Browsers drop an event without data.
                return Some(Event::default().event("ended").data("the page is now the report"));
            }
            // A browser that slept has missed some; the next pulse says all that matters.
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
