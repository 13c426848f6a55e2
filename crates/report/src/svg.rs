//! A chart as an SVG file, drawn without a browser.
//!
//! The chart has the same styles as on the page, but no tooltips. For a heat map, only the largest value is written as
//! text.

use std::ops::Range;

use offered_base::visible;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::chart::{Axis, Chart, Heat, NINES, Scale, Series, Shape, Style, nines};
use crate::figure::{clipped, log_ticks, round_step};
use crate::format::number;

/// Width and height in pixels.
const SIZE: (u32, u32) = (1060, 480);
/// The legend: width, line height, maximum number of lines and of letters.
const LEGEND: u32 = 310;
const LINE: i32 = 18;
const LINES: usize = 22;
const LETTERS: usize = 44;
/// Maximum number of points of a curve whose points are marked.
const FEW: usize = 40;

/// Reason why a chart cannot be drawn.
pub type Error = DrawingAreaErrorKind<std::io::Error>;
type Context<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<AxisRange, AxisRange>>;

/// The chart as an SVG document.
///
/// # Errors
/// None in practice: it writes to memory.
pub fn svg(chart: &Chart) -> Result<String, Error> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        draw(chart, &area)?;
        area.present()?;
    }
    text.push('\n');
    Ok(text)
}

fn draw(chart: &Chart, area: &DrawingArea<SVGBackend, Shift>) -> Result<(), Error> {
    area.fill(&WHITE)?;
    let (x, y) = (AxisRange::of(&chart.x, chart.x_range()), AxisRange::of(&chart.y, chart.y_range()));
    let several = chart.series.len() > 1;
    let mut context = ChartBuilder::on(area)
        .caption(visible(&title(chart)), ("sans-serif", 18))
        .margin(12)
        .margin_right(if several { LEGEND } else { 24 })
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(x, y)?;
    context
        .configure_mesh()
        .bold_line_style(BLACK.mix(0.12))
        .x_desc(visible(&chart.x.title).into_owned())
        .y_desc(visible(&chart.y.title).into_owned())
        .draw()?;
    for series in &chart.series {
        add(&mut context, chart, series)?;
    }
    if several {
        legend(chart, area)?;
    }
    Ok(())
}

/// Draws the legend beside the curves, because the library would draw it over them.
fn legend(chart: &Chart, area: &DrawingArea<SVGBackend, Shift>) -> Result<(), Error> {
    for (series, i) in chart.series.iter().take(LINES).zip(1..) {
        let (x, y) = ((SIZE.0 - LEGEND) as i32 + 12, 24 + LINE * i);
        area.draw(&mark(series, (x, y)))?;
        let name: String = series.name.chars().take(LETTERS).collect();
        area.draw(&Text::new(visible(&name).into_owned(), (x + 28, y - 6), ("sans-serif", 12)))?;
    }
    Ok(())
}

/// The legend symbol of a series.
fn mark<'e, B: DrawingBackend>(series: &Series, (x, y): (i32, i32)) -> DynElement<'e, B, (i32, i32)> {
    let (style, line) = (series.style, series.style.rgb().stroke_width(2));
    let lined = matches!(series.shape, Shape::Line(_) | Shape::Steps(_) | Shape::LineWithIntervals(_));
    match style.dashes() {
        _ if !lined => style.dot((x + 10, y)),
        None => PathElement::new(vec![(x, y), (x + 20, y)], line).into_dyn(),
        Some((dash, space)) => DashedPathElement::new(vec![(x, y), (x + 20, y)], dash, space, line).into_dyn(),
    }
}

fn title(chart: &Chart) -> String {
    let most = |heat: &Heat| heat.cells.iter().flatten().copied().fold(0.0, f64::max);
    let heats = chart.series.iter().filter_map(|series| match &series.shape {
        Shape::Heat(heat) => Some(format!("; maximum: {} {}", number(most(heat)), heat.title)),
        _ => None,
    });
    heats.fold(chart.title.clone(), |title, heat| title + &heat)
}

/// The range and the ticks of an axis, in drawing coordinates.
struct AxisRange {
    from: f64,
    to: f64,
    marks: Vec<(f64, String)>,
}

/// The position of a value on this axis; `None` if it cannot be shown.
fn at(axis: &Axis, value: f64) -> Option<f64> {
    let at = match axis.scale {
        Scale::Linear | Scale::Names(_) => value,
        Scale::Log => value.log10(),
        Scale::Nines => nines(value),
    };
    at.is_finite().then_some(at)
}

