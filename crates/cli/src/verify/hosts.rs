//! The server's side of a run, in a few lines.

use std::fmt::{self, Formatter};

use offered_verify::Verdict;

use super::page::{maybe, wrapped};
use crate::table::{Table, clipped};
use crate::words;

/// What the machines that served did; nothing where none was observed.
pub(super) fn write(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(side) = &v.server_side else { return Ok(()) };
    writeln!(f, "\nThe server's side")?;
    let heads = ["machine", "processors", "busy", "busiest", "wanted to run", "disk", "in MB/s", "out MB/s", "memory"];
    let mut table = Table::new(heads);
    for host in &side.hosts {
        let [busy, busiest, running, disk, came_in, went_out, memory] = host.averages().map(|mean| maybe(mean, 2));
        let (name, processors) = (clipped(&host.name), host.processors.to_string());
        table.row([name, processors, busy, busiest, running, disk, came_in, went_out, memory]);
    }
    write!(f, "{table}")?;
    wrapped(f, "", &side.saturation)?;
    for host in &side.hosts {
        let head = format!("{}: ", host.name);
        host.law.iter().try_for_each(|law| wrapped(f, &head, &law.in_words()))?;
        wrapped(f, &head, &host.observed_in_words())?;
        host.notes.iter().try_for_each(|note| wrapped(f, &head, &words::of_host(note)))?;
    }
    Ok(())
}
