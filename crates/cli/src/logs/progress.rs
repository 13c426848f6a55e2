//! A bar over the bytes read, on a terminal's stderr.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use offered_clock::Clock;
use offered_logs::Progress;
use offered_model::Nanos;

/// A bar that is shown until this is dropped.
pub(crate) struct Shown {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Shown {
    /// Shows how much of `total` bytes has been read; of an unknown total (0) the bytes alone.
    pub(crate) fn start(progress: Progress, total: u64) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = ended.clone();
        let show = move || show(&progress, total, &seen);
        // Without a thread nothing is shown.
        let thread = stderr().is_terminal().then(|| std::thread::Builder::new().spawn(show).ok()).flatten();
        Self { ended, thread }
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

fn show(progress: &Progress, total: u64, ended: &AtomicBool) {
    let clock = Clock::start();
    while !ended.load(Relaxed) {
        clock.sleep_until(clock.now() + Nanos::from_millis(100));
        let (read, seconds) = (progress.bytes(), clock.now().as_secs_f64());
        let speed = read as f64 / 1e6 / seconds;
        let done = read.saturating_mul(30).checked_div(total).unwrap_or(0).min(30) as usize;
        let bar = format!("{}{}", "#".repeat(done), "-".repeat(30 - done));
        // Nobody to read it is no reason to stop.
        let _ = write!(stderr(), "\r[{bar}] {:.0} MB, {speed:.0} MB/s ", read as f64 / 1e6);
    }
    let _ = write!(stderr(), "\r\x1b[K");
}
