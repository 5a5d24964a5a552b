//! Expands `#include` and `#define`: first all files are joined, and then names are replaced by their
//! definitions.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::ast::*;
use crate::diagnostic::{Diagnostic, Sink};
use crate::parser::parse;
use crate::source::{MAX_SOURCE, Resolver, SourceMap, SourceSpan};
use crate::stdlib;

/// The largest number of nodes of an expanded definition. Each definition can use earlier ones twice, so the
/// size can double each time.
const MAX_EXPANSION: u64 = 100_000;
/// The largest height of an expanded definition.
const MAX_HEIGHT: u32 = 2500;
/// The largest number of files.
const MAX_FILES: usize = 1000;

/// Reads the root source and all files that it includes, and replaces all defined names. The items are in
/// textual order.
pub fn load(
    name: &str,
    text: &str,
    resolver: &dyn Resolver,
    sources: &mut SourceMap,
    sink: &mut Sink,
) -> Vec<Item> {
    let root = sources.add(name, text);
    if text.len() as u64 > MAX_SOURCE {
        let span = SourceSpan { file: root, start: 0, end: 0 };
        sink.push(too_large("the source", span));
        return Vec::new();
    }
    let mut items = Vec::new();
    let mut seen = HashSet::new();
    // A stack replaces recursion, because files may include each other to any depth.
    let mut stack = vec![parse(root, text, sink).into_iter()];
    while let Some(list) = stack.last_mut() {
        match list.next() {
            None => {
                stack.pop();
            }
            Some(Item::Include(path, span)) => {
                if let Some(included) = include(&path, span, resolver, sources, &mut seen, sink) {
                    stack.push(included.into_iter());
                }
            }
            Some(item) => items.push(item),
        }
    }
    Expander { defines: HashMap::new(), sink }.items(items)
}

fn include(
    path: &Rc<str>,
    span: SourceSpan,
    resolver: &dyn Resolver,
    sources: &mut SourceMap,
    seen: &mut HashSet<Rc<str>>,
    sink: &mut Sink,
) -> Option<Vec<Item>> {
    if path.is_empty() {
        return None;
    }
    if !seen.insert(Rc::clone(path)) {
        sink.push(
            Diagnostic::warning("include::twice", span, format!("\"{path}\" is already included"))
                .label("this second `#include` is ignored")
                .hint("remove it: each file is read once, and its declarations are visible in all files"),
        );
        return None;
    }
    if seen.len() > MAX_FILES {
        sink.push(
            Diagnostic::error("include::files", span, format!("more than {MAX_FILES} files are included"))
                .hint("join files that belong together"),
        );
        return None;
    }
    let bytes = match resolver.resolve(path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => match stdlib::find(path) {
            Some(text) => text.as_bytes().to_vec(),
            None => {
                sink.push(
                    Diagnostic::error("include::missing", span, format!("there is no file \"{path}\"")).hint(
                        "put the file into the folder of the root source, where all includes are searched; \
                         the standard library needs no file",
                    ),
                );
                return None;
            }
        },
        Err(message) => {
            sink.push(
                Diagnostic::error("include::read", span, format!("\"{path}\" cannot be read: {message}"))
                    .hint("check that it is a file, and that you may read it"),
            );
            return None;
        }
    };
    if bytes.len() as u64 > MAX_SOURCE {
        sink.push(too_large(&format!("\"{path}\""), span));
        return None;
    }
    let Ok(text) = String::from_utf8(bytes) else {
        sink.push(
            Diagnostic::error("include::read", span, format!("\"{path}\" is not text"))
                .hint("save the file as UTF-8, and check that it is a source"),
        );
        return None;
    };
    let file = sources.add(&**path, text.as_str());
    let items = parse(file, &text, sink);
    if items.is_empty() {
        sink.push(
            Diagnostic::error("include::empty", span, format!("\"{path}\" declares nothing"))
                .hint("remove this line, or write functions, types or definitions into the file"),
        );
    }
    Some(items)
}

fn too_large(what: &str, span: SourceSpan) -> Diagnostic {
    Diagnostic::error("include::size", span, format!("{what} is larger than {} MiB", MAX_SOURCE >> 20))
        .hint("split the file and `#include` the parts; check that it is a source")
}

