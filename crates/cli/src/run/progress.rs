//! Progress on stderr: one line rewritten every second on a terminal, a plain line every ten seconds elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use offered_clock::Clock;
use offered_model::Nanos;
use offered_run::Counts;

/// Progress that is shown until this is dropped.
pub(crate) struct Shown {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Shown {
    /// Shows what `watch` counts.
    pub(crate) fn start(clock: Clock, watch: impl Fn() -> Counts + Send + 'static) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = ended.clone();
        Self { ended, thread: Some(std::thread::spawn(move || show(&clock, &watch, &seen))) }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A thread that only prints has nothing to tell.
            let _ = thread.join();
        }
    }
}

fn show(clock: &Clock, watch: &impl Fn() -> Counts, ended: &AtomicBool) {
    let terminal = stderr().is_terminal();
    let every = Nanos::from_secs(if terminal { 1 } else { 10 });
    let mut next = every;
    let mut before = 0;
    while !ended.load(Relaxed) {
        clock.sleep_until(next.min(clock.now() + Nanos::from_millis(50)));
        let now = clock.now();
        if now < next {
            continue;
        }
        next += every;
        let counts = watch();
        let rate = (counts.launched - before) as f64 / every.as_secs_f64();
        before = counts.launched;
        let line = format!(
            "{:>4.0} s  {} launched ({rate:.0}/s), {} under way, {} failed, {} unsent",
            now.as_secs_f64(),
            counts.launched,
            counts.in_flight,
            counts.failed,
            counts.unsent
        );
        // Nobody to read it is no reason to stop.
        let _ = if terminal { write!(stderr(), "\r\x1b[2K{line}") } else { writeln!(stderr(), "{line}") };
    }
    if terminal {
        let _ = write!(stderr(), "\r\x1b[2K");
    }
}
