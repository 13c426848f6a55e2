//! The meeting: who is ready, and the one decision.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_clock::{Clock, unix_now};
use offered_model::{Nanos, Share};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::Error;
use crate::folder::Folder;

/// From the decision to the beginning: time for everybody to see it.
pub const LEAD: Nanos = Nanos::from_secs(3);
/// From one look at the folder to the next; and so much more for every other worker, so that many of them do not besiege it.
const LOOK: Nanos = Nanos::from_millis(100);
const LOOK_EACH: Nanos = Nanos::from_millis(1);

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
}

/// What becomes of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    /// Everybody begins at this instant, since the Unix epoch.
    Begin { unix_ns: u64 },
    /// Nobody begins.
    CalledOff { why: String },
}

/// Says in `folder` that `me` is ready, waits for all others, and says when everybody begins, since the Unix epoch. For `wait` at most;
/// once `stop` is set no longer. `waiting` is told who is missing, from 1, whenever that changes.
///
/// # Errors
/// See [`Error`]. Where this worker is the reason, the run is called off for all.
pub fn meet(
    folder: &Folder,
    me: &Worker,
    wait: Nanos,
    stop: &AtomicBool,
    waiting: &mut dyn FnMut(&[u64]),
) -> Result<Nanos, Error> {
    if let Some(decision) = folder.document(DECISION)? {
        return decided(decision, true);
    }
    let mine = ready(me.share.index() + 1);
    if !folder.put_new_document(&mine, me)? {
        let host =
            folder.document::<Worker>(&mine)?.map_or_else(|| "an unknown machine".to_owned(), |worker| worker.host);
        return Err(Error::Twice { share: me.share, host, folder: folder.path().to_owned() });
    }
    let clock = Clock::start();
    let until = clock.now() + wait;
    let every = LOOK + LOOK_EACH * me.share.parts();
    let mut missing: Vec<u64> = (1..=me.share.parts()).collect();
    loop {
        let before = missing.len();
        let mut odd = None;
        let mut failed = None;
        missing.retain(|number| match folder.document::<Worker>(&ready(*number)) {
            Ok(Some(worker)) => {
                odd = odd.take().or_else(|| differs(&worker, me));
                false
            }
            Ok(None) => true,
            Err(why) => {
                failed.get_or_insert(why);
                true
            }
        });
        if let Some(why) = failed {
            return Err(why);
        }
        let ours = if let Some(why) = odd {
            Some((Decision::CalledOff { why: why.to_string() }, Some(why)))
        } else if missing.is_empty() {
            Some((Decision::Begin { unix_ns: (unix_now() + LEAD).0 }, None))
        } else if stop.load(Relaxed) {
            let why = format!("worker {} on {} was stopped", me.share, me.host);
            Some((Decision::CalledOff { why }, Some(Error::Stopped)))
        } else if clock.now() >= until {
            let why = Error::Missing { missing: missing.clone(), wait };
            Some((Decision::CalledOff { why: why.to_string() }, Some(why)))
        } else {
            None
        };
        if let Some((decision, why)) = ours {
            // Who was first has decided. A reason of our own is told better than the same from others.
            let won = folder.put_new_document(DECISION, &decision)?;
            if let (true, Some(why)) = (won, why) {
                return Err(why);
            }
        }
        if let Some(decision) = folder.document(DECISION)? {
            return decided(decision, false);
        }
        if missing.len() != before {
            waiting(&missing);
        }
        clock.sleep_until(clock.now() + every);
    }
}

/// When the others began, where a worker with the number of `me` was among them: then who comes with that number now was started again.
///
/// # Errors
/// That worker had another workload or version, or the folder cannot be read.
pub fn begun(folder: &Folder, me: &Worker) -> Result<Option<Nanos>, Error> {
    let Some(Decision::Begin { unix_ns }) = folder.document(DECISION)? else { return Ok(None) };
    let Some(before) = folder.document::<Worker>(&ready(me.share.index() + 1))? else { return Ok(None) };
    differs(&before, me).map_or(Ok(Some(Nanos(unix_ns))), Err)
}

/// The file in which worker `number` says that it is ready.
fn ready(number: u64) -> String {
    format!("meeting/ready-{number}.json")
}

/// When to begin, if it is not too late for that.
fn decided(decision: Decision, comes_after: bool) -> Result<Nanos, Error> {
    match decision {
        Decision::CalledOff { why } => Err(Error::CalledOff { why }),
        Decision::Begin { unix_ns } => {
            let (begin, now) = (Nanos(unix_ns), unix_now());
            let late = comes_after || now >= begin;
            if late { Err(Error::TooLate { by: now.saturating_sub(begin) }) } else { Ok(begin) }
        }
    }
}

/// What keeps `worker` from making the same run as `me`.
fn differs(worker: &Worker, me: &Worker) -> Option<Error> {
    let of = |worker: &Worker| worker.share.parts().to_string();
    let (what, theirs, ours) = [
        ("number of workers", of(worker), of(me)),
        ("version", worker.version.clone(), me.version.clone()),
        ("workload", worker.workload.clone(), me.workload.clone()),
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
