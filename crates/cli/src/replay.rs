//! What became of the stamps of a replayed trace, where that is not plain.

use crate::say::tell;
use offered_model::Workload;
use offered_model::workload::Sessions;

/// Says on stderr how launches of one second are replayed, where the trace knows no more than the second.
pub(crate) fn say(workload: &Workload) {
    let Sessions::Replay(replay) = workload.sessions() else { return };
    if replay.trace().is_spread() {
        tell!(
            "note: the trace's stamps are whole seconds: the launches of each are spread over it, evenly by the seed; \
             stamps = \"as-recorded\" launches them together"
        );
    } else if replay.trace().has_whole_seconds() {
        tell!(
            "note: the trace's stamps are whole seconds, and the launches of each go together, as asked \
             (stamps = \"as-recorded\"): a bunch that nobody made"
        );
    }
}
