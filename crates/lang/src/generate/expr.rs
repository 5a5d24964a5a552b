//! Expressions.

use super::Stop;
use super::exec::{Exec, Frame};
use crate::arith;
use crate::ast::BinaryOp;
use crate::diagnostic::Diagnostic;
use crate::graph::Bit;
use crate::ir::{Ex, ExKind, Part, Place};
use crate::source::Span;
use crate::types::{MAX_WIDTH, Type};

impl Exec<'_, '_, '_> {
    pub(super) fn ex(&mut self, f: &mut Frame<'_>, e: &Ex) -> Result<Vec<Bit>, Stop> {
        Ok(match &e.kind {
            ExKind::Const { value, width } => {
                (0..*width).map(|i| Bit::constant(i < 64 && value >> i & 1 == 1)).collect()
            }
            ExKind::Read(place) => {
                let (offset, width) = self.place(f, place)?;
                match offset {
                    Some(offset) => f.vars[place.var as usize].bits[offset..offset + width].to_vec(),
                    None => vec![Bit::ZERO; width],
                }
            }
            ExKind::Part(inner, parts) => {
                let bits = self.ex(f, inner)?;
                let (offset, width) = self.parts(f, parts, bits.len())?;
                match offset {
                    Some(offset) => bits[offset..offset + width].to_vec(),
                    None => vec![Bit::ZERO; width],
                }
            }
            ExKind::Assign(place, value) => {
                let (offset, width) = self.place(f, place)?;
                let bits = self.ex(f, value)?;
                let bits = self.fit(value, bits, width);
                let Some(offset) = offset else { return Ok(bits) };
                self.write(f, place, offset, &bits);
                f.vars[place.var as usize].bits[offset..offset + width].to_vec()
            }
            ExKind::Step { place, increment, prefix } => {
                let (offset, width) = self.place(f, place)?;
                let Some(offset) = offset else { return Ok(vec![Bit::ZERO; width]) };
                let old = f.vars[place.var as usize].bits[offset..offset + width].to_vec();
                let one = arith::extend(&[Bit::ONE], width);
                let new = if *increment {
                    arith::add(&mut self.graph, &old, &one, Bit::ZERO)
                } else {
                    arith::sub(&mut self.graph, &old, &one)
                };
                self.write(f, place, offset, &new);
                if *prefix { f.vars[place.var as usize].bits[offset..offset + width].to_vec() } else { old }
            }
            ExKind::Binary { op, signed, width, operands } => {
                let (l, r) = (&operands.0, &operands.1);
                let (a, b) = (self.ex(f, l)?, self.ex(f, r)?);
                let width = width.map_or(a.len().max(b.len()), |w| w as usize);
                let (a, b) = (self.fit(l, a, width), self.fit(r, b, width));
                use BinaryOp::{Div, Ge, Gt, Le, Lt, Rem};
                if *signed
                    && matches!(op, Lt | Gt | Le | Ge | Div | Rem)
                    && (l.ty == Type::Untyped) != (r.ty == Type::Untyped)
                {
                    let (constant, bits) = if l.ty == Type::Untyped { (l, &a) } else { (r, &b) };
                    self.lint_sign(constant, bits);
                }
                let result = self.binary(*op, *signed, &a, &b);
                if l.ty == Type::Untyped && r.ty == Type::Untyped {
                    self.lint(e.span, *op, &a, &b, &result);
                }
                result
            }
            ExKind::Wide { op, signed, operands } => {
                let (l, r) = (&operands.0, &operands.1);
                let (a, b) = (self.ex(f, l)?, self.ex(f, r)?);
                let widths = [&l.ty, &r.ty].map(|ty| self.cx.module.types.width(ty) as usize);
                let (a, b) = (arith::extend(&a, widths[0]), arith::extend(&b, widths[1]));
                match op {
                    BinaryOp::WideMul => arith::wide_multiply(&mut self.graph, &a, &b, *signed),
                    _ => arith::wide_divide(&mut self.graph, &a, &b, *signed, *op == BinaryOp::WideRem),
                }
            }
            ExKind::Neg(a) => {
                let bits = self.ex(f, a)?;
                arith::negate(&mut self.graph, &bits)
            }
            ExKind::Not(a) => self.ex(f, a)?.into_iter().map(|b| !b).collect(),
            ExKind::Shift { op, keep, operands } => {
                let bits = self.ex(f, &operands.0)?;
                let Some(amount) = self.number(f, &operands.1, "known::shift", "the amount of a shift")?
                else {
                    return Ok(bits);
                };
                if *op == BinaryOp::Shl && !keep && amount > MAX_WIDTH - bits.len() as u64 {
                    self.sink.push(
                        Diagnostic::error(
                            "shift::amount",
                            operands.1.span,
                            format!("shifting by {amount} makes the value too wide"),
                        )
                        .hint("shift a variable, which keeps its width, or by less"),
                    );
                    return Ok(bits);
                }
                shift(*op, *keep, bits, amount)
            }
            ExKind::Call { function, args } => {
                let cx = self.cx;
                let params = &cx.module.functions[*function].params;
                let mut values = Vec::with_capacity(args.len());
                for (arg, (_, ty)) in args.iter().zip(params) {
                    let bits = self.ex(f, arg)?;
                    values.push(self.fit(arg, bits, cx.module.types.width(ty) as usize));
                }
                self.call(f, e.span, *function, values)?
            }
            // Broken programs are not executed.
            ExKind::Broken => return Err(Stop),
        })
    }

    fn binary(&mut self, op: BinaryOp, signed: bool, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
        use BinaryOp::*;
        let g = &mut self.graph;
        let pairs = || a.iter().zip(b).map(|(x, y)| (*x, *y));
        match op {
            Or => pairs().map(|(x, y)| g.or(x, y)).collect(),
            Xor => pairs().map(|(x, y)| g.xor(x, y)).collect(),
            And => pairs().map(|(x, y)| g.and(x, y)).collect(),
            Eq => vec![arith::equal(g, a, b)],
            Ne => vec![!arith::equal(g, a, b)],
            Lt => vec![arith::less(g, a, b, signed)],
            Gt => vec![arith::less(g, b, a, signed)],
            Le => vec![!arith::less(g, b, a, signed)],
            Ge => vec![!arith::less(g, a, b, signed)],
            Add => arith::add(g, a, b, Bit::ZERO),
            Sub => arith::sub(g, a, b),
            Mul => arith::multiply(g, a, b, a.len()),
            Div | Rem => arith::divide(g, a, b, signed, op == Rem),
            Shl | Shr | Rotl | WideMul | WideDiv | WideRem => {
                unreachable!("the checker makes other nodes of these")
            }
        }
    }

    /// Warns where an untyped constant becomes a negative number because it stands beside a signed one.
    fn lint_sign(&mut self, e: &Ex, bits: &[Bit]) {
        if bits.len() > 1
            && bits.last() == Some(&Bit::ONE)
            && let Some(value) = arith::known(bits).and_then(|v| i128::try_from(v).ok())
            && let Some(power) = 1i128.checked_shl(bits.len() as u32).filter(|power| *power > 0)
        {
            self.sink.push(
                Diagnostic::warning(
                    "constant::sign",
                    e.span,
                    format!("{value} is {} as a signed number of {} bits", value - power, bits.len()),
                )
                .label("its highest bit is the sign")
                .hint("use an unsigned type (`uint_t`) or a wider one"),
            );
        }
    }

    /// Warns where the small width of untyped constants changes a result.
    fn lint(&mut self, span: Span, op: BinaryOp, a: &[Bit], b: &[Bit], result: &[Bit]) {
        let (Some(x), Some(y), Some(got)) = (arith::known(a), arith::known(b), arith::known(result)) else {
            return;
        };
        let (Ok(x), Ok(y)) = (i128::try_from(x), i128::try_from(y)) else { return };
        let exact = match op {
            BinaryOp::Add => x.checked_add(y),
            BinaryOp::Sub => x.checked_sub(y),
            BinaryOp::Mul => x.checked_mul(y),
            _ => return,
        };
        if exact != i128::try_from(got).ok() {
            let exact = exact.map_or("too large".into(), |e| e.to_string());
            self.sink.push(
                Diagnostic::warning(
                    "constant::wraps",
                    span,
                    format!("constants of {} bits: {x} {} {y} is {got} here", a.len(), op.symbol()),
                )
                .label(format!("not {exact}"))
                .hint("give the constants a width, e.g. `3##8`; `#define`d sizes are exact"),
            );
        }
    }

    /// A value that must be known and not negative.
    fn number(
        &mut self,
        f: &mut Frame<'_>,
        e: &Ex,
        code: &'static str,
        what: &str,
    ) -> Result<Option<u64>, Stop> {
        let bits = self.ex(f, e)?;
        if !arith::all_known(&bits) {
            self.sink.push(
                Diagnostic::error(code, e.span, format!("{what} must not depend on secrets"))
                    .label("this is not known while compiling")
                    .hint("use a constant or a counter; to choose by a secret, loop over all cases with an `if` (parameters are secret)"),
            );
            return Ok(None);
        }
        let value = arith::known(&bits[..bits.len().min(64)]).unwrap_or(0) as u64;
        let signed = matches!(e.ty, Type::Int(int) if int.signed);
        if value >> 63 == 1 || (signed && bits.last() == Some(&Bit::ONE)) {
            self.sink.push(
                Diagnostic::error("known::negative", e.span, format!("{what} must not be negative"))
                    .hint("count from 0; does a subtraction here go below it?"),
            );
            return Ok(None);
        }
        Ok(Some(value))
    }

    /// First bit and width of a place; no first bit if it was an error, which is reported.
    fn place(&mut self, f: &mut Frame<'_>, place: &Place) -> Result<(Option<usize>, usize), Stop> {
        let whole = f.vars[place.var as usize].bits.len();
        self.parts(f, &place.parts, whole)
    }

    fn parts(
        &mut self,
        f: &mut Frame<'_>,
        parts: &[Part],
        whole: usize,
    ) -> Result<(Option<usize>, usize), Stop> {
        let (mut offset, mut width) = (Some(0), whole);
        for part in parts {
            match part {
                Part::Field { offset: field, width: w } => {
                    offset = offset.map(|o| o + *field as usize);
                    width = *w as usize;
                }
                Part::Index { index, count, width: w } => {
                    let at = self.number(f, index, "known::index", "an index")?;
                    if let Some(at) = at.filter(|at| *at >= u64::from(*count)) {
                        self.sink.push(
                            Diagnostic::error(
                                "index::range",
                                index.span,
                                format!("index {at} of an array of {count} elements"),
                            )
                            .hint(format!("indices run from 0 to {}", count - 1)),
                        );
                    }
                    width = *w as usize;
                    offset = offset
                        .zip(at.filter(|at| *at < u64::from(*count)))
                        .map(|(o, at)| o + at as usize * width);
                }
                Part::Wires { base, width: w, span } => {
                    let first = self.number(f, base, "known::wires", "the first wire of a slice")?;
                    let fits = |first: &u64| *first <= width as u64 && u64::from(*w) <= width as u64 - first;
                    if let Some(first) = first.filter(|first| !fits(first)) {
                        let message = match w {
                            1 => format!("bit {first} of a value of {width} bits"),
                            w => format!(
                                "bits {first} to {} of a value of {width} bits",
                                u128::from(first) + u128::from(*w) - 1
                            ),
                        };
                        self.sink.push(Diagnostic::error("wires::range", *span, message).hint(format!(
                            "bits run from 0 to {}; a slice is `{{first:length}}`, not `{{first:last}}`",
                            width.saturating_sub(1)
                        )));
                    }
                    offset = offset.zip(first.filter(fits)).map(|(o, first)| o + first as usize);
                    width = *w as usize;
                }
            }
        }
        Ok((offset, width))
    }
}

/// Shifts are logical. The result of a variable keeps its width; other values grow to the left and shrink to
/// the right.
fn shift(op: BinaryOp, keep: bool, mut bits: Vec<Bit>, amount: u64) -> Vec<Bit> {
    let width = bits.len();
    let cut = usize::try_from(amount).unwrap_or(usize::MAX).min(width);
    match (op, keep) {
        (BinaryOp::Rotl, _) => {
            if width > 0 {
                bits.rotate_right((amount % width as u64) as usize);
            }
            bits
        }
        (BinaryOp::Shl, true) => {
            bits.rotate_right(cut);
            bits[..cut].fill(Bit::ZERO);
            bits
        }
        (BinaryOp::Shl, false) => {
            let mut out = vec![Bit::ZERO; amount as usize];
            out.extend(bits);
            out
        }
        (_, true) => {
            bits.drain(..cut);
            bits.resize(width, Bit::ZERO);
            bits
        }
        (_, false) => {
            bits.drain(..cut);
            if bits.is_empty() {
                bits.push(Bit::ZERO);
            }
            bits
        }
    }
}
