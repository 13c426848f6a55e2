//! One request and its response, as a stream of a connection.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_io::Clock;

use crate::event_stream::DataArrival;
use crate::message::{OutgoingRequest, Response};
use crate::transport::Failure;
use crate::transport::event_loop::PendingExchange;
use crate::transport::grpc::{self, Methods};
use crate::transport::protocol_client::Completion;
use crate::transport::reading::ReadingLateness;

/// An exchange in flight.
pub(crate) struct Exchange {
    /// The event so far.
    pub(super) event: Event,
    /// The key of its connection.
    pub(super) connection: usize,
    /// Distinguishes it from other exchanges with the same key.
    pub(super) serial: u64,
    /// What is sent as soon as the connection is open.
    pub(super) request: Option<HeadAndBody>,
    /// The request, in case it must be sent again.
    pub(super) outgoing: Arc<OutgoingRequest>,
    /// The part of the body that flow control still holds back, and its stream.
    pub(super) sending: Option<(SendStream<Bytes>, Bytes)>,
    /// Whether the body is held back until the server asks for it.
    pub(super) held: bool,
    pub(super) state: State,
    response: Box<Response>,
    /// The trailers of the response.
    trailers: Option<HeaderMap>,
}

/// The head of a request, and its body if there is one.
pub(super) type HeadAndBody = (Request<()>, Option<Bytes>);

/// The progress of the response.
pub(super) enum State {
    /// Not sent yet, or cancelled.
    Waiting,
    Head(ResponseFuture),
    Body(RecvStream),
    Over,
}

/// Adds the headers of a gRPC call. The body of a call is JSON only outside of this client.
pub(super) fn add_grpc_headers(headers: &mut HeaderMap) {
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(http::header::TE, HeaderValue::from_static("trailers"));
}

