//! Splits bytes into tokens, each as long as possible.

use crate::diagnostic::{Diagnostic, Sink};
use crate::natural::{MAX_BITS, Natural};
use crate::source::SourceSpan;
use std::rc::Rc;

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tok {
    /// A name.
    Ident(Rc<str>),
    /// A number.
    Number(Natural),
    /// The text between quotes.
    Str(Rc<str>),
    /// A keyword, directive or symbol.
    Sym(&'static str),
    /// The end of the file.
    End,
}

/// A token and its place.
#[derive(Clone, Debug)]
pub struct Token {
    /// The kind.
    pub tok: Tok,
    /// The place in the source.
    pub span: SourceSpan,
}

/// A comment of the form `/*@ … */`: an instruction to the compiler.
#[derive(Clone, Debug)]
pub struct Pragma {
    /// The text without the comment marks.
    pub text: String,
    /// The place in the source.
    pub span: SourceSpan,
    /// The index of the token that follows.
    pub before: usize,
}

/// The tokens of a file, of which the last is [`Tok::End`], and its pragmas.
pub struct Lexed {
    /// Tokens.
    pub tokens: Vec<Token>,
    /// Pragmas.
    pub pragmas: Vec<Pragma>,
}

const KEYWORDS: [&str; 9] =
    ["typedef", "struct_t", "int_t", "uint_t", "if", "else", "for", "return", "function"];
const DIRECTIVES: [&str; 6] = ["#define", "#include", "#input", "#output", "#parties", "#shared"];
/// All symbols. Longer ones come first, so the first one that fits is the longest.
const SYMBOLS: [&str; 55] = [
    "<<>=", ">>>=", "<<>", ">>>", "<<=", ">>=", "##", "**", "//", "%%", "<<", ">>", "++", "--", "<=", ">=",
    "==", "!=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "+{", "}+", "&&", "||", "#", "+", "-", "*",
    "/", "%", "<", ">", "=", "&", "|", "^", "!", "~", "(", ")", "[", "]", "{", "}", ",", ";", ":", ".", "?",
];

/// Explains how to write a decimal fraction: as a fixed-point number with half of its bits after the point.
fn fixed_point(fraction: &str) -> String {
    let value: f64 = fraction.parse().unwrap_or(f64::INFINITY);
    let library = "`#include \"fixed.wir\"` computes with fixed-point numbers";
    match [32u32, 64].into_iter().find(|width| value + 1.0 < 2f64.powi(*width as i32 / 2 - 1)) {
        Some(width) => {
            let scaled = (value * 2f64.powi(width as i32 / 2)).round();
            format!("{library}; {fraction} with {} bits behind the point is `{scaled:.0}#{width}`", width / 2)
        }
        None => format!("{library}; use a smaller unit, so that the number is a whole one"),
    }
}

/// Returns the length of a file's preface: a byte order mark, and lines that begin with `#` and are not
/// directives.
fn preface(text: &str) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let is_comment = |line: &&str| {
        line.trim().is_empty()
            || line.strip_prefix('#').is_some_and(|rest| {
                let word = rest.split_whitespace().next().unwrap_or_default();
                let is_directive = |name: &&str| name.trim_start_matches('#') == word;
                !rest.starts_with(|c: char| c.is_ascii_alphabetic()) && !DIRECTIVES.iter().any(is_directive)
            })
    };
    mark + text[mark..].split_inclusive('\n').take_while(is_comment).map(str::len).sum::<usize>()
}

/// Returns the longest directive or symbol at the start of the text. In `x{0:4}+=1`, the `}` stands alone.
fn symbol_at(text: &str) -> Option<&'static str> {
    let fits = |symbol: &&str| text.starts_with(*symbol) && !(*symbol == "}+" && text.starts_with("}+="));
    DIRECTIVES.iter().chain(&SYMBOLS).copied().find(fits)
}

