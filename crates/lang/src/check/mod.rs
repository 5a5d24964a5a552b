//! From syntax to meaning: names, types, signatures; all rules that need no values.

mod body;
mod expr;
mod generic;
mod width;

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use crate::ast::{self, Item, TypeName, TypeRef};
use crate::diagnostic::{Diagnostic, Sink};
use crate::ir::{Func, Io, Module};
use crate::parser::habits::type_of_c;
use crate::source::Span;
use crate::types::{ArrayType, Field, IntType, MAX_WIDTH, StructType, Type, Types};

/// What a global name stands for.
#[derive(Clone)]
enum Global {
    Type(Type, Span),
    Function(usize, Span),
    /// A function that calls complete with types and sizes.
    Generic(usize, Span),
}

impl Global {
    fn span(&self) -> Span {
        let (Global::Type(_, span) | Global::Function(_, span) | Global::Generic(_, span)) = self;
        *span
    }

    /// Whether both name one type of integers.
    fn is_the_same_integer(&self, other: &Global) -> bool {
        let integer = |global: &Global| match global {
            Global::Type(Type::Int(ty), _) => Some((ty.signed, ty.width)),
            _ => None,
        };
        integer(self).is_some() && integer(self) == integer(other)
    }
}

/// What bodies need to know about a function.
struct Signature {
    name: Rc<str>,
    params: Vec<(Rc<str>, Type, Span)>,
    ret: Type,
    span: Span,
    /// For a function that was made of a generic one: the call that asked for it, and what it chose.
    made_for: Option<(Span, String)>,
}

/// An `#input` or `#output`.
struct Port {
    party: u32,
    ty: Type,
    span: Span,
}

struct Checker<'s> {
    sink: &'s mut Sink,
    types: Types,
    globals: HashMap<Rc<str>, Global>,
    signatures: Vec<Signature>,
    generics: Vec<generic::Generic>,
    /// Functions that were made of generic ones, in the order of their signatures, and are still to be
    /// checked.
    made: VecDeque<ast::Function>,
}

/// Checks a program. Returns nothing if it is too broken to generate anything from it.
pub fn check(items: Vec<Item>, root: Span, reverse_structs: bool, sink: &mut Sink) -> Option<Module> {
    let mut cx = Checker {
        sink,
        types: Types::default(),
        globals: HashMap::new(),
        signatures: Vec::new(),
        generics: Vec::new(),
        made: VecDeque::new(),
    };
    cx.declare_types(&items, reverse_structs);
    let mut functions = Vec::new();
    let (mut parties, mut io) = (None, Vec::new());
    for item in items {
        match item {
            Item::Function(f) if f.generics.is_empty() => functions.push(*f),
            Item::Function(f) => cx.generic(*f),
            Item::Parties(n, span) => parties = Some((n, span)),
            Item::Io { input, party, party_span, ty, span } => io.push((input, party, party_span, ty, span)),
            Item::Vars(decl) => cx.sink.push(
                Diagnostic::warning("variable::global", decl.span, "variables outside of functions are ignored")
                    .hint("declare it in the function that uses it; functions share nothing but arguments and results"),
            ),
            Item::Define(..) | Item::Include(..) | Item::IntType { .. } | Item::StructType { .. } => {}
        }
    }
    let parties = cx.parties(parties, root);
    let (inputs, outputs) = cx.io(io, parties);
    functions.iter().for_each(|f| cx.signature(f));
    let main = cx.main(root);
    let mut vars_of_main: Vec<body::Predeclared> = Vec::new();
    let mut ports = |list: Vec<Port>, what: &str| -> Vec<Io> {
        list.into_iter()
            .map(|Port { party, ty, span }| {
                let to_assign = (what == "output").then_some(span);
                let name = format!("{what}{party}").into();
                vars_of_main.push(body::Predeclared { name, ty: ty.clone(), to_assign });
                Io { party, ty, var: vars_of_main.len() as u32 - 1 }
            })
            .collect()
    };
    let (inputs, outputs) = (ports(inputs, "input"), ports(outputs, "output"));
    cx.made.extend(functions);
    let mut functions: Vec<Func> = Vec::new();
    // Bodies add to the list what they make of generic functions.
    while let Some(f) = cx.made.pop_front() {
        let number = functions.len();
        let predeclared = if Some(number) == main { &vars_of_main[..] } else { &[] };
        functions.push(body::check(&mut cx, number, f, predeclared));
    }
    find_recursion(&functions, cx.sink);
    Some(Module { types: cx.types, functions, main: main?, inputs, outputs })
}

