//! The first lines of `run` and `verify` in the terminal: aligned, wrapped, with the fixes of the reason.

use std::fmt::{self, Formatter};

use offered_report::{Subject, VerdictLines};
use offered_verify::Warning;

use crate::messages;
use crate::table::wrapped;
use offered_base::visible;

/// Writes the lines. Below the validity come the fixes of the warnings that its reason names.
pub(crate) fn write(f: &mut Formatter<'_>, input: VerdictLines<'_>) -> fmt::Result {
    let lines = input.lines();
    let width = lines.iter().map(|line| line.judgement.len()).max().unwrap_or(0);
    for line in lines {
        wrapped(f, &format!("{:width$}  ", line.judgement), &visible(&line.text))?;
        if line.subject == Subject::Validity {
            let fixes = input.verdict.warnings.iter().filter(|warning| warning.in_reason);
            fixes.map(messages::fix).try_for_each(|fix| wrapped(f, &" ".repeat(width + 2), &format!("fix: {fix}")))?;
        }
    }
    Ok(())
}

/// Whether the lines state this warning.
pub(crate) fn states(warning: &Warning) -> bool {
    warning.in_reason || matches!(warning.details, Some(offered_verify::WarningKind::StoppedEarly { .. }))
}
