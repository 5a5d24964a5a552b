//! The list of attacks, and changes of a party's state.

use std::sync::Arc;

use brickwork::authenticated::adversary::{Case, Ending, Outcome, Point, chain};
use brickwork::circuit::{Party, Program, Recipient};
use brickwork::random::Rng;
use brickwork::wire::Tag;

use crate::family::{Attack, Played};

/// The protocol, as users name it.
pub(super) const PROTOCOL: &str = "authenticated";

/// The number of bytes of the compared bits of a leaky AND.
pub(super) const COMPARED: usize = 6;

/// The number of runs of an attack with a certain ending.
const CERTAIN: usize = 20;

/// The number of runs of an attack with several endings.
const MANY: usize = 1000;

/// The number of runs of an attack that depends on a guess of seven bits.
const GUESSED: usize = 3000;

/// The row and the variant.
pub(super) type Name = (u8, &'static str);

/// A condition on a run, in addition to its ending.
type Rule = fn(&Outcome) -> Result<(), String>;

/// Returns the ending in which a check fails.
pub(super) fn caught(check: impl Into<brickwork::Cheat>) -> Ending {
    Ending::Caught(check.into())
}

/// Returns the attacked program: a·b·c for both parties, where x is a.
pub(super) fn toy() -> Arc<Program> {
    chain(Recipient::Both)
}

/// The list of attacks, before it is sorted.
#[derive(Default)]
pub(super) struct Catalogue(pub(super) Vec<Attack>);

impl Catalogue {
    /// Adds an attack on a run, with an additional rule for the run.
    pub fn add_with(
        &mut self,
        name: Name,
        story: &'static str,
        cheater: Party,
        endings: Vec<(Ending, f64)>,
        rule: Rule,
        case: impl Fn(&mut Rng) -> Case + Send + Sync + 'static,
    ) {
        self.play(name, story, cheater, endings, move |rng: &mut Rng| {
            let outcome = case(rng).run();
            rule(&outcome)?;
            outcome.ending(cheater)
        });
    }

    /// Adds an attack with a function of its own that plays it.
    pub fn play(
        &mut self,
        (row, variant): Name,
        story: &'static str,
        cheater: Party,
        endings: Vec<(Ending, f64)>,
        play: impl Fn(&mut Rng) -> Played + Send + Sync + 'static,
    ) {
        let least = endings.iter().map(|(_, rate)| *rate).fold(1.0, f64::min);
        let trials = match endings.len() {
            1 => CERTAIN,
            _ if least < 0.05 => GUESSED,
            _ => MANY,
        };
        let (play, cheater) = (Box::new(play), Some(cheater));
        self.0.push(Attack { protocol: PROTOCOL, row, variant, story, cheater, endings, trials, play });
    }

    /// Adds an attack on a run of the protocol.
    pub fn add(
        &mut self,
        name: Name,
        story: &'static str,
        cheater: Party,
        endings: Vec<(Ending, f64)>,
        case: impl Fn(&mut Rng) -> Case + Send + Sync + 'static,
    ) {
        self.add_with(name, story, cheater, endings, |_| Ok(()), case);
    }

    /// Adds an attack on the toy program that this check always detects.
    pub fn always(
        &mut self,
        name: Name,
        check: impl Into<brickwork::Cheat>,
        cheater: Party,
        story: &'static str,
        cheat: impl Fn(Case) -> Case + Send + Sync + 'static,
    ) {
        self.add(name, story, cheater, vec![(caught(check), 1.0)], move |rng| cheat(Case::new(&toy(), rng)));
    }

    /// Adds an attack that this check detects with some probability, and that has no effect otherwise.
    pub fn at_rate(
        &mut self,
        name: Name,
        check: impl Into<brickwork::Cheat>,
        rate: f64,
        cheater: Party,
        story: &'static str,
        cheat: impl Fn(Case) -> Case + Send + Sync + 'static,
    ) {
        let endings = vec![(caught(check), rate), (Ending::Survived, 1.0 - rate)];
        self.add(name, story, cheater, endings, move |rng| cheat(Case::new(&toy(), rng)));
    }
}

/// Returns a change that flips bit `bit` of word number `word`, with `bytes` bytes per word.
pub(super) fn flip(bytes: usize, word: usize, bit: usize) -> impl FnMut(u128, &mut [u8]) + Send {
    move |_, all| all[word * bytes + bit / 8] ^= 1 << (bit % 8)
}

/// Returns a change of a byte in data that comes in several parts.
pub(super) fn in_parts(
    at: usize,
    mut alter: impl FnMut(&mut u8) + Send,
) -> impl FnMut(u128, &mut [u8]) + Send {
    let mut passed = 0;
    move |_, part| {
        at.checked_sub(passed).and_then(|at| part.get_mut(at)).into_iter().for_each(&mut alter);
        passed += part.len();
    }
}

/// Returns a change that flips bit `bit` of word number `word`, with `bytes` bytes per word, in data that
/// comes in several parts.
pub(super) fn flip_in_parts(bytes: usize, word: usize, bit: usize) -> impl FnMut(u128, &mut [u8]) + Send {
    in_parts(word * bytes + bit / 8, move |byte| *byte ^= 1 << (bit % 8))
}

/// Returns a change that adds the party's own offset to this label.
pub(super) fn add_offset(word: usize) -> impl FnMut(u128, &mut [u8]) + Send {
    move |offset, all| {
        all[16 * word..].iter_mut().zip(offset.to_ne_bytes()).for_each(|(byte, of)| *byte ^= of)
    }
}

/// Returns a change of a case: a party flips a bit at a point.
pub(super) fn bit(
    party: Party,
    point: Point,
    bytes: usize,
    word: usize,
    bit: usize,
) -> impl Fn(Case) -> Case {
    move |case| case.lie(party, point, flip(bytes, word, bit))
}

/// Makes a party's first message of this tag a byte too long.
pub(super) fn longer(party: Party, tag: Tag) -> impl Fn(Case) -> Case {
    move |case| case.sends(party, tag, 0, |bytes| bytes.push(0))
}
