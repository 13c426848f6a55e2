//! The work of requests for a modelled server.

use super::{Policy, Request, Server, Sessions, Station, Workload};
use crate::catalogue::OneOf;
use offered_base::random::{Purpose, Seed};
use offered_base::time::Nanos;
use offered_distributions::Distribution;
use offered_schedule::replay::Replay;

/// The work of each request of a workload: a function of (seed, session, step).
#[derive(Clone, Debug)]
pub struct Works {
    seed: Seed,
    requests: Vec<Option<Work>>,
}

/// Where the work of a request comes from.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one for each request of the workload")]
enum Work {
    /// Drawn from this distribution.
    Distribution(Distribution),
    /// The work of the requested file, and the distribution of all its files.
    File(OneOf, Distribution),
    /// The work of an entry of a trace, and the distribution of all entries with this request.
    Entry(Replay, Distribution),
}

impl Workload {
    /// Whether at least one request has its own work instead of the service time of the server.
    pub fn has_own_work(&self) -> bool {
        self.requests().iter().any(|request| request.service.is_some())
            || matches!(self.sessions(), Sessions::Replay(replay) if replay.trace().has_work())
    }

    /// Requests per second that the modelled server can serve; `None` without a `[server]`, if each request has a server of its own, and for
    /// an engine.
    pub fn capacity_per_s(&self) -> Option<f64> {
        let server = self.server().filter(|server| server.discipline() != Policy::Infinite)?;
        let works = self.works();
        let means = (0..).zip(self.shares()).map(|(label, share)| Some(share * works.distribution(label)?.mean()));
        let mean: f64 = means.collect::<Option<Vec<f64>>>()?.iter().sum();
        server.largest_rate().filter(|_| mean > 0.0).map(|rate| rate / mean)
    }

    /// The work of the requests of this workload: the work of the request or of the trace entry; without such work, it is drawn from the
    /// service time of the server or of the first station. (The other stations draw their own work.)
    pub fn works(&self) -> Works {
        let first = self.stations().first().map(Station::server);
        let server = self.server().or(first).map(Server::service);
        if let Sessions::Replay(replay) = self.sessions()
            && replay.trace().has_work()
        {
            let distributions = replay.trace().distributions(self.requests().len()).into_iter();
            // A request without a distribution is never sent.
            let none = || Distribution::constant(0.0).expect("zero is a constant");
            let work = |own: Option<Distribution>| Some(Work::Entry(replay.clone(), own.unwrap_or_else(none)));
            return Works { seed: self.seed(), requests: distributions.map(work).collect() };
        }
        let work = |request: &Request| match (&request.one_of, &request.service) {
            (Some(one_of), Some(distribution)) if one_of.catalogue().has_work() => {
                Some(Work::File(one_of.clone(), distribution.clone()))
            }
            (_, own) => own.as_ref().or(server).cloned().map(Work::Distribution),
        };
        Works { seed: self.seed(), requests: self.requests().iter().map(work).collect() }
    }
}

impl Works {
    /// The distribution of the work of request `label`, if known.
    pub fn distribution(&self, label: u16) -> Option<&Distribution> {
        match self.requests[usize::from(label)].as_ref()? {
            Work::Distribution(distribution) | Work::File(_, distribution) | Work::Entry(_, distribution) => {
                Some(distribution)
            }
        }
    }

    /// The distribution of work, if all requests have the same one.
    pub fn only_distribution(&self) -> Option<&Distribution> {
        match &self.requests[..] {
            [Some(Work::Distribution(distribution))] => Some(distribution),
            _ => None,
        }
    }

    /// The work of step `step` of `session`, which sends request `label`; `None`: not defined.
    #[inline]
    pub fn of(&self, session: u64, step: u32, label: u16) -> Option<Nanos> {
        match self.requests[usize::from(label)].as_ref()? {
            Work::Distribution(distribution) => {
                Some(Nanos::from_secs_f64(distribution.draw(self.seed, Purpose::Size, session, step)))
            }
            Work::File(one_of, _) => one_of.drawn(self.seed, session, step).work,
            Work::Entry(replay, _) => replay.work(session, step),
        }
    }
}
