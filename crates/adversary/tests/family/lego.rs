//! The attacks on LEGO, and their rates for different inputs.

use brickwork::lego::Cheat;
use brickwork_adversary::family::{Attack, name};
use brickwork_adversary::lego::{self, catalogue, page};

/// Returns two runs for a certain ending, and 30 for a rate; `cargo xtask attacks` plays a thousand.
fn runs(attack: &Attack) -> usize {
    if attack.endings.len() == 1 { 2 } else { 30 }
}

crate::tests!(lego, runs, ["two_coordinates", "whole_bucket"]);

/// The page has every check. For one of them it has the reason why no cheater can make it fail.
#[test]
fn one_check_alone_cannot_be_provoked() {
    let page = page();
    assert!(Cheat::ALL.iter().all(|&check| page.checks.contains(&check.into())));
    let third: brickwork::Cheat = Cheat::ThirdLabel.into();
    assert!(page.unprovoked.iter().map(|(check, _)| *check).eq([third]));
}

/// A thousand runs distinguish each rate from half or twice the rate.
#[test]
fn rates_are_told_from_their_neighbours() {
    for attack in catalogue().iter().filter(|attack| attack.endings.len() > 1) {
        let n = attack.trials as f64;
        assert!(n >= 1000.0, "{}", attack.variant);
        for (ending, p) in &attack.endings {
            let (twice, deviation) = (f64::min(2.0 * p, 1.0 - (1.0 - p) / 2.0), (p * (1.0 - p) / n).sqrt());
            let far = (twice - p).min(p / 2.0) / deviation;
            // The distance is 4.5 standard deviations, except for rare endings.
            assert!(far > 4.5 || *p < 0.1 || *p > 0.9, "{} {}: {far}", attack.variant, name(ending));
        }
    }
}

/// Selective failure: the frequency of each ending is the same for inputs 0…0 and 1…1, by a test of two
/// proportions.
#[test]
fn aborts_do_not_depend_on_inputs() {
    let (all, runs) = (catalogue(), 150);
    let mut pairs = 0;
    for zeros in all.iter().filter(|attack| attack.variant.ends_with("for_inputs_of_0")) {
        let other = zeros.variant.replace("of_0", "of_1");
        let ones = all.iter().find(|attack| (attack.row, attack.variant) == (zeros.row, other.as_str()));
        let [zeros, ones] = [zeros, ones.expect("the same against inputs of 1")].map(|a| a.played(runs));
        assert!(zeros.holds && ones.holds, "{:?} {:?}", zeros.fault, ones.fault);
        for (zero, one) in zeros.endings.iter().zip(&ones.endings) {
            assert_eq!(zero.ending, one.ending);
            let (a, b) = (zero.observed as f64, one.observed as f64);
            let pooled = (a + b) / (2 * runs) as f64;
            let deviation = (2.0 * pooled * (1.0 - pooled) * runs as f64).sqrt();
            assert!((a - b).abs() <= 4.5 * deviation, "{}: {a} and {b} of {runs}", zero.ending);
        }
        pairs += 1;
    }
    assert_eq!(pairs, 4);
}
