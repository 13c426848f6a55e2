//! One request and its answer, as a stream of a connection.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use offered_clock::Clock;
use offered_model::{Event, Instant, Outcome, Reason};

use crate::message::{OutgoingRequest, Response};
use crate::transport::Failure;
use crate::transport::event_loop::PendingExchange;
use crate::transport::grpc::{self, Methods};
use crate::transport::protocol_client::Completion;

/// An exchange under way.
pub(crate) struct Exchange {
    /// What is known of its event so far.
    pub(super) event: Event,
    /// The key of its connection.
    pub(super) connection: usize,
    /// Tells it from earlier and later ones with the same key.
    pub(super) serial: u64,
    /// What is sent as soon as the connection is open.
    pub(super) request: Option<HeadAndBody>,
    /// What it asks, should it have to ask again; and how often it has.
    pub(super) outgoing: Arc<OutgoingRequest>,
    pub(super) resent: u8,
    /// What of the body flow control has not let out yet, and where it goes.
    pub(super) sending: Option<(SendStream<Bytes>, Bytes)>,
    /// Whether the body is held back until the server wants it.
    pub(super) held: bool,
    pub(super) state: State,
    response: Box<Response>,
    /// What came behind the body.
    trailers: Option<HeaderMap>,
}

/// A request's head, and its body where it has one.
pub(super) type HeadAndBody = (Request<()>, Option<Bytes>);

/// How far the answer is.
pub(super) enum State {
    /// Not sent yet, or over.
    Waiting,
    Head(ResponseFuture),
    Body(RecvStream),
    Over,
}

/// Puts in what makes a request a call. The body is JSON only on our side.
pub(super) fn add_grpc_headers(headers: &mut HeaderMap) {
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(http::header::TE, HeaderValue::from_static("trailers"));
}

/// What `ask` is in HTTP/2, to the server whose scheme and authority are `origin`; a call where it is one of `method`.
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
    *head.uri_mut() = Uri::try_from(uri).map_err(|reason| format!("`{path}` is no path for HTTP/2: {reason}"))?;
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
        None => outgoing.body.clone().map(Bytes::from),
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
    /// Of the answer's body so many bytes are `wanted`.
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
            response: Box::new(Response { body_limit, ..Response::default() }),
            outgoing,
            resent: 0,
            sending: None,
            trailers: None,
        }
    }

    /// Whether its stream has ended by itself.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Hands on as much of the body as flow control lets out; that much counts as sent.
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
                    // The stream is over: why, its answer tells.
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

    /// Why it is over when the time is that it said it waits.
    pub(super) fn deadline_exceeded(&self) -> Reason {
        let timeout = self.outgoing.grpc_timeout().ok().flatten().unwrap_or_default();
        format!("DEADLINE_EXCEEDED: no complete answer within its grpc-timeout of {timeout}").into()
    }

    /// What an error of its stream is: one that ends a stream before its answer has begun may say that the request was not processed.
    pub(super) fn failure(&self, error: &h2::Error) -> Failure {
        let refused = error.is_go_away() || error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        let (outcome, reason) = failure(error);
        let unprocessed = refused && error.is_remote() && self.event.first_byte.is_none();
        (if unprocessed { Outcome::Unprocessed } else { outcome }, reason)
    }

    /// Takes what has come, until the answer is complete.
    pub(super) fn poll_response(
        &mut self,
        context: &mut Context<'_>,
        clock: &Clock,
        completions: &mut Vec<Completion>,
    ) -> Poll<Result<(), Failure>> {
        self.send_body(context);
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
                    self.event.first_byte = Some(clock.now());
                    self.event.status = head.status.as_u16();
                    let header = |(name, value): (&HeaderName, &HeaderValue)| {
                        (name.as_str().to_owned(), value.as_bytes().to_vec())
                    };
                    self.response.headers = head.headers.iter().map(header).collect();
                    let Event { session, object, .. } = self.event;
                    completions.push(Completion::FirstByte { session, object });
                    self.state = State::Body(body);
                }
                State::Body(body) => match ready!(body.poll_data(context)) {
                    Some(Ok(data)) => {
                        self.event.bytes_in += data.len() as u64;
                        self.response.add(&data);
                        // The stream may have been reset since: then there is nobody to give way to.
                        let _ = body.flow_control().release_capacity(data.len());
                    }
                    // The answer is complete, and the server wants no more of the request.
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

    /// The answer is complete: what became of it, by its status or, of a call, by gRPC's.
    pub(super) fn complete(&mut self, now: Instant, methods: &Methods, completions: &mut Vec<Completion>) {
        let outcome = if self.event.status < 400 { Outcome::Ok } else { Outcome::HttpError };
        let mut event = Event { done: Some(now), outcome, ..self.event.clone() };
        let mut response = std::mem::take(&mut self.response);
        if let Some(method) = methods.of(event.label)
            && let Err((outcome, reason)) = method.decode_response(&mut response, self.trailers.as_ref(), outcome)
        {
            (event.outcome, event.error) = (outcome, Some(reason));
            if !outcome.is_answer() {
                event.status = 0;
            }
        }
        let response = event.outcome.is_answer().then_some(response);
        completions.push(Completion::Done(event, response));
    }

    /// It has failed.
    pub(super) fn fail(self, now: Instant, (outcome, reason): Failure, completions: &mut Vec<Completion>) {
        // A status without the rest of its answer is none.
        let event = Event { done: Some(now), outcome, status: 0, error: Some(reason), ..self.event };
        completions.push(Completion::Done(event, None));
    }
}

/// The end came before the answer was complete.
pub(super) const CLOSED: Reason = Reason::words("closed before the answer was complete");

/// Whether the other side hung up in good order: the crate calls it a broken pipe or, in the middle of a frame, bytes that remain.
/// What breaks without order is an error of the system's.
fn closed_cleanly(error: &h2::Error) -> bool {
    error.get_io().is_some_and(|io| io.raw_os_error().is_none())
}

/// What an error of HTTP/2 is: who ended what, and why.
pub(super) fn failure(error: &h2::Error) -> Failure {
    let reason = error.reason().map(|reason| format!("{reason:?}")).unwrap_or_default();
    match (error.is_remote(), error.is_reset(), error.is_go_away()) {
        (true, true, _) => (Outcome::Reset, format!("the server reset the stream (RST_STREAM, {reason})").into()),
        (true, _, true) => (Outcome::Reset, format!("the server went away (GOAWAY, {reason})").into()),
        _ if closed_cleanly(error) => (Outcome::Reset, CLOSED),
        _ if error.is_library() => (Outcome::Malformed, format!("the server broke HTTP/2 ({reason})").into()),
        _ => (Outcome::Reset, error.to_string().into()),
    }
}
