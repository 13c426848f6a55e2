//! The server's resource usage as text.

use std::fmt::{self, Formatter};

use offered_base::visible;
use offered_verify::Verdict;
use offered_verify::hosts::ServerSide;

use crate::messages;
use crate::table::{Table, clipped, maybe, wrapped};

/// Writes the resource usage of the observed machines; nothing if none was observed.
pub(super) fn write(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    let Some(side) = &v.server_side else { return Ok(()) };
    writeln!(f, "\nServer")?;
    let heads = ["machine", "CPUs", "busy", "busiest", "runnable", "disk", "in MB/s", "out MB/s", "memory"];
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
    let split = side.processor_shares();
    if !split.is_empty() {
        let mut table = Table::new(["share of", "busy CPUs", "bytes"]);
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
        host.utilisation_law.iter().try_for_each(|law| wrapped(f, &head, &law.text()))?;
        wrapped(f, &head, &host.observation_text())?;
        host.notes.iter().try_for_each(|note| wrapped(f, &head, &messages::host_note(note)))?;
    }
    Ok(())
}

/// CPU time per response of each label, if it can be estimated.
fn demands(f: &mut Formatter<'_>, side: &ServerSide) -> fmt::Result {
    let mut table = Table::new(["request", "machine", "CPU ms per response", "95 %", "share", "responses/s"]);
    let all = side.hosts.iter().flat_map(|host| host.demands.iter().map(move |demands| (host, demands)));
    let all: Vec<_> = all.flat_map(|(host, demands)| demands.labels.iter().map(move |of| (host, of))).collect();
    for (host, of) in &all {
        let interval = match (of.demand_low_ms, of.demand_high_ms) {
            (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
            _ => "too few data".to_owned(),
        };
        let (work, share, rate) =
            (maybe(of.demand_ms, 3), format!("{:.1} %", 100.0 * of.share), maybe(Some(of.completed_rate_per_s), 1));
        table.row([visible(&of.label).into_owned(), clipped(&host.name), work, interval, share, rate]);
    }
    if all.is_empty() { Ok(()) } else { write!(f, "{table}") }
}

/// Mean, minimum and maximum of the scraped metrics over the analysed time.
fn series(f: &mut Formatter<'_>, side: &ServerSide) -> fmt::Result {
    let mut table = Table::new(["scraped from", "mean", "min", "max", "metric"]);
    let all = side.hosts.iter().flat_map(|host| host.series().map(move |measure| (host, measure)));
    let all: Vec<_> = all.collect();
    for (host, measure) in &all {
        let values = || measure.over_time.iter().flatten().copied();
        let [mean, low, high] = [measure.mean, values().reduce(f64::min), values().reduce(f64::max)];
        let [mean, low, high] = [mean, low, high].map(|value| maybe(value, 2));
        table.row([clipped(&host.name), mean, low, high, visible(&measure.text()).into_owned()]);
    }
    if all.is_empty() { Ok(()) } else { write!(f, "{table}") }
}
