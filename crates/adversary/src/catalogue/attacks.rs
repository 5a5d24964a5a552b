//! The type of an attack, and the list of all attacks.

use brickwork::circuit::{Party, Recipient};
use brickwork::cut_and_choose::{BucketRule, Bucketing};
use brickwork::duplo::Cheat;
use brickwork::duplo::adversary::Point;
use brickwork::duplo::adversary::harness::{Case, HonestEnding, ands, flips, small};
use brickwork::random::Rng;

use crate::sampler::{bad_for, choose, exact};
use crate::stores::StorePlayed;

/// An attack of a cheater.
pub struct Attack {
    /// Row of the catalogue.
    pub row: u8,
    /// The attack's name within the row.
    pub variant: &'static str,
    /// The action of the cheater, and its possible gain.
    pub story: &'static str,
    /// The cheater, or `None` if a disk, a connection or a machine fails.
    pub cheater: Option<Party>,
    /// Every way in which a run may end for the other party, with its exact probability.
    pub endings: Vec<(HonestEnding, f64)>,
    /// The number of runs that is needed to distinguish the rates from similar ones. It is small if the
    /// ending is certain.
    pub trials: usize,
    /// Plays the attack once. It returns the ending for the honest party, or the rule that was broken.
    pub play: Box<dyn Fn(&mut Rng) -> StorePlayed + Send + Sync>,
}

impl Attack {
    /// Returns the attack's name among all attacks: `row_05_flipped_table`.
    pub fn id(&self) -> String {
        format!("row_{:02}_{}", self.row, self.variant)
    }
}

/// The number of runs of an attack with a certain ending.
pub(super) const CERTAIN: usize = 20;

/// The number of runs of a slow attack with a certain ending.
const FEW: usize = 10;

/// The row and the variant.
pub(super) type Name = (u8, &'static str);

pub(super) struct Catalogue(pub(super) Vec<Attack>);

impl Catalogue {
    /// Adds an attack that the check always detects.
    pub(super) fn caught(
        &mut self,
        name: Name,
        cheat: Cheat,
        story: &'static str,
        case: impl Fn(Case) -> Case + Send + Sync + 'static,
    ) {
        let cheater = if matches!(cheat, Cheat::OtExtension | Cheat::OtBinding | Cheat::ForgedOutput) {
            Party::Evaluator
        } else {
            Party::Garbler
        };
        self.add(name, story, cheater, vec![(HonestEnding::Caught(cheat), 1.0)], CERTAIN, move |_| {
            case(Case::toy())
        });
    }

    pub(super) fn add(
        &mut self,
        (row, variant): Name,
        story: &'static str,
        cheater: Party,
        endings: Vec<(HonestEnding, f64)>,
        trials: usize,
        case: impl Fn(&mut Rng) -> Case + Send + Sync + 'static,
    ) {
        let play = Box::new(move |rng: &mut Rng| case(rng).run().ending(cheater));
        self.0.push(Attack { row, variant, story, cheater: Some(cheater), endings, trials, play });
    }

    /// Adds an attack with a certain ending and a function of its own that plays it.
    pub(super) fn played(
        &mut self,
        (row, variant): Name,
        story: &'static str,
        cheater: Option<Party>,
        ending: HonestEnding,
        play: impl Fn(&mut Rng) -> StorePlayed + Send + Sync + 'static,
    ) {
        self.0.push(Attack {
            row,
            variant,
            story,
            cheater,
            endings: vec![(ending, 1.0)],
            trials: FEW,
            play: Box::new(play),
        });
    }

    /// Adds a garbler that makes the first `bad` copies of an AND gate bad, by flipping this bit of their
    /// committed outputs.
    pub(super) fn bad_copies(
        &mut self,
        name: Name,
        story: &'static str,
        cut: Bucketing,
        bad: u32,
        bit: usize,
        trials: usize,
    ) {
        let hidden = choose(cut.slots * cut.bucket + cut.opened - bad, cut.opened)
            / choose(cut.slots * cut.bucket + cut.opened, cut.opened);
        let ruined = exact(cut, bad_for(cut, BucketRule::COMPONENT) as u32, bad);
        // A flip of bit 0 gives the valid label of the opposite bit, so two labels are valid. Any other flip
        // gives an invalid label, and the other copies of the bucket give the valid one.
        let (wins, else_) = if bit == 0 {
            (HonestEnding::Fooled, HonestEnding::Recovered)
        } else {
            (HonestEnding::Caught(Cheat::NoValidLabel), HonestEnding::Survived)
        };
        let endings = vec![
            (HonestEnding::Caught(Cheat::Opening), 1.0 - hidden),
            (wins, ruined),
            (else_, hidden - ruined),
        ];
        self.add(name, story, Party::Garbler, endings, trials, move |rng| {
            let program = ands(cut.slots, Recipient::Evaluator);
            let parameters = small(&program, [cut.bucket, cut.opened], [1, 0], [1, 0]);
            let lies = flips((0..bad as usize).collect(), bit);
            Case::new(&program, parameters).lie(Point::CommittedOutputs(0), lies).cheap(rng)
        });
    }
}
