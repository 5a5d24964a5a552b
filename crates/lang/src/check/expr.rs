//! Checks expressions.

use std::rc::Rc;

use super::body::Body;
use super::checker::Global;
use crate::ast::{BinaryOp, Expr, ExprKind, Ident, UnaryOp};
use crate::diagnostic::Diagnostic;
use crate::ir::{Ex, ExKind, PartStep, VariablePart};
use crate::source::SourceSpan;
use crate::stdlib;
use crate::types::{Compatible, ExprType, IntType};

/// A place, as long as a part of it may still be selected, or a value.
enum Operand {
    Place(VariablePart, ExprType),
    Value(Ex),
}

impl Operand {
    fn ty(&self) -> &ExprType {
        match self {
            Operand::Place(_, ty) => ty,
            Operand::Value(ex) => &ex.ty,
        }
    }

    fn part(self, part: PartStep, ty: ExprType, span: SourceSpan) -> Operand {
        match self {
            Operand::Place(mut place, _) => {
                place.parts.push(part);
                place.span = span;
                Operand::Place(place, ty)
            }
            Operand::Value(Ex { kind: ExKind::Part(inner, mut parts), .. }) => {
                parts.push(part);
                Operand::Value(Ex { kind: ExKind::Part(inner, parts), ty, span })
            }
            Operand::Value(inner) => {
                Operand::Value(Ex { kind: ExKind::Part(Box::new(inner), vec![part]), ty, span })
            }
        }
    }
}

fn broken(span: SourceSpan) -> Ex {
    Ex { kind: ExKind::Broken, ty: ExprType::Broken, span }
}

impl Body<'_, '_> {
    pub(super) fn expr(&mut self, e: &Expr) -> Ex {
        let ex = match self.operand(e) {
            Operand::Place(place, ty) => Ex { span: place.span, kind: ExKind::Read(place), ty },
            Operand::Value(ex) => ex,
        };
        // Inside a macro, errors point to the use of the macro.
        match self.macro_use {
            Some(span) => Ex { span, ..ex },
            None => ex,
        }
    }

    fn show(&self, ty: &ExprType) -> String {
        self.cx.types.show(ty)
    }

    fn operand(&mut self, e: &Expr) -> Operand {
        match &e.kind {
            ExprKind::Ident(name) => match self.lookup(name) {
                Some(var) => {
                    self.named.insert(var);
                    let place = VariablePart { var, parts: Vec::new(), span: e.span };
                    Operand::Place(place, self.vars[var as usize].0.clone())
                }
                None => {
                    self.undefined(name, e.span);
                    Operand::Value(broken(e.span))
                }
            },
            ExprKind::Macro(body) => {
                let outer = self.macro_use;
                self.macro_use = Some(outer.unwrap_or(e.span));
                let mut operand = self.operand(body);
                self.macro_use = outer;
                match &mut operand {
                    Operand::Place(VariablePart { span, .. }, _) | Operand::Value(Ex { span, .. }) => {
                        *span = outer.unwrap_or(e.span)
                    }
                }
                operand
            }
            ExprKind::Index(array, index) => self.index(e, array, index),
            ExprKind::Field(value, name) => self.field(e, value, name),
            ExprKind::Bit(value, base) => self.wires(e, value, base, None),
            ExprKind::Slice(value, base, length) => self.wires(e, value, base, Some(length)),
            ExprKind::Step { increment, prefix: true, operand } => {
                match self.step(e.span, *increment, operand) {
                    // The result is the variable itself, which can be changed again.
                    Some((mut place, ty)) => {
                        place.parts.push(PartStep::Step { increment: *increment });
                        place.span = e.span;
                        Operand::Place(place, ty)
                    }
                    None => Operand::Value(broken(e.span)),
                }
            }
            _ => Operand::Value(self.value(e)),
        }
    }

