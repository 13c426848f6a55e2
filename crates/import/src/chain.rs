//! From what a plan says (do this, then one of these, twice) to the chain of steps that a workload walks through.
//!
//! Other tools wait *before* a request, a workload thinks *after* one. So the wait before a request goes to the step before
//! it; where the ways on from a step wait by different laws, the step is written once for each law and the way is chosen one
//! request earlier, which changes nothing that can be seen.

use crate::delay::Delay;
use crate::plan::{Flow, Step, unlike};

/// Steps written out at most; loops are as well.
pub(crate) const MOST_STEPS: usize = 2000;

/// Requests of all flows at most, repeats included: the places that a workload can tell apart.
const MOST_REQUESTS: u64 = 65_535;

/// Ways gone through at most: loops of loops that send nothing make no steps, and take time all the same.
const MOST_WAYS: usize = 200_000;

/// What one user does in one round.
#[derive(Clone, Debug)]
pub(crate) enum Walk {
    /// Waits, then sends a request (an index).
    Ask(usize, Delay),
    /// Waits.
    Pause(Delay),
    /// One after another.
    All(Vec<Walk>),
    /// One of these, by weight.
    One(Vec<(f64, Walk)>),
    /// So many times.
    Times(u32, Box<Walk>),
    /// Only the first time of what repeats it.
    First(Box<Walk>),
}

impl Walk {
    /// How many steps it takes to write it out.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Ask(..) => 1,
            Self::Pause(_) => 0,
            Self::All(walks) => walks.iter().fold(0, |sum, walk| sum.saturating_add(walk.size())),
            Self::One(walks) => walks.iter().fold(0, |sum, (_, walk)| sum.saturating_add(walk.size())),
            Self::Times(_, walk) if matches!(**walk, Self::Ask(..)) => 2,
            Self::Times(times, walk) => walk.size().saturating_mul(*times as usize),
            Self::First(walk) => walk.size(),
        }
    }

    /// Every request in it, as often as it is written.
    pub(crate) fn asked(&self) -> Vec<usize> {
        match self {
            Self::Ask(request, _) => vec![*request],
            Self::Pause(_) => Vec::new(),
            Self::All(walks) => walks.iter().flat_map(Self::asked).collect(),
            Self::One(walks) => walks.iter().flat_map(|(_, walk)| walk.asked()).collect(),
            Self::Times(_, walk) | Self::First(walk) => walk.asked(),
        }
    }

    /// Without the requests that are not `kept`: their waits stay.
    pub(crate) fn only(self, kept: &impl Fn(usize) -> bool) -> Self {
        match self {
            Self::Ask(request, before) if !kept(request) => Self::Pause(before),
            Self::All(walks) => Self::All(walks.into_iter().map(|walk| walk.only(kept)).collect()),
            Self::One(walks) => Self::One(walks.into_iter().map(|(weight, walk)| (weight, walk.only(kept))).collect()),
            Self::Times(times, walk) => Self::Times(times, Box::new(walk.only(kept))),
            Self::First(walk) => Self::First(Box::new(walk.only(kept))),
            walk => walk,
        }
    }

    /// With what is only done the first time of a repetition done then, and what is repeated by nothing done once.
    pub(crate) fn settled(self) -> Self {
        match self {
            Self::All(walks) => Self::All(walks.into_iter().map(Self::settled).collect()),
            Self::One(walks) => Self::One(walks.into_iter().map(|(weight, walk)| (weight, walk.settled())).collect()),
            Self::First(walk) => walk.settled(),
            Self::Times(times, walk) if times > 1 => match *walk {
                Self::All(walks) if walks.iter().any(|walk| matches!(walk, Self::First(_))) => {
                    let later = walks.iter().filter(|walk| !matches!(walk, Self::First(_))).cloned();
                    let later = Self::All(later.map(Self::settled).collect());
                    let first = Self::All(walks.into_iter().map(Self::settled).collect());
                    Self::All(vec![first, Self::Times(times - 1, Box::new(later))])
                }
                walk => Self::Times(times, Box::new(walk.settled())),
            },
            Self::Times(times, walk) => Self::Times(times, Box::new(walk.settled())),
            walk => walk,
        }
    }
}

/// A way on: where to (`None`: the round is over), how likely, after what wait (`None`: whichever).
#[derive(Clone, Debug, PartialEq)]
struct Way {
    to: Option<usize>,
    weight: f64,
    delay: Option<Delay>,
}

struct Place {
    request: usize,
    repeat: u32,
    think: Delay,
    next: Vec<(Option<usize>, f64)>,
}

/// The chain of a walk.
pub(crate) struct Chain {
    /// From the last to the first: a step's ways on lead to steps before it in this list.
    places: Vec<Place>,
    entry: Vec<(usize, f64)>,
    /// The share of the rounds that send anything at all.
    pub(crate) begun: f64,
    /// What a user waits before its round, and whether that is a mixture.
    pub(crate) first: Delay,
    pub(crate) mixed: bool,
}

