//! A network: several stations that a request visits one after another.

use std::collections::VecDeque;

use offered_model::{Law, Nanos, Purpose, Seed, Stream, Wrong};

use super::{Discipline, Job, sooner};

/// One place of a network: a discipline, the law of its service times, and how often a request comes by.
pub struct Station {
    /// Its servers and their queue; a delay station is [`Infinite`](super::Infinite).
    pub discipline: Box<dyn Discipline + Send>,
    /// Work per visit, in seconds.
    pub service: Law,
    /// Visits per request.
    pub visits: u32,
}

/// Stations that every request visits in order, each as often as it says, before it is done.
///
/// A request's own size is not used: it brings fresh work to every visit, by the station's law. Stations are visited in
/// rounds (all once, then those with two visits or more again, and so on), so with one visit each it is a series.
/// Jobs that move at the same instant move in the order of their stations.
pub struct Network {
    stations: Vec<Station>,
    /// Station numbers in the order of a request's visits.
    route: Vec<usize>,
    travellers: Vec<Traveller>,
    /// Free places in `travellers`.
    free: Vec<usize>,
    moving: VecDeque<usize>,
    finished: VecDeque<(Nanos, Job)>,
    /// One stream of work per station, so that a change at one leaves the others alone.
    sizes: Vec<Stream>,
}

struct Traveller {
    job: Job,
    visit: usize,
}

impl Network {
    /// Of these stations; work is drawn from the seed in the order of visits.
    ///
    /// # Errors
    /// No visits at all.
    pub fn new(stations: Vec<Station>, seed: Seed) -> Result<Self, Wrong> {
        let rounds = stations.iter().map(|station| station.visits).max().unwrap_or(0);
        let round = |k: u32| stations.iter().enumerate().filter(move |(_, s)| s.visits > k).map(|(place, _)| place);
        let route: Vec<usize> = (0..rounds).flat_map(round).collect();
        if route.is_empty() {
            return Err(Wrong::new("a network needs at least one station with at least one visit"));
        }
        let sizes = (1..=stations.len() as u64).map(|k| seed.at(Purpose::Size, u64::MAX - k, 0)).collect();
        Ok(Self {
            stations,
            route,
            travellers: Vec::new(),
            free: Vec::new(),
            moving: VecDeque::new(),
            finished: VecDeque::new(),
            sizes,
        })
    }

    /// Sends a traveller to the next place of its route.
    fn send(&mut self, now: Nanos, place: usize) {
        let traveller = &self.travellers[place];
        let k = self.route[traveller.visit];
        let station = &mut self.stations[k];
        let size = Nanos::from_secs_f64(station.service.sample(&mut self.sizes[k]));
        station.discipline.arrive(now, Job { id: place as u64, class: traveller.job.class, size, arrived: now });
    }

    /// Lets all who are finished with a station at `at` leave it, in the order of the stations.
    fn leave(&mut self, at: Nanos) {
        for station in &mut self.stations {
            while let Some(job) = station.discipline.complete(at) {
                self.moving.push_back(job.id as usize);
            }
        }
    }

    /// Moves everybody who moves at `at`: completions first, so that no station sees an arrival before them.
    fn step(&mut self, at: Nanos) {
        self.leave(at);
        while let Some(place) = self.moving.pop_front() {
            let traveller = &mut self.travellers[place];
            traveller.visit += 1;
            if traveller.visit == self.route.len() {
                self.finished.push_back((at, traveller.job));
                self.free.push(place);
            } else {
                self.send(at, place);
                self.leave(at);
            }
        }
    }
}

impl Discipline for Network {
    fn arrive(&mut self, now: Nanos, job: Job) {
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

    fn next(&self) -> Option<Nanos> {
        let moves = || self.stations.iter().fold(None, |next, station| sooner(next, station.discipline.next()));
        self.finished.front().map(|(at, _)| *at).or_else(moves)
    }

    fn complete(&mut self, now: Nanos) -> Option<Job> {
        while self.finished.is_empty() {
            let at = self.next().filter(|next| *next <= now)?;
            self.step(at);
        }
        self.finished.pop_front().map(|(_, job)| job)
    }
}