    fn undefined(&mut self, name: &Rc<str>, span: SourceSpan) {
        let port = |prefix: &str| name.strip_prefix(prefix).is_some_and(|n| n.parse::<u32>().is_ok());
        let missing = format!("there is no variable `{name}`");
        let (message, hint) = match self.cx.globals.get(name) {
            Some(Global::Function(..) | Global::Generic(..)) => {
                (format!("`{name}` is not a variable"), format!("call it with its arguments: `{name}(…)`"))
            }
            Some(Global::Type(..)) => (
                format!("`{name}` is not a variable"),
                format!("declare a variable of this type: `{name} x;`"),
            ),
            None if (port("input") || port("output")) && !self.is_main => {
                (missing, "inputs and outputs are visible only in `main`; pass them as arguments".into())
            }
            None if port("input") || port("output") => {
                let (what, party) =
                    name.split_at(name.len() - name.chars().rev().take_while(char::is_ascii_digit).count());
                (missing, format!("declare it at the top: `#{what} {party} TYPE`"))
            }
            None if matches!(&**name, "true" | "false") => {
                (missing, "write 1 for true and 0 for false".into())
            }
            None => (
                missing,
                format!("declare it before its use, `TYPE {name};`; it lives until the `}}` of its block"),
            ),
        };
        self.error(Diagnostic::error("variable::undefined", span, message).hint(hint));
    }

    fn index(&mut self, e: &Expr, array: &Expr, index: &Expr) -> Operand {
        let array = self.operand(array);
        let index = self.expr(index);
        match &index.ty {
            ExprType::Int(int) if int.signed => self.error(
                Diagnostic::warning("index::signed", index.span, "this index is a signed number")
                    .hint("use an unsigned type (`uint_t`): a negative index is an error"),
            ),
            ty if ty.is_number() => {}
            other => {
                let found = self.show(other);
                self.error(
                    Diagnostic::error("index::type", index.span, "an index must be a number")
                        .label(format!("this is {found}"))
                        .hint(other.number_in()),
                );
            }
        }
        let ExprType::Array(kind) = array.ty() else {
            if *array.ty() != ExprType::Broken {
                let found = self.show(array.ty());
                self.error(
                    Diagnostic::error("index::array", e.span, "only arrays have elements")
                        .label(format!("this is an element of {found}"))
                        .hint(
                            "bits of a number are `x{0}` or `x{first:length}`, fields of a struct `s.name`",
                        ),
                );
            }
            return Operand::Value(broken(e.span));
        };
        let (count, ty) = (kind.dims[0], self.cx.types.element(kind));
        let width = self.cx.types.width(&ty);
        array.part(PartStep::Index { index, count, width }, ty, e.span)
    }

    fn field(&mut self, e: &Expr, value: &Expr, name: &Ident) -> Operand {
        let value = self.operand(value);
        let ExprType::Struct(number) = *value.ty() else {
            if *value.ty() != ExprType::Broken {
                let found = self.show(value.ty());
                self.error(
                    Diagnostic::error("field::struct", e.span, "only structs have fields")
                        .label(format!("this is a field of {found}"))
                        .hint(
                            "elements of an array are `a[0]`, bits of a number `x{0}` or `x{first:length}`",
                        ),
                );
            }
            return Operand::Value(broken(e.span));
        };
        let kind = &self.cx.types.structs[number as usize];
        let Some(field) = kind.fields.iter().find(|f| f.name == name.name) else {
            let names: Vec<&str> = kind.fields.iter().map(|f| &*f.name).collect();
            let diagnostic = Diagnostic::error(
                "field::unknown",
                name.span,
                format!("struct `{}` has no field `{}`", kind.name, name.name),
            )
            .also(kind.span, "declared here")
            .hint(format!("choose one of its fields: {}", names.join(", ")));
            self.error(diagnostic);
            return Operand::Value(broken(e.span));
        };
        let (offset, ty) = (field.offset, field.ty.clone());
        let width = self.cx.types.width(&ty);
        value.part(PartStep::Field { offset, width }, ty, e.span)
    }

