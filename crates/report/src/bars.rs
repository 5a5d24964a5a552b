//! Rows of bars. The lengths of bars change with the width of the page, but their text does not.

use std::fmt::Write as _;

use crate::html::escaped;
use crate::words::shortened;

/// A segment of a bar, from 0 to 1 of the width, and its class in the style sheet.
pub(crate) struct BarSegment {
    pub from: f64,
    pub to: f64,
    pub class: &'static str,
}

/// A row: its label, its value in words, and bars one below the other.
pub(crate) struct BarRow {
    pub label: String,
    pub value: String,
    pub bars: Vec<Vec<BarSegment>>,
}

impl BarRow {
    /// Makes a row with one bar of one segment that begins on the left.
    pub fn single(label: impl Into<String>, value: String, length: f64, class: &'static str) -> Self {
        let bars = vec![vec![BarSegment { from: 0.0, to: length, class }]];
        BarRow { label: label.into(), value, bars }
    }
}

/// The axis below the rows.
#[derive(Default)]
pub(crate) struct BarAxis {
    /// Positions from 0 to 1, and their labels.
    pub ticks: Vec<(f64, String)>,
    /// The position of a limit, a line across all rows.
    pub limit: Option<f64>,
}

impl BarAxis {
    /// Makes an axis with three or four round values from 0 to `most`.
    pub fn up_to(most: f64, show: impl Fn(f64) -> String) -> Self {
        if most <= 0.0 || !most.is_finite() {
            return BarAxis::default();
        }
        let unit = 10f64.powf((most / 4.0).log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * unit);
        let step = steps.into_iter().find(|step| most / step <= 4.0).unwrap_or(most);
        let places = (0..=4).map(|k| f64::from(k) * step).take_while(|&tick| tick <= most);
        BarAxis { ticks: places.map(|tick| (tick / most, show(tick))).collect(), limit: None }
    }

    /// Makes an axis with round numbers of bytes, in the unit in which the largest is a small number.
    pub fn of_bytes(most: f64) -> Self {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
        let power = (most.max(1.0).log2() / 10.0).floor().clamp(0.0, units.len() as f64 - 1.0);
        let unit = units[power as usize];
        BarAxis::up_to(most / 1024f64.powf(power), |tick| format!("{tick} {unit}"))
    }
}

/// The number of letters for which a phone has room in a row: for the label, and the value beside it.
const LETTERS: usize = 46;
const BAR: f64 = 12.0;
const GAP: f64 = 4.0;

/// Draws an SVG element with these attributes, which begins with `first`.
pub(crate) fn draw(attributes: &str, first: &str, rows: &[BarRow], axis: &BarAxis) -> String {
    let heights = rows.iter().map(|row| 34.0 + (BAR + GAP) * row.bars.len() as f64);
    let bottom = heights.clone().sum::<f64>();
    let height = if axis.ticks.is_empty() { bottom } else { bottom + 24.0 };
    let mut svg = format!("<svg {attributes} width=\"100%\" height=\"{height}\">{first}\n");
    let percent = |place: f64| format!("{:.3}%", 100.0 * place.clamp(0.0, 1.0));
    let mut top = 0.0;
    for (row, height) in rows.iter().zip(heights) {
        let _ = writeln!(
            svg,
            "<text x=\"0\" y=\"{0}\">{1}</text><text class=\"soft\" x=\"100%\" y=\"{0}\" \
             text-anchor=\"end\">{2}</text>",
            top + 18.0,
            escaped(&shortened(&row.label, LETTERS.saturating_sub(row.value.chars().count()).max(12))),
            escaped(&row.value)
        );
        // Lines cross only the bars, because the words are between the rows.
        let across = |svg: &mut String, class: &str, place: f64| {
            let (x, from, to) = (percent(place), top + 22.0, top + height - 6.0);
            let _ =
                writeln!(svg, "<line class=\"{class}\" x1=\"{x}\" x2=\"{x}\" y1=\"{from}\" y2=\"{to}\"/>");
        };
        axis.ticks.iter().for_each(|(place, _)| across(&mut svg, "grid", *place));
        for (k, segments) in row.bars.iter().enumerate() {
            let y = top + 25.0 + (BAR + GAP) * k as f64;
            let _ = writeln!(svg, "<rect class=\"rail\" x=\"0\" y=\"{y}\" width=\"100%\" height=\"{BAR}\"/>");
            for segment in segments.iter().filter(|segment| segment.to > segment.from) {
                // Even a very short bar is visible.
                let width = (segment.to.min(1.0) - segment.from).max(0.003);
                let from = segment.from.min(1.0 - width);
                let _ = writeln!(
                    svg,
                    "<rect class=\"{}\" x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{BAR}\"/>",
                    segment.class,
                    percent(from),
                    percent(width)
                );
            }
        }
        axis.limit.into_iter().for_each(|limit| across(&mut svg, "limit", limit));
        top += height;
    }
    for (place, text) in &axis.ticks {
        let anchor = match *place {
            place if place < 0.05 => "start",
            place if place > 0.93 => "end",
            _ => "middle",
        };
        let _ = writeln!(
            svg,
            "<text class=\"soft\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            percent(*place),
            bottom + 16.0,
            escaped(text)
        );
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_few_round_ticks_within() {
        for most in [0.0, 1e-9, 0.013, 1.0, 9.99, 41.0, 1e12, f64::NAN, f64::INFINITY] {
            let ticks = BarAxis::up_to(most, |tick| tick.to_string()).ticks;
            assert!(ticks.iter().all(|(place, _)| (0.0..=1.0).contains(place)), "{most}");
            assert_eq!(most.is_finite() && most > 0.0, (2..=5).contains(&ticks.len()), "{most}: {ticks:?}");
            assert!(BarAxis::of_bytes(most).ticks.len() <= 5, "{most}");
        }
    }

    #[test]
    fn bytes_have_round_ticks() {
        let ticks =
            |most| BarAxis::of_bytes(most).ticks.into_iter().map(|(_, tick)| tick).collect::<Vec<_>>();
        assert_eq!(ticks(3_343_538.0), ["0 MiB", "1 MiB", "2 MiB", "3 MiB"]);
        assert_eq!(ticks(700.0), ["0 bytes", "200 bytes", "400 bytes", "600 bytes"]);
        assert_eq!(ticks(2048.0), ["0 KiB", "0.5 KiB", "1 KiB", "1.5 KiB", "2 KiB"]);
    }

    /// No part lies outside the drawing, whatever the numbers are, and names are only text.
    #[test]
    fn bars_stay_within() {
        let rows: Vec<BarRow> = [-1.0, 0.0, 1e-12, 0.5, 1.0, 7.0, f64::NAN, f64::INFINITY]
            .map(|to| BarRow::single("<script>", "\"&".into(), to, "phase"))
            .into();
        let svg =
            draw("role=\"img\"", "", &rows, &BarAxis { ticks: vec![(0.5, "<b>".into())], limit: Some(2.0) });
        assert!(
            !svg.contains("NaN") && !svg.contains("inf") && !svg.contains("<script") && !svg.contains("<b>")
        );
        assert!(svg.contains("&lt;script&gt;") && !svg.contains("\"-"), "{svg}");
    }
}
