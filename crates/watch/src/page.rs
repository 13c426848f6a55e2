//! The live page: the figures of a run in a browser, and a button that stops the run.
//!
//! An HTTP server in its own thread serves it; it runs only on request. The URL contains a random token, without which
//! the page is not reachable. So pages of other sites cannot press the button.
//!
//! | path | response |
//! |---|---|
//! | `/TOKEN/` | the page; once the run is over, its report |
//! | `/TOKEN/events` | server-sent events: `about`, then a `snapshot` per second (past ones first), finally `ended` |
//! | `/TOKEN/stop` (POST) | stops the run like Ctrl-C, if the page belongs to the process that runs it |

mod routes;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use offered_base::visible;
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use crate::{Snapshot, http};

/// Number of snapshots stored for pages that are opened later: a quarter of an hour.
const MAX_PAST: usize = 900;
/// Maximum time for an open page to fetch the report and to read it.
const GRACE: Duration = Duration::from_secs(10);

/// A live page.
pub struct LivePage {
    url: String,
    shared: Arc<Shared>,
    /// Receives a message whenever a browser has fetched the report.
    fetched: mpsc::Receiver<()>,
    closed: watch::Sender<bool>,
    server: JoinHandle<io::Result<()>>,
}

/// Updates a live page.
pub struct PageFeed(Arc<Shared>);

/// The state that all connections share.
struct Shared {
    about: String,
    /// Stops the run, if the page may do so.
    stop: Option<Arc<AtomicBool>>,
    past: Mutex<VecDeque<Arc<str>>>,
    messages: broadcast::Sender<Message>,
    report: OnceLock<String>,
    fetched: mpsc::Sender<()>,
}

/// A message to open pages.
#[derive(Clone)]
enum Message {
    /// A snapshot, as JSON.
    Snapshot(Arc<str>),
    /// The run is over and the report is available.
    Ended,
}

impl LivePage {
    /// Serves the page of a run at `address`; port 0 means any free port. `about` describes the run in one line. The
    /// stop button sets `stop`; `None` means no button.
    ///
    /// # Errors
    /// The address is not available, or the system cannot start a thread.
    pub fn serve(address: SocketAddr, about: String, stop: Option<Arc<AtomicBool>>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let token = token()?;
        let url = format!("http://{}/{token}/", listener.local_addr()?);
        let (messages, _) = broadcast::channel(16);
        let (on_fetch, fetched) = mpsc::channel();
        let (past, report) = (Mutex::default(), OnceLock::new());
        let about = visible(&about).into_owned();
        let shared = Arc::new(Shared { about, stop, past, messages, report, fetched: on_fetch });
        let (closed, closing) = watch::channel(false);
        let router = routes::router(&token, shared.clone());
        let server = std::thread::Builder::new()
            .name("page".to_owned())
            .spawn(move || http::serve(listener, router, closing, GRACE))?;
        Ok(Self { url, shared, fetched, closed, server })
    }

    /// The URL, with the token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A handle to update the page.
    pub fn feed(&self) -> PageFeed {
        PageFeed(self.shared.clone())
    }

    /// Replaces the page by `report`, an HTML document. Waits until all open pages have fetched it, at most ten seconds between two fetches, and
    /// ends the server. Does not wait if no page is open.
    pub fn end(self, report: String) {
        let open = self.shared.messages.receiver_count();
        // Only the first report counts.
        let _ = self.shared.report.set(report);
        let _ = self.shared.messages.send(Message::Ended);
        for _ in 0..open {
            if self.fetched.recv_timeout(GRACE).is_err() {
                break;
            }
        }
        let _ = self.closed.send(true);
        // An error of the server no longer matters.
        let _ = self.server.join();
    }
}

impl PageFeed {
    /// Shows a snapshot on all open pages, and stores it for later ones. Never waits for a browser.
    pub fn update(&self, snapshot: &Snapshot) {
        let mut document = serde_json::to_value(snapshot).expect("numbers and texts");
        make_readable(&mut document);
        let json: Arc<str> = document.to_string().into();
        let mut past = self.0.past();
        if past.len() == MAX_PAST {
            past.pop_front();
        }
        past.push_back(json.clone());
        // There may be no open page.
        let _ = self.0.messages.send(Message::Snapshot(json));
    }
}

/// Shows unreadable characters in all texts of a document as escapes, because names of requests, workers and errors
/// come from outside.
fn make_readable(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(safe) = visible(text) {
                *text = safe;
            }
        }
        Value::Array(all) => all.iter_mut().for_each(make_readable),
        Value::Object(all) => all.values_mut().for_each(make_readable),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Shared {
    fn past(&self) -> MutexGuard<'_, VecDeque<Arc<str>>> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Past snapshots and a receiver of all later messages, without gaps or duplicates.
    fn subscribe(&self) -> (VecDeque<Arc<str>>, broadcast::Receiver<Message>) {
        let past = self.past();
        (past.clone(), self.messages.subscribe())
    }
}

/// 128 random bits in hexadecimal digits.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
