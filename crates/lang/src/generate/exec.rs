//! Executes statements, assignments and calls.

use brickwork_base::stop::look;

use super::context::{ExecutionData, LimitExceeded, is_builtin};
use super::trace::{SlotCall, Trace};
use crate::arith;
use crate::diagnostic::{Diagnostic, Sink};
use crate::graph::{Graph, GraphBit};
use crate::ir::{Ex, ExKind, Func, St, VariablePart};
use crate::source::SourceSpan;

/// The largest depth of calls whose bodies are executed again for known arguments. Deeper calls append a
/// function's circuit, which folds almost as well and keeps the work bounded.
const MAX_SPECIALISED: u32 = 6;
/// The largest depth of calls that are executed as part of `main`.
const MAX_OPEN: u32 = 200;

/// A variable.
#[derive(Default)]
pub(super) struct Var {
    pub(super) bits: Vec<GraphBit>,
    /// The number of open secret conditions at its declaration. Later conditions guard the writes to it.
    depth: usize,
}

/// A function during its execution.
pub(super) struct Frame<'m> {
    widths: &'m [u32],
    pub(super) vars: Vec<Var>,
    /// The open secret conditions. Each one includes the earlier ones.
    conditions: Vec<GraphBit>,
    /// True if calls become slots: in `main`, or in a function that is executed as part of it.
    pub(super) top: bool,
    /// True for `main`, which writes outputs, so that nothing may follow a `return`.
    pub(super) is_main: bool,
    /// The width of the result in bits.
    width: usize,
    /// The returned values, each with its condition. The first returned value whose condition holds is the
    /// result. Nothing else of a function is visible outside, so statements after a `return` need no
    /// condition.
    returned: Vec<(GraphBit, Vec<GraphBit>)>,
}

/// The way in which a statement ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// Execution continues with the next statement.
    Next,
    /// The function has returned on all paths through the statement.
    Returned,
}

/// Returns whether a statement contains a `return`.
fn returns(statement: &St) -> bool {
    match statement {
        St::Return(..) => true,
        St::Block(list) => list.iter().any(returns),
        St::For { body, .. } => returns(body),
        St::If { then, otherwise, .. } => returns(then) || otherwise.as_ref().is_some_and(|o| returns(o)),
        St::Expr(_) | St::Declare { .. } => false,
    }
}

/// A part of a variable or a value.
pub(super) struct Spot {
    /// The position of its first bit, if all secret indexes are 0.
    pub(super) offset: usize,
    /// The secret indexes.
    pub(super) choices: Vec<SecretIndex>,
    /// The width in bits.
    pub(super) width: usize,
    /// True if an error was reported.
    pub(super) broken: bool,
}

/// A secret index into an array.
pub(super) struct SecretIndex {
    pub(super) index: Vec<GraphBit>,
    /// The number of elements.
    pub(super) count: usize,
    /// The number of bits from one element to the next.
    pub(super) stride: usize,
}

impl<'m> Frame<'m> {
    pub(super) fn new(f: &'m Func, width: usize, top: bool) -> Self {
        Frame {
            widths: &f.vars,
            vars: f.vars.iter().map(|_| Var::default()).collect(),
            conditions: Vec::new(),
            top,
            is_main: false,
            width,
            returned: Vec::new(),
        }
    }
}

pub(super) struct Exec<'c, 'm, 's> {
    pub(super) cx: &'c ExecutionData<'m>,
    pub(super) graph: Graph,
    pub(super) sink: &'s mut Sink,
    pub(super) trace: Trace,
    /// True if parameters may be known in this execution. By the rules of the language they are secret, so an
    /// error for a known index is not reported here.
    pub(super) parameters_known: bool,
    steps: u64,
    depth: u32,
}

impl<'c, 'm, 's> Exec<'c, 'm, 's> {
    pub(super) fn new(cx: &'c ExecutionData<'m>, sink: &'s mut Sink) -> Self {
        let limit = usize::try_from(cx.options.max_gates).unwrap_or(usize::MAX);
        Exec {
            cx,
            graph: Graph::new(limit),
            sink,
            trace: Trace::default(),
            parameters_known: false,
            steps: 0,
            depth: 0,
        }
    }

