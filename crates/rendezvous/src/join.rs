//! The meeting: who is ready, and the one decision.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_clock::{Clock, Kept, Wall, kept};
use offered_model::{Nanos, Offset, RunId, Share};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::clock_comparison::{Asker, Clocks, PLACING, Teller, Told, before, by_own};
use crate::error::Error;
use crate::rendezvous::{Place, document, put_new_document, read};

/// From the decision to the beginning: time for everybody to see it, and to compare clocks.
pub const LEAD: Nanos = Nanos::from_secs(4);
/// Worker 1 decides, for it is by its clock that the run begins. Where all are there and it has said nothing for so long, others do.
const DEPUTY: Nanos = Nanos::from_secs(10);

const DECISION: &str = "meeting/decision.json";

/// One of the workers of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// Its part of the run.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub share: Share,
    /// The machine it is on.
    pub host: String,
    /// Of the program.
    pub version: String,
    /// What tells its workload from others.
    pub workload: String,
    /// What it was told that the run is called.
    #[serde(default)]
    pub run: Option<RunId>,
}

/// What becomes of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    /// Everybody begins when the clock of worker 1 shows this, since the Unix epoch.
    Begin { unix_ns: u64 },
    /// Nobody begins.
    CalledOff { why: String },
}

/// How a worker meets the others.
pub struct Terms<'a> {
    /// They are waited for so long at most.
    pub wait: Nanos,
    /// Once it is set, no longer.
    pub stop: &'a AtomicBool,
    /// The clock of this worker.
    pub wall: Wall,
    /// Where worker 1 can be asked what its clock shows; at all addresses of its machine where the address is no machine's. `None`: clocks
    /// are not compared.
    pub tell_at: Option<SocketAddr>,
}

/// What the workers have agreed upon.
pub struct Met {
    /// When the run begins, by this worker's clock, since the Unix epoch.
    pub begin: Nanos,
    /// The same by the clock of worker 1: the same for all.
    pub decided: Nanos,
    /// How far that clock is ahead of worker 1's, by which everybody begins; `None` of worker 1, and where it could not be asked: then
    /// clocks are believed.
    pub before: Option<Offset>,
    /// Compares the clocks again after the end.
    pub clocks: Clocks,
}

/// What a worker says of itself.
#[derive(Serialize, Deserialize)]
struct Ready {
    #[serde(flatten)]
    worker: Worker,
    /// Which of all processes wrote this: of two that have one number, on one machine too, no two write the same.
    #[serde(default)]
    process: u32,
    #[serde(default)]
    came_unix_ns: u64,
    clock: Option<State>,
    /// Where its clock can be asked; of worker 1.
    time: Option<Told>,
}

/// What the kernel says of a clock.
#[derive(Serialize, Deserialize)]
struct State {
    synchronised: bool,
    error_ns: u64,
}

