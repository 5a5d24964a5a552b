//! The state of checking a program, and its declarations.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use brickwork_circuit::Rule;

use crate::ast::{self, ExprKind, Item, ShareForm, TypeName, TypeRef};
use crate::diagnostic::{Diagnostic, Sink};
use crate::graph::GraphBit;
use crate::ir::{Shared, Sharing};
use crate::parser::habits::type_of_c;
use crate::source::{SourceMap, SourceSpan};
use crate::types::{ArrayType, ExprType, IntType, MAX_WIDTH, StructField, StructType, Types};

/// The meaning of a global name.
#[derive(Clone)]
pub(super) enum Global {
    Type(ExprType, SourceSpan),
    Function(usize, SourceSpan),
    /// A generic function, with the place of its declaration.
    Generic(usize, SourceSpan),
}

impl Global {
    pub(super) fn span(&self) -> SourceSpan {
        let (Global::Type(_, span) | Global::Function(_, span) | Global::Generic(_, span)) = self;
        *span
    }

    /// Returns whether both are the same integer type.
    pub(super) fn is_the_same_integer(&self, other: &Global) -> bool {
        let integer = |global: &Global| match global {
            Global::Type(ExprType::Int(ty), _) => Some((ty.signed, ty.width, ty.point)),
            _ => None,
        };
        integer(self).is_some() && integer(self) == integer(other)
    }
}

/// The types of a function, which callers need.
pub(super) struct Signature {
    pub(super) name: Rc<str>,
    pub(super) params: Vec<(Rc<str>, ExprType, SourceSpan)>,
    pub(super) ret: ExprType,
    pub(super) span: SourceSpan,
    /// For an instance of a generic function: the call that needs it, and the types and sizes of that call.
    pub(super) made_for: Option<(SourceSpan, String)>,
}

/// An `#input` or `#output`.
pub(super) struct PortDirective {
    pub(super) party: u32,
    pub(super) ty: ExprType,
    pub(super) rules: Vec<Rule>,
    pub(super) span: SourceSpan,
}

pub(super) struct Checker<'s> {
    pub(super) sink: &'s mut Sink,
    /// The sources, whose text some hints repeat.
    pub(super) sources: &'s SourceMap,
    pub(super) types: Types,
    pub(super) globals: HashMap<Rc<str>, Global>,
    pub(super) signatures: Vec<Signature>,
    pub(super) generics: Vec<Generic>,
    /// Instances of generic functions that must still be checked, in the order of their signatures.
    pub(super) made: VecDeque<ast::Function>,
}

/// The type or size that a call chooses for a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum CallChoice {
    /// A type, by a name that [`Checker::globals`] has.
    Type(Rc<str>),
    /// A number of bits or elements.
    Size(u32),
}

/// A generic function: its types and sizes are not chosen yet.
pub(super) struct Generic {
    pub(super) function: Rc<ast::Function>,
    /// The instances of the function, by their choices.
    pub(super) made: HashMap<Vec<CallChoice>, usize>,
}

