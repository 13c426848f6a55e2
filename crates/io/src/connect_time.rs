//! The time that the network took to open a connection.

use std::os::fd::AsFd;

use offered_base::Nanos;

/// How long the peer of a TCP socket that was just connected took to accept, as measured by the kernel. Excludes the
/// time until a thread noticed. `None` if the first attempt was lost, for other sockets, and on systems other than
/// Linux.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn connect_time(socket: impl AsFd) -> Option<Nanos> {
    use std::os::fd::AsRawFd as _;

    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: a `tcp_info` consists of numbers, for which zero is valid; the call fills in at most `length` bytes of it.
    let (result, info) = unsafe {
        let mut info: libc::tcp_info = std::mem::zeroed();
        let descriptor = socket.as_fd().as_raw_fd();
        let into = (&raw mut info).cast::<libc::c_void>();
        (libc::getsockopt(descriptor, libc::IPPROTO_TCP, libc::TCP_INFO, into, &raw mut length), info)
    };
    // The round trip of the first packet; it has none if that was sent again.
    let is_measured = result == 0 && info.tcpi_rtt > 0 && info.tcpi_total_retrans == 0;
    is_measured.then(|| Nanos::from_micros(info.tcpi_rtt.into()))
}

/// The same on other systems: not measured.
#[cfg(not(target_os = "linux"))]
pub fn connect_time(_: impl AsFd) -> Option<Nanos> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::Clock;

    #[test]
    fn a_connection_takes_some_time_and_less_than_the_call() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let clock = Clock::start();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let took = clock.now();
        // The kernel counts whole microseconds, and rounds up.
        assert!(connect_time(&stream).is_some_and(|time| time.0 <= took.0 + 1000), "{took}");
        assert_eq!(connect_time(&UnixStream::pair().unwrap().0), None);
    }
}
