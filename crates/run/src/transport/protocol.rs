//! Which protocol a workload is carried by, decided once for all threads.

use std::sync::Arc;

use offered_model::Nanos;
use offered_model::workload::{Call, Protocol, Request, Reuse, Target, Workload};

use super::protocol_client::RequestText;
use super::route::Route;
use super::{http1, http2, postgres, preflight, websocket};
use crate::Error;
use crate::message::OutgoingRequest;
use crate::script;

/// A protocol, prepared, and the way to the target.
#[derive(Clone)]
pub(crate) struct PreparedTarget {
    pub(crate) protocol: AnyProtocol,
    route: Arc<Route>,
    connect_timeout: Nanos,
}

/// The protocol.
#[derive(Clone)]
pub(crate) enum AnyProtocol {
    Http1(http1::Setup),
    Http2(http2::Setup),
    WebSocket(websocket::Setup),
    Postgres(Box<postgres::Setup>),
}

impl PreparedTarget {
    /// For the target of `workload`. Where the server is to choose (`auto`), and for gRPC's reflection, it is asked now.
    ///
    /// # Errors
    /// No target, a name that cannot be resolved, TLS that cannot be spoken, or a request that cannot be made.
    pub(crate) fn new(workload: &Workload) -> Result<Self, Error> {
        let target = workload.target().ok_or(Error::NoTarget)?;
        script::check_single_braces(workload)?;
        if target.url().login.is_some() {
            let setup = postgres::Setup::new(workload)?;
            let (route, connect_timeout) = (setup.route(), target.connect_timeout());
            return Ok(Self { protocol: AnyProtocol::Postgres(Box::new(setup)), route, connect_timeout });
        }
        let invalid = |name: &str, reason: &str| Error::Request { name: name.to_owned(), reason: reason.to_owned() };
        let one_of = |is: fn(&Call) -> bool| workload.requests().iter().find(|request| is(request.call()));
        let grpc = one_of(|grpc| matches!(grpc, Call::Grpc));
        let websocket_request = one_of(|grpc| matches!(grpc, Call::WebSocket(_)));
        match (grpc, websocket_request, target.protocol()) {
            (Some(grpc), _, Protocol::Http1 | Protocol::Auto) => {
                return Err(invalid(grpc.name(), "gRPC is spoken over HTTP/2; write target.protocol = \"h2\""));
            }
            (_, Some(websocket_request), Protocol::Http2 | Protocol::Auto) => {
                return Err(invalid(
                    websocket_request.name(),
                    "a WebSocket begins in HTTP/1.1; take target.protocol out",
                ));
            }
            _ => {}
        }
        let route = Arc::new(Route::new(target)?);
        let protocol = if websocket_request.is_some() {
            AnyProtocol::WebSocket(websocket::Setup::new(workload, route.clone())?)
        } else if speaks_http2(&route, target.protocol(), target.connect_timeout())? {
            AnyProtocol::Http2(http2::Setup::new(workload, route.clone())?)
        } else {
            AnyProtocol::Http1(http1::Setup::new(workload, route.clone())?)
        };
        Ok(Self { protocol, route, connect_timeout: target.connect_timeout() })
    }

    /// Tries the target's door.
    ///
    /// # Errors
    /// As [`preflight::knock`].
    pub(crate) fn preflight(&self) -> Result<(), Error> {
        match &self.protocol {
            AnyProtocol::Postgres(setup) => setup.preflight(),
            AnyProtocol::Http1(_) | AnyProtocol::WebSocket(_) => {
                preflight::check(&self.route, false, self.connect_timeout)
            }
            AnyProtocol::Http2(_) => preflight::check(&self.route, true, self.connect_timeout),
        }
    }

    /// The error of a target that speaks TLS where it was asked without, if it does.
    pub(crate) fn tls_mismatch(&self) -> Option<Error> {
        let speaks_tls = preflight::speaks_tls(&self.route, self.connect_timeout);
        speaks_tls.then(|| Error::SpeaksTls { address: self.route.addresses.first() })
    }

    /// Resolves the target's name again.
    pub(crate) fn resolve_again(&self) {
        self.route.addresses.resolve_again();
    }
}

/// Whether the server would speak HTTP/2, where `asked` leaves it to it.
fn speaks_http2(route: &Route, choice: Protocol, timeout: Nanos) -> Result<bool, Error> {
    match choice {
        Protocol::Http1 => Ok(false),
        Protocol::Http2 => Ok(true),
        Protocol::Auto => preflight::chooses_http2(route, timeout),
    }
}

/// How `ask`, of `request`, would be said to `target`; where the server chooses, in HTTP/1.1.
pub(crate) fn request_text(target: &Target, request: &Request, outgoing: &OutgoingRequest) -> RequestText {
    let origin = |plain: &str, secure: &str| {
        format!("{}://{}", if target.url().secure { secure } else { plain }, target.url().host())
    };
    match (request.call(), target.protocol()) {
        (Call::Sql(sql), _) => {
            postgres::request_text(sql.statements.iter().map(|statement| statement.text.as_str()), outgoing)
        }
        (Call::WebSocket(_), _) => websocket::request_text(outgoing, &origin("ws", "wss"), true),
        (Call::Grpc, _) => http2::request_text(outgoing, &origin("http", "https"), true),
        (_, Protocol::Http2) => http2::request_text(outgoing, &origin("http", "https"), false),
        _ => http1::request_text(outgoing, &http1::Host::new(target), target.reuse() == Reuse::Fresh),
    }
}
