//! Errors caused by limits of the system that are too low for a run.

use std::io;

use rustix::io::Errno;

/// The text of an error of the system. If a limit of this process, its user or its container caused the error, the text
/// names this limit. (The system reports only *Resource temporarily unavailable* for too many threads.)
pub fn resource_error(error: &io::Error) -> String {
    let limit = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::AGAIN) => "no more threads are allowed (raise `ulimit -u`, or the limit of the container)",
        Some(Errno::MFILE) => "no file descriptors left (raise `ulimit -n`)",
        _ => return error.to_string(),
    };
    limit.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhausted_limits_are_named() {
        let text = |errno: Errno| resource_error(&errno.into());
        assert!(text(Errno::AGAIN).contains("`ulimit -u`"));
        assert!(text(Errno::MFILE).contains("`ulimit -n`"));
        assert_eq!(text(Errno::NOENT), "No such file or directory (os error 2)");
    }
}
