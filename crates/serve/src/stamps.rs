//! When the system received what is read from a socket.
//!
//! Linux stamps what comes in before it wakes anybody, so these instants do not carry the server's own waking up, some 40 us.

use std::os::fd::OwnedFd;

use offered_model::Nanos;
use rustix::io::Errno;

/// Reads sockets and asks when what was read had come.
pub(crate) struct Stamps(system::Space);

impl Stamps {
    pub(crate) fn new() -> Self {
        Self(system::space())
    }

    /// From now on the system stamps what comes on `socket`, where it can.
    pub(crate) fn ask(socket: &OwnedFd) {
        system::ask(socket);
    }

    /// As `read`; also when the last of it was received, since the Unix epoch by the wall clock. `None`: the system does not tell.
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
    use offered_model::Nanos;
    use rustix::io::Errno;

    pub(super) type Space = Vec<u8>;

    pub(super) fn space() -> Space {
        nix::cmsg_space!(TimeSpec)
    }

    pub(super) fn ask(socket: &OwnedFd) {
        // Where it is refused, nothing is stamped.
        let _ = setsockopt(socket, ReceiveTimestampns, &true);
    }

    pub(super) fn read(
        space: &mut Space,
        socket: &OwnedFd,
        buffer: &mut [u8],
    ) -> Result<(usize, Option<Nanos>), Errno> {
        let mut into = [IoSliceMut::new(buffer)];
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut into, Some(space), MsgFlags::empty())
            .map_err(|errno| Errno::from_raw_os_error(errno as i32))?;
        let stamp = message.cmsgs().ok().and_then(|mut told| {
            told.find_map(|told| match told {
                ControlMessageOwned::ScmTimestampns(at) => {
                    Some(Nanos(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64))
                }
                _ => None,
            })
        });
        Ok((message.bytes, stamp))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::os::fd::OwnedFd;

    use offered_model::Nanos;
    use rustix::io::Errno;

    pub(super) type Space = ();

    pub(super) fn space() -> Space {}

    pub(super) fn ask(_: &OwnedFd) {}

    pub(super) fn read(_: &mut Space, socket: &OwnedFd, buffer: &mut [u8]) -> Result<(usize, Option<Nanos>), Errno> {
        Ok((rustix::io::read(socket, buffer)?, None))
    }
}
