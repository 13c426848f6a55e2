//! A chart as a Plotly figure: data and layout as JSON, and the library that draws it.
//!
//! The page sets the colours of background, text and grid, as it knows whether it is dark.

use serde_json::{Value, json};

use crate::chart::{Axis, Chart, Heat, NINES, Scale, Series, Shape, Style, nines};
use crate::format::number;

/// Colours for colour-blind readers (Okabe and Ito 2008), for light and dark backgrounds.
const COLOURS: [&str; 7] = ["#3b8fd0", "#e69f00", "#10a37f", "#d55e00", "#cc79a7", "#8a8a8a", "#b0a030"];

impl Style {
    /// The colour, as `#rrggbb`.
    pub fn colour(self) -> &'static str {
        match self {
            Self::Measured => COLOURS[0],
            Self::Second => COLOURS[2],
            Self::Scheduled => COLOURS[1],
            Self::Theory => COLOURS[4],
            Self::Failed => COLOURS[3],
            Self::Nth(n) | Self::Published(n) => COLOURS[n % COLOURS.len()],
        }
    }

    fn dash(self) -> &'static str {
        match self {
            Self::Measured | Self::Failed | Self::Published(_) => "solid",
            Self::Second => "dashdot",
            Self::Scheduled => "dash",
            Self::Theory => "dot",
            Self::Nth(n) => ["solid", "dash", "dot", "dashdot", "longdash"][n % 5],
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Measured => "circle",
            Self::Second => "square",
            Self::Scheduled => "diamond",
            Self::Theory => "cross",
            Self::Failed => "x",
            Self::Nth(n) => ["circle", "square", "diamond", "cross", "x"][n % 5],
            Self::Published(_) => "circle-open",
        }
    }
}

/// Plotly's basic bundle (lines, points, bars); contains no `</script>`.
pub fn library() -> String {
    let text = zstd::decode_all(&include_bytes!("../assets/plotly-basic.min.js.zst")[..]);
    text.ok().and_then(|text| String::from_utf8(text).ok()).expect("a compressed text")
}

/// A chart as `{"data": [...], "layout": {...}}`.
pub fn figure(chart: &Chart) -> Value {
    let data: Vec<Value> = chart.series.iter().flat_map(|series| traces(chart, series)).collect();
    let mut layout = json!({
        "xaxis": axis(&chart.x, chart.x_range()),
        "yaxis": axis(&chart.y, chart.y_range()),
        "legend": { "orientation": "h", "x": 0.0, "y": 1.02, "yanchor": "bottom" },
        "showlegend": chart.series.len() > 1,
        "margin": { "l": 64, "r": 16, "t": 28, "b": 48 },
    });
    if chart.series.iter().any(|series| matches!(series.shape, Shape::Heat(_))) {
        // Cells are bars with their own base: they must not be stacked.
        layout["barmode"] = "overlay".into();
    }
    let mut figure = json!({ "data": data, "layout": layout });
    round(&mut figure);
    figure
}

/// Rounds all numbers to seven digits, which reduces the size to a third.
fn round(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(exact) = number.as_f64().filter(|_| number.is_f64()) {
                *value = seven(exact).into();
            }
        }
        Value::Array(all) => all.iter_mut().for_each(round),
        Value::Object(all) => all.values_mut().for_each(round),
        _ => {}
    }
}

/// The number to seven digits.
pub(crate) fn seven(number: f64) -> f64 {
    format!("{number:.6e}").parse().unwrap_or(number)
}

/// Escapes a text for Plotly, which interprets `<b>`, `<a href>` and entities.
fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Below this ratio of largest to smallest value, the range of a logarithmic axis is set.
const NARROW: f64 = 1.5;

fn axis(axis: &Axis, range: (f64, f64)) -> Value {
    let mut drawn = json!({ "title": { "text": plain(&axis.title) }, "automargin": true, "zeroline": false });
    let mut ticks = |values: Vec<f64>, texts: Vec<String>| {
        drawn["tickvals"] = values.into();
        drawn["ticktext"] = texts.into();
    };
    match &axis.scale {
        Scale::Linear => {
            drawn["exponentformat"] = "none".into();
            drawn["rangemode"] = "tozero".into();
        }
        Scale::Log => {
            let marks = log_ticks(range);
            // By default Plotly shows a decade on both sides of a narrow range.
            let near = (range.1 < range.0 * NARROW).then(|| marks.first().zip(marks.last())).flatten();
            let shown = near.map(|(first, last)| vec![first.log10(), last.log10()]);
            let texts = marks.iter().map(|mark| number(*mark)).collect();
            ticks(marks, texts);
            drawn["type"] = "log".into();
            if let Some(shown) = shown {
                drawn["range"] = shown.into();
            }
        }
        Scale::Nines => {
            ticks(NINES.map(|(p, _)| nines(p)).to_vec(), NINES.map(|(_, text)| text.to_owned()).to_vec());
        }
        Scale::Names(names) => {
            let texts = names.iter().map(|name| plain(&clipped(name))).collect();
            ticks((0..names.len()).map(|i| i as f64).collect(), texts);
            drawn["range"] = vec![-0.5, names.len() as f64 - 0.5].into();
        }
    }
    drawn
}

