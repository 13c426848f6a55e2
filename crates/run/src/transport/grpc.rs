//! gRPC calls over HTTP/2. Messages are converted from and to JSON, so that templates, checks and extractions use JSON.

mod reflection;

use std::path::Path;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue};
use offered_events::{Outcome, Reason};
use offered_workload::{Call, Descriptors, Request, Target, Workload};
use percent_encoding::percent_decode;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};

use super::Failure;
use crate::Error;
use crate::message::{GRPC_TIMEOUT, OutgoingRequest, Response, grpc_timeout};

/// The prefix of a message: a compression flag, and the length.
const PREFIX: usize = 5;

/// The methods that the requests of a workload call, by label.
#[derive(Default)]
pub(super) struct Methods(Vec<Option<Method>>);

/// A unary method: one message each way.
pub(super) struct Method {
    path: String,
    method: MethodDescriptor,
}

impl Methods {
    /// Finds the methods that requests of `workload` to `target`, number `index` of all, call, by its descriptors. `outgoing` sends a request
    /// to it before the run, for reflection.
    ///
    /// # Errors
    /// Descriptors that cannot be obtained, or a method that is unknown or not unary.
    pub(super) fn new(
        workload: &Workload,
        (index, target): (u16, &Target),
        outgoing: impl Fn(&OutgoingRequest) -> Result<Box<Response>, String>,
    ) -> Result<Self, Error> {
        let invalid = |name: &str, reason: String| Error::Request { name: name.to_owned(), reason };
        let is_call = |request: &&Request| request.target() == index && matches!(request.call(), Call::Grpc);
        let Some(first) = workload.requests().iter().find(is_call) else {
            return Ok(Self::default());
        };
        let mut calls = workload.requests().iter().filter(is_call);
        let pool = match target.descriptors() {
            None => {
                return Err(invalid(
                    first.name(),
                    "a gRPC call needs descriptors; set target.descriptors = \"file.binpb\" (protoc \
                     --include_imports --descriptor_set_out=file.binpb) or target.reflection = true"
                        .to_owned(),
                ));
            }
            Some(Descriptors::File(file)) => from_file(file)?,
            Some(Descriptors::Reflection) => {
                let services = calls.by_ref().filter_map(|request| Some(named(request.path().as_str())?.0));
                reflection::pool(outgoing, services).map_err(Error::Descriptors)?
            }
        };
        let methods = workload.requests().iter().map(|request| match request.call() {
            Call::Grpc if request.target() == index => {
                let method =
                    Method::find(&pool, request.path().as_str()).map_err(|reason| invalid(request.name(), reason))?;
                let timeout = request.headers_to(target).find(|(name, _)| name.eq_ignore_ascii_case(GRPC_TIMEOUT));
                if let Some(text) = timeout.and_then(|(_, value)| value.text()) {
                    grpc_timeout(text).map_err(|reason| invalid(request.name(), reason))?;
                }
                if let Some(body) = request.body().text().and_then(|body| body.text()) {
                    method.encode(body.as_bytes()).map_err(|reason| invalid(request.name(), reason))?;
                }
                Ok::<_, Error>(Some(method))
            }
            _ => Ok(None),
        });
        Ok(Self(methods.collect::<Result<_, _>>()?))
    }

    /// The method that requests with this label call; `None` if they are not gRPC calls.
    pub(super) fn of(&self, label: u16) -> Option<&Method> {
        self.0.get(usize::from(label))?.as_ref()
    }
}

/// The service and method in the path of a call.
fn named(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix('/')?.split_once('/')
}

fn from_file(file: &Path) -> Result<DescriptorPool, Error> {
    let invalid = |reason: String| Error::Descriptors(format!("{}: {reason}", file.display()));
    let bytes = std::fs::read(file).map_err(|reason| invalid(format!("cannot read the file: {reason}")))?;
    DescriptorPool::decode(bytes.as_slice()).map_err(|reason| {
        invalid(format!("{reason}; create it with protoc --include_imports --descriptor_set_out={}", file.display()))
    })
}

