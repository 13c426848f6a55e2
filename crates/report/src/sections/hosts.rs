//! The server's side: what the machines that served did, over the same time as launches and responses. Figure 10 of Brady and Gunther.

use offered_verify::hosts::{Host, HostNote, Measure, Resource, ServerSide, UtilisationLaw};

use crate::chart::{Axis, Chart, Ink, Series, Shape};
use crate::document::{Block, Cell, Section, Table, short};
use crate::portrait::OverTime;
use crate::report::Run;

use super::responses;

const TIME: &str = "time of the run (s)";

pub(super) fn section(run: &Run) -> Option<Section> {
    let side = run.verdict.server_side.as_ref()?;
    let mut blocks = vec![Block::Words(sentence(side.saturation.clone()))];
    blocks.extend(side.machines().next().map(|_| Block::Table(table(side))));
    blocks.extend(split(side).map(Block::Table));
    blocks.extend(side.hosts.iter().filter_map(demands).map(Block::Table));
    blocks.extend(told(side).map(Block::Table));
    for host in &side.hosts {
        let law = host.law.iter().map(UtilisationLaw::in_words);
        let said = law.chain([host.observed_in_words()]).chain(host.notes.iter().map(HostNote::words)).map(sentence);
        blocks.push(Block::Words(format!("{}: {}", host.name, said.collect::<Vec<_>>().join(" "))));
    }
    let over_time = run.portrait.as_ref().map(|portrait| &portrait.over_time);
    let course = over_time.and_then(responses::course);
    let above = [over_time.and_then(load), course.map(|chart| Chart { x: Axis::linear(TIME), ..chart })];
    blocks.extend(above.into_iter().flatten().chain(charts(side)).map(Block::Chart));
    blocks.extend(against_throughput(side).map(Block::Chart));
    blocks.extend(side.hosts.iter().flat_map(told_over_time).map(Block::Chart));
    blocks.extend(side.hosts.iter().filter_map(|host| law(host, host.law.as_ref()?)).map(Block::Chart));
    Some(Section {
        id: "server-side".into(),
        level: 2,
        title: "The server's side".into(),
        reading: "What the machines that served did in the same time, by their own counters. What is near 1 has no room left; where \
                  nothing is, and responses grow all the same, something waits that no counter here tells of: a lock, a pool, a \
                  machine that was not observed.",
        page: Some("guides/server.md"),
        blocks,
    })
}

fn sentence(mut words: String) -> String {
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words + "."
}

/// A row per machine, means over the time that was judged.
fn table(side: &ServerSide) -> Table {
    let row = |host: &Host| {
        [Cell::from(&host.name), host.processors.into()].into_iter().chain(host.averages().map(Cell::from)).collect()
    };
    Table {
        caption: "Machines, on average over the time that was judged (the network without what stays on the machine)"
            .into(),
        heads: vec![
            "machine",
            "processors",
            "busy",
            "the busiest",
            "wanted to run",
            "disk",
            "in MB/s",
            "out MB/s",
            "memory",
        ],
        rows: side.machines().map(row).collect(),
    }
}

/// How the work was split between several machines.
fn split(side: &ServerSide) -> Option<Table> {
    let split = side.split();
    let percent = |share: Option<f64>| Cell::from(share.map(|share| 100.0 * share));
    let rows = split.iter().map(|(host, [work, bytes])| vec![Cell::from(&host.name), percent(*work), percent(*bytes)]);
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        caption: "How work was split between them, in per cent of what all of them did".into(),
        heads: vec!["machine", "processors at work", "bytes in and out"],
        rows,
    })
}

/// How much processor time an answer of each label took.
fn demands(host: &Host) -> Option<Table> {
    let demands = host.demands.as_ref()?;
    let rows = demands.labels.iter().map(|of| {
        let [work, low, high] = [of.work_ms, of.work_low_ms, of.work_high_ms].map(Cell::from);
        let (share, rate) = (Cell::from(Some(100.0 * of.share)), Cell::from(Some(of.answers_per_s)));
        vec![Cell::from(&of.label), work, low, high, share, rate]
    });
    Some(Table {
        caption: format!(
            "Processor time of an answer of each label on {} ({}), by {} windows of {:.0} s; of less than a tenth of the work nothing is told",
            host.name,
            demands.counter.name(),
            demands.windows,
            demands.window_s
        ),
        heads: vec!["label", "ms", "from", "to (95 %)", "per cent of the work", "answers/s"],
        rows: rows.collect(),
    })
}

