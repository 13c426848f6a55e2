//! The driver on the virtual clock: an agenda of requests, a modelled server, and an observer.

use std::ops::ControlFlow;

use offered_base::{Instant, InvalidValue, Nanos, Purpose, Seed};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome};
use offered_schedule::{After, Agenda, Launch, Sessions, Visit};
use offered_workload::Workload;
use offered_workload::engine::Engine;
use offered_workload::token_lengths::TokenLengths;
use offered_workload::{Mix, Works};

use crate::discipline::{Discipline, Job, JobTokens};

/// Chooses the request and the service demand of each launch. Both are functions of (seed, session, step).
#[derive(Clone, Debug)]
pub struct ServiceDemands {
    seed: Seed,
    mix: Mix,
    works: Works,
    /// Service distributions by request.
    distributions: Vec<Distribution>,
    /// Share of each request, 0 to 1.
    shares: Vec<f64>,
    /// The tokens of the requests of an engine.
    tokens: Option<TokenDemands>,
    mean: f64,
    second_moment: f64,
    fourth_moment: f64,
}

impl ServiceDemands {
    /// Demands of the requests of a workload: by the request's own distribution, or by that of the server.
    ///
    /// # Errors
    /// The workload has neither a `[server]` (or `[[station]]`s) nor a distribution for every request, or all demands
    /// are zero.
    pub fn new(workload: &Workload) -> Result<Self, InvalidValue> {
        workload.check_probabilities()?;
        let works = workload.works();
        let tokens = TokenDemands::of(workload)?;
        let distributions = (0u16..).zip(workload.requests()).map(|(label, request)| {
            works.distribution(label).cloned().ok_or_else(|| {
                InvalidValue::new(format!(
                    "the request {} has no service time distribution; add for example `server.service = {{ exponential = \"10ms\" }}`",
                    request.name()
                ))
            })
        });
        let distributions = match &tokens {
            Some(tokens) => tokens.alone.clone(),
            None => distributions.collect::<Result<Vec<Distribution>, InvalidValue>>()?,
        };
        let shares = workload.shares();
        let expect = |moment: fn(&Distribution) -> f64| -> f64 {
            shares.iter().zip(&distributions).map(|(share, distribution)| share * moment(distribution)).sum()
        };
        let (mean, second_moment) = (expect(Distribution::mean), expect(Distribution::second_moment));
        let fourth_moment = expect(Distribution::fourth_moment);
        if mean == 0.0 {
            return Err(InvalidValue::new(
                "all service demands are zero; give the service distribution a mean above zero",
            ));
        }
        Ok(Self {
            seed: workload.seed(),
            mix: workload.mix(),
            works,
            distributions,
            shares,
            tokens,
            mean,
            second_moment,
            fourth_moment,
        })
    }

    /// `E[S]` over all requests, seconds.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Time for which a request occupies the server, seconds: the inverse of the capacity. For an engine it is below
    /// the mean, because sequences share its steps.
    pub fn mean_at_capacity(&self) -> f64 {
        self.tokens.as_ref().map_or(self.mean, |tokens| tokens.mean_in_full_batch)
    }

    /// Squared coefficient of variation over all requests, rounded to nine decimals.
    pub fn scv(&self) -> f64 {
        let scv = self.second_moment / (self.mean * self.mean) - 1.0;
        (scv.max(0.0) * 1e9).round() / 1e9
    }

    /// E\[S^2\] and E\[S^4\] over all requests, in powers of seconds.
    pub(crate) fn second_and_fourth_moments(&self) -> [f64; 2] {
        [self.second_moment, self.fourth_moment]
    }

    /// The share of all requests whose size is above `size`, in seconds.
    pub(crate) fn tail(&self, size: f64) -> f64 {
        self.shares.iter().zip(&self.distributions).map(|(share, distribution)| share * distribution.tail(size)).sum()
    }

    /// The share of each request, 0 to 1, and its distribution.
    pub(crate) fn mixture(&self) -> Vec<(f64, &Distribution)> {
        self.shares.iter().copied().zip(&self.distributions).collect()
    }

