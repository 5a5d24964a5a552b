//! Puts many mutants into one source text, each behind a switch, so that one build serves all of them.
//!
//! A mutant replaces an expression, returns at once from a function, removes a statement, or keeps an arm of
//! a `match` from matching. All of these are *insertions*: `a == b` becomes `(if on(7) { a != b } else { a ==
//! b })`. The first branch is the original text without the switches of other mutants, because only one
//! switch is on at a time.

use std::ops::Range;

/// A change to a source text, with places in bytes.
#[derive(Clone, Debug)]
pub enum SourceChange {
    /// This text replaces the expression in the range.
    Expression(Range<usize>, String),
    /// This statement, or none, replaces the statement in the range.
    Statement(Range<usize>, String),
    /// The function returns this value at once; the position is the start of the first statement of its body.
    Return(usize, String),
    /// The condition in the range, with its `let`s, does not hold.
    Never(Range<usize>),
    /// The arm whose `=>` is there does not match.
    Arm(usize),
}

/// The text to insert before and after a range.
struct Insertion {
    at: Range<usize>,
    before: String,
    after: &'static str,
    mutant: usize,
}

impl SourceChange {
    /// Returns whether the change removes a statement.
    pub fn deletes(&self) -> bool {
        matches!(self, SourceChange::Statement(_, text) if text.is_empty())
    }

    fn insertion(&self, mutant: usize) -> Insertion {
        let on = format!("crate::mutants::on({mutant})");
        let (at, before, after) = match self {
            SourceChange::Expression(at, text) => {
                (at.clone(), format!("(if {on} {{ {text} }} else {{ "), " })")
            }
            SourceChange::Statement(at, text) => (at.clone(), format!("if {on} {{ {text} }} else {{ "), " }"),
            SourceChange::Return(at, value) => (*at..*at, format!("if {on} {{ return {value}; }} "), ""),
            SourceChange::Never(at) => (at.clone(), format!("!{on} && "), ""),
            SourceChange::Arm(at) => (*at..*at, format!("if !{on} "), ""),
        };
        Insertion { at, before, after, mutant }
    }
}

/// A text with its mutants, and the places of the mutants.
#[derive(Default)]
pub struct Woven {
    pub text: String,
    places: Vec<(Range<usize>, usize)>,
}

impl Woven {
    /// Returns the mutant that wrote the text at this byte.
    pub fn mutant_at(&self, byte: usize) -> Option<usize> {
        self.places.iter().find(|(place, _)| place.contains(&byte)).map(|(_, mutant)| *mutant)
    }

    /// Returns the mutants that begin in this range.
    pub fn mutants_in(&self, range: Range<usize>) -> Vec<usize> {
        self.places.iter().filter(|(at, _)| range.contains(&at.start)).map(|(_, mutant)| *mutant).collect()
    }
}

/// Weaves these mutants, given by number, into a text.
pub fn weave<'a>(text: &str, mutants: impl IntoIterator<Item = (usize, &'a SourceChange)>) -> Woven {
    let insertions: Vec<Insertion> =
        mutants.into_iter().map(|(number, change)| change.insertion(number)).collect();
    let length = |i: usize| insertions[i].at.len();
    // At one place, inner ranges close first, then insertions without a range follow, then outer ranges open
    // first.
    let mut events: Vec<(usize, u8, usize, usize)> = Vec::new();
    for (i, insertion) in insertions.iter().enumerate() {
        match insertion.at.len() {
            0 => events.push((insertion.at.start, 1, i, i)),
            n => events.extend([(insertion.at.start, 2, usize::MAX - n, i), (insertion.at.end, 0, n, i)]),
        }
    }
    events.sort_by(|a, b| {
        let order = if a.1 == 0 { b.3.cmp(&a.3) } else { a.3.cmp(&b.3) };
        (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)).then(order)
    });
    let (mut woven, mut from) = (Woven::default(), 0);
    for (at, kind, _, i) in events {
        woven.text.push_str(&text[from..at]);
        from = at;
        if kind == 0 && length(i) > 0 {
            woven.text.push_str(insertions[i].after);
        } else {
            let start = woven.text.len();
            woven.text.push_str(&insertions[i].before);
            woven.places.push((start..woven.text.len(), insertions[i].mutant));
        }
    }
    woven.text.push_str(&text[from..]);
    woven
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_nest_and_share_places() {
        let text = "fn f() { a == b && c }";
        let at = |part: &str| text.find(part).unwrap()..text.find(part).unwrap() + part.len();
        let changes = [
            SourceChange::Return(9, "1".into()),
            SourceChange::Expression(at("a == b"), "a != b".into()),
            SourceChange::Expression(at("a == b && c"), "a == b || c".into()),
            SourceChange::Expression(at("a == b && c"), "false".into()),
        ];
        let woven = weave(text, changes.iter().enumerate());
        let on = |n: usize| format!("if crate::mutants::on({n})");
        let expected = format!(
            "fn f() {{ {} {{ return 1; }} ({} {{ a == b || c }} else {{ ({} {{ false }} else {{ ({} {{ a != \
             b }} else {{ a == b }}) && c }}) }}) }}",
            on(0),
            on(2),
            on(3),
            on(1)
        );
        assert_eq!(woven.text, expected);
        assert_eq!(woven.mutant_at(woven.text.find("a == b ||").unwrap()), Some(2));
        assert_eq!(woven.mutant_at(woven.text.find("false").unwrap()), Some(3));
        assert_eq!(woven.mutant_at(0), None);
        syn::parse_file(&woven.text).expect("is Rust");
    }

    #[test]
    fn statements_arms_and_conditions_are_switched_off() {
        let text = "fn f() { g()?; if let Some(x) = y { h() } match z { 1 => 2, _ => 3 } }";
        let at = |part: &str| text.find(part).unwrap()..text.find(part).unwrap() + part.len();
        let changes = [
            SourceChange::Statement(at("g()?;"), "let _ = g();".into()),
            SourceChange::Never(at("let Some(x) = y")),
            SourceChange::Arm(text.find("=> 2").unwrap()),
        ];
        let woven = weave(text, changes.iter().enumerate()).text;
        assert!(woven.contains("if crate::mutants::on(0) { let _ = g(); } else { g()?; }"), "{woven}");
        assert!(woven.contains("if !crate::mutants::on(1) && let Some(x) = y {"), "{woven}");
        assert!(woven.contains("1 if !crate::mutants::on(2) => 2"), "{woven}");
        syn::parse_file(&woven).expect("is Rust");
    }
}
