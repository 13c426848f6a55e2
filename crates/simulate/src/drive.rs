//! The driver on the virtual clock: an agenda of launches, a modelled server, and somebody who looks on.

use std::ops::ControlFlow;

use offered_model::workload::{Mix, Works};
use offered_model::{After, Agenda, Instant, Launch, Law, Nanos, Purpose, Seed, Workload, Wrong};

use crate::discipline::{Discipline, Job};

/// Which request a launch is, and how much work it brings: functions of (seed, session, step), like everything of a workload.
#[derive(Clone, Debug)]
pub struct Demands {
    seed: Seed,
    mix: Mix,
    works: Works,
    /// The laws of the work, by request.
    laws: Vec<Law>,
    mean: f64,
    second_moment: f64,
}

impl Demands {
    /// Of the requests of this workload: each by what it says itself, or by its server's law.
    ///
    /// # Errors
    /// Neither a `[server]` (or `[[station]]`s) nor a law for every request; or work that is always zero.
    pub fn new(workload: &Workload) -> Result<Self, Wrong> {
        let works = workload.works();
        let laws = (0u16..).zip(workload.requests()).map(|(label, request)| {
            works.law(label).cloned().ok_or_else(|| {
                Wrong::new(format!(
                    "the request {} has no service law; write for example [server] service = {{ exponential = \"10ms\" }}",
                    request.name()
                ))
            })
        });
        let laws = laws.collect::<Result<Vec<Law>, Wrong>>()?;
        let shares = workload.shares();
        let expect =
            |moment: fn(&Law) -> f64| -> f64 { shares.iter().zip(&laws).map(|(share, law)| share * moment(law)).sum() };
        let (mean, second_moment) = (expect(Law::mean), expect(Law::second_moment));
        if mean == 0.0 {
            return Err(Wrong::new("requests bring no work: give the service law a mean above zero"));
        }
        Ok(Self { seed: workload.seed(), mix: workload.mix(), works, laws, mean, second_moment })
    }

    /// `E[S]` over all requests, in seconds.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// C2 over all requests, to nine digits after the point.
    pub fn scv(&self) -> f64 {
        let scv = self.second_moment / (self.mean * self.mean) - 1.0;
        (scv.max(0.0) * 1e9).round() / 1e9
    }

    /// The laws as the workload file writes them, once each.
    pub fn laws_as_text(&self) -> String {
        let mut texts: Vec<String> = self.laws.iter().map(Law::to_string).collect();
        texts.dedup();
        texts.join(", ")
    }

    /// The mean work of each kind of request.
    pub fn class_means(&self) -> Vec<Nanos> {
        self.laws.iter().map(|law| Nanos::from_secs_f64(law.mean())).collect()
    }

    #[inline]
    fn of(&self, launch: Launch) -> (u16, Nanos) {
        let Launch { session, step, .. } = launch;
        let class = self.mix.choose(launch);
        // All have work that have a law, as all here do.
        (class, self.works.of(session, step, class).unwrap_or_default())
    }
}

/// How many demands are drawn ahead.
const MANY: u64 = 32;

/// The work of first requests, drawn ahead where all are of one kind: sessions arrive in the order of their numbers, and many
/// numbers are drawn together in half the time.
struct Ahead<'a> {
    demands: &'a Demands,
    /// The session whose first request was asked for last.
    last: u64,
    /// The session of the first drawn ahead.
    first: u64,
    drawn: [Nanos; MANY as usize],
}

impl<'a> Ahead<'a> {
    fn new(demands: &'a Demands) -> Self {
        // No session has such a number, nor any of the next.
        let none = 1 << 63;
        Self { demands, last: none, first: none, drawn: [Nanos::ZERO; MANY as usize] }
    }

    #[inline]
    fn of(&mut self, launch: Launch) -> (u16, Nanos) {
        let session = launch.session;
        if launch.step > 0 {
            return self.demands.of(launch);
        }
        let mut place = session.wrapping_sub(self.first);
        if place >= MANY {
            let in_order = session == self.last.wrapping_add(1);
            let Some(law) = self.demands.works.only_law() else { return self.demands.of(launch) };
            self.last = session;
            if !in_order {
                return self.demands.of(launch);
            }
            self.first = session;
            let mut sizes = [0.0; MANY as usize];
            law.draw_each(self.demands.seed, Purpose::Size, session, &mut sizes);
            self.drawn = sizes.map(Nanos::from_secs_f64);
            place = 0;
        }
        self.last = session;
        (0, self.drawn[place as usize])
    }
}