    /// The distributions as workload files write them, without consecutive duplicates.
    pub fn distributions_as_text(&self) -> String {
        if self.tokens.is_some() {
            return "by tokens".to_owned();
        }
        let mut texts: Vec<String> = self.distributions.iter().map(Distribution::to_string).collect();
        texts.dedup();
        texts.join(", ")
    }

    /// Mean service demand of each request class.
    pub fn class_means(&self) -> Vec<Nanos> {
        self.distributions.iter().map(|distribution| Nanos::from_secs_f64(distribution.mean())).collect()
    }

    /// A request with its class.
    pub(crate) fn with_class(&self, launch: Launch) -> (Launch, u16) {
        (launch, self.mix.choose(launch))
    }

    /// The tokens of a request, for an engine.
    #[inline]
    pub(crate) fn tokens(&self, launch: Launch, class: u16) -> JobTokens {
        self.tokens.as_ref().map_or_else(JobTokens::default, |tokens| JobTokens {
            counts: tokens.lengths.of(launch, class),
            ..JobTokens::default()
        })
    }

    /// The class, the demand and the tokens of a request.
    #[inline]
    pub(crate) fn of(&self, launch: Launch) -> (u16, Nanos, JobTokens) {
        let Launch { session, step, .. } = launch;
        let class = self.mix.choose(launch);
        if let Some(TokenDemands { engine, .. }) = &self.tokens {
            let tokens = self.tokens(launch, class);
            return (class, engine.alone(tokens.counts), tokens);
        }
        // Every request here has a distribution, and therefore a demand.
        (class, self.works.of(session, step, class).unwrap_or_default(), JobTokens::default())
    }
}

/// The tokens of the requests of an engine.
#[derive(Clone, Debug)]
struct TokenDemands {
    engine: Engine,
    lengths: TokenLengths,
    /// The distribution of the time that each request takes alone, from a sample.
    alone: Vec<Distribution>,
    /// Mean of [`Engine::in_full_batch`] over all requests, seconds, from the same sample.
    mean_in_full_batch: f64,
}

/// Number of requests in the sample of an engine's demands.
const SAMPLE: usize = 10_000;

impl TokenDemands {
    /// The tokens of a workload with an engine; `None` for any other.
    fn of(workload: &Workload) -> Result<Option<Self>, InvalidValue> {
        let Some(engine) = workload.server().and_then(|server| server.discipline().engine()) else { return Ok(None) };
        let lengths = workload.token_lengths()?;
        let mut alone = vec![Vec::new(); workload.requests().len()];
        let mut in_full_batch = vec![0.0; alone.len()];
        for (launch, class) in first_requests(workload).take(SAMPLE) {
            let tokens = lengths.of(launch, class);
            alone[usize::from(class)].push((1.0, engine.alone(tokens).as_secs_f64()));
            in_full_batch[usize::from(class)] += engine.in_full_batch(tokens);
        }
        let means = in_full_batch.iter().zip(&alone).map(|(sum, times)| sum / times.len().max(1) as f64);
        let mean_in_full_batch = workload.shares().iter().zip(means).map(|(share, mean)| share * mean).sum();
        let zero = || Distribution::constant(0.0).expect("zero is a constant");
        let alone = alone.into_iter().map(|times| Distribution::weighted(times).unwrap_or_else(|_| zero())).collect();
        Ok(Some(Self { engine, lengths, alone, mean_in_full_batch }))
    }
}

/// The requests of the sessions of a workload and their classes, one session after another.
fn first_requests(workload: &Workload) -> Box<dyn Iterator<Item = (Launch, u16)> + '_> {
    if workload.flows().is_some() {
        return Box::new((0u64..).flat_map(move |session| workload.walk(session)));
    }
    let mix = workload.mix();
    Box::new(first_steps(workload).map(move |(session, step)| {
        let launch = Launch { intended: Instant::ZERO, session, step, place: 0, visit: Visit::default() };
        (launch, mix.choose(launch))
    }))
}

