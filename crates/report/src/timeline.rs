//! The times of phases and of messages.

use serde_json::Value;

use crate::bars::{self, BarAxis, BarRow, BarSegment};
use crate::html::{Cell, HtmlPage, HtmlTable};
use crate::parts::{list, longest, real, sum, text};
use crate::words;

/// A flight in one phase, with its times.
struct Leg<'a> {
    phase: &'a str,
    span: &'a Value,
    flight: &'a Value,
}

/// Returns all flights in their order.
fn legs(phases: &[Value]) -> Vec<Leg<'_>> {
    let of_phase = |phase| list(phase, "spans").iter().map(move |span| (text(phase, "name"), span));
    let spans = phases.iter().flat_map(of_phase);
    let of_span = |(phase, span)| list(span, "flights").iter().map(move |flight| Leg { phase, span, flight });
    let mut legs: Vec<Leg> = spans.flat_map(of_span).collect();
    legs.sort_by(|one, other| {
        let key = |leg: &Leg| (real(leg.span, "began_seconds"), real(leg.flight, "began_seconds"));
        let (one, other) = (key(one), key(other));
        one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    legs
}

/// Returns the number of all flights; a flight that belongs to several spans counts once.
pub(crate) fn flights(phases: &[Value]) -> usize {
    let legs = legs(phases);
    legs.chunk_by(|one, other| one.flight["from"] == other.flight["from"]).count()
}

/// Draws the phases, if the record has times.
pub(crate) fn section(page: &mut HtmlPage, phases: &[Value], seen_by: &str) {
    let spans = || phases.iter().flat_map(|phase| list(phase, "spans"));
    if spans().next().is_none() {
        return;
    }
    let end = longest(spans().map(|span| real(span, "ended_seconds")));
    let legs = legs(phases);
    let segment = |from: f64, to: f64, class| BarSegment { from: from / end, to: to / end, class };
    let mut rows: Vec<BarRow> = Vec::new();
    for phase in phases {
        let own = list(phase, "spans").iter();
        let bar = own.map(|span| segment(real(span, "began_seconds"), real(span, "ended_seconds"), "phase"));
        rows.push(BarRow {
            label: text(phase, "name").into(),
            value: words::seconds(real(phase, "seconds")),
            bars: vec![bar.collect()],
        });
    }
    for (from, class) in [("garbler", "garbler"), ("evaluator", "evaluator")] {
        let own = || legs.iter().filter(move |leg| leg.flight["from"] == from).map(|leg| leg.flight);
        let bar =
            own().map(|flight| segment(real(flight, "began_seconds"), real(flight, "ended_seconds"), class));
        let bytes = own().map(|flight| real(flight, "bytes")).sum::<f64>();
        rows.push(BarRow {
            label: format!("from the {from}"),
            value: words::bytes(bytes as u64),
            bars: vec![bar.collect()],
        });
    }
    let waits = legs.iter().map(|leg| leg.flight).filter(|flight| real(flight, "waited_seconds") > 0.0);
    let waited: f64 = waits.clone().map(|flight| real(flight, "waited_seconds")).sum();
    let bar = waits.map(|flight| {
        let began = real(flight, "began_seconds");
        segment(began, began + real(flight, "waited_seconds"), "waiting")
    });
    rows.push(BarRow {
        label: format!("the {seen_by} waits"),
        value: words::seconds(waited),
        bars: vec![bar.collect()],
    });
    page.section("Timeline");
    page.figure(
        "Phases, flights and waiting",
        &format!(
            "Times of the {seen_by}, from the greeting to the end. Phases follow each other. A flight is a \
             series of messages of one party without a message of the other between them. At the beginning \
             of each received flight, the chart shows how long the {seen_by} only waited."
        ),
        &[
            ("phase", "a phase runs"),
            ("garbler", "from the garbler"),
            ("evaluator", "from the evaluator"),
            ("waiting", "waiting"),
        ],
        &flights_table(&legs),
        |attributes, first| bars::draw(attributes, first, &rows, &BarAxis::up_to(end, words::seconds)),
    );
    let drawn: f64 = spans().map(|span| real(span, "ended_seconds") - real(span, "began_seconds")).sum();
    let missing = sum(phases, "seconds") - drawn;
    if missing > 1e-6 * end {
        page.paragraph(&format!(
            "Of a long session, the record keeps only the first spans: {} more are not drawn.",
            words::seconds(missing)
        ));
    }
    page.details(&spans_table(phases));
}

fn flights_table(legs: &[Leg]) -> HtmlTable {
    let cells = |leg: &Leg| {
        vec![
            Cell::text(leg.phase),
            Cell::text(text(leg.flight, "from")),
            Cell::seconds(&leg.flight["began_seconds"]),
            Cell::seconds(&leg.flight["ended_seconds"]),
            Cell::seconds(&leg.flight["waited_seconds"]),
            Cell::number(&leg.flight["bytes"]),
        ]
    };
    HtmlTable {
        caption: "Flights, by phase".into(),
        head: vec!["phase", "from", "began", "ended", "waited", "bytes"],
        rows: legs.iter().map(cells).collect(),
    }
}

fn spans_table(phases: &[Value]) -> HtmlTable {
    let mut rows = Vec::new();
    for phase in phases {
        let cells = |span: &Value| {
            vec![
                Cell::text(text(phase, "name")),
                Cell::seconds(&span["began_seconds"]),
                Cell::seconds(&span["ended_seconds"]),
            ]
        };
        rows.extend(list(phase, "spans").iter().map(cells));
    }
    HtmlTable { caption: "When each phase ran".into(), head: vec!["phase", "began", "ended"], rows }
}
