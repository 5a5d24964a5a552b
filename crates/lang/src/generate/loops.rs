//! Finds loops whose counter is too narrow for their condition.

use super::context::LimitExceeded;
use super::exec::{Exec, Frame};
use crate::arith;
use crate::ast::BinaryOp;
use crate::diagnostic::Diagnostic;
use crate::ir::{Ex, ExKind};
use crate::source::SourceSpan;

/// A condition that compares a counter with a constant.
pub(super) struct CounterCondition {
    /// The comparison, with the counter on the left.
    op: BinaryOp,
    signed: bool,
    width: u32,
    /// The constant as it is written. The next field contains its value in the width of the counter.
    written: u128,
    value: i128,
}

/// Returns whether an expression consists of numbers only.
fn is_constant(e: &Ex) -> bool {
    match &e.kind {
        ExKind::Const { .. } => true,
        ExKind::Neg(a) | ExKind::Not(a) => is_constant(a),
        ExKind::Binary { operands, .. } | ExKind::Shift { operands, .. } => {
            is_constant(&operands.0) && is_constant(&operands.1)
        }
        _ => false,
    }
}

impl Exec<'_, '_, '_> {
    /// Returns the two sides of a loop's condition, if one is a variable and the other a constant.
    pub(super) fn limits(
        &mut self,
        f: &mut Frame<'_>,
        cond: &Ex,
    ) -> Result<Option<CounterCondition>, LimitExceeded> {
        use BinaryOp::{Ge, Gt, Le, Lt, Ne};
        let ExKind::Binary { op, signed, width: Some(width), operands } = &cond.kind else { return Ok(None) };
        let is_counter = |e: &Ex| matches!(&e.kind, ExKind::Read(place) if place.parts.is_empty());
        let (op, constant) = match (op, &operands.0, &operands.1) {
            (Lt | Gt | Le | Ge | Ne, counter, constant) if is_counter(counter) && is_constant(constant) => {
                (*op, constant)
            }
            (Lt | Gt | Le | Ge | Ne, constant, counter) if is_counter(counter) && is_constant(constant) => {
                let turned = match op {
                    Lt => Gt,
                    Gt => Lt,
                    Le => Ge,
                    Ge => Le,
                    op => *op,
                };
                (turned, constant)
            }
            _ => return Ok(None),
        };
        let bits = self.whole(f, constant)?;
        let cut = arith::extend(&bits, *width as usize);
        // For a literal with a width, both are the same.
        let literal = if let ExKind::Const { value, .. } = &constant.kind { value.small() } else { None };
        let (Some(written), Some(low)) = (literal.or(arith::known(&bits)), arith::known(&cut)) else {
            return Ok(None);
        };
        let (Ok(low), true) = (i128::try_from(low), *width < 127) else { return Ok(None) };
        let negative = *signed && low >> (width - 1) & 1 == 1;
        let value = if negative { low - (1 << width) } else { low };
        Ok(Some(CounterCondition { op, signed: *signed, width: *width, written, value }))
    }
}

impl CounterCondition {
    fn least(&self) -> i128 {
        if self.signed { -(1 << (self.width - 1)) } else { 0 }
    }

    fn most(&self) -> i128 {
        (1 << (self.width - u32::from(self.signed))) - 1
    }

    /// Returns whether the condition is true for all values that the counter can have.
    pub(super) fn always_true(&self) -> bool {
        match self.op {
            BinaryOp::Le => self.value == self.most(),
            BinaryOp::Ge => self.value == self.least(),
            _ => false,
        }
    }

    /// Returns the counter's type with this number of bits.
    fn kind(&self, width: u32) -> String {
        format!("{} {width}", if self.signed { "int_t" } else { "uint_t" })
    }

    /// Returns the number of bits that a counter needs for `written` and one step more.
    fn needed(&self) -> u32 {
        128 - (self.written + 1).leading_zeros() + u32::from(self.signed)
    }

    /// Returns the error about a loop whose condition is always true.
    pub(super) fn endless(&self, at: SourceSpan, cond: SourceSpan) -> Diagnostic {
        let kind = self.kind(self.width);
        let (reason, hint) = if self.op == BinaryOp::Le {
            let wider = self.kind(self.needed().max(self.width + 1));
            (
                format!(
                    "a `{kind}` is never above {}, and counts from there on to {}",
                    self.most(),
                    self.least()
                ),
                format!("give the counter more bits: `for ({wider} i = 0; …)`"),
            )
        } else {
            (
                format!(
                    "a `{kind}` is never below {}, and counts from there down to {}",
                    self.least(),
                    self.most()
                ),
                match self.signed {
                    true => {
                        format!("give the counter one more bit: `for (int_t {} i = …; …)`", self.width + 1)
                    }
                    false => format!(
                        "count down to 1, `for ({kind} i = … + 1; i > 0; i--)`, and write `i - 1` instead of \
                         `i`"
                    ),
                },
            )
        };
        Diagnostic::error("loop::endless", at, "this loop never ends")
            .label("it would be unrolled for ever")
            .also(cond, reason)
            .hint(hint)
    }

    /// Returns the warning about a loop that never runs because of its counter's range.
    pub(super) fn never(&self, at: SourceSpan, cond: SourceSpan) -> Option<Diagnostic> {
        let cut = self.written >> self.width != 0;
        let impossible = match self.op {
            BinaryOp::Lt => self.value == self.least(),
            BinaryOp::Gt => self.value == self.most(),
            _ => false,
        };
        let (reason, hint) = if cut {
            (
                format!("{} is {} in the {} bits of the counter", self.written, self.value, self.width),
                format!("give the counter more bits: `for ({} i = 0; …)`", self.kind(self.needed())),
            )
        } else if impossible {
            let side = if self.op == BinaryOp::Lt { "below" } else { "above" };
            (
                format!("a `{}` is never {side} {}", self.kind(self.width), self.value),
                "check the condition: a loop goes on while it is true".into(),
            )
        } else {
            return None;
        };
        Some(
            Diagnostic::warning("loop::never", at, "this loop runs zero times")
                .label("its condition is false from the start")
                .also(cond, reason)
                .hint(hint),
        )
    }
}
