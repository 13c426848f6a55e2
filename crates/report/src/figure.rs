//! A chart as a figure of Plotly: data and layout as JSON, and the library that draws it.
//!
//! Colours of paper, ink and grid are left to the page, which knows whether it is dark.

use plotly::common::{
    ColorBar, ColorScale, ColorScalePalette, DashType, ErrorData, ErrorType, ExponentFormat, Fill, Line, LineShape,
    Marker, MarkerSymbol, Mode, Orientation, Title,
};
use plotly::layout::{Axis as PlotlyAxis, AxisType, Legend, Margin, RangeMode};
use plotly::{Bar, HeatMap, Layout, Plot, Scatter, Trace};

use crate::chart::{Axis, Chart, Heat, Ink, NINES, Scale, Series, Shape, nines};
use crate::document::short;

/// Colours that people who see fewer of them tell apart too (Okabe and Ito 2008), fit for light and dark paper.
const INKS: [&str; 7] = ["#3b8fd0", "#e69f00", "#10a37f", "#d55e00", "#cc79a7", "#8a8a8a", "#b0a030"];

impl Ink {
    /// The colour, as `#rrggbb`.
    pub fn colour(self) -> &'static str {
        match self {
            Self::Measured => INKS[0],
            Self::Second => INKS[2],
            Self::Meant => INKS[1],
            Self::Theory => INKS[4],
            Self::Failed => INKS[3],
            Self::Nth(n) => INKS[n % INKS.len()],
        }
    }

    fn dash(self) -> DashType {
        match self {
            Self::Measured | Self::Failed => DashType::Solid,
            Self::Second => DashType::DashDot,
            Self::Meant => DashType::Dash,
            Self::Theory => DashType::Dot,
            Self::Nth(n) => {
                [DashType::Solid, DashType::Dash, DashType::Dot, DashType::DashDot, DashType::LongDash][n % 5].clone()
            }
        }
    }

    fn symbol(self) -> MarkerSymbol {
        match self {
            Self::Measured => MarkerSymbol::Circle,
            Self::Second => MarkerSymbol::Square,
            Self::Meant => MarkerSymbol::Diamond,
            Self::Theory => MarkerSymbol::Cross,
            Self::Failed => MarkerSymbol::X,
            Self::Nth(n) => [
                MarkerSymbol::Circle,
                MarkerSymbol::Square,
                MarkerSymbol::Diamond,
                MarkerSymbol::Cross,
                MarkerSymbol::X,
            ][n % 5]
                .clone(),
        }
    }
}

/// The library that draws figures, a text without `</script>`.
pub fn library() -> String {
    // The crate hands out Plotly and, behind it, MathJax, which we do not need: nothing here is a formula.
    let sources = Plot::offline_js_sources();
    let (_, library) = sources.split_once('>').unwrap_or_default();
    library.split_once("</script>").map_or_else(String::new, |(library, _)| library.to_owned())
}

/// A chart as `{"data": [...], "layout": {...}}`.
pub fn figure(chart: &Chart) -> serde_json::Value {
    let mut plot = Plot::new();
    for series in &chart.series {
        plot.add_traces(traces(chart, series));
    }
    let legend =
        Legend::new().orientation(Orientation::Horizontal).x(0.0).y(1.02).y_anchor(plotly::common::Anchor::Bottom);
    let layout = Layout::new()
        .x_axis(axis(&chart.x, chart.x_range()))
        .y_axis(axis(&chart.y, chart.y_range()))
        .legend(legend)
        .show_legend(chart.series.len() > 1)
        .margin(Margin::new().left(64).right(16).top(28).bottom(48));
    serde_json::json!({ "data": plot.data(), "layout": layout })
}

/// A text that Plotly shows as it stands: it reads `<b>`, `<a href>` and entities.
fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn axis(axis: &Axis, range: (f64, f64)) -> PlotlyAxis {
    let drawn = PlotlyAxis::new().title(Title::with_text(plain(&axis.title))).auto_margin(true).zero_line(false);
    match &axis.scale {
        Scale::Linear => drawn.exponent_format(ExponentFormat::None).range_mode(RangeMode::ToZero),
        Scale::Log => {
            let ticks = log_ticks(range);
            let texts = ticks.iter().map(|tick| short(*tick)).collect();
            drawn.type_(AxisType::Log).tick_values(ticks).tick_text(texts)
        }
        Scale::Nines => drawn
            .tick_values(NINES.map(|(p, _)| nines(p)).to_vec())
            .tick_text(NINES.map(|(_, text)| text.to_owned()).to_vec()),
        Scale::Names(names) => drawn
            .tick_values((0..names.len()).map(|i| i as f64).collect())
            .tick_text(names.iter().map(|name| plain(&clipped(name))).collect())
            .range(vec![-0.5, names.len() as f64 - 0.5]),
    }
}

