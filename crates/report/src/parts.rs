//! Parts of several kinds of pages.

use serde_json::Value;

use crate::bars::{self, BarAxis, BarRow, BarSegment};
use crate::html::{Cell, HtmlPage, HtmlTable};
use crate::words::{self, thousands};

/// Returns the elements of a list, or none.
pub(crate) fn list<'a>(of: &'a Value, field: &str) -> &'a [Value] {
    of[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns a text, or an empty one.
pub(crate) fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of[field].as_str().unwrap_or_default()
}

/// Returns a number, or 0.
pub(crate) fn real(of: &Value, field: &str) -> f64 {
    of[field].as_f64().filter(|number| number.is_finite()).unwrap_or_default()
}

/// Returns the sum of a field.
pub(crate) fn sum(of: &[Value], field: &str) -> f64 {
    of.iter().map(|one| real(one, field)).sum()
}

/// Returns the largest length, for the scale of bars; never 0.
pub(crate) fn longest(lengths: impl Iterator<Item = f64>) -> f64 {
    lengths.fold(f64::MIN_POSITIVE, f64::max)
}

/// Returns a count of bytes as bars and axes show it.
fn bytes(count: f64) -> String {
    words::bytes(count as u64)
}

/// Adds the times of the phases, as bars of one class with a legend.
pub(crate) fn durations(
    page: &mut HtmlPage,
    phases: &[Value],
    about: &str,
    class: (&'static str, &str),
    table: &HtmlTable,
) {
    let most = longest(phases.iter().map(|phase| real(phase, "seconds")));
    let row = |phase: &Value| {
        let seconds = real(phase, "seconds");
        BarRow::single(text(phase, "name"), words::seconds(seconds), seconds / most, class.0)
    };
    page.section("Time");
    page.figure("Seconds of each phase", about, &[class], table, |attributes, first| {
        let rows: Vec<BarRow> = phases.iter().map(row).collect();
        bars::draw(attributes, first, &rows, &BarAxis::up_to(most, words::seconds))
    });
}

/// Adds the bytes that each party sent in each phase.
pub(crate) fn traffic(page: &mut HtmlPage, phases: &[Value]) {
    let both = |phase: &Value| [real(phase, "garbler_sent_bytes"), real(phase, "evaluator_sent_bytes")];
    let most = longest(phases.iter().flat_map(both));
    let row = |phase: &Value| {
        let [garbler, evaluator] = both(phase);
        let bar = |length: f64, class| vec![BarSegment { from: 0.0, to: length / most, class }];
        BarRow {
            label: text(phase, "name").into(),
            value: format!("{} and {}", bytes(garbler), bytes(evaluator)),
            bars: vec![bar(garbler, "garbler"), bar(evaluator, "evaluator")],
        }
    };
    let cells = |phase: &Value| {
        vec![
            Cell::text(text(phase, "name")),
            Cell::number(&phase["garbler_sent_bytes"]),
            Cell::number(&phase["evaluator_sent_bytes"]),
        ]
    };
    let table = HtmlTable {
        caption: "Bytes of each phase".into(),
        head: vec!["phase", "garbler sent, bytes", "evaluator sent, bytes"],
        rows: phases.iter().map(cells).collect(),
    };
    page.section("Bytes by direction");
    page.figure(
        "Bytes that each party sent",
        "For each phase, the bytes that the garbler sent and the bytes that the evaluator sent, with \
         framing, on one scale.",
        &[("garbler", "from the garbler"), ("evaluator", "from the evaluator")],
        &table,
        |attributes, first| {
            bars::draw(
                attributes,
                first,
                &phases.iter().map(row).collect::<Vec<_>>(),
                &BarAxis::of_bytes(most),
            )
        },
    );
}

/// Adds the phases of a prediction, as a table that can be opened.
pub(crate) fn traffic_table(page: &mut HtmlPage, phases: &[Value]) {
    let cells = |phase: &Value| {
        vec![
            Cell::text(text(phase, "name")),
            Cell::seconds(&phase["seconds"]),
            Cell::number(&phase["garbler_sent_bytes"]),
            Cell::number(&phase["evaluator_sent_bytes"]),
            Cell::number(&phase["crossings"]),
        ]
    };
    page.details(&HtmlTable {
        caption: "Predicted, by phase".into(),
        head: vec!["phase", "seconds", "garbler sends", "evaluator sends", "crossings"],
        rows: phases.iter().map(cells).collect(),
    });
}

/// Adds a picture of the promise: the shares of the bound, and each check by itself.
pub(crate) fn budget(page: &mut HtmlPage, promise: &Value) {
    let Some(bound) = promise["bound_log2"].as_f64() else { return };
    page.section("Security budget");
    let asked = promise["statistical_bits"].as_f64().unwrap_or(-bound);
    let mut spent: Vec<&Value> = list(promise, "budget").iter().collect();
    spent.sort_by(|one, other| real(other, "bound_log2").total_cmp(&real(one, "bound_log2")));
    let share = |log2: f64| (log2 + asked).exp2().clamp(0.0, 1.0);
    if spent.is_empty() {
        page.paragraph(&format!(
            "A cheater succeeds with probability at most {}; the user asked for 2^-{asked}. This protocol \
             reports only its total bound.",
            words::at_most(bound)
        ));
        return;
    }
    let table = checks_table(promise);
    shares(page, &spent, bound, asked, share, &table);
    each_check(page, &spent, asked, &table);
}

/// Returns the table of the probability that each check leaves.
fn checks_table(promise: &Value) -> HtmlTable {
    let cells = |one: &Value| {
        let percent = 100.0 * (real(one, "bound_log2") + real(promise, "statistical_bits")).exp2();
        let percent = if percent < 0.1 { "less than 0.1 %".into() } else { format!("{percent:.1} %") };
        vec![Cell::text(text(one, "check")), Cell::bound(&one["bound_log2"]), Cell::text(percent)]
    };
    HtmlTable {
        caption: "A cheater's probability to pass each check".into(),
        head: vec!["check", "bound", "of the budget"],
        rows: list(promise, "budget").iter().map(cells).collect(),
    }
}

/// Adds the table of checks, which the reader can open, if there is any check.
pub(crate) fn budget_table(page: &mut HtmlPage, promise: &Value) {
    if !list(promise, "budget").is_empty() {
        page.details(&checks_table(promise));
    }
}

const SHARES: [&str; 5] = ["share0", "share1", "share2", "share3", "share4"];

/// Adds one bar: the budget, and the part of each check.
fn shares(
    page: &mut HtmlPage,
    spent: &[&Value],
    bound: f64,
    asked: f64,
    share: impl Fn(f64) -> f64,
    table: &HtmlTable,
) {
    let mut segments = Vec::new();
    let (mut at, mut others, mut legend) = (0.0, 0.0, Vec::new());
    for (k, one) in spent.iter().enumerate() {
        let own = share(real(one, "bound_log2"));
        match SHARES.get(k) {
            Some(class) if k + 1 < SHARES.len() || spent.len() == SHARES.len() => {
                segments.push(BarSegment { from: at, to: at + own, class });
                legend.push((*class, text(one, "check")));
                at += own;
            }
            _ => others += own,
        }
    }
    if others > 0.0 {
        let class = SHARES[SHARES.len() - 1];
        segments.push(BarSegment { from: at, to: at + others, class });
        legend.push((class, "all other checks"));
        at += others;
    }
    segments.push(BarSegment { from: at, to: 1.0, class: "rest" });
    legend.push(("rest", "not spent"));
    let row = BarRow {
        label: "all checks together".into(),
        value: format!("at most {}", words::at_most(bound)),
        bars: vec![segments],
    };
    let half = format!("2^-{}", asked + 1.0);
    let axis =
        BarAxis { ticks: vec![(0.0, "0".into()), (0.5, half), (1.0, format!("2^-{asked}"))], limit: None };
    page.figure(
        &format!("How the checks share 2^-{asked}"),
        "The full width is the probability that the user allowed a cheater. Each segment is the probability \
         that a cheater passes one check. All segments together are the bound of the run.",
        &legend,
        table,
        |attributes, first| bars::draw(attributes, first, &[row], &axis),
    );
}

/// Most checks with a bar of their own.
const MOST_CHECKS: usize = 24;

/// Adds a bar for each check, in bits.
fn each_check(page: &mut HtmlPage, spent: &[&Value], asked: f64, table: &HtmlTable) {
    let bits = |one: &Value| -real(one, "bound_log2");
    let most = longest(spent.iter().map(|one| bits(one)).chain([asked])) * 1.02;
    let row = |one: &&Value| {
        let value = words::at_most(real(one, "bound_log2"));
        BarRow::single(text(one, "check"), value, bits(one) / most, "bits")
    };
    let rows: Vec<BarRow> = spent.iter().take(MOST_CHECKS).map(row).collect();
    let mut description = format!(
        "Security of each check in bits, on a logarithmic scale: with 10 bits more, a cheater's probability \
         is a thousandth. The broken line marks the {asked} bits that the user asked for, for all checks \
         together."
    );
    if spent.len() > MOST_CHECKS {
        description += &format!(
            " The chart shows the {MOST_CHECKS} checks with the largest shares; the table has all {}.",
            thousands(spent.len() as u64)
        );
    }
    let axis = BarAxis::up_to(most, |tick| format!("{tick} bits"));
    let axis = BarAxis { limit: Some(asked / most), ..axis };
    page.figure(
        "Each check by itself",
        &description,
        &[("bits", "bits of the check")],
        table,
        |attributes, first| bars::draw(attributes, first, &rows, &axis),
    );
}

/// A kind of item that is made, opened and put into buckets, with the same fields for every protocol.
struct Bucketing<'a> {
    name: String,
    slots: &'a Value,
    bucket: &'a Value,
    made: &'a Value,
    opened: &'a Value,
}

