//! The server's side of a run, in a few lines.

use std::fmt::{self, Formatter};

use offered_verify::Verdict;
use offered_verify::hosts::ServerSide;

use super::page::{maybe, wrapped};
use crate::table::{Table, clipped, shown};
use crate::words;

/// What the machines that served did; nothing where none was observed.
pub(super) fn write(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(side) = &v.server_side else { return Ok(()) };
    writeln!(f, "\nThe server's side")?;
    let heads = ["machine", "processors", "busy", "busiest", "wanted to run", "disk", "in MB/s", "out MB/s", "memory"];
    let mut table = Table::new(heads);
    for host in side.machines() {
        let [busy, busiest, running, disk, came_in, went_out, memory] = host.averages().map(|mean| maybe(mean, 2));
        let (name, processors) = (clipped(&host.name), host.processors.to_string());
        table.row([name, processors, busy, busiest, running, disk, came_in, went_out, memory]);
    }
    if side.machines().next().is_some() {
        write!(f, "{table}")?;
    }
    wrapped(f, "", &side.saturation)?;
    let split = side.split();
    if !split.is_empty() {
        let mut table = Table::new(["split between", "processors at work", "bytes"]);
        for (host, [work, bytes]) in split {
            let share =
                |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
            table.row([clipped(&host.name), share(work), share(bytes)]);
        }
        write!(f, "{table}")?;
    }
    demands(f, side)?;
    series(f, side)?;
    for host in &side.hosts {
        let head = format!("{}: ", host.name);
        host.law.iter().try_for_each(|law| wrapped(f, &head, &law.in_words()))?;
        wrapped(f, &head, &host.observed_in_words())?;
        host.notes.iter().try_for_each(|note| wrapped(f, &head, &words::of_host(note)))?;
    }
    Ok(())
}

/// How much processor time an answer of each label took, where that can be told.
fn demands(f: &mut Formatter<'_>, side: &ServerSide) -> fmt::Result {
    let mut table = Table::new(["work of", "on", "ms an answer", "95 %", "of the work", "answers/s"]);
    let all = side.hosts.iter().flat_map(|host| host.demands.iter().map(move |demands| (host, demands)));
    let all: Vec<_> = all.flat_map(|(host, demands)| demands.labels.iter().map(move |of| (host, of))).collect();
    for (host, of) in &all {
        let interval = match (of.work_low_ms, of.work_high_ms) {
            (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
            _ => "too little to tell".to_owned(),
        };
        let (work, share, rate) =
            (maybe(of.work_ms, 3), format!("{:.1} %", 100.0 * of.share), maybe(Some(of.answers_per_s), 1));
        table.row([shown(&of.label), clipped(&host.name), work, interval, share, rate]);
    }
    if all.is_empty() { Ok(()) } else { write!(f, "{table}") }
}

/// What was told by those that were asked, on average over the time that was judged, and its extremes.
fn series(f: &mut Formatter<'_>, side: &ServerSide) -> fmt::Result {
    let mut table = Table::new(["told by", "mean", "lowest", "highest", "of"]);
    let all = side.hosts.iter().flat_map(|host| host.series().map(move |measure| (host, measure)));
    let all: Vec<_> = all.collect();
    for (host, measure) in &all {
        let values = || measure.over_time.iter().flatten().copied();
        let [mean, low, high] = [measure.mean, values().reduce(f64::min), values().reduce(f64::max)];
        let [mean, low, high] = [mean, low, high].map(|value| maybe(value, 2));
        table.row([clipped(&host.name), mean, low, high, shown(&measure.words())]);
    }
    if all.is_empty() { Ok(()) } else { write!(f, "{table}") }
}
