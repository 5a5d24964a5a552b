//! The cuts of a program into components, with the names by which the parties and the user refer to them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use brickwork_duplo::MAX_DECOMPOSITION_BYTES;
use serde::{Deserialize, Serialize};

use crate::failure::Error;

/// A cut of a program into components that both parties can make from the same file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Cut {
    /// The program's own components.
    #[default]
    Given,
    /// The whole program as one component.
    Whole,
    /// Each AND gate is a component by itself, as in JIMU with gates.
    Gates,
    /// A cut of a source, made by at least one flag.
    Flags {
        /// Functions that are computed as part of `main`; `*` stands for all.
        inline: BTreeSet<String>,
        /// Functions that are components also where other functions call them.
        component: BTreeSet<String>,
    },
}

impl Cut {
    /// Makes the cut of a source by these flags.
    pub fn of_flags(inline: BTreeSet<String>, component: BTreeSet<String>) -> Self {
        if inline.is_empty() && component.is_empty() { Cut::Given } else { Cut::Flags { inline, component } }
    }

    /// Returns the two cuts that differ from this cut only in their flags for `function`.
    pub fn one_flag_away(&self, function: &str) -> [Self; 2] {
        [0, 1].map(|which| {
            let mut sets = match self {
                Cut::Flags { inline, component } => [inline.clone(), component.clone()],
                Cut::Given | Cut::Whole | Cut::Gates => Default::default(),
            };
            if !sets[which].remove(function) {
                sets[1 - which].remove(function);
                sets[which].insert(function.to_owned());
            }
            let [inline, component] = sets;
            Cut::of_flags(inline, component)
        })
    }

    /// Returns the flags that give this cut to `compile`, as a shell takes them.
    pub fn flags(&self) -> String {
        match self {
            Cut::Given | Cut::Gates => String::new(),
            Cut::Whole => "--cut whole".into(),
            Cut::Flags { inline, component } => {
                let inline = inline.iter().map(|name| {
                    if name == "*" { "--inline '*'".to_owned() } else { format!("--inline {name}") }
                });
                inline
                    .chain(component.iter().map(|name| format!("--component {name}")))
                    .collect::<Vec<_>>()
                    .join(" ")
            }
        }
    }

    /// Returns the name of this cut, which the parties send to each other. The given cut has an empty name.
    pub fn name(&self) -> String {
        match self {
            Cut::Given => String::new(),
            other => other.to_string(),
        }
    }

    /// Makes the cut with this name.
    pub fn of_name(name: &str) -> Result<Self, String> {
        if name.is_empty() { Ok(Cut::Given) } else { name.parse() }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::Given => f.write_str("given"),
            Cut::Whole => f.write_str("whole"),
            Cut::Gates => f.write_str("gates"),
            Cut::Flags { inline, component } => {
                let inline = inline.iter().map(|name| format!("inline:{name}"));
                f.write_str(
                    &inline
                        .chain(component.iter().map(|name| format!("component:{name}")))
                        .collect::<Vec<_>>()
                        .join(","),
                )
            }
        }
    }
}

impl From<Cut> for String {
    fn from(cut: Cut) -> String {
        cut.to_string()
    }
}

impl TryFrom<String> for Cut {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut inline, mut component) = (BTreeSet::new(), BTreeSet::new());
        match text {
            "given" => return Ok(Cut::Given),
            "whole" => return Ok(Cut::Whole),
            "gates" => return Ok(Cut::Gates),
            _ if text.len() > MAX_DECOMPOSITION_BYTES => {
                return Err(format!("the name of a cut may have at most {MAX_DECOMPOSITION_BYTES} bytes"));
            }
            _ => {}
        }
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        for part in text.split(',') {
            match part.split_once(':') {
                Some(("inline", name)) if is_name(name) || name == "*" => inline.insert(name.to_owned()),
                Some(("component", name)) if is_name(name) => component.insert(name.to_owned()),
                _ => {
                    return Err(
                        "a cut must be fastest, given, whole, gates or, for a source, a list such as \
                                inline:F,component:G (`brickwork plan` shows the cuts)"
                            .into(),
                    );
                }
            };
        }
        Ok(Cut::of_flags(inline, component))
    }
}

/// The cut that a party wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum CutChoice {
    /// The garbler takes the cut that is predicted to be fastest. The evaluator accepts the cut that the
    /// garbler proposes.
    Fastest,
    /// Only this cut.
    Fixed(Cut),
}

impl fmt::Display for CutChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CutChoice::Fastest => f.write_str("fastest"),
            CutChoice::Fixed(cut) => cut.fmt(f),
        }
    }
}

impl CutChoice {
    /// Joins the two ways to name a cut: `--cut`, and the cut by the flags `--inline` and `--component`.
    ///
    /// # Errors
    /// An error of usage if both name a cut.
    #[doc(hidden)]
    pub fn with_flags(&self, flags: Cut) -> Result<CutChoice, Error> {
        match (flags, self) {
            (Cut::Given, choice) => Ok(choice.clone()),
            (flags, CutChoice::Fastest) => Ok(CutChoice::Fixed(flags)),
            (flags, _) => {
                let both = format!("--cut and {} both choose a cut of the program", flags.flags());
                Err(Error::usage(both, "leave one of the two flags out"))
            }
        }
    }
}

impl From<CutChoice> for String {
    fn from(cut: CutChoice) -> String {
        cut.to_string()
    }
}

impl TryFrom<String> for CutChoice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for CutChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "fastest" { Ok(CutChoice::Fastest) } else { text.parse().map(CutChoice::Fixed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_have_names() {
        for text in ["given", "whole", "gates", "inline:*", "inline:a,inline:b_2,component:C"] {
            assert_eq!(text.parse::<Cut>().map(|cut| cut.to_string()).as_deref(), Ok(text));
            assert_eq!(text.parse::<CutChoice>().map(|wish| wish.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(
            "component:C,inline:b,inline:a,inline:a".parse::<Cut>().map(|cut| cut.to_string()).as_deref(),
            Ok("inline:a,inline:b,component:C")
        );
        assert_eq!("fastest".parse(), Ok(CutChoice::Fastest));
        assert_eq!((Cut::of_name(""), Cut::Given.name()), (Ok(Cut::Given), String::new()));
        let long = format!("inline:{}", "x".repeat(MAX_DECOMPOSITION_BYTES));
        for bad in [
            "",
            "thin",
            "inline",
            "inline:",
            "component:*",
            "inline:a,",
            "inline:a b",
            "inline:../a",
            "component:é",
            "fastest,given",
            &long,
        ] {
            assert!(bad.parse::<CutChoice>().is_err(), "{bad}");
        }
    }
}
