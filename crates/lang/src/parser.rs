//! Parses tokens into a syntax tree, by recursive descent. It continues after an error, so that one run
//! reports several.

mod expr;
pub(crate) mod habits;

use std::rc::Rc;

use brickwork_circuit::{RowOrder, Rule};

use crate::ast::*;
use crate::diagnostic::{Diagnostic, Sink};
use crate::lexer::{Pragma, Tok, Token, lex};
use crate::source::SourceSpan;

/// The largest depth of nested statements, blocks and expressions. The compiler visits trees by recursion, on
/// a stack that is large enough for this depth.
const MAX_DEPTH: u32 = 2500;

/// Parses a file. Errors go to `sink`, and the items without errors are returned.
pub fn parse(file: u32, text: &str, sink: &mut Sink) -> Vec<Item> {
    let lexed = lex(file, text, sink);
    let mut parser = Parser { text, tokens: lexed.tokens, pragmas: lexed.pragmas, at: 0, depth: 0, sink };
    parser.program()
}

/// The parser has reported an error and must find a place to continue.
struct Lost;
type Parsed<T> = Result<T, Lost>;

struct Parser<'s> {
    /// The text, of which some hints repeat parts.
    text: &'s str,
    tokens: Vec<Token>,
    pragmas: Vec<Pragma>,
    at: usize,
    depth: u32,
    sink: &'s mut Sink,
}

const INTEGER_TYPE: &str =
    "write `typedef uint_t 32 NAME` for a number of 32 bits, or `int_t` for a signed one";

const TOP: [&str; 8] =
    ["function", "typedef", "#define", "#include", "#input", "#output", "#parties", "#shared"];

