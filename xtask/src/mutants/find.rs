//! Finds the mutants: those of `cargo mutants`, selected by `.cargo/mutants.toml`, and a further one for
//! every check, switched off.

use super::build::package;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::weave::SourceChange;

/// One mutant.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// `FILE:LINE:COLUMN: what is changed in FUNCTION`.
    pub name: String,
    /// The path, relative to the workspace's root.
    pub file: String,
    /// The change of the text, if the mutant can be woven in.
    pub change: Option<SourceChange>,
}

/// Returns the mutants of all selected files of these packages, in the order of `cargo mutants`.
pub fn mutants(root: &Path, packages: &[&str]) -> Result<Vec<Mutant>, String> {
    let listed = |what: &str| -> Result<Vec<Value>, String> {
        let packages = packages.iter().flat_map(|place| ["--package".to_owned(), package(place)]);
        let output =
            Command::new("cargo").args(["mutants", what, "--json"]).args(packages).current_dir(root).output();
        let output = output.map_err(|e| format!("cargo does not start: {e}"))?;
        match output.status.success() {
            true => serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo mutants {what}: {e}")),
            false if !String::from_utf8_lossy(&output.stderr).contains("no such command") => {
                Err(format!("cargo mutants {what}: {}", String::from_utf8_lossy(&output.stderr)))
            }
            false => Err("cargo-mutants is needed: cargo install --locked cargo-mutants".into()),
        }
    };
    let (files, theirs) = (listed("--list-files")?, listed("--list")?);
    let mut mutants = Vec::new();
    for file in files.iter().filter_map(|f| f["path"].as_str()) {
        let text = std::fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        let source = Source::read(file, &text)?;
        mutants.extend(theirs.iter().filter(|m| m["file"] == file).map(|m| source.theirs(m)));
        mutants.extend(source.checks_off());
    }
    Ok(mutants)
}

/// A file, its lines and its operators.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
    lines: Vec<usize>,
    syntax: syn::File,
    /// For each start of an operator: the operator's range and the range of its expression, unless the
    /// expression contains a `let`.
    operators: HashMap<usize, (Range<usize>, Option<Range<usize>>)>,
    /// The starts of casts on the left side of an operator, before which a `<` would not parse.
    casts: HashSet<usize>,
    /// For each start of an arm with `_` in a `match`: the start of its `=>`.
    arms: HashMap<usize, usize>,
}

impl<'a> Source<'a> {
    fn read(file: &'a str, text: &'a str) -> Result<Self, String> {
        let syntax = syn::parse_file(text).map_err(|e| format!("{file}: {e}"))?;
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut places = Places::default();
        places.visit_file(&syntax);
        Ok(Source {
            file,
            text,
            lines,
            syntax,
            operators: places.operators,
            casts: places.casts,
            arms: places.arms,
        })
    }

    /// Returns the byte at a line and column, which count characters from 1.
    fn byte(&self, place: &Value) -> Option<usize> {
        let (line, column) = (place["line"].as_u64()? as usize, place["column"].as_u64()? as usize);
        let start = *self.lines.get(line.checked_sub(1)?)?;
        self.text[start..].char_indices().nth(column.checked_sub(1)?).map(|(at, _)| start + at)
    }

    /// Returns a mutant in the list of `cargo mutants`.
    fn theirs(&self, listed: &Value) -> Mutant {
        let name = listed["name"].as_str().unwrap_or_default().to_owned();
        Mutant { name, file: self.file.into(), change: self.change(listed) }
    }

    fn change(&self, listed: &Value) -> Option<SourceChange> {
        let replacement = listed["replacement"].as_str()?.to_owned();
        let (start, end) = (self.byte(&listed["span"]["start"])?, self.byte(&listed["span"]["end"])?);
        match listed["genre"].as_str()? {
            // Values of different types cannot have the same `impl Trait`.
            "FnValue" if listed["function"]["return_type"].as_str()?.contains("impl ") => None,
            "FnValue" => Some(SourceChange::Return(start, replacement)),
            "BinaryOperator" | "UnaryOperator" => {
                let (operator, expression) = self.operators.get(&start)?;
                let at = expression.clone()?;
                let (left, right) = (&self.text[at.start..operator.start], &self.text[operator.end..at.end]);
                let text = match self.casts.contains(&at.start) {
                    true => format!("({left}) {replacement}{right}"),
                    false => [left, &replacement, right].concat(),
                };
                Some(SourceChange::Expression(at, text))
            }
            "MatchArm" => Some(SourceChange::Arm(*self.arms.get(&start)?)),
            "MatchArmGuard" => Some(SourceChange::Expression(start..end, replacement)),
            _ => None,
        }
    }

    /// Returns a mutant for each check of the file, in which this check is switched off.
    fn checks_off(&self) -> Vec<Mutant> {
        let mut checks = Checks { source: self, function: Vec::new(), found: Vec::new() };
        checks.visit_file(&self.syntax);
        checks.found
    }
}