/// Says at `place` that `me` is ready, waits for all others, lays its clock beside worker 1's, and says when everybody begins. `waiting` is
/// told who is missing, from 1, whenever that changes.
///
/// # Errors
/// See [`Error`]. Where this worker is the reason, the run is called off for all.
pub fn meet(place: &dyn Place, me: &Worker, terms: &Terms, waiting: &mut dyn FnMut(&[u64])) -> Result<Met, Error> {
    let &Terms { wait, stop, ref wall, tell_at } = terms;
    if let Some(decision) = document(place, DECISION)? {
        return decided(decision).and_then(|begin| Err(too_late(begin, wall)));
    }
    let (is_first, has_others) = (me.share.index() == 0, me.share.parts() > 1);
    let tell_at = tell_at.filter(|_| is_first && has_others);
    let teller = tell_at.map(|at| Teller::new(*wall, at).map_err(Error::telling(at))).transpose()?;
    let time =
        tell_at.zip(teller.as_ref()).map(|(at, teller)| teller.told().map_err(Error::telling(at))).transpose()?;
    let state = kept().map(|Kept { synchronised, error }| State { synchronised, error_ns: error.0 });
    let mine = ready(me.share.index() + 1);
    let (process, came_unix_ns) = (std::process::id(), wall.now().0);
    let said = Ready { worker: me.clone(), process, came_unix_ns, clock: state, time };
    if !put_new_document(place, &mine, &said)? {
        let host =
            document::<Worker>(place, &mine)?.map_or_else(|| "an unknown machine".to_owned(), |worker| worker.host);
        return Err(Error::Twice { share: me.share, host, place: place.name() });
    }
    let clock = Clock::start();
    let until = clock.now() + wait;
    let every = place.look_every(me.share.parts());
    let mut missing: Vec<u64> = (1..=me.share.parts()).collect();
    let mut complete = None;
    loop {
        let before = missing.len();
        let mut odd = None;
        let mut names: Vec<String> = missing.iter().map(|number| ready(*number)).collect();
        names.push(DECISION.to_owned());
        let mut said = place.read(&names)?;
        let mut decision: Option<Decision> = read(said.pop().flatten());
        let mut said = said.into_iter();
        missing.retain(|_| {
            let worker: Option<Worker> = read(said.next().flatten());
            odd = odd.take().or_else(|| differs(worker.as_ref()?, me));
            worker.is_none()
        });
        let all_since = missing.is_empty().then(|| *complete.get_or_insert(clock.now()));
        let ours = if let Some(why) = odd {
            Some((Decision::CalledOff { why: why.to_string() }, Some(why)))
        } else if all_since.is_some_and(|since| is_first || clock.now() >= since + DEPUTY) {
            Some((Decision::Begin { unix_ns: (wall.now() + LEAD).0 }, None))
        } else if stop.load(Relaxed) {
            let why = format!("worker {} on {} was stopped", me.share, me.host);
            Some((Decision::CalledOff { why }, Some(Error::Stopped)))
        } else if clock.now() >= until && all_since.is_none() {
            let why = Error::Missing { missing: missing.clone(), wait };
            Some((Decision::CalledOff { why: why.to_string() }, Some(why)))
        } else {
            None
        };
        if let Some((ours, why)) = ours {
            // Who was first has decided. A reason of our own is told better than the same from others.
            let won = put_new_document(place, DECISION, &ours)?;
            if let (true, Some(why)) = (won, why) {
                return Err(why);
            }
            decision = document(place, DECISION)?;
        }
        if let Some(decision) = decision {
            let met = compared(place, me, terms, decided(decision)?, teller)?;
            return if wall.now() >= met.begin { Err(too_late(met.begin, wall)) } else { Ok(met) };
        }
        if missing.len() != before {
            waiting(&missing);
        }
        clock.sleep_until(clock.now() + every);
    }
}

/// What was agreed upon once clocks were compared, of a run that begins when that of worker 1 shows `begin`: a second and a half before
/// at the latest.
fn compared(place: &dyn Place, me: &Worker, terms: &Terms, begin: Nanos, teller: Option<Teller>) -> Result<Met, Error> {
    if let Some(mut teller) = teller {
        teller.tell(begin.saturating_sub(PLACING), |_| terms.stop.load(Relaxed));
        return Ok(Met { begin, decided: begin, before: None, clocks: Clocks::Tells(teller) });
    }
    let Some(asker) = asker(place, me, terms.wall)? else {
        return Ok(Met { begin, decided: begin, before: None, clocks: Clocks::Alone });
    };
    let found = asker.ask(before(begin, terms.wall.now()), terms.stop);
    let Some(offset) = found else {
        return Ok(Met { begin, decided: begin, before: None, clocks: Clocks::Alone });
    };
    Ok(Met { begin: by_own(begin, &offset), decided: begin, before: found, clocks: Clocks::Asks(asker) })
}

