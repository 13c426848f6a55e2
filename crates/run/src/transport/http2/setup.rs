//! The configuration shared by all threads of a run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_base::{Instant, Nanos};
use offered_events::Event;
use offered_workload::{Reuse, Workload};

use super::Http2;
use crate::Error;
use crate::message::{OutgoingRequest, Response};
use crate::transport::grpc::Methods;
use crate::transport::protocol_client::{Completion, ProtocolClient};
use crate::transport::route::Route;
use crate::transport::unscripted::{Requests, Unscripted};
use crate::transport::{Client, ProtocolSetup, ThreadResources, preflight};

/// The configuration shared by all threads of a run.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(super) route: Arc<Route>,
    /// Scheme and authority, put before the path of a request.
    pub(super) origin: Arc<str>,
    pub(super) methods: Arc<Methods>,
    pub(super) reuse: Reuse,
    /// Whether some response is a stream, whose instants are those of its reads.
    pub(super) has_streams: bool,
    /// Whether requests that the server did not process are sent again.
    pub(super) resend: bool,
    pub(super) connect_timeout: Nanos,
    pub(super) response_timeout: Nanos,
}

impl Setup {
    /// For the target of `workload`, number `index` of all, reached by `route`.
    ///
    /// # Errors
    /// No target, or a gRPC method that cannot be called.
    pub(crate) fn new(workload: &Workload, index: u16, route: Arc<Route>) -> Result<Self, Error> {
        let target = workload.target().ok_or(Error::NoTarget)?;
        let scheme = if target.url().secure { "https" } else { "http" };
        let setup = Self {
            route,
            origin: format!("{scheme}://{}", target.url().host()).into(),
            methods: Arc::default(),
            reuse: target.reuse(),
            has_streams: workload.requests().iter().any(|request| request.stream().is_some()),
            resend: target.resend(),
            connect_timeout: target.connect_timeout(),
            response_timeout: target.response_timeout(),
        };
        let methods = Methods::new(workload, (index, target), |outgoing| setup.exchange_once(outgoing))?;
        Ok(Self { methods: Arc::new(methods), ..setup })
    }

    /// Sends one request on a connection of its own and waits for the response. For use before a run.
    ///
    /// # Errors
    /// Why no response was received.
    pub(crate) fn exchange_once(&self, outgoing: &OutgoingRequest) -> Result<Box<Response>, String> {
        let stop = AtomicBool::new(false);
        let thread = ThreadResources::for_single_requests(&stop).map_err(|error| error.to_string())?;
        let mut client = Http2::new(self.clone(), thread);
        let mut completions = Vec::new();
        client.begin(&Arc::new(outgoing.clone()), Event::at(Instant::ZERO), &mut completions);
        loop {
            for completion in completions.drain(..) {
                match completion {
                    Completion::FirstByte { .. } => {}
                    Completion::Done(_, Some(response)) => return Ok(response),
                    Completion::Done(event, None) => {
                        return Err(event.error.map(|reason| reason.to_string()).unwrap_or_default());
                    }
                }
            }
            client.wait(Instant::MAX, &mut completions);
        }
    }
}

impl ProtocolSetup for Setup {
    type Client = Http2;
    type Unscripted = Unscripted<Http2>;

    fn preflight(&self) -> Result<(), Error> {
        preflight::check(&self.route, true, self.connect_timeout)
    }

    fn connect(self, thread: ThreadResources<'_>) -> Result<Http2, Error> {
        Ok(Http2::new(self, thread))
    }

    fn unscripted(client: Http2, requests: Requests, worker: u16) -> Unscripted<Http2> {
        Unscripted::new(client, requests, worker)
    }
}
