//! Tests several programs on one stock, in memory and on disk.

mod attempts;
mod crash;
mod cut;
mod disk;
mod greeting;
mod shares;

use std::sync::Arc;

use brickwork::circuit::{Builder, Component, Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork::duplo::{Evaluator, Garbler, Request};
use brickwork::protocol::{Terms, Unobserved};
use brickwork::random::{Rng, Seed};
use brickwork::wire::memory_pair;
use brickwork::{ProtocolError as Error, Security};

/// Returns the generator of a test's random choices, which a replay repeats.
fn draws() -> Rng {
    Rng::expand(&Seed::from_bytes(brickwork_testing::seed()), "test")
}

const WIDTH: u32 = 8;

fn component(name: &str, add: bool) -> Component {
    let mut b = Builder::new(2 * WIDTH);
    let bits = b.all_inputs();
    let (x, y) = bits.split_at(WIDTH as usize);
    let sum = if add {
        brickwork::circuit::library::add(&mut b, x, y)
    } else {
        brickwork::circuit::library::multiply(&mut b, x, y)
    };
    Component {
        name: name.into(),
        inputs: vec![Port::new("x", Type::Uint(WIDTH)), Port::new("y", Type::Uint(WIDTH))],
        outputs: vec![Port::new("z", Type::Uint(WIDTH))],
        circuit: Arc::new(b.finish(&sum[..WIDTH as usize]).unwrap()),
    }
}

/// Computes x + y, doubles it `doublings` times, and multiplies by x. The components have other names in each
/// program.
fn program(doublings: usize, to: Recipient) -> Arc<Program> {
    let byte = |name: &str| vec![Port::new(name, Type::Uint(WIDTH))];
    let mut p = ProgramBuilder::new("chain", byte("x"), byte("y")).unwrap();
    let add = p.component(component(&format!("adder of {doublings}"), true)).unwrap();
    let multiply = p.component(component("multiplier", false)).unwrap();
    let wires = |first: u32| (first..first + WIDTH).collect::<Vec<_>>();
    let mut last = p.slot(add, &[wires(0), wires(WIDTH)].concat()).unwrap();
    for _ in 0..doublings {
        last = p.slot(add, &[wires(last), wires(last)].concat()).unwrap();
    }
    last = p.slot(multiply, &[wires(last), wires(0)].concat()).unwrap();
    p.output(Port::new("z", Type::Uint(WIDTH)), to, wires(last)).unwrap();
    Arc::new(p.finish().unwrap())
}

fn terms() -> Terms {
    Terms {
        security: Security::of(40),
        threads: 1,
        table_memory: brickwork::protocol::TABLE_MEMORY,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    }
}

fn request(adders: usize, multipliers: usize, wires: usize) -> Request {
    Request {
        components: vec![(component("a", true), adders), (component("m", false), multipliers)],
        garbler_wires: 2 * wires,
        ots: Some(wires),
    }
}

/// Runs both parties' closures side by side, each in its session.
fn both<G: Send, E>(
    garbler: impl FnOnce(Garbler) -> Result<G, Error> + Send,
    evaluator: impl FnOnce(Evaluator) -> Result<E, Error>,
) -> (Result<G, Error>, Result<E, Error>) {
    let (left, right) = memory_pair();
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| garbler(Garbler::setup(left, &terms(), Unobserved)?));
        let evaluator = Evaluator::setup(right, &terms(), Unobserved).and_then(evaluator);
        (garbler.join().unwrap(), evaluator)
    })
}

fn bits(rng: &mut Rng) -> Vec<bool> {
    (0..WIDTH).map(|_| rng.below(2) == 1).collect()
}

