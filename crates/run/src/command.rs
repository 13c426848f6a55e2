//! Hook commands of the workload. They run beside the load; a sending thread never waits for one.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use offered_base::{Instant, Nanos};
use offered_io::Clock;

/// Interval at which the end of the command is polled.
const POLL_INTERVAL: Nanos = Nanos::from_millis(5);

/// Runs `command` after replacing each of the `placeholders`, such as `{{pid}}`, in its arguments by its value. Kills
/// it once `should_stop` returns true; that function receives the time since the command started.
///
/// # Errors
/// A message: the command cannot be started, exited with a failure status, or was killed.
pub(crate) fn run(
    command: &[String],
    placeholders: &[(&str, &str)],
    should_stop: &dyn Fn(Nanos) -> bool,
) -> Result<(), String> {
    let fill = |word: &String| {
        placeholders.iter().fold(word.clone(), |word, (placeholder, value)| word.replace(placeholder, value))
    };
    let words: Vec<String> = command.iter().map(fill).collect();
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let error = |reason: String| format!("hook `{}`: {reason}", words.join(" "));
    let mut command_line = Command::new(program);
    command_line.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command_line.spawn().map_err(|reason| error(reason.to_string()))?;
    let clock = Clock::start();
    let status = loop {
        match child.try_wait().map_err(|reason| error(reason.to_string()))? {
            Some(status) => break status,
            None if should_stop(Instant::ZERO.until(clock.now())) => {
                // The command may have exited in between; then there is nothing to kill.
                let _ = child.kill();
                let _ = child.wait();
                return Err(error(format!("did not finish within {:.1} s and was killed", clock.now().as_secs_f64())));
            }
            None => clock.sleep_until(clock.now() + POLL_INTERVAL),
        }
    };
    if status.success() {
        return Ok(());
    }
    Err(error(first_error_line(&mut child).unwrap_or_else(|| status.to_string())))
}

/// The first non-empty line that the command wrote to stderr.
fn first_error_line(child: &mut Child) -> Option<String> {
    let mut bytes = vec![0; 4096];
    // A background process of the command may hold the pipe open, so only the bytes that are already there are read.
    let read = child.stderr.as_mut()?.read(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
    text.lines().find(|line| !line.trim().is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Result<(), String> {
        let command = ["sh", "-c", script, "{{pid}}"].map(str::to_owned);
        run(&command, &[("{{pid}}", "7")], &|_| false)
    }

    #[test]
    fn placeholders_are_replaced_and_failures_reported() {
        assert_eq!(sh("test $0 = 7"), Ok(()));
        let reason = sh("echo; echo no such process >&2; echo more >&2; exit 3").unwrap_err();
        assert!(reason.starts_with("hook `sh -c") && reason.ends_with(": no such process"), "{reason}");
        assert!(sh("exit 3").unwrap_err().ends_with("exit status: 3"));
        assert!(run(&["/no/such/program".to_owned()], &[], &|_| false).unwrap_err().contains("/no/such/program"));
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed() {
        let reason = run(&["sleep", "60"].map(str::to_owned), &[], &|_| true).unwrap_err();
        assert!(reason.contains("was killed"), "{reason}");
    }
}
