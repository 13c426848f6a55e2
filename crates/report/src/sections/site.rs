//! A site by its access logs: how long sessions are, how they start, and which system model that is.

use offered_logs::document::Document as Site;

use crate::chart::{Axis, Chart, Ink, Series, Shape};
use crate::document::{Block, Cell, Section, Table};

/// The section of the `number`-th site.
pub(super) fn section(site: &Site, number: usize) -> Section {
    let recommendation = &site.recommendation;
    let mut blocks = vec![Block::Words(format!("The system model to use: {}.", recommendation.model.name()))];
    blocks.extend(recommendation.because.iter().map(|why| Block::Words(why.clone())));
    blocks.extend(site.warnings.iter().map(|doubt| Block::Words(format!("Doubt: {doubt}"))));
    blocks.push(Block::Table(figures(site)));
    blocks.extend(charts(site).into_iter().filter_map(Chart::some).map(Block::Chart));
    Section {
        id: format!("site-{number}"),
        level: 2,
        title: format!("The site from {} to {}", site.figures.first, site.figures.last),
        reading: "A session is what one client asks for without a silence longer than the timeout. Every site is partly-open: people \
                  come, ask some times and leave. A simpler model is recommended only where it was found to answer alike.",
        page: Some("reference/logs.md"),
        blocks,
    }
}

fn figures(site: &Site) -> Table {
    let row = |name: &str, value: Cell| vec![Cell::from(name), value];
    let think = site.figures.think_s.as_ref();
    Table {
        caption: "What the log says".into(),
        heads: vec!["", "value"],
        rows: vec![
            row("requests", site.figures.lines.into()),
            row("unreadable lines", site.figures.unreadable.into()),
            row("clients", site.figures.clients.into()),
            row("timeout (s)", site.figures.timeout_s.into()),
            row("sessions", site.figures.sessions.into()),
            row("session starts per second", site.figures.session_starts.rate_per_s.into()),
            row("CoV of the gaps between them", site.figures.session_starts.cov.into()),
            row("requests per session", site.figures.requests_per_session.mean.into()),
            row("median", site.figures.requests_per_session.median.into()),
            row("90 % point", site.figures.requests_per_session.p90.into()),
            row("most", site.figures.requests_per_session.max.into()),
            row("stay probability p", site.figures.stay.into()),
            row("think time, mean (s)", think.map(|think| think.mean).into()),
            row("think time, CoV", think.map(|think| think.cov).into()),
            row("think time, law", think.and_then(|think| think.law.as_ref()).into()),
            row("sessions in progress, mean", site.figures.concurrency.mean.into()),
            row("sessions in progress, most", site.figures.concurrency.peak.into()),
            row("C2 of the work", site.figures.scv.into()),
        ],
    }
}

fn charts(site: &Site) -> [Chart; 3] {
    let over = |of: fn(&offered_logs::Point) -> f64| {
        Shape::Line(site.figures.sessions_by_timeout.iter().map(|point| [point.timeout_s as f64, of(point)]).collect())
    };
    let idc: Vec<[f64; 2]> =
        site.figures.session_starts.idc.iter().map(|rung| [rung.window_s as f64, rung.idc]).collect();
    let poisson = idc.first().zip(idc.last()).map(|(first, last)| vec![[first[0], 1.0], [last[0], 1.0]]);
    let chart = |id: &str, title: &str, reading: &str, x: &str, y: &str, series| Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        reading: reading.to_owned(),
        x: Axis::log(x),
        y: Axis::linear(y),
        series,
    };
    [
        chart(
            "sessions-by-timeout",
            "Sessions against the timeout",
            "A short timeout cuts visits to pieces, a long one glues them together. The choice matters little where the curve is flat.",
            "timeout (s)",
            "sessions",
            vec![Series::new("sessions", Ink::Measured, over(|point| point.sessions as f64))],
        ),
        chart(
            "length-by-timeout",
            "Requests per session against the timeout",
            "How many requests a visit has, and how much that hangs on the timeout.",
            "timeout (s)",
            "requests per session",
            vec![Series::new("requests per session", Ink::Measured, over(|point| point.requests_per_session))],
        ),
        chart(
            "starts",
            "Dispersion of session starts",
            "Near 1 while people arrive who do not know of each other; rising to the right with the hours of the day.",
            "window (s)",
            "variance / mean",
            vec![
                Series::new("measured", Ink::Measured, Shape::Line(idc)),
                Series::new("Poisson", Ink::Theory, Shape::Line(poisson.unwrap_or_default())),
            ],
        ),
    ]
}
