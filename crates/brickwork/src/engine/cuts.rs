//! Lists the cuts of a program into components, predicts their costs, and chooses one.
//!
//! The cuts of a source are made by the flags `--inline` and `--component`. The search tries the given cut,
//! every function as a component, and everything inlined into `main`. Then it changes one flag of the fastest
//! cut so far, again and again. A program without a source can only run as it is or as one single component.
//!
//! A run and `plan` choose the same cut of the same program, because the search depends on predictions only
//! and not on a clock. `plan` shows more cuts than a run has time to try.

use std::collections::{BTreeSet, HashSet};

use brickwork_circuit as circuit;
use brickwork_duplo as duplo;

use crate::cut::{Cut, CutChoice};
use crate::engine::request::BucketChoice;
use crate::failure::Error;
use crate::plan::{self, Cost, Link, Machine};
use crate::program::Program;
use crate::program::{gates_within, repeated};

/// The largest number of compilations in a search. The next constant is the largest sum of their predicted
/// seconds.
const MOST_TRIED: usize = 40;
const LONGEST: f64 = 20.0;

/// A search before a run may take at most this part of the predicted time of the run.
const SHARE_OF_RUN: f64 = 0.1;

/// Predicted seconds: of any compilation, for each byte of its source, for each compiled gate, and for each
/// gate that is joined into a larger component.
const COMPILED: f64 = 1e-3;
const COMPILED_A_BYTE: f64 = 300e-9;
const COMPILED_A_GATE: f64 = 200e-9;
const JOINED_A_GATE: f64 = 100e-9;

/// Programs with more gates are not tried as one component, because that costs more in any case.
const LARGEST_WHOLE: u64 = 8 << 20;

/// The prices of a program on this machine, with the buckets that are chosen for it.
pub struct Pricing<'a> {
    pub executions: Option<u32>,
    pub security: u32,
    pub buckets: BucketChoice,
    pub machine: &'a Machine,
    pub link: &'a Link,
    /// The predicted seconds of another protocol for the same program. A search that takes longer than this
    /// cannot pay.
    pub rival: f64,
}

impl Pricing<'_> {
    /// Returns the cut with its price. Both parties are predicted to spend `seconds` on making it.
    fn of(&self, cut: Cut, program: circuit::Program, seconds: f64) -> Result<PricedCut, Error> {
        let repeated = repeated(&program, self.executions)?;
        let parameters = self
            .buckets
            .choose(&repeated, self.security, self.machine, self.link)?
            .of_decomposition(&cut.name());
        let cost = duplo::cost::predict(&repeated, &parameters, self.machine, self.link)
            .with_work("preprocess", seconds);
        let (components, slots) =
            (program.slots_by_component().iter().filter(|&&slots| slots > 0).count(), program.slot_count());
        let ands_a_slot = program.and_gates() as f64 / slots.max(1) as f64;
        Ok(PricedCut {
            cut,
            program: repeated,
            components,
            slots,
            ands_a_slot,
            parameters,
            cost,
            seconds,
            of_run: true,
        })
    }
}

/// A cut of a program, and its predicted cost.
pub struct PricedCut {
    pub cut: Cut,
    /// The program with all its executions.
    pub program: circuit::Program,
    /// The number of components of one execution.
    pub components: usize,
    pub slots: usize,
    /// The average number of AND gates of a slot.
    pub ands_a_slot: f64,
    /// The parameters for all executions.
    pub parameters: duplo::Parameters,
    /// The predicted cost, including the seconds for making the cut.
    pub cost: Cost,
    pub seconds: f64,
    /// True if a search before a run also tries this cut.
    of_run: bool,
}

impl PricedCut {
    pub fn is_given(&self) -> bool {
        self.cut == Cut::Given
    }
}

/// The time that a search may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Enough time to predict all interesting cuts.
    Thorough,
    /// At most the time that a better cut can save in the run.
    Thrifty,
}

/// All cuts that were tried, sorted by the size of their components.
pub struct Cuts {
    pub tried: Vec<PricedCut>,
    /// The index of the cut that is taken.
    pub chosen: usize,
    /// True if the search tried every cut worth trying.
    pub complete: bool,
    /// True if the user named the cut.
    pub fixed: bool,
}

impl Cuts {
    /// Returns why the chosen cut is not the fastest one, if it is not.
    pub fn reason(&self) -> Option<String> {
        let seconds = |cut: &PricedCut| cut.cost.seconds();
        let (chosen, fastest) =
            (&self.tried[self.chosen], self.tried.iter().min_by(|a, b| seconds(a).total_cmp(&seconds(b)))?);
        if seconds(chosen) <= seconds(fastest) {
            return None;
        }
        Some(match (self.fixed, fastest.of_run) {
            (true, _) => format!("the user asked for --cut {}", chosen.cut),
            (false, false) => format!(
                "a run searches for other cuts for at most {:.0} % of its predicted time, and that search \
                 ends before it finds {}; give --cut {} to use this cut",
                100.0 * SHARE_OF_RUN,
                fastest.cut,
                fastest.cut
            ),
            (false, true) => format!(
                "a run keeps the given cut unless another cut is predicted to take less than {:.0} % of its \
                 time; {} is predicted to take {:.0} %, a difference that may be an error of the prediction",
                100.0 * plan::WORTH_ANOTHER_CUT,
                fastest.cut,
                100.0 * seconds(fastest) / seconds(chosen)
            ),
        })
    }
}