/// The first requests of a workload without flows, as session and step: all steps of one session after the other.
fn first_steps(workload: &Workload) -> Box<dyn Iterator<Item = (u64, u32)> + '_> {
    let seed = workload.seed();
    match workload.sessions() {
        Sessions::PartlyOpen { length, .. } => {
            let mut next = (0, 0);
            Box::new(std::iter::from_fn(move || {
                let (session, step) = next;
                next = if length.continues(seed, session, step) { (session, step + 1) } else { (session + 1, 0) };
                Some((session, step))
            }))
        }
        Sessions::Closed(closed) => {
            let users = closed.users();
            Box::new((0u64..).map(move |n| (n % users, (n / users) as u32)))
        }
        _ => Box::new((0u64..).map(|session| (session, 0))),
    }
}

/// Number of demands sampled in advance.
const PREFETCH: u64 = 32;

/// Demands of first requests, sampled in advance where all requests share one distribution. Sessions arrive in the
/// order of their numbers, and sampling many numbers together takes half the time.
struct PrefetchedDemands<'a> {
    demands: &'a ServiceDemands,
    /// The session of the last lookup of a first request.
    last: u64,
    /// The session of the first prefetched demand.
    first: u64,
    drawn: [Nanos; PREFETCH as usize],
}

impl<'a> PrefetchedDemands<'a> {
    fn new(demands: &'a ServiceDemands) -> Self {
        // No session has this number or one of the next.
        let none = 1 << 63;
        Self { demands, last: none, first: none, drawn: [Nanos::ZERO; PREFETCH as usize] }
    }

    #[inline]
    fn of(&mut self, launch: Launch) -> (u16, Nanos, JobTokens) {
        let session = launch.session;
        if launch.step > 0 || self.demands.tokens.is_some() {
            return self.demands.of(launch);
        }
        let mut place = session.wrapping_sub(self.first);
        if place >= PREFETCH {
            let in_order = session == self.last.wrapping_add(1);
            let Some(distribution) = self.demands.works.only_distribution() else { return self.demands.of(launch) };
            self.last = session;
            if !in_order {
                return self.demands.of(launch);
            }
            self.first = session;
            let mut sizes = [0.0; PREFETCH as usize];
            distribution.draw_each(self.demands.seed, Purpose::Size, session, &mut sizes);
            self.drawn = sizes.map(Nanos::from_secs_f64);
            place = 0;
        }
        self.last = session;
        (0, self.drawn[place as usize], JobTokens::default())
    }
}

/// A modelled server with the requests inside it.
#[derive(Clone, Debug)]
pub struct SimulatedServer<D> {
    pub(crate) discipline: D,
    /// Maximum number of requests in the system, including those in service.
    capacity: usize,
    /// Requests in the system and their classes. The index is the job's id; entries listed in `free` are stale.
    inside: Vec<(Launch, u16)>,
    free: Vec<usize>,
}

impl<D: Discipline> SimulatedServer<D> {
    /// An empty server for at most `capacity` requests; `None` means unlimited.
    pub fn new(discipline: D, capacity: Option<u32>) -> Self {
        let capacity = capacity.map_or(usize::MAX, |capacity| capacity as usize);
        Self { discipline, capacity, inside: Vec::new(), free: Vec::new() }
    }

    /// Unfinished requests, with their classes.
    pub fn unfinished(&self) -> impl Iterator<Item = (Launch, u16)> + '_ {
        let mut inside = vec![true; self.inside.len()];
        self.free.iter().for_each(|place| inside[*place] = false);
        self.inside.iter().zip(inside).filter_map(|(launch, inside)| inside.then_some(*launch))
    }

    /// Stores a request and returns its index; `None` when the system is full.
    #[inline]
    pub(crate) fn admit(&mut self, launch: Launch, class: u16) -> Option<usize> {
        if let Some(place) = self.free.pop() {
            self.inside[place] = (launch, class);
            return Some(place);
        }
        (self.inside.len() < self.capacity).then(|| {
            self.inside.push((launch, class));
            self.inside.len() - 1
        })
    }

    #[inline]
    pub(crate) fn dismiss(&mut self, job: &Job) -> Launch {
        self.release(job.id as usize);
        self.inside[job.id as usize].0
    }

    /// Frees the place of a request that has left.
    #[inline]
    pub(crate) fn release(&mut self, place: usize) {
        self.free.push(place);
    }

    /// The request at this place, and its class.
    pub(crate) fn inside(&self, place: usize) -> (Launch, u16) {
        self.inside[place]
    }
}

