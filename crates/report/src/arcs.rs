//! Draws solderings between kinds of component: a list of the kinds, and an arc for each pair of them.

use std::fmt::Write as _;

use crate::html::escaped;
use crate::words::{plural, shortened};

/// Wires between two places of the list.
pub(crate) struct Arc {
    pub from: usize,
    pub to: usize,
    pub wires: u64,
}

const WIDTH: f64 = 400.0;
const ROW: f64 = 24.0;
/// The x coordinate where arcs begin and end, and the limit on the right.
const LEFT: f64 = 222.0;
const REACH: f64 = 170.0;
/// The length of a name.
const NAME: usize = 28;

/// Draws an SVG element with these attributes, which begins with `first`. Arcs of wires that lead down the
/// list are whole lines; arcs of wires that lead up or back to their own kind are broken.
pub(crate) fn draw(attributes: &str, first: &str, names: &[String], arcs: &[Arc]) -> String {
    let height = ROW * names.len() as f64 + 8.0;
    let mut svg = format!("<svg {attributes} class=\"arcs\" viewBox=\"0 0 {WIDTH} {height}\">{first}\n");
    let y = |place: usize| ROW * place as f64 + 16.0;
    for arc in arcs {
        let (from, to) = (y(arc.from) + 3.0, y(arc.to) - 3.0);
        let span = arc.from.abs_diff(arc.to) as f64 / names.len().max(2) as f64;
        // A cubic curve reaches three quarters of the distance to its control points.
        let reach = LEFT + (24.0 + (REACH - 24.0) * span) / 0.75;
        let class = if arc.from < arc.to { "arc" } else { "arc back" };
        let width = 1.0 + (arc.wires.max(1) as f64).log10() * 0.7;
        let _ = writeln!(
            svg,
            "<path class=\"{class}\" stroke-width=\"{width:.2}\" d=\"M{LEFT} {from:.1}C{reach:.1} {from:.1} \
             {reach:.1} {to:.1} {0} {to:.1}\"><title>{1} to {2}: {3}</title></path>\
             <path class=\"tip\" d=\"M{LEFT} {to:.1}l7 -3v6z\"/>",
            LEFT + 5.0,
            escaped(&names[arc.from]),
            escaped(&names[arc.to]),
            plural(arc.wires, "wire"),
        );
    }
    for (place, name) in names.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><circle class=\"dot\" cx=\"{}\" cy=\"{}\" \
             r=\"3.5\"/>",
            LEFT - 16.0,
            y(place) + 4.5,
            escaped(&shortened(name, NAME)),
            LEFT - 6.0,
            y(place)
        );
    }
    svg + "</svg>\n"
}
