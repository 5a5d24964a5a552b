//! Checks statements, and the variables in scope.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::checker::{Checker, Predeclared};
use super::depends::mark_open_shifts;
use crate::ast::{self, Init, Stmt};
use crate::diagnostic::Diagnostic;
use crate::ir::{Ex, ExKind, Func, PartStep, St, VariablePart};
use crate::source::SourceSpan;
use crate::types::{ArrayType, Compatible, ExprType};

/// The largest number of bits of all variables of a function together.
const MAX_FRAME: u64 = 1 << 27;

pub(super) struct Body<'c, 's> {
    pub(super) cx: &'c mut Checker<'s>,
    pub(super) is_main: bool,
    /// For each variable its type, and the place of its declaration; parameters, inputs and outputs have
    /// none.
    pub(super) vars: Vec<(ExprType, Option<SourceSpan>)>,
    frame: u64,
    /// The current meaning of each name.
    names: HashMap<Rc<str>, u32>,
    /// The names that each open scope declares, which are forgotten at its end.
    scopes: Vec<Vec<Rc<str>>>,
    pub(super) calls: Vec<(usize, SourceSpan)>,
    /// The place where the outermost macro under check is used.
    pub(super) macro_use: Option<SourceSpan>,
    /// True if the current expression changes a variable.
    pub(super) changes: bool,
    /// The variables that are assigned to.
    pub(super) assigned: HashSet<u32>,
    /// The variables that occur in an expression.
    pub(super) named: HashSet<u32>,
    name: Rc<str>,
    span: SourceSpan,
    ret: ExprType,
    /// True if the body contains a `return`.
    returns: bool,
    made_for: Option<(SourceSpan, String)>,
}

/// Checks the body of function `number`. `predeclared` are the inputs and outputs, for `main`.
pub(super) fn check(
    cx: &mut Checker<'_>,
    number: usize,
    f: ast::Function,
    predeclared: &[Predeclared],
) -> Func {
    let signature = &cx.signatures[number];
    let (name, span, ret) = (Rc::clone(&signature.name), signature.span, signature.ret.clone());
    let (params, made_for) = (signature.params.clone(), signature.made_for.clone());
    let is_main = &*name == "main";
    let mut body = Body {
        cx,
        is_main,
        vars: Vec::new(),
        frame: 0,
        names: HashMap::new(),
        scopes: vec![Vec::new()],
        calls: Vec::new(),
        macro_use: None,
        changes: false,
        assigned: HashSet::new(),
        named: HashSet::new(),
        name: Rc::clone(&name),
        span,
        ret: ret.clone(),
        returns: false,
        made_for,
    };
    for (name, ty, span) in &params {
        body.add(name, ty.clone(), Some(*span), *span);
    }
    for port in predeclared {
        body.add(&port.name, port.ty.clone(), None, span);
    }
    let list: Vec<St> = f.body.iter().filter_map(|s| body.stmt(s)).collect();
    // An empty body is allowed and returns zeros.
    if !matches!(ret, ExprType::Void | ExprType::Broken) && !f.body.is_empty() && !returns(&f.body) {
        let always = if body.returns { "always " } else { "" };
        body.error(
            Diagnostic::error("function::return", span, format!("`{name}` does not {always}return a value"))
                .hint(
                    "the last statement of the function must be `return …;`, or an `if` and `else` that \
                     both end so",
                ),
        );
    }
    for (var, port) in (0..).zip(predeclared) {
        // After an error, code that was not understood may use the variable, so there is no warning.
        if body.cx.sink.errors() == 0 {
            let used = if port.is_output { &body.assigned } else { &body.named };
            body.cx.sink.extend((!used.contains(&var)).then(|| port.unused()));
        }
    }
    let Body { vars, calls, cx, .. } = body;
    let vars = vars.iter().map(|(ty, _)| cx.types.width(ty)).collect();
    let params = params.into_iter().map(|(n, t, _)| (n, t)).collect();
    let mut checked = Func { name, span, params, ret, vars, body: list, calls, requests: f.requests };
    // `main` is executed only once, so it has no secret parameters.
    if !is_main {
        mark_open_shifts(&mut checked);
    }
    checked
}

/// Returns whether every path through these statements ends with a `return`.
fn returns(list: &[Stmt]) -> bool {
    list.iter().any(|stmt| match stmt {
        Stmt::Return(..) => true,
        Stmt::Block(list) => returns(list),
        Stmt::If { then, otherwise: Some(otherwise), .. } => {
            returns(std::slice::from_ref(then)) && returns(std::slice::from_ref(otherwise))
        }
        _ => false,
    })
}

