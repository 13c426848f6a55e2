//! The configuration shared by all threads of a run.

use std::sync::Arc;

use offered_base::Nanos;
use offered_workload::template::{Piece, Template};
use offered_workload::{Call, Chat, Reuse, Workload};
use regex::bytes::Regex;

use super::WebSocket;
use crate::Error;
use crate::transport::route::Route;
use crate::transport::unscripted::{Requests, Unscripted};
use crate::transport::{ProtocolSetup, ThreadResources, preflight};

/// The configuration shared by all threads of a run.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(super) route: Arc<Route>,
    /// Scheme and authority, put before the path of a request.
    pub(super) origin: Arc<str>,
    /// What each request waits for, by label.
    pub(super) expected: Arc<[ExpectedMessage]>,
    pub(super) reuse: Reuse,
    pub(super) connect_timeout: Nanos,
    pub(super) response_timeout: Nanos,
}

/// What a request waits for.
#[derive(Clone, Debug, Default)]
pub(super) struct ExpectedMessage {
    /// The messages that count; `None`: any message, or a pattern that depends on the request.
    pub(super) pattern: Option<Regex>,
    pub(super) chat: Chat,
}

impl ExpectedMessage {
    /// Compiles the expected messages of `chat`, as far as they are known before the run.
    fn new(chat: &Chat, response_timeout: Nanos) -> Result<Self, String> {
        let no_regex = |reason| format!("websocket.await is not a valid regular expression: {reason}");
        let known = chat.awaited.as_ref().and_then(Template::text);
        let pattern = known.map(Regex::new).transpose().map_err(no_regex)?;
        if let Some(own) = chat.awaited.as_ref().filter(|_| known.is_none()) {
            // Values are matched literally, so a sample value shows whether the pattern is valid.
            let piece = |piece: &Piece| if let Piece::Text(text) = piece { text.to_string() } else { "x".to_owned() };
            Regex::new(&own.pieces().iter().map(piece).collect::<String>()).map_err(no_regex)?;
        }
        match chat.listen {
            Some(listen) if listen >= response_timeout => Err(format!(
                "listens for {listen}, but target.response_timeout is {response_timeout}; raise the timeout"
            )),
            _ => Ok(Self { pattern, chat: chat.clone() }),
        }
    }
}

impl Setup {
    /// For the target of `workload`, number `index` of all, reached by `route`.
    ///
    /// # Errors
    /// No target, or an invalid regular expression.
    pub(crate) fn new(workload: &Workload, index: u16, route: Arc<Route>) -> Result<Self, Error> {
        let target = workload.target().ok_or(Error::NoTarget)?;
        let expected = workload.requests().iter().map(|request| {
            let invalid = |reason: String| Error::Request { name: request.name().to_owned(), reason };
            match request.call() {
                Call::WebSocket(chat) if request.target() == index => {
                    ExpectedMessage::new(chat, target.response_timeout()).map_err(invalid)
                }
                _ => Ok(ExpectedMessage::default()),
            }
        });
        let scheme = if target.url().secure { "wss" } else { "ws" };
        Ok(Self {
            route,
            origin: format!("{scheme}://{}", target.url().host()).into(),
            expected: expected.collect::<Result<_, _>>()?,
            reuse: target.reuse(),
            connect_timeout: target.connect_timeout(),
            response_timeout: target.response_timeout(),
        })
    }
}

impl ProtocolSetup for Setup {
    type Client = WebSocket;
    type Unscripted = Unscripted<WebSocket>;

    fn preflight(&self) -> Result<(), Error> {
        preflight::check(&self.route, false, self.connect_timeout)
    }

    fn connect(self, thread: ThreadResources<'_>) -> Result<WebSocket, Error> {
        Ok(WebSocket::new(self, thread))
    }

    fn unscripted(client: WebSocket, requests: Requests, worker: u16) -> Unscripted<WebSocket> {
        Unscripted::new(client, requests, worker)
    }
}
