//! An interpreter of the language on plain values, written from its rules. It shares only the parser with the
//! compiler.

use std::collections::HashMap;

use brickwork_lang::ast::*;

#[derive(Clone, Debug, PartialEq)]
pub enum T {
    Untyped,
    Void,
    Int { signed: bool, width: usize },
    Struct(String),
    Array(Box<T>, usize),
}

#[derive(Clone, Debug)]
pub struct V {
    pub ty: T,
    pub bits: Vec<bool>,
}

/// The variable, the offset and the type of a place that can be written. Beyond the end of an array the
/// offset is `None`.
type Target = (String, Option<usize>, T);

pub struct Interpreter {
    types: HashMap<String, T>,
    structs: HashMap<String, Vec<(String, T)>>,
    functions: HashMap<String, Function>,
    io: Vec<(bool, u64, String)>,
}

/// The variables of a function, and the types and sizes that its call chooses.
struct Scope(Vec<HashMap<String, V>>, HashMap<String, T>, HashMap<String, usize>);

/// The way in which a statement ends.
enum Flow {
    Next,
    Returned(Option<V>),
}

impl Scope {
    fn new() -> Scope {
        Scope(vec![HashMap::new()], HashMap::new(), HashMap::new())
    }

    fn get(&mut self, name: &str) -> &mut V {
        self.0.iter_mut().rev().find_map(|s| s.get_mut(name)).unwrap_or_else(|| panic!("no variable {name}"))
    }

    fn declare(&mut self, name: &str, v: V) {
        self.0.last_mut().unwrap().insert(name.into(), v);
    }
}

fn resize(bits: &[bool], width: usize) -> Vec<bool> {
    (0..width).map(|i| bits.get(i).copied().unwrap_or(false)).collect()
}

fn number(bits: &[bool]) -> i128 {
    assert!(bits.len() <= 120, "the interpreter computes on 120 bits");
    bits.iter().enumerate().map(|(i, b)| i128::from(*b) << i).sum()
}

fn signed_number(bits: &[bool]) -> i128 {
    number(bits) - if bits.last() == Some(&true) { 1 << bits.len() } else { 0 }
}

fn pattern(value: i128, width: usize) -> Vec<bool> {
    (0..width).map(|i| value >> i.min(127) & 1 == 1).collect()
}

fn uint(width: usize) -> T {
    T::Int { signed: false, width }
}

impl Interpreter {
    pub fn new(items: &[Item]) -> Interpreter {
        let mut me = Interpreter {
            types: HashMap::new(),
            structs: HashMap::new(),
            functions: HashMap::new(),
            io: Vec::new(),
        };
        for item in items {
            match item {
                Item::IntType { signed, width, name, .. } => {
                    let width = constant(&Scope::new(), width) as usize;
                    me.types.insert(name.name.to_string(), T::Int { signed: *signed, width });
                }
                Item::StructType { name, .. } => {
                    me.types.insert(name.name.to_string(), T::Struct(name.name.to_string()));
                }
                Item::Function(f) => {
                    me.functions.insert(f.name.name.to_string(), (**f).clone());
                }
                Item::Io { input, party, ty, .. } => {
                    assert!(ty.dims.is_empty(), "programs here have their arrays in structs");
                    me.io.push((*input, *party, ty.name.name().unwrap().to_string()));
                }
                _ => {}
            }
        }
        for item in items {
            if let Item::StructType { name, fields } = item {
                let fields = fields
                    .iter()
                    .flat_map(|f| {
                        f.names
                            .iter()
                            .map(|(n, dims)| (n.name.to_string(), me.ty(&Scope::new(), &f.ty, dims)))
                    })
                    .collect();
                me.structs.insert(name.name.to_string(), fields);
            }
        }
        me
    }

    fn ty(&self, scope: &Scope, name: &TypeName, dims: &[Expr]) -> T {
        let base = match name {
            TypeName::Int { signed, width, .. } => {
                T::Int { signed: *signed, width: constant(scope, width) as usize }
            }
            TypeName::Named(name) if &*name.name == "void" => T::Void,
            TypeName::Named(name) => {
                scope.1.get(&*name.name).unwrap_or_else(|| &self.types[&*name.name]).clone()
            }
        };
        dims.iter().rev().fold(base, |t, d| T::Array(Box::new(t), constant(scope, d) as usize))
    }

    fn width(&self, ty: &T) -> usize {
        match ty {
            T::Untyped | T::Void => 0,
            T::Int { width, .. } => *width,
            T::Struct(s) => self.structs[s].iter().map(|(_, t)| self.width(t)).sum(),
            T::Array(t, n) => n * self.width(t),
        }
    }

