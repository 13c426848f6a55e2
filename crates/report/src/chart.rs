//! A chart: data and texts, independent of how it is drawn.
//!
//! Pure functions make charts from aggregates. Writers are [`crate::figure`] for the page, [`crate::svg`] for files and
//! [`crate::csv`] for spreadsheets. A chart has a bounded number of points, never one per request.

/// A chart of some series on two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Identifier in file names and links: lower case and hyphens.
    pub id: String,
    /// The title.
    pub title: String,
    /// Help for reading the chart, in about two sentences.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series, the first at the bottom.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The title, with the unit.
    pub title: String,
    /// The scale.
    pub scale: Scale,
}

impl Axis {
    /// A linear axis that includes zero.
    pub fn linear(title: &str) -> Self {
        Self { title: title.to_owned(), scale: Scale::Linear }
    }

    /// A logarithmic axis instead of a linear one if the values, from `low` to `high`, differ by a factor of ten or more.
    #[must_use]
    pub fn auto_scale(self, (low, high): (f64, f64)) -> Self {
        let differ = self.scale == Scale::Linear && low > 0.0 && high.is_finite() && high >= 10.0 * low;
        if differ { Self { scale: Scale::Log, ..self } } else { self }
    }

    /// A logarithmic axis.
    pub fn log(title: &str) -> Self {
        Self { title: title.to_owned(), scale: Scale::Log }
    }

    /// An axis of names, at 0, 1, 2, ...
    pub fn names(title: &str, names: Vec<String>) -> Self {
        Self { title: title.to_owned(), scale: Scale::Names(names) }
    }

    /// A percentile axis of fractions p in [0, 1), drawn at -log10(1 - p).
    pub fn nines(title: &str) -> Self {
        Self { title: title.to_owned(), scale: Scale::Nines }
    }
}

/// The scale of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic; values of zero or less are not drawn.
    Log,
    /// Fractions p drawn at -log10(1 - p), which shows the tail: 0.9, 0.99 and 0.999 are equally spaced.
    Nines,
    /// Names at the whole numbers from 0.
    Names(Vec<String>),
}

/// The position of the fraction `p` on a percentile axis.
pub fn nines(p: f64) -> f64 {
    -(1.0 - p).log10()
}

/// The ticks of a percentile axis: fraction and label.
pub const NINES: [(f64, &str); 7] = [
    (0.0, "0 %"),
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
    (0.99999, "99.999 %"),
];

/// A series of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend, possibly external: writers escape it.
    pub name: String,
    /// Colour, dash and symbol.
    pub style: Style,
    /// The data.
    pub shape: Shape,
}

impl Series {
    /// A series.
    pub fn new(name: impl Into<String>, style: Style, shape: Shape) -> Self {
        Self { name: name.into(), style, shape }
    }
}

/// Style of a series: colour and dash together, so that it can be read without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Measured values.
    Measured,
    /// A second measured quantity.
    Second,
    /// Scheduled values.
    Scheduled,
    /// Theoretical values.
    Theory,
    /// Failures.
    Failed,
    /// The series with this number, one of several similar series.
    Nth(usize),
    /// Published values of the series with this number: open circles.
    Published(usize),
}

/// The data of a series. Coordinates are in the units of the axes, before any logarithm.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Points joined by straight lines: x, y.
    Line(Vec<[f64; 2]>),
    /// A step function: x, y.
    Steps(Vec<[f64; 2]>),
    /// Points: x, y.
    Points(Vec<[f64; 2]>),
    /// Bars centred at x: x, y.
    Bars(Vec<[f64; 2]>),
    /// A band: x, low, high.
    Band(Vec<[f64; 3]>),
    /// Points with their intervals: x, y, low, high.
    Intervals(Vec<[f64; 4]>),
    /// Points with intervals, joined by lines: x, y, low, high.
    LineWithIntervals(Vec<[f64; 4]>),
    /// A heat map.
    Heat(Heat),
}

impl Shape {
    /// Whether there are no data.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Line(all) | Self::Steps(all) | Self::Points(all) | Self::Bars(all) => all.is_empty(),
            Self::Band(all) => all.is_empty(),
            Self::Intervals(all) | Self::LineWithIntervals(all) => all.is_empty(),
            Self::Heat(heat) => heat.cells.is_empty(),
        }
    }
}

/// A heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Title of the values, with the unit.
    pub title: String,
    /// Column edges: one more than columns.
    pub x: Vec<f64>,
    /// Row edges, in ascending order.
    pub y: Vec<f64>,
    /// Values by row and column; zero is not drawn.
    pub cells: Vec<Vec<f64>>,
}

impl Shape {
    /// The x values of all points.
    pub fn xs(&self) -> Vec<f64> {
        match self {
            Self::Line(all) | Self::Steps(all) | Self::Points(all) | Self::Bars(all) => {
                all.iter().map(|p| p[0]).collect()
            }
            Self::Band(all) => all.iter().map(|p| p[0]).collect(),
            Self::Intervals(all) | Self::LineWithIntervals(all) => all.iter().map(|p| p[0]).collect(),
            Self::Heat(heat) => heat.x.clone(),
        }
    }

    /// All y values, with the ends of intervals.
    pub fn ys(&self) -> Vec<f64> {
        match self {
            Self::Line(all) | Self::Steps(all) | Self::Points(all) | Self::Bars(all) => {
                all.iter().map(|p| p[1]).collect()
            }
            Self::Band(all) => all.iter().flat_map(|p| [p[1], p[2]]).collect(),
            Self::Intervals(all) | Self::LineWithIntervals(all) => {
                all.iter().flat_map(|p| [p[1], p[2], p[3]]).collect()
            }
            Self::Heat(heat) => heat.y.clone(),
        }
    }
}

/// The smallest and the largest value that the axis can show.
fn range(axis: &Axis, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let shown = |value: &f64| value.is_finite() && (axis.scale != Scale::Log || *value > 0.0);
    values.filter(shown).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
}

impl Chart {
    /// The range of x values.
    pub fn x_range(&self) -> (f64, f64) {
        range(&self.x, self.series.iter().flat_map(|series| series.shape.xs()))
    }

    /// The range of y values.
    pub fn y_range(&self) -> (f64, f64) {
        range(&self.y, self.series.iter().flat_map(|series| series.shape.ys()))
    }

    /// The chart with a logarithmic vertical axis if its values differ by a factor of ten or more.
    #[must_use]
    pub fn auto_scale(self) -> Self {
        let ends = self.y_range();
        Self { y: self.y.auto_scale(ends), ..self }
    }

    /// The chart; `None` if it has no data.
    pub fn non_empty(self) -> Option<Self> {
        self.series.iter().any(|series| !series.shape.is_empty()).then_some(self)
    }
}