/// The ticks of a logarithmic axis: powers of ten; in short ranges also their multiples by 2 and 5, or by 2, 3, 5 and
/// 7; in very short ranges equal steps.
pub fn log_ticks((low, high): (f64, f64)) -> Vec<f64> {
    if !(low > 0.0 && high.is_finite()) {
        return Vec::new();
    }
    let wide: &[f64] = if high / low < 200.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    for steps in [wide, &[1.0, 2.0, 3.0, 5.0, 7.0]] {
        let of_decade = |power| steps.iter().map(move |step| step * 10f64.powi(power));
        let marks: Vec<f64> = decades.clone().flat_map(of_decade).collect();
        if marks.iter().filter(|mark| (low..=high).contains(*mark)).count() >= 3 {
            return marks;
        }
    }
    // Widen the range of a single value.
    let (low, high) = if high > low * 1.001 { (low, high) } else { (low * 0.9, high * 1.1) };
    let step = round_step((high - low) / 4.0);
    let places = (low / step).floor() as u64..=(high / step).ceil() as u64;
    places.map(|place| place as f64 * step).filter(|mark| *mark > 0.0).collect()
}

/// The next larger step of 1, 2 or 5 times a power of ten.
pub(crate) fn round_step(least: f64) -> f64 {
    let decade = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|step| step * decade).into_iter().find(|step| *step >= least).unwrap_or(10.0 * decade)
}

/// A name of at most 28 characters.
pub(crate) fn clipped(name: &str) -> String {
    if name.chars().count() <= 28 { name.to_owned() } else { name.chars().take(27).chain(['…']).collect() }
}

/// The position of a value on this axis.
fn at(axis: &Axis, value: f64) -> f64 {
    if axis.scale == Scale::Nines { nines(value) } else { value }
}

fn traces(chart: &Chart, series: &Series) -> Vec<Value> {
    let style = series.style;
    let name = plain(&series.name);
    let x = |all: &[[f64; 2]]| all.iter().map(|point| at(&chart.x, point[0])).collect::<Vec<_>>();
    let y = |all: &[[f64; 2]]| all.iter().map(|point| point[1]).collect::<Vec<_>>();
    let line = |shape: &str| json!({ "color": style.colour(), "dash": style.dash(), "width": 2.0, "shape": shape });
    let size = if matches!(style, Style::Published(_)) { 14 } else { 8 };
    let marker = || json!({ "color": style.colour(), "symbol": style.symbol(), "size": size });
    let joined = |all: &[[f64; 2]], shape| json!({ "type": "scatter", "x": x(all), "y": y(all), "name": name, "mode": "lines", "line": line(shape) });
    match &series.shape {
        // Mark the points of curves with few points.
        Shape::Line(all) if all.len() <= 40 && style != Style::Theory => {
            let mut both = joined(all, "linear");
            both["mode"] = "lines+markers".into();
            both["marker"] = marker();
            vec![both]
        }
        Shape::Line(all) => vec![joined(all, "linear")],
        Shape::Steps(all) => vec![joined(all, "hv")],
        Shape::Points(all) => {
            vec![
                json!({ "type": "scatter", "x": x(all), "y": y(all), "name": name, "mode": "markers", "marker": marker() }),
            ]
        }
        Shape::Bars(all) => {
            let marker = json!({ "color": style.colour(), "opacity": 0.75 });
            vec![json!({ "type": "bar", "x": x(all), "y": y(all), "name": name, "marker": marker })]
        }
        Shape::Band(all) => {
            let x: Vec<f64> = all.iter().map(|point| at(&chart.x, point[0])).collect();
            let edge = |i: usize| {
                let y: Vec<f64> = all.iter().map(|point| point[i]).collect();
                let thin = json!({ "color": style.colour(), "width": 0.5 });
                json!({ "type": "scatter", "x": x, "y": y, "mode": "lines", "line": thin })
            };
            let (mut low, mut high) = (edge(1), edge(2));
            low["showlegend"] = false.into();
            high["name"] = name.into();
            high["fill"] = "tonexty".into();
            vec![low, high]
        }
        Shape::Intervals(all) | Shape::LineWithIntervals(all) => {
            let x: Vec<f64> = all.iter().map(|point| at(&chart.x, point[0])).collect();
            let y: Vec<f64> = all.iter().map(|point| point[1]).collect();
            let above: Vec<f64> = all.iter().map(|point| point[3] - point[1]).collect();
            let below: Vec<f64> = all.iter().map(|point| point[1] - point[2]).collect();
            let ends =
                json!({ "type": "data", "symmetric": false, "array": above, "arrayminus": below, "thickness": 1.5 });
            let mut points = json!({
                "type": "scatter", "x": x, "y": y, "name": name, "mode": "markers", "marker": marker(), "error_y": ends,
            });
            if matches!(series.shape, Shape::LineWithIntervals(_)) {
                points["mode"] = "lines+markers".into();
                points["line"] = line("linear");
            }
            vec![points]
        }
        Shape::Heat(heat) => vec![heat_map(heat)],
    }
}

