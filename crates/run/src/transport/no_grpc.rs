//! Replaces gRPC support if the feature `grpc` is off: calls are rejected.

use bytes::Bytes;
use http::HeaderMap;
use offered_events::Outcome;
use offered_workload::{Call, Target, Workload};

use super::Failure;
use crate::Error;
use crate::message::{OutgoingRequest, Response};

/// No methods.
#[derive(Default)]
pub(super) struct Methods;

/// Has no values.
pub(super) enum Method {}

impl Methods {
    /// # Errors
    /// The workload has a gRPC request to target number `index`.
    pub(super) fn new(
        workload: &Workload,
        (index, _): (u16, &Target),
        _ask: impl Fn(&OutgoingRequest) -> Result<Box<Response>, String>,
    ) -> Result<Self, Error> {
        let mut own = workload.requests().iter().filter(|request| request.target() == index);
        match own.find(|request| matches!(request.call(), Call::Grpc)) {
            None => Ok(Self),
            Some(call) => Err(Error::Request {
                name: call.name().to_owned(),
                reason: "this program is built without the feature `grpc`".to_owned(),
            }),
        }
    }

    pub(super) fn of(&self, _label: u16) -> Option<&Method> {
        None
    }
}

impl Method {
    pub(super) fn path(&self) -> &str {
        match *self {}
    }

    pub(super) fn encode(&self, _text: &[u8]) -> Result<Bytes, String> {
        match *self {}
    }

    pub(super) fn decode_response(
        &self,
        _reply: &mut Response,
        _trailers: Option<&HeaderMap>,
        _outcome: Outcome,
    ) -> Result<(), Failure> {
        match *self {}
    }
}
