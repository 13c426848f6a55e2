//! A chart: data and words, before anybody has drawn anything.
//!
//! Charts are made by pure functions from aggregates and handed to a writer: [`crate::figure`] for the page, [`crate::csv`] for
//! spreadsheets. A chart's points are as many as a person can see, never one per launch.

/// A picture of some series on two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its name in file names and links: lower case and hyphens.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How to read it, in two sentences or so.
    pub reading: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, the first at the bottom.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it measures, with the unit.
    pub title: String,
    /// How values lie on it.
    pub scale: Scale,
}

impl Axis {
    /// From zero or below, in equal steps.
    pub fn linear(title: &str) -> Self {
        Self { title: title.to_owned(), scale: Scale::Linear }
    }

    /// In equal factors where it would be in equal steps and its values, from `low` to `high`, differ tenfold: so that the small ones
    /// can be read too.
    #[must_use]
    pub fn tenfold(self, (low, high): (f64, f64)) -> Self {
        let differ = self.scale == Scale::Linear && low > 0.0 && high.is_finite() && high >= 10.0 * low;
        if differ { Self { scale: Scale::Log, ..self } } else { self }
    }

    /// In equal factors.
    pub fn log(title: &str) -> Self {
        Self { title: title.to_owned(), scale: Scale::Log }
    }

    /// Of names, the first at 0, the next at 1.
    pub fn names(title: &str, names: Vec<String>) -> Self {
        Self { title: title.to_owned(), scale: Scale::Names(names) }
    }

    /// Of fractions p in [0, 1), each nine as wide as the one before.
    pub fn nines(title: &str) -> Self {
        Self { title: title.to_owned(), scale: Scale::Nines }
    }
}

/// How values lie on an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// In equal steps.
    Linear,
    /// In equal factors; what is not above zero is not drawn.
    Log,
    /// Fractions p drawn at -log10(1 - p): 0.9, 0.99 and 0.999 are equally far apart, so the tail is seen.
    Nines,
    /// Names at the whole numbers from 0.
    Names(Vec<String>),
}

/// Where the fraction `p` lies on an axis of nines.
pub fn nines(p: f64) -> f64 {
    -(1.0 - p).log10()
}

/// The marks of an axis of nines: a fraction, and what is written there.
pub const NINES: [(f64, &str); 7] = [
    (0.0, "0 %"),
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
    (0.99999, "99.999 %"),
];

/// One of the things a chart shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend. May come from outside: writers escape it.
    pub name: String,
    /// What it is told apart by.
    pub ink: Ink,
    /// Its data.
    pub shape: Shape,
}

impl Series {
    /// Under this name.
    pub fn new(name: impl Into<String>, ink: Ink, shape: Shape) -> Self {
        Self { name: name.into(), ink, shape }
    }
}

/// What a series is told apart by: colour and dash together, so that neither is needed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// What was measured.
    Measured,
    /// A second measure beside it.
    Second,
    /// What was meant.
    Meant,
    /// What theory says.
    Theory,
    /// What failed.
    Failed,
    /// One of several alike, by its number.
    Nth(usize),
    /// What somebody else published of the one with this number: rings around its points.
    Printed(usize),
}

/// The data of a series. Coordinates are in the units of the axes, before any logarithm.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Points joined by straight lines: x, y.
    Line(Vec<[f64; 2]>),
    /// Values that hold from their x until the next: x, y.
    Steps(Vec<[f64; 2]>),
    /// Points by themselves: x, y.
    Points(Vec<[f64; 2]>),
    /// Bars around their x: x, y.
    Bars(Vec<[f64; 2]>),
    /// The space between two lines: x, low, high.
    Band(Vec<[f64; 3]>),
    /// Points with their intervals: x, y, low, high.
    Intervals(Vec<[f64; 4]>),
    /// The same, joined by straight lines.
    Course(Vec<[f64; 4]>),
    /// Cells of a grid.
    Heat(Heat),
}

impl Shape {
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Line(all) | Self::Steps(all) | Self::Points(all) | Self::Bars(all) => all.is_empty(),
            Self::Band(all) => all.is_empty(),
            Self::Intervals(all) | Self::Course(all) => all.is_empty(),
            Self::Heat(heat) => heat.cells.is_empty(),
        }
    }
}

/// Cells of a grid, each with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// What a cell's value is, with the unit.
    pub title: String,
    /// The edges of the columns, one more than there are columns.
    pub x: Vec<f64>,
    /// The edges of the rows, from below.
    pub y: Vec<f64>,
    /// Row by row from below, each from the left; zero is not drawn.
    pub cells: Vec<Vec<f64>>,
}

impl Shape {
    /// Every x it has.
    pub fn xs(&self) -> Vec<f64> {
        match self {
            Self::Line(all) | Self::Steps(all) | Self::Points(all) | Self::Bars(all) => {
                all.iter().map(|p| p[0]).collect()
            }
            Self::Band(all) => all.iter().map(|p| p[0]).collect(),
            Self::Intervals(all) | Self::Course(all) => all.iter().map(|p| p[0]).collect(),
            Self::Heat(heat) => heat.x.clone(),
        }
    }

    /// Every y it has, the ends of intervals among them.
    pub fn ys(&self) -> Vec<f64> {
        match self {
            Self::Line(all) | Self::Steps(all) | Self::Points(all) | Self::Bars(all) => {
                all.iter().map(|p| p[1]).collect()
            }
            Self::Band(all) => all.iter().flat_map(|p| [p[1], p[2]]).collect(),
            Self::Intervals(all) | Self::Course(all) => all.iter().flat_map(|p| [p[1], p[2], p[3]]).collect(),
            Self::Heat(heat) => heat.y.clone(),
        }
    }
}

/// The smallest and the largest that an axis can show.
fn range(axis: &Axis, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let shown = |value: &f64| value.is_finite() && (axis.scale != Scale::Log || *value > 0.0);
    values.filter(shown).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
}

impl Chart {
    /// From where to where the data lie across.
    pub fn x_range(&self) -> (f64, f64) {
        range(&self.x, self.series.iter().flat_map(|series| series.shape.xs()))
    }

    /// And upwards.
    pub fn y_range(&self) -> (f64, f64) {
        range(&self.y, self.series.iter().flat_map(|series| series.shape.ys()))
    }

    /// With a logarithmic vertical axis where its values differ tenfold.
    #[must_use]
    pub fn tenfold(self) -> Self {
        let ends = self.y_range();
        Self { y: self.y.tenfold(ends), ..self }
    }

    /// The chart, unless it has nothing to show.
    pub fn some(self) -> Option<Self> {
        self.series.iter().any(|series| !series.shape.is_empty()).then_some(self)
    }
}
