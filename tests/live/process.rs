//! Child processes with bounded waits.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

fn drain(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = from.read_to_string(&mut text);
        text
    })
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a program");
        let stdout = child.stdout.take().map(drain);
        let stderr = child.stderr.take().map(drain);
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

    /// Waits for the process to end.
    pub(crate) fn end(mut self) -> Ended {
        let ended = soon(|| self.child.try_wait().expect("a child of ours"));
        let text = |reader: Option<JoinHandle<String>>| reader.map(|r| r.join().expect("text")).unwrap_or_default();
        if ended.is_none() {
            self.child.kill().expect("a child of ours");
        }
        let (stdout, stderr) = (text(self.stdout.take()), text(self.stderr.take()));
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
        let stderr = child.stderr.take().map(drain);
        Self { process: Process { child, stdout: Some(drain(out)), stderr }, url }
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
