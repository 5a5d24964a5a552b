//! Repeated attacks, and their statistics.

use brickwork::circuit::Party;
use brickwork::random::Rng;
use brickwork_harness::Ending;
use brickwork_testing::Replayable as _;
use serde::Serialize;

use crate::attack::Attack;

/// Counts that are less probable than this are errors: the probability of 4.5 standard deviations to one
/// side. The catalogue has some hundred counts, so a larger value would cause false errors.
const UNLIKELY: f64 = 3.4e-6;

/// The frequency of one ending of an attack.
#[derive(Clone, Debug, Serialize)]
pub struct Count {
    /// The ending: the check that saw the cheat, or `survived`, `recovered`, `fooled`, `refused`.
    pub ending: String,
    /// The number of runs with the ending.
    pub observed: usize,
    /// observed / trials.
    pub observed_rate: f64,
    /// The exact probability.
    pub predicted_rate: f64,
}

/// The result of an attack.
#[derive(Clone, Debug, Serialize)]
pub struct Result {
    /// The attacked protocol.
    pub protocol: &'static str,
    /// Row of the catalogue.
    pub row: u8,
    /// The name of the attack in its row.
    pub variant: String,
    /// The cheater: `garbler`, `evaluator` or, if something fails, `nobody`.
    pub cheater: &'static str,
    /// The number of runs.
    pub trials: usize,
    /// All endings that may occur.
    pub endings: Vec<Count>,
    /// True if every run had one of these endings, with the required frequency, and all rules held.
    pub holds: bool,
    /// The broken rules.
    pub fault: Option<String>,
}

/// Returns an ending, for people and machines.
pub fn name(ending: &Ending) -> String {
    match ending {
        Ending::Caught(cheat) => cheat.check().into(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// Returns the name of the cheater, for people and machines.
pub fn who(cheater: Option<Party>) -> &'static str {
    match cheater {
        Some(Party::Garbler) => "garbler",
        Some(Party::Evaluator) => "evaluator",
        None => "nobody",
    }
}

/// Returns whether `count` of `trials` is likely for probability `p`. It uses the exact distribution, which
/// is needed for small expected counts. An ending with probability 0 must never happen, and one with
/// probability 1 always.
pub fn within(count: usize, trials: usize, p: f64) -> bool {
    if p <= 0.0 || p >= 1.0 {
        return count == if p <= 0.0 { 0 } else { trials };
    }
    let (n, odds) = (trials as f64, p / (1.0 - p));
    // The logarithm of the probability of `count`, computed from the ratios of neighbouring counts.
    let log2 = (0..count)
        .fold(n * (1.0 - p).log2(), |log2, k| log2 + ((n - k as f64) / (k as f64 + 1.0) * odds).log2());
    let mut one = log2.exp2();
    let mut tail = one;
    let mut k = count as f64;
    while one > 1e-12 * tail {
        one *= if count as f64 > n * p { (n - k) / (k + 1.0) * odds } else { k / (n - k + 1.0) / odds };
        k += if count as f64 > n * p { 1.0 } else { -1.0 };
        tail += one;
    }
    tail >= UNLIKELY
}

/// Plays an attack this many times.
///
/// # Panics
/// If the operating system has no randomness, or a party panics or hangs.
pub fn play(attack: &Attack, trials: usize) -> Result {
    let endings = &attack.endings;
    let mut rng = Rng::replayable("attacks");
    let mut counts = vec![0; endings.len()];
    let mut fault = None;
    for _ in 0..trials {
        match (attack.play)(&mut rng) {
            Err(broken) => fault = fault.or(Some(broken)),
            Ok(ending) => match endings.iter().position(|(e, _)| *e == ending) {
                Some(at) => counts[at] += 1,
                None => fault = fault.or(Some(format!("it ended as {}", name(&ending)))),
            },
        }
    }
    let count = |((ending, p), &observed): (&(Ending, f64), &usize)| Count {
        ending: name(ending),
        observed,
        observed_rate: observed as f64 / trials as f64,
        predicted_rate: *p,
    };
    let endings: Vec<Count> = endings.iter().zip(&counts).map(count).collect();
    let off = endings.iter().find(|c| !within(c.observed, trials, c.predicted_rate));
    let fault = fault
        .or(off
            .map(|c| format!("{}: {} of {trials}, predicted {:.4}", c.ending, c.observed, c.predicted_rate)));
    Result {
        protocol: attack.protocol,
        row: attack.row,
        variant: attack.variant.into(),
        cheater: who(attack.cheater),
        trials,
        endings,
        holds: fault.is_none(),
        fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_judged_by_their_exact_distribution() {
        // At a rate of 0.0013, two of thirty have a chance of one in 1 360, three one in 115 000, four one in
        // 13 million.
        assert!([0, 1, 2, 3].iter().all(|&count| within(count, 30, 0.0013)));
        assert!(!within(4, 30, 0.0013));
        // The normal distribution for these large numbers has mean 500 and deviation 15.8.
        assert!([430, 500, 570].iter().all(|&count| within(count, 1000, 0.5)));
        assert!([0, 425, 575, 1000].iter().all(|&count| !within(count, 1000, 0.5)));
        assert!(within(0, 9, 0.0) && !within(1, 9, 0.0) && within(9, 9, 1.0) && !within(8, 9, 1.0));
        assert!(within(1_000_000, 2_000_000, 0.5) && !within(990_000, 2_000_000, 0.5));
    }
}