    fn wires(&mut self, e: &Expr, value: &Expr, base: &Expr, length: Option<&Expr>) -> Operand {
        let value = self.operand(value);
        let base = self.expr(base);
        if !base.ty.is_number() {
            let found = self.show(&base.ty);
            self.error(
                Diagnostic::error("wires::base", base.span, "the first wire must be a number")
                    .label(format!("this is {found}"))
                    .hint(base.ty.number_in()),
            );
        }
        let width = match length {
            None => Some(1),
            Some(length) => self.cx.positive(length, "the length of a slice"),
        };
        if !value.ty().is_number() {
            let found = self.show(value.ty());
            self.error(
                Diagnostic::error("wires::operand", e.span, "wires can only be selected from a number")
                    .label(format!("this selects from {found}"))
                    .hint(value.ty().number_in()),
            );
            return Operand::Value(broken(e.span));
        }
        let Some(width) = width else { return Operand::Value(broken(e.span)) };
        if *value.ty() == ExprType::Broken {
            return Operand::Value(broken(e.span));
        }
        value.part(PartStep::Wires { base, width, span: e.span }, ExprType::uint(width), e.span)
    }

    /// Checks that an expression is a place that can be written.
    fn target(&mut self, e: &Expr, what: &str) -> Option<(VariablePart, ExprType)> {
        match self.operand(e) {
            Operand::Place(place, ty) => {
                self.assigned.insert(place.var);
                Some((place, ty))
            }
            Operand::Value(Ex { ty: ExprType::Broken, .. }) => None,
            Operand::Value(ex) => {
                let (code, kind) = match ex.ty {
                    ExprType::Untyped => ("assign::constant", "a constant"),
                    _ => ("assign::target", "the value of an expression"),
                };
                self.error(Diagnostic::error(code, e.span, format!("{what} cannot change {kind}")).hint(
                    "assign it to a variable first: only variables, their elements, fields and slices can \
                     be changed",
                ));
                None
            }
        }
    }

    fn value(&mut self, e: &Expr) -> Ex {
        let span = e.span;
        match &e.kind {
            ExprKind::Number(value) => {
                // The width has one bit more than the value needs, and at least two bits.
                let width = value.bits().max(1) + 1;
                Ex { kind: ExKind::Const { value: value.clone(), width }, ty: ExprType::Untyped, span }
            }
            ExprKind::Literal { value, signed, width } => {
                let Some(width) = self.cx.positive(width, "the width of a literal") else {
                    return broken(span);
                };
                if width < value.bits() {
                    self.error(
                        Diagnostic::warning(
                            "constant::truncated",
                            span,
                            format!("{value} does not fit in {width} bits"),
                        )
                        .label(format!("this is {}", value.low(width)))
                        .hint("give it more bits behind the `#`, or write the smaller number"),
                    );
                }
                let ty = ExprType::Int(IntType::of_compiler(*signed, width));
                Ex { kind: ExKind::Const { value: value.clone(), width }, ty, span }
            }
            ExprKind::Binary(op, l, r) => self.operation(span, *op, l, r),
            ExprKind::Unary(op, a) => {
                let a = self.expr(a);
                self.unary(span, *op, a)
            }
            ExprKind::Step { increment, prefix: false, operand } => {
                match self.step(span, *increment, operand) {
                    Some((place, ty)) => Ex { kind: ExKind::Step { place, increment: *increment }, ty, span },
                    None => broken(span),
                }
            }
            ExprKind::Assign(op, left, right) => {
                let outer = std::mem::replace(&mut self.changes, false);
                let target = self.target(left, "an assignment");
                if let Some(op) = op.filter(|_| self.changes) {
                    let message =
                        format!("`{}=` reads its left side twice, and this one changes", op.symbol());
                    self.error(
                        Diagnostic::error("assign::twice", left.span, message)
                            .hint("change the variable in a statement of its own before this one"),
                    );
                    return broken(span);
                }
                self.changes = outer;
                let right = match op {
                    Some(op) if target.is_some() => self.operation(span, *op, left, right),
                    _ => self.expr(right),
                };
                self.changes = true;
                let Some((place, ty)) = target else { return broken(span) };
                self.assignable(&ty, &right, "assign::type", "the right side");
                Ex { kind: ExKind::Assign(place, Box::new(right)), ty, span }
            }
            ExprKind::Choice(parts) => {
                let [cond, then, otherwise] = &**parts;
                let cond = self.expr(cond);
                self.single_bit(&cond);
                let (then, otherwise) = (self.expr(then), self.expr(otherwise));
                if then.ty == ExprType::Void || otherwise.ty == ExprType::Void {
                    self.error(
                        Diagnostic::error("choice::type", span, "`?:` needs values")
                            .hint(ExprType::Void.number_in()),
                    );
                    return broken(span);
                }
                let Some(ty) = self.common(span, "?:", &then, &otherwise) else { return broken(span) };
                Ex { kind: ExKind::Choice(Box::new([cond, then, otherwise])), ty, span }
            }
            ExprKind::Convert(ty, value) => {
                let ty = self.cx.type_named(ty);
                let value = self.expr(value);
                self.convert(span, ty, value)
            }
            ExprKind::Call(callee, args) => self.call(span, callee, args),
            ExprKind::Broken => broken(span),
            ExprKind::Ident(_)
            | ExprKind::Macro(_)
            | ExprKind::Step { prefix: true, .. }
            | ExprKind::Index(..)
            | ExprKind::Field(..)
            | ExprKind::Bit(..)
            | ExprKind::Slice(..) => self.expr(e),
        }
    }

