//! Generates random programs that are well typed and terminate.

use std::fmt::Write;

/// A small random generator, so that the programs are the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

const WIDTHS: [usize; 11] = [1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 32];
const WIDEST: usize = 32;

#[derive(Clone, PartialEq, Debug)]
enum Ty {
    /// The sign and the width of an integer.
    Int(bool, usize),
    Struct(usize),
    Array(Box<Ty>, usize),
}

impl Ty {
    fn name(&self) -> String {
        match self {
            Ty::Int(signed, w) => format!("{}{w}", if *signed { "s" } else { "u" }),
            Ty::Struct(n) => format!("S{n}"),
            Ty::Array(inner, _) => inner.name(),
        }
    }

    fn dims(&self) -> String {
        match self {
            Ty::Array(inner, n) => format!("[{n}]{}", inner.dims()),
            _ => String::new(),
        }
    }
}

struct Var {
    path: String,
    ty: Ty,
    writable: bool,
}

struct Fun {
    name: String,
    params: Vec<Ty>,
    ret: Ty,
}

pub struct Generator {
    pub random: Random,
    structs: Vec<Vec<(String, Ty)>>,
    functions: Vec<Fun>,
    vars: Vec<Var>,
    names: usize,
    /// The names of loop counters, which are known and below 3.
    counters: Vec<String>,
    /// The names of 3-bit variables that are never written and count as secret.
    secrets: Vec<String>,
    /// The return type of the function, if it may return.
    ret: Option<Ty>,
    budget: usize,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator {
            random: Random(seed),
            structs: Vec::new(),
            functions: Vec::new(),
            vars: Vec::new(),
            names: 0,
            counters: Vec::new(),
            secrets: Vec::new(),
            ret: None,
            budget: 0,
        }
    }

    fn int(&mut self) -> Ty {
        Ty::Int(self.random.chance(40), *self.random.pick(&WIDTHS))
    }

    fn ty(&mut self) -> Ty {
        match self.random.below(10) {
            0 if !self.structs.is_empty() => Ty::Struct(self.random.below(self.structs.len())),
            1 | 2 => {
                let inner = if self.random.chance(20) && !self.structs.is_empty() {
                    Ty::Struct(0)
                } else {
                    self.int()
                };
                let array = Ty::Array(Box::new(inner), 3);
                if self.random.chance(15) { Ty::Array(Box::new(array), 3) } else { array }
            }
            _ => self.int(),
        }
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub fn program(&mut self) -> String {
        let mut out = String::from("#parties 2\n");
        for w in WIDTHS {
            let _ = writeln!(out, "typedef uint_t {w} u{w} typedef int_t {w} s{w}");
        }
        out.push_str("#define THREE 2+1\n");
        for n in 0..1 + self.random.below(2) {
            let fields: Vec<(String, Ty)> = (0..1 + self.random.below(3))
                .map(|i| {
                    (
                        format!("f{i}"),
                        if n > 0 && self.random.chance(30) {
                            Ty::Struct(0)
                        } else if self.random.chance(30) {
                            let t = self.int();
                            Ty::Array(Box::new(t), 3)
                        } else {
                            self.int()
                        },
                    )
                })
                .collect();
            let _ = write!(out, "typedef struct_t S{n} {{ ");
            for (name, ty) in &fields {
                let _ = write!(out, "{} {name}{}; ", ty.name(), ty.dims());
            }
            out.push_str("}\n");
            self.structs.push(fields);
        }
        let io: Vec<Ty> = (0..4)
            .map(|i| {
                if i < 2 {
                    Ty::Int(false, WIDEST)
                } else if self.random.chance(30) {
                    Ty::Struct(self.random.below(self.structs.len()))
                } else {
                    Ty::Int(self.random.chance(40), WIDEST)
                }
            })
            .collect();
        for (i, (what, party)) in
            [("input", 1), ("input", 2), ("output", 1), ("output", 2)].into_iter().enumerate()
        {
            let _ = writeln!(out, "#{what} {party} {}", io[i].name());
        }
        for _ in 0..1 + self.random.below(3) {
            let f = self.function();
            out.push_str(&f);
        }
        out.push_str("function void main() {\n");
        self.vars.clear();
        for (i, name) in ["input1", "input2", "output1", "output2"].into_iter().enumerate() {
            self.vars.push(Var { path: name.into(), ty: io[i].clone(), writable: true });
        }
        let secrets = self.secrets();
        out.push_str(&secrets);
        self.ret = None;
        self.secrets = vec![self.name("q")];
        let _ = writeln!(out, "u3 {} = input2{{{}:3}};", self.secrets[0], self.random.below(WIDEST - 2));
        for _ in 0..3 {
            self.budget = 4 + self.random.below(8);
            let body = self.block(0);
            out.push_str(&body);
            let calls = self.calls();
            out.push_str(&calls);
        }
        for (i, name) in ["output1", "output2"].into_iter().enumerate() {
            let value = self.value(&io[i + 2].clone(), 3);
            let _ = writeln!(out, "{name} = {value};");
        }
        let rest = self.harvest(&io[2..]);
        out + &rest + "}\n"
    }

    /// Declares variables of several widths that hold parts of the inputs.
    fn secrets(&mut self) -> String {
        let mut out = String::new();
        for w in WIDTHS {
            let (ty, name, from) =
                (Ty::Int(self.random.chance(40), w), self.name("v"), self.random.below(WIDEST - w + 1));
            let _ = writeln!(out, "{} {name} = input{}{{{from}:{w}}};", ty.name(), 1 + self.random.below(2));
            self.vars.push(Var { path: name, ty, writable: true });
        }
        out
    }

    /// Calls each function once, and stores the results in variables.
    fn calls(&mut self) -> String {
        let mut out = String::new();
        for f in 0..self.functions.len() {
            let (call, ty, name) = (self.call(f, 1), self.functions[f].ret.clone(), self.name("v"));
            let _ = match &ty {
                Ty::Array(..) => writeln!(out, "{} {name}{}; {name} = {call};", ty.name(), ty.dims()),
                _ => writeln!(out, "{} {name} = {call};", ty.name()),
            };
            self.vars.push(Var { path: name, ty, writable: true });
        }
        out
    }

    /// Returns the names of the functions.
    pub fn functions(&self) -> Vec<String> {
        self.functions.iter().map(|f| f.name.clone()).collect()
    }

    /// Puts the final values of the variables into the outputs, so that no part of the program is unused.
    fn harvest(&mut self, outputs: &[Ty]) -> String {
        let mut out = String::new();
        let to: Vec<usize> = (0..2).filter(|i| matches!(outputs[*i], Ty::Int(..))).map(|i| i + 1).collect();
        let mut values: Vec<(String, Ty)> =
            self.vars.iter().map(|v| (v.path.clone(), v.ty.clone())).collect();
        while let Some((path, ty)) = values.pop().filter(|_| !to.is_empty()) {
            match ty {
                Ty::Int(_, w) if !path.starts_with("input") && !path.starts_with("output") => {
                    let (output, op) = (*self.random.pick(&to), *self.random.pick(&["^", "+", "-"]));
                    let from = self.random.below(WIDEST - w + 1);
                    let _ = writeln!(
                        out,
                        "output{output}{{{from}:{w}}} = output{output}{{{from}:{w}}} {op} {path};"
                    );
                }
                Ty::Int(..) => {}
                Ty::Array(inner, n) => {
                    values.extend((0..n).map(|i| (format!("{path}[{i}]"), (*inner).clone())))
                }
                Ty::Struct(n) => {
                    values.extend(self.structs[n].iter().map(|(f, ty)| (format!("{path}.{f}"), ty.clone())))
                }
            }
        }
        out
    }

    fn function(&mut self) -> String {
        let name = self.name("fun");
        let mut params: Vec<Ty> = (0..1 + self.random.below(3)).map(|_| self.ty()).collect();
        let ret = self.ty();
        self.vars = params
            .iter()
            .enumerate()
            .map(|(i, ty)| Var { path: format!("p{i}"), ty: ty.clone(), writable: true })
            .collect();
        let mut list: Vec<String> =
            params.iter().enumerate().map(|(i, ty)| format!("{} p{i}{}", ty.name(), ty.dims())).collect();
        let secret = format!("p{}", params.len());
        params.push(Ty::Int(false, 3));
        list.push(format!("u3 {secret}"));
        self.vars.push(Var { path: secret.clone(), ty: Ty::Int(false, 3), writable: false });
        self.secrets = vec![secret];
        self.ret = Some(ret.clone());
        self.budget = 3 + self.random.below(10);
        let body = self.block(0);
        let value = self.value(&ret, 3);
        let text = format!(
            "function {}{} {name}({}) {{\n{body}return {value};\n}}\n",
            ret.name(),
            ret.dims(),
            list.join(", ")
        );
        self.functions.push(Fun { name, params, ret });
        text
    }

    /// Returns statements. Their variables stay in the list until the caller removes them.
    fn block(&mut self, depth: usize) -> String {
        let mut out = String::new();
        for _ in 0..1 + self.random.below(5) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            let s = self.statement(depth);
            let _ = writeln!(out, "{s}");
        }
        out
    }

    fn scoped(&mut self, depth: usize) -> String {
        let (vars, counters) = (self.vars.len(), self.counters.len());
        let body = self.block(depth + 1);
        self.vars.truncate(vars);
        self.counters.truncate(counters);
        if self.random.chance(10) { format!("+{{ {body} }}+") } else { format!("{{ {body} }}") }
    }

    fn statement(&mut self, depth: usize) -> String {
        match self.random.below(13) {
            12 => match self.ret.clone() {
                Some(ret) => {
                    let (cond, value) = (self.value(&Ty::Int(false, 1), 2), self.value(&ret, 2));
                    match self.random.below(3) {
                        0 => format!("if ({cond}) return {value};"),
                        1 => {
                            let then = self.scoped(depth + 1);
                            format!("if ({cond}) {{ {then} return {value}; }}")
                        }
                        _ => {
                            let otherwise = self.scoped(depth + 1);
                            format!("if ({cond}) {otherwise} else return {value};")
                        }
                    }
                }
                None => ";".into(),
            },
            0..=2 => {
                let (ty, name) = (self.ty(), self.name("v"));
                let init = match &ty {
                    Ty::Int(..) | Ty::Struct(_) if self.random.chance(70) => {
                        format!(" = {}", self.value(&ty, 3))
                    }
                    Ty::Array(inner, 3) if self.random.chance(50) && self.can_be_listed(inner) => {
                        let items: Vec<String> = (0..3).map(|_| self.item(inner)).collect();
                        format!(" = {{{}}}", items.join(", "))
                    }
                    _ => String::new(),
                };
                let text = format!("{} {name}{}{init};", ty.name(), ty.dims());
                self.vars.push(Var { path: name, ty, writable: true });
                text
            }
            3 if depth < 3 => {
                let cond = self.value(&Ty::Int(false, 1), 3);
                let then = self.scoped(depth);
                if self.random.chance(60) {
                    let otherwise = self.scoped(depth);
                    format!("if ({cond}) {then} else {otherwise}")
                } else {
                    format!("if ({cond}) {then}")
                }
            }
            4 if depth < 2 => {
                let name = self.name("i");
                self.counters.push(name.clone());
                self.vars.push(Var { path: name.clone(), ty: Ty::Int(false, 8), writable: false });
                let body = self.scoped(depth);
                self.counters.pop();
                self.vars.pop();
                let step = *self.random.pick(&["X++", "++X", "X = X + 1"]);
                format!(
                    "for (u8 {name} = 0; {name} < {}; {}) {body}",
                    self.random.pick(&["3", "2", "THREE", "1+1##8"]),
                    step.replace('X', &name)
                )
            }
            5 => match self.place(|ty| matches!(ty, Ty::Int(..))) {
                Some((path, _)) => format!("{}{path};", if self.random.chance(50) { "++" } else { "--" }),
                None => ";".into(),
            },
            6 if !self.functions.is_empty() => {
                let f = self.random.below(self.functions.len());
                format!("{};", self.call(f, 2))
            }
            _ => match self.place(|_| true) {
                Some((path, Ty::Int(_, w))) if w > 2 && self.random.chance(25) => {
                    // The length of a slice is constant, and its start may be any known number.
                    let length = 1 + self.random.below(w - 2);
                    let from = self.random.below(w - length + 1).min(w - length);
                    let value = self.value(&Ty::Int(false, length), 3);
                    format!("{path}{{{from}:{length}}} = {value};")
                }
                Some((path, Ty::Int(_, w))) if self.random.chance(20) => {
                    let op = *self.random.pick(&["+", "-", "*", "/", "%", "&", "|", "^"]);
                    format!("{path} {op}= {};", self.value(&Ty::Int(false, w), 3))
                }
                Some((path, Ty::Int(_, w))) if self.random.chance(10) => {
                    let op = *self.random.pick(&["<<", ">>", "<<>", ">>>"]);
                    format!("{path} {op}= {};", self.random.below(w + 2))
                }
                Some((path, ty)) => {
                    let value = self.value(&ty, 4);
                    format!("{path} = {value};")
                }
                None => ";".into(),
            },
        }
    }

    /// Selects a random integer, array or struct inside a variable.
    fn descend(&mut self, mut path: String, mut ty: Ty) -> (String, Ty) {
        loop {
            match ty.clone() {
                Ty::Array(inner, _) if self.random.chance(85) => {
                    let index = self.index();
                    path = format!("{path}[{index}]");
                    ty = *inner;
                }
                Ty::Struct(n) if self.random.chance(85) => {
                    let (name, inner) = self.random.pick(&self.structs[n]).clone();
                    path = format!("{path}.{name}");
                    ty = inner;
                }
                _ => return (path, ty),
            }
        }
    }

    /// Returns whether values of this type can be elements of a list. The elements of a list must be
    /// compatible, so rows must have one type.
    fn can_be_listed(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Int(..) => true,
            Ty::Array(inner, _) => matches!(**inner, Ty::Int(..)),
            Ty::Struct(_) => false,
        }
    }

    /// Returns an element of a list: a value, a row that is an array, or a list of values.
    fn item(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Array(inner, n) if self.random.chance(50) => {
                let items: Vec<String> = (0..*n).map(|_| self.item(inner)).collect();
                format!("{{{}}}", items.join(", "))
            }
            ty => self.value(ty, 2),
        }
    }

    fn index(&mut self) -> String {
        match self.random.below(4) {
            // The secret index is often beyond the end, or has fewer bits than the array needs.
            3 => {
                let secret = self.random.pick(&self.secrets).clone();
                let bits = ["", "", "{0:1}", "{1:2}"];
                format!("{secret}{}", self.random.pick(&bits))
            }
            0 if !self.counters.is_empty() => self.random.pick(&self.counters).clone(),
            1 => "THREE - 1".to_string(),
            _ => self.random.below(3).to_string(),
        }
    }

    fn place(&mut self, wanted: impl Fn(&Ty) -> bool) -> Option<(String, Ty)> {
        for _ in 0..20 {
            let at = self.random.below(self.vars.len());
            let var = &self.vars[at];
            if !var.writable {
                continue;
            }
            let (path, ty) = (var.path.clone(), var.ty.clone());
            let (path, ty) = self.descend(path, ty);
            if wanted(&ty) {
                return Some((path, ty));
            }
        }
        None
    }

    fn read(&mut self, wanted: impl Fn(&Ty) -> bool) -> Option<(String, Ty)> {
        for _ in 0..12 {
            let at = self.random.below(self.vars.len());
            let (path, ty) = (self.vars[at].path.clone(), self.vars[at].ty.clone());
            let (path, ty) = self.descend(path, ty);
            if wanted(&ty) {
                return Some((path, ty));
            }
        }
        None
    }

    fn call(&mut self, f: usize, depth: usize) -> String {
        let params = self.functions[f].params.clone();
        let args: Vec<String> = params.iter().map(|ty| self.value(ty, depth)).collect();
        format!("{}({})", self.functions[f].name, args.join(", "))
    }

    /// Returns an expression that can be assigned to the type `ty`.
    fn value(&mut self, ty: &Ty, depth: usize) -> String {
        if let Ty::Int(_, w) = ty {
            return if self.random.chance(10) { self.untyped(*w, depth) } else { self.typed(*w, depth) };
        }
        let calls: Vec<usize> = (0..self.functions.len()).filter(|f| self.functions[*f].ret == *ty).collect();
        if depth > 0 && !calls.is_empty() && self.random.chance(50) {
            let f = *self.random.pick(&calls);
            return self.call(f, depth - 1);
        }
        if depth > 0 && self.random.chance(20) {
            let cond = self.typed(1, depth - 1);
            return format!("({cond} ? {} : {})", self.value(ty, depth - 1), self.value(ty, depth - 1));
        }
        let wanted = ty.clone();
        match self.read(|t| *t == wanted) {
            Some((path, _)) => path,
            // If no variable has this type, an empty function makes a value.
            None => match self.vars.iter().find(|v| v.ty == *ty) {
                Some(v) => v.path.clone(),
                None => self.zero(ty),
            },
        }
    }

    /// Returns a zero value of an aggregate type: the result of a function with an empty body. The prelude of
    /// the test has such functions for all types that can be needed.
    fn zero(&mut self, ty: &Ty) -> String {
        self.names += 0;
        match ty {
            Ty::Struct(n) => format!("zeroS{n}()"),
            Ty::Array(inner, _) => match &**inner {
                Ty::Array(inner, _) => format!("zero{}xx()", inner.name()),
                inner => format!("zero{}x()", inner.name()),
            },
            Ty::Int(..) => "0".into(),
        }
    }

    /// Returns the functions for [`Generator::zero`].
    pub fn prelude(&self) -> String {
        let mut out = String::from(
            "function int_t w wider<w>(uint_t w a, int_t w b) {
                uint_t (2*w) c;
                c{w:w} = a;
                if (a == b) return b;
                c{0:w} = b + w;
                for (u8 i = 0; i < w; i++) c{i} = c{i} ^ c{w + i};
                return c{0:w};
            }
            function T nth<T, n>(T a[n], u3 i) { T t = a[i]; if (t == a[0]) return a[n - 1]; return t; }
            function T same<T>(T a) { T b[2] = {a, a}; T c[2] = b; return c[1]; }
            ",
        );
        let ints = WIDTHS.iter().flat_map(|w| [format!("u{w}"), format!("s{w}")]);
        let structs = (0..self.structs.len()).map(|n| format!("S{n}"));
        for name in ints.chain(structs) {
            let _ = writeln!(
                out,
                "function {name}[3] zero{name}x() {{}} function {name}[3][3] zero{name}xx() {{}}"
            );
        }
        for n in 0..self.structs.len() {
            let _ = writeln!(out, "function S{n} zeroS{n}() {{}}");
        }
        out
    }

    /// Returns a constant or a shift, which are compatible with every width.
    fn untyped(&mut self, w: usize, depth: usize) -> String {
        match self.random.below(6) {
            5 => {
                let cond = self.typed(1, depth.saturating_sub(1));
                format!("({cond} ? {} : {})", self.random.below(20), self.random.below(9))
            }
            4 => {
                let (value, secret) =
                    (self.typed(w, depth.saturating_sub(1)), self.random.pick(&self.secrets).clone());
                format!("({value} {} {secret})", self.random.pick(&["<<", ">>"]))
            }
            0 => {
                let (a, b) = (self.random.below(20), self.random.below(9));
                format!("({a} {} {b})", self.random.pick(&["+", "-", "*", "/", "%", "&", "|", "^"]))
            }
            1 => {
                let amount = self.random.below(w + 2);
                let value = self.typed(w, depth.saturating_sub(1));
                format!("({value} {} {amount})", self.random.pick(&["<<", ">>"]))
            }
            2 => format!("({} << {})", self.random.below(5), self.random.below(9)),
            _ => (self.random.next() >> 33 & ((1 << w.min(31)) - 1)).to_string(),
        }
    }

    /// Returns an integer expression of exactly this width that has a type.
    fn typed(&mut self, w: usize, depth: usize) -> String {
        if depth == 0 || self.random.chance(15) {
            if let Some((path, _)) = self.read(|t| matches!(t, Ty::Int(_, n) if *n == w)) {
                return path;
            }
            if let Some((path, Ty::Int(_, n))) = self.read(|t| matches!(t, Ty::Int(_, n) if *n > w)) {
                return format!("{path}{{{}:{w}}}", self.random.below(n - w + 1));
            }
            let value = self.random.next() & ((1 << w) - 1);
            let value = match self.random.below(3) {
                0 => format!("{value:#x}"),
                1 => format!("{value:#b}"),
                _ => value.to_string(),
            };
            return format!("{value}{}{w}", if self.random.chance(50) { "#" } else { "##" });
        }
        let d = depth - 1;
        match self.random.below(19) {
            16 => {
                let (n, signed) = (*self.random.pick(&WIDTHS), self.random.chance(50));
                let ty = match self.random.below(3) {
                    0 if signed => format!("int_t {w}"),
                    0 => format!("uint_t {w}"),
                    _ if WIDTHS.contains(&w) => Ty::Int(signed, w).name(),
                    _ => return self.typed(w, d),
                };
                format!("{ty}({})", self.typed(n, d))
            }
            17 => {
                let (l, r) = (self.typed(w, d), self.value(&Ty::Int(false, w), d));
                let (l, r) = if self.random.chance(50) { (l, r) } else { (r, l) };
                format!("({} ? {l} : {r})", self.typed(1, d))
            }
            0..=5 => {
                let op = *self.random.pick(&["+", "-", "*", "/", "%", "&", "|", "^", "+", "-", "^"]);
                let (l, r) = match self.random.below(6) {
                    0 => (self.untyped(w, d), self.typed(w, d)),
                    1 => (self.typed(w, d), self.untyped(w, d)),
                    _ => (self.typed(w, d), self.typed(w, d)),
                };
                format!("({l} {op} {r})")
            }
            6 => format!("(-{})", self.typed(w, d)),
            7 => format!("({}{})", self.random.pick(&["~", "!"]), self.typed(w, d)),
            8 if w == 1 => {
                let n = *self.random.pick(&WIDTHS);
                let op = *self.random.pick(&["<", ">", "<=", ">=", "==", "!="]);
                let (l, r) = (
                    self.typed(n, d),
                    if self.random.chance(25) { self.untyped(n, d) } else { self.typed(n, d) },
                );
                format!("({l} {op} {r})")
            }
            9 if w == 1 => match self.read(|t| !matches!(t, Ty::Int(..))) {
                Some((a, ty)) => {
                    let b = self.value(&ty, d);
                    format!("({a} == {b})")
                }
                None => "1##1".into(),
            },
            8..=10 => {
                let wider: Vec<usize> = WIDTHS.iter().copied().filter(|n| *n > w).collect();
                if wider.is_empty() {
                    return self.typed(w, d);
                }
                let n = *self.random.pick(&wider);
                let base = self.typed(n, d);
                let from = self.random.below(n - w + 1);
                if w == 1 && self.random.chance(70) {
                    format!("(({base}){{{from}}})")
                } else {
                    format!("(({base}){{{from}:{w}}})")
                }
            }
            11 if w.is_multiple_of(2) && WIDTHS.contains(&(w / 2)) => {
                format!("({} ** {})", self.typed(w / 2, d), self.typed(w / 2, d))
            }
            12 if self.random.chance(30) => {
                let (value, secret) = (self.typed(w, d), self.random.pick(&self.secrets).clone());
                format!("({value} {} {secret})", self.random.pick(&["<<>", ">>>"]))
            }
            12 => {
                let (value, amount) = (self.typed(w, d), self.random.below(w + 3));
                format!("({value} {} {amount})", self.random.pick(&["<<>", ">>>"]))
            }
            15 => match self.random.below(3) {
                // These functions of the prelude are generic in types, widths and sizes.
                0 => format!("wider({}, {})", self.typed(w, d), self.typed(w, d)),
                1 if WIDTHS.contains(&w) => {
                    let of_width = |ty: &Ty| match ty {
                        Ty::Array(inner, 3) => matches!(**inner, Ty::Int(_, n) if n == w),
                        _ => false,
                    };
                    let lists = self.vars.iter().filter(|v| of_width(&v.ty)).map(|v| v.path.clone());
                    let lists: Vec<String> = lists.chain([format!("zerou{w}x()")]).collect();
                    let (list, secret) = (self.random.pick(&lists).clone(), self.random.pick(&self.secrets));
                    format!("nth({list}, {secret})")
                }
                _ => format!("same({})", self.typed(w, d)),
            },
            13 => {
                let calls: Vec<usize> = (0..self.functions.len())
                    .filter(|f| matches!(self.functions[*f].ret, Ty::Int(_, n) if n == w))
                    .collect();
                if calls.is_empty() {
                    return self.typed(w, d);
                }
                let f = *self.random.pick(&calls);
                self.call(f, d)
            }
            14 => match self.place(|t| matches!(t, Ty::Int(_, n) if *n == w)) {
                Some((path, _)) if self.random.chance(50) => {
                    let step = *self.random.pick(&["X++", "++X", "X--", "--X", "++(--X)"]);
                    format!("({})", step.replace('X', &path))
                }
                Some((path, ty)) => {
                    let value = self.value(&ty, d);
                    let path = if self.random.chance(20) { format!("++{path}") } else { path };
                    format!("({path} = {value})")
                }
                None => self.typed(w, d),
            },
            _ => self.typed(w, d),
        }
    }
}