#[derive(Default)]
struct Places {
    operators: HashMap<usize, (Range<usize>, Option<Range<usize>>)>,
    casts: HashSet<usize>,
    arms: HashMap<usize, usize>,
}

/// Returns whether a condition has a `let` that binds names for later code.
fn has_let(condition: &syn::Expr) -> bool {
    match condition {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Places {
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let operator = binary.op.span().byte_range();
        let whole = (!has_let(&binary.left) && !has_let(&binary.right)).then(|| binary.span().byte_range());
        self.operators.insert(operator.start, (operator, whole));
        if let syn::Expr::Cast(left) = &*binary.left {
            self.casts.insert(left.span().byte_range().start);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let operator = unary.op.span().byte_range();
        self.operators.insert(operator.start, (operator, Some(unary.span().byte_range())));
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, branches: &'ast syn::ExprMatch) {
        // A condition on an arm needs another arm for all other values.
        if branches.arms.iter().any(|arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none()) {
            let arms = branches
                .arms
                .iter()
                .map(|arm| (arm.span().byte_range().start, arm.fat_arrow_token.span().byte_range().start));
            self.arms.extend(arms);
        }
        visit::visit_expr_match(self, branches);
    }
}

/// Looks for checks: statements that end in `?`, conditions with an error in a branch, filters.
struct Checks<'a, 's> {
    source: &'a Source<'s>,
    function: Vec<String>,
    found: Vec<Mutant>,
}

impl Checks<'_, '_> {
    fn found(&mut self, what: &str, node: &impl Spanned, change: SourceChange) {
        let (start, text) = (node.span().start(), &self.source.text[node.span().byte_range()]);
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = match text.char_indices().nth(60) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        let (file, function) = (self.source.file, self.function.join("::"));
        let name = format!("{file}:{}:{}: {what} {text} in {function}", start.line, start.column + 1);
        self.found.push(Mutant { name, file: file.into(), change: Some(change) });
    }

    /// Adds a mutant that still evaluates the condition, because this may receive a message, but replaces its
    /// value.
    fn decided(&mut self, what: &str, condition: &syn::Expr, holds: bool) {
        let at = condition.span().byte_range();
        let text = format!("let _ = {}; {holds}", &self.source.text[at.clone()]);
        self.found(what, condition, SourceChange::Expression(at, text));
    }

    fn function(&mut self, name: String, attributes: &[syn::Attribute], visit: impl FnOnce(&mut Self)) {
        if !for_tests(attributes) {
            self.function.push(name);
            visit(self);
            self.function.pop();
        }
    }
}

/// Returns whether an item with these attributes is compiled only in tests.
fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => {
            list.path.is_ident("cfg")
                && list.tokens.to_string().split_whitespace().any(|t| t.starts_with("test"))
        }
        syn::Meta::NameValue(_) => false,
    })
}

/// Returns whether an expression is an error: `Err(…)`, `return Err(…)`, `Some(Err(…))`, or a block that ends
/// in one.
fn is_error(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Return(value) => value.expr.as_ref().is_some_and(|e| is_error(e)),
        syn::Expr::Call(call) => match &*call.func {
            syn::Expr::Path(path) if path.path.is_ident("Err") => true,
            syn::Expr::Path(path) if path.path.is_ident("Some") => call.args.first().is_some_and(is_error),
            _ => false,
        },
        syn::Expr::Block(block) => ends_in_error(&block.block),
        _ => false,
    }
}

fn ends_in_error(block: &syn::Block) -> bool {
    matches!(block.stmts.last(), Some(syn::Stmt::Expr(last, _)) if is_error(last))
}

/// Returns whether a call sends a message: without the message, the peer would wait forever.
fn sends(call: &syn::Expr) -> bool {
    let syn::Expr::MethodCall(call) = call else { return false };
    ["send", "flush", "write_all"].iter().any(|name| call.method == name)
}

