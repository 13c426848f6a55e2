//! A network: a series of stations that a request visits.

use std::collections::VecDeque;

use offered_base::{Instant, InvalidValue, Nanos, Purpose, Seed, Stream};
use offered_distributions::Distribution;

use super::{Discipline, Job, JobTokens, earliest};

/// Maximum mean visits to one station.
const MAX_VISITS: f64 = 1e6;

/// One station of a network.
pub struct Station {
    /// Its servers and queue; a delay station is [`Infinite`](super::Infinite).
    pub discipline: Box<dyn Discipline + Send>,
    /// Service time per visit, seconds.
    pub service: Distribution,
    /// Mean visits per request, above zero. A request makes the whole number of visits below it, and one more with the
    /// probability that yields the mean.
    pub visits: f64,
}

impl Station {
    /// Number of visits that every request makes, and the probability of one more.
    fn whole_and_more(&self) -> (u32, f64) {
        (self.visits as u32, self.visits.fract())
    }
}

/// Stations that every request visits in order, each with its own number of visits.
///
/// The size of the request is not used: each visit has a new service time from the station's distribution. Stations are
/// visited in rounds (all once, then those with two or more visits again, and so on), so with one visit each the
/// network is a series. Jobs that move at the same instant move in the order of their stations. A request without any
/// visit completes when it arrives.
pub struct Network {
    stations: Vec<Station>,
    /// Station indices in the order of a request's visits, each with the probability of the visit.
    route: Vec<(usize, f64)>,
    /// Random stream that decides whether a visit happens.
    chances: Stream,
    visitors: Vec<Visitor>,
    /// Free indices in `visitors`.
    free: Vec<usize>,
    moving: VecDeque<usize>,
    finished: VecDeque<(Instant, Job)>,
    /// One stream of service times per station, so that a change at one station does not affect the others.
    sizes: Vec<Stream>,
}

struct Visitor {
    job: Job,
    /// Index in the route; its length when the job is done.
    visit: usize,
}

impl Network {
    /// A network of these stations. Service times are sampled in the order of visits.
    ///
    /// # Errors
    /// There are no visits at all, or more than a million to one station.
    pub fn new(stations: Vec<Station>, seed: Seed) -> Result<Self, InvalidValue> {
        if stations.iter().any(|station| station.visits > MAX_VISITS) {
            return Err(InvalidValue::new("a request may visit a station at most a million times; lower `visits`"));
        }
        let most = |station: &Station| {
            let (whole, more) = station.whole_and_more();
            whole + u32::from(more > 0.0)
        };
        let rounds = stations.iter().map(most).max().unwrap_or(0);
        let visit = |(place, station): (usize, &Station), round: u32| {
            let (whole, more) = station.whole_and_more();
            let chance = if round < whole { 1.0 } else { more };
            (round < most(station)).then_some((place, chance))
        };
        let route: Vec<(usize, f64)> = (0..rounds)
            .flat_map(|round| stations.iter().enumerate().filter_map(move |one| visit(one, round)))
            .collect();
        if route.is_empty() {
            return Err(InvalidValue::new("a network needs at least one station with at least one visit"));
        }
        let sizes = (1..=stations.len() as u64).map(|k| seed.at(Purpose::Size, u64::MAX - k, 0)).collect();
        Ok(Self {
            stations,
            route,
            chances: seed.at(Purpose::Size, u64::MAX, 0),
            visitors: Vec::new(),
            free: Vec::new(),
            moving: VecDeque::new(),
            finished: VecDeque::new(),
            sizes,
        })
    }

    /// Sends a job to the next station of its route, or completes it.
    fn send(&mut self, now: Instant, place: usize) {
        let visitor = &mut self.visitors[place];
        // A certain visit uses no random number, so whole visits do not change when fractions are added.
        let chances = &mut self.chances;
        let mut left_out = |chance: f64| chance < 1.0 && chances.uniform() >= chance;
        while self.route.get(visitor.visit).is_some_and(|(_, chance)| left_out(*chance)) {
            visitor.visit += 1;
        }
        let Some((k, _)) = self.route.get(visitor.visit) else {
            self.finished.push_back((now, visitor.job));
            self.free.push(place);
            return;
        };
        let station = &mut self.stations[*k];
        let size = Nanos::from_secs_f64(station.service.sample(&mut self.sizes[*k]));
        station.discipline.arrive(
            now,
            Job { id: place as u64, class: visitor.job.class, size, arrived: now, tokens: JobTokens::default() },
        );
    }

    /// Moves all jobs that complete at a station at `at`, in the order of the stations.
    fn leave(&mut self, at: Instant) {
        for station in &mut self.stations {
            while let Some(job) = station.discipline.complete(at) {
                self.moving.push_back(job.id as usize);
            }
        }
    }

    /// Moves all jobs that move at `at`: completions first, so that no station sees an arrival before them.
    fn step(&mut self, at: Instant) {
        self.leave(at);
        while let Some(place) = self.moving.pop_front() {
            self.visitors[place].visit += 1;
            self.send(at, place);
            self.leave(at);
        }
    }
}

impl Discipline for Network {
    fn arrive(&mut self, now: Instant, job: Job) {
        let visitor = Visitor { job, visit: 0 };
        let place = if let Some(place) = self.free.pop() {
            self.visitors[place] = visitor;
            place
        } else {
            self.visitors.push(visitor);
            self.visitors.len() - 1
        };
        self.send(now, place);
    }

    fn next(&self) -> Option<Instant> {
        let moves = || self.stations.iter().fold(None, |next, station| earliest(next, station.discipline.next()));
        self.finished.front().map(|(at, _)| *at).or_else(moves)
    }

    fn complete(&mut self, now: Instant) -> Option<Job> {
        while self.finished.is_empty() {
            let at = self.next().filter(|next| *next <= now)?;
            self.step(at);
        }
        self.finished.pop_front().map(|(_, job)| job)
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        // The remaining work of later visits is not known; it is sampled at each visit.
        let _ = (now, report);
    }
}
