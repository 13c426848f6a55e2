//! Child processes with bounded waits.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use offered_base::{Instant, Nanos};
use offered_io::Clock;
use rustix::process::{Pid, Signal, kill_process};

/// Maximum wait of any test.
const LONGEST: Instant = Instant::from_secs(50);

/// `offered` with these arguments.
pub(crate) fn offered(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
    command.args(args);
    command
}

/// Output and exit code of a process.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A running process, killed when dropped.
pub(crate) struct Process {
    child: Child,
    stdout: Output,
    stderr: Output,
}

/// What a process writes, collected by a thread.
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Output {
    fn of(from: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let shared = bytes.clone();
        let mut from = from.expect("a pipe");
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                shared.lock().expect("bytes").extend_from_slice(&buffer[..read]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("bytes")).into_owned()
    }

    fn whole(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("text");
        }
        self.so_far()
    }
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a program");
        let (stdout, stderr) = (Output::of(child.stdout.take()), Output::of(child.stderr.take()));
        Self { child, stdout, stderr }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a child of ours");
    }

    /// Waits until the process has written `text` to the standard error.
    pub(crate) fn until_stderr_contains(&self, text: &str) {
        let is_there = soon(|| self.stderr.so_far().contains(text).then_some(())).is_some();
        assert!(is_there, "`{text}` never came: {}", self.stderr.so_far());
    }

    /// Waits for the process to end.
    pub(crate) fn end(mut self) -> Ended {
        let ended = soon(|| self.child.try_wait().expect("a child of ours"));
        if ended.is_none() {
            self.child.kill().expect("a child of ours");
        }
        let (stdout, stderr) = (self.stdout.whole(), self.stderr.whole());
        let status = ended.unwrap_or_else(|| panic!("still running after {LONGEST}: {stdout}{stderr}"));
        Ended { code: status.code(), stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `offered` until it ends.
pub(crate) fn ended(args: &[&str]) -> Ended {
    Process::start(offered(args)).end()
}

/// Polls a condition for a bounded time.
pub(crate) fn soon<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let clock = Clock::start();
    while clock.now() < LONGEST {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        clock.sleep_until(clock.now() + Nanos::from_millis(5));
    }
    None
}

/// Waits until the file exists.
pub(crate) fn until_exists(path: &Path) {
    assert!(soon(|| path.exists().then_some(())).is_some(), "{} never came", path.display());
}

/// `offered serve` in its own process, with a record.
pub(crate) struct Serve {
    process: Process,
    /// URL without a trailing slash.
    pub(crate) url: String,
}

impl Serve {
    pub(crate) fn start(listen: &str, record: &Path) -> Self {
        let record = record.to_str().expect("a plain path");
        Self::with(&["--listen", listen, "--service", "exponential:1ms", "--wait-mode", "sleep", "--record", record])
    }

    /// Starts it with these arguments.
    pub(crate) fn with(args: &[&str]) -> Self {
        let mut command = offered(&["serve"]);
        command.args(args);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a program");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        let url =
            line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("not listening: {line}")).to_owned();
        let (stdout, stderr) = (Output::of(Some(out)), Output::of(child.stderr.take()));
        Self { process: Process { child, stdout, stderr }, url }
    }

    /// Stops it, and waits until the record is complete.
    pub(crate) fn stop(self) {
        self.process.signal(Signal::TERM);
        let ended = self.process.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }

    /// Kills it; its port is closed afterwards.
    pub(crate) fn kill(self) {
        drop(self);
    }
}
