//! A network: several stations that a request visits one after another.

use std::collections::VecDeque;

use offered_model::{Instant, Law, Nanos, Purpose, Seed, Stream, Wrong};

use super::{Discipline, Job, sooner};

/// A route of more visits to one station is refused.
const MOST_VISITS: f64 = 1e6;

/// One place of a network: a discipline, the law of its service times, and how often a request comes by.
pub struct Station {
    /// Its servers and their queue; a delay station is [`Infinite`](super::Infinite).
    pub discipline: Box<dyn Discipline + Send>,
    /// Work per visit, in seconds.
    pub service: Law,
    /// Mean visits per request, above zero. A request makes as many whole visits as that, and one more with the probability
    /// that makes the mean right.
    pub visits: f64,
}

impl Station {
    /// The whole visits that every request makes, and the probability of one more.
    fn whole_and_more(&self) -> (u32, f64) {
        (self.visits as u32, self.visits.fract())
    }
}

/// Stations that every request visits in order, each as often as it says, before it is done.
///
/// A request's own size is not used: it brings fresh work to every visit, by the station's law. Stations are visited in
/// rounds (all once, then those with two visits or more again, and so on), so with one visit each it is a series.
/// Jobs that move at the same instant move in the order of their stations. A request that happens to visit nothing is done
/// when it arrives.
pub struct Network {
    stations: Vec<Station>,
    /// Station numbers in the order of a request's visits, each with the probability that the visit is made.
    route: Vec<(usize, f64)>,
    /// Whether visits are made or not is drawn from here.
    chances: Stream,
    travellers: Vec<Traveller>,
    /// Free places in `travellers`.
    free: Vec<usize>,
    moving: VecDeque<usize>,
    finished: VecDeque<(Instant, Job)>,
    /// One stream of work per station, so that a change at one leaves the others alone.
    sizes: Vec<Stream>,
}

struct Traveller {
    job: Job,
    /// The place in the route; its end when the job is done.
    visit: usize,
}

impl Network {
    /// Of these stations; work is drawn from the seed in the order of visits.
    ///
    /// # Errors
    /// No visits at all, or more than a million to one station.
    pub fn new(stations: Vec<Station>, seed: Seed) -> Result<Self, Wrong> {
        if stations.iter().any(|station| station.visits > MOST_VISITS) {
            return Err(Wrong::new("a station is visited at most a million times by one request"));
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
            return Err(Wrong::new("a network needs at least one station with at least one visit"));
        }
        let sizes = (1..=stations.len() as u64).map(|k| seed.at(Purpose::Size, u64::MAX - k, 0)).collect();
        Ok(Self {
            stations,
            route,
            chances: seed.at(Purpose::Size, u64::MAX, 0),
            travellers: Vec::new(),
            free: Vec::new(),
            moving: VecDeque::new(),
            finished: VecDeque::new(),
            sizes,
        })
    }

    /// Sends a traveller to the next place of its route, or home.
    fn send(&mut self, now: Instant, place: usize) {
        let traveller = &mut self.travellers[place];
        // A visit that is always made takes no chance, so whole visits are what they were.
        let chances = &mut self.chances;
        let mut left_out = |chance: f64| chance < 1.0 && chances.uniform() >= chance;
        while self.route.get(traveller.visit).is_some_and(|(_, chance)| left_out(*chance)) {
            traveller.visit += 1;
        }
        let Some((k, _)) = self.route.get(traveller.visit) else {
            self.finished.push_back((now, traveller.job));
            self.free.push(place);
            return;
        };
        let station = &mut self.stations[*k];
        let size = Nanos::from_secs_f64(station.service.sample(&mut self.sizes[*k]));
        station.discipline.arrive(now, Job { id: place as u64, class: traveller.job.class, size, arrived: now });
    }

    /// Lets all who are finished with a station at `at` leave it, in the order of the stations.
    fn leave(&mut self, at: Instant) {
        for station in &mut self.stations {
            while let Some(job) = station.discipline.complete(at) {
                self.moving.push_back(job.id as usize);
            }
        }
    }

    /// Moves everybody who moves at `at`: completions first, so that no station sees an arrival before them.
    fn step(&mut self, at: Instant) {
        self.leave(at);
        while let Some(place) = self.moving.pop_front() {
            self.travellers[place].visit += 1;
            self.send(at, place);
            self.leave(at);
        }
    }
}

impl Discipline for Network {
    fn arrive(&mut self, now: Instant, job: Job) {
        let traveller = Traveller { job, visit: 0 };
        let place = if let Some(place) = self.free.pop() {
            self.travellers[place] = traveller;
            place
        } else {
            self.travellers.push(traveller);
            self.travellers.len() - 1
        };
        self.send(now, place);
    }

    fn next(&self) -> Option<Instant> {
        let moves = || self.stations.iter().fold(None, |next, station| sooner(next, station.discipline.next()));
        self.finished.front().map(|(at, _)| *at).or_else(moves)
    }

    fn complete(&mut self, now: Instant) -> Option<Job> {
        while self.finished.is_empty() {
            let at = self.next().filter(|next| *next <= now)?;
            self.step(at);
        }
        self.finished.pop_front().map(|(_, job)| job)
    }

    fn left(&self, now: Instant, tell: &mut dyn FnMut(u64, Nanos)) {
        // What is left of a request of many visits is drawn when it comes to them.
        let _ = (now, tell);
    }
}