impl Method {
    fn find(pool: &DescriptorPool, path: &str) -> Result<Self, String> {
        let (service, name) = named(path).unwrap_or_default();
        let Some(found) = pool.get_service_by_name(service) else {
            let known: Vec<String> = pool.services().map(|service| service.full_name().to_owned()).collect();
            return Err(format!("the descriptors have no service `{service}`; they have {}", known.join(", ")));
        };
        let Some(method) = found.methods().find(|method| method.name() == name) else {
            let known: Vec<String> = found.methods().map(|method| method.name().to_owned()).collect();
            return Err(format!("{service} has no method `{name}`; it has {}", known.join(", ")));
        };
        if method.is_client_streaming() || method.is_server_streaming() {
            return Err(format!("{service}/{name} is a streaming method; only unary methods are supported"));
        }
        Ok(Self { path: path.to_owned(), method })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Encodes the JSON `text` as a message with its prefix.
    ///
    /// # Errors
    /// The text is not JSON, or does not fit the message type.
    pub(super) fn encode(&self, text: &[u8]) -> Result<Bytes, String> {
        let input = self.method.input();
        let mut json = serde_json::Deserializer::from_slice(text);
        let message =
            DynamicMessage::deserialize(input.clone(), &mut json).and_then(|message| json.end().map(|()| message));
        message
            .map(|message| framed(&message))
            .map_err(|reason| format!("the body is not valid JSON for {}: {reason}", input.full_name()))
    }

    /// Evaluates the response to a call, given the outcome on the level of HTTP. Replaces the body of `response` by
    /// JSON.
    ///
    /// # Errors
    /// A status other than OK, with its name and the message of the server, or a response that is not valid gRPC.
    pub(super) fn decode_response(
        &self,
        response: &mut Response,
        trailers: Option<&HeaderMap>,
        outcome: Outcome,
    ) -> Result<(), Failure> {
        if outcome != Outcome::Ok {
            return Ok(());
        }
        status(response, trailers)?;
        let malformed = |reason: String| (Outcome::Malformed, reason.into());
        // A unary call has exactly one response message; gRPC's `doc/statuscodes.md` lists other numbers as an error
        // that clients detect.
        if response.size == 0 {
            return Err(malformed("the response is OK but has no message".to_owned()));
        }
        if !response.body.is_empty() {
            let mut messages = messages(&response.body);
            let message =
                messages.next().and_then(|message| DynamicMessage::decode(self.method.output(), message.ok()?).ok());
            let message = message
                .ok_or_else(|| malformed(format!("the response is not a {}", self.method.output().full_name())))?;
            if messages.next().is_some() {
                return Err(malformed("the response has more than one message".to_owned()));
            }
            drop(messages);
            response.body = serde_json::to_vec(&message).map_err(|reason| malformed(reason.to_string()))?.into();
            response.size = response.body.len() as u64;
        }
        Ok(())
    }
}

/// A message with its prefix.
fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(PREFIX + length);
    bytes.put_u8(0);
    bytes.put_u32(length as u32);
    message.encode_raw(&mut bytes);
    bytes.freeze()
}

/// The messages of a body.
fn messages(mut body: &[u8]) -> impl Iterator<Item = Result<&[u8], String>> {
    std::iter::from_fn(move || {
        if body.is_empty() {
            return None;
        }
        let whole = body.split_at_checked(PREFIX).and_then(|(prefix, rest)| {
            let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
            (prefix[0] == 0).then(|| rest.split_at_checked(length)).flatten()
        });
        let (message, rest) = whole.unwrap_or_default();
        body = rest;
        Some(whole.map(|_| message).ok_or_else(|| "a message that is truncated or compressed".to_owned()))
    })
}

/// The names of the status codes, by number.
const STATUSES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// Checks that the status is OK. It is in the trailers or, without a body, in the headers.
fn status(response: &Response, trailers: Option<&HeaderMap>) -> Result<(), Failure> {
    let field = |name: &str| {
        let behind = trailers.and_then(|trailers| trailers.get(name)).map(HeaderValue::as_bytes);
        behind.or_else(|| response.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice()))
    };
    let code = field("grpc-status").and_then(|code| std::str::from_utf8(code).ok()?.parse::<usize>().ok());
    match code {
        None => Err((Outcome::Malformed, Reason::words("the response has no grpc-status"))),
        Some(0) => Ok(()),
        Some(code) => {
            let name = STATUSES.get(code).map_or_else(|| format!("status {code}"), ToString::to_string);
            let message =
                field("grpc-message").map(|text| percent_decode(text).decode_utf8_lossy()).unwrap_or_default();
            let reason = if message.is_empty() { name } else { format!("{name}: {message}") };
            Err((Outcome::GrpcError, reason.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_split_by_their_lengths() {
        let body = [&[0, 0, 0, 0, 2][..], b"ab", &[0, 0, 0, 0, 0]].concat();
        assert_eq!(messages(&body).collect::<Vec<_>>(), [Ok(&b"ab"[..]), Ok(&b""[..])]);
        for broken in [&body[..4], &body[..6], &[1, 0, 0, 0, 0]] {
            assert!(messages(broken).any(|message| message.is_err()) && messages(broken).count() == 1);
        }
    }

    #[test]
    fn a_status_has_a_name_and_a_message() {
        let parsed = |status: &'static str, message: &'static str| {
            let trailers = [("grpc-status", status), ("grpc-message", message)];
            let trailers =
                trailers.map(|(name, value)| (http::HeaderName::from_static(name), HeaderValue::from_static(value)));
            super::status(&Response::default(), Some(&HeaderMap::from_iter(trailers)))
        };
        assert_eq!(parsed("0", ""), Ok(()));
        assert_eq!(parsed("5", "no%20such order"), Err((Outcome::GrpcError, "NOT_FOUND: no such order".into())));
        assert_eq!(parsed("99", ""), Err((Outcome::GrpcError, "status 99".into())));
        let in_head = Response { headers: vec![("grpc-status".to_owned(), b"14".to_vec())], ..Response::default() };
        assert_eq!(super::status(&in_head, None), Err((Outcome::GrpcError, "UNAVAILABLE".into())));
        assert!(matches!(super::status(&Response::default(), None), Err((Outcome::Malformed, _))));
    }
}
