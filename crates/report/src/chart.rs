//! Drawings in SVG: curves over linear or logarithmic axes, several charts one below the other.

use std::fmt::Write as _;

use crate::html::escaped;

/// A point of a curve.
pub struct CurvePoint {
    /// The point's position on the first axis.
    pub x: f64,
    /// The point's position on the second axis.
    pub y: f64,
    /// A description of the point, shown below the mouse pointer.
    pub title: String,
    /// A short label, written beside it.
    pub label: String,
    /// True if the point is drawn larger, as a red diamond.
    pub marked: bool,
}

/// Points that belong together.
pub struct ChartSeries {
    /// The name of the series, shown if there are several series.
    pub name: String,
    /// In the order in which the curve runs.
    pub points: Vec<CurvePoint>,
}

/// A chart. Curves are drawn from left to right in the order of their points.
pub struct Chart {
    /// The title of the chart.
    pub title: String,
    /// The axis from left to right.
    pub x: Axis,
    /// The axis from below.
    pub y: Axis,
    /// The curves.
    pub series: Vec<ChartSeries>,
}

/// An axis.
pub struct Axis {
    /// The quantity that it measures.
    pub label: String,
    /// The scale of the axis.
    pub scale: AxisScale,
}

/// How values become positions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AxisScale {
    /// Starts at 0.
    Linear,
    /// Has positive values only.
    Logarithmic,
}

impl Axis {
    /// Makes a linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: AxisScale::Linear }
    }

    /// Makes a logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: AxisScale::Logarithmic }
    }
}

/// The size of a chart, and the positions of its axes.
struct Frame {
    width: f64,
    height: f64,
    left: f64,
    /// Room on the right: The width is `names` if several series are named there, and `right` otherwise.
    names: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// A chart in a file, with a title.
const FILE: Frame =
    Frame { width: 720.0, height: 420.0, left: 80.0, names: 170.0, right: 40.0, top: 50.0, bottom: 60.0 };

/// A chart on a page, for the width of a phone; the page has the title.
const PAGE: Frame =
    Frame { width: 400.0, height: 300.0, left: 58.0, names: 130.0, right: 18.0, top: 28.0, bottom: 46.0 };

/// Colours of medium lightness, which are visible on white and on black.
const COLOURS: [&str; 6] = ["#3f7fc1", "#c9742b", "#4f9a55", "#9a72c7", "#a0745a", "#808890"];

/// Draws a file with these charts.
pub fn document(charts: &[Chart]) -> String {
    let Frame { width, height: each, left, .. } = FILE;
    let height = each * charts.len().max(1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" color=\"#1d2630\" \
         fill=\"currentColor\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" \
         height=\"100%\" fill=\"white\"/>\n"
    );
    for (place, chart) in charts.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate(0 {})\">", each * place as f64);
        text(&mut svg, [left - 10.0, 20.0], "start", &chart.title);
        chart.draw(&mut svg, &FILE);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

/// Draws an element of a page with this chart, these attributes, and `first` as its beginning. The page
/// itself shows the title of the chart.
pub(crate) fn element(attributes: &str, first: &str, chart: &Chart) -> String {
    let Frame { width, height, .. } = PAGE;
    let mut svg = format!(
        "<svg {attributes} class=\"chart\" viewBox=\"0 0 {width} {height}\" fill=\"currentColor\">{first}\n"
    );
    chart.draw(&mut svg, &PAGE);
    svg + "</svg>\n"
}

/// The values along an axis, which map to positions from 0 to 1.
struct Range {
    scale: AxisScale,
    low: f64,
    high: f64,
}

impl Range {
    fn of(scale: AxisScale, values: impl Iterator<Item = f64>) -> Self {
        let place = |value: f64| {
            if scale == AxisScale::Linear { value } else { value.max(f64::MIN_POSITIVE).log10() }
        };
        let (mut low, mut high) = match scale {
            AxisScale::Linear => (0.0, 0.0),
            AxisScale::Logarithmic => (f64::INFINITY, f64::NEG_INFINITY),
        };
        for value in values.filter(|value| value.is_finite()).map(place) {
            (low, high) = (low.min(value), high.max(value));
        }
        if scale == AxisScale::Logarithmic {
            (low, high) = (low.floor(), high.ceil());
        }
        if !low.is_finite() || high <= low {
            (low, high) = (if low.is_finite() { low } else { 0.0 }, low.max(0.0) + 1.0);
        }
        if scale == AxisScale::Linear {
            // A margin keeps points off the upper end.
            high *= 1.04;
        }
        Range { scale, low, high }
    }

