//! The machine that this program runs on.

use offered_io::WallClock;
use offered_store::Machine;

/// The description of this machine for run records and sample files.
pub fn this_machine() -> Machine {
    let machine = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Machine {
        name: text(machine.nodename()),
        system: format!("{} {}", text(machine.sysname()), text(machine.release())),
        arch: text(machine.machine()),
        cores: processors(),
        boot_id: WallClock::read().boot_id().map(|kernel| format!("{kernel:032x}")),
    }
}

/// The number of processors available to this process, at least 1.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Clock ticks per second, the unit of processor times in `/proc`.
pub fn ticks_per_s() -> u64 {
    rustix::param::clock_ticks_per_second()
}
