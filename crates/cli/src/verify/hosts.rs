//! The server's side of a run, in a few lines.

use std::fmt::{self, Formatter};

use offered_verify::Verdict;
use offered_verify::hosts::Resource;

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
        let mean = |resource| maybe(host.mean(resource), 2);
        let megabytes = |resource| maybe(host.network(resource).map(|bytes| bytes / 1e6), 2);
        table.row([
            clipped(&host.name),
            host.processors.to_string(),
            mean(Resource::Processors),
            mean(Resource::Core),
            mean(Resource::Running),
            mean(Resource::Disk),
            megabytes(Resource::NetworkIn),
            megabytes(Resource::NetworkOut),
            mean(Resource::Memory),
        ]);
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
