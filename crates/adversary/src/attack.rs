//! Attacks of all protocols, and the lists of them.

use brickwork::circuit::Party::{self, Evaluator, Garbler};
use brickwork::random::Rng;
use brickwork::wire::Tag;
use brickwork_harness::{Case, Ending, Rigged};

/// The ending of one run for the honest party, or the rule that was broken.
pub type Played = Result<Ending, String>;

/// Every way in which a run may end for the honest party, with its exact probability.
pub type Endings = Vec<(Ending, f64)>;

/// The row and the variant.
pub(crate) type Name = (u8, &'static str);

/// Plays an attack once.
pub type Play = dyn Fn(&mut Rng) -> Played + Send + Sync;

/// An attack of a cheater.
pub struct Attack {
    /// The protocol, as users name it.
    pub protocol: &'static str,
    /// Row of the catalogue.
    pub row: u8,
    /// The attack's name within the row.
    pub variant: &'static str,
    /// The action of the cheater, and its possible gain.
    pub story: &'static str,
    /// The cheater; nobody if a disk, a connection or a machine fails, or the attack only observes.
    pub cheater: Option<Party>,
    /// Every way in which a run may end for the other party, with its exact probability.
    pub endings: Endings,
    /// The number of runs that is needed to distinguish the rates from similar ones. It is small if the
    /// ending is certain.
    pub trials: usize,
    /// Plays the attack once.
    pub play: Box<Play>,
}

impl Attack {
    /// Returns the attack's name among all attacks of its protocol: `row_05_flipped_table`.
    pub fn id(&self) -> String {
        format!("row_{:02}_{}", self.row, self.variant)
    }

    /// Returns whether this check may detect the attack.
    pub fn fails(&self, check: brickwork::Cheat) -> bool {
        self.endings.iter().any(|(ending, _)| *ending == Ending::Caught(check))
    }
}

/// The number of runs of an attack with a certain ending.
const CERTAIN: usize = 20;

/// The number of runs of a slow attack with a certain ending.
const FEW: usize = 10;

/// The number of runs of an attack with several endings.
const MANY: usize = 1000;

/// Returns the list of endings for a certain ending.
pub(crate) fn certain(ending: Ending) -> Endings {
    vec![(ending, 1.0)]
}

/// Returns the list of endings for a check that always fails.
pub(crate) fn caught(check: impl Into<brickwork::Cheat>) -> Endings {
    certain(Ending::caught(check))
}

/// The list of attacks on a protocol, before it is sorted.
pub(crate) struct Catalogue<P: Rigged> {
    /// Makes an honest run of the toy program.
    pub toy: fn(&mut Rng) -> Case<P>,
    all: Vec<Attack>,
}

impl<P: Rigged> Catalogue<P> {
    /// Begins a list, with a run of a toy program.
    pub fn new(toy: fn(&mut Rng) -> Case<P>) -> Self {
        Catalogue { toy, all: Vec::new() }
    }

    /// Returns all attacks, sorted by row.
    pub fn sorted(mut self) -> Vec<Attack> {
        self.all.sort_by_key(|attack| attack.row);
        self.all
    }

    /// Adds an attack with a function of its own that plays it.
    pub fn played(
        &mut self,
        (row, variant): Name,
        story: &'static str,
        cheater: Option<Party>,
        endings: Endings,
        play: impl Fn(&mut Rng) -> Played + Send + Sync + 'static,
    ) -> &mut Attack {
        let endings: Endings = endings.into_iter().filter(|(_, rate)| *rate > 1e-12).collect();
        let trials = if endings.len() == 1 { CERTAIN } else { MANY };
        let (protocol, play) = (P::NAME, Box::new(play));
        self.all.push(Attack { protocol, row, variant, story, cheater, endings, trials, play });
        self.all.last_mut().expect("just added")
    }

    /// Adds a slow attack with a play of its own and a certain ending.
    pub fn slow(
        &mut self,
        name: Name,
        story: &'static str,
        cheater: Option<Party>,
        ending: Ending,
        play: impl Fn(&mut Rng) -> Played + Send + Sync + 'static,
    ) {
        self.played(name, story, cheater, certain(ending), play).trials = FEW;
    }

    /// Adds an attack on a run of the protocol.
    pub fn add(
        &mut self,
        name: Name,
        story: &'static str,
        cheater: Party,
        endings: Endings,
        case: impl Fn(&mut Rng) -> Case<P> + Send + Sync + 'static,
    ) -> &mut Attack {
        self.played(name, story, Some(cheater), endings, move |rng| case(rng).run().ending(cheater))
    }

    /// Adds an attack on the toy program.
    pub fn on_toy(
        &mut self,
        name: Name,
        endings: Endings,
        cheater: Party,
        story: &'static str,
        cheat: impl Fn(Case<P>) -> Case<P> + Send + Sync + 'static,
    ) {
        let toy = self.toy;
        let _ = self.add(name, story, cheater, endings, move |rng| cheat(toy(rng)));
    }

    /// Adds a party that alters one message to the toy program's peer, which this check always detects.
    pub fn sends(
        &mut self,
        name: Name,
        check: impl Into<brickwork::Cheat>,
        (cheater, tag, nth): (Party, Tag, usize),
        story: &'static str,
        alter: impl Fn(&mut Vec<u8>) + Clone + Send + Sync + 'static,
    ) {
        self.on_toy(name, caught(check), cheater, story, move |case| {
            case.sends(cheater, tag, nth, alter.clone())
        });
    }

    /// Adds a garbler that alters its state at a point, which this check always detects.
    pub fn lies(
        &mut self,
        name: Name,
        check: impl Into<brickwork::Cheat>,
        point: P::Point,
        story: &'static str,
        alter: impl FnMut(&mut [u8]) + Clone + Send + Sync + 'static,
    ) where
        P::Point: Sync,
    {
        self.on_toy(name, caught(check), Garbler, story, move |case| case.lie(point, alter.clone()));
    }

    /// Adds an evaluator that alters its state at a point, which this check always detects.
    pub fn evaluator_lies(
        &mut self,
        name: Name,
        check: impl Into<brickwork::Cheat>,
        point: P::Point,
        story: &'static str,
        alter: impl FnMut(&mut [u8]) + Clone + Send + Sync + 'static,
    ) where
        P::Point: Sync,
    {
        self.on_toy(name, caught(check), Evaluator, story, move |case| {
            case.evaluator_lies(point, alter.clone())
        });
    }
}
