//! Which protocol a workload is carried by, decided once for all threads.

use std::sync::Arc;

use offered_model::Nanos;
use offered_model::workload::{Call, Protocol, Request, Reuse, Target, Workload};

use super::route::Route;
use super::wire::Wording;
use super::{door, http1, http2, postgres, websocket};
use crate::Error;
use crate::ask::Ask;
use crate::script;

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
        script::marked(workload)?;
        if target.url().login.is_some() {
            let setup = postgres::Setup::new(workload)?;
            let (route, connect_timeout) = (setup.route(), target.connect_timeout());
            return Ok(Self { protocol: Spoken::Postgres(Box::new(setup)), route, connect_timeout });
        }
        let wrong = |name: &str, why: &str| Error::Request { name: name.to_owned(), why: why.to_owned() };
        let one_of = |is: fn(&Call) -> bool| workload.requests().iter().find(|request| is(request.call()));
        let call = one_of(|call| matches!(call, Call::Grpc));
        let chat = one_of(|call| matches!(call, Call::WebSocket(_)));
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

    /// Tries the target's door.
    ///
    /// # Errors
    /// As [`door::knock`].
    pub(crate) fn knock(&self) -> Result<(), Error> {
        match &self.protocol {
            Spoken::Postgres(setup) => setup.knock(),
            Spoken::Http1(_) | Spoken::WebSocket(_) => door::knock(&self.route, false, self.connect_timeout),
            Spoken::Http2(_) => door::knock(&self.route, true, self.connect_timeout),
        }
    }

    /// The error of a target that speaks TLS where it was asked without, if it does.
    pub(crate) fn unheard(&self) -> Option<Error> {
        let speaks_tls = door::speaks_tls(&self.route, self.connect_timeout);
        speaks_tls.then(|| Error::SpeaksTls { place: self.route.addresses.first() })
    }

    /// Resolves the target's name again.
    pub(crate) fn resolve_again(&self) {
        self.route.addresses.again();
    }
}

/// Whether the server would speak HTTP/2, where `asked` leaves it to it.
fn speaks_http2(route: &Route, asked: Protocol, timeout: Nanos) -> Result<bool, Error> {
    match asked {
        Protocol::Http1 => Ok(false),
        Protocol::Http2 => Ok(true),
        Protocol::Auto => door::chooses_http2(route, timeout),
    }
}

/// How `ask`, of `request`, would be said to `target`; where the server chooses, in HTTP/1.1.
pub(crate) fn wording(target: &Target, request: &Request, ask: &Ask) -> Wording {
    let origin = |plain: &str, secure: &str| {
        format!("{}://{}", if target.url().secure { secure } else { plain }, target.url().host())
    };
    match (request.call(), target.protocol()) {
        (Call::Sql(sql), _) => postgres::wording(sql.statements.iter().map(|statement| statement.text.as_str()), ask),
        (Call::WebSocket(_), _) => websocket::wording(ask, &origin("ws", "wss"), true),
        (Call::Grpc, _) => http2::wording(ask, &origin("http", "https"), true),
        (_, Protocol::Http2) => http2::wording(ask, &origin("http", "https"), false),
        _ => http1::wording(ask, &http1::Host::new(target), target.reuse() == Reuse::Fresh),
    }
}
