//! Which protocol a workload is carried by, decided once for all threads.

use std::sync::Arc;

use offered_model::Nanos;
use offered_model::workload::{Call, Protocol, Workload};

use super::route::Route;
use super::stream::Stream;
use super::{http1, http2, postgres, websocket};
use crate::Error;

/// A protocol, prepared, and the way to the target.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) protocol: Spoken,
    route: Arc<Route>,
    connect_timeout: Nanos,
}

/// The protocol.
#[derive(Clone)]
pub(crate) enum Spoken {
    Http1(http1::Setup),
    Http2(http2::Setup),
    WebSocket(websocket::Setup),
    Postgres(Box<postgres::Setup>),
}

impl Way {
    /// For the target of `workload`. Where the server is to choose (`auto`), and for gRPC's reflection, it is asked now.
    ///
    /// # Errors
    /// No target, a name that cannot be resolved, TLS that cannot be spoken, or a request that cannot be made.
    pub(crate) fn new(workload: &Workload) -> Result<Self, Error> {
        let target = workload.target().ok_or(Error::NoTarget)?;
        if target.url().login.is_some() {
            let setup = postgres::Setup::new(workload)?;
            let (route, connect_timeout) = (setup.route(), target.connect_timeout());
            return Ok(Self { protocol: Spoken::Postgres(Box::new(setup)), route, connect_timeout });
        }
        let wrong = |name: &str, why: &str| Error::Request { name: name.to_owned(), why: why.to_owned() };
        let one_of = |is: fn(&Call) -> bool| workload.requests().iter().find(|request| is(request.call()));
        let call = one_of(|call| matches!(call, Call::Grpc));
        let chat = one_of(|call| matches!(call, Call::WebSocket { .. }));
        match (call, chat, target.protocol()) {
            (Some(call), _, Protocol::Http1 | Protocol::Auto) => {
                return Err(wrong(call.name(), "gRPC is spoken over HTTP/2; write target.protocol = \"h2\""));
            }
            (_, Some(chat), Protocol::Http2 | Protocol::Auto) => {
                return Err(wrong(chat.name(), "a WebSocket begins in HTTP/1.1; take target.protocol out"));
            }
            _ => {}
        }
        let route = Arc::new(Route::new(target)?);
        let protocol = if chat.is_some() {
            Spoken::WebSocket(websocket::Setup::new(workload, route.clone())?)
        } else if speaks_http2(&route, target.protocol(), target.connect_timeout())? {
            Spoken::Http2(http2::Setup::new(workload, route.clone())?)
        } else {
            Spoken::Http1(http1::Setup::new(workload, route.clone())?)
        };
        Ok(Self { protocol, route, connect_timeout: target.connect_timeout() })
    }

    /// Connects once, as far as requests could be written, and hangs up.
    ///
    /// # Errors
    /// Nobody listens there, or TLS finds no agreement.
    pub(crate) fn knock(&self) -> Result<(), Error> {
        match &self.protocol {
            Spoken::Postgres(setup) => setup.knock(),
            Spoken::Http1(_) | Spoken::Http2(_) | Spoken::WebSocket(_) => {
                open(&self.route, self.connect_timeout).map(drop)
            }
        }
    }

    /// Resolves the target's name again.
    pub(crate) fn resolve_again(&self) {
        self.route.addresses.again();
    }
}

/// A stream to the target that is open.
fn open(route: &Route, timeout: Nanos) -> Result<Stream, Error> {
    Stream::open(route, timeout).map_err(|(outcome, why)| route.addresses.unreachable(outcome, why.to_string()))
}

/// Whether the server would speak HTTP/2, where `asked` leaves it to it.
fn speaks_http2(route: &Route, asked: Protocol, timeout: Nanos) -> Result<bool, Error> {
    match asked {
        Protocol::Http1 => Ok(false),
        Protocol::Http2 => Ok(true),
        Protocol::Auto => Ok(open(route, timeout)?.agreed_on_http2()),
    }
}
