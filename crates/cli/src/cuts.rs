//! Into which components a program may be cut, and what each cut costs.
//!
//! Of a source these are the flags `--inline` and `--component`: beside the cut that was asked for, everything in `main` inlined,
//! every function a component, and from the fastest of these, again and again, whatever is one flag away. Any program may also be
//! one single component.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use brickwork::circuit::Program;
use brickwork::plan::Cost;
use serde_json::{Value, json};

use crate::compile::{self, SourceFlags};
use crate::failure::Failure;
use crate::files;

/// Compilations that are tried at most, and how long.
const MOST_TRIED: usize = 40;
const LONGEST: Duration = Duration::from_secs(20);

/// More gates are not put into one component, only to see that it costs more.
const LARGEST_WHOLE: usize = 8 << 20;

/// A cut of a program, and its predicted cost.
pub struct Decomposition {
    /// What gives this cut to `compile`; empty for the one that was asked for.
    pub flags: String,
    /// The program.
    pub program: Program,
    pub components: usize,
    pub slots: usize,
    /// AND gates of a slot, on average.
    pub ands_a_slot: f64,
    pub cost: Cost,
    /// The cut that was asked for.
    pub given: bool,
}

impl Decomposition {
    fn new(program: Program, flags: String, given: bool, cost: Cost) -> Self {
        let (components, slots) = (program.slots_by_component().iter().filter(|&&slots| slots > 0).count(), program.slot_count());
        let ands_a_slot = program.and_gates() as f64 / slots.max(1) as f64;
        Decomposition { flags, components, slots, ands_a_slot, cost, given, program }
    }

    pub fn json(&self) -> Value {
        json!({
            "flags": self.flags,
            "given": self.given,
            "components": self.components,
            "slots": self.slots,
            "and_gates_a_slot": self.ands_a_slot,
            "seconds": self.cost.seconds(),
            "bytes": self.cost.bytes(),
            "memory_bytes": { "garbler": self.cost.garbler_memory_bytes, "evaluator": self.cost.evaluator_memory_bytes },
        })
    }
}

/// All cuts that were tried, by the size of their pieces, and whether these are all that would have been worth a try.
pub struct Cuts {
    pub tried: Vec<Decomposition>,
    pub complete: bool,
}

impl Cuts {
    /// The one that is predicted to be fastest.
    pub fn fastest(self) -> Option<Decomposition> {
        self.tried.into_iter().min_by(|a, b| a.cost.seconds().total_cmp(&b.cost.seconds()))
    }
}

/// What is tried: a program to compile, a cost to compare by.
struct Search<'a> {
    path: &'a Path,
    source: &'a [u8],
    cost: &'a dyn Fn(&Program) -> Result<Cost, Failure>,
    seen: HashSet<[u8; 32]>,
    flags: HashSet<SourceFlags>,
    tried: Vec<(SourceFlags, Decomposition)>,
    end: Instant,
}

impl Search<'_> {
    fn exhausted(&self) -> bool {
        self.flags.len() >= MOST_TRIED || Instant::now() > self.end
    }

    /// Flags that do not compile are no cut; two that give the same program are one.
    fn attempt(&mut self, flags: SourceFlags) -> Result<(), Failure> {
        if self.exhausted() || !self.flags.insert(flags.clone()) {
            return Ok(());
        }
        let Ok((program, _)) = compile::compile(self.path, self.source, &flags) else { return Ok(()) };
        if self.seen.insert(program.digest()) {
            let cost = (self.cost)(&program)?;
            let cut = Decomposition::new(program, flags.cut_flags(), false, cost);
            self.tried.push((flags, cut));
        }
        Ok(())
    }

    fn fastest(&self) -> Option<&(SourceFlags, Decomposition)> {
        self.tried.iter().min_by(|a, b| a.1.cost.seconds().total_cmp(&b.1.cost.seconds()))
    }
}

/// Tries the cuts of a program that came from `path` with these flags.
pub fn all(path: &Path, flags: &SourceFlags, program: &Program, cost: &dyn Fn(&Program) -> Result<Cost, Failure>) -> Result<Cuts, Failure> {
    let given = Decomposition::new(program.clone(), flags.cut_flags(), true, cost(program)?);
    let mut cuts = Cuts { tried: Vec::new(), complete: true };
    if let Some(source) = source(path)? {
        let functions: Vec<String> = compile::functions(path, &source, flags);
        let mut search = Search {
            path,
            source: &source,
            cost,
            seen: HashSet::from([program.digest()]),
            flags: HashSet::new(),
            tried: vec![(flags.clone(), given)],
            end: Instant::now() + LONGEST,
        };
        search.attempt(flags.with_cut(BTreeSet::from(["*".into()]), BTreeSet::new()))?;
        search.attempt(flags.with_cut(BTreeSet::new(), functions.iter().cloned().collect()))?;
        while let Some((from, fastest)) = search.fastest().map(|(flags, cut)| (flags.clone(), cut.cost.seconds())) {
            for other in functions.iter().flat_map(|function| from.one_flag_away(function)) {
                search.attempt(other)?;
            }
            if search.exhausted() || search.fastest().is_none_or(|(_, cut)| cut.cost.seconds() >= fastest) {
                break;
            }
        }
        cuts.complete = !search.exhausted();
        cuts.tried = search.tried.into_iter().map(|(_, cut)| cut).collect();
    } else {
        cuts.tried.push(given);
        let gates: usize = program.slots().map(|slot| program.component(slot.component).circuit.gate_count()).sum();
        if program.slot_count() > 1 && gates <= LARGEST_WHOLE {
            let whole = program.whole()?;
            let cost = cost(&whole)?;
            cuts.tried.push(Decomposition::new(whole, "--emit bristol".into(), false, cost));
        }
    }
    cuts.tried.sort_by(|a, b| a.ands_a_slot.total_cmp(&b.ands_a_slot));
    Ok(cuts)
}

/// What is in a source; nothing if the file is none.
fn source(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let bytes = files::read_all(File::open(path), files::MAX_PROGRAM_BYTES, &path.display().to_string())?;
    Ok(files::is_source(path, &bytes).then(|| bytes.to_vec()))
}