    /// Runs `main` and returns the outputs of both parties.
    pub fn run(&self, inputs: [&[bool]; 2]) -> [Vec<bool>; 2] {
        let mut scope = Scope::new();
        for (input, party, ty) in &self.io {
            let ty = self.types[ty].clone();
            let bits =
                if *input { inputs[*party as usize - 1].to_vec() } else { vec![false; self.width(&ty)] };
            scope.declare(&format!("{}{party}", if *input { "input" } else { "output" }), V { ty, bits });
        }
        self.list(&mut scope, &self.functions["main"].body);
        [1, 2].map(|p| {
            let has = self.io.iter().any(|(input, party, _)| !input && *party == p);
            if has { scope.get(&format!("output{p}")).bits.clone() } else { Vec::new() }
        })
    }

    fn call(&self, name: &str, args: Vec<V>) -> V {
        let f = &self.functions[name];
        let mut scope = Scope::new();
        for (p, arg) in f.params.iter().zip(&args) {
            // The first argument whose type uses a name determines it.
            let mut ty = arg.ty.clone();
            for dim in &p.ty.dims {
                let T::Array(inner, n) = ty else { panic!("{ty:?} for {p:?}") };
                if let ExprKind::Ident(name) = &dim.kind {
                    scope.2.entry(name.to_string()).or_insert(n);
                }
                ty = *inner;
            }
            match (&p.ty.name, ty) {
                (_, T::Untyped) => {}
                (TypeName::Named(name), ty) if f.generics.iter().any(|g| g.name == name.name) => {
                    scope.1.entry(name.name.to_string()).or_insert(ty);
                }
                (TypeName::Int { width, .. }, T::Int { width: n, .. }) => {
                    if let ExprKind::Ident(name) = &width.kind {
                        scope.2.entry(name.to_string()).or_insert(n);
                    }
                }
                _ => {}
            }
        }
        for (p, arg) in f.params.iter().zip(args) {
            let ty = self.ty(&scope, &p.ty.name, &p.ty.dims);
            let bits = resize(&arg.bits, self.width(&ty));
            scope.declare(&p.name.name, V { ty, bits });
        }
        let result = self.list(&mut scope, &f.body);
        let ty = self.ty(&scope, &f.ret.name, &f.ret.dims);
        let width = self.width(&ty);
        let bits = match result {
            Flow::Returned(Some(value)) => resize(&value.bits, width),
            Flow::Returned(None) | Flow::Next => vec![false; width],
        };
        V { ty, bits }
    }

    fn scoped(&self, scope: &mut Scope, s: &Stmt) -> Flow {
        scope.0.push(HashMap::new());
        let flow = self.stmt(scope, s);
        scope.0.pop();
        flow
    }

    fn list(&self, scope: &mut Scope, list: &[Stmt]) -> Flow {
        for s in list {
            if let Flow::Returned(value) = self.stmt(scope, s) {
                return Flow::Returned(value);
            }
        }
        Flow::Next
    }

    fn stmt(&self, scope: &mut Scope, s: &Stmt) -> Flow {
        match s {
            Stmt::Empty => {}
            Stmt::Expr(e) => drop(self.expr(scope, e)),
            Stmt::Vars(decl) => self.vars(scope, decl),
            Stmt::Block(list) => {
                scope.0.push(HashMap::new());
                let flow = self.list(scope, list);
                scope.0.pop();
                return flow;
            }
            Stmt::Return(value, _) => {
                return Flow::Returned(value.as_ref().map(|value| self.expr(scope, value)));
            }
            Stmt::For { init, cond, step, body, .. } => {
                scope.0.push(HashMap::new());
                self.vars(scope, init);
                let mut rounds = 0;
                while self.expr(scope, cond).bits[0] {
                    if let Flow::Returned(value) = self.scoped(scope, body) {
                        return Flow::Returned(value);
                    }
                    self.expr(scope, step);
                    rounds += 1;
                    assert!(rounds < 10_000, "an endless loop was generated");
                }
                scope.0.pop();
            }
            Stmt::If { cond, then, otherwise } => {
                if self.expr(scope, cond).bits[0] {
                    return self.scoped(scope, then);
                } else if let Some(otherwise) = otherwise {
                    return self.scoped(scope, otherwise);
                }
            }
        }
        Flow::Next
    }

    fn vars(&self, scope: &mut Scope, decl: &VarDecl) {
        for var in &decl.vars {
            let ty = self.ty(scope, &decl.ty, &var.dims);
            let mut bits = Vec::new();
            if let Some(init) = &var.init {
                self.init(scope, init, &ty, &mut bits);
            }
            let bits = resize(&bits, self.width(&ty));
            scope.declare(&var.name.name, V { ty, bits });
        }
    }

