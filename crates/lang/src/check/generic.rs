//! Generic functions: each call chooses their types and sizes, and each choice makes a function of its own.

use std::collections::HashMap;
use std::rc::Rc;

use super::checker::{CallChoice, Checker, Generic, Global};
use crate::ast::{self, Expr, ExprKind, Ident, TypeName};
use crate::diagnostic::Diagnostic;
use crate::expand;
use crate::ir::Ex;
use crate::source::SourceSpan;
use crate::types::{Compatible, ExprType};

/// The largest number of functions. It stops a generic function that calls itself with ever larger sizes.
const MAX_FUNCTIONS: usize = 10_000;

/// The choice for a name so far, with the type and the place of the argument that made it.
type Chosen = (CallChoice, ExprType, SourceSpan);

/// Returns the name, if an expression is only a name.
fn name_of(e: &Expr) -> Option<&Rc<str>> {
    if let ExprKind::Ident(name) = &e.kind { Some(name) } else { None }
}

impl Checker<'_> {
    /// Declares a generic function.
    pub(super) fn generic(&mut self, f: ast::Function) {
        for (i, Ident { name, span }) in f.generics.iter().enumerate() {
            let fixed = |p: &ast::Param| {
                p.ty.dims.iter().any(|d| name_of(d) == Some(name))
                    || match &p.ty.name {
                        TypeName::Named(ty) => ty.name == *name,
                        TypeName::Int { width, .. } => name_of(width) == Some(name),
                    }
            };
            if f.generics[..i].iter().any(|other| other.name == *name)
                || f.params.iter().any(|p| p.name.name == *name)
            {
                self.sink.push(
                    Diagnostic::error("generic::redefined", *span, format!("`{name}` has two meanings here"))
                        .hint(
                            "rename one of them: names in `< >` differ from each other and from the \
                             parameters",
                        ),
                );
            } else if !f.params.iter().any(fixed) {
                self.sink.push(
                    Diagnostic::error("generic::unused", *span, format!("no call can choose `{name}`")).hint(
                        format!(
                            "let it be the type of a parameter, `{name} a`, its width, `uint_t {name} a`, \
                             or a size, `TYPE a[{name}]`"
                        ),
                    ),
                );
            }
        }
        self.declare(&f.name, Global::Generic(self.generics.len(), f.name.span));
        self.generics.push(Generic { function: Rc::new(f), made: HashMap::new() });
    }

    /// Returns the number of parameters of a generic function, and the place of its declaration.
    pub(super) fn generic_shape(&self, number: usize) -> (usize, SourceSpan) {
        let f = &self.generics[number].function;
        (f.params.len(), f.name.span)
    }

    /// Returns the function for a call with these arguments. Their number is that of the parameters.
    pub(super) fn made_for(&mut self, number: usize, span: SourceSpan, args: &[Ex]) -> Option<usize> {
        let f = Rc::clone(&self.generics[number].function);
        let choices = self.choose(&f, span, args)?;
        if let Some(made) = self.generics[number].made.get(&choices) {
            return Some(*made);
        }
        if self.signatures.len() >= MAX_FUNCTIONS {
            self.sink.push(
                Diagnostic::error("limit::functions", span, format!("more than {MAX_FUNCTIONS} functions"))
                    .label("this call needs one more")
                    .hint("a generic function must not call itself with other sizes; use a `for` loop"),
            );
            return None;
        }
        let mut function = (*f).clone();
        let (mut name, mut text) = (f.name.name.to_string(), Vec::new());
        let values = f.generics.iter().zip(&choices).map(|(ident, choice)| {
            let (shown, kind) = match choice {
                CallChoice::Type(ty) => (ty.to_string(), ExprKind::Ident(Rc::clone(ty))),
                CallChoice::Size(n) => (n.to_string(), ExprKind::Number(u64::from(*n).into())),
            };
            let plain = shown.replace("_t ", "").replace('[', "x").replace(']', "");
            name.push_str(&format!(".{plain}"));
            text.push(format!("{} = {shown}", ident.name));
            (Rc::clone(&ident.name), Expr::new(kind, ident.span))
        });
        let values: Vec<_> = values.collect();
        expand::substitute(&mut function, values.into_iter(), self.sink);
        let mut signature = self.signature_of(&function);
        signature.name = name.into();
        signature.made_for = Some((span, format!("called here, with {}", text.join(", "))));
        let made = self.signatures.len();
        self.signatures.push(signature);
        self.made.push_back(function);
        self.generics[number].made.insert(choices, made);
        Some(made)
    }

    /// Returns the choices of a call for all names, in order.
    fn choose(&mut self, f: &ast::Function, span: SourceSpan, args: &[Ex]) -> Option<Vec<CallChoice>> {
        let mut chosen: HashMap<&str, Chosen> = HashMap::new();
        for (param, arg) in f.params.iter().zip(args) {
            let (mut base, mut sizes) = (arg.ty.clone(), Vec::new());
            for dim in &param.ty.dims {
                let ExprType::Array(array) = &base else { break };
                sizes.push((dim, array.dims[0]));
                base = self.types.element(array);
            }
            if base == ExprType::Broken {
                return None;
            }
            if sizes.len() < param.ty.dims.len() {
                // This argument has an error already, which makes the call invalid.
                continue;
            }
            let mut choices: Vec<(&Rc<str>, CallChoice, ExprType)> = sizes
                .into_iter()
                .filter_map(|(dim, size)| Some((name_of(dim)?, CallChoice::Size(size), ExprType::Untyped)))
                .collect();
            match (&param.ty.name, &base) {
                (TypeName::Named(ty), ExprType::Int(_) | ExprType::Struct(_) | ExprType::Array(_)) => {
                    choices.push((&ty.name, CallChoice::Type(self.name_of_type(&base)), base.clone()));
                }
                (TypeName::Int { width, .. }, ExprType::Int(int)) => {
                    choices
                        .extend(name_of(width).map(|w| (w, CallChoice::Size(int.width), ExprType::Untyped)));
                }
                _ => {}
            }
            for (name, choice, ty) in choices {
                if f.generics.iter().any(|g| g.name == *name) {
                    self.add_choice(&mut chosen, name, (choice, ty, arg.span))?;
                }
            }
        }
        let list = f.generics.iter().map(|g| {
            let choice = chosen.remove(&*g.name);
            if choice.is_none() {
                self.sink.push(
                    Diagnostic::error(
                        "generic::unknown",
                        span,
                        format!("this call does not determine `{}`", g.name),
                    )
                    .also(g.span, "declared here")
                    .hint("give it a variable, or a constant with a width: `5##8` is unsigned, `5#8` signed"),
                );
            }
            choice.map(|(choice, ..)| choice)
        });
        list.collect()
    }

    /// Adds the choices that one argument makes. The first choice counts, and others must be compatible with
    /// it.
    fn add_choice<'f>(
        &mut self,
        chosen: &mut HashMap<&'f str, Chosen>,
        name: &'f str,
        (choice, ty, at): Chosen,
    ) -> Option<()> {
        let Some((first, first_ty, first_at)) = chosen.get(name) else {
            chosen.insert(name, (choice, ty, at));
            return Some(());
        };
        let sign = |ty: &ExprType| if let ExprType::Int(int) = ty { Some(int.signed) } else { None };
        let same = match (first, &choice) {
            (CallChoice::Size(a), CallChoice::Size(b)) => a == b,
            _ => self.types.compatible(first_ty, &ty) != Compatible::No && sign(first_ty) == sign(&ty),
        };
        if same {
            return Some(());
        }
        let show = |choice: &CallChoice| match choice {
            CallChoice::Type(ty) => format!("`{ty}`"),
            CallChoice::Size(n) => n.to_string(),
        };
        self.sink.push(
            Diagnostic::error(
                "generic::mixed",
                at,
                format!("this call gives `{name}` two different meanings"),
            )
            .label(format!("{} here", show(&choice)))
            .also(*first_at, format!("{} here", show(first)))
            .hint("give both arguments one type, or one size: `TYPE(…)` brings a number to another type"),
        );
        None
    }

    /// Returns a name for this type. A type without a name gets one that no source can contain.
    fn name_of_type(&mut self, ty: &ExprType) -> Rc<str> {
        let name: Rc<str> = match ty {
            ExprType::Int(int) => self.types.name(int).into(),
            ExprType::Struct(s) => return Rc::clone(&self.types.structs[*s as usize].name),
            ExprType::Array(a) => {
                let dims: String = a.dims.iter().map(|d| format!("[{d}]")).collect();
                format!("{}{dims}", self.name_of_type(&a.base)).into()
            }
            ExprType::Broken | ExprType::Untyped | ExprType::Void => "void".into(),
        };
        let nowhere = SourceSpan { file: 0, start: 0, end: 0 };
        self.globals.entry(Rc::clone(&name)).or_insert_with(|| Global::Type(ty.clone(), nowhere));
        name
    }
}