impl AxisRange {
    fn of(axis: &Axis, (low, high): (f64, f64)) -> Self {
        let (low, high) = if low <= high { (low, high) } else { (1.0, 1.0) };
        let (from, to, marks): (f64, f64, Vec<(f64, String)>) = match &axis.scale {
            Scale::Linear => {
                let (from, to) = (low.min(0.0), high.max(0.0));
                let to = if to > from { to + (to - from) / 50.0 } else { 1.0 };
                (from, to, linear_marks(from, to).map(|at| (at, number(at))).collect())
            }
            Scale::Log => {
                let marks = log_ticks((low, high));
                let from = marks.iter().copied().filter(|mark| *mark <= low).fold(low / 2.0, f64::max);
                let to = marks.iter().copied().filter(|mark| *mark >= high).fold(high * 2.0, f64::min);
                (from.log10(), to.log10(), marks.into_iter().map(|mark| (mark.log10(), number(mark))).collect())
            }
            Scale::Nines => {
                let marks = NINES.map(|(p, text)| (nines(p), text.to_owned())).to_vec();
                (nines(low.min(0.5)), nines(high.clamp(0.9, 0.999_999)), marks)
            }
            Scale::Names(names) => {
                let marks = names.iter().enumerate().map(|(i, name)| (i as f64, visible(&clipped(name)).into_owned()));
                (-0.5, names.len() as f64 - 0.5, marks.collect())
            }
        };
        let inside = |mark: &(f64, String)| (from..=to).contains(&mark.0);
        Self { from, to, marks: marks.into_iter().filter(inside).collect() }
    }
}

impl Ranged for AxisRange {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, at: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (at - self.from) / (self.to - self.from);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // No grid lines between the ticks.
        if hint.weight().allow_light_points() { Vec::new() } else { self.marks.iter().map(|mark| mark.0).collect() }
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for AxisRange {
    fn format_ext(&self, at: &f64) -> String {
        self.marks.iter().find(|mark| mark.0 == *at).map_or_else(String::new, |mark| mark.1.clone())
    }
}

/// About five ticks, at multiples of 1, 2 or 5 times a power of ten.
fn linear_marks(from: f64, to: f64) -> impl Iterator<Item = f64> {
    let step = round_step((to - from) / 5.0 * 0.999);
    ((from / step).ceil() as i64..=(to / step).floor() as i64).map(move |i| i as f64 * step)
}

impl Style {
    fn rgb(self) -> RGBColor {
        let part = |at: usize| u8::from_str_radix(&self.colour()[at..at + 2], 16).expect("#rrggbb");
        RGBColor(part(1), part(3), part(5))
    }

    /// A point; its form differs as well as its colour.
    fn dot<'e, B: DrawingBackend, C: Clone + 'static>(self, at: C) -> DynElement<'e, B, C> {
        if let Self::Published(_) = self {
            return Circle::new(at, 7, self.rgb().stroke_width(1)).into_dyn();
        }
        let ink = self.rgb().filled();
        let form = if let Self::Nth(n) = self { n } else { usize::from(self != Self::Measured) };
        match form % 3 {
            0 => Circle::new(at, 4, ink).into_dyn(),
            1 => TriangleMarker::new(at, 6, ink).into_dyn(),
            _ => Cross::new(at, 4, self.rgb().stroke_width(2)).into_dyn(),
        }
    }

    /// Lengths of dashes and gaps; `None` for a solid line.
    fn dashes(self) -> Option<(u32, u32)> {
        match self {
            Self::Measured | Self::Failed | Self::Published(_) => None,
            Self::Second => Some((12, 3)),
            Self::Scheduled => Some((8, 4)),
            Self::Theory => Some((2, 3)),
            Self::Nth(n) => [None, Some((8, 4)), Some((2, 3)), Some((12, 3)), Some((16, 6))][n % 5],
        }
    }
}