    fn place(&self, value: f64) -> f64 {
        let value =
            if self.scale == AxisScale::Linear { value } else { value.max(f64::MIN_POSITIVE).log10() };
        (value - self.low) / (self.high - self.low)
    }

    /// Returns the values that are written beside the axis.
    fn ticks(&self) -> Vec<f64> {
        if self.scale == AxisScale::Logarithmic {
            let step = ((self.high - self.low) / 8.0).ceil().max(1.0) as usize;
            return (self.low as i32..=self.high as i32)
                .step_by(step)
                .map(|exponent| 10f64.powi(exponent))
                .collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|factor| factor * unit)
            .into_iter()
            .find(|&step| step >= rough)
            .unwrap_or(rough);
        (0..=10).map(|k| step * f64::from(k)).take_while(|&tick| tick <= self.high * 1.001).collect()
    }
}

fn text(svg: &mut String, at: [f64; 2], anchor: &str, text: &str) {
    let (x, y, text) = (at[0], at[1], escaped(text));
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

/// Returns a number in its shortest exact form.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        // Powers of a thousand have names.
        size if (1e4..1e15).contains(&size) => {
            let (unit, name) = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
                .into_iter()
                .find(|(unit, _)| size >= *unit)
                .unwrap_or((1.0, ""));
            format!("{} {name}", (value / unit * 1000.0).round() / 1000.0)
        }
        size if (0.01..10_000.0).contains(&size) => format!("{}", (value * 1000.0).round() / 1000.0),
        _ => format!("{value:e}"),
    }
}

impl Chart {
    fn draw(&self, svg: &mut String, frame: &Frame) {
        let Frame { width, height, left, top, .. } = *frame;
        let points = || self.series.iter().flat_map(|series| &series.points);
        let across = Range::of(self.x.scale, points().map(|point| point.x));
        let up = Range::of(self.y.scale, points().map(|point| point.y));
        let is_named = self.series.len() > 1 && self.series.iter().any(|series| !series.name.is_empty());
        let right = width - if is_named { frame.names } else { frame.right };
        let x = |value: f64| left + (right - left) * across.place(value);
        let y = |value: f64| height - frame.bottom - (height - top - frame.bottom) * up.place(value);
        let bottom = height - frame.bottom;
        text(svg, [left - 10.0, top - 12.0], "start", &self.y.label);
        text(svg, [(left + right) / 2.0, height - 12.0], "middle", &self.x.label);
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"currentColor\"/>"
        );
        for tick in across.ticks() {
            text(svg, [x(tick), bottom + 18.0], "middle", &short(tick));
        }
        for tick in up.ticks() {
            let _ = writeln!(
                svg,
                "<path d=\"M{left} {0:.1}H{right}\" stroke=\"currentColor\" stroke-opacity=\"0.18\" \
                 fill=\"none\"/>",
                y(tick)
            );
            text(svg, [left - 6.0, y(tick) + 4.0], "end", &short(tick));
        }
        let mut labels = Labels::new(&self.series, [left, top, right, bottom], &x, &y);
        for (k, series) in self.series.iter().enumerate() {
            let colour = COLOURS[k % COLOURS.len()];
            let line: Vec<String> =
                series.points.iter().map(|point| format!("{:.1},{:.1}", x(point.x), y(point.y))).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                line.join(" ")
            );
            for point in &series.points {
                let (at, title) = ([x(point.x), y(point.y)], escaped(&point.title));
                // The series also differ in the shape of their points.
                let _ = match point.marked {
                    true => writeln!(
                        svg,
                        "<path d=\"M{:.1} {:.1}m0 -8l8 8l-8 8l-8 -8z\" \
                         fill=\"#c8324b\"><title>{title}</title></path>",
                        at[0], at[1]
                    ),
                    false => writeln!(
                        svg,
                        "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" \
                         fill=\"{colour}\"><title>{title}</title></circle>",
                        at[0], at[1]
                    ),
                };
                if let Some((at, anchor)) = labels.place([x(point.x), y(point.y)], &point.label) {
                    let _ = writeln!(
                        svg,
                        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" \
                         font-size=\"{LABEL}\">{}</text>",
                        at[0],
                        at[1],
                        escaped(&point.label)
                    );
                }
            }
            if is_named && !series.name.is_empty() {
                let at = top + 20.0 * k as f64;
                let _ = writeln!(
                    svg,
                    "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>",
                    right + 12.0,
                    at - 10.0
                );
                text(svg, [right + 30.0, at], "start", &series.name);
            }
        }
    }
}

