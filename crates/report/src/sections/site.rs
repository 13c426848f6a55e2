//! A web site, from its access logs: sessions and recommended system model.

use offered_logs::document::LogAnalysis as Site;

use crate::chart::{Axis, Chart, Series, Shape, Style};
use crate::document::{Block, Cell, Section, Table, headings};

/// The section of the `number`-th site.
pub(crate) fn section(site: &Site, number: usize) -> Section {
    let mut blocks = vec![Block::Paragraph(recommendation(site))];
    blocks.extend(site.recommendation.reasons.iter().map(|reason| Block::Paragraph(reason.clone())));
    blocks.extend(site.warnings.iter().map(|doubt| Block::Paragraph(format!("Warning: {doubt}"))));
    blocks.push(Block::Table(figures(site)));
    blocks.extend(charts(site).into_iter().filter_map(Chart::non_empty).map(Block::Chart));
    Section {
        id: format!("site-{number}"),
        level: 2,
        title: format!("The site from {} to {}", site.figures.first_time, site.figures.last_time),
        intro: "A session is the requests of one client without a gap longer than the timeout. Web sites are partly-open: users arrive, send some requests and leave. A simpler model is recommended only if the comparison found the same response times for it.",
        book_page: Some("reference/logs.md"),
        folded: false,
        blocks,
    }
}

/// The recommended system model, as a sentence.
pub(crate) fn recommendation(site: &Site) -> String {
    format!("Recommended system model: {}.", site.recommendation.model.name())
}

fn figures(site: &Site) -> Table {
    let row = |name: &str, value: Cell| vec![Cell::from(name), value];
    let think = site.figures.think_time.as_ref();
    Table {
        caption: "Figures of the log".into(),
        headings: headings(["", "value"]),
        rows: vec![
            row("requests", site.figures.requests.into()),
            row("unreadable lines", site.figures.unreadable_lines.into()),
            row("clients", site.figures.clients.into()),
            row("timeout (s)", site.figures.timeout_s.into()),
            row("sessions", site.figures.sessions.into()),
            row("session starts/s", site.figures.session_starts.rate_per_s.into()),
            row("CoV of the gaps between them", site.figures.session_starts.cov.into()),
            row("requests per session", site.figures.requests_per_session.mean.into()),
            row("median", site.figures.requests_per_session.p50.into()),
            row("p90", site.figures.requests_per_session.p90.into()),
            row("max", site.figures.requests_per_session.max.into()),
            row("stay probability p", site.figures.stay_probability.into()),
            row("think time, mean (s)", think.map(|think| think.mean_s).into()),
            row("think time, CoV", think.map(|think| think.cov).into()),
            row("think time, distribution", think.and_then(|think| think.distribution.as_ref()).into()),
            row("sessions in progress, mean", site.figures.concurrency.mean.into()),
            row("sessions in progress, max", site.figures.concurrency.peak.into()),
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
    let chart = |id: &str, title: &str, caption: &str, x: &str, y: &str, series| Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.to_owned(),
        x: Axis::log(x),
        y: Axis::linear(y),
        series,
    };
    [
        chart(
            "sessions-by-timeout",
            "Sessions by timeout",
            "A short timeout splits visits, and a long one joins them. If the curve is flat near the timeout, the timeout has little effect.",
            "timeout (s)",
            "sessions",
            vec![Series::new("sessions", Style::Measured, over(|point| point.sessions as f64))],
        ),
        chart(
            "length-by-timeout",
            "Requests per session by timeout",
            "Mean number of requests per session, and how it depends on the timeout.",
            "timeout (s)",
            "requests per session",
            vec![Series::new("requests per session", Style::Measured, over(|point| point.requests_per_session))],
        ),
        chart(
            "starts",
            "Dispersion of session starts",
            "The dispersion is near 1 for independent users. It rises at long windows, because the rate depends on the time of day.",
            "window (s)",
            "variance / mean",
            vec![
                Series::new("measured", Style::Measured, Shape::Line(idc)),
                Series::new("Poisson", Style::Theory, Shape::Line(poisson.unwrap_or_default())),
            ],
        ),
    ]
}
