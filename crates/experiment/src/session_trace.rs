//! Tracing single sessions: `run --once`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use offered_base::Share;
use offered_events::{Event, Exchange, RunId};
use offered_run::{ExchangeObserver, Generator, Load};
use offered_workload::Workload;

use crate::Error;

/// Executes the first `sessions` sessions of `workload` one after another, without pauses, and passes every exchange to `show` as soon as it
/// has ended. Setting `stop` ends the execution. Returns the events in order; nothing is verified.
///
/// # Errors
/// The workload cannot be sent, or the target does not respond.
pub fn trace_sessions(
    workload: &Workload,
    run: &RunId,
    sessions: u64,
    stop: Arc<AtomicBool>,
    show: impl FnMut(Exchange),
) -> Result<Vec<Event>, Error> {
    let (observer, exchanges) = ExchangeObserver::all();
    let generator = Generator::new(workload.clone(), Share::ALL, Load::Target)?
        .in_run(run)
        .stopped_by(stop)
        .observed_by(observer)?;
    generator.preflight()?;
    thread::scope(|scope| {
        let sessions = thread::Builder::new().spawn_scoped(scope, move || generator.walk(sessions));
        let sessions = sessions.map_err(offered_run::Error::System)?;
        // The channel closes when the generator ends.
        exchanges.into_iter().for_each(show);
        Ok(sessions.join().expect("a thread that does not panic")?)
    })
}