/// A heat map as one bar per cell, as the basic bundle has no heat map. Columns need a linear axis; rows can have any.
fn heat_map(heat: &Heat) -> Value {
    let (mut x, mut width, mut base, mut height, mut shown) = (vec![], vec![], vec![], vec![], vec![]);
    for (row, edges) in heat.cells.iter().zip(heat.y.windows(2)) {
        for (cell, sides) in row.iter().zip(heat.x.windows(2)).filter(|(cell, _)| **cell > 0.0) {
            x.push(f64::midpoint(sides[0], sides[1]));
            width.push(sides[1] - sides[0]);
            base.push(edges[0]);
            height.push(edges[1] - edges[0]);
            shown.push((cell * 100.0).round() / 100.0);
        }
    }
    let title = plain(&heat.title);
    let bar = json!({ "title": { "text": title }, "thickness": 12 });
    json!({
        "type": "bar", "x": x, "width": width, "base": base, "y": height,
        "marker": { "color": shown, "colorscale": "Viridis", "colorbar": bar, "showscale": true, "line": { "width": 0 } },
        "hovertemplate": format!("%{{x:.4~g}}, from %{{base:.4~g}}: %{{marker.color}} {title}<extra></extra>"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_has_marks_wherever_its_values_lie() {
        assert_eq!(log_ticks((0.5, 300.0)), [0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(log_ticks((3.0, 40.0))[..5], [1.0, 2.0, 5.0, 10.0, 20.0]);
        let about = |range: (f64, f64)| log_ticks(range).into_iter().map(number).collect::<Vec<_>>();
        assert_eq!(about((11.8, 99.6)), ["10", "20", "30", "50", "70", "100", "200", "300", "500", "700"]);
        assert_eq!(about((21.83, 22.4)), ["21.8", "22", "22.2", "22.4"]);
        assert_eq!(about((5.2, 9.4)), ["4", "6", "8", "10"]);
        assert_eq!(about((22.0, 22.0)), ["18", "20", "22", "24", "26"]);
        assert!(log_ticks((0.0, 1.0)).is_empty() && log_ticks((1.0, f64::INFINITY)).is_empty());
        for power in -90..90 {
            let low = 1.17f64.powi(power);
            for ratio in [1.0, 1.01, 1.5, 3.0, 9.0, 15.0, 150.0, 2e5] {
                let marks = log_ticks((low, low * ratio));
                let shown = marks.iter().filter(|mark| (low / 1.12..=low * ratio * 1.12).contains(*mark)).count();
                assert!((2..=14).contains(&shown), "{low} to {}: {marks:?}", low * ratio);
            }
        }
    }

    #[test]
    fn values_that_are_nearly_one_fill_their_axis() {
        let range = |low: f64, high: f64| {
            let shape = Shape::Line(vec![[0.0, low], [1.0, high]]);
            let chart = Chart {
                id: "l".into(),
                title: "l".into(),
                caption: String::new(),
                x: Axis::linear("time (s)"),
                y: Axis::log("response (ms)"),
                series: vec![Series::new("l", Style::Measured, shape)],
            };
            figure(&chart)["layout"]["yaxis"]["range"].clone()
        };
        let [from, to] = [0, 1].map(|end| 10f64.powf(range(22.0, 22.0)[end].as_f64().unwrap()));
        assert!((from - 18.0).abs() < 1e-3 && (to - 26.0).abs() < 1e-3, "{from} to {to}");
        assert_eq!(range(22.0, 40.0), Value::Null);
    }

    #[test]
    fn a_heat_map_is_a_bar_for_each_cell_that_has_something() {
        let heat = Heat {
            title: "% of <all>".into(),
            x: vec![0.0, 10.0, 20.0],
            y: vec![1.0, 2.0, 4.0, 8.0],
            cells: vec![vec![0.0, 12.345], vec![30.0, 0.0], vec![0.0, 57.655]],
        };
        let chart = Chart {
            id: "h".into(),
            title: "h".into(),
            caption: String::new(),
            x: Axis::linear("time (s)"),
            y: Axis::log("response (ms)"),
            series: vec![Series::new("h", Style::Measured, Shape::Heat(heat))],
        };
        let figure = figure(&chart);
        let cells = &figure["data"][0];
        assert_eq!((&cells["x"], &cells["width"]), (&json!([15.0, 5.0, 15.0]), &json!([10.0, 10.0, 10.0])));
        assert_eq!((&cells["base"], &cells["y"]), (&json!([1.0, 2.0, 4.0]), &json!([1.0, 2.0, 4.0])));
        assert_eq!(cells["marker"]["color"], json!([12.35, 30.0, 57.66]));
        assert_eq!(cells["marker"]["colorbar"]["title"]["text"], "% of &lt;all&gt;");
        assert_eq!(
            (&figure["layout"]["barmode"], &figure["layout"]["yaxis"]["type"]),
            (&"overlay".into(), &"log".into())
        );
    }
}