/// Builds a request to the server at `origin` (scheme and authority); a gRPC call if there is a `method`.
pub(super) fn request(
    outgoing: &OutgoingRequest,
    origin: &str,
    method: Option<&grpc::Method>,
) -> Result<HeadAndBody, String> {
    let mut head = Request::new(());
    *head.version_mut() = Version::HTTP_2;
    let path = method.map_or(outgoing.path.as_str(), grpc::Method::path);
    let named = outgoing.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let uri = match named {
        Some((_, host)) => format!("{}://{host}{path}", origin.split("://").next().unwrap_or("http")),
        None => format!("{origin}{path}"),
    };
    *head.uri_mut() = Uri::try_from(uri).map_err(|reason| format!("`{path}` is not a valid path: {reason}"))?;
    *head.method_mut() = match method {
        Some(_) => Method::POST,
        None => Method::from_bytes(outgoing.method.as_bytes())
            .map_err(|reason| format!("the method {}: {reason}", outgoing.method))?,
    };
    for (name, value) in outgoing.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|reason| format!("the header {name}: {reason}"))?;
        let value =
            HeaderValue::from_bytes(value.as_bytes()).map_err(|reason| format!("the header {name}: {reason}"))?;
        head.headers_mut().append(known, value);
    }
    let body = match method {
        Some(method) => {
            add_grpc_headers(head.headers_mut());
            Some(method.encode(outgoing.body.as_deref().unwrap_or(b"{}"))?)
        }
        None => outgoing.body.clone(),
    };
    if let Some(body) = body.as_ref().filter(|_| method.is_none()) {
        head.headers_mut().insert(http::header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    // An empty body needs no frame of its own.
    Ok((head, body.filter(|body| !body.is_empty())))
}

impl PendingExchange for Exchange {
    fn is_pending(&self, serial: u64) -> bool {
        self.serial == serial
    }

    fn event(&self) -> Option<&Event> {
        Some(&self.event)
    }
}

impl Exchange {
    /// An exchange that keeps up to `body_limit` bytes of the response body.
    pub(super) fn new(
        event: Event,
        connection: usize,
        serial: u64,
        request: HeadAndBody,
        outgoing: Arc<OutgoingRequest>,
        body_limit: usize,
    ) -> Self {
        Self {
            event,
            connection,
            serial,
            request: Some(request),
            held: outgoing.expects_continue(),
            state: State::Waiting,
            response: Box::new(Response::to(&outgoing, body_limit)),
            outgoing,
            sending: None,
            trailers: None,
        }
    }

    /// Whether the stream has ended by itself.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Sends as much of the body as flow control allows. That much counts as sent.
    pub(super) fn send_body(&mut self, context: &mut Context<'_>) {
        if self.held {
            return;
        }
        while let Some((stream, body)) = &mut self.sending {
            stream.reserve_capacity(body.len());
            let room = match stream.capacity() {
                0 => match stream.poll_capacity(context) {
                    Poll::Ready(Some(Ok(room))) => room,
                    Poll::Pending => return,
                    // The stream is over; its response tells why.
                    Poll::Ready(_) => 0,
                },
                room => room,
            };
            let piece = body.split_to(room.min(body.len()));
            let (sent, is_last) = (piece.len(), body.is_empty());
            if sent == 0 || stream.send_data(piece, is_last).is_err() {
                self.sending = None;
                return;
            }
            self.event.bytes_out += sent as u64;
            if is_last {
                self.sending = None;
            }
        }
    }

    /// The reason for a call that exceeded its own deadline.
    pub(super) fn deadline_exceeded(&self) -> Reason {
        if let Some(listen) = self.outgoing.stream.as_ref().and_then(|stream| stream.listen()) {
            return Reason::ResponseTimeout(listen);
        }
        let timeout = self.outgoing.grpc_timeout().ok().flatten().unwrap_or_default();
        format!("DEADLINE_EXCEEDED: no complete response within the grpc-timeout of {timeout}").into()
    }

    /// The failure for a stream error. An error before the response has begun may mean that the request was not
    /// processed.
    pub(super) fn failure(&self, error: &h2::Error) -> Failure {
        let refused = error.is_go_away() || error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        let (outcome, reason) = failure(error);
        let unprocessed = refused && error.is_remote() && self.event.first_byte.is_none();
        (if unprocessed { Outcome::Unprocessed } else { outcome }, reason)
    }

    /// Reads what has arrived, until the response is complete. `arrival` is the receive time of the latest read of its
    /// connection.
    pub(super) fn poll_response(
        &mut self,
        context: &mut Context<'_>,
        clock: &Clock,
        arrival: DataArrival,
        completions: &mut Vec<Completion>,
    ) -> Poll<Result<(), Failure>> {
        self.send_body(context);
        if let Some(stream) = &mut self.response.stream {
            stream.begin_read(clock.now(), arrival, self.event.sent);
        }
        loop {
            match &mut self.state {
                State::Waiting => return Poll::Pending,
                State::Over => return Poll::Ready(Ok(())),
                State::Head(response) => {
                    if self.held
                        && let Poll::Ready(Some(Ok(interim))) = response.poll_informational(context)
                    {
                        self.held = interim.status() != http::StatusCode::CONTINUE;
                        self.send_body(context);
                        continue;
                    }
                    let response = match ready!(Pin::new(response).poll(context)) {
                        Ok(response) => response,
                        Err(error) => return Poll::Ready(Err(self.failure(&error))),
                    };
                    let (head, body) = response.into_parts();
                    let now = clock.now();
                    self.event.first_byte = Some(now);
                    self.event.reading_lateness = self.lateness(arrival.stamp, now);
                    self.event.status = head.status.as_u16();
                    let header = |(name, value): (&HeaderName, &HeaderValue)| {
                        (name.as_str().to_owned(), value.as_bytes().to_vec())
                    };
                    self.response.headers = head.headers.iter().map(header).collect();
                    self.response.begin_stream(self.event.status);
                    let Event { session, object, .. } = self.event;
                    completions.push(Completion::FirstByte { session, object });
                    self.state = State::Body(body);
                }
                State::Body(body) => match ready!(body.poll_data(context)) {
                    Some(Ok(data)) => {
                        self.event.bytes_in += data.len() as u64;
                        self.response.add(&data);
                        // Fails if the stream has been reset since; then there is no window to enlarge.
                        let _ = body.flow_control().release_capacity(data.len());
                        if self.response.stream.as_ref().is_some_and(|stream| stream.is_over()) {
                            return Poll::Ready(Ok(()));
                        }
                    }
                    // The response is complete, and the server does not want the rest of the request.
                    Some(Err(error)) if error.reason() == Some(h2::Reason::NO_ERROR) && error.is_reset() => {
                        self.state = State::Over;
                    }
                    Some(Err(error)) => return Poll::Ready(Err(failure(&error))),
                    None => {
                        self.trailers = ready!(body.poll_trailers(context)).map_err(|error| failure(&error))?;
                        self.state = State::Over;
                    }
                },
            }
        }
    }

    fn lateness(&self, arrival: Option<Nanos>, now: Instant) -> Option<Nanos> {
        ReadingLateness::of_response(arrival?, self.event.sent, now)
    }

    /// Reports the complete response, whose last bytes had this `arrival`. The outcome follows from the HTTP status or, for
    /// a call, from the gRPC status.
    pub(super) fn complete(
        &mut self,
        now: Instant,
        arrival: Option<Nanos>,
        methods: &Methods,
        completions: &mut Vec<Completion>,
    ) {
        let outcome = if self.event.status < 400 { Outcome::Ok } else { Outcome::HttpError };
        let done_lateness = self.lateness(arrival, now);
        let mut event = Event { done: Some(now), done_lateness, outcome, ..self.event.clone() };
        let mut response = std::mem::take(&mut self.response);
        if let Some(method) = methods.of(event.label)
            && let Err((outcome, reason)) = method.decode_response(&mut response, self.trailers.as_ref(), outcome)
        {
            (event.outcome, event.error) = (outcome, Some(reason));
            if !outcome.is_response() {
                event.status = 0;
            }
        }
        response.conclude_stream(&mut event);
        let response = event.outcome.is_response().then_some(response);
        completions.push(Completion::Done(event, response));
    }

    /// Reports a failure.
    pub(super) fn fail(mut self, now: Instant, (outcome, reason): Failure, completions: &mut Vec<Completion>) {
        // The status of an incomplete response does not count.
        let mut event = Event { done: Some(now), outcome, status: 0, error: Some(reason), ..self.event };
        self.response.conclude_stream(&mut event);
        completions.push(Completion::Done(event, None));
    }

    /// The time for which a stream is read is over. Returns whether the exchange ends with that: its response has a head.
    pub(super) fn stop_listening(&mut self) -> bool {
        if let Some(stream) = &mut self.response.stream {
            stream.stop_listening();
        }
        self.outgoing.stream.is_some() && self.event.first_byte.is_some()
    }
}

/// The connection ended before the response was complete.
pub(super) const CLOSED: Reason = Reason::words("closed before the response was complete");

/// Whether the peer closed the connection in an orderly way. `h2` reports that as a broken pipe or, in the middle of a
/// frame, as remaining bytes. Other failures are errors of the operating system.
fn closed_cleanly(error: &h2::Error) -> bool {
    error.get_io().is_some_and(|io| io.raw_os_error().is_none())
}

/// The failure for an error of HTTP/2.
pub(super) fn failure(error: &h2::Error) -> Failure {
    let reason = error.reason().map(|reason| format!("{reason:?}")).unwrap_or_default();
    match (error.is_remote(), error.is_reset(), error.is_go_away()) {
        (true, true, _) => (Outcome::Reset, format!("the server reset the stream (RST_STREAM, {reason})").into()),
        (true, _, true) => (Outcome::Reset, format!("the server closed the connection (GOAWAY, {reason})").into()),
        _ if closed_cleanly(error) => (Outcome::Reset, CLOSED),
        _ if error.is_library() => (Outcome::Malformed, format!("the server violated HTTP/2 ({reason})").into()),
        _ => (Outcome::Reset, error.to_string().into()),
    }
}
