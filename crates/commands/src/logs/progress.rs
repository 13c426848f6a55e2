//! A progress bar of the bytes read, on a terminal's stderr.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use offered_base::Nanos;
use offered_io::Clock;
use offered_logs::Progress;

/// A progress bar, removed on drop.
pub(crate) struct ProgressBar {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressBar {
    /// Shows the share of `total` bytes that has been read; with an unknown total (0), only the bytes.
    pub(crate) fn start(progress: Progress, total: u64) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let flag = ended.clone();
        let show = move || show(&progress, total, &flag);
        // Without a thread there is no bar.
        let thread = stderr().is_terminal().then(|| std::thread::Builder::new().spawn(show).ok()).flatten();
        Self { ended, thread }
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic while printing does not matter.
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
        // Ignore errors: stderr may be closed.
        let _ = write!(stderr(), "\r[{bar}] {:.0} MB, {speed:.0} MB/s ", read as f64 / 1e6);
    }
    let _ = write!(stderr(), "\r\x1b[K");
}
