//! How often a single bad item is caught, in whole runs: from both sides of what the formula says.

use super::harness::*;
use brickwork_base::Error;

const RUNS: usize = 120;

/// Counts the runs in which this is noticed; the others come out right.
fn noticed(point: Point, lie: fn(&mut [u8])) -> usize {
    let program = toy();
    // Of each kind half are opened.
    let parameters = small(&program, [2, 8], [3, 12], [3, 12]);
    let caught = (0..RUNS).filter(|_| {
        let outcome = Case::toy().with(parameters.clone()).lie(point, lie).run();
        match &outcome.evaluator {
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
