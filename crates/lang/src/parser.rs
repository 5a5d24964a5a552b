//! Tokens to syntax tree, by recursive descent; goes on after an error, so that one run shows several.

mod expr;

use std::rc::Rc;

use crate::ast::*;
use crate::diagnostic::{Diagnostic, Sink};
use crate::lexer::{Pragma, Tok, Token, lex};
use crate::source::Span;

/// Statements, blocks and expressions may be nested this deeply. The compiler walks trees by recursion, on a stack that
/// is large enough for this.
const MAX_DEPTH: u32 = 2500;

/// Parses a file. Errors go to `sink`; what could be understood is returned.
pub fn parse(file: u32, text: &str, sink: &mut Sink) -> Vec<Item> {
    let lexed = lex(file, text, sink);
    let mut parser = Parser { tokens: lexed.tokens, pragmas: lexed.pragmas, at: 0, depth: 0, sink };
    parser.program()
}

/// The parser has reported an error and is looking for a place to go on.
struct Lost;
type Parsed<T> = Result<T, Lost>;

struct Parser<'s> {
    tokens: Vec<Token>,
    pragmas: Vec<Pragma>,
    at: usize,
    depth: u32,
    sink: &'s mut Sink,
}

const TOP: [&str; 7] = ["function", "typedef", "#define", "#include", "#input", "#output", "#parties"];

