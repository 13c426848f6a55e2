//! Receive timestamps of the operating system.
//!
//! Linux timestamps incoming data before it wakes a process, so these times do not include the server's own wake-up
//! time of about 40 us.

use std::os::fd::OwnedFd;

use offered_base::Nanos;
use rustix::io::Errno;

/// Reads sockets together with the receive timestamps.
pub(crate) struct ReceiveTimestamps(system::ControlBuffer);

impl ReceiveTimestamps {
    pub(crate) fn new() -> Self {
        Self(system::control_buffer())
    }

    /// Enables timestamps on `socket`, where the system supports them.
    pub(crate) fn enable(socket: &OwnedFd) {
        system::enable(socket);
    }

    /// Reads like `read(2)`. Also returns the receive time of the last byte, since the Unix epoch by the wall clock;
    /// `None` if the system gives none.
    pub(crate) fn read(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> Result<(usize, Option<Nanos>), Errno> {
        system::read(&mut self.0, socket, buffer)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::io::IoSliceMut;
    use std::os::fd::{AsRawFd, OwnedFd};

    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt::ReceiveTimestampns};
    use nix::sys::time::TimeSpec;
    use offered_base::Nanos;
    use rustix::io::Errno;

    pub(super) type ControlBuffer = Vec<u8>;

    pub(super) fn control_buffer() -> ControlBuffer {
        nix::cmsg_space!(TimeSpec)
    }

    pub(super) fn enable(socket: &OwnedFd) {
        // Without support there are no timestamps, which is allowed.
        let _ = setsockopt(socket, ReceiveTimestampns, &true);
    }

    pub(super) fn read(
        control_buffer: &mut ControlBuffer,
        socket: &OwnedFd,
        buffer: &mut [u8],
    ) -> Result<(usize, Option<Nanos>), Errno> {
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
    use std::os::fd::OwnedFd;

    use offered_base::Nanos;
    use rustix::io::Errno;

    pub(super) type ControlBuffer = ();

    pub(super) fn control_buffer() -> ControlBuffer {}

    pub(super) fn enable(_: &OwnedFd) {}

    pub(super) fn read(
        _: &mut ControlBuffer,
        socket: &OwnedFd,
        buffer: &mut [u8],
    ) -> Result<(usize, Option<Nanos>), Errno> {
        Ok((rustix::io::read(socket, buffer)?, None))
    }
}