/// A modelled server with the launches inside it.
#[derive(Clone, Debug)]
pub struct Served<D> {
    discipline: D,
    /// Room for so many in the system, those being served included.
    room: usize,
    /// The launches inside and their classes; a job's id is its place. What stands in a free place is past.
    inside: Vec<(Launch, u16)>,
    free: Vec<usize>,
}

impl<D: Discipline> Served<D> {
    /// An empty one with room for this many, or for any number.
    pub fn new(discipline: D, room: Option<u32>) -> Self {
        let room = room.map_or(usize::MAX, |room| room as usize);
        Self { discipline, room, inside: Vec::new(), free: Vec::new() }
    }

    /// The launches that have not been finished, with their classes.
    pub fn unfinished(&self) -> impl Iterator<Item = (Launch, u16)> + '_ {
        let mut inside = vec![true; self.inside.len()];
        self.free.iter().for_each(|place| inside[*place] = false);
        self.inside.iter().zip(inside).filter_map(|(launch, inside)| inside.then_some(*launch))
    }

    /// A place for a launch; `None` when there is no room.
    #[inline]
    fn admit(&mut self, launch: Launch, class: u16) -> Option<usize> {
        if let Some(place) = self.free.pop() {
            self.inside[place] = (launch, class);
            return Some(place);
        }
        (self.inside.len() < self.room).then(|| {
            self.inside.push((launch, class));
            self.inside.len() - 1
        })
    }

    #[inline]
    fn dismiss(&mut self, job: &Job) -> Launch {
        self.free.push(job.id as usize);
        self.inside[job.id as usize].0
    }
}

/// Somebody who looks on while a workload is simulated. Instants never decrease.
pub trait Sink {
    /// A launch was let in.
    fn arrived(&mut self, now: Instant);
    /// A launch found no room, and its session goes on or not.
    fn refused(&mut self, launch: Launch, class: u16, after: After);
    /// A launch is finished, and its session goes on or not; [`ControlFlow::Break`] stops the simulation, which can be taken
    /// up again.
    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, after: After) -> ControlFlow<()>;
    /// The simulation has ended at `now`, before this launch was finished.
    fn cut(&mut self, now: Instant, launch: Launch, class: u16) {
        let _ = (now, launch, class);
    }
}

/// One who looks on, and perhaps another; one of them is enough to stop.
pub(crate) struct Both<'a, S> {
    pub(crate) one: &'a mut S,
    pub(crate) other: Option<&'a mut dyn Sink>,
}

impl<S: Sink> Sink for Both<'_, S> {
    #[inline]
    fn arrived(&mut self, now: Instant) {
        self.one.arrived(now);
        if let Some(other) = &mut self.other {
            other.arrived(now);
        }
    }

    #[inline]
    fn refused(&mut self, launch: Launch, class: u16, after: After) {
        self.one.refused(launch, class, after);
        if let Some(other) = &mut self.other {
            other.refused(launch, class, after);
        }
    }

    #[inline]
    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, after: After) -> ControlFlow<()> {
        let first = self.one.completed(now, launch, job, after);
        let second = self.other.as_mut().map(|other| other.completed(now, launch, job, after));
        if first.is_break() { first } else { second.unwrap_or(first) }
    }

    fn cut(&mut self, now: Instant, launch: Launch, class: u16) {
        self.one.cut(now, launch, class);
        if let Some(other) = &mut self.other {
            other.cut(now, launch, class);
        }
    }
}

/// Runs until the agenda and the server are empty, or the sink has seen enough.
///
/// At one instant completions come before launches. All state is in the arguments, so a second call goes on where the first
/// one stopped.
pub fn drive<D: Discipline, S: Sink>(agenda: &mut Agenda, server: &mut Served<D>, demands: &Demands, sink: &mut S) {
    let mut ahead = Ahead::new(demands);
    loop {
        let next = server.discipline.next();
        // A launch before the next completion, or the completion.
        if let Some(launch) = agenda.due_before(next.unwrap_or(Instant::MAX)) {
            let now = launch.intended;
            let (class, size) = ahead.of(launch);
            if let Some(place) = server.admit(launch, class) {
                server.discipline.arrive(now, Job { id: place as u64, class, size, arrived: now });
                sink.arrived(now);
            } else {
                sink.refused(launch, class, agenda.completed(launch, now));
            }
        } else if let Some(now) = next {
            let Some(job) = server.discipline.complete(now) else { continue };
            let launch = server.dismiss(&job);
            let after = agenda.completed(launch, now);
            if sink.completed(now, launch, &job, after).is_break() {
                return;
            }
        } else {
            return;
        }
    }
}
