//! Authenticated masks.

use brickwork_adversary::authenticated;
use brickwork_adversary::family::Attack;

/// The number of runs of an attack that depends on a guess of seven bits: fewer runs might have no right
/// guess.
const GUESSED: usize = 3000;

/// Returns six runs for a certain ending, and 300 for a rate.
fn runs(attack: &Attack) -> usize {
    match attack.trials {
        GUESSED => GUESSED,
        _ if attack.endings.len() == 1 => 6,
        _ => 300,
    }
}

crate::tests!(authenticated, runs, ["garblers_three_bets", "first_gate_is_nand"]);

#[test]
fn guesses_are_all_played() {
    let all = authenticated::catalogue();
    assert_eq!(all.iter().filter(|attack| attack.trials == GUESSED && runs(attack) == GUESSED).count(), 4);
}
