//! The context in which bodies are executed.

use crate::CompileOptions;
use crate::ast::FunctionPragma;
use crate::graph::Template;
use crate::ir::Module;

/// The error after a limit was exceeded and reported, so that execution ends.
pub struct LimitExceeded;

/// The treatment of calls of a function from `main`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// True if a flag or a pragma requests it as a component.
    pub component: bool,
    /// True if calls from `main` are executed as part of `main`: because of a request, or because the
    /// function calls, directly or not, a function that must be a component.
    pub open: bool,
}

/// The data with which bodies are executed.
pub(crate) struct ExecutionData<'m> {
    pub(crate) module: &'m Module,
    pub(crate) options: &'m CompileOptions,
    /// The circuits of the functions, with secret parameters.
    pub(crate) templates: Vec<Option<Template>>,
    pub(crate) placements: Vec<Placement>,
}

impl ExecutionData<'_> {
    /// Returns whether all functions could be compiled, so that `main` can call them.
    pub fn complete(&self) -> bool {
        (0..self.templates.len()).all(|f| f == self.module.main || self.templates[f].is_some())
    }
}

/// Returns the name of the built-in circuit that replaces a function, if there is one.
pub fn builtin_name<'a>(module: &'a Module, function: usize, options: &'a CompileOptions) -> Option<&'a str> {
    let f = &module.functions[function];
    let first = (0..module.functions.len()).find(|i| *i != module.main) == Some(function);
    let asked = f
        .requests
        .iter()
        .find_map(|(r, _)| if let FunctionPragma::Builtin(name) = r { Some(name.as_str()) } else { None });
    options
        .builtins
        .get(f.base_name())
        .map(String::as_str)
        .or(asked)
        .or((options.aes && first).then_some("aes_sbox"))
}

/// Returns whether a built-in circuit replaces a function.
pub fn is_builtin(module: &Module, function: usize, options: &CompileOptions) -> bool {
    builtin_name(module, function, options).is_some()
}