impl<'a> Bucketing<'a> {
    /// Reads a batch of a promise, or the promise's triples, which have no name.
    fn of(value: &'a Value) -> Self {
        Bucketing {
            name: value["name"].as_str().unwrap_or("triples").to_owned(),
            slots: value.get("slots").unwrap_or(&value["used"]),
            bucket: &value["bucket_size"],
            made: value.get("copies").unwrap_or(&value["leaky_ands"]),
            opened: &value["opened"],
        }
    }
}

/// Returns all kinds of item in a promise.
fn bucketings(promise: &Value) -> Vec<Bucketing<'_>> {
    let triples = promise.get("triples");
    list(promise, "batches").iter().chain(triples).map(Bucketing::of).collect()
}

fn made_table(bucketings: &[Bucketing], program: &Value) -> HtmlTable {
    let ands = |name: &str| {
        let found = list(program, "components").iter().find(|component| component["name"] == name);
        found.map_or(&Value::Null, |component| &component["and_gates"])
    };
    let cells = |one: &Bucketing| {
        vec![
            Cell::text(&one.name),
            Cell::number(one.slots),
            Cell::number(ands(&one.name)),
            Cell::number(one.bucket),
            Cell::number(one.made),
            Cell::number(one.opened),
        ]
    };
    HtmlTable {
        caption: "Items that are made and checked".into(),
        head: vec!["kind", "slots", "ANDs of one", "bucket size B", "copies", "of them opened"],
        rows: bucketings.iter().map(cells).collect(),
    }
}