/// The marks of a logarithmic axis: powers of ten, and of a short one also 2 and 5 times those.
pub fn log_ticks((low, high): (f64, f64)) -> Vec<f64> {
    if !(low > 0.0 && high.is_finite()) {
        return Vec::new();
    }
    let steps: &[f64] = if high / low < 200.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    decades.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power))).collect()
}

/// The first of a long name.
pub(crate) fn clipped(name: &str) -> String {
    if name.chars().count() <= 28 { name.to_owned() } else { name.chars().take(27).chain(['…']).collect() }
}

/// Where a value of this axis is drawn.
fn at(axis: &Axis, value: f64) -> f64 {
    if axis.scale == Scale::Nines { nines(value) } else { value }
}

fn traces(chart: &Chart, series: &Series) -> Vec<Box<dyn Trace>> {
    let ink = series.ink;
    let name = plain(&series.name);
    let xs = |all: &[[f64; 2]]| all.iter().map(|point| at(&chart.x, point[0])).collect::<Vec<_>>();
    let ys = |all: &[[f64; 2]]| all.iter().map(|point| point[1]).collect::<Vec<_>>();
    let line = |shape| Line::new().color(ink.colour()).dash(ink.dash()).width(2.0).shape(shape);
    let marker = || Marker::new().color(ink.colour()).symbol(ink.symbol()).size(8);
    let joined = |all: &[[f64; 2]], shape| -> Vec<Box<dyn Trace>> {
        vec![Scatter::new(xs(all), ys(all)).name(&name).mode(Mode::Lines).line(line(shape))]
    };
    match &series.shape {
        // Of a curve through few points the points are what is known.
        Shape::Line(all) if all.len() <= 40 && ink != Ink::Theory => {
            vec![
                Scatter::new(xs(all), ys(all))
                    .name(&name)
                    .mode(Mode::LinesMarkers)
                    .line(line(LineShape::Linear))
                    .marker(marker()),
            ]
        }
        Shape::Line(all) => joined(all, LineShape::Linear),
        Shape::Steps(all) => joined(all, LineShape::Hv),
        Shape::Points(all) => {
            vec![Scatter::new(xs(all), ys(all)).name(&name).mode(Mode::Markers).marker(marker())]
        }
        Shape::Bars(all) => {
            vec![Bar::new(xs(all), ys(all)).name(&name).marker(Marker::new().color(ink.colour()).opacity(0.75))]
        }
        Shape::Band(all) => {
            let x: Vec<f64> = all.iter().map(|point| at(&chart.x, point[0])).collect();
            let edge = |i: usize| all.iter().map(|point| point[i]).collect::<Vec<_>>();
            let thin = || Line::new().color(ink.colour()).width(0.5);
            vec![
                Scatter::new(x.clone(), edge(1)).mode(Mode::Lines).line(thin()).show_legend(false),
                Scatter::new(x, edge(2)).name(&name).mode(Mode::Lines).line(thin()).fill(Fill::ToNextY),
            ]
        }
        Shape::Intervals(all) => {
            let x = all.iter().map(|point| at(&chart.x, point[0])).collect::<Vec<_>>();
            let y = all.iter().map(|point| point[1]).collect::<Vec<_>>();
            let ends = ErrorData::new(ErrorType::Data)
                .symmetric(false)
                .array(all.iter().map(|point| point[3] - point[1]).collect())
                .array_minus(all.iter().map(|point| point[1] - point[2]).collect())
                .thickness(1.5);
            vec![Scatter::new(x, y).name(&name).mode(Mode::Markers).marker(marker()).error_y(ends)]
        }
        Shape::Heat(heat) => vec![heat_map(heat)],
    }
}

fn heat_map(heat: &Heat) -> Box<dyn Trace> {
    let shown = |cell: &f64| (*cell > 0.0).then(|| (cell * 100.0).round() / 100.0);
    let cells: Vec<Vec<Option<f64>>> = heat.cells.iter().map(|row| row.iter().map(shown).collect()).collect();
    HeatMap::new(heat.x.clone(), heat.y.clone(), cells)
        .color_scale(ColorScale::Palette(ColorScalePalette::Viridis))
        .color_bar(ColorBar::new().title(plain(&heat.title)).thickness(12))
        .hover_on_gaps(false)
}
