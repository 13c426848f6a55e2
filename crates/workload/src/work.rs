//! How much work launches bring to a modelled server.

use super::{Request, Server, Sessions, Station, Workload};
use crate::catalogue::OneOf;
use offered_base::random::{Purpose, Seed};
use offered_base::time::Nanos;
use offered_distributions::Distribution;
use offered_schedule::trace::Replay;

/// How much work each launch of a workload brings: a function of (seed, session, step), the same for whoever asks.
#[derive(Clone, Debug)]
pub struct Works {
    seed: Seed,
    requests: Vec<Option<Work>>,
}

/// Where the work of a request comes from.
#[derive(Clone, Debug)]
enum Work {
    /// It is drawn from this distribution.
    Distribution(Distribution),
    /// It is that of the file which is asked for; the distribution is that of all of them.
    File(OneOf, Distribution),
    /// It is that of the entry of a trace; the distribution is that of all entries which ask for this.
    Entry(Replay, Distribution),
}

impl Workload {
    /// Whether some of its requests bring work of their own, and not what the distribution of their server says.
    pub fn brings_work(&self) -> bool {
        self.requests().iter().any(|request| request.service.is_some())
            || matches!(self.sessions(), Sessions::Replay(replay) if replay.trace().says_work())
    }

    /// The work of its launches: each by what its request (or its entry in a trace) says, else by the distribution of its server, or of the first of its stations (that of
    /// the others is drawn there).
    pub fn works(&self) -> Works {
        let first = self.stations().first().map(Station::server);
        let server = self.server().or(first).map(Server::service);
        if let Sessions::Replay(replay) = self.sessions()
            && replay.trace().says_work()
        {
            let distributions = replay.trace().distributions(self.requests().len()).into_iter();
            // Nobody asks for what has none.
            let none = || Distribution::constant(0.0).expect("zero is a constant");
            let work = |own: Option<Distribution>| Some(Work::Entry(replay.clone(), own.unwrap_or_else(none)));
            return Works { seed: self.seed(), requests: distributions.map(work).collect() };
        }
        let work = |request: &Request| match (&request.one_of, &request.service) {
            (Some(one_of), Some(distribution)) if one_of.catalogue().says_work() => {
                Some(Work::File(one_of.clone(), distribution.clone()))
            }
            (_, own) => own.as_ref().or(server).cloned().map(Work::Distribution),
        };
        Works { seed: self.seed(), requests: self.requests().iter().map(work).collect() }
    }
}

impl Works {
    /// The distribution of the work of request `label`, where it is known.
    pub fn distribution(&self, label: u16) -> Option<&Distribution> {
        match self.requests[usize::from(label)].as_ref()? {
            Work::Distribution(distribution) | Work::File(_, distribution) | Work::Entry(_, distribution) => {
                Some(distribution)
            }
        }
    }

    /// The distribution that work is drawn from, where all requests are one.
    pub fn only_distribution(&self) -> Option<&Distribution> {
        match &self.requests[..] {
            [Some(Work::Distribution(distribution))] => Some(distribution),
            _ => None,
        }
    }

    /// What step `step` of `session` brings, which sends request `label`; `None` where nothing says.
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
