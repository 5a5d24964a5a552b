//! Hints about habits from other languages, each with the line to write in this language.

use super::{Lost, Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::lexer::Tok;
use crate::source::SourceSpan;

/// Returns a replacement for a type that C or a similar language has.
pub(crate) fn type_of_c(name: &str) -> Option<String> {
    let (signed, width) = match name {
        "bool" | "_Bool" => (false, 1),
        "uint8_t" | "byte" => (false, 8),
        "uint16_t" => (false, 16),
        "unsigned" | "uint32_t" | "uint" => (false, 32),
        "uint64_t" | "size_t" => (false, 64),
        "char" | "int8_t" => (true, 8),
        "short" | "int16_t" => (true, 16),
        "int" | "signed" | "int32_t" => (true, 32),
        "long" | "int64_t" => (true, 64),
        _ => return None,
    };
    Some(format!("{} {width}", if signed { "int_t" } else { "uint_t" }))
}

/// Returns a replacement for a type like `unsigned int`.
fn type_of_two_words(first: &str, second: &str) -> String {
    if matches!(first, "const" | "static") {
        return type_of_c(second).unwrap_or_else(|| second.into());
    }
    let word = if matches!(first, "unsigned" | "signed") { second } else { first };
    let ty = type_of_c(word).unwrap_or_else(|| "int_t 32".into());
    let width = ty.rsplit(' ').next().unwrap_or("32");
    format!("{} {width}", if first == "unsigned" { "uint_t" } else { "int_t" })
}

impl Parser<'_> {
    /// Returns a hint about this token inside a function, if other languages use it and this one does not.
    pub(super) fn habit(&self) -> Option<&'static str> {
        let previous = self.at.checked_sub(1).map(|i| &self.tokens[i].tok);
        let step = "`++` and `--` read as one token; for `a - -b` leave a blank";
        match (self.peek(), previous) {
            (Tok::Sym("&&"), _) => Some("there is no `&&`; `&` on 1-bit values is the same"),
            (Tok::Sym("||"), _) => Some("there is no `||`; `|` on 1-bit values is the same"),
            (Tok::Sym("="), Some(Tok::Sym("**" | "//" | "%%"))) => {
                Some("these operators change the width, so there are no assignments with them")
            }
            (Tok::Sym("//"), _) => Some(
                "comments are written `/* … */`; between two values `//` divides one of double width by the \
                 other",
            ),
            (Tok::Sym("else"), _) => Some("`else` follows its `if` and one statement, or several in `{ }`"),
            (Tok::Sym("#" | "##"), Some(Tok::Ident(_) | Tok::Sym(")" | "]" | "}"))) => {
                Some("a width can follow only a literal: `5#8` is signed, `5##8` unsigned")
            }
            (Tok::Sym("++" | "--"), _) | (Tok::Number(_), Some(Tok::Sym("++" | "--"))) => Some(step),
            (Tok::Sym("{"), Some(Tok::Sym("}"))) => {
                Some("slices cannot follow each other directly: `(x{0:4}){1}`")
            }
            _ => None,
        }
    }

    fn word(&self, ahead: usize) -> &str {
        if let Tok::Ident(name) = self.peek_at(ahead) { name } else { "" }
    }

    fn symbol(&self, ahead: usize) -> &str {
        if let Tok::Sym(symbol) = self.peek_at(ahead) { symbol } else { "" }
    }

    pub(super) fn refuse(
        &mut self,
        code: &'static str,
        span: SourceSpan,
        message: String,
        hint: String,
    ) -> Parsed<()> {
        self.sink.push(Diagnostic::error(code, span, message).hint(hint));
        Err(Lost)
    }

    /// Reports a comment that begins with `//` in a place without an operator, and skips its line.
    pub(super) fn comment_of_c(&mut self) {
        let at = self.span();
        let rest = self.text.get(at.end as usize..).unwrap_or_default();
        let line = rest.lines().next().unwrap_or_default();
        let words = if line.trim().is_empty() || line.contains("*/") { "…" } else { line.trim() };
        let draft = Diagnostic::error("syntax", at, "`//` does not begin a comment here");
        self.sink.push(draft.hint(format!("comments are written `/* … */`: `/* {words} */`")));
        let end = at.end + line.len() as u32;
        while !matches!(self.peek(), Tok::End) && self.span().start < end {
            self.bump();
        }
    }

    /// Returns the text between an opening parenthesis, which is `ahead` tokens after the current token, and
    /// the parenthesis that closes it. For a hint, the text must be on one line.
    fn in_parentheses(&self, ahead: usize) -> String {
        let (first, mut open, mut at) = (self.at + ahead, 0u32, self.at + ahead);
        while let Some(token) = self.tokens.get(at) {
            match token.tok {
                Tok::Sym("(") => open += 1,
                Tok::Sym(")") => open -= 1,
                Tok::End => break,
                _ => {}
            }
            if open == 0 {
                let (from, to) = (self.tokens[first].span.end as usize, token.span.start as usize);
                let text = self.text.get(from..to).unwrap_or_default().trim();
                return if text.is_empty() || text.contains('\n') { "…".into() } else { text.into() };
            }
            at += 1;
        }
        "…".into()
    }

    /// Refuses a declaration in the style of C at the top level.
    pub(super) fn item_of_c(&mut self) -> Parsed<()> {
        let (at, first, second) = (self.span(), self.word(0).to_owned(), self.word(1).to_owned());
        let whole = at.to(self.tokens[(self.at + 1).min(self.tokens.len() - 1)].span);
        if (self.is("struct_t") || first == "struct" && self.symbol(2) == "{") && !second.is_empty() {
            return self.refuse(
                "syntax::typedef",
                whole,
                "a struct is declared by a `typedef`".into(),
                format!("write `typedef struct_t {second} {{ … }}`, without a `;` at its end"),
            );
        }
        if self.is("int_t") || self.is("uint_t") {
            let (kind, width, name) = (self.symbol(0), self.peek_at(1).clone(), self.word(2));
            let width = if let Tok::Number(width) = width { width.to_string() } else { "32".into() };
            let name = if name.is_empty() { "NAME" } else { name };
            let hint = format!("write `typedef {kind} {width} {name}`; variables belong inside functions");
            return self.refuse("syntax::typedef", at, "a type is declared by a `typedef`".into(), hint);
        }
        if !first.is_empty() && !second.is_empty() && self.symbol(2) == "(" {
            let hint = if second == "main" {
                "write `function void main()`; it takes its inputs from `input1` and `input2`".into()
            } else {
                format!("write `function {first} {second}({}) {{ … }}`", self.in_parentheses(2))
            };
            let message = "a function begins with the word `function`".into();
            return self.refuse("syntax::function", whole, message, hint);
        }
        Ok(())
    }

    /// Returns the replacement for a `typedef` of C.
    pub(super) fn typedef_of_c(&self) -> Option<String> {
        if self.word(0) == "struct" {
            let name = if self.word(1).is_empty() { "NAME" } else { self.word(1) };
            return Some(format!("write `typedef struct_t {name} {{ … }}`, without a `;` at its end"));
        }
        let (ty, name) = if self.word(2).is_empty() {
            (type_of_c(self.word(0))?, self.word(1))
        } else {
            (type_of_two_words(self.word(0), self.word(1)), self.word(2))
        };
        Some(format!("write `typedef {ty} {}`", if name.is_empty() { "NAME" } else { name }))
    }

    /// Refuses a statement in the style of C.
    pub(super) fn statement_of_c(&mut self) -> Parsed<()> {
        let (at, first) = (self.span(), self.word(0).to_owned());
        let (second, third) = (self.word(1).to_owned(), self.word(2).to_owned());
        let next = self.symbol(1);
        match (first.as_str(), next) {
            ("while", "(") | ("do", "{") => {
                let condition = if next == "(" { self.in_parentheses(1) } else { "…".into() };
                let hint = format!(
                    "write `for (uint_t 32 i = 0; i < 100; i++) if ({condition}) {{ … }}`, with a number of \
                     rounds that is always enough instead of 100"
                );
                let message =
                    format!("there is no `{first}`: how often a loop runs is fixed while compiling");
                self.refuse("syntax::while", at, message, hint)
            }
            ("switch", "(") => {
                let value = self.in_parentheses(1);
                let hint =
                    format!("write `if ({value} == 1) {{ … }} else if ({value} == 2) {{ … }} else {{ … }}`");
                self.refuse("syntax::switch", at, "there is no `switch`".into(), hint)
            }
            ("break" | "continue", ";") => {
                let hint = if first == "break" {
                    "put the loop into a function that may `return` from it, or its rest into `if (…) { … }`"
                } else {
                    "put what follows in the loop into `if (…) { … }`"
                };
                self.refuse("syntax::break", at, format!("there is no `{first}`"), hint.into())
            }
            ("struct", _) if !second.is_empty() && !third.is_empty() => {
                let hint = format!("write `{second} {third};`: the name of a struct is a type");
                self.refuse("syntax::typedef", at, "`struct` does not stand before a variable".into(), hint)
            }
            ("unsigned" | "signed" | "long" | "short" | "const" | "static", _)
                if !second.is_empty() && !third.is_empty() =>
            {
                let hint = format!("write `{} {third} = …;`", type_of_two_words(&first, &second));
                self.refuse("syntax::typedef", at, format!("`{first}` is no part of a type"), hint)
            }
            _ => Ok(()),
        }
    }
}