/// Who asks worker 1 for `me`; nobody where this is worker 1, or that cannot be asked.
fn asker(place: &dyn Place, me: &Worker, wall: Wall) -> Result<Option<Asker>, Error> {
    let others = Some(me.share.index() + 1).filter(|number| *number > 1);
    let Some(number) = others else { return Ok(None) };
    let first: Option<Ready> = document(place, &ready(1))?;
    Ok(first.and_then(|first| first.time).map(|told| Asker::new(wall, told, number)))
}

/// What the others agreed upon, where they have begun and a worker with the number of `me` was among them: then who comes with that number now
/// was started again. Worker 1 does not answer during the run, so it begins by its own clock, `wall`.
///
/// # Errors
/// That worker had another workload or version, or the place cannot be read.
pub fn begun(place: &dyn Place, me: &Worker, wall: Wall) -> Result<Option<Met>, Error> {
    let Some(Decision::Begin { unix_ns }) = document(place, DECISION)? else { return Ok(None) };
    let Some(first) = document::<Worker>(place, &ready(me.share.index() + 1))? else { return Ok(None) };
    if let Some(why) = differs(&first, me) {
        return Err(why);
    }
    let clocks = asker(place, me, wall)?.map_or(Clocks::Alone, Clocks::Asks);
    Ok(Some(Met { begin: Nanos(unix_ns), decided: Nanos(unix_ns), before: None, clocks }))
}

/// Where a worker with the number of `me` was here before anything was decided, and is gone as an engine knows that starts another in its place:
/// waits until the others begin, with [`begun`]'s answer then; `None` where there was none.
///
/// # Errors
/// That worker had another workload or version, the run is called off, nothing is decided within `wait`, `stop` is set, or the place cannot be read.
pub fn begun_again(
    place: &dyn Place,
    me: &Worker,
    &Terms { wait, stop, wall, .. }: &Terms,
) -> Result<Option<Met>, Error> {
    let clock = Clock::start();
    let until = clock.now() + wait;
    let Some(first) = document::<Worker>(place, &ready(me.share.index() + 1))? else { return Ok(None) };
    loop {
        match document(place, DECISION)? {
            Some(decision) => return decided(decision).and_then(|_| begun(place, me, wall)),
            None if stop.load(Relaxed) => return Err(Error::Stopped),
            None if clock.now() >= until => {
                return Err(Error::Twice { share: me.share, host: first.host, place: place.name() });
            }
            None => clock.sleep_until(clock.now() + place.look_every(me.share.parts())),
        }
    }
}

/// The file in which worker `number` says that it is ready.
fn ready(number: u64) -> String {
    format!("meeting/ready-{number}.json")
}

/// When to begin, by the clock of worker 1.
fn decided(decision: Decision) -> Result<Nanos, Error> {
    match decision {
        Decision::CalledOff { why } => Err(Error::CalledOff { why }),
        Decision::Begin { unix_ns } => Ok(Nanos(unix_ns)),
    }
}

fn too_late(begin: Nanos, wall: &Wall) -> Error {
    Error::TooLate { by: wall.now().saturating_sub(begin) }
}

/// What keeps `worker` from making the same run as `me`.
fn differs(worker: &Worker, me: &Worker) -> Option<Error> {
    let of = |worker: &Worker| worker.share.parts().to_string();
    let called =
        |worker: &Worker| worker.run.as_ref().map_or_else(|| "none of its own".to_owned(), ToString::to_string);
    let (what, theirs, ours) = [
        ("number of workers", of(worker), of(me)),
        ("version", worker.version.clone(), me.version.clone()),
        ("workload", worker.workload.clone(), me.workload.clone()),
        ("run id", called(worker), called(me)),
    ]
    .into_iter()
    .find(|(_, theirs, ours)| theirs != ours)?;
    Some(Error::Differs { share: worker.share, host: worker.host.clone(), what, theirs, ours })
}

fn to_text<S: Serializer>(share: &Share, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(share)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

#[cfg(test)]
mod tests;
