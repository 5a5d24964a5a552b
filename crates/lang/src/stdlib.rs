//! The standard library: `.wir` files that ship with the compiler and that `#include` finds.

/// A file of the standard library.
#[derive(Clone, Copy, Debug)]
pub struct StdFile {
    /// The name to include it by.
    pub name: &'static str,
    /// What is in it.
    pub text: &'static str,
    /// What it is for, in a line.
    pub summary: &'static str,
    /// If it is a program that runs by itself: values of the garbler and the evaluator, as JSON.
    pub example: Option<(&'static str, &'static str)>,
}

const FILES: &[StdFile] = &[];

/// All files of the standard library.
pub fn std_library() -> &'static [StdFile] {
    FILES
}

pub(crate) fn find(name: &str) -> Option<&'static str> {
    FILES.iter().find(|f| f.name == name).map(|f| f.text)
}
