//! Receive timestamps of the operating system.
//!
//! Linux timestamps incoming data before it wakes a process, so these times do not include the wake-up time of the
//! process: about 40 us on an idle machine, milliseconds on a busy one.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use offered_base::Nanos;
use rustix::io::Errno;

/// Reads sockets together with the receive timestamps.
#[derive(Default)]
pub struct ReceiveTimestamps(system::ControlBuffer);

/// Keeps timestamps enabled in the kernel. Without it, they would start too late for the first socket, and short
/// connections would switch them off and on.
pub struct TimestampsEnabled(#[allow(dead_code)] Option<OwnedFd>);

impl ReceiveTimestamps {
    /// Enables timestamps on `socket`, where the system supports them.
    pub fn enable(socket: impl AsFd) {
        system::enable(socket.as_fd());
    }

    /// Enables timestamps in the kernel for as long as the returned value lives.
    pub fn keep_enabled() -> TimestampsEnabled {
        TimestampsEnabled(system::socket_with_timestamps())
    }

    /// Reads like `recv(2)`. Also returns the receive time of the last byte, since the Unix epoch by the wall clock;
    /// `None` if the system gives none. If several segments arrive before they are read, the time is that of the last
    /// one.
    ///
    /// # Errors
    /// Those of `recv(2)`.
    pub fn read(&mut self, socket: impl AsFd, buffer: &mut [u8]) -> Result<(usize, Option<Nanos>), Errno> {
        system::read(&mut self.0, socket.as_fd(), buffer)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::io::IoSliceMut;
    use std::os::fd::{AsFd, AsRawFd};

    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt::ReceiveTimestampns};
    use nix::sys::time::TimeSpec;
    use rustix::net::{AddressFamily, SocketType};

    use super::{BorrowedFd, Errno, Nanos, OwnedFd};

    pub(super) type ControlBuffer = Vec<u8>;

    pub(super) fn enable(socket: BorrowedFd<'_>) {
        // Without support there are no timestamps, which is allowed.
        let _ = setsockopt(&socket, ReceiveTimestampns, &true);
    }

    pub(super) fn socket_with_timestamps() -> Option<OwnedFd> {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
        enable(socket.as_fd());
        Some(socket)
    }

    pub(super) fn read(
        control_buffer: &mut ControlBuffer,
        socket: BorrowedFd<'_>,
        buffer: &mut [u8],
    ) -> Result<(usize, Option<Nanos>), Errno> {
        if control_buffer.capacity() == 0 {
            *control_buffer = nix::cmsg_space!(TimeSpec);
        }
        let mut into = [IoSliceMut::new(buffer)];
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut into, Some(control_buffer), MsgFlags::empty())
            .map_err(|errno| Errno::from_raw_os_error(errno as i32))?;
        let timestamp = message.cmsgs().ok().and_then(|mut message| {
            message.find_map(|message| match message {
                ControlMessageOwned::ScmTimestampns(at) => {
                    Some(Nanos(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64))
                }
                _ => None,
            })
        });
        Ok((message.bytes, timestamp))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use rustix::net::{RecvFlags, recv};

    use super::{BorrowedFd, Errno, Nanos, OwnedFd};

    pub(super) type ControlBuffer = ();

    pub(super) fn enable(_: BorrowedFd<'_>) {}

    pub(super) fn socket_with_timestamps() -> Option<OwnedFd> {
        None
    }

    pub(super) fn read(
        (): &mut ControlBuffer,
        socket: BorrowedFd<'_>,
        buffer: &mut [u8],
    ) -> Result<(usize, Option<Nanos>), Errno> {
        Ok((recv(socket, buffer, RecvFlags::empty())?.0, None))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::unix_now;

    #[test]
    fn a_timestamp_lies_between_sending_and_reading() {
        let _enabled = ReceiveTimestamps::keep_enabled();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        ReceiveTimestamps::enable(&near);
        let (mut timestamps, mut buffer) = (ReceiveTimestamps::default(), [0; 16]);
        // The kernel begins a moment after the first request for timestamps.
        let stamped = (0..1000).find_map(|_| {
            let before = unix_now();
            far.write_all(b"x").unwrap();
            let (read, at) = timestamps.read(&near, &mut buffer).unwrap();
            assert_eq!(read, 1);
            at.map(|at| (before, at, unix_now()))
        });
        let (before, at, after) = stamped.expect("a kernel with timestamps");
        assert!(before <= at && at <= after, "{before} {at} {after}");
    }
}