fn add(context: &mut Context, chart: &Chart, series: &Series) -> Result<(), Error> {
    let style = series.style;
    let (colour, line) = (style.rgb(), style.rgb().stroke_width(2));
    let place = |x: f64, y: f64| Some((at(&chart.x, x)?, at(&chart.y, y)?));
    let places = |all: &[[f64; 2]]| all.iter().filter_map(|[x, y]| place(*x, *y)).collect::<Vec<_>>();
    let dot = move |at: (f64, f64)| style.dot(at);
    let joined = |context: &mut Context, points: Vec<(f64, f64)>| -> Result<(), Error> {
        match style.dashes() {
            None => context.draw_series([PathElement::new(points, line)])?,
            Some((dash, space)) => context.draw_series(DashedLineSeries::new(points, dash, space, line))?,
        };
        Ok(())
    };
    match &series.shape {
        Shape::Line(all) => {
            joined(context, places(all))?;
            if all.len() <= FEW && style != Style::Theory {
                context.draw_series(places(all).into_iter().map(dot))?;
            }
        }
        Shape::Steps(all) => {
            let corners =
                all.windows(2).flat_map(|pair| [pair[0], [pair[1][0], pair[0][1]]]).chain(all.last().copied());
            joined(context, places(&corners.collect::<Vec<_>>()))?;
        }
        Shape::Points(all) => {
            context.draw_series(places(all).into_iter().map(dot))?;
        }
        Shape::Bars(all) => {
            let apart = all.windows(2).map(|pair| pair[1][0] - pair[0][0]).fold(f64::INFINITY, f64::min);
            let half = if apart.is_finite() { apart * 0.47 } else { 0.4 };
            let bar = |[x, y]: &[f64; 2]| {
                Some(Rectangle::new([place(x - half, 0.0)?, place(x + half, *y)?], colour.mix(0.75).filled()))
            };
            context.draw_series(all.iter().filter_map(bar))?;
        }
        Shape::Band(all) => {
            let edge = |i: usize| all.iter().filter_map(move |point| place(point[0], point[i]));
            let around: Vec<_> = edge(1).chain(edge(2).collect::<Vec<_>>().into_iter().rev()).collect();
            context.draw_series([Polygon::new(around, colour.mix(0.25))])?;
        }
        Shape::Intervals(all) | Shape::LineWithIntervals(all) => {
            let points: Vec<_> = all.iter().filter_map(|[x, y, ..]| place(*x, *y)).collect();
            // An end that a logarithmic axis cannot show is drawn at the bottom.
            let bottom = context.plotting_area().get_y_range().start;
            let ends = |[x, _, low, high]: &[f64; 4]| {
                let (x, high) = place(*x, *high)?;
                let low = at(&chart.y, *low).unwrap_or(bottom);
                Some(PathElement::new(vec![(x, low), (x, high)], colour.stroke_width(1)))
            };
            if matches!(series.shape, Shape::LineWithIntervals(_)) {
                joined(context, points.clone())?;
            }
            context.draw_series(all.iter().filter_map(ends))?;
            context.draw_series(points.into_iter().map(dot))?;
        }
        Shape::Heat(heat) => return heat_map(context, heat, place),
    }
    Ok(())
}

