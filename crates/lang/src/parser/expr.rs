//! Parses expressions by precedence climbing.

use std::rc::Rc;

use super::{Lost, Parsed, Parser};
use crate::ast::*;
use crate::diagnostic::Diagnostic;
use crate::lexer::Tok;
use crate::source::SourceSpan;

/// The largest height of an expression's tree. A chain like `a + b + c + …` is as high as it is long.
const MAX_HEIGHT: u32 = 2500;

/// Returns the binary operator that is written so.
fn operator(symbol: &str) -> Option<BinaryOp> {
    use BinaryOp::*;
    [
        Or, Xor, And, Eq, Ne, Lt, Gt, Le, Ge, Shl, Shr, Rotl, Sar, Add, Sub, Mul, Div, Rem, WideMul, WideDiv,
        WideRem,
    ]
    .into_iter()
    .find(|op| op.symbol() == symbol)
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|p| {
            let left = p.choice()?;
            let op = match p.peek() {
                Tok::Sym("=") => None,
                Tok::Sym(symbol) => match symbol.strip_suffix('=').and_then(operator) {
                    // `<=` and `>=` are operators themselves.
                    Some(op) if op.precedence() > 5 || op.precedence() < 4 => Some(op),
                    _ => return Ok(left),
                },
                _ => return Ok(left),
            };
            p.bump();
            let right = p.expr()?;
            let span = left.span.to(right.span);
            p.node(ExprKind::Assign(op, Box::new(left), Box::new(right)), span)
        })
    }

    /// Parses `condition ? then : otherwise`, or only its first part.
    fn choice(&mut self) -> Parsed<Expr> {
        let cond = self.binary(1)?;
        if !self.eat("?") {
            return Ok(cond);
        }
        let then = self.expr()?;
        self.expect(":")?;
        let otherwise = self.nested(Self::choice)?;
        let span = cond.span.to(otherwise.span);
        self.node(ExprKind::Choice(Box::new([cond, then, otherwise])), span)
    }

    fn binary_op(&self) -> Option<BinaryOp> {
        if let Tok::Sym(symbol) = self.peek() { operator(symbol) } else { None }
    }

    /// Makes a node above others.
    fn node(&mut self, kind: ExprKind, span: SourceSpan) -> Parsed<Expr> {
        let expr = Expr::new(kind, span);
        if expr.height > MAX_HEIGHT {
            self.sink.push(
                Diagnostic::error(
                    "syntax::depth",
                    span,
                    format!("more than {MAX_HEIGHT} operators within each other"),
                )
                .label("this expression is too deep")
                .hint("use variables to break it up"),
            );
            return Err(Lost);
        }
        Ok(expr)
    }

    fn binary(&mut self, min: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while let Some(op) = self.binary_op().filter(|op| op.precedence() >= min) {
            self.bump();
            let right = self.nested(|p| p.binary(op.precedence() + 1))?;
            let span = left.span.to(right.span);
            left = self.node(ExprKind::Binary(op, Box::new(left), Box::new(right)), span)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let Tok::Sym(symbol @ ("-" | "!" | "~" | "++" | "--")) = *self.peek() else {
            return self.selection();
        };
        self.nested(|p| {
            p.bump();
            let operand = Box::new(p.unary()?);
            let span = start.to(operand.span);
            let kind = match symbol {
                "-" => ExprKind::Unary(UnaryOp::Neg, operand),
                "!" | "~" => ExprKind::Unary(UnaryOp::Not, operand),
                _ => ExprKind::Step { increment: symbol == "++", prefix: true, operand },
            };
            p.node(kind, span)
        })
    }

    /// Parses a postfix expression with at most one wire selector at its end.
    fn selection(&mut self) -> Parsed<Expr> {
        let value = self.postfix()?;
        if !self.eat("{") {
            return Ok(value);
        }
        let base = Box::new(self.expr()?);
        let length = if self.eat(":") { Some(Box::new(self.expr()?)) } else { None };
        let end = self.expect_brace()?;
        let span = value.span.to(end);
        let kind = match length {
            None => ExprKind::Bit(Box::new(value), base),
            Some(length) => ExprKind::Slice(Box::new(value), base, length),
        };
        self.node(kind, span)
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut value = self.primary()?;
        loop {
            let start = value.span;
            let kind = if self.eat("[") {
                let index = self.expr()?;
                self.expect("]")?;
                ExprKind::Index(Box::new(value), Box::new(index))
            } else if self.eat("(") {
                let mut args = Vec::new();
                if !self.is(")") {
                    args.push(self.expr()?);
                    while self.eat(",") {
                        args.push(self.expr()?);
                    }
                }
                self.expect(")")?;
                ExprKind::Call(Box::new(value), args)
            } else if self.eat(".") {
                ExprKind::Field(Box::new(value), self.ident("the name of a field", "write `value.field`")?)
            } else if self.is("++") || self.is("--") {
                let increment = self.is("++");
                self.bump();
                ExprKind::Step { increment, prefix: false, operand: Box::new(value) }
            } else {
                return Ok(value);
            };
            let span = start.to(self.last());
            value = self.node(kind, span)?;
        }
    }

    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let span = self.span();
        match self.peek() {
            Tok::Ident(name) => {
                let kind = ExprKind::Ident(Rc::clone(name));
                self.bump();
                self.node(kind, span)
            }
            Tok::Number(value) => {
                let value = value.clone();
                self.bump();
                let signed = if self.is("#") {
                    true
                } else if self.is("##") {
                    false
                } else {
                    return self.node(ExprKind::Number(value), span);
                };
                self.bump();
                let at = self.span();
                let width = match self.peek() {
                    Tok::Ident(name) => ExprKind::Ident(Rc::clone(name)),
                    Tok::Number(width) => ExprKind::Number(width.clone()),
                    _ => {
                        return self.unexpected(
                            "the width of the literal",
                            "give the number of bits: `5#8` is signed, `5##8` unsigned",
                        );
                    }
                };
                self.bump();
                let width = Box::new(self.node(width, at)?);
                self.node(ExprKind::Literal { value, signed, width }, span.to(at))
            }
            Tok::Sym("int_t" | "uint_t") => {
                let ty = self.type_name("write `uint_t 16(x)` to widen a value")?;
                self.expect("(")?;
                let value = Box::new(self.expr()?);
                let end = self.expect(")")?;
                self.node(ExprKind::Convert(ty, value), span.to(end))
            }
            Tok::Sym("(") => {
                self.bump();
                let inner = self.expr()?;
                let end = self.expect(")")?;
                Ok(Expr { span: span.to(end), ..inner })
            }
            _ => self.unexpected(
                "an expression",
                "write a value here: a number, a variable, a call `f(x)`, or several with operators between \
                 them",
            ),
        }
    }
}