/// Adds the table of items, which the reader can open, if there is any item.
pub(crate) fn bucketings_table(page: &mut HtmlPage, promise: &Value) {
    let bucketings = bucketings(promise);
    if !bucketings.is_empty() {
        page.details(&made_table(&bucketings, &Value::Null));
    }
}

/// Most kinds of item with a bar of their own.
const MOST_BUCKETINGS: usize = 24;

/// Adds the numbers of copies made, opened and put into buckets.
pub(crate) fn components(page: &mut HtmlPage, promise: &Value, program: &Value) {
    let bucketings = bucketings(promise);
    if bucketings.is_empty() {
        return;
    }
    let table = made_table(&bucketings, program);
    let counts = |one: &Bucketing| [one.opened, one.made].map(|count| count.as_f64().unwrap_or_default());
    let mut largest: Vec<&Bucketing> = bucketings.iter().collect();
    largest.sort_by(|one, other| counts(other)[1].total_cmp(&counts(one)[1]));
    largest.truncate(MOST_BUCKETINGS);
    let most = longest(largest.iter().map(|one| counts(one)[1]));
    let row = |one: &&Bucketing| {
        let [opened, made] = counts(one);
        let segments = vec![
            BarSegment { from: 0.0, to: (made - opened) / most, class: "kept" },
            BarSegment { from: (made - opened) / most, to: made / most, class: "opened" },
        ];
        let value = format!("{} copies, B = {}", thousands(made as u64), one.bucket);
        BarRow { label: one.name.clone(), value, bars: vec![segments] }
    };
    let rows: Vec<BarRow> = largest.iter().map(row).collect();
    page.section("Components");
    page.figure(
        "Copies that were made",
        "All copies of each kind: the copies in buckets of B, which the evaluator uses, and the copies that \
         the evaluator chose to open, garbled again and compared.",
        &[("kept", "kept in buckets"), ("opened", "opened and checked")],
        &table,
        |attributes, first| {
            bars::draw(attributes, first, &rows, &BarAxis::up_to(most, |tick| thousands(tick as u64)))
        },
    );
}

