//! Messages on the lines of the command, beside a protocol: a peer's sheet before a run, the words of
//! services, and the call of a maker.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use brickwork_cli::parsers;

/// More is not shown of a peer's words.
const MOST_SHOWN: usize = 2000;

/// Reads what the first byte says: a garbler's sheet, an evaluator's, what a service says of a connection,
/// what drives one of its lines, what it hears there, or a call. Returns whether it was understood.
pub fn lines(data: &[u8]) -> bool {
    let Some((&what, bytes)) = data.split_first() else { return false };
    match what % 6 {
        0 => sheet(bytes, true),
        1 => sheet(bytes, false),
        2 => again(parsers::service_sheet, bytes),
        3 => again(parsers::service_says, bytes),
        4 => again(parsers::service_hears, bytes),
        _ => again(parsers::call, bytes),
    }
}

/// A message that is understood means the same when it was written again.
fn again(read: fn(&[u8]) -> Option<Vec<u8>>, bytes: &[u8]) -> bool {
    let Some(once) = read(bytes) else { return false };
    assert_eq!(read(&once).as_ref(), Some(&once));
    true
}

/// No sheet of a peer makes words that move a cursor or paint lines.
fn sheet(bytes: &[u8], of_garbler: bool) -> bool {
    let Some((once, words)) = parsers::sheet(bytes, of_garbler) else { return false };
    let (twice, same) = parsers::sheet(&once, of_garbler).expect("what was written is read");
    assert_eq!((&twice, &same), (&once, &words));
    for words in words {
        let is_plain = words.len() <= MOST_SHOWN && words.chars().all(|c| c == ' ' || c.is_ascii_graphic());
        assert!(is_plain, "{words:?}");
    }
    true
}
