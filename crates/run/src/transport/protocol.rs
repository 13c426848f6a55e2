//! Choosing and preparing the protocol of a workload, once for all threads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_base::Nanos;
use offered_events::recording::AddressUse;
use offered_io::Poller;
use offered_workload::retry::TimeLimits;
use offered_workload::{Call, Protocol, Request, Reuse, Target, Workload};

use super::protocol_client::{ProtocolClient, RequestText};
use super::route::Route;
use super::unscripted::Requests;
use super::{Transport, http1, http2, postgres, preflight, several, websocket};
use crate::Error;
use crate::message::OutgoingRequest;
use crate::script;

/// How long a run waits for each target that may speak TLS although its URL is plain. The run ends only after this, and
/// a plain server that waits for the rest of a request never answers.
const TLS_MISMATCH_TIMEOUT: Nanos = Nanos::from_secs(1);

/// A prepared protocol. Each thread gets a client from it.
pub(crate) trait ProtocolSetup {
    /// The client of one thread.
    type Client: ProtocolClient + 'static;
    /// The transport of a workload without a script.
    type Unscripted: Transport;

    /// Checks that the target can be reached and speaks the protocol, without sending a request.
    ///
    /// # Errors
    /// The target cannot be reached, or does not fit the workload.
    fn preflight(&self) -> Result<(), Error>;

    /// The client of one thread, ready to start. Its connections are open if the protocol opens them before the run.
    ///
    /// # Errors
    /// A connection could not be opened.
    fn connect(self, thread: ThreadResources<'_>) -> Result<Self::Client, Error>;

    /// The transport that sends `requests`, or requests that the setup has compiled, over `client`.
    fn unscripted(client: Self::Client, requests: Requests, worker: u16) -> Self::Unscripted;
}

/// What a client may use on its thread.
pub(crate) struct ThreadResources<'a> {
    pub(crate) poller: Poller,
    /// The number of the thread in the whole run.
    pub(crate) worker: u16,
    /// Maximum number of connections; `None`: no limit.
    pub(crate) connections: Option<u32>,
    /// Whether it sends single requests only, without limits.
    pub(crate) is_single: bool,
    /// The part of the connections of a pool that this thread opens.
    pub(crate) part_of_pool: &'a dyn Fn(u32) -> u32,
    /// How long before a scheduled request a wait stops sleeping.
    pub(crate) spin: Nanos,
    /// The time limits of requests that have their own.
    pub(crate) limits: Option<TimeLimits>,
    /// Set when the run is stopped.
    pub(crate) stop: &'a AtomicBool,
}

impl<'a> ThreadResources<'a> {
    /// For a client that sends single requests: without a limit, with one connection of each pool, sleeping in waits.
    ///
    /// # Errors
    /// The operating system refused a poller.
    pub(crate) fn for_single_requests(stop: &'a AtomicBool) -> io::Result<Self> {
        let part_of_pool = &|connections: u32| connections.min(1);
        let (poller, spin) = (Poller::new()?, Nanos::ZERO);
        Ok(Self { poller, worker: 0, connections: None, is_single: true, part_of_pool, spin, limits: None, stop })
    }
}

/// The protocol of a workload, prepared once for all threads.
#[derive(Clone)]
pub(crate) enum AnyProtocol {
    Http1(http1::Setup),
    Http2(http2::Setup),
    WebSocket(websocket::Setup),
    Postgres(postgres::Setup),
    Several(several::Setup),
}

/// Evaluates an expression with `$setup`, a [`ProtocolSetup`], for the protocol that an [`AnyProtocol`] is. This is the
/// only place that distinguishes the protocols once they are prepared.
macro_rules! with_protocol_setup {
    ($protocol:expr, $setup:ident => $result:expr) => {
        match $protocol {
            $crate::transport::AnyProtocol::Http1($setup) => $result,
            $crate::transport::AnyProtocol::Http2($setup) => $result,
            $crate::transport::AnyProtocol::WebSocket($setup) => $result,
            $crate::transport::AnyProtocol::Postgres($setup) => $result,
            $crate::transport::AnyProtocol::Several($setup) => $result,
        }
    };
}
pub(crate) use with_protocol_setup;

impl AnyProtocol {
    /// The client of one thread; see [`ProtocolSetup::connect`].
    ///
    /// # Errors
    /// A connection could not be opened.
    pub(crate) fn connect(self, thread: ThreadResources<'_>) -> Result<Box<dyn ProtocolClient>, Error> {
        with_protocol_setup!(self, setup => Ok(Box::new(setup.connect(thread)?)))
    }
}

/// The protocol of a workload, and the routes to its targets.
#[derive(Clone)]
pub(crate) struct PreparedTarget {
    pub(crate) protocol: AnyProtocol,
    /// The routes, each with its timeout to connect.
    routes: Vec<(Arc<Route>, Nanos)>,
}