/// The size of the letters of a label, and their average width in wide fonts.
const LABEL: f64 = 11.0;
const LETTER: f64 = 7.0;

/// The number of steps along the line between two points.
const STEPS: u32 = 40;

/// The positions of labels: beside their points, and not on each other as long as there is room.
struct Labels {
    /// The ends of the axes: left, top, right, bottom.
    frame: [f64; 4],
    /// The occupied areas, as left, top, right, bottom.
    taken: Vec<[f64; 4]>,
}

impl Labels {
    /// Marks points and curves as occupied areas.
    fn new(
        series: &[ChartSeries],
        frame: [f64; 4],
        x: &impl Fn(f64) -> f64,
        y: &impl Fn(f64) -> f64,
    ) -> Self {
        let points = series.iter().flat_map(|series| &series.points);
        let taken = points.map(|point| {
            let (x, y) = (x(point.x), y(point.y));
            match point.marked {
                true => [x - 8.0, y - 8.0, x + 8.0, y + 8.0],
                false => [x - 4.0, y - 4.0, x + 4.0, y + 4.0],
            }
        });
        let mut taken: Vec<[f64; 4]> = taken.collect();
        for pair in series.iter().flat_map(|series| series.points.windows(2)) {
            let [from, to] = [&pair[0], &pair[1]].map(|point| [x(point.x), y(point.y)]);
            let along = |part: f64| [0, 1].map(|k| from[k] + (to[k] - from[k]) * part);
            let on_the_line = (1..STEPS).map(|step| along(f64::from(step) / f64::from(STEPS)));
            taken.extend(on_the_line.map(|[x, y]| [x - 2.0, y - 2.0, x + 2.0, y + 2.0]));
        }
        Labels { frame, taken }
    }

