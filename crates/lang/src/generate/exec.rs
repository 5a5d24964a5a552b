//! Statements, variables and calls.

use super::{Call, Context, Stop, Trace};
use crate::arith;
use crate::diagnostic::{Diagnostic, Sink};
use crate::graph::{Bit, Graph};
use crate::ir::{Ex, Func, Place, St};
use crate::source::Span;

/// Bodies are executed anew for known arguments to this depth of calls; below, their circuits are appended,
/// which folds almost as well and keeps the work bounded.
const MAX_SPECIALISED: u32 = 6;
/// Depth of calls that are executed as part of `main`.
const MAX_OPEN: u32 = 200;

/// A variable.
#[derive(Default)]
pub(super) struct Var {
    pub(super) bits: Vec<Bit>,
    /// Number of secret conditions that were open when it was declared: writes depend on those that came
    /// later.
    depth: usize,
}

/// A function while it is executed.
pub(super) struct Frame<'m> {
    widths: &'m [u32],
    pub(super) vars: Vec<Var>,
    /// The open secret conditions, each including those before it.
    conditions: Vec<Bit>,
    /// Whether calls become slots: this is `main`, or executed as part of it.
    pub(super) top: bool,
}

impl<'m> Frame<'m> {
    pub(super) fn new(f: &'m Func, top: bool) -> Self {
        Frame {
            widths: &f.vars,
            vars: f.vars.iter().map(|_| Var::default()).collect(),
            conditions: Vec::new(),
            top,
        }
    }
}

pub(super) struct Exec<'c, 'm, 's> {
    pub(super) cx: &'c Context<'m>,
    pub(super) graph: Graph,
    pub(super) sink: &'s mut Sink,
    pub(super) trace: Trace,
    steps: u64,
    depth: u32,
}

impl<'c, 'm, 's> Exec<'c, 'm, 's> {
    pub(super) fn new(cx: &'c Context<'m>, sink: &'s mut Sink) -> Self {
        let limit = usize::try_from(cx.options.max_gates).unwrap_or(usize::MAX);
        Exec { cx, graph: Graph::new(limit), sink, trace: Trace::default(), steps: 0, depth: 0 }
    }

    /// Stops if the circuit or the work has become too large.
    fn check(&mut self, span: Span) -> Result<(), Stop> {
        self.steps += 1;
        if self.graph.full() {
            self.sink.push(
                Diagnostic::error("limit::gates", span, format!("the circuit has more than {} gates", self.cx.options.max_gates))
                    .label("the limit is reached here")
                    .hint("split it into functions that `main` calls, which count apart (in Rust, `Options::max_gates` sets the limit)"),
            );
            return Err(Stop);
        }
        if self.steps > self.cx.options.max_steps {
            self.sink.push(
                Diagnostic::error("limit::steps", span, format!("more than {} statements are executed", self.cx.options.max_steps))
                    .label("the limit is reached here")
                    .hint(
                        "shorten the loops, or split them into functions that `main` calls (in Rust, `Options::max_steps` sets the limit)",
                    ),
            );
            return Err(Stop);
        }
        Ok(())
    }

