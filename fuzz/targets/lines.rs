//! Messages of the command besides those of a protocol: a peer's sheet before a run, messages between
//! services, and the call of a maker.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use brickwork_cli::parsers;

/// No more than this is shown of a peer's text.
const MOST_SHOWN: usize = 2000;

/// Reads a message, whose kind the first byte selects: a garbler's sheet, an evaluator's sheet, a service's
/// description of a connection, a message of a line's driver, an answer to a driver, or a call. Returns
/// whether the message was accepted.
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

/// A message that is accepted has the same meaning after it was written again.
fn again(read: fn(&[u8]) -> Option<Vec<u8>>, bytes: &[u8]) -> bool {
    let Some(once) = read(bytes) else { return false };
    assert_eq!(read(&once).as_ref(), Some(&once));
    true
}

/// No sheet of a peer makes a message that can move the cursor of a terminal.
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