/// More than [`MOST_STEPS`], [`MOST_REQUESTS`] or [`MOST_WAYS`].
#[derive(Debug)]
pub(crate) struct TooLong;

impl Chain {
    /// The chain of `walk`. Where it is `again` and again by the same user, the wait before the first request stands after the
    /// last.
    pub(crate) fn of(walk: &Walk, again: bool) -> Result<Self, TooLong> {
        let over = |delay| vec![Way { to: None, weight: 1.0, delay }];
        let ways = Builder::default().enter(walk, over(None))?;
        let firsts: Vec<(f64, Delay)> = ways
            .iter()
            .filter(|way| way.to.is_some())
            .map(|way| (way.weight, way.delay.clone().unwrap_or_default()))
            .collect();
        let first = Delay::mixed(&firsts);
        let mixed = firsts.iter().any(|(_, delay)| *delay != first);
        let mut builder = Builder::default();
        let ways = builder.enter(walk, over(again.then(|| first.clone())))?;
        let mut entry: Vec<(usize, f64)> = Vec::new();
        for way in &ways {
            if let Some(to) = way.to {
                match entry.iter_mut().find(|(place, _)| *place == to) {
                    Some((_, weight)) => *weight += way.weight,
                    None => entry.push((to, way.weight)),
                }
            }
        }
        let begun = entry.iter().map(|(_, weight)| weight).sum();
        let chain = Self { places: builder.places, entry, begun, first, mixed };
        // Each way in is a flow, which has all that can be reached; rounds of one request are no flows.
        let simple = chain.places.iter().all(|place| place.next.iter().all(|(to, _)| to.is_none()));
        let flows = if simple { 1 } else { chain.entry.len() as u64 };
        let requests: u64 = chain.places.iter().map(|place| u64::from(place.repeat)).sum();
        if requests * flows > MOST_REQUESTS { Err(TooLong) } else { Ok(chain) }
    }

    /// The weight of each request, where every round is one request: then there is no need of flows.
    pub(crate) fn weights(&self, requests: usize) -> Option<Vec<f64>> {
        let single = |place: &Place| {
            place.repeat == 1 && place.think == self.places[0].think && place.next.iter().all(|(to, _)| to.is_none())
        };
        let mut weights = vec![0.0; requests];
        for (place, weight) in &self.entry {
            weights[self.places[*place].request] += weight;
        }
        (!self.places.is_empty() && self.places.iter().all(single)).then_some(weights)
    }

    /// The requests that are ever sent, in their order.
    pub(crate) fn requests(&self) -> Vec<usize> {
        let mut requests: Vec<usize> = self.places.iter().map(|place| place.request).collect();
        requests.sort_unstable();
        requests.dedup();
        requests
    }

    /// The mean number of requests of a round that sends any, and the seconds it thinks.
    pub(crate) fn means(&self) -> (f64, f64) {
        let mut means: Vec<(f64, f64)> = Vec::with_capacity(self.places.len());
        let along = |ways: &mut dyn Iterator<Item = (usize, f64)>, means: &[(f64, f64)]| {
            ways.fold((0.0, 0.0), |sum, (to, p)| (sum.0 + p * means[to].0, sum.1 + p * means[to].1))
        };
        for place in &self.places {
            let repeat = f64::from(place.repeat);
            let on = along(&mut place.next.iter().filter_map(|(to, p)| Some(((*to)?, *p))), &means);
            means.push((repeat + on.0, repeat * place.think.mean() + on.1));
        }
        let sum = along(&mut self.entry.iter().copied(), &means);
        (sum.0 / self.begun, sum.1 / self.begun)
    }

    /// Whether some think time is a law that is only alike.
    pub(crate) fn bent(&self) -> bool {
        self.places.iter().any(|place| place.think.law().1)
    }

    /// One flow for each step that rounds begin with, named after `name`; `requests` are the requests' names.
    pub(crate) fn flows(&self, name: &str, requests: &[String]) -> Vec<Flow> {
        let usual = self.first.law().0;
        let mut flows: Vec<Flow> = Vec::new();
        for (start, weight) in &self.entry {
            let mut seen = vec![false; self.places.len()];
            seen[*start] = true;
            for place in (0..=*start).rev() {
                if seen[place] {
                    self.places[place].next.iter().filter_map(|(to, _)| *to).for_each(|to| seen[to] = true);
                }
            }
            let order: Vec<usize> = (0..=*start).rev().filter(|place| seen[*place]).collect();
            let mut steps: Vec<Step> = Vec::new();
            for place in order.iter().map(|place| &self.places[*place]) {
                let request = requests[place.request].clone();
                let taken = |name: &str| steps.iter().any(|step| step.name == name);
                let think = place.think.law().0;
                let next = place.next.iter().map(|(to, p)| (to.map(|to| position(&order, to)), *p)).collect();
                let (name, think) = (unlike(&request, taken), (think != usual).then_some(think));
                steps.push(Step { name, request, repeat: place.repeat, think, next });
            }
            let name = unlike(name, |name| flows.iter().any(|flow| flow.name == name));
            flows.push(Flow { name, weight: weight / self.begun, steps });
        }
        flows
    }
}