/// What was told by those that were asked.
fn told(side: &ServerSide) -> Option<Table> {
    let row = |(host, measure): (&Host, &Measure)| {
        let all = || measure.over_time.iter().flatten().copied();
        let extremes = [all().reduce(f64::min), all().reduce(f64::max)];
        let values = [measure.mean, extremes[0], extremes[1]].map(Cell::from);
        [Cell::from(&host.name), Cell::from(&measure.words())].into_iter().chain(values).collect::<Vec<_>>()
    };
    let all = side.hosts.iter().flat_map(|host| host.series().map(move |measure| (host, measure)));
    let rows: Vec<_> = all.map(row).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "What was told by those that were asked: on average over the time that was judged, and in its lowest and highest window"
            .into(),
        heads: vec!["asked", "series", "mean", "lowest", "highest"],
        rows,
    })
}

/// The series of one that was asked, a chart for each name.
fn told_over_time(host: &Host) -> Vec<Chart> {
    fn name(measure: &Measure) -> &str {
        measure.of.split('{').next().unwrap_or_default()
    }
    let all: Vec<&Measure> = host.series().collect();
    let charts = all.chunk_by(|one, other| name(one) == name(other)).filter_map(|of_name| {
        let rises = of_name[0].resource == Resource::SeriesRate;
        let series = of_name.iter().enumerate().map(|(n, measure)| {
            let labels = measure.of.strip_prefix(name(measure)).unwrap_or_default();
            let labels = if labels.is_empty() { measure.of.as_str() } else { labels };
            Series::new(labels, Ink::Nth(n), course(host, measure, 1.0))
        });
        let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        over_time_chart(
            &format!("told-{}-{}", plain(&host.name), plain(name(of_name[0]))),
            &format!("{}: {}", host.name, name(of_name[0])),
            if rises { "By how much it rose per second." } else { "What it was, each time it was asked." },
            if rises { "per second" } else { "" },
            series.collect(),
        )
    });
    charts.collect()
}

/// What each machine did against what all of them answered together, a point for each window.
fn against_throughput(side: &ServerSide) -> impl Iterator<Item = Chart> {
    let machines: Vec<&Host> = side.machines().collect();
    let several = machines.len() > 1;
    let chart = |id: &str, title: &str, reading: &str, unit: &str, value: &dyn Fn(&Host, usize) -> Option<f64>| {
        let series = machines.iter().enumerate().map(|(n, host)| {
            let windows = host.answers_per_s.iter().enumerate();
            let points =
                windows.filter(|(_, rate)| **rate > 0.0).filter_map(|(at, rate)| Some([*rate, value(host, at)?]));
            Series::new(&host.name, Ink::Nth(n), Shape::Points(points.collect()))
        });
        Chart {
            id: id.to_owned(),
            title: title.to_owned(),
            reading: reading.to_owned(),
            x: Axis::linear("answers per second, all machines together"),
            y: Axis::linear(unit),
            series: series.collect(),
        }
        .some()
    };
    let at = |measure: Option<&Measure>, window: usize| *measure?.over_time.get(window)?;
    let charts = several.then(|| {
        [
            chart(
                "balance-processors",
                "Processors of each machine against throughput",
                "The share of the time in which its processors worked. Where a balancer splits work evenly the machines lie on one line; \
                 one that is steeper is favoured, or slower.",
                "share of the time",
                &|host, window| at(host.measure(Resource::Processors), window),
            ),
            chart(
                "balance-network",
                "Network of each machine against throughput",
                "What came in and went out of it, without what stayed on the machine.",
                "MB/s",
                &|host, window| {
                    let kinds = [Resource::NetworkIn, Resource::NetworkOut];
                    let all = host.measures.iter().filter(|m| kinds.contains(&m.resource) && m.of != "lo");
                    all.filter_map(|measure| at(Some(measure), window)).reduce(|a, b| a + b).map(|bytes| bytes / 1e6)
                },
            ),
        ]
    });
    charts.into_iter().flatten().flatten()
}

