//! How often a single bad item is caught, in whole runs: from both sides of what the formula says.

use super::support::*;
use crate::Cheat;
use brickwork_base::{Cheat as Check, Error};

const RUNS: usize = 120;

/// Counts the runs in which this is noticed; the others come out right.
fn noticed(point: Point, lie: fn(&mut [u8])) -> usize {
    // Of each kind half are opened.
    let cuts = cuts([2, 8], [3, 12], [3, 12]);
    let caught = (0..RUNS).filter(|_| {
        let outcome = of_toy().with(cuts).garbler(point, lie).run();
        match &outcome.results[1] {
            Err(Error::Peer(_)) => true,
            Err(other) => panic!("{other}"),
            Ok(report) => {
                let recovered = report.aside.recovered;
                outcome.right(recovered);
                false
            }
        }
    });
    caught.count()
}

/// Within five standard deviations.
fn is_rate(count: usize, rate: f64) {
    let (expected, deviation) = (rate * RUNS as f64, (rate * (1.0 - rate) * RUNS as f64).sqrt());
    assert!((count as f64 - expected).abs() <= 5.0 * deviation, "{count} of {RUNS}, not {expected}");
}

/// Opened with probability 1/2, a gate that is wrong at two rows is noticed at half of them.
#[test]
fn a_gate_that_is_wrong_at_two_rows() {
    is_rate(noticed(Point::Tables, |bytes| bytes[5] ^= 1), 0.25);
}

/// One that is wrong at all rows always.
#[test]
fn a_gate_that_computes_nand() {
    is_rate(noticed(Point::GateOutputs, |bytes| bytes[0] ^= 1), 0.5);
}

/// An authenticator with one wrong hash is noticed if its colour is asked for.
#[test]
fn an_authenticator_with_a_wrong_hash() {
    is_rate(noticed(Point::WireHashes, |bytes| bytes[5] ^= 1), 0.25);
}

/// An input authenticator is opened completely.
#[test]
fn an_input_authenticator_of_the_other_bit() {
    is_rate(noticed(Point::InputWires, |bytes| bytes[0] ^= 1), 0.5);
}

/// Several bad gates, of which a cheater hopes that none is opened and that they fill a bucket: all three
/// ways in which it can end are as often as there are ways to deal them out.
#[test]
fn bad_gates_ruin_a_bucket_as_often_as_can_be_counted() {
    const RUNS: u32 = 800;
    // Four buckets of two gates and eight opened ones. Three bad ones are best for the garbler.
    let cuts = cuts([2, 8], [3, 2], [3, 2]);
    let rubbish = |bytes: &mut [u8]| (0..3).for_each(|gate| bytes[16 * gate + 6] ^= 1);
    let checks: [Check; 2] = [Cheat::Opening.into(), Cheat::NoValidLabel.into()];
    let [mut seen, mut ruined, mut survived] = [0; 3];
    for _ in 0..RUNS {
        let outcome = of_toy().with(cuts).garbler(Point::GateOutputs, rubbish).run();
        match &outcome.results[1] {
            Err(Error::Peer(cheat)) if *cheat == checks[0] => seen += 1,
            Err(Error::Peer(cheat)) if *cheat == checks[1] => ruined += 1,
            Err(other) => panic!("{other}"),
            Ok(_) => {
                outcome.right(false);
                survived += 1;
            }
        }
    }
    // Of C(16, 3) = 560 ways to deal them out C(8, 3) = 56 leave them all unopened; in 4·6 = 24 of these two
    // are in one bucket.
    for (count, ways) in [(seen, 504.0), (ruined, 24.0), (survived, 32.0)] {
        let rate = ways / 560.0;
        let (expected, deviation) = (rate * f64::from(RUNS), (rate * (1.0 - rate) * f64::from(RUNS)).sqrt());
        let off = (f64::from(count) - expected).abs();
        assert!(off <= 4.5 * deviation, "{seen} seen, {ruined} ruined, {survived} survived");
    }
}
