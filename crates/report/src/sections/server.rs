//! Resource usage of the server's machines over time (Brady and Gunther, Figure 10).

use offered_verify::hosts::{Host, HostNote, Measure, Resource, ServerSide, UtilisationLaw};

use crate::chart::{Axis, Chart, Series, Shape, Style};
use crate::chart_data::OverTime;
use crate::document::{Block, Cell, Section, Table, headings};
use crate::format::number;
use crate::run::Run;

use super::responses;

const TIME: &str = "time (s)";

pub(super) fn section(run: &Run) -> Option<Section> {
    let side = run.verdict.server_side.as_ref()?;
    let mut blocks = vec![Block::Paragraph(sentence(side.saturation.clone()))];
    blocks.extend(side.machines().next().map(|_| Block::Table(table(side))));
    blocks.extend(split(side).map(Block::Table));
    blocks.extend(side.hosts.iter().filter_map(demands).map(Block::Table));
    blocks.extend(scraped(side).map(Block::Table));
    for host in &side.hosts {
        let law = host.utilisation_law.iter().map(UtilisationLaw::text);
        let texts = law.chain([host.observation_text()]).chain(host.notes.iter().map(HostNote::text)).map(sentence);
        blocks.push(Block::Paragraph(format!("{}: {}", host.name, texts.collect::<Vec<_>>().join(" "))));
    }
    let over_time = run.chart_data.as_ref().map(|chart_data| &chart_data.over_time);
    let percentiles = over_time.and_then(responses::percentiles_over_time);
    let above = [over_time.and_then(load), percentiles.map(|chart| Chart { x: Axis::linear(TIME), ..chart })];
    blocks.extend(above.into_iter().flatten().chain(charts(side)).map(Block::Chart));
    blocks.extend(usage_by_throughput(side).map(Block::Chart));
    blocks.extend(side.hosts.iter().flat_map(scraped_over_time).map(Block::Chart));
    blocks.extend(
        side.hosts.iter().filter_map(|host| utilisation_law(host, host.utilisation_law.as_ref()?)).map(Block::Chart),
    );
    Some(Section {
        id: "server-side".into(),
        level: 2,
        title: "Server".into(),
        intro: "Resource usage of the observed machines, from their own counters. A utilisation near 1 means saturation. If response times grow and no utilisation is near 1, requests wait for something that is not measured here: a lock, a connection pool, a machine that is not observed.",
        book_page: Some("guides/server.md"),
        folded: true,
        blocks,
    })
}

fn sentence(mut words: String) -> String {
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words + "."
}

/// A row per machine: means over the analysed time.
fn table(side: &ServerSide) -> Table {
    let row = |host: &Host| {
        [Cell::from(&host.name), host.processors.into()].into_iter().chain(host.averages().map(Cell::from)).collect()
    };
    Table {
        caption: "Machines, means over the analysed time (network without loopback)".into(),
        headings: headings([
            "machine",
            "CPUs",
            "busy",
            "busiest CPU",
            "runnable",
            "disk",
            "in MB/s",
            "out MB/s",
            "memory",
        ]),
        rows: side.machines().map(row).collect(),
    }
}

/// The shares of several machines in the work.
fn split(side: &ServerSide) -> Option<Table> {
    let split = side.processor_shares();
    let percent = |share: Option<f64>| Cell::from(share.map(|share| 100.0 * share));
    let rows = split.iter().map(|(host, [work, bytes])| vec![Cell::from(&host.name), percent(*work), percent(*bytes)]);
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Share of each machine in the total, in per cent".into(),
        headings: headings(["machine", "busy CPUs", "bytes in and out"]),
        rows,
    })
}

/// CPU time per response of each label.
fn demands(host: &Host) -> Option<Table> {
    let demands = host.demands.as_ref()?;
    let rows = demands.labels.iter().map(|of| {
        let [work, low, high] = [of.demand_ms, of.demand_low_ms, of.demand_high_ms].map(Cell::from);
        let (share, rate) = (Cell::from(Some(100.0 * of.share)), Cell::from(Some(of.completed_rate_per_s)));
        vec![Cell::from(&of.label), work, low, high, share, rate]
    });
    Some(Table {
        caption: format!(
            "CPU time per response on {} ({}), from {} windows of {:.0} s; labels with less than a tenth of the work are not estimated",
            host.name,
            demands.counter.name(),
            demands.windows,
            demands.window_s
        ),
        headings: headings(["request", "CPU ms", "low", "high (95 %)", "% of the work", "responses/s"]),
        rows: rows.collect(),
    })
}