impl Checker<'_> {
    fn declare(&mut self, name: &ast::Ident, global: Global) {
        let first = self.globals.get(&name.name);
        if first.is_some_and(|first| first.is_the_same_integer(&global)) {
            // A file and one that it includes may both name the usual types.
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

    fn declare_types(&mut self, items: &[Item], reverse: bool) {
        let mut structs = Vec::new();
        for item in items {
            match item {
                Item::IntType { signed, width, name } => {
                    let width = self.positive(width, "a width");
                    self.types.int_names.push(Rc::clone(&name.name));
                    let typedef = Some(self.types.int_names.len() as u32 - 1);
                    let ty = width
                        .map_or(Type::Broken, |width| Type::Int(IntType { signed: *signed, width, typedef }));
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
                    self.declare(name, Global::Type(Type::Struct(number), name.span));
                    structs.push(fields);
                }
                _ => {}
            }
        }
        for (number, declarations) in structs.into_iter().enumerate() {
            let mut fields: Vec<(Field, Span)> = Vec::new();
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
                    fields.push((Field { name: Rc::clone(&name.name), ty, offset: 0 }, name.span));
                }
            }
            self.types.structs[number].fields = fields.into_iter().map(|(f, _)| f).collect();
        }
        self.lay_out(reverse);
    }

    /// Finds structs that contain themselves and gives the others their widths and offsets.
    fn lay_out(&mut self, reverse: bool) {
        let count = self.types.structs.len();
        // 0: not seen, 1: on the path, 2: done.
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
                let base = |ty: &Type| match ty {
                    Type::Struct(s) => Some(*s as usize),
                    Type::Array(a) => {
                        if let Type::Struct(s) = a.base {
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
                            Diagnostic::error("type::recursive", s.span, format!("struct `{}` contains itself", s.name))
                                .label(format!("through its field `{}` of type `{name}`", s.fields[field].name))
                                .hint("every value has a fixed size: use an array of a fixed length, and numbers that index it"),
                        );
                        self.types.structs[at].fields[field].ty = Type::Broken;
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

    fn set_offsets(&mut self, number: usize, reverse: bool) {
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
            s.fields.iter_mut().for_each(|f| f.ty = Type::Broken);
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

    fn type_named(&mut self, name: &TypeName) -> Type {
        let name = match name {
            TypeName::Named(name) => name,
            TypeName::Int { signed, width, .. } => {
                let width = self.positive(width, "a width");
                return width.map_or(Type::Broken, |width| {
                    Type::Int(IntType { signed: *signed, width, typedef: None })
                });
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
                Type::Broken
            }
            None => {
                let hint = match &*name.name {
                    "void" => "only functions can be `void`".into(),
                    "float" | "double" => {
                        "all numbers are whole numbers; `#include \"fixed.wir\"` computes with fixed-point numbers".into()
                    }
                    other => match type_of_c(other) {
                        Some(ty) => format!("no type is built in; declare it: `typedef {ty} {other}`"),
                        None => format!(
                            "no type is built in; declare it: `typedef int_t 32 {other}`, or `uint_t` for an unsigned one"
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
                Type::Broken
            }
        }
    }

    fn array_of(&mut self, base: Type, dims: &[ast::Expr]) -> Type {
        if dims.is_empty() {
            return base;
        }
        let sizes: Vec<Option<u32>> = dims.iter().map(|d| self.positive(d, "an array dimension")).collect();
        let Some(sizes) = sizes.into_iter().collect::<Option<Vec<u32>>>() else { return Type::Broken };
        let (sizes, base) = match base {
            Type::Broken => return base,
            // A type parameter may stand for an array.
            Type::Array(inner) => ([&sizes[..], &inner.dims].concat(), inner.base.clone()),
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
            return Type::Broken;
        }
        Type::Array(Rc::new(ArrayType { dims: sizes, base }))
    }

    fn type_ref(&mut self, ty: &TypeRef) -> Type {
        let base = self.type_named(&ty.name);
        self.array_of(base, &ty.dims)
    }

    fn parties(&mut self, parties: Option<(u64, Span)>, root: Span) -> u32 {
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

    /// Inputs and outputs, by party.
    fn io(&mut self, list: Vec<(bool, u64, Span, TypeName, Span)>, parties: u32) -> (Vec<Port>, Vec<Port>) {
        let mut found: [Vec<Port>; 2] = [Vec::new(), Vec::new()];
        for (input, party, party_span, ty, span) in list {
            let ty = self.type_named(&ty);
            let what = if input { "input" } else { "output" };
            if party < 1 || party > u64::from(parties) {
                self.sink.push(
                    Diagnostic::error("io::party", party_span, format!("there is no party {party}"))
                        .hint(format!("`#parties {parties}` allows the numbers 1 to {parties}")),
                );
                continue;
            }
            let slot = &mut found[usize::from(!input)];
            if let Some(Port { span: first, .. }) = slot.iter().find(|p| u64::from(p.party) == party) {
                self.sink.push(
                    Diagnostic::error("io::twice", span, format!("party {party} has two {what}s"))
                        .also(*first, "the first one is here")
                        .hint("put its values into one struct: `typedef struct_t BOTH { TYPE a; TYPE b; }`"),
                );
                continue;
            }
            slot.push(Port { party: party as u32, ty, span });
        }
        let [mut inputs, mut outputs] = found;
        inputs.sort_by_key(|p| p.party);
        outputs.sort_by_key(|p| p.party);
        (inputs, outputs)
    }

    fn signature(&mut self, f: &ast::Function) {
        let signature = self.signature_of(f);
        self.signatures.push(signature);
        self.declare(&f.name, Global::Function(self.signatures.len() - 1, f.name.span));
    }

    fn signature_of(&mut self, f: &ast::Function) -> Signature {
        let void = f.ret.name.name().is_some_and(|name| &**name == "void");
        let ret = if void && !self.globals.contains_key("void") {
            if let Some(first) = f.ret.dims.first() {
                self.sink.push(
                    Diagnostic::error("function::void", first.span, "there are no arrays of `void`")
                        .hint("remove the dimensions, or name the type of the elements"),
                );
            }
            Type::Void
        } else {
            self.type_ref(&f.ret)
        };
        let mut params: Vec<(Rc<str>, Type, Span)> = Vec::new();
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

    fn main(&mut self, root: Span) -> Option<usize> {
        let Some(Global::Function(main, _)) = self.globals.get("main") else {
            self.sink.push(
                Diagnostic::error("main::missing", root, "there is no function `main`")
                    .hint("write `function void main() { … }`"),
            );
            return None;
        };
        let main = *main;
        let Signature { params, ret, span, .. } = &self.signatures[main];
        if !matches!(ret, Type::Void | Type::Broken) {
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

/// Reports functions that call themselves, directly or through others.
fn find_recursion(functions: &[Func], sink: &mut Sink) {
    let mut state = vec![0u8; functions.len()];
    for root in 0..functions.len() {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut path = vec![(root, 0)];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            let Some(&(callee, span)) = functions[at].calls.get(*next) else {
                state[at] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            match state[callee] {
                0 => {
                    state[callee] = 1;
                    path.push((callee, 0));
                }
                1 => {
                    let from = path.iter().position(|(f, _)| *f == callee).unwrap_or(0);
                    let names: Vec<&str> = path[from..]
                        .iter()
                        .map(|(f, _)| &*functions[*f].name)
                        .chain([&*functions[callee].name])
                        .collect();
                    sink.push(
                        Diagnostic::error(
                            "function::recursion",
                            span,
                            format!("recursion: {}", names.join(" calls ")),
                        )
                        .label("this call never ends")
                        .hint("use a `for` loop with a fixed bound: a circuit is finite"),
                    );
                }
                _ => {}
            }
        }
    }
}
