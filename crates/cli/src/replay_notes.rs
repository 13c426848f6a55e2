//! Notes about the timestamps of a replayed trace.

use crate::output::status;
use offered_schedule::Sessions;
use offered_workload::Workload;

/// Prints how requests of the same second are replayed, if the timestamps are whole seconds.
pub(crate) fn note(workload: &Workload) {
    let Sessions::Replay(replay) = workload.sessions() else { return };
    if replay.trace().is_spread() {
        status!(
            "note: the trace has timestamps in whole seconds; the requests of a second are spread over it \
             (timestamps = \"as-recorded\" sends them together)"
        );
    } else if replay.trace().has_whole_seconds() {
        status!(
            "note: the trace has timestamps in whole seconds; the requests of a second are sent together \
             (timestamps = \"as-recorded\"), burstier than they were"
        );
    }
}