/// Replaces names in a function by these values, as `#define`s would.
pub(crate) fn substitute(
    function: &mut Function,
    values: impl Iterator<Item = (Rc<str>, Expr)>,
    sink: &mut Sink,
) {
    let define = |body: Expr| Define { nodes: 1, height: body.height, body: Rc::new(body) };
    function.generics.clear();
    let defines = values.map(|(name, value)| (name, define(value))).collect();
    Expander { defines, sink }.function(function);
}

struct Define {
    body: Rc<Expr>,
    nodes: u64,
    height: u32,
}

struct Expander<'s> {
    defines: HashMap<Rc<str>, Define>,
    sink: &'s mut Sink,
}

/// Nodes and height of an expression while it is being expanded.
#[derive(Default)]
struct Size {
    nodes: u64,
    height: u32,
    deepest: u32,
}

impl Expander<'_> {
    fn items(mut self, mut items: Vec<Item>) -> Vec<Item> {
        // The name of a type must not be a `#define`d name, wherever it is declared.
        items.retain_mut(|item| {
            self.item(item);
            !matches!(item, Item::Define(..))
        });
        items
    }

    fn item(&mut self, item: &mut Item) {
        match item {
            Item::Define(name, body) => {
                let size = self.expr(body);
                // While a definition is expanded, its body is broken, so a use of itself reports no second
                // error.
                let body = Rc::new(std::mem::replace(body, Expr::new(ExprKind::Broken, name.span)));
                self.defines
                    .insert(Rc::clone(&name.name), Define { body, nodes: size.nodes, height: size.deepest });
            }
            Item::Include(..) | Item::Parties(..) => {}
            Item::Io { ty, .. } => {
                self.io_type(&mut ty.name);
                self.each(&mut ty.dims);
            }
            Item::Shared { name, ty, form, .. } => {
                self.ident(name);
                self.io_type(&mut ty.name);
                self.each(&mut ty.dims);
                if let ShareForm::Modulo(modulus) = form {
                    self.expr(modulus);
                }
            }
            Item::IntType { width, name, .. } => {
                self.expr(width);
                self.type_name(name);
            }
            Item::StructType { name, fields } => {
                self.type_name(name);
                for field in fields {
                    self.type_of(&mut field.ty);
                    for (name, dims) in &mut field.names {
                        self.ident(name);
                        self.each(dims);
                    }
                }
            }
            Item::Function(f) => self.function(f),
            Item::Vars(decl) => self.vars(decl),
        }
    }

    fn io_type(&mut self, ty: &mut TypeName) {
        match ty {
            TypeName::Int { width, .. } => drop(self.expr(width)),
            TypeName::Named(ty) => {
                if let Some(define) = self.defines.get(&ty.name) {
                    let what = if matches!(define.body.kind, ExprKind::Number(_)) {
                        "a number"
                    } else {
                        "an expression"
                    };
                    let (span, from) = (ty.span, define.body.span);
                    self.sink.push(
                        Diagnostic::error(
                            "define::type",
                            span,
                            format!("`{}` is a `#define` of {what}, not a type", ty.name),
                        )
                        .also(from, "defined here")
                        .hint("name a type that a `typedef` declares, or give the `#define` another name"),
                    );
                }
            }
        }
    }

    fn function(&mut self, f: &mut Function) {
        self.ident(&mut f.name);
        f.generics.iter_mut().for_each(|name| self.ident(name));
        self.type_ref(&mut f.ret);
        for p in &mut f.params {
            self.type_ref(&mut p.ty);
            self.ident(&mut p.name);
        }
        f.body.iter_mut().for_each(|s| self.stmt(s));
    }

    fn type_name(&mut self, name: &Ident) {
        if let Some(define) = self.defines.get(&name.name) {
            let from = define.body.span;
            self.sink.push(
                Diagnostic::error(
                    "define::typedef",
                    name.span,
                    format!("`{}` is already the name of a `#define`", name.name),
                )
                .also(from, "defined here")
                .hint("give one of the two another name"),
            );
        }
    }

    fn type_ref(&mut self, ty: &mut TypeRef) {
        self.type_of(&mut ty.name);
        self.each(&mut ty.dims);
    }

    fn type_of(&mut self, ty: &mut TypeName) {
        match ty {
            TypeName::Named(name) => self.ident(name),
            TypeName::Int { width, .. } => drop(self.expr(width)),
        }
    }

    /// Expands a name in a place where only a name is allowed. It is replaced if its definition is also a
    /// name.
    fn ident(&mut self, ident: &mut Ident) {
        let Some(define) = self.defines.get(&ident.name) else { return };
        let mut body = &define.body.kind;
        while let ExprKind::Macro(inner) = body {
            body = &inner.kind;
        }
        match body {
            ExprKind::Ident(name) => ident.name = Rc::clone(name),
            _ => {
                let from = define.body.span;
                self.sink.push(
                    Diagnostic::error(
                        "define::name",
                        ident.span,
                        format!("`{}` is a `#define` and cannot be a name here", ident.name),
                    )
                    .also(from, "it stands for this expression")
                    .hint(
                        "give one of the two another name: a `#define` replaces its name everywhere below it",
                    ),
                );
            }
        }
    }

    fn vars(&mut self, decl: &mut VarDecl) {
        self.type_of(&mut decl.ty);
        for var in &mut decl.vars {
            self.ident(&mut var.name);
            self.each(&mut var.dims);
            if let Some(init) = &mut var.init {
                self.init(init);
            }
        }
    }

    fn init(&mut self, init: &mut Init) {
        match init {
            Init::Expr(e) => {
                self.expr(e);
            }
            Init::List(items, _) => items.iter_mut().for_each(|i| self.init(i)),
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Expr(e) => {
                self.expr(e);
            }
            Stmt::Empty | Stmt::Return(None, _) => {}
            Stmt::Return(Some(e), _) => drop(self.expr(e)),
            Stmt::Vars(decl) => self.vars(decl),
            Stmt::Block(list) => list.iter_mut().for_each(|s| self.stmt(s)),
            Stmt::For { init, cond, step, body, .. } => {
                self.vars(init);
                self.expr(cond);
                self.expr(step);
                self.stmt(body);
            }
            Stmt::If { cond, then, otherwise } => {
                self.expr(cond);
                self.stmt(then);
                if let Some(otherwise) = otherwise {
                    self.stmt(otherwise);
                }
            }
        }
    }

    fn each(&mut self, list: &mut [Expr]) {
        for e in list {
            self.expr(e);
        }
    }

    fn expr(&mut self, e: &mut Expr) -> Size {
        let mut size = Size::default();
        self.walk(e, &mut size);
        if size.nodes > MAX_EXPANSION || size.deepest > MAX_HEIGHT {
            self.sink.push(
                Diagnostic::error(
                    "define::size",
                    e.span,
                    "with all `#define`s replaced this expression is too large",
                )
                .hint("a `#define` is an expression that is evaluated again at each use; use a variable"),
            );
            e.kind = ExprKind::Broken;
            return Size::default();
        }
        size
    }

    fn walk(&mut self, e: &mut Expr, size: &mut Size) {
        size.nodes = size.nodes.saturating_add(1);
        size.height += 1;
        size.deepest = size.deepest.max(size.height);
        match &mut e.kind {
            ExprKind::Ident(name) => {
                if let Some(define) = self.defines.get(name) {
                    size.nodes = size.nodes.saturating_add(define.nodes);
                    size.deepest = size.deepest.max(size.height + define.height);
                    e.kind = ExprKind::Macro(Rc::clone(&define.body));
                }
            }
            ExprKind::Number(_) | ExprKind::Macro(_) | ExprKind::Broken => {}
            ExprKind::Literal { width: a, .. }
            | ExprKind::Unary(_, a)
            | ExprKind::Step { operand: a, .. } => self.walk(a, size),
            ExprKind::Binary(_, a, b)
            | ExprKind::Assign(_, a, b)
            | ExprKind::Index(a, b)
            | ExprKind::Bit(a, b) => {
                self.walk(a, size);
                self.walk(b, size);
            }
            ExprKind::Slice(a, b, c) => {
                self.walk(a, size);
                self.walk(b, size);
                self.walk(c, size);
            }
            ExprKind::Choice(parts) => parts.iter_mut().for_each(|part| self.walk(part, size)),
            ExprKind::Convert(ty, value) => {
                self.type_of(ty);
                self.walk(value, size);
            }
            ExprKind::Call(f, args) => {
                self.walk(f, size);
                args.iter_mut().for_each(|a| self.walk(a, size));
            }
            ExprKind::Field(a, name) => {
                self.walk(a, size);
                let mut renamed = name.clone();
                self.ident(&mut renamed);
                *name = renamed;
            }
        }
        size.height -= 1;
    }
}
