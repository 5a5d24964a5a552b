//! Finds shift amounts that may depend on a function's parameters.
//!
//! A function is executed with secret parameters, and again for a call with known arguments. The result must
//! be the same in both cases, so no width may depend on whether a parameter is known. Only the width of a
//! shifted value can depend on known values. So shift amounts that may come from a parameter are marked, even
//! if they are known.

use crate::ir::{Ex, ExKind, Func, PartStep, St, VariablePart};

/// Marks the shifts of a function whose amounts may depend on its parameters. Such an amount contains a call,
/// whose result is not always known, or a variable that a parameter may have changed, directly or through an
/// index or a condition.
pub(super) fn mark_open_shifts(f: &mut Func) {
    let mut open = Open { vars: vec![false; f.vars.len()], found: false };
    open.vars[..f.params.len()].fill(true);
    loop {
        open.found = false;
        f.body.iter_mut().for_each(|statement| open.statement(statement, false));
        if !open.found {
            return;
        }
    }
}

struct Open {
    /// For each variable, true if it may depend on a parameter.
    vars: Vec<bool>,
    /// True if the current round found another variable that may depend on a parameter.
    found: bool,
}

impl Open {
    fn change(&mut self, place: &VariablePart, depends: bool) {
        let var = &mut self.vars[place.var as usize];
        self.found |= depends && !*var;
        *var |= depends;
    }

    /// Visits a statement; `under` is true if a condition around it depends on a parameter.
    fn statement(&mut self, statement: &mut St, under: bool) {
        match statement {
            St::Expr(e) => _ = self.ex(e, under),
            St::Declare { var, init } => {
                let mut depends = under;
                init.iter_mut().for_each(|(e, _)| depends |= self.ex(e, under));
                self.found |= depends && !self.vars[*var as usize];
                self.vars[*var as usize] |= depends;
            }
            St::Block(list) => list.iter_mut().for_each(|statement| self.statement(statement, under)),
            St::For { init, cond, step, body, .. } => {
                init.iter_mut().for_each(|statement| self.statement(statement, under));
                let under = self.ex(cond, under) || under;
                self.statement(body, under);
                self.ex(step, under);
            }
            St::If { cond, then, otherwise } => {
                let under = self.ex(cond, under) || under;
                self.statement(then, under);
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise, under);
                }
            }
            St::Return(value, _) => _ = value.as_mut().map(|e| self.ex(e, under)),
        }
    }

    fn place(&mut self, place: &mut VariablePart, under: bool) -> bool {
        let depends = self.parts(&mut place.parts, under);
        if place.parts.iter().any(|part| matches!(part, PartStep::Step { .. })) {
            self.change(place, depends || under);
        }
        depends || self.vars[place.var as usize]
    }

    fn parts(&mut self, parts: &mut [PartStep], under: bool) -> bool {
        let mut depends = false;
        for part in parts {
            match part {
                PartStep::Index { index: e, .. } | PartStep::Wires { base: e, .. } => {
                    depends |= self.ex(e, under)
                }
                PartStep::Field { .. } | PartStep::Step { .. } => {}
            }
        }
        depends
    }

    /// Returns whether the value of an expression may depend on a parameter.
    fn ex(&mut self, e: &mut Ex, under: bool) -> bool {
        match &mut e.kind {
            ExKind::Const { .. } | ExKind::Broken => false,
            ExKind::Read(place) => self.place(place, under),
            ExKind::Part(inner, parts) => self.ex(inner, under) | self.parts(parts, under),
            ExKind::Assign(place, value) => {
                let depends = self.place(place, under) | self.ex(value, under);
                self.change(place, depends || under);
                depends
            }
            ExKind::Step { place, .. } => {
                let depends = self.place(place, under);
                self.change(place, depends || under);
                depends
            }
            ExKind::Binary { operands, .. } | ExKind::Wide { operands, .. } => {
                self.ex(&mut operands.0, under) | self.ex(&mut operands.1, under)
            }
            ExKind::Choice(parts) => {
                let [cond, then, otherwise] = &mut **parts;
                let cond = self.ex(cond, under);
                let under = under || cond;
                cond | self.ex(then, under) | self.ex(otherwise, under)
            }
            ExKind::Neg(a) | ExKind::Not(a) | ExKind::Convert(a) => self.ex(a, under),
            ExKind::Shift { open, operands, .. } => {
                let value = self.ex(&mut operands.0, under);
                let amount = self.ex(&mut operands.1, under);
                *open |= amount;
                value | amount
            }
            ExKind::Call { args, .. } => {
                args.iter_mut().for_each(|arg| _ = self.ex(arg, under));
                true
            }
        }
    }
}
