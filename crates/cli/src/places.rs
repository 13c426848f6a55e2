//! What stands in a workload as places for values once did.

use crate::say::tell;
use offered_model::Workload;

/// Says on stderr which bodies have a value's name in single braces: in GraphQL that is meant, in an older workload it was a place. Who
/// launches refuses them anywhere else.
pub(crate) fn say(workload: &Workload) {
    for single in workload.singles().iter().filter(|single| single.may_be_meant()) {
        tell!("warning: {single}");
    }
}