/// A search: the cuts that were made, and the costs by which they are compared.
struct Search<'a> {
    program: &'a Program,
    pricing: &'a Pricing<'a>,
    patience: Patience,
    /// Predicted seconds for one cut of the source, and for the program in one piece.
    compiled: f64,
    joined: f64,
    /// Predicted seconds of the cuts that were made so far.
    spent: f64,
    seen: HashSet<[u8; 32]>,
    asked: HashSet<Cut>,
    tried: Vec<PricedCut>,
}

impl<'a> Search<'a> {
    fn new(program: &'a Program, pricing: &'a Pricing, patience: Patience) -> Result<Self, Error> {
        let given = pricing.of(Cut::Given, (**program.given()).clone(), 0.0)?;
        let (seen, asked) = (HashSet::from([program.digest()]), HashSet::from([Cut::Given]));
        let (bytes, gates) = (program.source_bytes(), program.gates());
        let compiled = COMPILED + COMPILED_A_BYTE * bytes as f64 + COMPILED_A_GATE * gates as f64;
        let joined = JOINED_A_GATE * gates as f64;
        let tried = vec![given];
        Ok(Search { program, pricing, patience, compiled, joined, spent: 0.0, seen, asked, tried })
    }

    /// Returns the predicted seconds in which a cut is made.
    fn seconds_of(&self, cut: &Cut) -> f64 {
        match cut {
            Cut::Given => 0.0,
            Cut::Whole => self.joined,
            _ => self.compiled,
        }
    }

    /// Returns whether the search has time left for cuts that take this many seconds.
    fn affords(&self, seconds: f64) -> bool {
        let longest = match self.patience {
            Patience::Thorough => LONGEST,
            Patience::Thrifty => {
                let run = self.tried.first().map_or(0.0, |given| given.cost.seconds());
                (SHARE_OF_RUN * run.min(self.pricing.rival)).min(LONGEST)
            }
        };
        self.asked.len() < MOST_TRIED && self.spent + seconds <= longest
    }

    fn is_exhausted(&self) -> bool {
        !self.affords(0.0)
    }

    /// Tries a cut if there is time. It skips a cut that cannot be made, and a cut whose program was tried
    /// before.
    fn attempt(&mut self, cut: Cut) -> Result<(), Error> {
        let seconds = self.seconds_of(&cut);
        if !self.affords(seconds) || !self.asked.insert(cut.clone()) {
            return Ok(());
        }
        self.spent += seconds;
        let Ok(program) = self.program.cut(&cut, LARGEST_WHOLE) else { return Ok(()) };
        if self.seen.insert(program.digest()) {
            let of_run = self.patience == Patience::Thrifty;
            self.tried.push(PricedCut { of_run, ..self.pricing.of(cut, program, seconds)? });
        }
        Ok(())
    }

    /// Returns the fastest cut so far.
    fn best(&self) -> Option<&PricedCut> {
        self.tried.iter().min_by(|a, b| a.cost.seconds().total_cmp(&b.cost.seconds()))
    }

    fn fastest(&self) -> f64 {
        self.best().map_or(0.0, |best| best.cost.seconds())
    }

    /// Returns the cuts that differ from the fastest one so far by one flag.
    fn next(&self, functions: &[String]) -> Vec<Cut> {
        let best = self.best().map_or(&Cut::Given, |best| &best.cut);
        functions.iter().flat_map(|function| best.one_flag_away(function)).collect()
    }

    fn of_source(&mut self) -> Result<(), Error> {
        self.attempt(inlined())?;
        // The next call parses the source to list its functions, which takes about as long as a compilation.
        if !self.affords(self.compiled) {
            return Ok(());
        }
        self.spent += self.compiled;
        let functions = self.program.functions();
        self.attempt(all_components(&functions))?;
        loop {
            let before = self.fastest();
            for other in self.next(&functions) {
                self.attempt(other)?;
            }
            if self.is_exhausted() || self.fastest() >= before {
                return Ok(());
            }
        }
    }
}

/// Returns the cut with everything in `main` inlined. A short search tries only this cut, because it gains
/// most for programs of many small components.
fn inlined() -> Cut {
    Cut::of_flags(["*".to_owned()].into(), BTreeSet::new())
}

/// Returns the cut with each of these functions as a component.
fn all_components(functions: &[String]) -> Cut {
    Cut::of_flags(BTreeSet::new(), functions.iter().cloned().collect())
}

