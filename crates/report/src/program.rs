//! The page of a program, and the section about the program in pages of runs and plans.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::arcs::{self, Arc};
use crate::bars::{self, BarAxis, BarRow};
use crate::html::{Cell, HtmlPage, HtmlTable};
use crate::parts::{list, longest, real, text};
use crate::words::{self, plural, thousands};

/// Returns the page of the JSON of `info`.
pub(crate) fn page(record: &Value) -> String {
    let name = text(record, "name");
    let mut page = HtmlPage::new(record, name, "A program");
    page.facts(&[
        ("AND gates", Cell::number(&record["and_gates"])),
        ("Slots", Cell::number(&record["slots"])),
        ("AND depth", Cell::number(&record["and_depth"])),
        ("Gates of any kind", Cell::number(&record["gates"])),
        ("Wires", Cell::number(&record["wires"])),
    ]);
    page.section("Inputs and outputs");
    page.table(&ports(record));
    kinds(&mut page, record);
    solderings(&mut page, record);
    digest(&mut page, record);
    page.document(&format!("{name}: a program"))
}

/// Returns the table of the program's inputs and outputs.
fn ports(program: &Value) -> HtmlTable {
    let fields = [("garbler_inputs", "the garbler gives"), ("evaluator_inputs", "the evaluator gives")];
    let mut rows = Vec::new();
    let row = |port: &Value, who: &str| {
        let about = [Cell::text(who), Cell::text(text(port, "type")), Cell::number(&port["width"])];
        std::iter::once(Cell::text(text(port, "name"))).chain(about).collect::<Vec<_>>()
    };
    for (field, who) in fields {
        rows.extend(list(program, field).iter().map(|port| row(port, who)));
    }
    rows.extend(list(program, "outputs").iter().map(|port| {
        let who = match text(port, "to") {
            "both" => "both learn".to_owned(),
            "nobody" => "is kept".into(),
            party => format!("the {party} learns"),
        };
        row(port, &who)
    }));
    HtmlTable { caption: "Inputs and outputs".into(), head: vec!["name", "whose", "type", "bits"], rows }
}

/// Most kinds with a bar of their own.
const MOST_BARS: usize = 24;

/// Adds the chart and the table of the kinds of component.
fn kinds(page: &mut HtmlPage, program: &Value) {
    let components = list(program, "components");
    let ands = |component: &Value| real(component, "and_gates") * real(component, "slots");
    let mut largest: Vec<&Value> = components.iter().collect();
    largest.sort_by(|one, other| ands(other).total_cmp(&ands(one)));
    largest.truncate(MOST_BARS);
    let most = longest(largest.iter().map(|component| ands(component)));
    let row = |component: &&Value| {
        let slots = plural(component["slots"].as_u64().unwrap_or_default(), "slot");
        let value = format!("{} ANDs in {slots}", thousands(ands(component) as u64));
        BarRow::single(text(component, "name"), value, ands(component) / most, "kept")
    };
    let rows: Vec<BarRow> = largest.iter().map(row).collect();
    page.section("Components");
    page.figure(
        "AND gates by component",
        "For each component, its AND gates in all slots together; the largest component comes first.",
        &[("kept", "AND gates")],
        &components_table(components),
        |attributes, first| {
            bars::draw(attributes, first, &rows, &BarAxis::up_to(most, |tick| thousands(tick as u64)))
        },
    );
}

fn components_table(components: &[Value]) -> HtmlTable {
    let fields = ["slots", "and_gates", "gates", "wires", "and_depth", "inputs", "outputs"];
    let cells = |component: &Value| {
        let numbers = fields.iter().map(|field| Cell::number(&component[field]));
        std::iter::once(Cell::text(text(component, "name"))).chain(numbers).collect()
    };
    HtmlTable {
        caption: "Components of the program".into(),
        head: vec!["component", "slots", "ANDs of one", "gates", "wires", "AND depth", "inputs", "outputs"],
        rows: components.iter().map(cells).collect(),
    }
}

/// Adds the section about the program to the page of a run or a plan.
pub(crate) fn section(page: &mut HtmlPage, program: &Value) {
    solderings(page, program);
    let fields = ["and_gates", "slots", "and_depth", "gates", "wires"];
    let row = |field: &str| vec![Cell::text(field.replace('_', " ")), Cell::number(&program[field])];
    let rows = fields.into_iter().map(row).collect();
    page.section("Program");
    page.paragraph(
        "The table shows one execution of the program in this cut; a run of several executions repeats it.",
    );
    page.details(&HtmlTable { caption: "In all".into(), head: vec!["what", "how many"], rows });
    page.details(&components_table(list(program, "components")));
    page.details(&ports(program));
    digest(page, program);
}

