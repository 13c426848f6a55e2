//! All other systems: the `polling` crate (kqueue on macOS and the BSDs).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use offered_base::Nanos;
use polling::{Event, Events, PollMode};

use super::Ready;

pub(super) struct System(polling::Poller);

#[derive(Default)]
pub(super) struct Buffer(Events);

impl System {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(polling::Poller::new()?))
    }

    pub(super) fn wake(&self) {
        // The only failure is a poller that is gone, and then no thread waits.
        let _ = self.0.notify();
    }

    #[allow(unsafe_code)]
    pub(super) fn add(&self, source: BorrowedFd<'_>, token: usize) -> io::Result<()> {
        // SAFETY: every source is removed before it is closed, as `Poller::remove` demands of its callers; kqueue forgets a
        // closed descriptor by itself.
        unsafe { self.0.add_with_mode(source.as_raw_fd(), Event::all(token), PollMode::Edge) }
    }

    #[allow(unsafe_code)]
    pub(super) fn add_system(&self, inner: &Self, token: usize) -> io::Result<()> {
        // SAFETY: the outer poller is dropped together with the inner one, and kqueue forgets a closed descriptor by itself.
        unsafe { self.0.add_with_mode(inner.0.as_raw_fd(), Event::readable(token), PollMode::Level) }
    }

    pub(super) fn remove(&self, source: BorrowedFd<'_>) -> io::Result<()> {
        self.0.delete(source)
    }

    pub(super) fn remove_closing(&self, source: BorrowedFd<'_>) {
        // An error means that the source was not added; the caller closes it in any case.
        let _ = self.remove(source);
    }

    pub(super) fn wait(&self, buffer: &mut Buffer, timeout: Option<Nanos>, ready: &mut Vec<Ready>) -> io::Result<()> {
        buffer.0.clear();
        self.0.wait(&mut buffer.0, timeout.map(|t| Duration::from_nanos(t.0)))?;
        ready.extend(buffer.0.iter().map(|event| Ready {
            token: event.key,
            readable: event.readable,
            writable: event.writable,
            closed: event.readable, // not told here, so it may be
        }));
        Ok(())
    }
}