impl Parser<'_> {
    fn peek(&self) -> &Tok {
        &self.tokens[self.at].tok
    }

    fn peek_at(&self, ahead: usize) -> &Tok {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].tok
    }

    fn span(&self) -> SourceSpan {
        self.tokens[self.at].span
    }

    /// Returns the place of the last token.
    fn last(&self) -> SourceSpan {
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

    /// Takes a `}`. If the token is `}+` but no procedure block ends here, it is split into two tokens.
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

    /// Reports that `wanted` is missing here. `advice` is the hint, unless the code shows a habit from
    /// another language, which has its own hint.
    fn unexpected<T>(&mut self, wanted: &str, advice: &str) -> Parsed<T> {
        self.report(wanted, self.habit().unwrap_or(advice))
    }

    fn report<T>(&mut self, wanted: &str, hint: &str) -> Parsed<T> {
        let diagnostic =
            Diagnostic::error("syntax", self.span(), format!("expected {wanted}, found {}", self.found()));
        self.sink.push(diagnostic.label(format!("expected {wanted}")).hint(hint));
        Err(Lost)
    }

    fn expect(&mut self, symbol: &'static str) -> Parsed<SourceSpan> {
        if self.is(symbol) {
            return Ok(self.bump().span);
        }
        let advice = match (symbol, self.peek()) {
            (";", Tok::Sym(")" | "]")) => {
                "remove it if nothing is open before it; the head of a loop is `for (TYPE i = 0; i < 8; i++)`"
            }
            (";", _) => "put `;` at the end of the statement before this, or an operator between the two",
            ("(", _) => {
                "the condition of an `if`, the head of a `for` and the parameters of a function stand in `( \
                 )`"
            }
            (")", _) => "close the `(` before this, or put `,` between two arguments",
            ("]", _) => "close the `[` before this; several dimensions are `a[2][3]`",
            _ => "the body of a function and the fields of a struct stand in `{ }`",
        };
        self.unexpected(&format!("`{symbol}`"), advice)
    }

    fn expect_brace(&mut self) -> Parsed<SourceSpan> {
        let span = self.span();
        if self.eat_brace() {
            return Ok(SourceSpan { end: span.start + 1, ..span });
        }
        self.unexpected(
            "`}`",
            "close the `{` that is open here; bits of a number are `x{first:length}` or `x{bit}`",
        )
    }

    /// Parses a name for `what`; `form` describes the construct in hints.
    fn ident(&mut self, what: &str, form: &str) -> Parsed<Ident> {
        match self.peek() {
            Tok::Ident(name) => {
                let name = Rc::clone(name);
                Ok(Ident { name, span: self.bump().span })
            }
            _ => self.unexpected(what, form),
        }
    }

    fn number(&mut self, what: &str, form: &str) -> Parsed<(u64, SourceSpan)> {
        match self.peek() {
            Tok::Number(value) => {
                let value = value.small().and_then(|value| value.try_into().ok()).unwrap_or(u64::MAX);
                Ok((value, self.bump().span))
            }
            _ => self.unexpected(what, form),
        }
    }

    /// Calls a parsing function one level deeper.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            self.sink.push(
                Diagnostic::error(
                    "syntax::depth",
                    self.span(),
                    format!("nested more than {MAX_DEPTH} levels deep"),
                )
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
            if self.is("//") {
                self.comment_of_c();
                continue;
            }
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
                Diagnostic::warning("pragma::place", pragma.span, "this pragma has no effect here").hint(
                    "a pragma stands directly before the `function`, `typedef` or `#input` that it is for",
                ),
            );
        }
        items
    }

    fn item(&mut self, first: bool) -> Parsed<Item> {
        self.item_of_c()?;
        let start = self.span();
        let Tok::Sym(symbol) = *self.peek() else {
            if let (Tok::Ident(_), Tok::Ident(_)) = (self.peek(), self.peek_at(1)) {
                let decl = self.vardecl()?;
                if first {
                    self.sink.push(
                        Diagnostic::error(
                            "syntax::first",
                            decl.span,
                            "a file cannot begin with a variable declaration",
                        )
                        .hint(
                            "move it into the function that uses it; functions share only arguments and \
                             results",
                        ),
                    );
                }
                return Ok(Item::Vars(decl));
            }
            return self.no_item();
        };
        match symbol {
            "#define" => {
                self.bump();
                let name = self.ident("a name to define", "write `#define NAME 8`")?;
                if self.is("(") && self.span().start == name.span.end {
                    let hint = format!(
                        "write a function, which takes values of any type: `function T {}<T>(T a) {{ return \
                         …; }}`",
                        name.name
                    );
                    self.refuse("syntax::define", name.span, "a `#define` takes no arguments".into(), hint)?;
                }
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
                    _ => self.unexpected("a file name in quotes", "write `#include \"name.wir\"`"),
                }
            }
            "#parties" => {
                self.bump();
                let (n, _) = self.number("the number of parties", "write `#parties 2`")?;
                Ok(Item::Parties(n, start.to(self.last())))
            }
            "#input" | "#output" => {
                let rules = if symbol == "#input" { self.rules() } else { Vec::new() };
                self.bump();
                let form =
                    "write `#input 1 TYPE` or `#output 2 TYPE`: party 1 is the garbler, 2 the evaluator";
                let (party, party_span) = self.number("the number of a party", form)?;
                let name = self.type_name("name the type as its `typedef` does, or write `uint_t 32`")?;
                let ty = TypeRef { name, dims: self.dims()? };
                let span = start.to(self.last());
                Ok(Item::Io { input: symbol == "#input", party, party_span, ty, rules, span })
            }
            "#shared" => self.shared(),
            "typedef" => self.typedef(),
            "function" => self.function(),
            _ => self.no_item(),
        }
    }

    fn shared(&mut self) -> Parsed<Item> {
        let form = "write `#shared input NAME TYPE` or `#shared output NAME TYPE`, and after it `sum` or \
                    `modulo NUMBER` for shares that are added";
        let start = self.bump().span;
        let input = match self.peek() {
            Tok::Ident(word) if matches!(&**word, "input" | "output") => &**word == "input",
            _ => return self.unexpected("`input` or `output`", form),
        };
        self.bump();
        let name = self.ident("the name of a value", form)?;
        let ty = TypeRef { name: self.type_name(form)?, dims: self.dims()? };
        let form = match self.peek() {
            Tok::Ident(word) if &**word == "sum" => {
                self.bump();
                ShareForm::Sum
            }
            Tok::Ident(word) if &**word == "modulo" => {
                self.bump();
                ShareForm::Modulo(Box::new(self.primary()?))
            }
            _ => ShareForm::Xor,
        };
        Ok(Item::Shared { input, name, ty, form, span: start.to(self.last()) })
    }

    fn no_item<T>(&mut self) -> Parsed<T> {
        let advice = match self.peek() {
            Tok::Sym(";") => "remove it: neither directives nor a `typedef` or a function end with `;`",
            Tok::Sym("}") => "remove it: every block is closed already",
            Tok::Sym("#") => {
                "directives are `#define`, `#include`, `#input`, `#output`, `#shared` and `#parties`; no \
                 space is allowed after `#`"
            }
            _ => "statements belong into a function; is the function before this closed too early?",
        };
        self.report("a function, a typedef or a directive", advice)
    }

    fn type_name(&mut self, form: &str) -> Parsed<TypeName> {
        if !self.is("int_t") && !self.is("uint_t") {
            return Ok(TypeName::Named(self.ident("the name of a type", form)?));
        }
        let signed = self.is("int_t");
        let start = self.bump().span;
        // Only a simple expression is a width, because an operator after it belongs to the following text.
        let width = Box::new(self.primary()?);
        Ok(TypeName::Int { signed, width, span: start.to(self.last()) })
    }

    fn typedef(&mut self) -> Parsed<Item> {
        let mut point = None;
        for (words, span) in self.pragmas_here() {
            match (&*words[0], words.get(1).and_then(|bits| bits.parse::<u64>().ok()), words.len()) {
                ("point", Some(bits), 2) => point = Some((bits, span)),
                _ => self.unknown_pragma(&words, span, "before a typedef there is `point BITS`"),
            }
        }
        self.expect("typedef")?;
        let item = if self.eat("struct_t") {
            if let Some((bits, span)) = point {
                let words = ["point".to_owned(), bits.to_string()];
                self.unknown_pragma(&words, span, "`point` belongs to a typedef of `int_t` or `uint_t`");
            }
            let form = "write `typedef struct_t NAME { TYPE a; TYPE b; }`";
            let name = self.ident("a name for the type", form)?;
            self.expect("{")?;
            let mut fields = Vec::new();
            loop {
                let ty = self.type_name(form)?;
                let mut names = Vec::new();
                loop {
                    let field = self.ident("the name of a field", form)?;
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
            Item::IntType { signed, width, name: self.ident("a name for the type", INTEGER_TYPE)?, point }
        } else {
            let hint = self.typedef_of_c().unwrap_or_else(|| INTEGER_TYPE.into());
            return self.report("`int_t`, `uint_t` or `struct_t`", &hint);
        };
        if self.is(";") {
            let _: Parsed<()> =
                self.unexpected("the next declaration", "remove it: a `typedef` has no `;` at its end");
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
        let form =
            "write `function TYPE name(TYPE a, TYPE b) { … }`; the type is `void` if nothing is returned";
        let name = self.type_name(form)?;
        let ret = TypeRef { name, dims: self.dims()? };
        let name = self.ident("the name of the function", form)?;
        let mut generics = Vec::new();
        if self.eat("<") {
            loop {
                let form = "write `function TYPE name<T, n>(T a[n])`, with names for the types and sizes \
                            that calls choose";
                generics.push(self.ident("the name of a type or size", form)?);
                if !self.eat(",") {
                    break;
                }
            }
            if !self.eat(">") {
                return self.unexpected("`>`", "close the `<` before this, or put `,` between two names");
            }
        }
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.is(")") {
            let ty = self.type_name(form)?;
            let name = self.ident("the name of a parameter", form)?;
            params.push(Param { ty: TypeRef { name: ty, dims: self.dims()? }, name });
            if !self.eat(",") {
                break;
            }
            if self.is(")") {
                return self.unexpected(
                    "a parameter",
                    "remove the `,` before this, or add a parameter: `TYPE name`",
                );
            }
        }
        self.expect(")")?;
        self.expect("{")?;
        let body = self.statements("}");
        self.expect_brace()?;
        Ok(Item::Function(Box::new(Function { name, generics, ret, params, body, requests })))
    }

    /// Takes the pragmas directly before the current token. Returns the words of each pragma, at least one.
    fn pragmas_here(&mut self) -> Vec<(Vec<String>, SourceSpan)> {
        let at = self.at;
        let (mine, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.pragmas).into_iter().partition(|pragma| pragma.before == at);
        self.pragmas = others;
        let words = |pragma: Pragma| {
            let words: Vec<String> = pragma.text.split_whitespace().map(str::to_owned).collect();
            (if words.is_empty() { vec![String::new()] } else { words }, pragma.span)
        };
        mine.into_iter().map(words).collect()
    }

    fn unknown_pragma(&mut self, words: &[String], span: SourceSpan, hint: &str) {
        let message = format!("unknown pragma `{}`", words.join(" "));
        self.sink.push(Diagnostic::error("pragma::unknown", span, message).hint(hint));
    }

    /// Returns the rules in the pragmas directly before an `#input`.
    fn rules(&mut self) -> Vec<(Rule, SourceSpan)> {
        let mut rules: Vec<(Rule, SourceSpan)> = Vec::new();
        for (words, span) in self.pragmas_here() {
            let order = RowOrder::ALL.into_iter().find(|order| order.word() == words[0]);
            match (order, &words[1..]) {
                (Some(order), [field]) if rules.iter().all(|(rule, _)| rule.field != *field) => {
                    rules.push((Rule { field: field.clone(), order }, span));
                }
                (Some(_), [_]) => {
                    self.unknown_pragma(&words, span, "a field has one rule: `ascending` is `unique`, too");
                }
                _ => {
                    let all = RowOrder::ALL.map(|order| format!("`{} FIELD`", order.word())).join(", ");
                    self.unknown_pragma(&words, span, &format!("before an `#input` there are {all}"));
                }
            }
        }
        rules
    }

    /// Returns the requests in the pragmas directly before a function.
    fn requests(&mut self) -> Vec<(FunctionPragma, SourceSpan)> {
        let mut requests = Vec::new();
        for (words, span) in self.pragmas_here() {
            match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["inline"] => requests.push((FunctionPragma::Inline, span)),
                ["component"] => requests.push((FunctionPragma::Component, span)),
                ["builtin", name] => requests.push((FunctionPragma::Builtin((*name).into()), span)),
                _ => self.unknown_pragma(&words, span, "there are `inline`, `component` and `builtin NAME`"),
            }
        }
        requests
    }

    /// Parses statements up to the closing symbol, which is not taken. After an error it continues at the
    /// next `;` or `}`.
    fn statements(&mut self, close: &str) -> Vec<Stmt> {
        let mut list = Vec::new();
        loop {
            // Here `}+` is two tokens, `}` and `+`.
            if self.is(close) || (close == "}" && self.is("}+")) {
                return list;
            }
            if matches!(self.peek(), Tok::End) || TOP.iter().any(|t| self.is(t)) {
                return list;
            }
            if self.is("//") {
                self.comment_of_c();
                continue;
            }
            let (start, depth) = (self.at, self.depth);
            if let Some(Stmt::Return(_, span)) = list.last() {
                self.sink.push(
                    Diagnostic::error("syntax::return", self.span(), "statements after `return`")
                        .label("this is never reached")
                        .also(*span, "the function returns here")
                        .hint("remove them, or return only `if (…)` something holds"),
                );
            }
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
        self.statement_of_c()?;
        match self.peek() {
            Tok::Sym(";") => {
                self.bump();
                Ok(Stmt::Empty)
            }
            Tok::Sym(open @ ("{" | "+{")) => {
                let close = if *open == "{" { "}" } else { "}+" };
                let start = self.bump().span;
                let body = self.statements(close);
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
            Tok::Sym("return") => {
                let start = self.bump().span;
                let value = if self.is(";") { None } else { Some(self.expr()?) };
                self.expect(";")?;
                Ok(Stmt::Return(value, start.to(self.last())))
            }
            Tok::Sym("int_t" | "uint_t") => Ok(Stmt::Vars(self.vardecl()?)),
            Tok::Ident(_) if matches!(self.peek_at(1), Tok::Ident(_)) => Ok(Stmt::Vars(self.vardecl()?)),
            _ => {
                let expr = self.expr()?;
                self.expect(";")?;
                Ok(Stmt::Expr(expr))
            }
        }
    }

    fn unclosed(&mut self, open: SourceSpan) -> Parsed<()> {
        self.sink.push(
            Diagnostic::error(
                "syntax::unclosed",
                self.span(),
                format!("expected the end of a block, found {}", self.found()),
            )
            .also(open, "the block begins here")
            .hint("close it: `{` with `}`, and `+{` with `}+`"),
        );
        Err(Lost)
    }

    /// Parses a declaration: `T a, b = 1, c[3] = { … };`
    fn vardecl(&mut self) -> Parsed<VarDecl> {
        let ty =
            self.type_name("declare the counter of a loop in its head: `for (TYPE i = 0; i < 8; i++)`")?;
        let mut vars = Vec::new();
        loop {
            let name = self.ident(
                "the name of a variable",
                "write `TYPE name = 1;`; the head of a loop declares its counter, too: `for (TYPE i = 0; i \
                 < 8; i++)`",
            )?;
            let dims = self.dims()?;
            let init = match self.eat("=") {
                false => None,
                true if self.is("{") && !dims.is_empty() => Some(self.array_init()?),
                true => Some(Init::Expr(self.expr()?)),
            };
            vars.push(Declarator { name, dims, init });
            if !self.eat(",") {
                break;
            }
        }
        self.expect(";")?;
        Ok(VarDecl { span: ty.span().to(self.last()), ty, vars })
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
