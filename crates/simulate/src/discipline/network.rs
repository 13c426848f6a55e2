//! A network: a series of stations that a request visits.

use std::collections::VecDeque;

use offered_base::{Instant, InvalidValue, Nanos, Purpose, Seed, Stream};
use offered_distributions::Distribution;

use super::regions::{Entry, Held, Regions};
use super::{Discipline, Job, JobTokens, earliest};

/// Maximum mean visits to one station.
const MAX_VISITS: f64 = 1e6;

/// One station of a network.
pub struct Station {
    /// The servers and queue; a delay station is [`Infinite`](super::Infinite).
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
/// network is a series. Jobs that move at the same instant move in the order of their stations; jobs that waited to
/// enter a region move first. A request without any visit completes when it arrives.
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
    /// Jobs that a full region rejected.
    rejected: VecDeque<Job>,
    regions: Regions,
    /// One stream of service times per station, so that a change at one station does not affect the others.
    sizes: Vec<Stream>,
}

struct Visitor {
    job: Job,
    /// Index in the route; its length when the job is done.
    visit: usize,
    /// The regions in which the job holds a place.
    held: Held,
}

impl Network {
    /// A network of these stations, in regions of limited capacity. Service times are sampled in the order of visits.
    ///
    /// # Errors
    /// There are no visits at all, or more than a million to one station.
    pub fn new(stations: Vec<Station>, regions: Regions, seed: Seed) -> Result<Self, InvalidValue> {
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
            rejected: VecDeque::new(),
            regions,
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
        let next = self.route.get(visitor.visit).map(|(k, _)| *k);
        self.regions.leave(&mut visitor.held, next);
        if next.is_some() {
            self.enter(now, place);
        } else {
            self.finished.push_back((now, visitor.job));
            self.free.push(place);
        }
    }

    /// Moves a job into the regions of its next station and to the station, until a region is full.
    fn enter(&mut self, now: Instant, place: usize) {
        let Visitor { job, visit, held } = &mut self.visitors[place];
        let k = self.route[*visit].0;
        match self.regions.enter(held, k, place) {
            Entry::Waits => {}
            Entry::Rejected => {
                self.regions.leave(held, None);
                self.rejected.push_back(*job);
                self.free.push(place);
            }
            Entry::Inside => {
                let station = &mut self.stations[k];
                let size = Nanos::from_secs_f64(station.service.sample(&mut self.sizes[k]));
                let tokens = JobTokens::default();
                station.discipline.arrive(now, Job { id: place as u64, class: job.class, size, arrived: now, tokens });
            }
        }
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
        loop {
            self.leave(at);
            if let Some(place) = self.regions.admit() {
                self.visitors[place].held.add();
                self.enter(at, place);
            } else if let Some(place) = self.moving.pop_front() {
                self.visitors[place].visit += 1;
                self.send(at, place);
            } else {
                return;
            }
        }
    }
}

impl Discipline for Network {
    fn arrive(&mut self, now: Instant, job: Job) {
        let visitor = Visitor { job, visit: 0, held: Held::default() };
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

    fn rejected(&mut self) -> Option<Job> {
        self.rejected.pop_front()
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        // The remaining work of later visits is not known; it is sampled at each visit.
        let _ = (now, report);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fcfs, Region};
    use super::*;

    /// A network of FCFS stations with these constant services in nanoseconds and regions of (stations, capacity, rejects).
    fn network(services: &[u64], regions: &[(&[usize], u32, bool)]) -> Network {
        let station = |ns: &u64| Station {
            discipline: Box::new(Fcfs::new(1)),
            service: Distribution::constant(*ns as f64 * 1e-9).unwrap(),
            visits: 1.0,
        };
        let region = |(stations, capacity, rejects): &(&[usize], u32, bool)| Region {
            stations: stations.to_vec(),
            capacity: *capacity,
            rejects: *rejects,
        };
        let regions = Regions::new(services.len(), regions.iter().map(region).collect());
        Network::new(services.iter().map(station).collect(), regions, Seed(1)).unwrap()
    }

    /// When jobs that arrive at these instants leave, by job: the instant, and whether the job was rejected.
    fn ends(mut network: Network, arrivals: &[u64]) -> Vec<(u64, bool)> {
        let mut ends = vec![(0, false); arrivals.len()];
        let mut until = |network: &mut Network, end: Instant| {
            while let Some(at) = network.next().filter(|at| *at <= end) {
                if let Some(job) = network.complete(at) {
                    ends[job.id as usize] = (at.0, false);
                }
                while let Some(job) = network.rejected() {
                    ends[job.id as usize] = (at.0, true);
                }
            }
        };
        let mut at_once = Vec::new();
        for (id, at) in (0..).zip(arrivals) {
            let now = Instant(*at);
            until(&mut network, now);
            network.arrive(now, Job { id, class: 0, size: Nanos::ZERO, arrived: now, tokens: JobTokens::default() });
            at_once.extend(std::iter::from_fn(|| network.rejected()).map(|job| (job.id, now)));
        }
        until(&mut network, Instant::MAX);
        for (id, now) in at_once {
            ends[id as usize] = (now.0, true);
        }
        ends
    }

    fn completed(list: &[u64]) -> Vec<(u64, bool)> {
        list.iter().map(|at| (*at, false)).collect()
    }

    #[test]
    fn jobs_wait_before_a_full_region() {
        let arrivals = [0, 1, 2];
        assert_eq!(ends(network(&[10, 20], &[]), &arrivals), completed(&[30, 50, 70]));
        // One after the other, and two at a time.
        assert_eq!(ends(network(&[10, 20], &[(&[0, 1], 1, false)]), &arrivals), completed(&[30, 60, 90]));
        assert_eq!(ends(network(&[10, 20], &[(&[0, 1], 2, false)]), &arrivals), completed(&[30, 50, 70]));
        // A place in front of the second station is given up before it: waiting does not block the first.
        assert_eq!(ends(network(&[10, 20], &[(&[1], 1, false)]), &arrivals), completed(&[30, 50, 70]));
        // Inside a region of the first two, a job that waits for the second one keeps its place, so the third job waits.
        let nested = [(&[0, 1][..], 2, false), (&[1][..], 1, false)];
        assert_eq!(ends(network(&[10, 20, 5], &nested), &arrivals), completed(&[35, 55, 75]));
    }

    #[test]
    fn a_full_region_rejects_jobs_where_they_are() {
        let arrivals = [0, 1, 32];
        let rejecting = ends(network(&[10, 20], &[(&[0, 1], 1, true)]), &arrivals);
        assert_eq!(rejecting, [(30, false), (1, true), (62, false)]);
        // The second one is rejected when it comes to the second station at 20.
        assert_eq!(ends(network(&[10, 20], &[(&[1], 1, true)]), &arrivals), [(30, false), (20, true), (62, false)]);
        // It then gives up its place in the outer region, for which the third one waits.
        let nested = [(&[0, 1][..], 2, false), (&[1][..], 1, true)];
        assert_eq!(ends(network(&[10, 15], &nested), &[0, 1, 2]), [(25, false), (20, true), (45, false)]);
    }
}
