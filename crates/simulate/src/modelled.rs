//! The modelled server of a workload, made.

use offered_model::workload::Station as Specified;
use offered_model::{Nanos, Workload, Wrong};

use crate::discipline::{Network, Station};
use crate::drive::Demands;
use crate::policy::{Make, Policy, Setting, Use};

/// A modelled server that has been checked: one station, or several that every request visits.
#[derive(Clone, Debug)]
pub struct Modelled {
    /// The policy of the first station.
    pub policy: Policy,
    setting: Setting,
    room: Option<u32>,
    /// The stations, when there are several.
    tour: Vec<(Policy, Specified)>,
}

impl Modelled {
    /// Of this workload, whose requests bring this work.
    ///
    /// # Errors
    /// No `[server]`, or a discipline that does not fit.
    pub fn new(workload: &Workload, demands: &Demands) -> Result<Self, Wrong> {
        let setting = |servers| Setting { servers, class_means: demands.class_means(), seed: workload.seed() };
        let modelled = if let Some(server) = workload.server() {
            Self {
                policy: server.discipline(),
                setting: setting(server.servers()),
                room: server.room(),
                tour: Vec::new(),
            }
        } else {
            if workload.brings_work() {
                return Err(Wrong::new(
                    "stations draw work by station; give requests (or the entries of a trace) no work of their own",
                ));
            }
            let tour: Vec<_> = workload.stations().iter().map(|s| (s.server().discipline(), s.clone())).collect();
            let (policy, first) = tour.first().ok_or_else(|| {
                Wrong::new("the workload has no [server] to simulate; write for example [server] discipline = \"ps\", service = { exponential = \"10ms\" }")
            })?;
            Self { policy: *policy, setting: setting(first.server().servers()), room: None, tour }
        };
        modelled.make(Check)?;
        Ok(modelled)
    }

    /// Room for so many in the system.
    pub fn room(&self) -> Option<u32> {
        self.room
    }

    /// Makes the discipline, empty, and hands it to `what` with its own type.
    ///
    /// # Errors
    /// As [`Make::make`].
    pub fn make<U: Use>(&self, what: U) -> Result<U::Out, Wrong> {
        if self.tour.is_empty() {
            return self.policy.make(&self.setting, what);
        }
        let station = |(policy, station): &(Policy, Specified)| {
            // Work is drawn by station, so all classes are alike in size.
            let server = station.server();
            let mean = Nanos::from_secs_f64(server.service().mean());
            let class_means = vec![mean; self.setting.class_means.len()];
            let setting = Setting { servers: server.servers(), class_means, seed: self.setting.seed };
            let discipline = policy.boxed(&setting)?;
            Ok(Station { discipline, service: server.service().clone(), visits: station.visits() })
        };
        let stations = self.tour.iter().map(station).collect::<Result<Vec<_>, Wrong>>()?;
        Ok(what.with(Network::new(stations, self.setting.seed)?))
    }

    /// Work per request and server at the busiest station, in seconds: 1 / this is the most the server can answer. `None`
    /// when there is a server for everybody everywhere.
    pub fn bottleneck(&self, demands: &Demands) -> Option<f64> {
        let one = (self.policy, demands.mean(), 1.0, self.setting.servers);
        let many = |(p, s): &(Policy, Specified)| (*p, s.server().service().mean(), s.visits(), s.server().servers());
        let stations: Vec<_> = if self.tour.is_empty() { vec![one] } else { self.tour.iter().map(many).collect() };
        let busy = stations.into_iter().filter(|(policy, ..)| *policy != Policy::Infinite);
        busy.map(|(_, mean, visits, servers)| mean * visits / f64::from(servers)).reduce(f64::max)
    }

    /// How many servers are counted as busy when jobs are present; `None` where that cannot be seen from their number.
    pub fn counted_servers(&self) -> Option<u32> {
        (self.tour.is_empty() && self.policy != Policy::Infinite).then_some(self.setting.servers)
    }
}

/// Makes a discipline and drops it.
struct Check;

impl Use for Check {
    type Out = ();
    fn with<D: crate::Discipline + Send + 'static>(self, _: D) {}
}