fn position(order: &[usize], place: usize) -> usize {
    order.iter().position(|other| *other == place).expect("every way leads to a step that was seen")
}

#[derive(Default)]
struct Builder {
    /// Those so far, from the last to the first.
    places: Vec<Place>,
    /// Ways gone through.
    ways: usize,
}

impl Builder {
    /// The ways into `walk`, after which it goes `on`.
    fn enter(&mut self, walk: &Walk, on: Vec<Way>) -> Result<Vec<Way>, TooLong> {
        let ways = match walk {
            Walk::Pause(delay) => {
                let wait = |way: Way| Way { delay: way.delay.map(|after| delay.plus(&after)), ..way };
                on.into_iter().map(wait).collect()
            }
            Walk::All(walks) => walks.iter().rev().try_fold(on, |on, walk| self.enter(walk, on))?,
            Walk::One(walks) => {
                let total: f64 = walks.iter().map(|(weight, _)| weight).sum();
                let mut ways = Vec::new();
                for (weight, walk) in walks.iter().filter(|(weight, _)| *weight > 0.0) {
                    let into = self.enter(walk, on.clone())?;
                    ways.extend(into.into_iter().map(|way| Way { weight: way.weight * weight / total, ..way }));
                }
                ways
            }
            Walk::Times(0, _) => on,
            Walk::Times(times, walk) => match &**walk {
                Walk::Ask(request, before) => self.again(*request, before, *times, on)?,
                _ => (0..*times).try_fold(on, |on, _| self.enter(walk, on))?,
            },
            Walk::Ask(request, before) => self.ask(*request, before, on)?,
            Walk::First(walk) => self.enter(walk, on)?,
        };
        let ways = merged(ways);
        self.ways += 1 + ways.len();
        let most = ways.len().max(self.places.len());
        if most > MOST_STEPS || self.ways > MOST_WAYS { Err(TooLong) } else { Ok(ways) }
    }

    /// A step for each law of waiting among the ways on.
    fn ask(&mut self, request: usize, before: &Delay, on: Vec<Way>) -> Result<Vec<Way>, TooLong> {
        let (any, timed): (Vec<Way>, Vec<Way>) = on.into_iter().partition(|way| way.delay.is_none());
        let mut kinds: Vec<(Delay, Vec<Way>)> = Vec::new();
        for way in timed {
            let delay = way.delay.clone().unwrap_or_default();
            match kinds.iter_mut().find(|(kind, _)| *kind == delay) {
                Some((_, ways)) => ways.push(way),
                None => kinds.push((delay, vec![way])),
            }
        }
        match kinds.first_mut() {
            Some((_, ways)) => ways.extend(any),
            None => kinds.push((Delay::default(), any)),
        }
        let mut into = Vec::new();
        for (think, ways) in kinds.into_iter().rev() {
            let weight: f64 = ways.iter().map(|way| way.weight).sum();
            let next = ways.iter().map(|way| (way.to, way.weight / weight)).collect();
            into.push(Way { to: Some(self.places.len()), weight, delay: Some(before.clone()) });
            self.places.push(Place { request, repeat: 1, think, next });
            if self.places.len() > MOST_STEPS {
                return Err(TooLong);
            }
        }
        into.reverse();
        Ok(into)
    }

    /// The same request so many times in a row.
    fn again(&mut self, request: usize, before: &Delay, times: u32, on: Vec<Way>) -> Result<Vec<Way>, TooLong> {
        let last = self.ask(request, before, on)?;
        if times == 1 {
            return Ok(last);
        }
        let top = self.places.len() - 1;
        if last.len() == 1 && self.places[top].think == *before {
            self.places[top].repeat = times;
            return Ok(last);
        }
        let into = self.ask(request, before, last)?;
        let top = self.places.len() - 1;
        self.places[top].repeat = times - 1;
        Ok(into)
    }
}

/// With ways to the same place after the same wait as one.
fn merged(ways: Vec<Way>) -> Vec<Way> {
    let mut merged: Vec<Way> = Vec::new();
    for way in ways {
        match merged.iter_mut().find(|other| other.to == way.to && other.delay == way.delay) {
            Some(other) => other.weight += way.weight,
            None => merged.push(way),
        }
    }
    merged
}
