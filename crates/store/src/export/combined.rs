//! The lines that a server would have written for the requests, in Apache's combined log format: one for each request on the wire, at the
//! time it was sent.
//!
//! Timestamps are whole seconds and there is no duration. The client is the session, and the size includes the head of the response. As in
//! nginx's log, the status is 000 without a response.

use std::io::{self, Write};

use offered_events::{Event, Outcome, Recording};
use offered_workload::Call;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::request_info::{Path, RequestInfo, RequestsByLabel};
use super::{Omissions, RunContext, each, label, status};

/// Characters that are percent-encoded in paths.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'\\');

pub(super) fn write(recording: &Recording, run: &RunContext<'_>, out: &mut dyn Write) -> io::Result<Omissions> {
    let requests = RequestsByLabel::new(recording, run.workload);
    let mut omitted = Omissions::default();
    let by_sent = |event: &Event| Some((event.sent?.0, event.done));
    each(recording, by_sent, |event, (sent, _)| {
        let known = requests.of(event);
        if event.attempt == 0 && event.retries > 0 {
            return Ok(());
        }
        omitted.add(event.token_requests, "token requests have no line, because they are not recorded one by one");
        if !has_line(event, known, &mut omitted) {
            return Ok(());
        }
        let at = i128::from(sent + run.origin.0);
        let at = jiff::Timestamp::from_nanosecond(at).map_err(io::Error::other)?;
        let time = at.strftime("%d/%b/%Y:%H:%M:%S +0000");
        let request = request_line(recording, event, known, &mut omitted);
        let user = if recording.sessions_known { format!("user-{}", event.session) } else { "-".to_owned() };
        let (status, bytes) = (status(event), event.bytes_in);
        let agent = known.map_or("offered", |known| agent(known));
        omitted.add(event.redirects, "redirects have no line, because only their last response is recorded");
        writeln!(out, "{user} - - [{time}] \"{request}\" {status:03} {bytes} \"-\" \"{agent}\"")
    })?;
    Ok(omitted)
}

/// Whether an HTTP server has received the request, according to the recording.
fn has_line(event: &Event, known: Option<&RequestInfo<'_>>, omitted: &mut Omissions) -> bool {
    let is_http = match known.map(|known| known.request.call()) {
        Some(Call::Sql(_)) => false,
        // The opening handshake is a request of HTTP; later messages use its connection.
        Some(Call::WebSocket(_)) => !event.reused && event.status > 0,
        Some(Call::Http | Call::Grpc) | None => true,
    };
    omitted.count(!is_http, "requests without a line: they are SQL or WebSocket messages");
    let has_token = event.outcome != Outcome::AuthError;
    omitted.count(is_http && !has_token, "requests without a line: they got no access token");
    let arrived = event.reached_the_wire();
    omitted.count(is_http && has_token && !arrived, "requests without a line: they had no connection to the server");
    is_http && arrived
}

/// Method, path and version. Without a workload, the path is the label.
fn request_line(
    recording: &Recording,
    event: &Event,
    known: Option<&RequestInfo<'_>>,
    omitted: &mut Omissions,
) -> String {
    let name = label(recording, event);
    let method = known.and_then(|known| known.method(event)).unwrap_or("GET");
    let path = known.map_or(Path::Unknown, |known| known.path(event));
    let path = match &path {
        Path::Sent(path) => without_origin(path),
        Path::Template(template) => {
            omitted.count(true, "lines with names in braces for values of the path that are not recorded");
            template
        }
        Path::Unknown => {
            omitted.count(true, "lines with the name of the request as its path, which is not recorded");
            name
        }
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    let version = match known.and_then(RequestInfo::http_version) {
        Some("2") => "HTTP/2.0",
        _ => "HTTP/1.1",
    };
    format!("{method} {slash}{} {version}", utf8_percent_encode(path, ENCODED))
}

/// The path of a URL.
fn without_origin(url: &str) -> &str {
    let Some((_, rest)) = url.split_once("://").filter(|_| !url.starts_with('/')) else { return url };
    rest.find('/').map_or("/", |path| &rest[path..])
}

/// The user agent that the workload sets, or that of the generator.
fn agent<'a>(known: &RequestInfo<'a>) -> &'a str {
    let set = known.request.headers_to(known.target).find(|(name, _)| name.eq_ignore_ascii_case("user-agent"));
    match set {
        Some((_, agent)) => agent.text().filter(|text| !text.contains(['"', '\\'])).unwrap_or("-"),
        None => concat!("offered/", env!("CARGO_PKG_VERSION")),
    }
}