/// Mean, minimum and maximum of the scraped metrics.
fn scraped(side: &ServerSide) -> Option<Table> {
    let row = |(host, measure): (&Host, &Measure)| {
        let all = || measure.over_time.iter().flatten().copied();
        let extremes = [all().reduce(f64::min), all().reduce(f64::max)];
        let values = [measure.mean, extremes[0], extremes[1]].map(Cell::from);
        [Cell::from(&host.name), Cell::from(&measure.text())].into_iter().chain(values).collect::<Vec<_>>()
    };
    let all = side.hosts.iter().flat_map(|host| host.series().map(move |measure| (host, measure)));
    let rows: Vec<_> = all.map(row).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Scraped metrics: mean over the analysed time, and smallest and largest window".into(),
        headings: headings(["scraped from", "metric", "mean", "min", "max"]),
        rows,
    })
}

/// The scraped metrics of a host over time, a chart per metric name.
fn scraped_over_time(host: &Host) -> Vec<Chart> {
    fn name(measure: &Measure) -> &str {
        measure.instance.split('{').next().unwrap_or_default()
    }
    let all: Vec<&Measure> = host.series().collect();
    let charts = all.chunk_by(|one, other| name(one) == name(other)).filter_map(|of_name| {
        let rises = of_name[0].resource == Resource::SeriesRate;
        let series = of_name.iter().enumerate().map(|(n, measure)| {
            let labels = measure.instance.strip_prefix(name(measure)).unwrap_or_default();
            let labels = if labels.is_empty() { measure.instance.as_str() } else { labels };
            Series::new(labels, Style::Nth(n), line_over_time(host, measure, 1.0))
        });
        let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        over_time_chart(
            &format!("scraped-{}-{}", plain(&host.name), plain(name(of_name[0]))),
            &format!("{}: {}", host.name, name(of_name[0])),
            if rises { "Rate of increase per second." } else { "Value at each scrape." },
            if rises { "per second" } else { "" },
            series.collect(),
        )
    });
    charts.collect()
}

/// Usage of each machine by the total completed rate, a point per window.
fn usage_by_throughput(side: &ServerSide) -> impl Iterator<Item = Chart> {
    let machines: Vec<&Host> = side.machines().collect();
    let several = machines.len() > 1;
    let chart = |id: &str, title: &str, caption: &str, unit: &str, value: &dyn Fn(&Host, usize) -> Option<f64>| {
        let series = machines.iter().enumerate().map(|(n, host)| {
            let windows = host.completed_rate_per_s.iter().enumerate();
            let points =
                windows.filter(|(_, rate)| **rate > 0.0).filter_map(|(at, rate)| Some([*rate, value(host, at)?]));
            Series::new(&host.name, Style::Nth(n), Shape::Points(points.collect()))
        });
        Chart {
            id: id.to_owned(),
            title: title.to_owned(),
            caption: caption.to_owned(),
            x: Axis::linear("completed requests/s, all machines"),
            y: Axis::linear(unit),
            series: series.collect(),
        }
        .non_empty()
    };
    let at = |measure: Option<&Measure>, window: usize| *measure?.over_time.get(window)?;
    let charts = several.then(|| {
        [
            chart(
                "balance-processors",
                "CPU utilisation of each machine by completed rate",
                "CPU utilisation. With even load balancing, all machines lie on one line. A machine on a steeper line gets more work or is slower.",
                "share of time",
                &|host, window| at(host.measure(Resource::Processors), window),
            ),
            chart(
                "balance-network",
                "Network traffic of each machine by completed rate",
                "Bytes received and sent, without loopback.",
                "MB/s",
                &|host, window| {
                    let kinds = [Resource::NetworkIn, Resource::NetworkOut];
                    let all = host.measures.iter().filter(|m| kinds.contains(&m.resource) && m.instance != "lo");
                    all.filter_map(|measure| at(Some(measure), window)).reduce(|a, b| a + b).map(|bytes| bytes / 1e6)
                },
            ),
        ]
    });
    charts.into_iter().flatten().flatten()
}