fn digest(page: &mut HtmlPage, program: &Value) {
    page.section("Digest");
    page.paragraph("The digest is the BLAKE3 hash of the program. Both parties compare it first.");
    page.code(text(program, "digest"));
}

/// Most kinds of component that are drawn by themselves; the others are drawn as one.
const MOST_KINDS: usize = 60;

/// Returns the place of a soldering's end in the list of kinds, and its name. Inputs come first, then
/// components in the order of the program, then outputs.
fn name(end: &Value, is_source: bool, components: &[Value]) -> (u8, u64, String) {
    match (end.as_u64(), is_source) {
        (Some(place), _) => {
            let component = usize::try_from(place).ok().and_then(|place| components.get(place));
            (1, place, component.map_or("a component", |component| text(component, "name")).into())
        }
        (None, true) => {
            let party = end.as_str().unwrap_or_default();
            (0, u64::from(party != "garbler"), format!("input of the {party}"))
        }
        (None, false) => match end.as_str().unwrap_or_default() {
            "both" => (2, 2, "output to both".into()),
            "nobody" => (2, 3, "kept for later steps".into()),
            party => (2, u64::from(party != "garbler"), format!("output to the {party}")),
        },
    }
}

fn solderings(page: &mut HtmlPage, program: &Value) {
    let (components, solderings) = (list(program, "components"), list(program, "solderings"));
    if solderings.is_empty() {
        return;
    }
    let ends = |soldering: &Value| {
        [name(&soldering["from"], true, components), name(&soldering["to"], false, components)]
    };
    // The kinds of component with most wires are drawn by themselves; the others are drawn as one.
    let mut busy = BTreeMap::<u64, f64>::new();
    for soldering in solderings {
        for (kind, place, _) in ends(soldering) {
            if kind == 1 {
                *busy.entry(place).or_default() += real(soldering, "wires");
            }
        }
    }
    let mut order: Vec<(u64, f64)> = busy.into_iter().collect();
    order.sort_by(|one, other| other.1.total_cmp(&one.1));
    let others = order.len().saturating_sub(MOST_KINDS);
    let shown: Vec<u64> = match others {
        0 => order.iter().map(|kind| kind.0).collect(),
        _ => order[..MOST_KINDS - 1].iter().map(|kind| kind.0).collect(),
    };
    let place = |(kind, at, name): (u8, u64, String)| match kind == 1 && !shown.contains(&at) {
        true => (1, u64::MAX, format!("{} other kinds", thousands(others as u64 + 1))),
        false => (kind, at, name),
    };
    let mut arcs = BTreeMap::<[(u8, u64, String); 2], u64>::new();
    for soldering in solderings {
        *arcs.entry(ends(soldering).map(place)).or_default() +=
            soldering["wires"].as_u64().unwrap_or_default();
    }
    let mut nodes: Vec<(u8, u64, String)> = arcs.keys().flatten().cloned().collect();
    nodes.sort();
    nodes.dedup();
    let at = |node: &(u8, u64, String)| nodes.binary_search(node).unwrap_or_default();
    let arcs: Vec<Arc> =
        arcs.iter().map(|([from, to], &wires)| Arc { from: at(from), to: at(to), wires }).collect();
    let names: Vec<String> = nodes.iter().map(|node| node.2.clone()).collect();
    let cells = |soldering: &Value| {
        let [from, to] = ends(soldering);
        vec![Cell::text(from.2), Cell::text(to.2), Cell::number(&soldering["wires"])]
    };
    let table = HtmlTable {
        caption: "Wires from kind to kind".into(),
        head: vec!["from", "to", "wires"],
        rows: solderings.iter().map(cells).collect(),
    };
    page.section("Solderings");
    page.figure(
        "Solderings between components",
        &format!(
            "Inputs, {} and outputs in their order. An arc leads from one to another if wires do, and more \
             wires make it wider. Broken arcs lead back, or to another slot of the same component.",
            words::plural(shown.len() as u64, "kind of component")
                .replace("kind of components", "kinds of component")
        ),
        &[],
        &table,
        |attributes, first| arcs::draw(attributes, first, &names, &arcs),
    );
}
