//! A response with all data that checks and extractions need.

use offered_base::Nanos;

use crate::message::Response;

/// A response to evaluate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    pub(crate) status: u16,
    pub(crate) reply: &'a Response,
    /// The service time, redirects included.
    pub(crate) service: Nanos,
    /// The path and query that were requested, to which relative URLs in the response refer (RFC 3986, section 5.1.3).
    pub(crate) path: &'a str,
    /// The index of the target.
    pub(crate) target: u16,
    /// The slots of values that earlier responses of a chain of redirects had.
    pub(crate) found: &'a [u16],
}

#[cfg(test)]
impl<'a> Received<'a> {
    /// The response to a request for `/`, after a second and without redirects.
    pub(crate) fn for_test(status: u16, reply: &'a Response) -> Self {
        Self { status, reply, service: Nanos::from_secs(1), path: "/", target: 0, found: &[] }
    }
}