impl Checker<'_> {
    pub(super) fn declare(&mut self, name: &ast::Ident, global: Global) {
        let first = self.globals.get(&name.name);
        if first.is_some_and(|first| first.is_the_same_integer(&global)) {
            // A file and an included file may both declare the usual integer types.
            return;
        }
        if let Some(first) = first.map(Global::span) {
            self.sink.push(
                Diagnostic::error("name::redefined", name.span, format!("`{}` is defined twice", name.name))
                    .label("defined again here")
                    .also(first, "first defined here")
                    .hint("rename one of them: types and functions share their names"),
            );
        } else {
            self.globals.insert(Rc::clone(&name.name), global);
        }
    }

    pub(super) fn declare_types(&mut self, items: &[Item], reverse: bool) {
        let mut structs = Vec::new();
        for item in items {
            match item {
                Item::IntType { signed, width, name, point } => {
                    let (signed, width) = (*signed, self.positive(width, "a width"));
                    let point = point.zip(width).map_or(0, |((point, span), width)| {
                        if !(1..=u64::from(width)).contains(&point) {
                            let message =
                                format!("{point} bits behind the point of a number of {width} bits");
                            self.sink.push(Diagnostic::error("pragma::point", span, message).hint(
                                "a fixed-point number has at least one bit behind the point, and \
                                         at most all its bits",
                            ));
                        }
                        point.min(width.into()) as u32
                    });
                    self.types.int_names.push(Rc::clone(&name.name));
                    let typedef = Some(self.types.int_names.len() as u32 - 1);
                    let ty = width.map_or(ExprType::Broken, |width| {
                        ExprType::Int(IntType { signed, width, point, typedef })
                    });
                    self.declare(name, Global::Type(ty, name.span));
                }
                Item::StructType { name, fields } => {
                    let number = self.types.structs.len() as u32;
                    let ty = StructType {
                        name: Rc::clone(&name.name),
                        span: name.span,
                        fields: Vec::new(),
                        width: 0,
                    };
                    self.types.structs.push(ty);
                    self.declare(name, Global::Type(ExprType::Struct(number), name.span));
                    structs.push(fields);
                }
                _ => {}
            }
        }
        for (number, declarations) in structs.into_iter().enumerate() {
            let mut fields: Vec<(StructField, SourceSpan)> = Vec::new();
            for declaration in declarations {
                for (name, dims) in &declaration.names {
                    let base = self.type_named(&declaration.ty);
                    let ty = self.array_of(base, dims);
                    if let Some((_, first)) = fields.iter().find(|(f, _)| f.name == name.name) {
                        self.sink.push(
                            Diagnostic::error(
                                "type::field",
                                name.span,
                                format!("there are two fields `{}`", name.name),
                            )
                            .also(*first, "the first one is here")
                            .hint("rename one of them"),
                        );
                        continue;
                    }
                    fields.push((StructField { name: Rc::clone(&name.name), ty, offset: 0 }, name.span));
                }
            }
            self.types.structs[number].fields = fields.into_iter().map(|(f, _)| f).collect();
        }
        self.lay_out(reverse);
    }

    /// Reports structs that contain themselves, and computes the widths and offsets of the others.
    pub(super) fn lay_out(&mut self, reverse: bool) {
        let count = self.types.structs.len();
        // 0 is not visited, 1 is on the current path, and 2 is done.
        let mut state = vec![0u8; count];
        for root in 0..count {
            let mut path = vec![(root, 0)];
            if state[root] != 0 {
                continue;
            }
            state[root] = 1;
            while let Some((at, next)) = path.last_mut() {
                let (at, field) = (*at, *next);
                *next += 1;
                let base = |ty: &ExprType| match ty {
                    ExprType::Struct(s) => Some(*s as usize),
                    ExprType::Array(a) => {
                        if let ExprType::Struct(s) = a.base {
                            Some(s as usize)
                        } else {
                            None
                        }
                    }
                    _ => None,
                };
                match self.types.structs[at].fields.get(field).map(|f| base(&f.ty)) {
                    Some(Some(inner)) if state[inner] == 0 => {
                        state[inner] = 1;
                        path.push((inner, 0));
                    }
                    Some(Some(inner)) if state[inner] == 1 => {
                        let (s, name) = (&self.types.structs[at], &self.types.structs[inner].name);
                        self.sink.push(
                            Diagnostic::error(
                                "type::recursive",
                                s.span,
                                format!("struct `{}` contains itself", s.name),
                            )
                            .label(format!("through its field `{}` of type `{name}`", s.fields[field].name))
                            .hint(
                                "every value has a fixed size: use an array of a fixed length, and numbers \
                                 that index it",
                            ),
                        );
                        self.types.structs[at].fields[field].ty = ExprType::Broken;
                    }
                    Some(_) => {}
                    None => {
                        self.set_offsets(at, reverse);
                        state[at] = 2;
                        path.pop();
                    }
                }
            }
        }
    }

    pub(super) fn set_offsets(&mut self, number: usize, reverse: bool) {
        let widths: Vec<u64> =
            self.types.structs[number].fields.iter().map(|f| u64::from(self.types.width(&f.ty))).collect();
        let total: u64 = widths.iter().sum();
        let s = &mut self.types.structs[number];
        if total > MAX_WIDTH {
            self.sink.push(
                Diagnostic::error(
                    "type::size",
                    s.span,
                    format!("struct `{}` has more than {MAX_WIDTH} bits", s.name),
                )
                .hint("use shorter arrays or narrower numbers in its fields"),
            );
            s.fields.iter_mut().for_each(|f| f.ty = ExprType::Broken);
            return;
        }
        let mut offset = 0;
        let order: Vec<usize> =
            if reverse { (0..widths.len()).rev().collect() } else { (0..widths.len()).collect() };
        for field in order {
            s.fields[field].offset = offset;
            offset += widths[field] as u32;
        }
        s.width = total as u32;
    }

    pub(super) fn type_named(&mut self, name: &TypeName) -> ExprType {
        let name = match name {
            TypeName::Named(name) => name,
            TypeName::Int { signed, width, .. } => {
                let width = self.positive(width, "a width");
                return width
                    .map_or(ExprType::Broken, |width| ExprType::Int(IntType::of_compiler(*signed, width)));
            }
        };
        match self.globals.get(&name.name) {
            Some(Global::Type(ty, _)) => ty.clone(),
            Some(Global::Function(_, first) | Global::Generic(_, first)) => {
                let first = *first;
                self.sink.push(
                    Diagnostic::error(
                        "type::unknown",
                        name.span,
                        format!("`{}` is a function, not a type", name.name),
                    )
                    .also(first, "declared here")
                    .hint("write the name of a type here; is the type of a declaration missing?"),
                );
                ExprType::Broken
            }
            None => {
                let hint = match &*name.name {
                    "void" => "only functions can be `void`".into(),
                    "float" | "double" => "all numbers are whole numbers; `#include \"fixed.wir\"` computes \
                                           with fixed-point numbers"
                        .into(),
                    other => match type_of_c(other) {
                        Some(ty) => format!("no type is built in; declare it: `typedef {ty} {other}`"),
                        None => format!(
                            "no type is built in; declare it: `typedef int_t 32 {other}`, or `uint_t` for \
                             an unsigned one"
                        ),
                    },
                };
                self.sink.push(
                    Diagnostic::error(
                        "type::unknown",
                        name.span,
                        format!("there is no type `{}`", name.name),
                    )
                    .hint(hint),
                );
                ExprType::Broken
            }
        }
    }

    pub(super) fn array_of(&mut self, base: ExprType, dims: &[ast::Expr]) -> ExprType {
        if dims.is_empty() {
            return base;
        }
        let sizes: Vec<Option<u32>> = dims.iter().map(|d| self.positive(d, "an array dimension")).collect();
        let Some(sizes) = sizes.into_iter().collect::<Option<Vec<u32>>>() else { return ExprType::Broken };
        let (sizes, base) = match base {
            ExprType::Broken => return base,
            // A type parameter may be an array type.
            ExprType::Array(inner) => ([&sizes[..], &inner.dims].concat(), inner.base.clone()),
            base => (sizes, base),
        };
        let bits = sizes
            .iter()
            .fold(u64::from(self.types.width(&base)).max(1), |w, d| w.saturating_mul(u64::from(*d)));
        if bits > MAX_WIDTH {
            let span = dims[0].span.to(dims[dims.len() - 1].span);
            self.sink.push(
                Diagnostic::error("type::size", span, format!("this array has more than {MAX_WIDTH} bits"))
                    .hint("use fewer elements, or narrower ones"),
            );
            return ExprType::Broken;
        }
        ExprType::Array(Rc::new(ArrayType { dims: sizes, base }))
    }

    pub(super) fn type_ref(&mut self, ty: &TypeRef) -> ExprType {
        let base = self.type_named(&ty.name);
        self.array_of(base, &ty.dims)
    }

    pub(super) fn parties(&mut self, parties: Option<(u64, SourceSpan)>, root: SourceSpan) -> u32 {
        match parties {
            None => {
                self.sink.push(
                    Diagnostic::error("io::parties", root, "the number of parties is missing")
                        .hint("begin the file with `#parties 2`"),
                );
                2
            }
            Some((n @ 1..=2, _)) => n as u32,
            Some((0, span)) => {
                self.sink.push(
                    Diagnostic::error("io::parties", span, "there must be at least one party")
                        .hint("write `#parties 2`"),
                );
                2
            }
            Some((n, span)) => {
                self.sink.push(
                    Diagnostic::error("io::parties", span, format!("{n} parties are too many")).hint(
                        "write `#parties 2`: programs run between 1, the garbler, and 2, the evaluator",
                    ),
                );
                n.min(u64::from(u32::MAX)) as u32
            }
        }
    }

    /// Returns the inputs and outputs of the parties.
    pub(super) fn io(&mut self, list: Vec<Item>, parties: u32) -> (Vec<PortDirective>, Vec<PortDirective>) {
        let mut found: [Vec<PortDirective>; 2] = [Vec::new(), Vec::new()];
        for item in list {
            let Item::Io { input, party, party_span, ty, rules, span } = item else { continue };
            let ty = self.type_ref(&ty);
            let what = if input { "input" } else { "output" };
            if party < 1 || party > u64::from(parties) {
                self.sink.push(
                    Diagnostic::error("io::party", party_span, format!("there is no party {party}"))
                        .hint(format!("`#parties {parties}` allows the numbers 1 to {parties}")),
                );
                continue;
            }
            let slot = &mut found[usize::from(!input)];
            if let Some(PortDirective { span: first, .. }) = slot.iter().find(|p| u64::from(p.party) == party)
            {
                self.sink.push(
                    Diagnostic::error("io::twice", span, format!("party {party} has two {what}s"))
                        .also(*first, "the first one is here")
                        .hint("put its values into one struct: `typedef struct_t BOTH { TYPE a; TYPE b; }`"),
                );
                continue;
            }
            let name = format!("input{party}");
            let fitting = |(rule, span)| self.fitting(rule, span, &ty, &name);
            let rules = rules.into_iter().filter_map(fitting).collect();
            slot.push(PortDirective { party: party as u32, ty, rules, span });
        }
        let [mut inputs, mut outputs] = found;
        inputs.sort_by_key(|p| p.party);
        outputs.sort_by_key(|p| p.party);
        (inputs, outputs)
    }

    /// Returns the values that the parties share, and declares their variables, from the number `first` on.
    pub(super) fn shared(&mut self, list: Vec<Item>, first: u32, vars: &mut Vec<Predeclared>) -> Vec<Shared> {
        let mut all: Vec<Shared> = Vec::new();
        for item in list {
            let Item::Shared { input, name, ty, form, span } = item else { continue };
            let ty = self.type_ref(&ty);
            let port = |what: &str| name.name.strip_prefix(what).is_some_and(|n| n.parse::<u32>().is_ok());
            let masks = name.name.strip_suffix("_mask");
            let taken = all.iter().any(|other| {
                other.name == name.name || masks == Some(&*other.name) || {
                    other.name.strip_suffix("_mask") == Some(&*name.name)
                }
            });
            if taken || port("input") || port("output") {
                self.sink.push(
                    Diagnostic::error("io::twice", name.span, format!("`{}` names another value", name.name))
                        .hint(
                            "choose another name: shared values differ in their names, and none of them is \
                             `input1` or has the name of another one with `_mask`",
                        ),
                );
                continue;
            }
            let Some(sharing) = self.sharing(&form, &ty, span) else { continue };
            vars.push(Predeclared {
                name: Rc::clone(&name.name),
                ty: ty.clone(),
                at: span,
                is_output: !input,
                whose: "each party".into(),
            });
            all.push(Shared { input, name: name.name, ty, sharing, var: first + all.len() as u32 });
        }
        all
    }

    /// Returns the form of shares, if values of this type can have it.
    fn sharing(&mut self, form: &ShareForm, ty: &ExprType, span: SourceSpan) -> Option<Sharing> {
        if matches!(ty, ExprType::Broken | ExprType::Void) {
            return None;
        }
        if matches!(form, ShareForm::Xor) {
            return Some(Sharing::Xor);
        }
        let ExprType::Int(int) = ty else {
            let found = self.types.show(ty);
            self.sink.push(
                Diagnostic::error("shared::type", span, "only numbers are sums of shares")
                    .label(format!("this is {found}"))
                    .hint("share its numbers one by one, or leave out `sum` or `modulo` for an XOR"),
            );
            return None;
        };
        let ShareForm::Modulo(modulus) = form else { return Some(Sharing::Sum) };
        let mut inner = &**modulus;
        while let ExprKind::Macro(body) = &inner.kind {
            inner = body;
        }
        let value = match &inner.kind {
            ExprKind::Number(value) | ExprKind::Literal { value, .. } => Some(value),
            _ => None,
        };
        let Some(value) = value.filter(|value| value.bits() == int.width && int.width > 1 && !int.signed)
        else {
            self.sink.push(
                Diagnostic::error("shared::modulus", modulus.span, "the modulus does not fit the type")
                    .label("this must be a number that needs all bits of an unsigned type")
                    .hint("give the type as many bits as the modulus has: `uint_t 4 modulo 13`"),
            );
            return None;
        };
        Some(Sharing::Modulo((0..int.width).map(|i| GraphBit::constant(value.bit(i))).collect()))
    }

    /// Returns the rule if values of this type have its field.
    fn fitting(&mut self, rule: Rule, span: SourceSpan, ty: &ExprType, name: &str) -> Option<Rule> {
        let numbers = matches!(ty, ExprType::Int(_) | ExprType::Array(_) | ExprType::Struct(_));
        if numbers && !rule.fits(&self.types.port(ty), name) {
            let message =
                format!("`{}` is not the name of one field of numbers in a table of `{name}`", rule.field);
            self.sink.push(Diagnostic::error("pragma::field", span, message).hint(format!(
                "name a field of the structs in an array, an array of numbers in a struct, or `{name}` if it \
                 is such an array; where several tables have the field, name the table before it, with a dot"
            )));
            return None;
        }
        Some(rule).filter(|_| numbers)
    }

    pub(super) fn signature(&mut self, f: &ast::Function) {
        let signature = self.signature_of(f);
        self.signatures.push(signature);
        self.declare(&f.name, Global::Function(self.signatures.len() - 1, f.name.span));
    }

    pub(super) fn signature_of(&mut self, f: &ast::Function) -> Signature {
        let void = f.ret.name.name().is_some_and(|name| &**name == "void");
        let ret = if void && !self.globals.contains_key("void") {
            if let Some(first) = f.ret.dims.first() {
                self.sink.push(
                    Diagnostic::error("function::void", first.span, "there are no arrays of `void`")
                        .hint("remove the dimensions, or name the type of the elements"),
                );
            }
            ExprType::Void
        } else {
            self.type_ref(&f.ret)
        };
        let mut params: Vec<(Rc<str>, ExprType, SourceSpan)> = Vec::new();
        for p in &f.params {
            let ty = self.type_ref(&p.ty);
            if let Some((.., first)) = params.iter().find(|(name, ..)| *name == p.name.name) {
                self.sink.push(
                    Diagnostic::error(
                        "variable::redefined",
                        p.name.span,
                        format!("there are two parameters `{}`", p.name.name),
                    )
                    .also(*first, "the first one is here")
                    .hint("rename one of them"),
                );
            }
            params.push((Rc::clone(&p.name.name), ty, p.name.span));
        }
        Signature { name: Rc::clone(&f.name.name), params, ret, span: f.name.span, made_for: None }
    }

    pub(super) fn main(&mut self, root: SourceSpan) -> Option<usize> {
        let Some(Global::Function(main, _)) = self.globals.get("main") else {
            self.sink.push(
                Diagnostic::error("main::missing", root, "there is no function `main`")
                    .hint("write `function void main() { … }`"),
            );
            return None;
        };
        let main = *main;
        let Signature { params, ret, span, .. } = &self.signatures[main];
        if !matches!(ret, ExprType::Void | ExprType::Broken) {
            self.sink.push(
                Diagnostic::error("main::return", *span, "`main` must return `void`")
                    .hint("write `function void main()`, and assign results to `output1` and `output2`"),
            );
        }
        if !params.is_empty() {
            self.sink.push(
                Diagnostic::error("main::parameters", *span, "`main` has no parameters")
                    .hint("write `main()`: inputs are in `input1` and `input2`"),
            );
        }
        Some(main)
    }
}

/// An input or output, which is a variable of `main`.
pub(super) struct Predeclared {
    pub(super) name: Rc<str>,
    pub(super) ty: ExprType,
    /// The place of the declaration.
    pub(super) at: SourceSpan,
    /// True for an output, to which `main` should assign a value. `main` should read an input.
    pub(super) is_output: bool,
    /// The party that gives or learns it, in words.
    pub(super) whose: String,
}

impl Predeclared {
    /// Returns the warning about an input or output that `main` does not use.
    pub(super) fn unused(&self) -> Diagnostic {
        let (name, whose) = (&self.name, &self.whose);
        if self.is_output {
            let message = format!("nothing is ever assigned to `{name}`");
            return Diagnostic::warning("output::unassigned", self.at, message)
                .label(format!("{whose} learns zeros"))
                .hint(format!(
                    "assign its value in `main`, `{name} = …;`, or remove this line if {whose} is to learn \
                     nothing"
                ));
        }
        Diagnostic::warning("input::unused", self.at, format!("nothing depends on `{name}`"))
            .label(format!("{whose} gives a value that is not read"))
            .hint(format!("use it in `main`, or remove this line if {whose} is to give nothing"))
    }
}
