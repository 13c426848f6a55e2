//! Linux: epoll with nanosecond timeouts (`epoll_pwait2`, Linux 5.11), woken by an eventfd.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{BorrowedFd, OwnedFd};

use offered_base::Nanos;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};

use super::{Ready, WAKE};

pub(super) struct System {
    epoll: OwnedFd,
    wake: OwnedFd,
}

pub(super) struct Buffer(Vec<epoll::Event>);

impl Default for Buffer {
    fn default() -> Self {
        Self(Vec::with_capacity(super::Poller::MAX_READY))
    }
}

impl System {
    pub(super) fn new() -> io::Result<Self> {
        // The default slack of 50 us would double the lateness of every sleep. Refusal only costs precision.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE as u64), EventFlags::IN | EventFlags::ET)?;
        Ok(Self { epoll, wake })
    }

    pub(super) fn wake(&self) {
        // A full counter means that a wake-up is already on its way.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub(super) fn add(&self, source: BorrowedFd<'_>, token: usize) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, source, EventData::new_u64(token as u64), flags)?)
    }

    pub(super) fn add_system(&self, inner: &Self, token: usize) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, &inner.epoll, EventData::new_u64(token as u64), EventFlags::IN)?)
    }

    pub(super) fn remove(&self, source: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    #[expect(clippy::unused_self, reason = "other systems need it")]
    pub(super) fn remove_closing(&self, _: BorrowedFd<'_>) {}

    pub(super) fn wait(&self, buffer: &mut Buffer, timeout: Option<Nanos>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let timeout =
            timeout.map(|t| Timespec { tv_sec: (t.0 / 1_000_000_000) as i64, tv_nsec: (t.0 % 1_000_000_000) as i64 });
        let events = &mut buffer.0;
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let gone = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        ready.extend(events.iter().filter(|event| event.data.u64() != WAKE as u64).map(|event| {
            let flags = event.flags;
            Ready {
                token: event.data.u64() as usize,
                readable: flags.intersects(EventFlags::IN | gone),
                writable: flags.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR),
                closed: flags.intersects(gone),
            }
        }));
        Ok(())
    }
}
