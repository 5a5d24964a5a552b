//! Readers and writers of circuits and programs in all file formats.
//!
//! | kind | read | written |
//! | --- | --- | --- |
//! | `.bwp` | [`load`], [`Program::from_bytes`] | [`Program::to_bytes`] |
//! | Bristol Fashion | [`load`] | [`bristol::write`] |
//! | old Bristol | [`load`] | |
//! | `.GC_duplo` | [`load`] | [`duplo::write`] |
//! | SCD, of JustGarble | [`load`], [`scd::Scd::read`] | [`scd::write`] |
//! | functions of CompGC | [`compgc::read`]; [`load`] knows the library's components only | [`compgc::write`] |
//!
//! Files may be hostile. So readers limit every count by the size of the file, and refuse everything that
//! they do not understand exactly, with its line.

pub mod bristol;
pub mod compgc;
pub mod duplo;
mod lines;
pub mod scd;

use super::{Component, Party, Program, library};
use brickwork_base::Error;
pub use bristol::InputMap;
use lines::FileLines;

/// The format of a file, determined by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A program of this project.
    Bwp,
    /// A circuit with a list of input and of output widths.
    BristolFashion,
    /// A circuit with two inputs and one output, whose third header line is empty.
    OldBristol,
    /// A program of DUPLO.
    Duplo,
    /// Source code for the compiler.
    Wir,
    /// A function of CompGC.
    CompGc,
    /// A circuit of JustGarble, in MessagePack.
    Scd,
}

/// Determines the format of a file.
pub fn kind(bytes: &[u8]) -> Option<FileKind> {
    let bytes = lines::unmarked(bytes);
    if bytes.starts_with(&super::bwp::MAGIC[..7]) {
        return Some(FileKind::Bwp);
    }
    // A text cannot start with the first byte of a MessagePack array.
    if matches!(bytes.first(), Some(0x90..=0x9f | 0xdc | 0xdd)) {
        return Some(FileKind::Scd);
    }
    let text = std::str::from_utf8(bytes).ok()?;
    if text.trim_start().starts_with('{') {
        return Some(FileKind::CompGc);
    }
    let mut lines = lines::said(text).map(|(_, line)| line);
    let first = lines.next().unwrap_or_default();
    if first.starts_with("Error!") {
        return Some(FileKind::Duplo);
    }
    let numbers =
        |line: &str| line.split_ascii_whitespace().all(|word| word.bytes().all(|c| c.is_ascii_digit()));
    if first.is_empty() || !numbers(first) {
        let source =
            ["#parties", "#define", "#include", "#input", "typedef", "function", "const", "/*", "//"];
        return text
            .lines()
            .any(|line| source.iter().any(|s| line.trim_start().starts_with(s)))
            .then_some(FileKind::Wir);
    }
    let second = lines.next()?;
    let words = second.split_ascii_whitespace().count();
    match lines.next() {
        _ if !numbers(second) => None,
        Some(third) if third.starts_with("FN") => Some(FileKind::Duplo),
        Some(third) if numbers(third) => Some(FileKind::BristolFashion),
        _ if words == 3 => Some(FileKind::OldBristol),
        _ => None,
    }
}

/// Reads a program or circuit; `name` is the file's name, without its folder.
///
/// # Errors
/// [`Error::Input`] if the format is unknown or the file is not valid.
pub fn load(bytes: &[u8], name: &str) -> Result<Program, Error> {
    load_mapped(bytes, name, &InputMap::new())
}

/// Does the same as [`load`], with a map that assigns the inputs of a Bristol or SCD circuit to the parties.
/// Without an entry in the map, `in0` belongs to the garbler and `in1` to the evaluator.
///
/// # Errors
/// As [`load`]; also if the map names an input that does not exist, or the format itself assigns inputs to
/// parties.
pub fn load_mapped(bytes: &[u8], name: &str, map: &InputMap) -> Result<Program, Error> {
    let bytes = lines::unmarked(bytes);
    let kind = kind(bytes);
    if !map.is_empty()
        && !matches!(kind, Some(FileKind::BristolFashion | FileKind::OldBristol | FileKind::Scd))
    {
        return Err(Error::Input(format!(
            "{name}: --map is only for Bristol and SCD circuits; this file itself says which party gives \
             which input"
        )));
    }
    match kind {
        Some(FileKind::Bwp) => Program::from_bytes(bytes).map_err(|e| Error::Input(format!("{name}: {e}"))),
        Some(FileKind::BristolFashion) => {
            bristol::read(FileLines::new(bytes, name)?, stem(name), bristol::Dialect::Fashion, map)
        }
        Some(FileKind::OldBristol) => {
            bristol::read(FileLines::new(bytes, name)?, stem(name), bristol::Dialect::Old, map)
        }
        Some(FileKind::Duplo) => duplo::read(FileLines::new(bytes, name)?, stem(name)),
        Some(FileKind::Wir) => Err(Error::Input(format!(
            "{name}: this is a .wir source; compile it first, \
             with `brickwork compile`"
        ))),
        Some(FileKind::CompGc) => compgc::read(bytes, library::compgc::component_named)
            .map_err(|e| Error::Input(format!("{name}: {e}"))),
        Some(FileKind::Scd) => scd::read(bytes, name, stem(name), map),
        None => Err(Error::Input(format!(
            "{name}: the format of this file is unknown; give a .bwp program, a Bristol circuit, an SCD \
             circuit or a .GC_duplo program"
        ))),
    }
}

/// Reads a program or circuit as one component, whose inputs belong to no party.
///
/// # Errors
/// As [`load`]; also if the circuit is empty.
pub fn load_component(bytes: &[u8], name: &str) -> Result<Component, Error> {
    let map = match kind(bytes) {
        // Bristol files begin with the numbers of gates and wires; the number of inputs and their widths
        // follow.
        Some(FileKind::BristolFashion) => {
            let text = std::str::from_utf8(lines::unmarked(bytes)).unwrap_or_default();
            let inputs = lines::said(text).nth(1);
            let widths = inputs.map_or(0, |(_, line)| line.split_ascii_whitespace().skip(1).count());
            (0..widths).map(|k| (format!("in{k}"), Party::Garbler)).collect()
        }
        _ => InputMap::new(),
    };
    let whole = load_mapped(bytes, name, &map)?.whole()?;
    whole.components().first().cloned().ok_or_else(|| Error::Input(format!("{name} is empty")))
}

/// Returns the name of a file up to its first dot.
fn stem(name: &str) -> &str {
    match name.split('.').next() {
        Some("") | None => "circuit",
        Some(stem) => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component may have any number of inputs, while a program needs a party for each of them.
    #[test]
    fn a_component_may_have_any_number_of_inputs() {
        let text = "2 5\n3 1 1 1\n1 1\n\n2 1 0 1 3 AND\n2 1 3 2 4 XOR\n";
        let why = load(text.as_bytes(), "three.txt").unwrap_err().to_string();
        assert!(why.contains("in2"), "{why}");
        let component = load_component(text.as_bytes(), "three.txt").expect("a component");
        assert_eq!(component.name, "three");
        for inputs in 0..8 {
            let [a, b, c] = [0, 1, 2].map(|k| inputs >> k & 1 == 1);
            assert_eq!(component.circuit.evaluate(&[a, b, c]), [(a & b) ^ c]);
        }
        // With two inputs, the component has the same circuit as the program.
        let text = "1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n";
        let whole = load(text.as_bytes(), "two.txt").expect("a program").whole().expect("one piece");
        let two = load_component(text.as_bytes(), "two.txt").expect("a component");
        assert_eq!(two.digest(), whole.components()[0].digest());
    }
}