fn heat_map(context: &mut Context, heat: &Heat, place: impl Fn(f64, f64) -> Option<(f64, f64)>) -> Result<(), Error> {
    let most = heat.cells.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    for (cells, y) in heat.cells.iter().zip(heat.y.windows(2)) {
        let cell = |(value, x): (&f64, &[f64])| {
            let colour = ViridisRGB.get_color((value / most) as f32);
            Some(Rectangle::new([place(x[0], y[0])?, place(x[1], y[1])?], colour.filled()))
        };
        context.draw_series(cells.iter().zip(heat.x.windows(2)).filter(|(value, _)| **value > 0.0).filter_map(cell))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use quick_xml::Reader;
    use quick_xml::events::Event;

    use super::*;

    fn chart(x: Axis, y: Axis, series: Vec<Series>) -> Chart {
        Chart { id: "c".into(), title: "A & <b>title</b>".into(), caption: String::new(), x, y, series }
    }

    /// The names of the elements and every text, in order; fails where the document is not well-formed.
    fn parsed(svg: &str) -> (Vec<String>, Vec<String>) {
        let mut reader = Reader::from_str(svg);
        reader.config_mut().check_end_names = true;
        let (mut elements, mut texts) = (Vec::new(), vec![String::new()]);
        loop {
            match reader.read_event().unwrap() {
                Event::Eof => return (elements, texts),
                Event::Start(start) | Event::Empty(start) => {
                    for attribute in start.attributes() {
                        attribute.unwrap();
                    }
                    elements.push(start.name().as_ref().to_owned());
                    texts.push(String::new());
                }
                Event::Text(text) => *texts.last_mut().unwrap() += &text,
                Event::GeneralRef(name) => {
                    let one = format!("&{};", &*name);
                    *texts.last_mut().unwrap() += &quick_xml::escape::unescape(&one).unwrap();
                }
                _ => {}
            }
        }
    }

    #[test]
    fn every_shape_is_drawn_with_its_words() {
        let points = vec![[1.0, 10.0], [2.0, 20.0], [3.0, 15.0]];
        let series = [
            Series::new("<script>line", Style::Measured, Shape::Line(points.clone())),
            Series::new("steps \u{0}", Style::Scheduled, Shape::Steps(points.clone())),
            Series::new("points", Style::Nth(4), Shape::Points(points.clone())),
            Series::new("bars", Style::Failed, Shape::Bars(points)),
            Series::new("band", Style::Theory, Shape::Band(vec![[1.0, 5.0, 6.0], [2.0, 6.0, 9.0]])),
            Series::new("ends", Style::Second, Shape::Intervals(vec![[1.0, 5.0, 4.0, 6.0]])),
        ];
        let text = svg(&chart(Axis::linear("users N"), Axis::log("R (ms)"), series[..3].to_vec())).unwrap();
        let (elements, texts) = parsed(&text);
        for word in ["A & <b>title</b>", "users N", "R (ms)", "<script>line", "steps \\u{0}", "points", "20"] {
            assert!(texts.iter().any(|text| text.trim() == word), "{word} is missing: {texts:?}");
        }
        let count = |elements: &[String], name: &str| elements.iter().filter(|element| *element == name).count();
        assert_eq!(count(&elements, "circle"), 3, "the line's points");
        assert_eq!(count(&elements, "polygon"), 3 + 1, "the points by themselves, and their mark in the legend");
        assert!(!text.contains("<script"));
        let (elements, texts) =
            parsed(&svg(&chart(Axis::linear("x"), Axis::linear("y"), series[3..].to_vec())).unwrap());
        assert_eq!(count(&elements, "polygon"), 1 + 1 + 3, "the band, the point, three marks");
        assert!(count(&elements, "rect") > 3, "bars and paper");
        assert!(["bars", "band", "ends"].iter().all(|word| texts.iter().any(|text| text.trim() == *word)));
    }

    #[test]
    fn a_heat_map_has_a_cell_for_each_that_is_not_zero() {
        let heat = Heat {
            title: "% of requests".into(),
            x: vec![0.0, 1.0, 2.0, 3.0],
            y: vec![1.0, 10.0, 100.0],
            cells: vec![vec![0.0, 4.0, 0.0], vec![2.0, 0.0, 8.0]],
        };
        let series = |cells| vec![Series::new("h", Style::Measured, Shape::Heat(Heat { cells, ..heat.clone() }))];
        let count = |series| {
            let (elements, texts) = parsed(&svg(&chart(Axis::linear("t (s)"), Axis::log("R (ms)"), series)).unwrap());
            (elements.iter().filter(|name| *name == "rect").count(), texts.concat())
        };
        let (cells, words) = count(series(heat.cells.clone()));
        let (paper, _) = count(series(vec![vec![0.0; 3]; 2]));
        assert_eq!(cells - paper, 3);
        assert!(words.contains("maximum: 8 % of requests"), "{words}");
    }

    #[test]
    fn charts_of_nothing_and_of_one_point_are_drawn_too() {
        let axes =
            [Axis::linear("l"), Axis::log("g"), Axis::nines("n"), Axis::names("w", vec!["a".into(), "b&".into()])];
        for axis in axes {
            for points in [vec![], vec![[0.5, 0.5]], vec![[f64::NAN, 1.0], [0.5, f64::INFINITY], [0.0, 0.0]]] {
                let drawn =
                    chart(axis.clone(), axis.clone(), vec![Series::new("s", Style::Second, Shape::Points(points))]);
                parsed(&svg(&drawn).unwrap());
            }
        }
    }

    #[test]
    fn marks_are_round() {
        let marks = |from, to| linear_marks(from, to).collect::<Vec<_>>();
        assert_eq!(marks(0.0, 1.02), [0.0, 0.5, 1.0]);
        assert_eq!(marks(0.0, 47.0), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(marks(-3.0, 5.0), [-2.0, 0.0, 2.0, 4.0]);
    }
}
