//! Linux: `sched_setattr(2)`, which neither rustix nor nix wraps.

use std::io;

use offered_base::Nanos;
use rustix::process::{Resource, getrlimit};

use super::{Scheduling, SchedulingPolicy};

/// The number of a thread.
pub(super) type ThreadId = libc::pid_t;

/// A real-time thread may need this much processor time without sleeping before the supervisor stops it.
const MIN_REALTIME_LIMIT_US: u64 = 1_000_000;
/// The clock of the processor time of a thread is its number, inverted, and these bits (`pthread_getcpuclockid(3)`).
const THREAD_CLOCK: libc::clockid_t = 0b110;

/// The number of the current thread.
pub(super) fn current_thread() -> ThreadId {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// How a thread is scheduled.
pub(super) fn get(thread: ThreadId) -> io::Result<Scheduling> {
    let attributes = attributes(thread)?;
    let policy = match attributes.sched_policy as libc::c_int {
        libc::SCHED_FIFO => SchedulingPolicy::Fifo,
        libc::SCHED_RR => SchedulingPolicy::RoundRobin,
        libc::SCHED_BATCH => SchedulingPolicy::Batch,
        libc::SCHED_IDLE => SchedulingPolicy::Idle,
        libc::SCHED_DEADLINE => SchedulingPolicy::Deadline,
        _ => SchedulingPolicy::Other,
    };
    // Since 6.12 the kernel reports the slice of every fair thread. It is ours only if it is shorter than any default.
    let is_own = policy == SchedulingPolicy::Other && (1..=super::SLICE.0).contains(&attributes.sched_runtime);
    Ok(Scheduling {
        policy,
        nice: attributes.sched_nice,
        realtime_priority: attributes.sched_priority,
        slice: is_own.then_some(Nanos(attributes.sched_runtime)),
    })
}

/// Schedules a thread. Its children get the normal priority.
pub(super) fn set(thread: ThreadId, scheduling: Scheduling) -> io::Result<()> {
    let policy = match scheduling.policy {
        SchedulingPolicy::Other => libc::SCHED_OTHER,
        SchedulingPolicy::Fifo => libc::SCHED_FIFO,
        SchedulingPolicy::RoundRobin => libc::SCHED_RR,
        SchedulingPolicy::Batch => libc::SCHED_BATCH,
        SchedulingPolicy::Idle => libc::SCHED_IDLE,
        SchedulingPolicy::Deadline => libc::SCHED_DEADLINE,
    };
    set_attributes(
        thread,
        &libc::sched_attr {
            size: size_of::<libc::sched_attr>() as u32,
            sched_policy: policy as u32,
            sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
            sched_nice: scheduling.nice,
            sched_priority: scheduling.realtime_priority,
            sched_runtime: scheduling.slice.map_or(0, |slice| slice.0),
            sched_deadline: 0,
            sched_period: 0,
        },
    )
}

/// Whether a limit on the processor time of real-time threads (`RLIMIT_RTTIME`) leaves the supervisor time to act. The
/// kernel kills a process that exceeds it.
pub(super) fn allows_realtime() -> io::Result<()> {
    match getrlimit(Resource::Rttime).current {
        Some(limit) if limit < MIN_REALTIME_LIMIT_US => Err(io::Error::other(format!("RLIMIT_RTTIME is {limit} us"))),
        _ => Ok(()),
    }
}

/// The lowest nice value that the limits of the process permit; `None` without a limit.
pub(super) fn lowest_nice() -> Option<i32> {
    getrlimit(Resource::Nice).current.map(|limit| 20 - limit.clamp(1, 40) as i32)
}

/// The processor time of a thread of this process.
#[allow(unsafe_code)]
pub(super) fn processor_time(thread: ThreadId) -> io::Result<Nanos> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in `time`; a number that is no clock is an error.
    let result = unsafe { libc::clock_gettime((!thread << 3) | THREAD_CLOCK, &raw mut time) };
    if result == 0 {
        Ok(Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
    } else {
        Err(io::Error::last_os_error())
    }
}

#[allow(unsafe_code)]
fn attributes(thread: ThreadId) -> io::Result<libc::sched_attr> {
    // SAFETY: a `sched_attr` consists of numbers, for which zero is valid; the call fills in at most `size` bytes.
    unsafe {
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        let size = size_of::<libc::sched_attr>() as libc::c_uint;
        match libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attributes, size, 0) {
            0 => Ok(attributes),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[allow(unsafe_code)]
fn set_attributes(thread: ThreadId, attributes: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the call only reads `attributes`, whose `size` is correct.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, thread, std::ptr::from_ref(attributes), 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
