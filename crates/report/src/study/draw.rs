//! Draws a figure from its data.

use std::path::Path;

use super::description::{Axis, Drawing, Figure, Line, Scale, Series};
use super::error::Error;
use super::table::{Data, Point, near};
use crate::chart::{self, Chart, Shape, Style};
use crate::document::{Cell, Table, headings};

/// Number of pieces of a line, so that it is correct on a logarithmic axis.
const PIECES: usize = 256;

/// The figure, described in `path`, from the data that are in `folder`, and its points as a table. `None` without a series.
pub(super) fn chart_and_rows(
    description: &Figure,
    path: &Path,
    folder: &Path,
) -> Result<Option<(Chart, Table)>, Error> {
    let (mut all, mut names) = (Vec::new(), Vec::new());
    for series in &description.series {
        let lines = match series.file.as_ref().map(|file| folder.join(file)) {
            Some(file) if !file.exists() => continue,
            Some(file) => {
                let names = (description.x.scale == Scale::Names).then_some(&mut names);
                let Some(lines) = description.available(Data::read(&file)?.lines(series, names))? else { continue };
                lines
            }
            None => vec![(series.name.clone(), Vec::new())],
        };
        for (name, mut points) in lines {
            for point in &mut points {
                point.x *= description.x.times;
                point.y *= description.y.times;
                point.ends = point.ends.map(|(low, high)| (low * description.y.times, high * description.y.times));
            }
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            all.push(Drawn { name, series, points });
        }
    }
    if all.is_empty() {
        return Ok(None);
    }
    let mut chart = Chart {
        id: "figure".into(),
        title: description.title.clone(),
        caption: description.reading.clone(),
        x: description.x.drawn(&names),
        y: description.y.drawn(&[]),
        series: all.iter().enumerate().flat_map(|(i, one)| one.shapes(i)).collect(),
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
    Ok(Some((chart, rows(description, &all, &names))))
}

/// A series with its points.
struct Drawn<'a> {
    name: String,
    series: &'a Series,
    points: Vec<Point>,
}

impl Axis {
    fn drawn(&self, names: &[String]) -> chart::Axis {
        match self.scale {
            Scale::Linear => chart::Axis::linear(&self.title()),
            Scale::Log => chart::Axis::log(&self.title()),
            Scale::Names => chart::Axis::names(&self.title(), names.to_vec()),
        }
    }
}

impl Drawn<'_> {
    /// The points, and the published ones, as the `i`-th series.
    fn shapes(&self, i: usize) -> impl Iterator<Item = chart::Series> {
        let Self { name, series, points } = self;
        let bare = || points.iter().map(|point| [point.x, point.y]).collect();
        let ended = || points.iter().map(ended).collect();
        let shape = match series.drawn {
            Drawing::Line if series.low.is_some() => Shape::LineWithIntervals(ended()),
            Drawing::Line => Shape::Line(bare()),
            Drawing::Points if series.low.is_some() => Shape::Intervals(ended()),
            Drawing::Points => Shape::Points(bare()),
            Drawing::Bars => Shape::Bars(bare()),
            Drawing::Steps => Shape::Steps(bare()),
        };
        let measured = chart::Series::new(name, Style::Nth(i), shape);
        let printed = chart::Series::new(
            format!("{name}, published"),
            Style::Published(i),
            Shape::Points(series.printed.clone()),
        );
        [measured, printed].into_iter().filter(|series| !series.shape.is_empty())
    }
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
fn rows(description: &Figure, all: &[Drawn], names: &[String]) -> Table {
    let mut rows = Vec::new();
    let x_cell = |x: f64| names.get(x as usize).map_or_else(|| Cell::from(x), Cell::from);
    for Drawn { name, series, points } in all {
        let name = Cell::from(name);
        let printed = |x: f64| series.printed.iter().find(|printed| near(printed[0], x)).map(|printed| printed[1]);
        for point in points {
            let ends = point.ends.map_or(Cell::Empty, |(low, high)| Cell::Interval(low, high));
            let theirs = printed(point.x);
            let ratio = theirs.map(|theirs| point.y / theirs);
            rows.push(vec![name.clone(), x_cell(point.x), point.y.into(), ends, theirs.into(), ratio.into()]);
        }
        let alone = series.printed.iter().filter(|printed| !points.iter().any(|point| near(point.x, printed[0])));
        rows.extend(
            alone.map(|[x, y]| vec![name.clone(), x_cell(*x), Cell::Empty, Cell::Empty, (*y).into(), Cell::Empty]),
        );
    }
    let mut heads = headings(["series", "x", "y", "95 %", "y published", "y / published"]);
    if all.iter().all(|one| one.series.printed.is_empty()) {
        heads.truncate(4);
        for row in &mut rows {
            row.truncate(4);
        }
    }
    let caption = format!("x is {}, y is {}", description.x.title(), description.y.title());
    Table { caption, headings: heads, rows }
}
