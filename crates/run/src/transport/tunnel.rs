//! A tunnel through a proxy: `CONNECT host:port` (RFC 9110, section 9.3.6).

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use offered_events::{Outcome, Reason};

use super::Failure;
use super::socket::{Socket, reset_failure};

/// Maximum size of the response head.
const LONGEST: usize = 16 * 1024;
const MOST_HEADERS: usize = 64;

/// A tunnel being opened.
pub(super) struct Tunnel {
    request: Arc<[u8]>,
    written: usize,
    response: Vec<u8>,
}

impl Tunnel {
    pub(super) fn new(request: Arc<[u8]>) -> Self {
        Self { request, written: 0, response: Vec::new() }
    }

    /// Continues as far as the socket allows; returns whether the tunnel is open.
    pub(super) fn advance(&mut self, socket: BorrowedFd<'_>) -> Result<bool, Failure> {
        let mut socket = Socket(socket);
        while self.written < self.request.len() {
            match socket.write(&self.request[self.written..]) {
                Ok(written) => self.written += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(reset_failure(error)),
            }
        }
        let mut piece = [0; 1024];
        loop {
            match socket.read(&mut piece) {
                Ok(0) => {
                    return Err((
                        Outcome::Refused,
                        Reason::words("the proxy closed the connection without a response"),
                    ));
                }
                Ok(read) => self.response.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(reset_failure(error)),
            }
            if let Some(parse_response) = self.parse_response() {
                return parse_response.map(|()| true).map_err(|reason| (Outcome::Refused, reason.into()));
            }
        }
    }

    /// The result, once the response of the proxy is complete. The server sends nothing before a request, so nothing
    /// follows the head.
    fn parse_response(&self) -> Option<Result<(), String>> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let mut config = httparse::ParserConfig::default();
        config.allow_obsolete_multiline_headers_in_responses(true);
        match config.parse_response(&mut response, &self.response) {
            Ok(httparse::Status::Partial) if self.response.len() < LONGEST => None,
            Ok(httparse::Status::Complete(_)) => Some(match response.code.unwrap_or_default() {
                200..=299 => Ok(()),
                407 => {
                    Err("the proxy demands credentials (407); set target.proxy = \"http://user:password@host:port\""
                        .to_owned())
                }
                code => Err(format!("the proxy refused the tunnel: {code} {}", response.reason.unwrap_or_default())),
            }),
            _ => Some(Err("the proxy does not speak HTTP".to_owned())),
        }
    }
}
