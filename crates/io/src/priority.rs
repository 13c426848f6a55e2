//! The scheduling priority of threads that must act on time, with a limit on their processor time at this priority.
//!
//! A thread that waits for an instant competes with every other process of the machine when the instant comes. Linux
//! offers three means: a real-time policy and a lower nice value, which need permission, and since 6.12 a short time
//! slice, which needs none: a thread with short slices gets the same processor time as before, but sooner.
//!
//! A thread that spins at high priority could starve the machine. [`Priorities::supervise`] therefore measures the
//! processor time of each raised thread every 100 ms, at a priority above theirs. A thread that uses more than its share
//! of a processor loses its priority for at least a second.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as system;

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use offered_base::{Instant, Nanos};

use crate::Clock;
use system::ThreadId;

/// The nice value that [`PriorityClass::High`] requests: before all other processes with a normal policy.
const HIGH_NICE: i32 = -20;
/// The real-time priority of raised threads: the lowest, below all other real-time threads of the machine.
const REALTIME_PRIORITY: u32 = 1;
/// The requested time slice: the shortest that Linux accepts.
const SLICE: Nanos = Nanos::from_micros(100);
/// Interval at which processor time is measured.
const PERIOD: Duration = Duration::from_millis(100);
/// Minimum number of periods without priority; it doubles with each loss, up to `2^MAX_DOUBLINGS` times.
const PERIODS_LOWERED: u32 = 10;
const MAX_DOUBLINGS: u32 = 5;

/// The scheduling priority that a thread requests from the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityClass {
    /// The normal priority of processes.
    Normal,
    /// Nice -20 if it is permitted, and a short time slice.
    High,
    /// A real-time policy if it is permitted, otherwise as [`PriorityClass::High`].
    Realtime,
}

impl PriorityClass {
    /// The share of a processor, from 0 to 1, above which a thread loses its priority.
    ///
    /// A thread that uses less than half of a processor would get that time from a fair scheduler too, against one
    /// other process; the priority changes only when it gets it.
    const fn limit(self) -> f64 {
        match self {
            Self::Normal | Self::High => 0.5,
            Self::Realtime => 0.8,
        }
    }
}

/// A scheduling policy of Linux; see sched(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulingPolicy {
    /// `SCHED_OTHER`: fair, weighted by the nice value. Also used for the schedulers of other systems.
    Other,
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_RR`: takes precedence over all fair threads; threads of the same priority take turns.
    RoundRobin,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`: only when nothing else runs.
    Idle,
    /// `SCHED_DEADLINE`.
    Deadline,
}

impl SchedulingPolicy {
    /// The name of the policy in sched(7).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Other => "SCHED_OTHER",
            Self::Fifo => "SCHED_FIFO",
            Self::RoundRobin => "SCHED_RR",
            Self::Batch => "SCHED_BATCH",
            Self::Idle => "SCHED_IDLE",
            Self::Deadline => "SCHED_DEADLINE",
        }
    }

    /// Whether threads of this policy take precedence over all fair threads.
    pub const fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo | Self::RoundRobin | Self::Deadline)
    }
}

/// How the operating system schedules a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// The policy.
    pub policy: SchedulingPolicy,
    /// The nice value, from -20 (first) to 19; without effect under a real-time policy.
    pub nice: i32,
    /// The real-time priority, from 1 to 99; 0 without a real-time policy.
    pub realtime_priority: u32,
    /// The time slice, if it is not the default of the system.
    pub slice: Option<Nanos>,
}

/// The priority that the system granted to the raised threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedPriority {
    /// How the threads are scheduled.
    pub scheduling: Scheduling,
    /// Why the requested priority was refused. `None` if it was granted, or if the process already had a higher
    /// priority, which it keeps.
    pub refused: Option<String>,
    /// Time for which threads lost their priority because they used too much of a processor; the sum over all threads.
    pub lowered: Nanos,
}

/// The priorities of a group of threads.
pub struct Priorities {
    class: PriorityClass,
    clock: Clock,
    raised: Mutex<Raised>,
}

#[derive(Default)]
struct Raised {
    threads: Vec<RaisedThread>,
    /// The priority that was granted to the first thread; the other threads have the same rights.
    granted: Option<GrantedPriority>,
}

/// A thread with its own priority, until this is dropped by the same thread.
pub struct RaisedPriority<'a> {
    priorities: &'a Priorities,
    thread: ThreadId,
}

struct RaisedThread {
    id: ThreadId,
    high: Scheduling,
    normal: Scheduling,
    used: Nanos,
    allowance: Allowance,
    lowered_since: Option<Instant>,
}

impl Priorities {
    /// Threads that request `class`.
    pub fn new(class: PriorityClass) -> Self {
        Self { class, clock: Clock::start(), raised: Mutex::default() }
    }