    fn operation(&mut self, span: SourceSpan, op: BinaryOp, l: &Expr, r: &Expr) -> Ex {
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr | BinaryOp::Rotl | BinaryOp::Sar) {
            return self.shift(span, op, l, r);
        }
        let (l, r) = (self.expr(l), self.expr(r));
        self.binary(span, op, l, r)
    }

    /// Returns the place that `++` or `--` changes.
    fn step(
        &mut self,
        span: SourceSpan,
        increment: bool,
        operand: &Expr,
    ) -> Option<(VariablePart, ExprType)> {
        self.changes = true;
        let name = if increment { "`++`" } else { "`--`" };
        let (place, ty) = self.target(operand, name)?;
        if matches!(place.parts.last(), Some(PartStep::Wires { .. })) {
            self.error(
                Diagnostic::error("step::slice", span, format!("{name} cannot change a slice"))
                    .hint("write the addition out: `x{0:4} = x{0:4} + 1`"),
            );
            return None;
        }
        match ty {
            ExprType::Int(_) => Some((place, ty)),
            ExprType::Broken => None,
            other => {
                let found = self.show(&other);
                self.error(
                    Diagnostic::error("unary::type", span, format!("{name} needs a number"))
                        .label(format!("this is {found}"))
                        .hint(other.number_in()),
                );
                None
            }
        }
    }

    fn wrong_count(
        &mut self,
        name: &str,
        span: SourceSpan,
        wanted: usize,
        given: usize,
        declared: SourceSpan,
    ) {
        self.error(
            Diagnostic::error("call::count", span, format!("`{name}` takes {wanted} arguments, not {given}"))
                .also(declared, "declared here")
                .hint("give one value for each parameter, in their order"),
        );
    }

    fn unary(&mut self, span: SourceSpan, op: UnaryOp, a: Ex) -> Ex {
        let symbol = if op == UnaryOp::Neg { "-" } else { "~" };
        match (&a.ty, op) {
            (ExprType::Broken, _) => return broken(span),
            (ExprType::Untyped, UnaryOp::Not) => {
                self.error(
                    Diagnostic::error(
                        "unary::untyped",
                        span,
                        "the bits of an untyped constant cannot be inverted",
                    )
                    .hint("give it a width: `5##8` is unsigned, `5#8` signed"),
                );
                return broken(span);
            }
            (ExprType::Untyped, UnaryOp::Neg) => self.error(
                Diagnostic::warning(
                    "constant::minus",
                    span,
                    "this is negated at the constant's own small width",
                )
                .hint("give it a width: `-1#8` is minus one in 8 bits"),
            ),
            (ExprType::Int(_), _) => {}
            (other, _) => {
                let found = self.show(other);
                self.error(
                    Diagnostic::error("unary::type", span, format!("`{symbol}` needs a number"))
                        .label(format!("this is applied to {found}"))
                        .hint(other.number_in()),
                );
                return broken(span);
            }
        }
        let ty = a.ty.clone();
        let kind = if op == UnaryOp::Neg { ExKind::Neg(Box::new(a)) } else { ExKind::Not(Box::new(a)) };
        Ex { kind, ty, span }
    }

    fn shift(&mut self, span: SourceSpan, op: BinaryOp, l: &Expr, r: &Expr) -> Ex {
        let left = self.operand(l);
        let (keep, left) = match left {
            Operand::Place(place, ty) => {
                // A slice is a new value. A variable, an element or a field keeps its width.
                let keep = !matches!(place.parts.last(), Some(PartStep::Wires { .. }));
                (keep, Ex { span: place.span, kind: ExKind::Read(place), ty })
            }
            Operand::Value(ex) => (false, ex),
        };
        let right = self.expr(r);
        for side in [&left, &right] {
            if !side.ty.is_number() {
                let found = self.show(&side.ty);
                let at = side.span;
                self.error(
                    Diagnostic::error("shift::type", at, format!("`{}` needs numbers", op.symbol()))
                        .label(format!("this is {found}"))
                        .hint(side.ty.number_in()),
                );
                return broken(span);
            }
        }
        if left.ty == ExprType::Broken || right.ty == ExprType::Broken {
            return broken(span);
        }
        if let (BinaryOp::Shr, ExprType::Int(IntType { signed: true, width, .. })) = (op, &left.ty) {
            let [value, by] = [l.span, r.span].map(|span| self.cx.sources.on_one_line(span));
            let name = matches!(l.kind, ExprKind::Ident(_) | ExprKind::Index(..) | ExprKind::Field(..));
            let bits = if name { &value } else { "(…)" };
            self.error(
                Diagnostic::warning("shift::sign", span, "`>>` shifts zeros into a signed number")
                    .label("a negative number becomes a large positive one")
                    .hint(format!(
                        "write `{value} >>> {by}` to keep the sign; if zeros are meant, say so with \
                         `{bits}{{0:{width}}} >> {by}`"
                    )),
            );
        }
        // A shift has the type of its amount, on which old programs depend. If the amount has another width,
        // the result is compatible with every number. Rotations and `>>>` keep width and type.
        let ty = match (op, &left.ty, &right.ty) {
            (BinaryOp::Rotl | BinaryOp::Sar, ty, _) => ty.clone(),
            (_, ExprType::Int(a), ExprType::Int(b)) if a.width == b.width => right.ty.clone(),
            _ => ExprType::Untyped,
        };
        Ex { kind: ExKind::Shift { op, keep, open: false, operands: Box::new((left, right)) }, ty, span }
    }

    fn binary(&mut self, span: SourceSpan, op: BinaryOp, l: Ex, r: Ex) -> Ex {
        use BinaryOp::*;
        if l.ty == ExprType::Broken || r.ty == ExprType::Broken {
            return broken(span);
        }
        let symbol = op.symbol();
        let equality = matches!(op, Eq | Ne);
        for side in [&l, &r] {
            if !side.ty.is_number() && (!equality || side.ty == ExprType::Void) {
                let found = self.show(&side.ty);
                let at = side.span;
                self.error(
                    Diagnostic::error("operator::type", at, format!("`{symbol}` needs numbers"))
                        .label(format!("this is {found}"))
                        .hint(side.ty.number_in()),
                );
                return broken(span);
            }
        }
        if matches!(op, WideMul | WideDiv | WideRem) {
            return self.wide(span, op, l, r);
        }
        let Some(common) = self.common(span, symbol, &l, &r) else { return broken(span) };
        let width = if common == ExprType::Untyped { None } else { Some(self.cx.types.width(&common)) };
        let mut signed = matches!(common, ExprType::Int(IntType { signed: true, .. }));
        let ty = match op {
            Eq | Ne | Lt | Gt | Le | Ge => {
                // For a single bit, the comparator does not handle a sign.
                signed &= width != Some(1);
                ExprType::uint(1)
            }
            _ => common,
        };
        Ex { kind: ExKind::Binary { op, signed, width, operands: Box::new((l, r)) }, ty, span }
    }

    /// Returns the type of the result of an operator on two values of compatible types.
    fn common(&mut self, span: SourceSpan, symbol: &str, l: &Ex, r: &Ex) -> Option<ExprType> {
        let compatible = self.cx.types.compatible(&l.ty, &r.ty);
        let (left, right) = (self.show(&l.ty), self.show(&r.ty));
        match compatible {
            Compatible::Yes => {}
            Compatible::Cast => self.error(
                Diagnostic::warning("type::cast", span, format!("`{symbol}` between {left} and {right}"))
                    .label("the bits are taken as they are")
                    .hint(
                        "declare both with one type, or take the bits of one, as in `y{0:8}`, if that is \
                         meant",
                    ),
            ),
            Compatible::No => {
                self.error(
                    Diagnostic::error(
                        "operator::mismatch",
                        span,
                        format!("the sides of `{symbol}` have different types"),
                    )
                    .also(l.span, format!("this is {left}"))
                    .also(r.span, format!("this is {right}"))
                    .hint(match (&l.ty, &r.ty) {
                        (ExprType::Int(a), ExprType::Int(b)) => {
                            let wider = self.cx.types.name(if a.width < b.width { b } else { a });
                            format!(
                                "types are never converted implicitly; `{wider}(…)` widens the narrow side"
                            )
                        }
                        _ => "bring both sides to one type; types are never converted implicitly".into(),
                    }),
                );
                return None;
            }
        }
        Some(match (&l.ty, &r.ty) {
            (ExprType::Untyped | ExprType::Broken, _) => r.ty.clone(),
            (ExprType::Int(a), ExprType::Int(b)) if a.signed && !b.signed => r.ty.clone(),
            _ => l.ty.clone(),
        })
    }

    /// Checks a conversion of a number to another type of numbers.
    fn convert(&mut self, span: SourceSpan, ty: ExprType, value: Ex) -> Ex {
        let target = "name a type of integers before the parentheses; a struct is filled field by field";
        for (side, hint) in [(&ty, target), (&value.ty, value.ty.number_in())] {
            if !side.is_number() {
                let found = self.show(side);
                self.error(
                    Diagnostic::error("convert::type", span, "only numbers are converted to other types")
                        .label(format!("{found} is no number"))
                        .hint(hint),
                );
                return broken(span);
            }
        }
        if ty == ExprType::Broken || value.ty == ExprType::Broken {
            return broken(span);
        }
        Ex { kind: ExKind::Convert(Box::new(value)), ty, span }
    }

    fn wide(&mut self, span: SourceSpan, op: BinaryOp, l: Ex, r: Ex) -> Ex {
        let symbol = op.symbol();
        let (ExprType::Int(a), ExprType::Int(b)) = (&l.ty, &r.ty) else {
            self.error(
                Diagnostic::error("wide::untyped", span, format!("`{symbol}` needs operands with a width"))
                    .hint("give constants a width: `5##8` is unsigned, `5#8` signed"),
            );
            return broken(span);
        };
        let signed = a.signed && b.signed;
        let width = if op == BinaryOp::WideMul {
            if a.width != b.width {
                self.error(
                    Diagnostic::error("wide::width", span, "both sides of `**` need the same width")
                        .label(format!("{} and {} bits", a.width, b.width))
                        .hint("widen the narrow one: `TYPE(…)` brings a number to another type"),
                );
                return broken(span);
            }
            u64::from(a.width) * 2
        } else {
            if a.width.div_ceil(2) != b.width {
                self.error(
                    Diagnostic::error(
                        "wide::width",
                        span,
                        format!("`{symbol}` divides by a number of half the width"),
                    )
                    .label(format!("{} and {} bits", a.width, b.width))
                    .hint(format!("the divisor must have {} bits", a.width.div_ceil(2))),
                );
                return broken(span);
            }
            u64::from(b.width)
        };
        if width > crate::types::MAX_WIDTH {
            self.error(
                Diagnostic::error(
                    "type::size",
                    span,
                    format!("the result has more than {} bits", crate::types::MAX_WIDTH),
                )
                .hint("use narrower operands, or split the multiplication into limbs"),
            );
            return broken(span);
        }
        let ty = ExprType::Int(IntType::of_compiler(signed, width as u32));
        Ex { kind: ExKind::Wide { op, signed, operands: Box::new((l, r)) }, ty, span }
    }

    fn call(&mut self, span: SourceSpan, callee: &Expr, args: &[Expr]) -> Ex {
        let mut name = callee;
        while let ExprKind::Macro(inner) = &name.kind {
            name = inner;
        }
        let at = callee.span;
        let args: Vec<Ex> = args.iter().map(|a| self.expr(a)).collect();
        let ExprKind::Ident(name) = &name.kind else {
            if !matches!(name.kind, ExprKind::Broken) {
                self.error(
                    Diagnostic::error("call::target", at, "only functions can be called, by their names")
                        .hint("write `name(…)`; if this is no call, an operator is missing before the `(`"),
                );
            }
            return broken(span);
        };
        let number = match self.cx.globals.get(name) {
            Some(Global::Function(number, _)) => *number,
            Some(&Global::Generic(number, _)) => {
                let (count, declared) = self.cx.generic_shape(number);
                if count != args.len() {
                    self.wrong_count(name, span, count, args.len(), declared);
                    return broken(span);
                }
                match self.cx.made_for(number, span, &args) {
                    Some(number) => number,
                    None => return broken(span),
                }
            }
            Some(Global::Type(ty, declared)) => {
                let (ty, declared) = (ty.clone(), *declared);
                let count = args.len();
                let Ok([value]) = <[Ex; 1]>::try_from(args) else {
                    self.wrong_count(name, span, 1, count, declared);
                    return broken(span);
                };
                return self.convert(span, ty, value);
            }
            None => {
                let hint = match &**name {
                    "while" | "do" | "switch" => "the only loop is `for`, with a bound that is known while \
                                                  compiling; branches are `if` and `else`"
                        .into(),
                    name => match stdlib::declaring(name) {
                        Some(file) => format!(
                            "write `#include \"{file}\"` at the top: that file of the standard library has \
                             it"
                        ),
                        None => format!(
                            "define it, `function TYPE {name}(…) {{ … }}`, or `#include` the file that does"
                        ),
                    },
                };
                self.error(
                    Diagnostic::error("call::undefined", at, format!("there is no function `{name}`"))
                        .hint(hint),
                );
                return broken(span);
            }
        };
        if &*self.cx.signatures[number].name == "main" {
            self.error(
                Diagnostic::error("call::main", span, "`main` cannot be called")
                    .hint("move the common part into a function of its own, and call that function"),
            );
            return broken(span);
        }
        self.calls.push((number, span));
        let signature = &self.cx.signatures[number];
        let (declared, ret) = (signature.span, signature.ret.clone());
        let params: Vec<ExprType> = signature.params.iter().map(|(_, ty, _)| ty.clone()).collect();
        if params.len() != args.len() {
            self.wrong_count(name, span, params.len(), args.len(), declared);
            return Ex { kind: ExKind::Broken, ty: ret, span };
        }
        for (arg, ty) in args.iter().zip(&params) {
            if self.cx.types.compatible(ty, &arg.ty) == Compatible::No {
                self.assignable(ty, arg, "call::argument", "this argument");
            }
        }
        Ex { kind: ExKind::Call { function: number, args }, ty: ret, span }
    }
}
