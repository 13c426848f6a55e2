//! The configuration shared by all threads of a run.

use std::sync::Arc;

use offered_base::Nanos;
use offered_workload::{Reuse, Workload};

use super::Http1;
use super::request::{Compiled, Host};
use crate::Error;
use crate::transport::route::Route;
use crate::transport::unscripted::Requests;
use crate::transport::{ProtocolSetup, ThreadResources, preflight};

/// The configuration shared by all threads of a run: where to connect, what to send, and the limits.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(super) route: Arc<Route>,
    pub(super) requests: Arc<[Compiled]>,
    pub(super) host: Arc<Host>,
    pub(super) reuse: Reuse,
    /// Whether a request is sent again if the server closed its reused connection.
    pub(super) resend: bool,
    pub(super) connect_timeout: Nanos,
    pub(super) response_timeout: Nanos,
}

impl Setup {
    /// For the target of `workload`, reached by `route`.
    ///
    /// # Errors
    /// No target, or a request that cannot be built.
    pub(crate) fn new(workload: &Workload, route: Arc<Route>) -> Result<Self, Error> {
        let target = workload.target().ok_or(Error::NoTarget)?;
        // Scripted requests are built one by one.
        let plain = if workload.is_scripted() { &[][..] } else { workload.requests() };
        let requests: Result<Vec<_>, _> = plain.iter().map(|r| Compiled::new(r, target, workload.seed())).collect();
        Ok(Self {
            requests: requests?.into(),
            host: Arc::new(Host::new(target)),
            route,
            reuse: target.reuse(),
            resend: target.resend(),
            connect_timeout: target.connect_timeout(),
            response_timeout: target.response_timeout(),
        })
    }
}

impl ProtocolSetup for Setup {
    type Client = Http1;
    type Unscripted = Http1;

    fn preflight(&self) -> Result<(), Error> {
        preflight::check(&self.route, false, self.connect_timeout)
    }

    fn connect(self, thread: ThreadResources<'_>) -> Result<Http1, Error> {
        Ok(Http1::new(self, thread))
    }

    fn unscripted(client: Http1, _requests: Requests, _worker: u16) -> Http1 {
        client
    }
}