impl Parser<'_> {
    fn peek(&self) -> &Tok {
        &self.tokens[self.at].tok
    }

    fn peek_at(&self, ahead: usize) -> &Tok {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].tok
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// Place of the token that was taken last.
    fn last(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Tok::Sym(s) if *s == symbol)
    }

    fn bump(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.bump();
        }
        found
    }

    /// `}` that may have been read as the start of `}+`: outside of the end of a procedure block those are two tokens.
    fn eat_brace(&mut self) -> bool {
        if self.is("}+") {
            let token = &mut self.tokens[self.at];
            token.tok = Tok::Sym("+");
            token.span.start += 1;
            return true;
        }
        self.eat("}")
    }

    fn found(&self) -> String {
        match self.peek() {
            Tok::Ident(name) => format!("`{name}`"),
            Tok::Number(value) => format!("`{value}`"),
            Tok::Str(text) => format!("\"{text}\""),
            Tok::Sym(symbol) => format!("`{symbol}`"),
            Tok::End => "the end of the file".into(),
        }
    }

    fn unexpected<T>(&mut self, wanted: &str) -> Parsed<T> {
        let mut diagnostic = Diagnostic::error("syntax", self.span(), format!("expected {wanted}, found {}", self.found()))
            .label(format!("expected {wanted}"));
        if let Tok::Sym(symbol) = self.peek() {
            let previous = self.at.checked_sub(1).map(|i| &self.tokens[i].tok);
            let hint = match *symbol {
                "&&" => "there is no `&&`; `&` on 1-bit values is the same",
                "||" => "there is no `||`; `|` on 1-bit values is the same",
                "=" if matches!(previous, Some(Tok::Sym("+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<<" | ">>"))) => {
                    "there are no assignments like `+=`; write `x = x + …`"
                }
                "//" => "`//` divides a value of double width; comments are written `/* … */`",
                "return" => "`return` can only be the last statement of a function",
                ";" if wanted.contains("declaration") => "`typedef` has no `;` at its end",
                "#" | "##" => "a width can follow only a literal: `5#8` is signed, `5##8` unsigned",
                "++" | "--" => "`++` and `--` read as one token; for `a - -b` leave a blank",
                "{" => "slices cannot follow each other directly: `(x{0:4}){1}`",
                _ => "",
            };
            if !hint.is_empty() {
                diagnostic = diagnostic.hint(hint);
            }
        }
        self.sink.push(diagnostic);
        Err(Lost)
    }

    fn expect(&mut self, symbol: &str) -> Parsed<Span> {
        if self.is(symbol) { Ok(self.bump().span) } else { self.unexpected(&format!("`{symbol}`")) }
    }

    fn expect_brace(&mut self) -> Parsed<Span> {
        let span = self.span();
        if self.eat_brace() { Ok(Span { end: span.start + 1, ..span }) } else { self.unexpected("`}`") }
    }

    fn ident(&mut self, what: &str) -> Parsed<Ident> {
        match self.peek() {
            Tok::Ident(name) => {
                let name = Rc::clone(name);
                Ok(Ident { name, span: self.bump().span })
            }
            _ => self.unexpected(what),
        }
    }

    fn number(&mut self, what: &str) -> Parsed<(u64, Span)> {
        match *self.peek() {
            Tok::Number(value) => Ok((value, self.bump().span)),
            _ => self.unexpected(what),
        }
    }

    /// Runs a rule one level deeper.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            self.sink.push(
                Diagnostic::error("syntax::depth", self.span(), format!("nested more than {MAX_DEPTH} levels deep"))
                    .hint("use variables or functions to break this up"),
            );
            return Err(Lost);
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    fn program(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while !matches!(self.peek(), Tok::End) {
            let start = self.at;
            self.depth = 0;
            match self.item(items.is_empty()) {
                Ok(item) => items.push(item),
                Err(Lost) => {
                    if self.at == start {
                        self.bump();
                    }
                    while !matches!(self.peek(), Tok::End) && !TOP.iter().any(|t| self.is(t)) {
                        self.bump();
                    }
                }
            }
        }
        for pragma in std::mem::take(&mut self.pragmas) {
            self.sink.push(
                Diagnostic::warning("pragma::place", pragma.span, "this pragma has no effect here")
                    .hint("pragmas stand directly before the `function` that they are for"),
            );
        }
        items
    }

    fn item(&mut self, first: bool) -> Parsed<Item> {
        let start = self.span();
        let Tok::Sym(symbol) = *self.peek() else {
            if let (Tok::Ident(_), Tok::Ident(_)) = (self.peek(), self.peek_at(1)) {
                let decl = self.vardecl()?;
                if first {
                    self.sink.push(
                        Diagnostic::error("syntax::first", decl.span, "a file cannot begin with a variable declaration")
                            .hint("variables belong into functions"),
                    );
                }
                return Ok(Item::Vars(decl));
            }
            return self.unexpected("a function, a typedef or a directive");
        };
        match symbol {
            "#define" => {
                self.bump();
                let name = self.ident("a name to define")?;
                Ok(Item::Define(name, self.expr()?))
            }
            "#include" => {
                self.bump();
                match self.peek() {
                    Tok::Str(path) => {
                        let path = Rc::clone(path);
                        self.bump();
                        Ok(Item::Include(path, start.to(self.last())))
                    }
                    _ => self.unexpected("a file name in quotes"),
                }
            }
            "#parties" => {
                self.bump();
                let (n, _) = self.number("the number of parties")?;
                Ok(Item::Parties(n, start.to(self.last())))
            }
            "#input" | "#output" => {
                self.bump();
                let (party, party_span) = self.number("the number of a party")?;
                let ty = self.type_name()?;
                Ok(Item::Io { input: symbol == "#input", party, party_span, ty, span: start.to(self.last()) })
            }
            "typedef" => self.typedef(),
            "function" => self.function(),
            _ => self.unexpected("a function, a typedef or a directive"),
        }
    }

    fn type_name(&mut self) -> Parsed<Ident> {
        self.ident("the name of a type")
    }

    fn typedef(&mut self) -> Parsed<Item> {
        self.expect("typedef")?;
        let item = if self.eat("struct_t") {
            let name = self.ident("a name for the type")?;
            self.expect("{")?;
            let mut fields = Vec::new();
            loop {
                let ty = self.type_name()?;
                let mut names = Vec::new();
                loop {
                    let field = self.ident("the name of a field")?;
                    names.push((field, self.dims()?));
                    if !self.eat(",") {
                        break;
                    }
                }
                self.expect(";")?;
                fields.push(FieldDecl { ty, names });
                if self.eat_brace() {
                    break;
                }
            }
            Item::StructType { name, fields }
        } else if self.is("int_t") || self.is("uint_t") {
            let signed = self.is("int_t");
            self.bump();
            let width = self.expr()?;
            Item::IntType { signed, width, name: self.ident("a name for the type")? }
        } else {
            return self.unexpected("`int_t`, `uint_t` or `struct_t`");
        };
        if self.is(";") {
            let _: Parsed<()> = self.unexpected("the next declaration");
            self.bump();
        }
        Ok(item)
    }

    fn dims(&mut self) -> Parsed<Vec<Expr>> {
        let mut dims = Vec::new();
        while self.eat("[") {
            dims.push(self.expr()?);
            self.expect("]")?;
        }
        Ok(dims)
    }

    fn function(&mut self) -> Parsed<Item> {
        let requests = self.requests();
        self.expect("function")?;
        let name = self.type_name()?;
        let ret = TypeRef { name, dims: self.dims()? };
        let name = self.ident("the name of the function")?;
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.is(")") {
            let ty = self.type_name()?;
            let name = self.ident("the name of a parameter")?;
            params.push(Param { ty: TypeRef { name: ty, dims: self.dims()? }, name });
            if !self.eat(",") {
                break;
            }
            if self.is(")") {
                return self.unexpected("a parameter");
            }
        }
        self.expect(")")?;
        self.expect("{")?;
        let body = self.statements("}");
        let mut result = None;
        if self.is("return") {
            let start = self.bump().span;
            let value = if self.is(";") { None } else { Some(self.expr()?) };
            self.expect(";")?;
            result = Some((value, start.to(self.last())));
            if !self.is("}") && !self.is("}+") {
                let at = self.span();
                self.sink.push(
                    Diagnostic::error("syntax::return", at, "statements after `return`")
                        .label("this is never reached")
                        .also(start, "`return` must be the last statement of the function"),
                );
                self.statements("}");
            }
        }
        self.expect_brace()?;
        Ok(Item::Function(Box::new(Function { name, ret, params, body, result, requests })))
    }

    /// The pragmas directly before the current token.
    fn requests(&mut self) -> Vec<(Request, Span)> {
        let mut requests = Vec::new();
        let at = self.at;
        let (mine, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.pragmas).into_iter().partition(|p| p.before == at);
        self.pragmas = others;
        for pragma in mine {
            let words: Vec<&str> = pragma.text.split_whitespace().collect();
            match words[..] {
                ["inline"] => requests.push((Request::Inline, pragma.span)),
                ["component"] => requests.push((Request::Component, pragma.span)),
                ["builtin", name] => requests.push((Request::Builtin(name.into()), pragma.span)),
                _ => self.sink.push(
                    Diagnostic::error("pragma::unknown", pragma.span, format!("unknown pragma `{}`", pragma.text))
                        .hint("there are `inline`, `component` and `builtin NAME`"),
                ),
            }
        }
        requests
    }

    /// Statements up to the closing symbol, which is not taken. Goes on after errors at the next `;` or `}`.
    fn statements(&mut self, close: &str) -> Vec<Stmt> {
        let mut list = Vec::new();
        loop {
            // `}+` that does not end a procedure block is `}` and `+`.
            if self.is(close) || (close == "}" && self.is("}+")) {
                return list;
            }
            if matches!(self.peek(), Tok::End) || self.is("return") || TOP.iter().any(|t| self.is(t)) {
                return list;
            }
            let (start, depth) = (self.at, self.depth);
            match self.statement() {
                Ok(statement) => list.push(statement),
                Err(Lost) => {
                    self.depth = depth;
                    self.recover(start, close);
                }
            }
        }
    }

    /// Skips to the end of the statement that began at token `start`.
    fn recover(&mut self, start: usize, close: &str) {
        let mut open = 0u32;
        if self.at == start && !self.is(close) {
            self.bump();
        }
        loop {
            match self.peek() {
                Tok::End => return,
                Tok::Sym(s) if TOP.contains(s) => return,
                Tok::Sym(";") if open == 0 => {
                    self.bump();
                    return;
                }
                Tok::Sym("{" | "+{") => open += 1,
                Tok::Sym("}" | "}+") => {
                    if open == 0 {
                        return;
                    }
                    open -= 1;
                    if open == 0 {
                        self.bump();
                        return;
                    }
                }
                _ => {}
            }
            self.bump();
        }
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        self.nested(Self::statement_here)
    }

    fn statement_here(&mut self) -> Parsed<Stmt> {
        match self.peek() {
            Tok::Sym(";") => {
                self.bump();
                Ok(Stmt::Empty)
            }
            Tok::Sym(open @ ("{" | "+{")) => {
                let close = if *open == "{" { "}" } else { "}+" };
                let start = self.bump().span;
                let body = self.statements(close);
                if self.is("return") {
                    return self.unexpected("a statement");
                }
                if close == "}" {
                    if !self.eat_brace() {
                        self.unclosed(start)?;
                    }
                } else if !self.eat("}+") {
                    self.unclosed(start)?;
                }
                Ok(Stmt::Block(body))
            }
            Tok::Sym("for") => {
                let span = self.bump().span;
                self.expect("(")?;
                let init = self.vardecl()?;
                let cond = self.expr()?;
                self.expect(";")?;
                let step = self.expr()?;
                self.expect(")")?;
                Ok(Stmt::For { init, cond, step, body: Box::new(self.statement()?), span })
            }
            Tok::Sym("if") => {
                self.bump();
                self.expect("(")?;
                let cond = self.expr()?;
                self.expect(")")?;
                let then = Box::new(self.statement()?);
                let otherwise = if self.eat("else") { Some(Box::new(self.statement()?)) } else { None };
                Ok(Stmt::If { cond, then, otherwise })
            }
            Tok::Ident(_) if matches!(self.peek_at(1), Tok::Ident(_)) => Ok(Stmt::Vars(self.vardecl()?)),
            _ => {
                let expr = self.expr()?;
                self.expect(";")?;
                Ok(Stmt::Expr(expr))
            }
        }
    }

    fn unclosed(&mut self, open: Span) -> Parsed<()> {
        self.sink.push(
            Diagnostic::error("syntax::unclosed", self.span(), format!("expected the end of a block, found {}", self.found()))
                .also(open, "the block begins here"),
        );
        Err(Lost)
    }

    /// `T a, b = 1, c[3] = { … };`
    fn vardecl(&mut self) -> Parsed<VarDecl> {
        let ty = self.type_name()?;
        let mut vars = Vec::new();
        loop {
            let name = self.ident("the name of a variable")?;
            let dims = self.dims()?;
            let init = match self.eat("=") {
                false => None,
                true if dims.is_empty() => Some(Init::Expr(self.expr()?)),
                true if self.is("{") => Some(self.array_init()?),
                true => return self.unexpected("`{`: an array is initialised by a list"),
            };
            vars.push(Declarator { name, dims, init });
            if !self.eat(",") {
                break;
            }
        }
        self.expect(";")?;
        Ok(VarDecl { span: ty.span.to(self.last()), ty, vars })
    }

    fn array_init(&mut self) -> Parsed<Init> {
        self.nested(|p| {
            let start = p.expect("{")?;
            let mut items = Vec::new();
            loop {
                items.push(if p.is("{") { p.array_init()? } else { Init::Expr(p.expr()?) });
                if !p.eat(",") {
                    break;
                }
            }
            let end = p.expect_brace()?;
            Ok(Init::List(items, start.to(end)))
        })
    }
}
