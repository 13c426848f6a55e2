//! Notes about the timestamps of a replayed trace.

use crate::output::status;
use offered_schedule::Sessions;
use offered_workload::Workload;

/// Prints how requests of the same second are replayed, if the timestamps are whole seconds.
pub(crate) fn note(workload: &Workload) {
    let Sessions::Replay(replay) = workload.sessions() else { return };
    let trace = replay.trace();
    if trace.is_spread() {
        status!(
            "note: the trace has timestamps in whole seconds, or coarser; the requests of each tick are spread over the tick (timestamps = \"as-recorded\" sends them together)"
        );
    } else if let Some(tick) = trace.tick().filter(|_| replay.part().schedule.is_none()) {
        status!(
            "note: the timestamps of the trace are {tick} apart; the requests of a tick are sent together (timestamps = \"as-recorded\"), so arrivals are burstier than in the recorded traffic"
        );
    }
}
