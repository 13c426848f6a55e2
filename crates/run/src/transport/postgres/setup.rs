//! The configuration shared by all threads of a run.

use std::sync::Arc;

use offered_base::Nanos;
use offered_events::Outcome;
use offered_workload::{Address, Encryption, Target, Workload};

use super::statements::Statements;
use crate::Error;
use crate::transport::route::Route;
use crate::transport::stream::Stream;

/// The configuration shared by all threads of a run: the route, the login and the statements.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(super) route: Arc<Route>,
    /// The route without TLS. A cancel request needs no encryption, and the server accepts it before a login.
    pub(super) plain_route: Arc<Route>,
    pub(super) user: String,
    pub(super) password: Option<String>,
    pub(super) database: String,
    pub(super) settings: Arc<[(String, String)]>,
    pub(super) on_connect: Arc<[String]>,
    pub(super) statements: Arc<Statements>,
    /// The pools by name, and the number of connections of each over all threads.
    pub(super) pools: Arc<[(String, u32)]>,
    pub(super) hook: Option<Arc<[String]>>,
    pub(super) connect_timeout: Nanos,
    pub(super) response_timeout: Nanos,
}

impl Setup {
    /// For the target of `workload`, which is a database.
    ///
    /// # Errors
    /// No target, TLS settings that cannot be used, or a request that is not SQL.
    pub(crate) fn new(workload: &Workload) -> Result<Self, Error> {
        let target = workload.target().ok_or(Error::NoTarget)?;
        let login = target.url().login.as_ref().ok_or(Error::NoTarget)?;
        let pools = match target.pools() {
            [] => vec![(String::new(), target.connections().unwrap_or(1))],
            named => named.iter().map(|pool| (pool.name.clone(), pool.connections)).collect(),
        };
        let plain_route = Arc::new(Route::to_database(target, false)?);
        let is_tcp = matches!(target.url().address, Address::Tcp { .. });
        let wants_tls = match login.encryption {
            Encryption::Disabled => false,
            Encryption::Preferred => is_tcp && server_offers_tls(target, &plain_route)?,
            Encryption::Required | Encryption::Verified => true,
        };
        let route = if wants_tls { Arc::new(Route::to_database(target, true)?) } else { plain_route.clone() };
        Ok(Self {
            route,
            plain_route,
            user: login.user.clone(),
            password: login.password.clone().or_else(|| std::env::var("PGPASSWORD").ok()),
            database: login.database.clone(),
            settings: login.settings.clone().into(),
            on_connect: target.on_connect().into(),
            statements: Arc::new(Statements::new(workload, target)?),
            pools: pools.into(),
            hook: (!target.hook().is_empty()).then(|| target.hook().into()),
            connect_timeout: target.connect_timeout(),
            response_timeout: target.response_timeout(),
        })
    }

    /// The route to the target.
    pub(in crate::transport) fn route(&self) -> Arc<Route> {
        self.route.clone()
    }
}

/// Whether the server speaks TLS, for `sslmode=prefer`. Asks the server once.
fn server_offers_tls(target: &Target, plain_route: &Arc<Route>) -> Result<bool, Error> {
    let asking = Route::to_database(target, true)?;
    match Stream::open(&asking, target.connect_timeout()) {
        Ok(_) => Ok(true),
        Err((Outcome::Tls, _)) => Ok(false),
        Err((outcome, reason)) => Err(plain_route.addresses.connect_error(outcome, reason.to_string())),
    }
}