/// The job of the request of this event, with this demand.
pub(crate) fn job_of(event: &Event, size: Nanos) -> Job {
    Job { id: 0, class: event.label, size, arrived: event.intended, tokens: JobTokens::of_event(event) }
}

/// Observes a simulation. Instants never decrease from call to call.
pub trait SimulationObserver {
    /// A request entered the system.
    fn arrived(&mut self, now: Instant);
    /// A request was rejected because the system was full. `after` is the next action of its session.
    fn rejected(&mut self, launch: Launch, class: u16, after: After);
    /// A request completed. `after` is the next action of its session. [`ControlFlow::Break`] pauses the simulation,
    /// which can be resumed.
    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, after: After) -> ControlFlow<()>;
    /// In a workload with time limits or retries: an attempt of a request that is sent several times ended.
    fn attempt(&mut self, event: &Event) {
        let _ = event;
    }
    /// In such a workload, called instead of `rejected` and `completed`: a request with this demand ended.
    /// [`ControlFlow::Break`] pauses the simulation. In any workload, also called if a request was rejected after it
    /// had entered the system. The `visit` of the event is not set; it follows from `launch` and
    /// `after`.
    fn ended(&mut self, launch: Launch, event: &Event, size: Nanos, after: After) -> ControlFlow<()> {
        match (event.outcome, event.done) {
            (Outcome::Ok, Some(done)) => self.completed(done, launch, &job_of(event, size), after),
            _ => {
                self.rejected(launch, event.label, after);
                ControlFlow::Continue(())
            }
        }
    }
    /// The simulation ended at `now` before this request completed.
    fn unfinished(&mut self, now: Instant, launch: Launch, class: u16) {
        let _ = (now, launch, class);
    }
}

/// The event of a request that was sent at `sent`.
pub(crate) fn event(launch: Launch, label: u16, sent: Instant) -> Event {
    let Launch { session, step, .. } = launch;
    Event { sent: Some(sent), session, step, label, ..Event::at(launch.intended) }
}

/// Ends the requests that were rejected inside the server at `now`.
#[inline]
fn rejected<D: Discipline, S: SimulationObserver>(
    now: Instant,
    agenda: &mut Agenda,
    server: &mut SimulatedServer<D>,
    sink: &mut S,
) -> ControlFlow<()> {
    let mut flow = ControlFlow::Continue(());
    while let Some(job) = server.discipline.rejected() {
        let launch = server.dismiss(&job);
        let after = agenda.completed(launch, now);
        let event = Event { done: Some(now), outcome: Outcome::Refused, ..event(launch, job.class, launch.intended) };
        let next = sink.ended(launch, &event, job.size, after);
        flow = if next.is_break() { next } else { flow };
    }
    flow
}

/// Runs until the agenda and the server are empty, or the observer stops it.
///
/// At one instant, completions precede arrivals. All state is in the arguments, so a second call continues where the
/// first one stopped.
pub fn drive<D: Discipline, S: SimulationObserver>(
    agenda: &mut Agenda,
    server: &mut SimulatedServer<D>,
    demands: &ServiceDemands,
    sink: &mut S,
) {
    let mut ahead = PrefetchedDemands::new(demands);
    loop {
        let next = server.discipline.next();
        // The next event: an arrival before the next completion, or that completion.
        if let Some(launch) = agenda.due_before(next.unwrap_or(Instant::MAX)) {
            let now = launch.intended;
            let (class, size, tokens) = ahead.of(launch);
            if let Some(place) = server.admit(launch, class) {
                server.discipline.arrive(now, Job { id: place as u64, class, size, arrived: now, tokens });
                sink.arrived(now);
                if rejected(now, agenda, server, sink).is_break() {
                    return;
                }
            } else {
                sink.rejected(launch, class, agenda.completed(launch, now));
            }
        } else if let Some(now) = next {
            let mut flow = ControlFlow::Continue(());
            if let Some(job) = server.discipline.complete(now) {
                let launch = server.dismiss(&job);
                let after = agenda.completed(launch, now);
                flow = sink.completed(now, launch, &job, after);
            }
            if rejected(now, agenda, server, sink).is_break() || flow.is_break() {
                return;
            }
        } else {
            return;
        }
    }
}
