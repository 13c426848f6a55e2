//! How many sockets the system lets this process have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's limit on open files as far as it may go: the usual 1024 are fewer than the connections of one run.
/// Where even that is refused, whoever opens a socket too many is told so then.
pub fn allow_sockets() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
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
}
