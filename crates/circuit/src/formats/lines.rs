//! Reads text files line by line; errors name the line.

use brickwork_base::Error;

/// The number of wires that a file may declare in addition to those that its bytes can describe.
pub(super) const FREE_WIRES: u64 = 1 << 24;

/// Returns a text without the byte order mark that some editors write before it.
pub(super) fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Returns the lines of a text except blank lines and comments, each trimmed and with its number. A comment
/// begins with `#`.
pub(super) fn said(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The lines of a file, without blank lines and comments.
pub(super) struct FileLines<'b> {
    name: &'b str,
    /// The number of wires that the file may still declare.
    wires: u64,
    lines: Box<dyn Iterator<Item = (usize, &'b str)> + 'b>,
}

/// A line of a file.
#[derive(Clone, Copy)]
pub(super) struct FileLine<'b> {
    name: &'b str,
    number: usize,
    pub text: &'b str,
}

impl<'b> FileLines<'b> {
    pub fn new(bytes: &'b [u8], name: &'b str) -> Result<Self, Error> {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| Error::Input(format!("{name}: this is not a text file")))?;
        Ok(FileLines { name, wires: FREE_WIRES + bytes.len() as u64, lines: Box::new(said(text)) })
    }

    /// Returns the next line.
    pub fn expect(&mut self, expected: impl std::fmt::Display) -> Result<FileLine<'b>, Error> {
        self.next()
            .ok_or_else(|| Error::Input(format!("{}: the file ends too early, before {expected}", self.name)))
    }

    /// Checks that no line follows.
    pub fn end(&mut self) -> Result<(), Error> {
        self.next().map_or(Ok(()), |line| line.fail("the file should end before this line"))
    }

    /// Returns an error if the file declares more wires than a file of this size can have, before memory is
    /// reserved for them.
    pub fn allow_wires(&mut self, line: &FileLine<'_>, wires: u64) -> Result<(), Error> {
        let rest = self.wires.checked_sub(wires);
        self.wires = rest.map_or_else(
            || line.fail("this line announces more wires than a file of this size can have"),
            Ok,
        )?;
        Ok(())
    }
}

impl<'b> Iterator for FileLines<'b> {
    type Item = FileLine<'b>;

    fn next(&mut self) -> Option<FileLine<'b>> {
        self.lines.next().map(|(number, text)| FileLine { name: self.name, number, text })
    }
}

impl<'b> FileLine<'b> {
    pub fn fail<T>(&self, why: impl std::fmt::Display) -> Result<T, Error> {
        Err(Error::Input(format!("{}, line {}: {why}", self.name, self.number)))
    }

    pub fn words(&self) -> impl Iterator<Item = &'b str> + use<'b> {
        self.text.split_ascii_whitespace()
    }

    pub fn number(&self, word: &str) -> Result<u32, Error> {
        // `parse` by itself would also accept a plus sign.
        match word.parse() {
            Ok(number) if word.as_bytes()[0].is_ascii_digit() => Ok(number),
            _ => self.fail(format!("{:?} is not a decimal number of at most 32 bits", shortened(word))),
        }
    }

    pub fn numbers(&self) -> Result<Vec<u32>, Error> {
        self.words().map(|word| self.number(word)).collect()
    }

    /// Reads exactly `N` numbers; errors call these numbers `what`.
    pub fn exactly<const N: usize>(&self, what: &str) -> Result<[u32; N], Error> {
        self.numbers()?.try_into().or_else(|found: Vec<u32>| {
            self.fail(format!("this line must have {N} numbers ({what}), not {}", found.len()))
        })
    }
}

fn shortened(word: &str) -> String {
    word.chars().take(20).collect()
}
