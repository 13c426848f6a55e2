//! Warnings about bodies with single braces, the former syntax of placeholders.

use crate::output::status;
use offered_workload::Workload;

/// Warns about bodies with a value's name in single braces, which may be GraphQL or a mistyped placeholder.
pub(crate) fn warn(workload: &Workload) {
    for single in workload.singles().iter().filter(|single| single.may_be_literal()) {
        status!("warning: {single}");
    }
}