/// Two batches of each component are made at different times. Of the three programs, one takes from both
/// batches.
#[test]
fn programs_from_one_stock() {
    let programs =
        [program(2, Recipient::Both), program(0, Recipient::Garbler), program(3, Recipient::Evaluator)];
    let mut rng = draws();
    let inputs: Vec<_> = programs.iter().map(|_| (bits(&mut rng), bits(&mut rng))).collect();
    let requests = [request(4, 2, 20), request(4, 1, 4)];
    let (garbled, evaluated) = both(
        |mut session| {
            let mut outputs = Vec::new();
            for request in &requests {
                session = session.fill(request)?;
            }
            for (program, (x, _)) in programs.iter().zip(&inputs) {
                assert!(session.missing(program).is_empty());
                let bits;
                (bits, session) = session.build(program)?.evaluate(x)?.decode()?;
                outputs.push(bits);
            }
            // All eight adders are used, so a program that needs more is refused.
            assert!(!session.missing(&programs[1]).is_empty());
            let gone = session.build(&programs[1]).err();
            assert!(matches!(gone, Some(Error::Stock(ref why)) if why.contains("adder of 0")), "{gone:?}");
            Ok(outputs)
        },
        |mut session| {
            let mut outputs = Vec::new();
            for request in &requests {
                session = session.fill(request)?;
            }
            for (program, (_, y)) in programs.iter().zip(&inputs) {
                let built = session.build(program)?;
                let report = built.promise();
                assert!(report.bound_log2 <= -40.0 && report.bound_log2 > -42.1, "{report:?}");
                let (bits, recovered);
                (bits, recovered, session) = built.evaluate(y)?.decode()?;
                assert!(!recovered);
                outputs.push(bits);
            }
            assert!(matches!(session.build(&programs[1]).err(), Some(Error::Stock(_))));
            Ok(outputs)
        },
    );
    let (garbled, evaluated) = (garbled.unwrap(), evaluated.unwrap());
    for (i, (program, (x, y))) in programs.iter().zip(&inputs).enumerate() {
        let expected = program.simulate(x, y);
        assert_eq!(garbled[i], program.output_bits(Party::Garbler, &expected));
        assert_eq!(evaluated[i], program.output_bits(Party::Evaluator, &expected));
    }
}

/// Row 16 and the restriction of Theorem 5.1: all items that a program uses exist before the first input.
#[test]
fn nothing_new_after_the_first_input() {
    let program = program(0, Recipient::Both);
    let input = [true; WIDTH as usize];
    let late = |error: Option<Error>| {
        assert!(matches!(error, Some(Error::Usage(ref why)) if why.contains("first input")), "{error:?}")
    };
    let (garbled, evaluated) = both(
        |session| {
            let (_, session) =
                session.fill(&request(1, 1, 8))?.build(&program)?.evaluate(&input)?.decode()?;
            late(session.fill(&request(1, 1, 8)).err());
            Ok(())
        },
        |session| {
            let (_, _, session) =
                session.fill(&request(1, 1, 8))?.build(&program)?.evaluate(&input)?.decode()?;
            late(session.fill(&request(1, 1, 8)).err());
            Ok(())
        },
    );
    garbled.and(evaluated).unwrap();
}

#[test]
fn parties_that_want_different_things_part() {
    let (garbled, evaluated) = both(
        |session| session.fill(&request(1, 1, 8)).map(drop),
        |session| session.fill(&request(2, 1, 8)).map(drop),
    );
    assert!(matches!((garbled, evaluated), (Err(Error::Mismatch(_)), Err(Error::Mismatch(_)))));
    let programs = [program(0, Recipient::Both), program(1, Recipient::Both)];
    let (garbled, evaluated) = both(
        |session| session.fill(&request(2, 1, 8))?.build(&programs[0]).map(drop),
        |session| session.fill(&request(2, 1, 8))?.build(&programs[1]).map(drop),
    );
    assert!(matches!((garbled, evaluated), (Err(Error::Mismatch(_)), Err(Error::Mismatch(_)))));
}

/// A program is refused before anything is sent if its batches are too many for the bound.
#[test]
fn too_many_batches_exceed_the_bound() {
    const BATCHES: usize = 250;
    let program = program(BATCHES - 1, Recipient::Both);
    let refused = |error: Option<Error>| {
        assert!(matches!(error, Some(Error::Stock(ref why)) if why.contains("2^-40")), "{error:?}")
    };
    let requests: Vec<Request> = (0..BATCHES).map(|k| request(1, usize::from(k == 0), 8)).collect();
    let (garbled, evaluated) = both(
        |mut session| {
            for request in &requests {
                session = session.fill(request)?;
            }
            refused(session.build(&program).err());
            Ok(())
        },
        |mut session| {
            for request in &requests {
                session = session.fill(request)?;
            }
            refused(session.build(&program).err());
            Ok(())
        },
    );
    garbled.and(evaluated).unwrap();
}
