//! How many sockets the system lets this process have.

use std::fs::File;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For so many open files there is room from the start; half a megabyte of the kernel's.
const ROOM: u64 = 65_536;

/// Raises this process's limit on open files as far as it may go: the usual 1024 are fewer than the connections of one run.
/// Where even that is refused, whoever opens a socket too many is told so then.
///
/// Then it makes room for many of them. Linux doubles a process's table of files when it is full, and a process with threads
/// waits for that until every processor has passed through the scheduler: 5 to 20 ms in which the 65th, 257th, 513th socket of
/// a launching thread does not come. Best called before there are threads, when it need not wait.
pub fn allow_sockets() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let highest = limit.maximum.unwrap_or(ROOM).min(ROOM).saturating_sub(1);
    // The table grows to hold this number and never shrinks. Refused, it grows when it must.
    if let Ok(any) = File::open("/dev/null") {
        drop(fcntl_dupfd_cloexec(any, highest as i32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        allow_sockets();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_table_of_files_need_not_grow() {
        allow_sockets();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        let most = getrlimit(Resource::Nofile).maximum.unwrap_or(ROOM);
        assert!(size.trim().parse::<u64>().unwrap() >= most.min(ROOM), "{size}");
    }
}