    /// Raises the priority of the current thread as far as it is permitted. A process that was started with another
    /// policy or nice value (chrt, nice) keeps it.
    pub fn raise_current_thread(&self) -> RaisedPriority<'_> {
        let thread = system::current_thread();
        let (granted, normal) = raise(thread, self.class);
        let mut raised = self.raised();
        // A thread whose processor time is unknown cannot be limited.
        match (granted.scheduling != normal && is_preferred(granted.scheduling), system::processor_time(thread)) {
            (true, Ok(used)) => raised.threads.push(RaisedThread {
                id: thread,
                high: granted.scheduling,
                normal,
                used,
                allowance: Allowance::new(self.class.limit()),
                lowered_since: None,
            }),
            (true, Err(_)) => drop(system::set(thread, normal)),
            (false, _) => {}
        }
        raised.granted.get_or_insert(granted);
        drop(raised);
        RaisedPriority { priorities: self, thread }
    }

    /// Limits the processor time of the raised threads, until the sender of `stop` is dropped. Call it on a separate
    /// thread after all threads are raised; it raises the priority of the calling thread above theirs. Returns at once
    /// if no thread is raised.
    pub fn supervise(&self, stop: &Receiver<()>) {
        if self.raised().threads.is_empty() {
            return;
        }
        if raise(system::current_thread(), self.class).0.scheduling.policy == SchedulingPolicy::RoundRobin {
            let above = Scheduling {
                policy: SchedulingPolicy::RoundRobin,
                nice: 0,
                realtime_priority: REALTIME_PRIORITY + 1,
                slice: None,
            };
            // If only priority 1 is permitted, this thread takes turns with the others.
            let _ = system::set(system::current_thread(), above);
        }
        let mut before = self.clock.now();
        while stop.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            let now = self.clock.now();
            self.limit(now, before.until(now));
            before = now;
        }
    }

    /// Lowers and raises threads by the processor time that they have used in the `elapsed` time before `now`.
    fn limit(&self, now: Instant, elapsed: Nanos) {
        let Raised { threads, granted } = &mut *self.raised();
        for thread in threads {
            let Ok(used) = system::processor_time(thread.id) else { continue };
            let share = used.saturating_sub(thread.used).as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
            thread.used = used;
            match thread.allowance.next(share) {
                Some(true) if system::set(thread.id, thread.high).is_ok() => {
                    if let (Some(since), Some(granted)) = (thread.lowered_since.take(), granted.as_mut()) {
                        granted.lowered += since.until(now);
                    }
                }
                Some(false) if system::set(thread.id, thread.normal).is_ok() => thread.lowered_since = Some(now),
                _ => {}
            }
        }
    }

    /// The granted priority; `None` before the first thread was raised.
    pub fn granted(&self) -> Option<GrantedPriority> {
        self.raised().granted.clone()
    }

    fn raised(&self) -> MutexGuard<'_, Raised> {
        self.raised.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for RaisedPriority<'_> {
    /// Removes a thread before it ends, because the system may reuse its number for another thread.
    fn drop(&mut self) {
        let now = self.priorities.clock.now();
        let Raised { threads, granted } = &mut *self.priorities.raised();
        if let Some(at) = threads.iter().position(|thread| thread.id == self.thread) {
            let thread = threads.swap_remove(at);
            if let (Some(since), Some(granted)) = (thread.lowered_since, granted) {
                granted.lowered += since.until(now);
            }
            let _ = system::set(thread.id, thread.normal);
        }
    }
}

/// Whether a thread with this scheduling can take more than its fair share of processor time from others.
fn is_preferred(scheduling: Scheduling) -> bool {
    scheduling.policy.is_realtime() || scheduling.nice < 0
}

/// Raises the priority of a thread. Returns the granted priority, and the scheduling of the thread before.
fn raise(thread: ThreadId, class: PriorityClass) -> (GrantedPriority, Scheduling) {
    let granted = |scheduling, refused| GrantedPriority { scheduling, refused, lowered: Nanos::ZERO };
    let before = match system::get(thread) {
        Ok(before) => before,
        Err(error) => {
            let unknown = Scheduling { policy: SchedulingPolicy::Other, nice: 0, realtime_priority: 0, slice: None };
            let refused = (class != PriorityClass::Normal).then(|| error.to_string());
            return (granted(unknown, refused), unknown);
        }
    };
    if class == PriorityClass::Normal || before.policy != SchedulingPolicy::Other || before.nice != 0 {
        return (granted(before, None), before);
    }
    let (short, mut refused) = (Scheduling { slice: Some(SLICE), ..before }, None);
    if class == PriorityClass::Realtime {
        let realtime = Scheduling {
            policy: SchedulingPolicy::RoundRobin,
            realtime_priority: REALTIME_PRIORITY,
            slice: None,
            ..before
        };
        match system::allows_realtime().and_then(|()| apply(thread, realtime)) {
            Ok(scheduling) => return (granted(scheduling, None), short),
            Err(error) => refused = Some(format!("real-time priority: {}", permission(&error, "RTPRIO"))),
        }
    }
    // A limit between 0 and -20 is used as far as it goes.
    for nice in [Some(HIGH_NICE), system::lowest_nice().filter(|nice| *nice < 0)].into_iter().flatten() {
        match apply(thread, Scheduling { nice, ..short }) {
            Ok(scheduling) => return (granted(scheduling, refused), short),
            Err(error) => {
                refused.get_or_insert_with(|| format!("nice {HIGH_NICE}: {}", permission(&error, "NICE")));
            }
        }
    }
    let scheduling = apply(thread, short).unwrap_or(before);
    (granted(scheduling, refused), scheduling)
}