impl Body<'_, '_> {
    /// Reports an error or a warning. Inside a macro, it points to the use of the macro.
    pub(super) fn error(&mut self, mut diagnostic: Diagnostic) {
        if let Some(at) = self.macro_use.filter(|at| *at != diagnostic.span) {
            let inner = std::mem::replace(&mut diagnostic.span, at);
            diagnostic.related.push((inner, "in this `#define`".into()));
        }
        diagnostic.related.extend(self.made_for.clone());
        self.cx.sink.push(diagnostic);
    }

    fn add(&mut self, name: &Rc<str>, ty: ExprType, declared: Option<SourceSpan>, at: SourceSpan) -> u32 {
        self.frame += u64::from(self.cx.types.width(&ty));
        if self.frame > MAX_FRAME {
            self.error(
                Diagnostic::error(
                    "type::size",
                    at,
                    format!("the variables of this function have more than {MAX_FRAME} bits"),
                )
                .hint("use shorter arrays, or split the function"),
            );
        }
        let number = self.vars.len() as u32;
        self.vars.push((ty, declared));
        self.names.insert(Rc::clone(name), number);
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Rc::clone(name));
        }
        number
    }

    pub(super) fn lookup(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(Vec::new());
        let result = f(self);
        for name in self.scopes.pop().unwrap_or_default() {
            self.names.remove(&name);
        }
        result
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<St> {
        match stmt {
            Stmt::Empty => None,
            Stmt::Expr(e) => Some(St::Expr(self.statement_expr(e))),
            Stmt::Vars(decl) => Some(St::Block(self.vardecl(decl))),
            Stmt::Block(list) => {
                Some(St::Block(self.scoped(|b| list.iter().filter_map(|s| b.stmt(s)).collect())))
            }
            Stmt::For { init, cond, step, body, span } => self.scoped(|b| {
                let init = b.vardecl(init);
                let cond = b.condition(cond);
                let step = b.statement_expr(step);
                let body = Box::new(b.scoped(|b| b.stmt(body)).unwrap_or(St::Block(Vec::new())));
                Some(St::For { init, cond, step, body, span: *span })
            }),
            Stmt::If { cond, then, otherwise } => {
                let cond = self.condition(cond);
                let then = Box::new(self.scoped(|b| b.stmt(then)).unwrap_or(St::Block(Vec::new())));
                let otherwise = otherwise.as_ref().and_then(|o| self.scoped(|b| b.stmt(o))).map(Box::new);
                Some(St::If { cond, then, otherwise })
            }
            Stmt::Return(value, span) => Some(self.return_stmt(value.as_ref(), *span)),
        }
    }

    fn return_stmt(&mut self, value: Option<&ast::Expr>, span: SourceSpan) -> St {
        self.returns = true;
        let (ret, name) = (self.ret.clone(), Rc::clone(&self.name));
        let value = value.map(|value| self.statement_expr(value));
        match (&ret, &value) {
            (ExprType::Broken, _) | (ExprType::Void, None) => {}
            (ExprType::Void, Some(value)) => self.error(
                Diagnostic::error(
                    "function::return",
                    value.span,
                    format!("`{name}` is `void` and cannot return a value"),
                )
                .also(self.span, "declared here")
                .hint(format!("write `return;`, or declare `function TYPE {name}`")),
            ),
            (ret, Some(value)) => self.assignable(ret, value, "function::return", "the returned value"),
            (ret, None) => {
                let wanted = self.cx.types.show(ret);
                self.error(
                    Diagnostic::error(
                        "function::return",
                        span,
                        format!("`{name}` must return a value of type {wanted}"),
                    )
                    .hint(format!("write `return VALUE;`, or declare `function void {name}`")),
                );
            }
        }
        St::Return(value, span)
    }

    fn condition(&mut self, e: &ast::Expr) -> Ex {
        let cond = self.statement_expr(e);
        self.single_bit(&cond);
        cond
    }

    /// Checks that a condition is a single bit.
    pub(super) fn single_bit(&mut self, cond: &Ex) {
        match &cond.ty {
            ExprType::Broken | ExprType::Untyped => {}
            ExprType::Int(int) if int.width == 1 => {}
            other => {
                let found = self.cx.types.show(other);
                self.error(
                    Diagnostic::error("condition::type", cond.span, "a condition must be a single bit")
                        .label(format!("this is {found}"))
                        .hint("compare it, e.g. `x != 0`, or take one bit, e.g. `x{0}`"),
                );
            }
        }
    }

    fn vardecl(&mut self, decl: &ast::VarDecl) -> Vec<St> {
        let base = self.cx.type_named(&decl.ty);
        let mut list = Vec::new();
        for var in &decl.vars {
            let ty = self.cx.array_of(base.clone(), &var.dims);
            // The initial value is checked before the new variable is in scope.
            let mut values = Vec::new();
            match (&var.init, &ty) {
                (None, _) => {}
                (Some(init), ExprType::Array(array)) => {
                    let (dims, base) = (array.dims.clone(), array.base.clone());
                    self.array_init(init, &dims, &base, &mut values);
                    self.same_kind(&values);
                }
                (Some(Init::Expr(e)), ty) => {
                    let value = self.statement_expr(e);
                    self.assignable(ty, &value, "init::type", "the initialiser");
                    values.push((value, self.cx.types.width(ty)));
                }
                (Some(init), _) => self.array_init(init, &[], &ExprType::Broken, &mut Vec::new()),
            }
            if let Some(first) = self.lookup(&var.name.name) {
                let declared = self.vars[first as usize].1;
                let draft = Diagnostic::error(
                    "variable::redefined",
                    var.name.span,
                    format!("`{}` is already a variable", var.name.name),
                );
                let draft = match declared {
                    Some(at) => draft.also(at, "declared here"),
                    None => draft.label("this is an input or output of the program"),
                };
                self.error(draft.hint(
                    "choose another name: a variable cannot hide one that is declared outside of its block",
                ));
                continue;
            }
            let var = self.add(&var.name.name, ty, Some(var.name.span), var.name.span);
            list.push(St::Declare { var, init: values });
        }
        list
    }

    /// Checks the initial values of an array with these dimensions, and adds each with the width of an
    /// element.
    fn array_init(&mut self, init: &Init, dims: &[u32], base: &ExprType, values: &mut Vec<(Ex, u32)>) {
        match (init, dims) {
            (Init::Expr(e), []) => {
                let value = self.statement_expr(e);
                self.assignable(base, &value, "init::type", "this element");
                values.push((value, self.cx.types.width(base)));
            }
            (Init::List(items, span), [count, inner @ ..]) => {
                if items.len() != *count as usize {
                    self.error(
                        Diagnostic::error(
                            "init::count",
                            *span,
                            format!("{} elements for an array of {count}", items.len()),
                        )
                        .hint("give every element a value, or none"),
                    );
                }
                items.iter().for_each(|item| self.array_init(item, inner, base, values));
            }
            (Init::List(items, span), []) => {
                if *base != ExprType::Broken {
                    self.error(
                        Diagnostic::error("init::shape", *span, "one value is expected here, not a list")
                            .hint("remove the braces; lists are nested once for each dimension of the array"),
                    );
                }
                items.iter().for_each(|item| self.array_init(item, &[], &ExprType::Broken, values));
            }
            (Init::Expr(e), _) => {
                let value = self.statement_expr(e);
                match value.ty {
                    ExprType::Array(_) => {
                        let ty =
                            ExprType::Array(Rc::new(ArrayType { dims: dims.to_vec(), base: base.clone() }));
                        self.assignable(&ty, &value, "init::type", "this array");
                        values.push((value, self.cx.types.width(&ty)));
                    }
                    ExprType::Broken => {}
                    _ => self.error(
                        Diagnostic::error(
                            "init::shape",
                            e.span,
                            "a list in braces or an array is expected here",
                        )
                        .hint(
                            "nest lists as the array's dimensions are, `TYPE a[2][2] = {{1, 2}, {3, 4}};`, \
                             or name an array of the same size",
                        ),
                    ),
                }
            }
        }
    }

    /// Checks that the elements of an initial array have compatible types.
    fn same_kind(&mut self, values: &[(Ex, u32)]) {
        let base = |ty: &ExprType| if let ExprType::Array(a) = ty { a.base.clone() } else { ty.clone() };
        let kinds: Vec<(ExprType, SourceSpan)> = values
            .iter()
            .map(|(v, _)| (base(&v.ty), v.span))
            .filter(|(ty, _)| !matches!(ty, ExprType::Untyped | ExprType::Broken))
            .collect();
        let Some((first, first_span)) = kinds.first() else { return };
        for (ty, span) in &kinds {
            if self.cx.types.compatible(first, ty) == Compatible::No {
                let (a, b) = (self.cx.types.show(first), self.cx.types.show(ty));
                self.error(
                    Diagnostic::error("init::mixed", *span, "the elements of this list have different types")
                        .label(format!("this is {b}"))
                        .also(*first_span, format!("this is {a}"))
                        .hint("give every element the type that the array is declared with"),
                );
                return;
            }
        }
    }

    /// Checks that `value` can be assigned to the type `ty`.
    pub(super) fn assignable(&mut self, ty: &ExprType, value: &Ex, code: &'static str, what: &str) {
        let (wanted, found) = (self.cx.types.show(ty), self.cx.types.show(&value.ty));
        match self.cx.types.compatible(ty, &value.ty) {
            Compatible::Yes => {}
            Compatible::Cast => self.error(
                Diagnostic::warning(
                    "type::cast",
                    value.span,
                    format!("{what} changes its type from {found} to {wanted}"),
                )
                .label("the bits stay the same")
                .hint(
                    "if that is meant, assign its bits, as in `x = y{0:8}`; otherwise declare both with one \
                     type",
                ),
            ),
            Compatible::No => {
                let hint = match (ty, &value.ty) {
                    (ExprType::Int(to), ExprType::Int(from)) => {
                        let change =
                            if from.width < to.width { "widens the" } else { "takes the lowest bits of the" };
                        format!(
                            "types are never converted implicitly; `{}(…)` {change} value",
                            self.cx.types.name(to)
                        )
                    }
                    (ExprType::Struct(_), _) => {
                        "fill a variable of that type field by field, `s.field = …;`, and give that".into()
                    }
                    (ExprType::Array(_), _) => {
                        "fill a variable of that type element by element, `a[0] = …;`, and give that".into()
                    }
                    (_, other) => other.number_in().into(),
                };
                self.error(
                    Diagnostic::error(code, value.span, format!("{what} has the wrong type"))
                        .label(format!("this is {found}, but {wanted} is needed"))
                        .hint(hint),
                );
            }
        }
    }

    /// Checks an expression that is a statement.
    pub(super) fn statement_expr(&mut self, e: &ast::Expr) -> Ex {
        let outer = std::mem::replace(&mut self.changes, false);
        let ex = self.expr(e);
        if std::mem::replace(&mut self.changes, outer) {
            let mut uses = Uses::default();
            uses.ex(&ex, true);
            for (var, at) in uses.changed {
                if uses.count[&var] > 1 {
                    self.error(
                        Diagnostic::warning(
                            "expression::order",
                            at,
                            "this changes a variable that the same expression uses elsewhere",
                        )
                        .label(
                            "the other uses see the value from before or after, by their order from left to \
                             right",
                        )
                        .hint("write two statements: first the change, then the use, or the other way round"),
                    );
                }
            }
        }
        ex
    }
}