/// Sent and completed rate, on the same time axis as the machines.
fn load(over_time: &OverTime) -> Option<Chart> {
    let edges = &over_time.edges_s;
    let rate = |counts: &[u64]| {
        let cells = counts.iter().zip(edges.windows(2));
        Shape::Line(cells.map(|(n, ends)| [f64::midpoint(ends[0], ends[1]), *n as f64 / (ends[1] - ends[0])]).collect())
    };
    over_time_chart(
        "load",
        "Sent and completed rate",
        "The load, on the same time axis as the charts of the machines below.",
        "requests/s",
        vec![
            Series::new("sent", Style::Measured, rate(&over_time.sent)),
            Series::new("completed", Style::Second, rate(&over_time.completed)),
        ],
    )
}

/// The measurements, a chart per kind with all machines.
fn charts(side: &ServerSide) -> impl Iterator<Item = Chart> {
    let alone = side.hosts.len() == 1;
    let series = |kinds: &[Resource], per: f64| {
        let all = side.hosts.iter().flat_map(|host| host.measures.iter().map(move |measure| (host, measure)));
        let all = all.filter(|(_, measure)| kinds.contains(&measure.resource));
        all.enumerate()
            .map(|(n, (host, measure))| {
                let words = measure.text();
                let name = if alone { words } else { format!("{}: {words}", host.name) };
                Series::new(name, Style::Nth(n), line_over_time(host, measure, per))
            })
            .collect::<Vec<_>>()
    };
    [
        over_time_chart(
            "utilisation",
            "Utilisation",
            "Share of time in which all CPUs, the busiest CPU, disks, and control groups within their limits were busy. At 1 the resource is saturated.",
            "share of time",
            series(&[Resource::Processors, Resource::Core, Resource::GroupLimit, Resource::ProcessLimit, Resource::Disk, Resource::Stolen], 1.0),
        ),
        over_time_chart(
            "at-work",
            "Busy CPUs",
            "Number of CPUs used by control groups and processes.",
            "CPUs",
            series(&[Resource::Group, Resource::Process], 1.0),
        ),
        over_time_chart(
            "run-queue",
            "Run queue",
            "Number of processes that were runnable or waited for a disk, at each sample. If it exceeds the number of CPUs, processes wait.",
            "processes",
            series(&[Resource::Running, Resource::Blocked], 1.0),
        ),
        over_time_chart(
            "network",
            "Network",
            "Bytes received and sent at each interface.",
            "MB/s",
            series(&[Resource::NetworkIn, Resource::NetworkOut], 1e-6),
        ),
        over_time_chart(
            "disks",
            "Disks",
            "Bytes read and written.",
            "MB/s",
            series(&[Resource::DiskRead, Resource::DiskWritten], 1e-6),
        ),
        over_time_chart(
            "pressure",
            "Pressure",
            "Share of time in which a process waited for CPU, memory or disk (Linux pressure stall information). It rises before a utilisation reaches 1.",
            "share of time",
            series(&[Resource::Pressure], 1.0),
        ),
    ]
    .into_iter()
    .flatten()
}

fn over_time_chart(id: &str, title: &str, caption: &str, unit: &str, series: Vec<Series>) -> Option<Chart> {
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.to_owned(),
        x: Axis::linear(TIME),
        y: Axis::linear(unit),
        series,
    }
    .non_empty()
}

/// A measurement at the middle of each window.
fn line_over_time(host: &Host, measure: &Measure, per: f64) -> Shape {
    let windows = measure.over_time.iter().zip(host.window_edges_s.windows(2));
    Shape::Line(windows.filter_map(|(value, ends)| Some([f64::midpoint(ends[0], ends[1]), (*value)? * per])).collect())
}

/// Busy CPUs by completed rate, with the utilisation law.
fn utilisation_law(host: &Host, law: &UtilisationLaw) -> Option<Chart> {
    let most = law.windows.iter().map(|point| point[0]).fold(0.0, f64::max);
    let line = law.regression.map(|line| {
        let ends = [0.0, most].map(|x| [x, line.idle_processors + line.demand_ms / 1e3 * x]);
        Series::new("linear fit", Style::Theory, Shape::Line(ends.to_vec()))
    });
    let windows = Series::new("windows", Style::Measured, Shape::Points(law.windows.clone()));
    (law.windows.len() > 2).then(|| Chart {
        id: format!("utilisation-law-{}", host.name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()),
        title: format!("Utilisation law at {}", host.name),
        caption: format!(
            "Busy CPUs ({}) by completed rate, one point per window of {} s. The slope is the CPU time per response; the intercept is the usage without load.",
            law.counter.name(),
            number(law.window_s)
        ),
        x: Axis::linear("completed requests/s"),
        y: Axis::linear("busy CPUs"),
        series: line.into_iter().chain([windows]).collect(),
    })
}
