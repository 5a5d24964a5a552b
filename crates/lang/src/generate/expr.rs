//! Executes expressions.

use super::context::LimitExceeded;
use super::exec::{Exec, Frame, SecretIndex, Spot};
use crate::arith;
use crate::ast::BinaryOp;
use crate::diagnostic::Diagnostic;
use crate::graph::GraphBit;
use crate::ir::{Ex, ExKind, PartStep, VariablePart};
use crate::source::SourceSpan;
use crate::types::{ExprType, MAX_WIDTH};

/// A number that selects a part of a value.
enum Number {
    Known(u64),
    /// A secret number, as unsigned bits.
    Secret(Vec<GraphBit>),
    /// An invalid number, which was reported.
    Wrong,
}

/// Returns the largest number of this many bits, or `u64::MAX`.
fn all_ones(bits: usize) -> u64 {
    u64::MAX.checked_shr(64u32.saturating_sub(bits.min(64) as u32)).unwrap_or(0)
}

/// The largest number of bits by which a shift by a secret amount makes a value wider, unless the value is a
/// variable.
const MAX_SECRET_SHIFT: u64 = 1 << 16;

impl Exec<'_, '_, '_> {
    pub(super) fn ex(&mut self, f: &mut Frame<'_>, e: &Ex) -> Result<Vec<GraphBit>, LimitExceeded> {
        Ok(match &e.kind {
            ExKind::Const { value, width } => (0..*width).map(|i| GraphBit::constant(value.bit(i))).collect(),
            ExKind::Read(place) => {
                let spot = self.place(f, place)?;
                self.read(&f.vars[place.var as usize].bits, &spot)
            }
            ExKind::Part(inner, parts) => {
                let bits = self.ex(f, inner)?;
                let spot = self.parts(f, None, parts, bits.len())?;
                self.read(&bits, &spot)
            }
            ExKind::Assign(place, value) => {
                let spot = self.assign(f, place, value)?;
                self.read(&f.vars[place.var as usize].bits, &spot)
            }
            ExKind::Step { place, increment } => {
                let spot = self.place(f, place)?;
                self.step(f, place, &spot, *increment)
            }
            ExKind::Binary { op, signed, width, operands } => {
                let (l, r) = (&operands.0, &operands.1);
                let (a, b) = (self.ex(f, l)?, self.ex(f, r)?);
                let width = width.map_or(a.len().max(b.len()), |w| w as usize);
                let (a, b) = (self.fit(l, a, width), self.fit(r, b, width));
                use BinaryOp::{Div, Ge, Gt, Le, Lt, Rem};
                if *signed
                    && matches!(op, Lt | Gt | Le | Ge | Div | Rem)
                    && (l.ty == ExprType::Untyped) != (r.ty == ExprType::Untyped)
                {
                    let (constant, bits) = if l.ty == ExprType::Untyped { (l, &a) } else { (r, &b) };
                    self.lint_sign(constant, bits);
                }
                let result = self.binary(*op, *signed, &a, &b);
                if l.ty == ExprType::Untyped && r.ty == ExprType::Untyped {
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
            ExKind::Choice(parts) => self.choose(f, &e.ty, parts)?,
            ExKind::Convert(value) => {
                let (types, bits) = (&self.cx.module.types, self.ex(f, value)?);
                let width = types.width(&e.ty) as usize;
                let ExprType::Int(int) = &value.ty else { return Ok(self.fit(value, bits, width)) };
                let mut bits = arith::extend(&bits, int.width as usize);
                let sign = bits.last().copied().filter(|_| int.signed).unwrap_or(GraphBit::ZERO);
                bits.resize(width, sign);
                bits
            }
            ExKind::Neg(a) => {
                let bits = self.ex(f, a)?;
                arith::negate(&mut self.graph, &bits)
            }
            ExKind::Not(a) => self.ex(f, a)?.into_iter().map(|b| !b).collect(),
            ExKind::Shift { op: BinaryOp::Sar, operands, .. } => self.shift_with_sign(f, operands)?,
            ExKind::Shift { op, keep, open, operands } => {
                let bits = self.ex(f, &operands.0)?;
                match (op, keep, open) {
                    (BinaryOp::Rotl, ..) | (_, true, _) | (_, _, false) => {
                        self.shift(f, *op, *keep, bits, &operands.1)?
                    }
                    _ => self.shift_openly(f, *op, bits, &operands.1)?,
                }
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
            // Programs with errors are not executed.
            ExKind::Broken => return Err(LimitExceeded),
        })
    }

    /// Computes `condition ? then : otherwise`.
    fn choose(
        &mut self,
        f: &mut Frame<'_>,
        ty: &ExprType,
        [cond, then, otherwise]: &[Ex; 3],
    ) -> Result<Vec<GraphBit>, LimitExceeded> {
        let condition = self.ex(f, cond)?[0];
        if *ty == ExprType::Untyped || condition.known().is_none() {
            // The width of untyped values must not depend on the condition, so both are computed.
            let a = self.under(f, condition, |exec, f| exec.ex(f, then))?;
            let b = self.under(f, !condition, |exec, f| exec.ex(f, otherwise))?;
            let width = match ty {
                ExprType::Untyped => a.len().max(b.len()),
                ty => self.cx.module.types.width(ty) as usize,
            };
            let (a, b) = (self.fit(then, a, width), self.fit(otherwise, b, width));
            return Ok(a.iter().zip(b).map(|(a, b)| self.graph.mux(condition, *a, b)).collect());
        }
        let chosen = if condition == GraphBit::ONE { then } else { otherwise };
        let bits = self.ex(f, chosen)?;
        Ok(self.fit(chosen, bits, self.cx.module.types.width(ty) as usize))
    }

    /// Shifts by an amount, which may be known if the rules allow it.
    fn shift(
        &mut self,
        f: &mut Frame<'_>,
        op: BinaryOp,
        keep: bool,
        bits: Vec<GraphBit>,
        by: &Ex,
    ) -> Result<Vec<GraphBit>, LimitExceeded> {
        let amount = match self.number(f, by, "the amount of a shift")? {
            Number::Wrong => return Ok(bits),
            Number::Known(amount) => Err(amount),
            Number::Secret(amount) => Ok(amount),
        };
        let grows = if op == BinaryOp::Shl && !keep {
            let (largest, most) = match &amount {
                Err(amount) => (*amount, MAX_WIDTH - bits.len() as u64),
                // The largest possible amount has all bits set that are not known to be 0.
                Ok(amount) => (all_ones(arith::significant(amount)), MAX_SECRET_SHIFT),
            };
            if largest > most {
                self.too_wide(by.span, largest);
                return Ok(bits);
            }
            largest as usize
        } else {
            0
        };
        Ok(match amount {
            Err(amount) => shift(op, keep, bits, amount),
            Ok(amount) => {
                let (g, bits) = (&mut self.graph, arith::extend(&bits, bits.len() + grows));
                match op {
                    BinaryOp::Rotl => arith::rotate_by(g, &bits, &amount),
                    op => arith::shift_by(g, &bits, &amount, op == BinaryOp::Shl),
                }
            }
        })
    }

    /// Computes `>>>`, which keeps the type and the width. The sign bit is XORed to all bits before a logical
    /// shift and again after it, so copies of the sign bit come in. Both XORs are free.
    fn shift_with_sign(
        &mut self,
        f: &mut Frame<'_>,
        (value, by): &(Ex, Ex),
    ) -> Result<Vec<GraphBit>, LimitExceeded> {
        let mut bits = self.ex(f, value)?;
        let mut sign = GraphBit::ZERO;
        if let ExprType::Int(int) = value.ty {
            bits = arith::extend(&bits, int.width as usize);
            sign = bits.last().copied().filter(|_| int.signed).unwrap_or(GraphBit::ZERO);
        }
        bits.iter_mut().for_each(|bit| *bit = self.graph.xor(*bit, sign));
        let mut bits = self.shift(f, BinaryOp::Shr, true, bits, by)?;
        bits.iter_mut().for_each(|bit| *bit = self.graph.xor(*bit, sign));
        Ok(bits)
    }

    /// Shifts a value that is not a variable by an amount that may depend on a parameter. A shift to the
    /// right keeps its width. A shift to the left makes it wider by the largest amount that has this many
    /// bits.
    fn shift_openly(
        &mut self,
        f: &mut Frame<'_>,
        op: BinaryOp,
        bits: Vec<GraphBit>,
        by: &Ex,
    ) -> Result<Vec<GraphBit>, LimitExceeded> {
        let amount = self.ex(f, by)?;
        let left = op == BinaryOp::Shl;
        let grows = if left { all_ones(amount.len()) } else { 0 };
        if grows > MAX_SECRET_SHIFT {
            self.too_wide(by.span, grows);
            return Ok(bits);
        }
        let bits = arith::extend(&bits, bits.len() + grows as usize);
        Ok(arith::shift_by(&mut self.graph, &bits, &amount, left))
    }

    fn too_wide(&mut self, span: SourceSpan, by: u64) {
        self.sink.push(
            Diagnostic::error(
                "shift::amount",
                span,
                format!("shifting by {by} would make the value too wide"),
            )
            .hint("shift a variable, which keeps its width, or by an amount of fewer bits"),
        );
    }

    fn binary(&mut self, op: BinaryOp, signed: bool, a: &[GraphBit], b: &[GraphBit]) -> Vec<GraphBit> {
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
            Add => arith::add(g, a, b, GraphBit::ZERO),
            Sub => arith::sub(g, a, b),
            Mul => arith::multiply(g, a, b, a.len()),
            Div | Rem => arith::divide(g, a, b, signed, op == Rem),
            Shl | Shr | Rotl | Sar | WideMul | WideDiv | WideRem => {
                unreachable!("The checker has replaced these nodes, so they never occur here.")
            }
        }
    }

    /// Warns if an untyped constant becomes negative because the other operand is signed.
    fn lint_sign(&mut self, e: &Ex, bits: &[GraphBit]) {
        if bits.len() > 1
            && bits.last() == Some(&GraphBit::ONE)
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

    /// Warns if the small width of untyped constants changes a result.
    fn lint(&mut self, span: SourceSpan, op: BinaryOp, a: &[GraphBit], b: &[GraphBit], result: &[GraphBit]) {
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
                    format!("with constants of {} bits, {x} {} {y} is {got}", a.len(), op.symbol()),
                )
                .label(format!("not {exact}"))
                .hint("give the constants a width, e.g. `3##8`; `#define`d sizes are exact"),
            );
        }
    }

    /// Returns an index, the amount of a shift, or the first wire of a slice. A known number must not be
    /// negative.
    fn number(&mut self, f: &mut Frame<'_>, e: &Ex, what: &str) -> Result<Number, LimitExceeded> {
        let bits = self.ex(f, e)?;
        if !arith::all_known(&bits) {
            return Ok(Number::Secret(bits));
        }
        let (low, high) = bits.split_at(bits.len().min(64));
        // Every number from 2^63 on is beyond all widths and sizes.
        let large = high.contains(&GraphBit::ONE) && !matches!(e.ty, ExprType::Int(int) if int.signed);
        let value = if large { u64::MAX >> 1 } else { arith::known(low).unwrap_or(0) as u64 };
        let signed = matches!(e.ty, ExprType::Int(int) if int.signed);
        let negative = value >> 63 == 1 || (signed && bits.last() == Some(&GraphBit::ONE));
        if self.parameters_known && (negative || high.contains(&GraphBit::ONE)) {
            return Ok(Number::Secret(bits));
        }
        if negative {
            self.sink.push(
                Diagnostic::error("known::negative", e.span, format!("{what} must not be negative"))
                    .hint("count from 0; does a subtraction here go below it?"),
            );
            return Ok(Number::Wrong);
        }
        Ok(Number::Known(value))
    }

    /// Returns the part of a variable that a place selects. A `++` or `--` before it is executed first.
    pub(super) fn place(&mut self, f: &mut Frame<'_>, place: &VariablePart) -> Result<Spot, LimitExceeded> {
        let whole = f.vars[place.var as usize].bits.len();
        self.parts(f, Some(place), &place.parts, whole)
    }

    /// Returns a part of a value of `whole` bits, or of a variable if there is a place.
    fn parts(
        &mut self,
        f: &mut Frame<'_>,
        place: Option<&VariablePart>,
        parts: &[PartStep],
        whole: usize,
    ) -> Result<Spot, LimitExceeded> {
        let mut spot = Spot { offset: 0, choices: Vec::new(), width: whole, broken: false };
        for part in parts {
            match part {
                PartStep::Field { offset, width } => {
                    spot.offset += *offset as usize;
                    spot.width = *width as usize;
                }
                PartStep::Step { increment } => {
                    if let Some(place) = place {
                        self.step(f, place, &spot, *increment);
                    }
                }
                PartStep::Index { index, count, width } => {
                    let (count, stride) = (*count as usize, *width as usize);
                    match self.number(f, index, "an index")? {
                        Number::Known(at) if at < count as u64 => spot.offset += at as usize * stride,
                        Number::Known(at) if !self.parameters_known => {
                            spot.broken = true;
                            self.sink.push(
                                Diagnostic::error(
                                    "index::range",
                                    index.span,
                                    format!("index {at} of an array of {count} elements"),
                                )
                                .hint(format!("indices run from 0 to {}", count - 1)),
                            );
                        }
                        Number::Known(at) => {
                            let index = (0..64).map(|i| GraphBit::constant(at >> i & 1 == 1)).collect();
                            spot.choices.push(SecretIndex { index, count, stride });
                        }
                        Number::Secret(index) => spot.choices.push(SecretIndex { index, count, stride }),
                        Number::Wrong => spot.broken = true,
                    }
                    spot.width = stride;
                }
                PartStep::Wires { base, width: w, span } => {
                    let (width, w) = (spot.width, *w as usize);
                    let first = match self.number(f, base, "the first wire of a slice")? {
                        Number::Known(first) => Some(first),
                        Number::Secret(_) => {
                            self.sink.push(
                                Diagnostic::error(
                                    "known::wires",
                                    base.span,
                                    "the first wire of a slice must not depend on secrets",
                                )
                                .label("this is not known while compiling")
                                .hint(format!(
                                    "shift first, which may be by a secret, then take the lowest bits: `(x \
                                     >> i){{0:{w}}}`; parameters are secret, too"
                                )),
                            );
                            None
                        }
                        Number::Wrong => None,
                    };
                    let fits = |first: &u64| *first <= width as u64 && w as u64 <= width as u64 - first;
                    if let Some(first) = first.filter(|first| !fits(first)) {
                        let message = match w {
                            1 => format!("bit {first} of a value of {width} bits"),
                            w => format!(
                                "bits {first} to {} of a value of {width} bits",
                                u128::from(first) + w as u128 - 1
                            ),
                        };
                        self.sink.push(Diagnostic::error("wires::range", *span, message).hint(format!(
                            "bits run from 0 to {}; a slice is `{{first:length}}`, not `{{first:last}}`",
                            width.saturating_sub(1)
                        )));
                    }
                    match first.filter(fits) {
                        Some(first) => spot.offset += first as usize,
                        None => spot.broken = true,
                    }
                    spot.width = w;
                }
            }
        }
        Ok(spot)
    }
}

/// Shifts are logical. A variable keeps its width. Other values become wider to the left and narrower to the
/// right.
fn shift(op: BinaryOp, keep: bool, mut bits: Vec<GraphBit>, amount: u64) -> Vec<GraphBit> {
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
            bits[..cut].fill(GraphBit::ZERO);
            bits
        }
        (BinaryOp::Shl, false) => {
            let mut out = vec![GraphBit::ZERO; amount as usize];
            out.extend(bits);
            out
        }
        (_, true) => {
            bits.drain(..cut);
            bits.resize(width, GraphBit::ZERO);
            bits
        }
        (_, false) => {
            bits.drain(..cut);
            if bits.is_empty() {
                bits.push(GraphBit::ZERO);
            }
            bits
        }
    }
}
