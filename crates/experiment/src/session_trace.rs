//! Sessions walked by themselves, to be looked at.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use offered_model::{Event, Exchange, RunId, Share, Workload};
use offered_run::{Generator, Load, Witness};

use crate::Error;

/// Walks the first so many `sessions` of `workload` in this run one after another, without pauses, and shows every exchange as soon as it is over;
/// `stop`, once set, ends that. Nothing is judged: what happened, in order.
///
/// # Errors
/// What cannot be asked, or nobody answers.
pub fn once(
    workload: &Workload,
    run: &RunId,
    sessions: u64,
    stop: Arc<AtomicBool>,
    show: impl FnMut(Exchange),
) -> Result<Vec<Event>, Error> {
    let (witness, seen) = Witness::of_everything();
    let generator =
        Generator::new(workload.clone(), Share::ALL, Load::Target)?.in_run(run).stopped_by(stop).seen_by(witness)?;
    generator.knock()?;
    thread::scope(|scope| {
        let walking = thread::Builder::new().spawn_scoped(scope, move || generator.walk(sessions));
        let walking = walking.map_err(offered_run::Error::System)?;
        // They end with the generator.
        seen.into_iter().for_each(show);
        Ok(walking.join().expect("a walk that ends")?)
    })
}
