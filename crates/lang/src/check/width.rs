//! Evaluates the expressions in types: widths, dimensions, and lengths of slices. They are computed with
//! 64-bit integers, and the widths of literals are ignored.

use super::checker::Checker;
use crate::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::diagnostic::Diagnostic;
use crate::source::SourceSpan;
use crate::types::MAX_WIDTH;

impl Checker<'_> {
    /// Returns the value of an expression that must be positive; `what` names it in errors.
    pub(super) fn positive(&mut self, e: &Expr, what: &str) -> Option<u32> {
        match self.width_value(e)? {
            n if n <= 0 => {
                self.sink.push(
                    Diagnostic::error(
                        "width::positive",
                        e.span,
                        format!("{what} must be at least 1, not {n}"),
                    )
                    .hint("give a positive number; if it is computed, check the `#define`s in it"),
                );
                None
            }
            n if n as u64 > MAX_WIDTH => {
                self.sink.push(
                    Diagnostic::error(
                        "type::size",
                        e.span,
                        format!("{n} is too large for {what}; at most {MAX_WIDTH}"),
                    )
                    .hint("give a smaller number; if it is computed, check the `#define`s in it"),
                );
                None
            }
            n => Some(n as u32),
        }
    }

    fn width_value(&mut self, e: &Expr) -> Option<i64> {
        let refuse = |cx: &mut Self, what: &str| {
            cx.sink.push(
                Diagnostic::error(
                    "width::constant",
                    e.span,
                    format!("{what} cannot be part of a width, a dimension or a length"),
                )
                .label("must be made of numbers")
                .hint("sizes are fixed before anything is computed; use a `#define`"),
            );
            None
        };
        match &e.kind {
            ExprKind::Number(n) | ExprKind::Literal { value: n, .. } => {
                let value = n.small().and_then(|n| i64::try_from(n).ok());
                if value.is_none() {
                    self.overflow(e.span, "this does not fit in 64 bits");
                }
                value
            }
            ExprKind::Choice(parts) => {
                let chosen = if self.width_value(&parts[0])? == 0 { &parts[2] } else { &parts[1] };
                self.width_value(chosen)
            }
            ExprKind::Macro(body) => {
                // An error should point to the place of use, and not to the definition.
                let at = Expr { span: e.span, ..Expr::clone(body) };
                self.width_value(&at)
            }
            ExprKind::Unary(op, a) => {
                let a = self.width_value(a)?;
                Some(match op {
                    UnaryOp::Neg => a.wrapping_neg(),
                    UnaryOp::Not => !a,
                })
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.width_value(a)?, self.width_value(b)?);
                let value = binary(*op, a, b);
                match op {
                    BinaryOp::Div | BinaryOp::Rem | BinaryOp::WideDiv | BinaryOp::WideRem if b == 0 => {
                        self.overflow(e.span, "division by zero");
                    }
                    _ if value.is_none() => self.overflow(e.span, "this does not fit in 64 bits"),
                    _ => {}
                }
                value
            }
            ExprKind::Broken => None,
            ExprKind::Ident(name) => refuse(self, &format!("the variable `{name}`")),
            ExprKind::Index(..) => refuse(self, "an array access"),
            ExprKind::Call(..) => refuse(self, "a call"),
            ExprKind::Field(..) => refuse(self, "a field"),
            ExprKind::Bit(..) | ExprKind::Slice(..) => refuse(self, "a slice"),
            ExprKind::Assign(..) => refuse(self, "an assignment"),
            ExprKind::Step { .. } => refuse(self, "`++` or `--`"),
            ExprKind::Convert(..) => refuse(self, "a conversion"),
        }
    }

    fn overflow(&mut self, span: SourceSpan, message: &str) {
        self.sink.push(Diagnostic::error("width::overflow", span, message).hint(
            "widths and lengths are computed with signed numbers of 64 bits; check the `#define`s in \
             this one",
        ));
    }
}

fn binary(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    use BinaryOp::*;
    let shift = |b: i64| u32::try_from(b).ok().filter(|b| *b < 64);
    match op {
        Or => Some(a | b),
        Xor => Some(a ^ b),
        And => Some(a & b),
        Eq => Some((a == b).into()),
        Ne => Some((a != b).into()),
        Lt => Some((a < b).into()),
        Gt => Some((a > b).into()),
        Le => Some((a <= b).into()),
        Ge => Some((a >= b).into()),
        Shl => shift(b).and_then(|s| a.checked_mul(1i64.checked_shl(s)?)),
        Shr | Sar => Some(shift(b)?).map(|s| a >> s),
        Rotl => Some(a.rotate_left((b & 63) as u32)),
        Add => a.checked_add(b),
        Sub => a.checked_sub(b),
        Mul | WideMul => a.checked_mul(b),
        Div | WideDiv => a.checked_div(b),
        Rem | WideRem => a.checked_rem(b),
    }
}