impl<'ast> Visit<'ast> for Checks<'_, '_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map_or(String::new(), |s| s.ident.to_string()),
            _ => String::new(),
        };
        self.function(name, &item.attrs, |this| visit::visit_item_impl(this, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(item.sig.ident.to_string(), &item.attrs, |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(item.sig.ident.to_string(), &item.attrs, |this| visit::visit_impl_item_fn(this, item));
    }

    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        if let syn::Stmt::Expr(syn::Expr::Try(tried), Some(_)) = statement
            && !sends(&tried.expr)
        {
            let (at, inner) = (statement.span().byte_range(), tried.expr.span().byte_range());
            self.found("delete", statement, SourceChange::Statement(at.clone(), String::new()));
            // This mutant makes the check, because the check may receive a message, but ignores the result.
            let ignored = format!("let _ = {};", &self.source.text[inner]);
            self.found("ignore", statement, SourceChange::Statement(at, ignored));
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        let condition = &*branch.cond;
        if ends_in_error(&branch.then_branch) {
            match has_let(condition) {
                true => self.found("never", condition, SourceChange::Never(condition.span().byte_range())),
                false => self.decided("never", condition, false),
            }
        } else if branch.else_branch.as_ref().is_some_and(|(_, other)| is_error(other)) && !has_let(condition)
        {
            self.decided("always", condition, true);
        }
        visit::visit_expr_if(self, branch);
    }

    /// Finds `match holds { true => …, false => Err(…) }` and the like, where one arm is an error.
    fn visit_expr_match(&mut self, branches: &'ast syn::ExprMatch) {
        let arm = |arm: &syn::Arm| match (&arm.pat, is_error(&arm.body)) {
            (syn::Pat::Lit(syn::ExprLit { lit: syn::Lit::Bool(value), .. }), wrong) => {
                Some((value.value, wrong))
            }
            _ => None,
        };
        let arms: Option<Vec<_>> = branches.arms.iter().map(arm).collect();
        match arms.as_deref() {
            Some([(true, true), (_, false)] | [(_, false), (true, true)]) => {
                self.decided("never", &branches.expr, false);
            }
            Some([(false, true), (_, false)] | [(_, false), (false, true)]) => {
                self.decided("always", &branches.expr, true);
            }
            _ => {}
        }
        visit::visit_expr_match(self, branches);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "filter" {
            let change = match call.args.first() {
                Some(syn::Expr::Closure(closure)) => {
                    SourceChange::Expression(closure.body.span().byte_range(), "true".into())
                }
                // Without the filter, the code compiles if the receiver and the result have the same type,
                // such as an option.
                _ => SourceChange::Expression(
                    call.span().byte_range(),
                    self.source.text[call.receiver.span().byte_range()].to_owned(),
                ),
            };
            self.found("delete filter of", call, change);
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::super::weave::weave;
    use super::*;

    const TEXT: &str = "\
impl Peer {
    fn agree(&self, x: u32) -> Result<(), Error> {
        self.known(x)?;
        self.channel.send(x)?;
        if x == 1 { return Err(Error::One); }
        let kept = Some(x).filter(|x| *x < 5);
        match kept { Some(2) => Ok(()), _ => Err(Error::Two) }
    }
    fn is(&self, x: u32) -> Result<u32, Error> {
        match x < 4 { true => Ok(x), false => Err(Error::Three) }
    }
}
#[cfg(test)]
mod tests {
    fn in_tests() { check()?; }
}
";

    #[test]
    fn each_check_is_switched_off_but_none_in_tests() {
        let source = Source::read("a.rs", TEXT).unwrap();
        let checks = source.checks_off();
        let names: Vec<&str> = checks.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "a.rs:3:9: delete self.known(x)?; in Peer::agree",
                "a.rs:3:9: ignore self.known(x)?; in Peer::agree",
                "a.rs:5:12: never x == 1 in Peer::agree",
                "a.rs:6:20: delete filter of Some(x).filter(|x| *x < 5) in Peer::agree",
                "a.rs:10:15: always x < 4 in Peer::is",
            ]
        );
        let woven = weave(TEXT, checks.iter().map(|c| c.change.as_ref().unwrap()).enumerate()).text;
        assert!(
            woven.contains("Some(x).filter(|x| (if crate::mutants::on(3) { true } else { *x < 5 }));"),
            "{woven}"
        );
        assert!(
            woven.contains("match (if crate::mutants::on(4) { let _ = x < 4; true } else { x < 4 }) {"),
            "{woven}"
        );
        assert!(woven.contains("{ let _ = self.known(x); } else {"), "{woven}");
    }

    #[test]
    fn mutants_are_found_where_cargo_mutants_lists_them() {
        let source = Source::read("a.rs", TEXT).unwrap();
        let listed = |genre: &str, line: usize, columns: Range<usize>, replacement: &str| {
            let place = |column: usize| serde_json::json!({ "line": line, "column": column });
            let span = serde_json::json!({ "start": place(columns.start), "end": place(columns.end) });
            source.theirs(&serde_json::json!({
                "name": "a.rs:…", "genre": genre, "span": span, "replacement": replacement,
                "function": { "return_type": "-> Result<(), Error>" }
            }))
        };
        let woven = |mutant: Mutant| weave(TEXT, [(7, mutant.change.as_ref().unwrap())]).text;
        let equal = woven(listed("BinaryOperator", 5, 14..16, "!="));
        assert!(equal.contains("if (if crate::mutants::on(7) { x != 1 } else { x == 1 }) {"), "{equal}");
        let value = woven(listed("FnValue", 3, 9..20, "Ok(())"));
        assert!(
            value.contains("{\n        if crate::mutants::on(7) { return Ok(()); } self.known(x)?;"),
            "{value}"
        );
        let arm = woven(listed("MatchArm", 7, 22..39, ""));
        assert!(arm.contains("Some(2) if !crate::mutants::on(7) => Ok(())"), "{arm}");
        assert!(listed("BinaryOperator", 5, 13..14, "!=").change.is_none(), "no operator");
    }
}