/// What was launched and answered, to be laid above the machines.
fn load(over_time: &OverTime) -> Option<Chart> {
    let edges = &over_time.edges_s;
    let rate = |counts: &[u64]| {
        let cells = counts.iter().zip(edges.windows(2));
        Shape::Line(cells.map(|(n, ends)| [f64::midpoint(ends[0], ends[1]), *n as f64 / (ends[1] - ends[0])]).collect())
    };
    over_time_chart(
        "load",
        "Launches and answers per second",
        "What came to the machines below, on the same axis of time.",
        "per second",
        vec![
            Series::new("launched", Ink::Measured, rate(&over_time.sent)),
            Series::new("answered", Ink::Second, rate(&over_time.answered)),
        ],
    )
}

/// What was measured, a chart for each kind, all machines in it.
fn charts(side: &ServerSide) -> impl Iterator<Item = Chart> {
    let alone = side.hosts.len() == 1;
    let series = |kinds: &[Resource], per: f64| {
        let all = side.hosts.iter().flat_map(|host| host.measures.iter().map(move |measure| (host, measure)));
        let all = all.filter(|(_, measure)| kinds.contains(&measure.resource));
        all.enumerate()
            .map(|(n, (host, measure))| {
                let words = measure.words();
                let name = if alone { words } else { format!("{}: {words}", host.name) };
                Series::new(name, Ink::Nth(n), course(host, measure, per))
            })
            .collect::<Vec<_>>()
    };
    [
        over_time_chart(
            "utilisation",
            "Utilisation",
            "The share of the time in which all processors, the busiest of them, disks, and control groups within their limits were at \
             work. At 1 there is no more to be had, and who asks for more waits.",
            "share of the time",
            series(&[Resource::Processors, Resource::Core, Resource::GroupLimit, Resource::Disk, Resource::Stolen], 1.0),
        ),
        over_time_chart(
            "at-work",
            "Processors at work",
            "How many processors control groups and processes used by themselves.",
            "processors",
            series(&[Resource::Group, Resource::Process], 1.0),
        ),
        over_time_chart(
            "run-queue",
            "Run queue",
            "How many processes ran or wanted to, and how many waited for a disk, each time the observer looked. More than there are \
             processors is a queue.",
            "processes",
            series(&[Resource::Running, Resource::Blocked], 1.0),
        ),
        over_time_chart(
            "network",
            "Network",
            "What came in and went out at each interface.",
            "MB/s",
            series(&[Resource::NetworkIn, Resource::NetworkOut], 1e-6),
        ),
        over_time_chart(
            "disks",
            "Disks",
            "What was read and written.",
            "MB/s",
            series(&[Resource::DiskRead, Resource::DiskWritten], 1e-6),
        ),
        over_time_chart(
            "pressure",
            "Pressure",
            "The share of the time in which somebody was held up for want of a processor, of memory, or of a disk (Linux's pressure stall \
             information). It rises before a utilisation reaches 1.",
            "share of the time",
            series(&[Resource::Pressure], 1.0),
        ),
    ]
    .into_iter()
    .flatten()
}

fn over_time_chart(id: &str, title: &str, reading: &str, unit: &str, series: Vec<Series>) -> Option<Chart> {
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        reading: reading.to_owned(),
        x: Axis::linear(TIME),
        y: Axis::linear(unit),
        series,
    }
    .some()
}

/// A measure at the middle of each window in which it was observed.
fn course(host: &Host, measure: &Measure, per: f64) -> Shape {
    let windows = measure.over_time.iter().zip(host.edges_s.windows(2));
    Shape::Line(windows.filter_map(|(value, ends)| Some([f64::midpoint(ends[0], ends[1]), (*value)? * per])).collect())
}

/// Processors at work against answers per second.
fn law(host: &Host, law: &UtilisationLaw) -> Option<Chart> {
    let most = law.windows.iter().map(|point| point[0]).fold(0.0, f64::max);
    let line = law.line.map(|line| {
        let ends = [0.0, most].map(|x| [x, line.idle_processors + line.work_ms / 1e3 * x]);
        Series::new("the line through them", Ink::Theory, Shape::Line(ends.to_vec()))
    });
    let windows = Series::new("windows", Ink::Measured, Shape::Points(law.windows.clone()));
    (law.windows.len() > 2).then(|| Chart {
        id: format!("law-{}", host.name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()),
        title: format!("The utilisation law at {}", host.name),
        reading: format!(
            "Processors at work ({}) against answers per second, a point for each window of {} s. The slope is the work of one answer, \
             the height at zero what is used without load.",
            law.counter.name(),
            short(law.window_s)
        ),
        x: Axis::linear("answers per second"),
        y: Axis::linear("processors at work"),
        series: line.into_iter().chain([windows]).collect(),
    })
}
