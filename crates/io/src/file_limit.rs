//! The limit on open files of this process.

use std::fs::File;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Number of open files for which the kernel allocates a table at once, of half a megabyte.
const PREALLOCATED: u64 = 65_536;

/// Raises this process's soft limit on open files to its hard limit, because a run may need more connections than the
/// usual limit of 1024. If that fails, the first socket above the limit reports it.
///
/// Also enlarges the file table of the process. Linux doubles the table when it is full. In a process with several
/// threads it waits until every processor has passed through the scheduler: 5 to 20 ms, during which the 65th, 257th or
/// 513th socket of a sending thread is not opened. Call this before other threads exist: then Linux does not wait.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let highest = limit.maximum.unwrap_or(PREALLOCATED).min(PREALLOCATED).saturating_sub(1);
    // The table grows to hold this number and never shrinks. If this fails, it grows later.
    if let Ok(any) = File::open("/dev/null") {
        drop(fcntl_dupfd_cloexec(any, highest as i32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_limit() {
        raise_file_limit();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_file_table_is_preallocated() {
        raise_file_limit();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        let most = getrlimit(Resource::Nofile).maximum.unwrap_or(PREALLOCATED);
        assert!(size.trim().parse::<u64>().unwrap() >= most.min(PREALLOCATED), "{size}");
    }
}