    fn init(&self, scope: &mut Scope, init: &Init, ty: &T, bits: &mut Vec<bool>) {
        match (init, ty) {
            (Init::Expr(e), ty) => bits.extend(resize(&self.expr(scope, e).bits, self.width(ty))),
            (Init::List(items, _), T::Array(inner, n)) => {
                assert_eq!(items.len(), *n);
                items.iter().for_each(|i| self.init(scope, i, inner, bits));
            }
            (init, ty) => panic!("{init:?} for {ty:?}"),
        }
    }

    /// Returns the offset of a part in a value, if it exists, and its type.
    fn part(&self, scope: &mut Scope, ty: &T, width: usize, e: &Expr) -> (Option<usize>, T) {
        match &e.kind {
            ExprKind::Index(_, i) => {
                let i = number(&self.expr(scope, i).bits) as usize;
                let T::Array(inner, n) = ty else { panic!("index on {ty:?}") };
                ((i < *n).then(|| i * self.width(inner)), (**inner).clone())
            }
            ExprKind::Field(_, name) => {
                let T::Struct(s) = ty else { panic!("field of {ty:?}") };
                let mut offset = 0;
                for (field, ty) in &self.structs[s] {
                    if **field == *name.name {
                        return (Some(offset), ty.clone());
                    }
                    offset += self.width(ty);
                }
                panic!("no field {}", name.name)
            }
            ExprKind::Bit(_, b) => {
                let b = number(&self.expr(scope, b).bits) as usize;
                assert!(b < width);
                (Some(b), uint(1))
            }
            ExprKind::Slice(_, b, n) => {
                let (b, n) = (number(&self.expr(scope, b).bits) as usize, constant(scope, n) as usize);
                assert!(b + n <= width);
                (Some(b), uint(n))
            }
            other => panic!("{other:?} is no part"),
        }
    }

    fn target(&self, scope: &mut Scope, e: &Expr) -> Target {
        match &e.kind {
            ExprKind::Ident(name) => (name.to_string(), Some(0), scope.get(name).ty.clone()),
            ExprKind::Step { increment, prefix: true, operand } => {
                let target = self.target(scope, operand);
                self.step(scope, &target, *increment);
                target
            }
            ExprKind::Macro(e) => self.target(scope, e),
            ExprKind::Index(of, _)
            | ExprKind::Field(of, _)
            | ExprKind::Bit(of, _)
            | ExprKind::Slice(of, ..) => {
                let (name, offset, ty) = self.target(scope, of);
                let (inner, ty) = self.part(scope, &ty, self.width(&ty), e);
                (name, offset.zip(inner).map(|(a, b)| a + b), ty)
            }
            other => panic!("{other:?} cannot be written"),
        }
    }

    fn write(&self, scope: &mut Scope, (name, offset, ty): &Target, bits: &[bool]) {
        let width = self.width(ty);
        if let Some(offset) = *offset {
            scope.get(name).bits[offset..offset + width].copy_from_slice(&resize(bits, width));
        }
    }

    fn read(&self, scope: &mut Scope, (name, offset, ty): &Target) -> V {
        let bits = match *offset {
            Some(offset) => scope.get(name).bits[offset..offset + self.width(ty)].to_vec(),
            None => vec![false; self.width(ty)],
        };
        V { ty: ty.clone(), bits }
    }

    /// Adds or subtracts one; returns the old value.
    fn step(&self, scope: &mut Scope, target: &Target, increment: bool) -> V {
        let old = self.read(scope, target);
        let new = number(&old.bits) + if increment { 1 } else { -1 };
        self.write(scope, target, &pattern(new, old.bits.len()));
        old
    }

