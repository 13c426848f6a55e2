//! The live page: the pulses of a run in a browser, and a button that stops it.
//!
//! An HTTP server on a thread of its own, which is only there when somebody asked for it. Its address holds a token drawn
//! from the system's randomness: who does not know it finds nothing, and a foreign page cannot press the button.
//!
//! | path | answer |
//! |---|---|
//! | `/TOKEN/` | the page; once the run is over, its report |
//! | `/TOKEN/events` | server-sent events: `about`, then a `pulse` a second (the past ones first), at last `ended` |
//! | `/TOKEN/stop` (POST) | stops the run as Ctrl-C does, where the page is the run's own |

mod routes;

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{broadcast, watch};

use crate::{Pulse, http};

/// So many pulses are kept for pages that are opened later: a quarter of an hour.
const KEPT: usize = 900;
/// So long a page that is open may take to fetch the report, and to read it.
const GRACE: Duration = Duration::from_secs(10);

/// A page being served.
pub struct Page {
    url: String,
    shared: Arc<Shared>,
    /// Told whenever a browser has asked for the report.
    fetched: mpsc::Receiver<()>,
    closed: watch::Sender<bool>,
    server: JoinHandle<io::Result<()>>,
}

/// What feeds a page with pulses.
pub struct Feed(Arc<Shared>);

/// What the requests of all browsers meet in.
struct Shared {
    about: String,
    /// Stops the run, where that is in our hands.
    stop: Option<Arc<AtomicBool>>,
    past: Mutex<VecDeque<Arc<str>>>,
    news: broadcast::Sender<News>,
    report: OnceLock<String>,
    fetched: mpsc::Sender<()>,
}

/// What open pages are told.
#[derive(Clone)]
enum News {
    /// A pulse, as JSON.
    Pulse(Arc<str>),
    /// The run is over and the report is there.
    Ended,
}

impl Page {
    /// Serves at `address` (port 0: a free one) the page of a run which `about` describes in a line; its button sets `stop`, and without one
    /// there is no button.
    ///
    /// # Errors
    /// The address cannot be had, or the system has no room for another thread.
    pub fn serve(address: SocketAddr, about: String, stop: Option<Arc<AtomicBool>>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let token = token()?;
        let url = format!("http://{}/{token}/", listener.local_addr()?);
        let (news, _) = broadcast::channel(16);
        let (told, fetched) = mpsc::channel();
        let (past, report) = (Mutex::default(), OnceLock::new());
        let shared = Arc::new(Shared { about, stop, past, news, report, fetched: told });
        let (closed, closing) = watch::channel(false);
        let router = routes::router(&token, shared.clone());
        let server = std::thread::Builder::new()
            .name("page".to_owned())
            .spawn(move || http::serve(listener, router, closing, GRACE))?;
        Ok(Self { url, shared, fetched, closed, server })
    }

    /// Where it is, token and all.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What feeds it.
    pub fn feed(&self) -> Feed {
        Feed(self.shared.clone())
    }

    /// The page becomes `report`, an HTML document: waits until every page that is open has fetched it, or for ten seconds
    /// without any that did, and ends the server. Without an open page it does not wait.
    pub fn end(self, report: String) {
        let open = self.shared.news.receiver_count();
        // The first report stays; there is no second.
        let _ = self.shared.report.set(report);
        let _ = self.shared.news.send(News::Ended);
        for _ in 0..open {
            if self.fetched.recv_timeout(GRACE).is_err() {
                break;
            }
        }
        let _ = self.closed.send(true);
        // A server that failed has nothing more to serve.
        let _ = self.server.join();
    }
}

impl Feed {
    /// Shows `pulse` on every page that is open, and keeps it for those to come. Never waits for a browser.
    pub fn show(&self, pulse: &Pulse) {
        let json: Arc<str> = serde_json::to_string(pulse).expect("numbers and texts").into();
        let mut past = self.0.past();
        if past.len() == KEPT {
            past.pop_front();
        }
        past.push_back(json.clone());
        // Nobody may be there to see it.
        let _ = self.0.news.send(News::Pulse(json));
    }
}

impl Shared {
    fn past(&self) -> MutexGuard<'_, VecDeque<Arc<str>>> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pulses so far and all news from then on, without a gap and without one twice.
    fn listen(&self) -> (VecDeque<Arc<str>>, broadcast::Receiver<News>) {
        let past = self.past();
        (past.clone(), self.news.subscribe())
    }
}

/// 128 bits that nobody can guess, in hexadecimal digits.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