impl Search<'_> {
    /// Tries all cuts that are worth the time.
    fn all(&mut self) -> Result<(), Error> {
        match self.program.has_source() {
            true => self.of_source(),
            false if self.program.given().slot_count() > 1 => self.attempt(Cut::Whole),
            false => Ok(()),
        }
    }

    /// Makes the cut that the user named, however long it takes, and returns its index.
    fn fixed(&mut self, cut: &Cut, max_gates: u64) -> Result<usize, Error> {
        let program = self.program.cut(cut, max_gates)?;
        if *cut != Cut::Given {
            self.asked.insert(cut.clone());
            self.seen.insert(program.digest());
            self.tried.push(self.pricing.of(cut.clone(), program, self.seconds_of(cut))?);
        }
        Ok(self.tried.len() - 1)
    }

    /// Returns the index of the fastest cut that fits into the garbler's memory. If none fits, it is 0, the
    /// given cut.
    fn best_within(&self, memory: Option<u64>) -> usize {
        let fits = |cut: &PricedCut| memory.is_none_or(|memory| cut.cost.memory_bytes.garbler <= memory);
        let places: Vec<usize> = (0..self.tried.len()).filter(|&k| fits(&self.tried[k])).collect();
        plan::best_cut(places.iter().map(|&k| &self.tried[k].cost)).map_or(0, |place| places[place])
    }

    /// Chooses the cut of a run, by the user's choice and the free memory, and returns its index.
    fn decide(&mut self, wish: &CutChoice, memory: Option<u64>) -> Result<usize, Error> {
        match wish {
            CutChoice::Fixed(cut) => self.fixed(cut, gates_within(memory)),
            CutChoice::Fastest => {
                self.all()?;
                Ok(self.best_within(memory))
            }
        }
    }
}

/// Returns the cuts of a program and the one that a run takes, by the user's choice and the free memory.
pub fn with(
    wish: &CutChoice,
    program: &Program,
    pricing: &Pricing,
    memory: Option<u64>,
) -> Result<Cuts, Error> {
    let mut search = Search::new(program, pricing, Patience::Thrifty)?;
    let chosen = search.decide(wish, memory)?;
    search.patience = Patience::Thorough;
    search.all()?;
    let complete = !search.is_exhausted();
    let mut tried: Vec<(bool, PricedCut)> =
        search.tried.into_iter().enumerate().map(|(k, cut)| (k == chosen, cut)).collect();
    tried.sort_by(|a, b| a.1.ands_a_slot.total_cmp(&b.1.ands_a_slot));
    let chosen = tried.iter().position(|(chosen, _)| *chosen).unwrap_or(0);
    let tried = tried.into_iter().map(|(_, cut)| cut).collect();
    Ok(Cuts { tried, chosen, complete, fixed: matches!(wish, CutChoice::Fixed(_)) })
}

/// The two cuts between which a run decides: the given one, and the fastest other cut that was found.
pub struct Rivals {
    pub given: PricedCut,
    pub other: Option<PricedCut>,
    pub is_other_chosen: bool,
}

/// Searches for cuts as a run does. If there is no time for another cut, it still returns one for comparison:
/// the program in one piece, or with all functions inlined.
pub fn rivals(program: &Program, pricing: &Pricing) -> Result<Rivals, Error> {
    let mut search = Search::new(program, pricing, Patience::Thrifty)?;
    search.all()?;
    let is_other_chosen = search.best_within(None) != 0;
    if search.tried.len() == 1 {
        search.patience = Patience::Thorough;
        match program.has_source() {
            true => search.attempt(inlined())?,
            false if program.given().slot_count() > 1 => search.attempt(Cut::Whole)?,
            false => {}
        }
    }
    let mut tried = search.tried.into_iter();
    let given = tried.next().ok_or_else(|| Error::fault("the search tried no cut"))?;
    let other = tried.min_by(|a, b| a.cost.seconds().total_cmp(&b.cost.seconds()));
    Ok(Rivals { given, other, is_other_chosen })
}

/// Returns the cut that a run takes, by the user's choice and the free memory.
pub fn choose(
    wish: &CutChoice,
    program: &Program,
    pricing: &Pricing,
    memory: Option<u64>,
) -> Result<PricedCut, Error> {
    let mut search = Search::new(program, pricing, Patience::Thrifty)?;
    let place = search.decide(wish, memory)?;
    Ok(search.tried.swap_remove(place))
}

/// Returns the first of these cuts that `is_there` in stock: the given one, all inlined, all components. If
/// none is in stock, it returns the given cut.
pub fn in_stock(
    program: &Program,
    is_there: impl Fn(&circuit::Program) -> Result<bool, Error>,
) -> Result<(Cut, circuit::Program), Error> {
    if !is_there(program.given())? {
        let others = match program.has_source() {
            true => vec![inlined(), all_components(&program.functions())],
            false if program.given().slot_count() > 1 => vec![Cut::Whole],
            false => Vec::new(),
        };
        for cut in others {
            let Ok(made) = program.cut(&cut, LARGEST_WHOLE) else { continue };
            if is_there(&made)? {
                return Ok((cut, made));
            }
        }
    }
    Ok((Cut::Given, (**program.given()).clone()))
}