    pub(super) fn statement(&mut self, f: &mut Frame<'_>, statement: &St) -> Result<(), Stop> {
        match statement {
            St::Expr(e) => {
                self.whole(f, e)?;
            }
            St::Declare { var, init, width } => {
                let mut bits = Vec::new();
                for e in init {
                    let value = self.whole(f, e)?;
                    bits.extend(self.fit(e, value, *width as usize));
                }
                bits.resize(f.widths[*var as usize] as usize, Bit::ZERO);
                f.vars[*var as usize] = Var { bits, depth: f.conditions.len() };
            }
            St::Block(list) => {
                for s in list {
                    self.statement(f, s)?;
                }
            }
            St::For { init, cond, step, body, span } => {
                for s in init {
                    self.statement(f, s)?;
                }
                let mut rounds = 0;
                loop {
                    let value = self.whole(f, cond)?[0];
                    match value.known() {
                        Some(false) => break,
                        Some(true) => {}
                        None => {
                            self.sink.push(
                                Diagnostic::error(
                                    "known::loop",
                                    cond.span,
                                    "the condition of a loop must not depend on secrets",
                                )
                                .label("this is not known while compiling")
                                .also(*span, "loops are unrolled")
                                .hint("run to a fixed bound, with an `if` inside of the loop"),
                            );
                            break;
                        }
                    }
                    rounds += 1;
                    if rounds > self.cx.options.unroll_limit {
                        self.sink.push(
                            Diagnostic::error("limit::unroll", *span, format!("this loop runs more than {} times", self.cx.options.unroll_limit))
                                .also(cond.span, "this is still true")
                                .hint("is the counter wide enough? w bits wrap at 2^w, constants too (in Rust, `Options::unroll_limit` sets the limit)"),
                        );
                        return Err(Stop);
                    }
                    self.statement(f, body)?;
                    self.whole(f, step)?;
                }
            }
            St::If { cond, then, otherwise } => {
                let condition = self.whole(f, cond)?[0];
                match (condition.known(), otherwise) {
                    (Some(true), _) => self.statement(f, then)?,
                    (Some(false), Some(otherwise)) => self.statement(f, otherwise)?,
                    (Some(false), None) => {}
                    (None, _) => {
                        self.guarded(f, condition, then)?;
                        if let Some(otherwise) = otherwise {
                            self.guarded(f, !condition, otherwise)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn guarded(&mut self, f: &mut Frame<'_>, condition: Bit, body: &St) -> Result<(), Stop> {
        let all = match f.conditions.last() {
            Some(&outer) => self.graph.and(outer, condition),
            None => condition,
        };
        f.conditions.push(all);
        let result = self.statement(f, body);
        f.conditions.pop();
        result
    }

    /// An expression that is not part of another one.
    fn whole(&mut self, f: &mut Frame<'_>, e: &Ex) -> Result<Vec<Bit>, Stop> {
        if f.top {
            self.trace.marks.push(self.graph.len());
        }
        let bits = self.ex(f, e)?;
        self.check(e.span)?;
        Ok(bits)
    }

    /// Writes some bits of a variable, if the secret conditions since its declaration hold.
    pub(super) fn write(&mut self, f: &mut Frame<'_>, place: &Place, offset: usize, bits: &[Bit]) {
        let Frame { vars, conditions, .. } = f;
        let var = &mut vars[place.var as usize];
        let old = &mut var.bits[offset..offset + bits.len()];
        match conditions.last() {
            Some(&condition) if conditions.len() > var.depth => {
                for (old, &new) in old.iter_mut().zip(bits) {
                    *old = self.graph.mux(condition, new, *old);
                }
            }
            _ => old.copy_from_slice(bits),
        }
    }

    /// Executes a function's body on these arguments.
    pub(super) fn call_body(
        &mut self,
        function: usize,
        args: Vec<Vec<Bit>>,
        top: bool,
    ) -> Result<Vec<Bit>, Stop> {
        let cx = self.cx;
        let callee = &cx.module.functions[function];
        let mut frame = Frame::new(callee, top);
        for (var, bits) in frame.vars.iter_mut().zip(args) {
            var.bits = bits;
        }
        for statement in &callee.body {
            self.statement(&mut frame, statement)?;
        }
        let width = cx.module.types.width(&callee.ret) as usize;
        match &callee.result {
            Some(e) => {
                let bits = self.whole(&mut frame, e)?;
                Ok(self.fit(e, bits, width))
            }
            None => Ok(vec![Bit::ZERO; width]),
        }
    }

    /// A call on values that have the widths of the parameters.
    pub(super) fn call(
        &mut self,
        f: &Frame<'_>,
        span: Span,
        function: usize,
        args: Vec<Vec<Bit>>,
    ) -> Result<Vec<Bit>, Stop> {
        let cx = self.cx;
        let Some(template) = &cx.templates[function] else { return Err(Stop) };
        let callee = &cx.module.functions[function];
        let builtin = super::is_builtin(cx.module, function, cx.options);
        let cut = cx.cuts[function];
        let some_known = args.iter().flatten().any(|b| b.known().is_some());
        if f.top {
            if !cut.open {
                let all_known = args.iter().flatten().all(|b| b.known().is_some());
                return Ok(if all_known {
                    self.graph.append(template, &args.concat())
                } else {
                    self.slot(function, &args.concat())
                });
            }
            if self.depth >= MAX_OPEN {
                self.sink.push(
                    Diagnostic::error(
                        "limit::depth",
                        span,
                        format!("calls more than {MAX_OPEN} deep cannot be part of `main`"),
                    )
                    .hint("put `/*@ component */` before one of the functions between"),
                );
                return Err(Stop);
            }
            if !callee.calls.is_empty() || (some_known && !builtin) {
                self.depth += 1;
                let result = self.call_body(function, args, true);
                self.depth -= 1;
                return result;
            }
        } else if some_known && !builtin && self.depth < MAX_SPECIALISED && template.gates() > 0 {
            self.depth += 1;
            let result = self.call_body(function, args, false);
            self.depth -= 1;
            return result;
        }
        Ok(self.graph.append(template, &args.concat()))
    }

    /// A call that becomes a slot, unless its result is known or just wires of its arguments.
    fn slot(&mut self, function: usize, args: &[Bit]) -> Vec<Bit> {
        let Some(template) = &self.cx.templates[function] else { return Vec::new() };
        let through = |o: &Bit| match o.known() {
            Some(_) => Some(*o),
            None if o.node() <= template.inputs && !o.inverted() => Some(args[o.node() as usize - 1]),
            None => None,
        };
        let direct: Vec<Option<Bit>> = template.outputs.iter().map(through).collect();
        let forced = self.cx.cuts[function].component
            && !args.is_empty()
            && template.outputs.iter().any(|o| o.known().is_none());
        if !forced && direct.iter().all(Option::is_some) {
            return direct.into_iter().flatten().collect();
        }
        let first = self.graph.len();
        let results = self.graph.leaves(template.outputs.len() as u32);
        self.trace.calls.push(Call {
            function: function as u32,
            args: self.trace.args.len(),
            inputs: args.len() as u32,
            first,
            results: results.len() as u32,
        });
        self.trace.args.extend_from_slice(args);
        if forced {
            results
        } else {
            results.into_iter().zip(direct).map(|(leaf, direct)| direct.unwrap_or(leaf)).collect()
        }
    }

    /// A value of the expression `e` brought to `width` bits; warns where that changes a constant.
    pub(super) fn fit(&mut self, e: &Ex, bits: Vec<Bit>, width: usize) -> Vec<Bit> {
        if bits.len() > width
            && e.ty == crate::types::Type::Untyped
            && arith::all_known(&bits)
            && bits[width..].contains(&Bit::ONE)
        {
            let (before, after) = (arith::known(&bits), arith::known(&bits[..width]).unwrap_or(0));
            let before = before.map_or("this constant".into(), |v| v.to_string());
            self.sink.push(
                Diagnostic::warning(
                    "constant::truncated",
                    e.span,
                    format!("{before} does not fit in {width} bits"),
                )
                .label(format!("this is {after}"))
                .hint("use a wider type, or write the smaller number"),
            );
        }
        if bits.len() == width { bits } else { arith::extend(&bits, width) }
    }
}