    /// Stops if the circuit or the number of steps has become too large.
    fn check(&mut self, span: SourceSpan) -> Result<(), LimitExceeded> {
        look();
        self.steps += 1;
        if self.graph.full() {
            self.sink.push(
                Diagnostic::error(
                    "limit::gates",
                    span,
                    format!("the circuit has more than {} gates", self.cx.options.max_gates),
                )
                .label("the limit is reached here")
                .hint(
                    "split it into functions that `main` calls, which count apart (in Rust, \
                     `Options::max_gates` sets the limit)",
                ),
            );
            return Err(LimitExceeded);
        }
        if self.steps > self.cx.options.max_steps {
            self.sink.push(
                Diagnostic::error(
                    "limit::steps",
                    span,
                    format!("more than {} statements are executed", self.cx.options.max_steps),
                )
                .label("the limit is reached here")
                .hint(
                    "shorten the loops, or split them into functions that `main` calls (in Rust, \
                     `Options::max_steps` sets the limit)",
                ),
            );
            return Err(LimitExceeded);
        }
        Ok(())
    }

    pub(super) fn statements(&mut self, f: &mut Frame<'_>, list: &[St]) -> Result<Flow, LimitExceeded> {
        for s in list {
            if self.statement(f, s)? == Flow::Returned {
                return Ok(Flow::Returned);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, f: &mut Frame<'_>, statement: &St) -> Result<Flow, LimitExceeded> {
        match statement {
            St::Expr(Ex { kind: ExKind::Assign(place, value), span, .. }) => {
                self.mark(f);
                self.assign(f, place, value)?;
                self.check(*span)?;
            }
            St::Expr(e) => {
                self.whole(f, e)?;
            }
            St::Declare { var, init } => {
                let mut bits = Vec::new();
                for (e, width) in init {
                    let value = self.whole(f, e)?;
                    bits.extend(self.fit(e, value, *width as usize));
                }
                bits.resize(f.widths[*var as usize] as usize, GraphBit::ZERO);
                f.vars[*var as usize] = Var { bits, depth: f.conditions.len() };
            }
            St::Block(list) => return self.statements(f, list),
            St::For { init, cond, step, body, span } => {
                self.statements(f, init)?;
                let limits = self.limits(f, cond)?;
                if let Some(limits) = &limits
                    && limits.always_true()
                    && !returns(body)
                {
                    self.sink.push(limits.endless(*span, cond.span));
                    return Err(LimitExceeded);
                }
                let mut rounds = 0;
                loop {
                    let value = self.whole(f, cond)?[0];
                    match value.known() {
                        Some(false) => {
                            if let Some(warning) =
                                limits.filter(|_| rounds == 0).and_then(|l| l.never(*span, cond.span))
                            {
                                self.sink.push(warning);
                            }
                            break;
                        }
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
                            Diagnostic::error(
                                "limit::unroll",
                                *span,
                                format!("this loop runs more than {} times", self.cx.options.unroll_limit),
                            )
                            .also(cond.span, "this is still true")
                            .hint(
                                "does the step come nearer to the end? is the counter wide enough? w bits \
                                 wrap at 2^w, constants too (in Rust, `Options::unroll_limit` sets the \
                                 limit)",
                            ),
                        );
                        return Err(LimitExceeded);
                    }
                    if self.statement(f, body)? == Flow::Returned {
                        return Ok(Flow::Returned);
                    }
                    self.whole(f, step)?;
                }
            }
            St::If { cond, then, otherwise } => {
                let condition = self.whole(f, cond)?[0];
                match (condition.known(), otherwise) {
                    (Some(true), _) => return self.statement(f, then),
                    (Some(false), Some(otherwise)) => return self.statement(f, otherwise),
                    (Some(false), None) => {}
                    (None, _) => {
                        let first = self.guarded(f, condition, then)?;
                        if let Some(otherwise) = otherwise
                            && self.guarded(f, !condition, otherwise)? == Flow::Returned
                        {
                            return Ok(first);
                        }
                    }
                }
            }
            St::Return(value, span) => {
                self.return_now(f, value.as_ref(), *span)?;
                return Ok(Flow::Returned);
            }
        }
        Ok(Flow::Next)
    }

    fn return_now(
        &mut self,
        f: &mut Frame<'_>,
        value: Option<&Ex>,
        span: SourceSpan,
    ) -> Result<(), LimitExceeded> {
        if f.is_main && !f.conditions.is_empty() {
            self.sink.push(
                Diagnostic::error("known::return", span, "`main` cannot return under a secret condition")
                    .label("the compiler does not know if this condition is true")
                    .hint(
                        "put what follows into `else { … }`, or into a function, which may return anywhere",
                    ),
            );
        }
        if let Some(value) = value {
            let bits = self.whole(f, value)?;
            let bits = self.fit(value, bits, f.width);
            f.returned.push((f.conditions.last().copied().unwrap_or(GraphBit::ONE), bits));
        }
        Ok(())
    }

    fn guarded(&mut self, f: &mut Frame<'_>, condition: GraphBit, body: &St) -> Result<Flow, LimitExceeded> {
        self.under(f, condition, |exec, f| exec.statement(f, body))
    }

    /// Executes a part of the program whose writes count only if the condition holds.
    pub(super) fn under<'f, T>(
        &mut self,
        f: &mut Frame<'f>,
        condition: GraphBit,
        part: impl FnOnce(&mut Self, &mut Frame<'f>) -> Result<T, LimitExceeded>,
    ) -> Result<T, LimitExceeded> {
        let all = match f.conditions.last() {
            Some(&outer) => self.graph.and(outer, condition),
            None => condition,
        };
        f.conditions.push(all);
        let result = part(self, f);
        f.conditions.pop();
        result
    }

    /// Records that a statement begins.
    pub(super) fn mark(&mut self, f: &Frame<'_>) {
        if f.top {
            self.trace.marks.push(self.graph.len());
        }
    }

    /// Executes an expression that is not part of another expression.
    pub(super) fn whole(&mut self, f: &mut Frame<'_>, e: &Ex) -> Result<Vec<GraphBit>, LimitExceeded> {
        self.mark(f);
        let bits = self.ex(f, e)?;
        self.check(e.span)?;
        Ok(bits)
    }

    /// Reads a part of these bits.
    pub(super) fn read(&mut self, bits: &[GraphBit], spot: &Spot) -> Vec<GraphBit> {
        if spot.broken {
            return vec![GraphBit::ZERO; spot.width];
        }
        self.read_choices(bits, spot.offset, &spot.choices, spot.width)
    }

    fn read_choices(
        &mut self,
        bits: &[GraphBit],
        offset: usize,
        choices: &[SecretIndex],
        width: usize,
    ) -> Vec<GraphBit> {
        let Some((choice, rest)) = choices.split_first() else {
            return bits[offset..offset + width].to_vec();
        };
        let items =
            (0..choice.count).map(|i| self.read_choices(bits, offset + i * choice.stride, rest, width));
        let items = items.collect();
        arith::choose(&mut self.graph, &choice.index, items)
    }

    /// Writes a part of a variable, if the secret conditions since its declaration hold.
    pub(super) fn write(&mut self, f: &mut Frame<'_>, place: &VariablePart, spot: &Spot, bits: &[GraphBit]) {
        if spot.broken {
            return;
        }
        let Frame { vars, conditions, .. } = f;
        let var = &mut vars[place.var as usize];
        let enabled = match conditions.last() {
            Some(&condition) if conditions.len() > var.depth => condition,
            _ => GraphBit::ONE,
        };
        let choices: Vec<(&[GraphBit], usize)> =
            spot.choices.iter().map(|c| (&c.index[..], c.count)).collect();
        let lines = arith::decode(&mut self.graph, &choices, enabled);
        for (indexes, line) in lines {
            let from = indexes.iter().zip(&spot.choices).fold(spot.offset, |at, (i, c)| at + i * c.stride);
            let old = &mut var.bits[from..from + bits.len()];
            if line == GraphBit::ONE {
                old.copy_from_slice(bits);
                continue;
            }
            for (old, &new) in old.iter_mut().zip(bits) {
                *old = self.graph.mux(line, new, *old);
            }
        }
    }

    /// Assigns a value, and returns its place.
    pub(super) fn assign(
        &mut self,
        f: &mut Frame<'_>,
        place: &VariablePart,
        value: &Ex,
    ) -> Result<Spot, LimitExceeded> {
        let spot = self.place(f, place)?;
        let bits = self.ex(f, value)?;
        let bits = self.fit(value, bits, spot.width);
        self.write(f, place, &spot, &bits);
        Ok(spot)
    }

    /// Adds one to a place, or subtracts one.
    pub(super) fn step(
        &mut self,
        f: &mut Frame<'_>,
        place: &VariablePart,
        spot: &Spot,
        increment: bool,
    ) -> Vec<GraphBit> {
        let old = self.read(&f.vars[place.var as usize].bits, spot);
        let one = arith::extend(&[GraphBit::ONE], old.len());
        let new = if increment {
            arith::add(&mut self.graph, &old, &one, GraphBit::ZERO)
        } else {
            arith::sub(&mut self.graph, &old, &one)
        };
        self.write(f, place, spot, &new);
        old
    }

    /// Executes a function's body on these arguments.
    pub(super) fn call_body(
        &mut self,
        function: usize,
        args: Vec<Vec<GraphBit>>,
        top: bool,
    ) -> Result<Vec<GraphBit>, LimitExceeded> {
        let cx = self.cx;
        let callee = &cx.module.functions[function];
        let width = cx.module.types.width(&callee.ret) as usize;
        let mut frame = Frame::new(callee, width, top);
        for (var, bits) in frame.vars.iter_mut().zip(args) {
            var.bits = bits;
        }
        self.statements(&mut frame, &callee.body)?;
        // Every path ends with a `return`, so the last value is the result if no other condition holds.
        let Some((_, mut result)) = frame.returned.pop() else { return Ok(vec![GraphBit::ZERO; width]) };
        for (condition, value) in frame.returned.iter().rev() {
            for (bit, value) in result.iter_mut().zip(value) {
                *bit = self.graph.mux(*condition, *value, *bit);
            }
        }
        Ok(result)
    }

    /// Executes a function's body, in which arguments may be known.
    fn call_known(
        &mut self,
        function: usize,
        args: Vec<Vec<GraphBit>>,
        top: bool,
    ) -> Result<Vec<GraphBit>, LimitExceeded> {
        self.depth += 1;
        let outer = std::mem::replace(&mut self.parameters_known, true);
        let result = self.call_body(function, args, top);
        self.parameters_known = outer;
        self.depth -= 1;
        result
    }

    /// Executes a call; the arguments have the widths of the parameters.
    pub(super) fn call(
        &mut self,
        f: &Frame<'_>,
        span: SourceSpan,
        function: usize,
        args: Vec<Vec<GraphBit>>,
    ) -> Result<Vec<GraphBit>, LimitExceeded> {
        let cx = self.cx;
        let Some(template) = &cx.templates[function] else { return Err(LimitExceeded) };
        let callee = &cx.module.functions[function];
        let builtin = is_builtin(cx.module, function, cx.options);
        let placement = cx.placements[function];
        let some_known = args.iter().flatten().any(|b| b.known().is_some());
        if f.top {
            if !placement.open {
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
                return Err(LimitExceeded);
            }
            if !callee.calls.is_empty() || (some_known && !builtin) {
                return self.call_known(function, args, true);
            }
        } else if some_known && !builtin && self.depth < MAX_SPECIALISED && template.gates() > 0 {
            return self.call_known(function, args, false);
        }
        Ok(self.graph.append(template, &args.concat()))
    }

    /// Makes a slot for a call, unless the result is known or consists of wires of the arguments.
    fn slot(&mut self, function: usize, args: &[GraphBit]) -> Vec<GraphBit> {
        let Some(template) = &self.cx.templates[function] else { return Vec::new() };
        let through = |o: &GraphBit| match o.known() {
            Some(_) => Some(*o),
            None if o.node() <= template.inputs && !o.inverted() => Some(args[o.node() as usize - 1]),
            None => None,
        };
        let direct: Vec<Option<GraphBit>> = template.outputs.iter().map(through).collect();
        let forced = self.cx.placements[function].component
            && !args.is_empty()
            && template.outputs.iter().any(|o| o.known().is_none());
        if !forced && direct.iter().all(Option::is_some) {
            return direct.into_iter().flatten().collect();
        }
        let first = self.graph.len();
        let results = self.graph.leaves(template.outputs.len() as u32);
        self.trace.calls.push(SlotCall {
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

    /// Returns the value of the expression `e`, brought to `width` bits. Warns if this changes a constant.
    pub(super) fn fit(&mut self, e: &Ex, bits: Vec<GraphBit>, width: usize) -> Vec<GraphBit> {
        if bits.len() > width
            && e.ty == crate::types::ExprType::Untyped
            && arith::all_known(&bits)
            && bits[width..].contains(&GraphBit::ONE)
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