impl PreparedTarget {
    /// Prepares the targets of `workload`. Contacts one if it is to choose the protocol (`auto`), or for gRPC reflection.
    ///
    /// # Errors
    /// No target, a name that cannot be resolved, TLS settings that cannot be used, or a request that cannot be built.
    pub(crate) fn new(workload: &Workload) -> Result<Self, Error> {
        workload.target().ok_or(Error::NoTarget)?;
        script::check_single_braces(workload)?;
        let clients = workload.clients();
        if let [(target, is_socket)] = clients[..] {
            let (protocol, route) = prepare(workload, target, is_socket)?;
            return Ok(Self { protocol, routes: vec![route] });
        }
        let mut protocols = Vec::new();
        let mut routes = Vec::new();
        for (target, is_socket) in clients {
            let own = workload.for_target(target);
            let (protocol, route) = prepare(&own, target, is_socket)?;
            protocols.push((protocol, own.target().and_then(Target::connections)));
            routes.push(route);
        }
        Ok(Self { protocol: AnyProtocol::Several(several::Setup(protocols.into())), routes })
    }

    /// See [`ProtocolSetup::preflight`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn preflight(&self) -> Result<(), Error> {
        with_protocol_setup!(&self.protocol, setup => setup.preflight())
    }

    /// The error for a plain URL whose target speaks TLS, if that is so.
    pub(crate) fn tls_mismatch(&self) -> Option<Error> {
        let speaks_tls = |(route, connect_timeout): &&(Arc<Route>, Nanos)| {
            preflight::speaks_tls(route, (*connect_timeout).min(TLS_MISMATCH_TIMEOUT))
        };
        let (route, _) = self.routes.iter().find(speaks_tls)?;
        Some(Error::SpeaksTls { address: route.addresses.first() })
    }

    /// See [`Addresses::uses`](super::addresses::Addresses::uses).
    pub(crate) fn addresses(&self) -> Vec<AddressUse> {
        self.routes.iter().flat_map(|(route, _)| route.addresses.uses()).collect()
    }

    /// Resolves the names of the targets again.
    pub(crate) fn resolve_again(&self) {
        self.routes.iter().for_each(|(route, _)| route.addresses.resolve_again());
    }
}

/// The protocol of target number `index` of `workload`, or of the WebSocket messages to it, and the route to it with
/// its timeout to connect.
fn prepare(workload: &Workload, index: u16, is_socket: bool) -> Result<(AnyProtocol, (Arc<Route>, Nanos)), Error> {
    let target = workload.target().ok_or(Error::NoTarget)?;
    let timeout = target.connect_timeout();
    if target.url().login.is_some() {
        let setup = postgres::Setup::new(workload)?;
        let route = setup.route();
        return Ok((AnyProtocol::Postgres(setup), (route, timeout)));
    }
    let invalid = |name: &str, reason: &str| Error::Request { name: name.to_owned(), reason: reason.to_owned() };
    let own = || workload.requests().iter().filter(|request| request.target() == index);
    let first_with = |is: fn(&Call) -> bool| own().find(|request| is(request.call()));
    let grpc = first_with(|call| matches!(call, Call::Grpc));
    let websocket = first_with(|call| matches!(call, Call::WebSocket(_))).filter(|_| is_socket);
    match (grpc, websocket, target.protocol()) {
        (Some(grpc), None, Protocol::Http1 | Protocol::Auto) => {
            return Err(invalid(grpc.name(), "gRPC needs HTTP/2; set target.protocol = \"h2\""));
        }
        (_, Some(websocket), Protocol::Http2 | Protocol::Auto) => {
            return Err(invalid(websocket.name(), "a WebSocket needs HTTP/1.1; remove target.protocol"));
        }
        _ => {}
    }
    let route = Arc::new(Route::new(target)?);
    let protocol = if is_socket {
        AnyProtocol::WebSocket(super::websocket::Setup::new(workload, index, route.clone())?)
    } else if speaks_http2(&route, target.protocol(), timeout)? {
        AnyProtocol::Http2(http2::Setup::new(workload, index, route.clone())?)
    } else {
        AnyProtocol::Http1(http1::Setup::new(workload, route.clone())?)
    };
    Ok((protocol, (route, timeout)))
}

/// Whether to use HTTP/2. With `auto` the server chooses.
fn speaks_http2(route: &Route, choice: Protocol, timeout: Nanos) -> Result<bool, Error> {
    match choice {
        Protocol::Http1 => Ok(false),
        Protocol::Http2 => Ok(true),
        Protocol::Auto => preflight::chooses_http2(route, timeout),
    }
}

/// The text of `request` as it would be sent to `target`; in HTTP/1.1 if the server is to choose.
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
