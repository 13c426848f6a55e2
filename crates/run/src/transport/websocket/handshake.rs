//! The opening handshake, the message of a request, and the failures of both.

use std::io::ErrorKind;

use http::{HeaderName, HeaderValue, Request, Uri};
use offered_events::{Outcome, Reason};
use offered_workload::{Chat, bytes_of_hex};
use regex::bytes::Regex;
use tungstenite::Message;

use crate::message::OutgoingRequest;
use crate::transport::Failure;
use crate::transport::protocol_client::RequestText;

/// The message of a request.
pub(super) fn message(outgoing: &OutgoingRequest, chat: &Chat) -> Result<Option<Message>, String> {
    let Some(body) = outgoing.body.clone() else { return Ok(None) };
    match String::from_utf8(body.to_vec()) {
        Ok(text) if chat.binary => match bytes_of_hex(&text) {
            Ok(bytes) => Ok(Some(Message::binary(bytes))),
            Err(reason) => Err(format!("`{text}` {reason}")),
        },
        Ok(text) => Ok(Some(Message::text(text))),
        Err(bytes) => Ok(Some(Message::binary(bytes.into_bytes()))),
    }
}

/// The pattern of a request, if it depends on the request.
pub(super) fn pattern(outgoing: &OutgoingRequest) -> Result<Option<Regex>, String> {
    let made = outgoing.awaited.as_deref().map(Regex::new).transpose();
    made.map_err(|reason| format!("websocket.await is not a valid regular expression: {reason}"))
}

/// The request that opens a WebSocket at `origin`, with this key.
pub(super) fn handshake_request(outgoing: &OutgoingRequest, origin: &str, key: &str) -> Result<Request<()>, String> {
    let mut request = Request::new(());
    let named =
        outgoing.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host.as_str());
    let uri = format!("{origin}{}", outgoing.path);
    *request.uri_mut() =
        Uri::try_from(uri).map_err(|reason| format!("`{}` is not a valid path: {reason}", outgoing.path))?;
    let host = named.or_else(|| origin.split_once("://").map(|(_, host)| host)).unwrap_or_default();
    let own = [
        ("Host", host),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
    ];
    let given = outgoing.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in own.into_iter().chain(given.filter(|(name, _)| !name.eq_ignore_ascii_case("host"))) {
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|reason| format!("the header {name}: {reason}"))?;
        let value =
            HeaderValue::from_bytes(value.as_bytes()).map_err(|reason| format!("the header {name}: {reason}"))?;
        request.headers_mut().append(known, value);
    }
    Ok(request)
}

/// The text of a request; with the opening handshake if the connection `is_new`. The key of a real handshake is random.
pub(in crate::transport) fn request_text(outgoing: &OutgoingRequest, origin: &str, is_new: bool) -> RequestText {
    let body = outgoing.body.clone().unwrap_or_default().to_vec();
    if !is_new {
        return RequestText { head: Vec::new(), body };
    }
    match handshake_request(outgoing, origin, "(random)") {
        Err(reason) => RequestText::unavailable(reason),
        Ok(request) => {
            let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
            let headers = request.headers().iter();
            let headers = headers.map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())));
            let head = [format!("GET {path} HTTP/1.1")].into_iter().chain(headers).collect();
            RequestText { head, body }
        }
    }
}

/// Whether the operation must be tried again later.
pub(super) fn would_block(error: &tungstenite::Error) -> bool {
    matches!(error, tungstenite::Error::Io(error) if error.kind() == ErrorKind::WouldBlock)
}

/// The failure for a WebSocket error. For an HTTP response other than 101 the reason is its status.
#[allow(clippy::needless_pass_by_value)] // shaped for map_err
pub(super) fn failure(error: tungstenite::Error) -> Failure {
    use tungstenite::Error as E;
    match error {
        E::Http(response) if response.status().as_u16() >= 400 => {
            (Outcome::HttpError, response.status().as_u16().to_string().into())
        }
        E::Http(response) => {
            (Outcome::Malformed, format!("the response was {} instead of 101", response.status()).into())
        }
        E::Io(error) => (Outcome::Reset, error.into()),
        E::ConnectionClosed | E::AlreadyClosed => (Outcome::Reset, Reason::words("closed by the server")),
        E::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => {
            (Outcome::Reset, Reason::words("closed by the server without a Close frame"))
        }
        E::Protocol(tungstenite::error::ProtocolError::HandshakeIncomplete) => {
            (Outcome::Reset, Reason::words("closed by the server during the handshake"))
        }
        other => (Outcome::Malformed, other.to_string().into()),
    }
}
