//! Authenticated masks.

use brickwork_adversary::authenticated;
use brickwork_adversary::family::Attack;

/// Runs of an attack that a guess of seven bits decides: all are played, as fewer might see no right one.
const GUESSED: usize = 3000;

/// Six runs where the ending is certain, and 300 where there is a rate.
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