    fn expr(&self, scope: &mut Scope, e: &Expr) -> V {
        match &e.kind {
            ExprKind::Macro(e) => self.expr(scope, e),
            ExprKind::Ident(name) => match scope.2.get(&**name) {
                Some(n) => untyped(*n as u64),
                None => scope.get(name).clone(),
            },
            ExprKind::Number(n) => untyped(n.small().unwrap() as u64),
            ExprKind::Literal { value, signed, width } => {
                let width = constant(scope, width) as usize;
                V {
                    ty: T::Int { signed: *signed, width },
                    bits: (0..width).map(|i| value.bit(i as u32)).collect(),
                }
            }
            ExprKind::Index(of, _)
            | ExprKind::Field(of, _)
            | ExprKind::Bit(of, _)
            | ExprKind::Slice(of, ..) => {
                let whole = self.expr(scope, of);
                let (offset, ty) = self.part(scope, &whole.ty, whole.bits.len(), e);
                let width = self.width(&ty);
                let bits = match offset {
                    Some(offset) => whole.bits[offset..offset + width].to_vec(),
                    None => vec![false; width],
                };
                V { ty, bits }
            }
            ExprKind::Assign(op, l, r) => {
                let target = self.target(scope, l);
                let value = match op {
                    Some(op) => self.operation(scope, *op, l, r),
                    None => self.expr(scope, r),
                };
                self.write(scope, &target, &value.bits);
                self.read(scope, &target)
            }
            ExprKind::Step { increment, prefix, operand } => {
                let target = self.target(scope, operand);
                let old = self.step(scope, &target, *increment);
                if *prefix { self.read(scope, &target) } else { old }
            }
            ExprKind::Unary(op, a) => {
                let a = self.expr(scope, a);
                let bits = match op {
                    UnaryOp::Neg => pattern(-number(&a.bits), a.bits.len()),
                    UnaryOp::Not => a.bits.iter().map(|b| !b).collect(),
                };
                V { ty: a.ty, bits }
            }
            ExprKind::Choice(parts) => {
                let [cond, then, otherwise] = &**parts;
                let holds = self.expr(scope, cond).bits[0];
                let (mut types, mut widths) = (Vec::new(), Vec::new());
                let mut chosen = None;
                for (part, take) in [(then, holds), (otherwise, !holds)] {
                    // Only the type of the other value is needed, so changes that it makes are forgotten.
                    let value = if take {
                        self.expr(scope, part)
                    } else {
                        self.expr(&mut Scope(scope.0.clone(), scope.1.clone(), scope.2.clone()), part)
                    };
                    types.push(value.ty.clone());
                    widths.push(value.bits.len());
                    chosen = chosen.or(take.then_some(value));
                }
                let ty = common(&types[0], &types[1]);
                let width = if ty == T::Untyped { widths[0].max(widths[1]) } else { self.width(&ty) };
                V { bits: resize(&chosen.unwrap().bits, width), ty }
            }
            ExprKind::Convert(ty, value) => {
                let ty = self.ty(scope, ty, &[]);
                let value = self.expr(scope, value);
                self.convert(ty, value)
            }
            ExprKind::Call(f, args) => {
                let mut f = f;
                let inner;
                if let ExprKind::Macro(e) = &f.kind {
                    inner = Box::new((**e).clone());
                    f = &inner;
                }
                let ExprKind::Ident(name) = &f.kind else { panic!("call of {f:?}") };
                let mut args: Vec<V> = args.iter().map(|a| self.expr(scope, a)).collect();
                match scope.1.get(&**name).or_else(|| self.types.get(&**name)) {
                    Some(ty) => self.convert(ty.clone(), args.remove(0)),
                    None => self.call(name, args),
                }
            }
            ExprKind::Binary(op, l, r) => self.operation(scope, *op, l, r),
            ExprKind::Broken => panic!("a broken expression"),
        }
    }

    fn convert(&self, ty: T, value: V) -> V {
        let width = self.width(&ty);
        let bits = match value.ty {
            T::Int { signed: true, width: from } => pattern(signed_number(&resize(&value.bits, from)), width),
            T::Int { width: from, .. } => resize(&resize(&value.bits, from), width),
            _ => resize(&value.bits, width),
        };
        V { ty, bits }
    }

    fn operation(&self, scope: &mut Scope, op: BinaryOp, l: &Expr, r: &Expr) -> V {
        let name = matches!(&strip(l).kind, ExprKind::Ident(name) if scope.2.contains_key(&**name));
        let variable = !name
            && matches!(strip(l).kind, ExprKind::Ident(_) | ExprKind::Index(..) | ExprKind::Field(..))
            && root_is_variable(l)
            || matches!(strip(l).kind, ExprKind::Step { prefix: true, .. });
        let (l, r) = (self.expr(scope, l), self.expr(scope, r));
        self.binary(op, l, r, variable)
    }

