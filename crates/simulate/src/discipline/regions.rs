//! Regions of a network with a limited capacity.

use std::collections::VecDeque;

/// A region: stations with a maximum number of jobs in all of them together.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Indices of its stations.
    pub stations: Vec<usize>,
    /// Maximum number of jobs inside.
    pub capacity: u32,
    /// Whether a job that finds it full is rejected; otherwise it waits outside, first come, first served.
    pub rejects: bool,
}

/// All regions of a network. Two regions have no station in common, or one is inside the other.
///
/// A job holds a place in a region from the start of its first visit to a station of the region until it leaves for a
/// station outside. A job that waits for an inner region keeps its places in the outer ones. Places are taken from the
/// outer region to the inner one, and a job that holds a place in an inner region never waits for an outer one, so jobs
/// do not block each other for ever.
#[derive(Debug, Default)]
pub struct Regions {
    regions: Vec<State>,
    /// Regions by station, the outer ones first.
    of_station: Vec<Vec<usize>>,
}

#[derive(Debug)]
struct State {
    capacity: u32,
    rejects: bool,
    inside: u32,
    waiting: VecDeque<usize>,
}

/// The places of a job: in the first `count` regions of a station.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    station: usize,
    count: usize,
}

impl Held {
    /// Adds the place that [`Regions::admit`] gave.
    pub(super) fn add(&mut self) {
        self.count += 1;
    }
}

/// What happens to a job on its way to a station.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// The job has a place in every region of the station.
    Inside,
    /// The job waits for a place.
    Waits,
    /// A full region rejects it.
    Rejected,
}

impl Regions {
    /// These regions of a network with this number of stations.
    pub fn new(stations: usize, regions: Vec<Region>) -> Self {
        let of = |station: usize| {
            let mut own: Vec<usize> =
                (0..regions.len()).filter(|region| regions[*region].stations.contains(&station)).collect();
            own.sort_by_key(|region| std::cmp::Reverse(regions[*region].stations.len()));
            own
        };
        let of_station = (0..stations).map(of).collect();
        let state = |region: &Region| State {
            capacity: region.capacity,
            rejects: region.rejects,
            inside: 0,
            waiting: VecDeque::new(),
        };
        Self { regions: regions.iter().map(state).collect(), of_station }
    }

    /// The regions of a station, the outer ones first.
    fn around(&self, station: usize) -> &[usize] {
        self.of_station.get(station).map_or(&[], Vec::as_slice)
    }

    /// Gives up the places in regions that do not contain the station `next`; `None`: all places.
    pub(super) fn leave(&mut self, held: &mut Held, next: Option<usize>) {
        let next = next.unwrap_or(usize::MAX);
        let before = &self.around(held.station)[..held.count];
        let common = before.iter().zip(self.around(next)).take_while(|(one, other)| one == other).count();
        for number in common..held.count {
            self.regions[self.of_station[held.station][number]].inside -= 1;
        }
        *held = Held { station: next, count: common };
    }

    /// Takes places for job `place` in the regions of station `next`, for which [`leave`](Self::leave) was called.
    pub(super) fn enter(&mut self, held: &mut Held, next: usize, place: usize) -> Entry {
        while let Some(region) = self.around(next).get(held.count).copied() {
            let state = &mut self.regions[region];
            if state.inside < state.capacity && state.waiting.is_empty() {
                state.inside += 1;
                held.count += 1;
            } else if state.rejects {
                return Entry::Rejected;
            } else {
                state.waiting.push_back(place);
                return Entry::Waits;
            }
        }
        Entry::Inside
    }

    /// Gives a free place to the first job that waits for one, and returns the job, for [`Held::add`].
    pub(super) fn admit(&mut self) -> Option<usize> {
        let state = self.regions.iter_mut().find(|state| state.inside < state.capacity && !state.waiting.is_empty())?;
        state.inside += 1;
        state.waiting.pop_front()
    }
}
