//! Drawings in SVG: curves over a linear or a logarithmic axis, several charts one below the other.

use std::fmt::Write as _;

/// A point of a curve.
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// What it stands for, shown when a pointer rests on it.
    pub title: String,
    /// Drawn larger and in red.
    pub marked: bool,
}

/// Points that belong together.
pub struct Series {
    pub name: String,
    pub points: Vec<Point>,
}

/// A chart. Curves are drawn from left to right in the order of their points.
pub struct Chart {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

/// An axis.
pub struct Axis {
    pub label: String,
    pub scale: Scale,
}

/// How values become places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// From 0.
    Linear,
    /// Of positive values.
    Logarithmic,
}

impl Axis {
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Linear }
    }

    pub fn logarithmic(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Logarithmic }
    }
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
const COLOURS: [&str; 6] = ["steelblue", "darkorange", "seagreen", "mediumpurple", "saddlebrown", "gray"];

/// A file with these charts.
pub fn document(charts: &[Chart]) -> String {
    let height = HEIGHT * charts.len().max(1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (place, chart) in charts.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate(0 {})\">", HEIGHT * place as f64);
        chart.draw(&mut svg);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

/// Where values lie on an axis, from 0 to 1.
struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Range {
    fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let place =
            |value: f64| if scale == Scale::Linear { value } else { value.max(f64::MIN_POSITIVE).log10() };
        let (mut low, mut high) = match scale {
            Scale::Linear => (0.0, 0.0),
            Scale::Logarithmic => (f64::INFINITY, f64::NEG_INFINITY),
        };
        for value in values.filter(|value| value.is_finite()).map(place) {
            (low, high) = (low.min(value), high.max(value));
        }
        if scale == Scale::Logarithmic {
            (low, high) = (low.floor(), high.ceil());
        }
        if !low.is_finite() || high <= low {
            (low, high) = (if low.is_finite() { low } else { 0.0 }, low.max(0.0) + 1.0);
        }
        Range { scale, low, high }
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.scale == Scale::Linear { value } else { value.max(f64::MIN_POSITIVE).log10() };
        (value - self.low) / (self.high - self.low)
    }

    /// Values that are written beside the axis.
    fn ticks(&self) -> Vec<f64> {
        if self.scale == Scale::Logarithmic {
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

/// A number as short as it stays right.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if (0.01..10_000.0).contains(&size) => format!("{}", (value * 1000.0).round() / 1000.0),
        _ => format!("{value:e}"),
    }
}

impl Chart {
    fn draw(&self, svg: &mut String) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let across = Range::of(self.x.scale, points().map(|point| point.x));
        let up = Range::of(self.y.scale, points().map(|point| point.y));
        let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * across.place(value);
        let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * up.place(value);
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let text = |svg: &mut String, at: [f64; 2], anchor: &str, text: &str| {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                at[0],
                at[1],
                escaped(text)
            );
        };
        text(svg, [LEFT, 20.0], "start", &self.title);
        text(svg, [LEFT - 10.0, TOP - 12.0], "start", &self.y.label);
        text(svg, [(LEFT + right) / 2.0, HEIGHT - 15.0], "middle", &self.x.label);
        let _ = writeln!(svg, "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>");
        for tick in across.ticks() {
            text(svg, [x(tick), bottom + 18.0], "middle", &short(tick));
        }
        for tick in up.ticks() {
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {0:.1}H{right}\" stroke=\"lightgray\" fill=\"none\"/>",
                y(tick)
            );
            text(svg, [LEFT - 6.0, y(tick) + 4.0], "end", &short(tick));
        }
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
                let (radius, fill) = if point.marked { (6, "crimson") } else { (4, colour) };
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"{fill}\"><title>{}</title></circle>",
                    x(point.x),
                    y(point.y),
                    escaped(&point.title)
                );
            }
            if self.series.len() > 1 && !series.name.is_empty() {
                let at = TOP + 20.0 * k as f64;
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64) -> Point {
        Point { x, y, title: "a < b & \"c\"".into(), marked: false }
    }

    #[test]
    fn whatever_is_drawn_is_finite_and_escaped() {
        for values in [vec![], vec![0.0], vec![5.0], vec![1e-9, 1e9], vec![f64::NAN, 1.0]] {
            for axis in [Axis::linear, Axis::logarithmic] {
                let points = values.iter().map(|&v| point(v, v)).collect();
                let series = vec![Series { name: "one".into(), points }];
                let chart = Chart { title: "<t>".into(), x: axis("x"), y: axis("y"), series };
                let svg = document(&[chart]);
                assert!(svg.contains("&lt;t&gt;") && svg.ends_with("</svg>\n"));
                assert!(!svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(Range::of(Scale::Linear, [7.0].into_iter()).ticks(), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(
            Range::of(Scale::Logarithmic, [3.0, 500.0].into_iter()).ticks(),
            [1.0, 10.0, 100.0, 1000.0]
        );
        assert_eq!([short(0.0), short(0.25), short(1234.5678), short(1e6)], ["0", "0.25", "1234.568", "1e6"]);
    }
}