/// Sets the scheduling of a thread. Returns the resulting scheduling, because older kernels ignore the time slice.
fn apply(thread: ThreadId, scheduling: Scheduling) -> io::Result<Scheduling> {
    system::set(thread, scheduling)?;
    system::get(thread)
}

/// The reason of a refusal, with the permission or limit that would allow the priority.
fn permission(error: &io::Error, limit: &str) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("not permitted (needs CAP_SYS_NICE or RLIMIT_{limit})"),
        _ => error.to_string(),
    }
}

/// Decides from the processor time of a thread whether it keeps its priority.
struct Allowance {
    /// The share of a processor that the thread may use with priority.
    limit: f64,
    is_raised: bool,
    /// Number of periods that it remains without priority.
    wait: u32,
    /// Number of losses so far.
    losses: u32,
}

impl Allowance {
    const fn new(limit: f64) -> Self {
        Self { limit, is_raised: true, wait: 0, losses: 0 }
    }

    /// Receives the share of a processor that the thread used in a period. Returns whether the thread is to be raised
    /// (`true`) or lowered (`false`) now; `None` for no change.
    fn next(&mut self, share: f64) -> Option<bool> {
        if self.is_raised {
            if share <= self.limit {
                return None;
            }
            self.wait = PERIODS_LOWERED << self.losses.min(MAX_DOUBLINGS);
            self.losses += 1;
        } else {
            self.wait = self.wait.saturating_sub(1);
            // Without priority it uses less than it would with it.
            if self.wait > 0 || share > self.limit / 2.0 {
                return None;
            }
        }
        self.is_raised = !self.is_raised;
        Some(self.is_raised)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, mpsc};

    #[test]
    fn a_thread_that_uses_too_much_loses_its_priority_for_longer_each_time() {
        let mut allowance = Allowance::new(0.5);
        assert!((0..100).all(|_| allowance.next(0.5).is_none()));
        let mut lowered = Vec::new();
        for _ in 0..8 {
            assert_eq!(allowance.next(0.6), Some(false));
            lowered.push(1 + (0..1000).take_while(|_| allowance.next(0.2).is_none()).count());
        }
        assert_eq!(lowered, [10, 20, 40, 80, 160, 320, 320, 320]);
        assert_eq!(allowance.next(1.0), Some(false));
        assert!((0..1000).all(|_| allowance.next(0.3).is_none()), "more than half of the limit without priority");
    }

    #[test]
    fn a_priority_that_is_not_requested_changes_nothing() {
        let priorities = Priorities::new(PriorityClass::Normal);
        assert_eq!(priorities.granted(), None);
        let before = system::get(system::current_thread()).ok();
        let raised = priorities.raise_current_thread();
        assert_eq!(system::get(system::current_thread()).ok(), before);
        drop(raised);
        let granted = priorities.granted().unwrap();
        assert_eq!((granted.refused, granted.lowered), (None, Nanos::ZERO));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_record_says_what_the_system_says() {
        for class in [PriorityClass::High, PriorityClass::Realtime] {
            // A thread of its own, because the threads of tests are used again.
            let (granted, now, after) = std::thread::spawn(move || {
                let priorities = Priorities::new(class);
                let raised = priorities.raise_current_thread();
                let now = system::get(system::current_thread()).unwrap();
                drop(raised);
                let after = system::get(system::current_thread()).unwrap();
                (priorities.granted().unwrap(), now, after)
            })
            .join()
            .unwrap();
            assert_eq!(granted.scheduling, now);
            assert!(!is_preferred(after) || after == now, "lowered again: {after:?}");
            if granted.refused.is_none() && now.nice != after.nice {
                assert_eq!(now.nice, HIGH_NICE);
            }
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_spins_with_priority_is_lowered() {
        for class in [PriorityClass::High, PriorityClass::Realtime] {
            let (priorities, (stop, stopped), both) = (Priorities::new(class), mpsc::channel(), Barrier::new(2));
            let (priorities, both) = (&priorities, &both);
            std::thread::scope(|scope| {
                let supervisor = scope.spawn(move || {
                    both.wait();
                    priorities.supervise(&stopped);
                });
                let spinner = scope.spawn(move || {
                    let current = || system::get(system::current_thread()).unwrap();
                    let usual = current();
                    let raised = priorities.raise_current_thread();
                    both.wait();
                    // Without permission, and with a priority of its own, it has nothing to lose.
                    while !is_preferred(usual) && is_preferred(current()) {
                        std::hint::spin_loop();
                    }
                    drop(raised);
                });
                spinner.join().unwrap();
                drop(stop);
                supervisor.join().unwrap();
            });
        }
    }
}