/// Counts how often an expression uses each variable, and records the variables that it changes.
#[derive(Default)]
struct Uses {
    count: HashMap<u32, u32>,
    changed: Vec<(u32, SourceSpan)>,
}

impl Uses {
    /// Visits a place. If the place is the root of a statement, no other part can see the change.
    fn place(&mut self, place: &VariablePart, root: bool) {
        *self.count.entry(place.var).or_default() += 1;
        if !root && place.parts.iter().any(|part| matches!(part, PartStep::Step { .. })) {
            self.changed.push((place.var, place.span));
        }
        self.parts(&place.parts);
    }

    fn parts(&mut self, parts: &[PartStep]) {
        for part in parts {
            match part {
                PartStep::Index { index: e, .. } | PartStep::Wires { base: e, .. } => self.ex(e, false),
                PartStep::Field { .. } | PartStep::Step { .. } => {}
            }
        }
    }

    fn ex(&mut self, ex: &Ex, root: bool) {
        match &ex.kind {
            ExKind::Const { .. } | ExKind::Broken => {}
            ExKind::Read(place) => self.place(place, root),
            ExKind::Part(inner, parts) => {
                self.ex(inner, false);
                self.parts(parts);
            }
            ExKind::Assign(place, value) => {
                // The target of a statement is written last, so it may also occur on the right side.
                if root {
                    self.parts(&place.parts);
                    let mut right = Uses::default();
                    right.ex(value, false);
                    if right.changed.iter().any(|(var, _)| *var == place.var) {
                        *self.count.entry(place.var).or_default() += 1;
                    }
                    right.count.into_iter().for_each(|(var, n)| *self.count.entry(var).or_default() += n);
                    self.changed.extend(right.changed);
                } else {
                    self.place(place, true);
                    self.changed.push((place.var, ex.span));
                    self.ex(value, false);
                }
            }
            ExKind::Step { place, .. } => {
                self.place(place, true);
                if !root {
                    self.changed.push((place.var, ex.span));
                }
            }
            ExKind::Binary { operands, .. }
            | ExKind::Wide { operands, .. }
            | ExKind::Shift { operands, .. } => {
                self.ex(&operands.0, false);
                self.ex(&operands.1, false);
            }
            ExKind::Choice(parts) => parts.iter().for_each(|part| self.ex(part, false)),
            ExKind::Neg(a) | ExKind::Not(a) | ExKind::Convert(a) => self.ex(a, false),
            ExKind::Call { args, .. } => args.iter().for_each(|a| self.ex(a, false)),
        }
    }
}
