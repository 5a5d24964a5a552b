//! The status page: one HTML file without scripts, which loads nothing and contains no value of a party.

use std::fmt::Write;
use std::time::SystemTime;

use brickwork::duplo::Duplo;
use brickwork::protocol::stock::inventory::inventory;
use brickwork_report::html::escaped;

use super::desk::Desk;
use crate::commands::files;
use crate::render::report::{bytes, hex, plural, thousands};

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #8888; padding: .3rem .6rem; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
code { overflow-wrap: anywhere; }
";

/// Returns the status page.
pub fn page(desk: &Desk) -> String {
    let config = desk.config();
    let role = files::role(desk.party);
    let peer = match (desk.is_stopping(), desk.figures.is_connected()) {
        (true, _) => "this party is shutting down",
        (_, true) => "connected",
        (_, false) => "not connected",
    };
    let (runs, line) = desk.figures.totals(config.programs.values().map(|allowed| allowed.name.clone()));
    let latency = desk.figures.latency().map_or("no run yet".to_owned(), |[median, most]| {
        format!("{:.1} ms median, {:.1} ms for the slowest in a hundred", median * 1e3, most * 1e3)
    });
    let mut html = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        html,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Brickwork: \
         {role}</title><style>{STYLE}</style></head><body><main>\n<h1>Brickwork, \
         {role}</h1>\n<table><tr><th scope=\"row\">Peer</th><td id=\"peer\">{peer}</td></tr><tr><th \
         scope=\"row\">Programs run since the start</th><td>{}</td></tr><tr><th scope=\"row\">Bytes for \
         them, both ways</th><td>{}</td></tr><tr><th \
         scope=\"row\">Latency</th><td>{latency}</td></tr><tr><th scope=\"row\">Requests that \
         wait</th><td>{}</td></tr></table>\n<h2>Programs</h2>\n<div class=\"wide\"><table><thead><tr><th \
         scope=\"col\">Program</th><th scope=\"col\">In stock</th><th scope=\"col\">Marks</th><th \
         scope=\"col\">Run, ever</th><th scope=\"col\">Budget</th><th \
         scope=\"col\">Digest</th></tr></thead><tbody>\n",
        thousands(runs),
        bytes(line),
        desk.waiting()[0],
    );
    for allowed in config.programs.values() {
        let there = desk.in_stock(allowed).map_or("cannot be read".to_owned(), thousands);
        let budget = allowed.budget;
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td class=\"number\">{there}</td><td>{} to {}</td><td \
             class=\"number\">{}</td><td>{budget}</td><td><code>{}</code></td></tr>",
            escaped(&allowed.name),
            thousands(allowed.low),
            thousands(allowed.high),
            thousands(desk.runs(allowed)),
            &hex(&allowed.digest)[..16],
        );
    }
    html.push_str("</tbody></table></div>\n<h2>Stock</h2>\n");
    stock(desk, &mut html);
    html.push_str("<h2>Last errors</h2>\n<ul>\n");
    let errors = desk.figures.errors();
    if errors.is_empty() {
        html.push_str("<li>none</li>\n");
    }
    for (when, what) in errors.iter().rev() {
        let ago = SystemTime::now().duration_since(*when).map_or(0, |ago| ago.as_secs());
        let _ = writeln!(html, "<li>{} ago: {}</li>", plural(ago, "second"), escaped(what));
    }
    html.push_str("</ul>\n</main></body></html>\n");
    html
}

/// Adds the stock of each component.
fn stock(desk: &Desk, html: &mut String) {
    let parts = match inventory::<Duplo>(&desk.store) {
        Ok(parts) => parts,
        Err(why) => {
            let _ = writeln!(html, "<p>{}</p>", escaped(&why.to_string()));
            return;
        }
    };
    let mut left = std::collections::BTreeMap::<String, u64>::new();
    for batch in parts.iter().filter(|part| !part.is_lost()).flat_map(|part| &part.batches) {
        *left.entry(batch.name.clone()).or_default() += batch.left;
    }
    html.push_str(
        "<table><thead><tr><th scope=\"col\">Component</th><th scope=\"col\">Left</th></tr></thead><tbody>\n",
    );
    for (name, left) in left {
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td class=\"number\">{}</td></tr>",
            escaped(&name),
            thousands(left)
        );
    }
    html.push_str("</tbody></table>\n");
}