    /// Returns the position of a label, and which end of the label is there. `None` for an empty label, or
    /// for a point without a position.
    fn place(&mut self, [x, y]: [f64; 2], label: &str) -> Option<([f64; 2], &'static str)> {
        if label.is_empty() || !(x.is_finite() && y.is_finite()) {
            return None;
        }
        let width = LETTER * label.chars().count() as f64;
        let [left, top, right, bottom] = self.frame;
        let overlap = |one: &[f64; 4], other: &[f64; 4]| {
            let along = |k: usize| (one[k + 2].min(other[k + 2]) - one[k].max(other[k])).max(0.0);
            along(0) * along(1)
        };
        // The candidates are to the right and to the left of the point, first at its height, and then further
        // above and below.
        let rows = ((bottom - top) / (0.75 * LABEL)) as i32;
        let heights = (0..rows).flat_map(|k| [f64::from(k), f64::from(-k)]).map(|k| 0.75 * LABEL * k);
        let boxes = heights.flat_map(|up| {
            let base = y - up + 0.35 * LABEL;
            // One more candidate is within the frame even if the others are not.
            let within = (x - width / 2.0).min(right - width).max(left);
            [(x + 11.0, "start"), (x - 11.0, "end"), (x, "middle"), (within, "start")].map(|(at, anchor)| {
                let from = match anchor {
                    "start" => at,
                    "end" => at - width,
                    _ => at - width / 2.0,
                };
                ([at, base], anchor, [from, base - LABEL, from + width, base])
            })
        });
        let outside = |b: &[f64; 4]| {
            (left - b[0]).max(0.0)
                + (b[2] - right).max(0.0)
                + (top - b[1]).max(0.0)
                + (b[3] - bottom).max(0.0)
        };
        let cost =
            |b: &[f64; 4]| self.taken.iter().map(|other| overlap(b, other)).sum::<f64>() + 100.0 * outside(b);
        // The first of the best candidates is used.
        let mut best: Option<(f64, _)> = None;
        for candidate in boxes {
            let cost = cost(&candidate.2);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, candidate));
            }
        }
        let (_, (at, anchor, taken)) = best?;
        self.taken.push(taken);
        Some((at, anchor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64) -> CurvePoint {
        CurvePoint { x, y, title: "a < b & \"c\"".into(), label: "<p>".into(), marked: false }
    }

    /// Even if points lie close together, no label lies on another label or on a point, and all are inside
    /// the frame.
    #[test]
    fn labels_are_beside_their_points() {
        for near in [0.0, 0.001, 0.02] {
            let points = (0..6).map(|k| point(1.0 + near * f64::from(k), 1.0 + near)).collect::<Vec<_>>();
            let series = [ChartSeries { name: "one".into(), points }];
            let (x, y) = (|v: f64| 300.0 * v, |v: f64| 200.0 * v);
            let frame = [80.0, 50.0, 550.0, 360.0];
            let mut labels = Labels::new(&series, frame, &x, &y);
            let points = labels.taken.len();
            for point in &series[0].points {
                assert!(labels.place([x(point.x), y(point.y)], "inline:larger").is_some());
            }
            for (k, one) in labels.taken.iter().enumerate().skip(points) {
                assert!(one[0] >= frame[0] && one[1] >= frame[1] && one[2] <= frame[2] && one[3] <= frame[3]);
                for other in &labels.taken[..k] {
                    let apart =
                        one[2] <= other[0] || other[2] <= one[0] || one[3] <= other[1] || other[3] <= one[1];
                    assert!(apart, "{near}: {one:?} {other:?}");
                }
            }
        }
    }

    /// One configuration of the comparison takes so much longer that the points of all others are at the
    /// bottom.
    #[test]
    fn long_labels_have_room_on_a_phone() {
        const WAYS: [&str; 9] = [
            "duplo",
            "duplo --post-quantum",
            "authenticated",
            "authenticated --cot softspoken-4",
            "authenticated --cot pcg",
            "lego",
            "jimu",
            "compgc",
            "semi-honest",
        ];
        let Frame { width, height, left, right, top, bottom, .. } = PAGE;
        let frame = [left, top, width - right, height - bottom];
        for (near, all) in [(0.0, 0.0), (0.002, 0.3), (0.02, 1.0), (0.04, 0.7)] {
            let at = |k: usize| [left + 40.0 + all * 30.0 * k as f64, frame[3] - near * 200.0 * k as f64];
            let points = (0..WAYS.len()).map(|k| point(at(k)[0], at(k)[1]));
            let series: Vec<_> =
                points.map(|point| ChartSeries { name: String::new(), points: vec![point] }).collect();
            let mut labels = Labels::new(&series, frame, &|v| v, &|v| v);
            for (k, way) in WAYS.iter().enumerate() {
                assert!(labels.place(at(k), way).is_some());
            }
            let of_labels = &labels.taken[WAYS.len()..];
            for (k, one) in of_labels.iter().enumerate() {
                assert!(one[0] >= frame[0] && one[1] >= frame[1] && one[2] <= frame[2] && one[3] <= frame[3]);
                for other in &of_labels[..k] {
                    let apart =
                        one[2] <= other[0] || other[2] <= one[0] || one[3] <= other[1] || other[3] <= one[1];
                    assert!(apart, "{near}, {all}: {one:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn whatever_is_drawn_is_finite_and_escaped() {
        for values in [vec![], vec![0.0], vec![5.0], vec![1e-9, 1e9], vec![f64::NAN, 1.0]] {
            for axis in [Axis::linear, Axis::logarithmic] {
                let points = values.iter().map(|&v| point(v, v)).collect();
                let series = vec![ChartSeries { name: "one".into(), points }];
                let chart = Chart { title: "<t>".into(), x: axis("x"), y: axis("y"), series };
                let svg = document(&[chart]);
                assert!(svg.contains("&lt;t&gt;") && svg.ends_with("</svg>\n"));
                // A logarithmic axis places a value without a logarithm at its end; a linear axis does not
                // draw NaN.
                let is_drawn = |v: &&f64| v.is_finite() || axis("").scale == AxisScale::Logarithmic;
                let drawn = values.iter().filter(is_drawn).count();
                assert_eq!(svg.matches("&lt;p&gt;").count(), drawn, "{svg}");
                assert!(!svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(Range::of(AxisScale::Linear, [7.0].into_iter()).ticks(), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(
            Range::of(AxisScale::Logarithmic, [3.0, 500.0].into_iter()).ticks(),
            [1.0, 10.0, 100.0, 1000.0]
        );
        assert_eq!([short(0.0), short(0.25), short(1234.5678), short(1e6)], ["0", "0.25", "1234.568", "1 M"]);
    }
}