/// Adds the other fields of a promise as a table.
pub(crate) fn promise(page: &mut HtmlPage, promise: &Value) {
    let mut rows = Vec::new();
    promise_rows("", promise, &mut rows);
    let table =
        HtmlTable { caption: "The whole promise".into(), head: vec!["of the promise", "value"], rows };
    page.details(&table);
}

/// Gathers a row for each field of a promise that is a number, a text or a list of numbers. Other lists have
/// tables of their own.
fn promise_rows(of: &str, fields: &Value, rows: &mut Vec<Vec<Cell>>) {
    for (name, value) in fields.as_object().into_iter().flatten() {
        let name = format!("{of}{}", name.replace('_', " "));
        match value {
            Value::Number(_) if name.ends_with("bound log2") => {
                rows.push(vec![Cell::text(name.replace(" log2", "")), Cell::bound(value)]);
            }
            Value::Array(all) if all.iter().all(Value::is_number) => {
                let names =
                    ["length", "dimension", "distance"].into_iter().chain(std::iter::repeat("further"));
                let row = |(what, number): (&str, &Value)| {
                    vec![Cell::text(format!("{name}: {what}")), Cell::number(number)]
                };
                rows.extend(names.zip(all).map(row));
            }
            Value::Array(_) => {}
            Value::Object(_) => promise_rows(&format!("{name}: "), value, rows),
            value => rows.push(vec![Cell::text(name), Cell::any(value)]),
        }
    }
}

/// Adds the numbers of an object, as a table that the reader can open.
pub(crate) fn constants(page: &mut HtmlPage, caption: &str, of: &[(&str, &Value)]) {
    let mut rows = Vec::new();
    for (name, value) in of {
        match value {
            Value::Object(fields) => {
                let own = fields.iter().map(|(field, value)| {
                    vec![Cell::text(format!("{name}: {}", field.replace('_', " "))), Cell::any(value)]
                });
                rows.extend(own);
            }
            value => rows.push(vec![Cell::text(*name), Cell::any(value)]),
        }
    }
    page.details(&HtmlTable { caption: caption.into(), head: vec!["what", "value"], rows });
}