/// Splits a file into tokens. A character that cannot begin a token is reported and skipped.
pub fn lex(file: u32, text: &str, sink: &mut Sink) -> Lexed {
    let bytes = text.as_bytes();
    let mut out = Lexed { tokens: Vec::new(), pragmas: Vec::new() };
    let mut at = preface(text);
    let span = |start: usize, end: usize| SourceSpan { file, start: start as u32, end: end as u32 };
    let run = |from: usize, class: fn(u8) -> bool| {
        bytes[from..].iter().position(|&b| !class(b)).map_or(bytes.len(), |n| from + n)
    };
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            at += 1;
        } else if text[at..].starts_with("/*") {
            match text[at + 2..].find("*/") {
                None => {
                    sink.push(
                        Diagnostic::error(
                            "syntax::comment",
                            span(start, start + 2),
                            "this comment is never closed",
                        )
                        .hint("close it with `*/`; everything after it would be ignored"),
                    );
                    at = bytes.len();
                }
                Some(length) => {
                    at += 2 + length + 2;
                    if let Some(pragma) = text[start + 2..at - 2].strip_prefix('@') {
                        let before = out.tokens.len();
                        out.pragmas.push(Pragma {
                            text: pragma.trim().to_owned(),
                            span: span(start, at),
                            before,
                        });
                    }
                }
            }
        } else if byte.is_ascii_alphabetic() || byte == b'_' {
            at = run(at, |b| b.is_ascii_alphanumeric() || b == b'_');
            let word = &text[start..at];
            let tok = KEYWORDS
                .iter()
                .find(|&&k| k == word)
                .map_or_else(|| Tok::Ident(word.into()), |k| Tok::Sym(k));
            out.tokens.push(Token { tok, span: span(start, at) });
        } else if byte.is_ascii_digit() {
            at = run(at, |b| b.is_ascii_digit());
            let (mut digits, mut base) = (&bytes[start..at], 10);
            // A name directly after a number is a token of its own, unless the number has another base.
            if digits == b"0" && matches!(bytes.get(at), Some(b'x' | b'X' | b'b' | b'B' | b'o' | b'O')) {
                base = if bytes[at] == b'x' { 16 } else { 2 };
                let end = run(at, |b| b.is_ascii_alphanumeric() || b == b'_');
                digits = &bytes[at + 1..end];
                let right = |digit: &u8| (*digit as char).is_digit(base);
                if !matches!(bytes[at], b'x' | b'b') || digits.is_empty() || !digits.iter().all(right) {
                    let text = &text[start..end];
                    sink.push(
                        Diagnostic::error(
                            "syntax::number",
                            span(start, end),
                            format!("`{text}` is no number"),
                        )
                        .hint("numbers are decimal, hexadecimal as `0x1f`, or binary as `0b101`"),
                    );
                    digits = b"0";
                }
                at = end;
            }
            let value = Natural::parse(digits, base);
            if value.is_none() {
                sink.push(
                    Diagnostic::error("syntax::number", span(start, at), "this number is too large")
                        .label(format!("literals have at most {MAX_BITS} bits"))
                        .hint("build wider constants from slices: `x{0:32} = …; x{32:32} = …;`"),
                );
            }
            if base == 10 && bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
            {
                at = run(at + 1, |b| b.is_ascii_digit());
                sink.push(
                    Diagnostic::error("syntax::fraction", span(start, at), "all numbers are whole numbers")
                        .hint(fixed_point(&text[start..at])),
                );
            }
            out.tokens.push(Token { tok: Tok::Number(value.unwrap_or_default()), span: span(start, at) });
        } else if byte == b'"' {
            let end = bytes[at + 1..]
                .iter()
                .position(|&b| b == b'"' || b == b'\n')
                .map_or(bytes.len(), |n| at + 1 + n);
            if bytes.get(end) == Some(&b'"') {
                at = end + 1;
                let name = &text[start + 1..end];
                let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
                    && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
                if !plain {
                    sink.push(
                        Diagnostic::error(
                            "syntax::string",
                            span(start, at),
                            "a file name is a letter, then letters, digits, `_` and `.`",
                        )
                        .hint("included files lie beside the root source: no directories, dashes or spaces"),
                    );
                }
                out.tokens.push(Token { tok: Tok::Str(name.into()), span: span(start, at) });
            } else {
                at = end;
                sink.push(
                    Diagnostic::error(
                        "syntax::string",
                        span(start, end),
                        "this string is not closed on its line",
                    )
                    .hint("put `\"` behind the file name: `#include \"name.wir\"`"),
                );
                out.tokens.push(Token { tok: Tok::Str("".into()), span: span(start, end) });
            }
        } else if let Some(symbol) = symbol_at(&text[at..]) {
            at += symbol.len();
            out.tokens.push(Token { tok: Tok::Sym(symbol), span: span(start, at) });
        } else {
            let c = text[at..].chars().next().unwrap_or('?');
            at += c.len_utf8();
            let hint = match c {
                '\'' => "there are no characters; write their numbers, such as 65",
                c if !c.is_ascii() => {
                    "outside of comments a program is plain ASCII; type this by hand if it was copied from a \
                     document"
                }
                _ => "remove it: names are made of letters, digits and `_`, and it is no operator",
            };
            sink.push(
                Diagnostic::error(
                    "syntax::character",
                    span(start, at),
                    format!("the character `{}` has no meaning here", c.escape_default()),
                )
                .hint(hint),
            );
        }
    }
    out.tokens.push(Token { tok: Tok::End, span: span(bytes.len(), bytes.len()) });
    out
}