    fn binary(&self, op: BinaryOp, l: V, r: V, variable: bool) -> V {
        use BinaryOp::*;
        let is_signed = |t: &T| matches!(t, T::Int { signed: true, .. });
        if op == Sar {
            let width = if l.ty == T::Untyped { l.bits.len() } else { self.width(&l.ty) };
            let (bits, n) = (resize(&l.bits, width), number(&r.bits) as usize);
            let sign = is_signed(&l.ty) && bits[width - 1];
            let bits = (0..width).map(|i| *bits.get(i.saturating_add(n)).unwrap_or(&sign)).collect();
            return V { ty: l.ty, bits };
        }
        if matches!(op, Shl | Shr | Rotl) {
            let n = number(&r.bits) as usize;
            let w = l.bits.len();
            let bits = match (op, variable) {
                (Rotl, _) => (0..w).map(|i| l.bits[(i + w - n % w) % w]).collect(),
                (Shl, true) => (0..w).map(|i| i >= n && l.bits[i - n]).collect(),
                (Shl, false) => [vec![false; n], l.bits].concat(),
                (_, true) => (0..w).map(|i| i + n < w && l.bits[i + n]).collect(),
                (_, false) => resize(&l.bits[n.min(w)..], w.saturating_sub(n).max(1)),
            };
            let ty = match (op, &l.ty, &r.ty) {
                (Rotl, ..) => l.ty,
                (_, T::Int { width: a, .. }, T::Int { width: b, .. }) if a == b => r.ty,
                _ => T::Untyped,
            };
            return V { ty, bits };
        }
        if matches!(op, WideMul | WideDiv | WideRem) {
            let signed = is_signed(&l.ty) && is_signed(&r.ty);
            let value = |v: &V| if signed { signed_number(&v.bits) } else { number(&v.bits) };
            let (x, y) = (value(&l), value(&r));
            let (width, result) = match op {
                WideMul => (2 * l.bits.len(), x * y),
                WideDiv => (r.bits.len(), x / y),
                _ => (r.bits.len(), x % y),
            };
            return V { ty: T::Int { signed, width }, bits: pattern(result, width) };
        }
        let common = common(&l.ty, &r.ty);
        let width = if common == T::Untyped { l.bits.len().max(r.bits.len()) } else { self.width(&common) };
        let (a, b) = (resize(&l.bits, width), resize(&r.bits, width));
        match op {
            Eq => return V { ty: uint(1), bits: vec![a == b] },
            Ne => return V { ty: uint(1), bits: vec![a != b] },
            _ => {}
        }
        let signed = is_signed(&common);
        let comparison = matches!(op, Lt | Gt | Le | Ge);
        let value =
            |v: &[bool]| if signed && !(comparison && width == 1) { signed_number(v) } else { number(v) };
        let (x, y) = (value(&a), value(&b));
        let result = match op {
            Lt => return V { ty: uint(1), bits: vec![x < y] },
            Gt => return V { ty: uint(1), bits: vec![x > y] },
            Le => return V { ty: uint(1), bits: vec![x <= y] },
            Ge => return V { ty: uint(1), bits: vec![x >= y] },
            Or => x | y,
            Xor => x ^ y,
            And => x & y,
            Add => x + y,
            Sub => x - y,
            Mul => x.wrapping_mul(y),
            Div if y == 0 => -1,
            Div => x / y,
            Rem if y == 0 => x,
            _ => x % y,
        };
        V { ty: common, bits: pattern(result, width) }
    }
}

/// Returns the type of the result of an operator on values of these types.
fn common(l: &T, r: &T) -> T {
    match (l, r) {
        (T::Untyped, t) | (T::Int { signed: true, .. }, t @ T::Int { signed: false, .. }) => t.clone(),
        (t, _) => t.clone(),
    }
}

fn strip(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Macro(inner) => strip(inner),
        _ => e,
    }
}

fn root_is_variable(e: &Expr) -> bool {
    match &strip(e).kind {
        ExprKind::Ident(_) => true,
        ExprKind::Index(of, _) | ExprKind::Field(of, _) => root_is_variable(of),
        _ => false,
    }
}

/// Makes a constant without a width.
fn untyped(n: u64) -> V {
    V { ty: T::Untyped, bits: pattern(i128::from(n), format!("{n:b}").len() + 1) }
}

/// Evaluates a width or a dimension.
fn constant(scope: &Scope, e: &Expr) -> i64 {
    match &strip(e).kind {
        ExprKind::Number(n) | ExprKind::Literal { value: n, .. } => n.small().unwrap() as i64,
        ExprKind::Ident(name) => scope.2[&**name] as i64,
        ExprKind::Binary(BinaryOp::Add, a, b) => constant(scope, a) + constant(scope, b),
        ExprKind::Binary(BinaryOp::Sub, a, b) => constant(scope, a) - constant(scope, b),
        ExprKind::Binary(BinaryOp::Mul, a, b) => constant(scope, a) * constant(scope, b),
        ExprKind::Binary(BinaryOp::Div, a, b) => constant(scope, a) / constant(scope, b),
        other => panic!("{other:?} as a width"),
    }
}
