//! Draws a description and its tables as a chart and a section of the page.

use std::path::Path;

use offered_report::chart::{self, Chart, Shape, Style};
use offered_report::document::{Block, Cell, Section, Table as Rows};

use crate::Error;
use crate::description::{Axis, Description, Line, Scale, Series};
use crate::table::{Point, Table};

/// Number of pieces of a line, so that it is correct on a logarithmic axis.
const PIECES: usize = 256;

/// The figure `name`, described in `path`, from tables in `folder`.
pub(crate) fn chart_and_section(
    description: &Description,
    name: &str,
    path: &Path,
    folder: &Path,
) -> Result<(Chart, Section), Error> {
    let mut all = Vec::new();
    for series in &description.series {
        let mut points = match &series.file {
            Some(file) => Table::read(&folder.join(file))?.points(series)?,
            None => Vec::new(),
        };
        for point in &mut points {
            point.x *= description.x.times;
            point.y *= description.y.times;
            point.ends = point.ends.map(|(low, high)| (low * description.y.times, high * description.y.times));
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        all.push((series, points));
    }
    let mut chart = Chart {
        id: "figure".into(),
        title: description.title.clone(),
        caption: description.reading.clone(),
        x: description.x.drawn(),
        y: description.y.drawn(),
        series: all.iter().enumerate().flat_map(|(i, (series, points))| shapes(i, series, points)).collect(),
    };
    let (x, y) = (chart.x_range(), chart.y_range());
    if !(x.0 <= x.1 && y.0 <= y.1) {
        let why = "no point can be shown: a logarithmic axis needs positive numbers".into();
        return Err(Error::Description { path: path.to_owned(), why });
    }
    let shown = (y.0.min(0.0), y.1);
    let lines = description.line.iter().zip(all.len()..);
    chart.series.extend(lines.map(|(line, i)| {
        let points = line
            .points_at(x, description.x.scale)
            .filter(|point| line.slope.is_none() || (shown.0..=shown.1).contains(&point[1]));
        chart::Series::new(&line.name, Style::Nth(i), Shape::Line(points.collect()))
    }));
    let mut blocks = Vec::new();
    blocks.extend(description.claim.iter().map(|claim| Block::Paragraph(format!("The paper: {claim}"))));
    blocks.extend(description.found.iter().map(|found| Block::Paragraph(format!("Here: {found}"))));
    blocks.push(Block::Chart(chart.clone()));
    blocks.push(Block::Table(rows(description, &all)));
    let section = Section {
        id: name.to_owned(),
        level: 2,
        title: description.title.clone(),
        intro: "",
        book_page: None,
        folded: false,
        blocks,
    };
    Ok((chart, section))
}

impl Axis {
    fn drawn(&self) -> chart::Axis {
        match self.scale {
            Scale::Linear => chart::Axis::linear(&self.title()),
            Scale::Log => chart::Axis::log(&self.title()),
        }
    }
}

/// The `i`-th series: its points, and the published ones.
fn shapes(i: usize, series: &Series, points: &[Point]) -> impl Iterator<Item = chart::Series> {
    let bare = || points.iter().map(|point| [point.x, point.y]).collect();
    let ended = || points.iter().map(ended).collect();
    let shape = match (series.low.is_some(), series.joined) {
        (true, true) => Shape::LineWithIntervals(ended()),
        (true, false) => Shape::Intervals(ended()),
        (false, true) => Shape::Line(bare()),
        (false, false) => Shape::Points(bare()),
    };
    let measured = chart::Series::new(&series.name, Style::Nth(i), shape);
    let printed = chart::Series::new(
        format!("{}, published", series.name),
        Style::Published(i),
        Shape::Points(series.printed.clone()),
    );
    [measured, printed].into_iter().filter(|series| !series.shape.is_empty())
}

/// A point with its interval; an unknown interval has zero width.
fn ended(point: &Point) -> [f64; 4] {
    let (low, high) = point.ends.unwrap_or((point.y, point.y));
    [point.x, point.y, low, high]
}

impl Line {
    /// Points of the line, over its own range or the range of the figure.
    fn points_at(&self, (from, to): (f64, f64), scale: Scale) -> impl Iterator<Item = [f64; 2]> {
        let through = match self.slope {
            Some(slope) => {
                let from = if scale == Scale::Log { from } else { from.min(0.0) };
                [from, to].map(|x| [x, self.intercept + slope * x]).to_vec()
            }
            None => self.points.clone(),
        };
        let between = move |[[x, y], [to_x, to_y]]: [[f64; 2]; 2], i: usize| {
            let share = i as f64 / PIECES as f64;
            let at = if scale == Scale::Log && x > 0.0 { x * (to_x / x).powf(share) } else { x + (to_x - x) * share };
            [at, if to_x == x { y + (to_y - y) * share } else { y + (to_y - y) * (at - x) / (to_x - x) }]
        };
        let pieces: Vec<[[f64; 2]; 2]> = through.windows(2).map(|ends| [ends[0], ends[1]]).collect();
        pieces.into_iter().flat_map(move |ends| (0..=PIECES).map(move |i| between(ends, i)))
    }
}

/// A row per point, with measured and published values side by side at the same x.
fn rows(description: &Description, all: &[(&Series, Vec<Point>)]) -> Rows {
    let mut rows = Vec::new();
    for (series, points) in all {
        let name = Cell::from(&series.name);
        let printed = |x: f64| series.printed.iter().find(|printed| near(printed[0], x)).map(|printed| printed[1]);
        for point in points {
            let ends = point.ends.map_or(Cell::Empty, |(low, high)| Cell::Interval(low, high));
            let theirs = printed(point.x);
            let ratio = theirs.map(|theirs| point.y / theirs);
            rows.push(vec![name.clone(), point.x.into(), point.y.into(), ends, theirs.into(), ratio.into()]);
        }
        let alone = series.printed.iter().filter(|printed| !points.iter().any(|point| near(point.x, printed[0])));
        rows.extend(
            alone.map(|[x, y]| vec![name.clone(), (*x).into(), Cell::Empty, Cell::Empty, (*y).into(), Cell::Empty]),
        );
    }
    let mut headings = vec!["series", "x", "y", "95 %", "y published", "y / published"];
    if all.iter().all(|(series, _)| series.printed.is_empty()) {
        headings.truncate(4);
        for row in &mut rows {
            row.truncate(4);
        }
    }
    Rows { caption: format!("x is {}, y is {}", description.x.title(), description.y.title()), headings, rows }
}

/// Whether two numbers are equal up to rounding.
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}
