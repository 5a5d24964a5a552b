//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use super::*;
use brickwork_circuit::library;
use brickwork_plan::{Link, Machine, predict};
use brickwork_primitives::ihash::{self, Words};
use brickwork_protocol::Model;
use brickwork_testing::Replayable as _;

/// Runs a program. The outputs are those of the plain computation, and the bytes of both directions are the
/// predicted ones.
#[track_caller]
fn runs(program: Program, unit: Unit, security: u32, rng: &mut Rng) {
    let program = Arc::new(program);
    let [a, b] = random_inputs(&program, rng);
    let (left, right, [_, crossings]) = counting_pair();
    let reports = over((left, right), &program, (unit, security), [&a, &b]).map(Result::unwrap);
    let script = cost::script(&program, unit, security).unwrap();
    let predicted = predict(&script, &Machine::free(), &Link::LOOPBACK).crossings();
    assert_eq!(crossings.get(), predicted, "{} by {unit:?}", program.name());
    let expected = program.simulate(&a, &b);
    let sent = sent_bytes(&program, unit, security).unwrap();
    for (party, report) in [Party::Garbler, Party::Evaluator].into_iter().zip(&reports) {
        assert_eq!(report.outputs, program.output_bits(party, &expected), "{} by {unit:?}", program.name());
        assert_eq!((report.promise.model, report.promise.statistical_bits), (Model::Malicious, security));
        assert_eq!((Unit::of(&report.promise), report.proposal), (unit, unit));
        assert!(report.promise.bound_log2 <= -f64::from(security));
        let spent: f64 = report.promise.budget.iter().map(|part| part.bound_log2.exp2()).sum();
        assert!((spent.log2() - report.promise.bound_log2).abs() < 1e-6, "{:?}", report.promise);
        assert!(!report.aside.recovered);
        let counted = [
            report.phases.iter().map(|phase| phase.garbler_sent_bytes).sum::<u64>(),
            report.phases.iter().map(|phase| phase.evaluator_sent_bytes).sum::<u64>(),
        ];
        assert_eq!(counted, sent, "{} by {unit:?}", program.name());
    }
}

/// Row 19 of the table of attacks: an input of another length is refused before anything is sent.
#[test]
fn row_19_inputs_of_another_length() {
    let program = Arc::new(random_program(&mut Rng::replayable("test inputs")));
    let [a, b] = [Party::Garbler, Party::Evaluator].map(|party| vec![false; program.input_width(party) + 1]);
    let results = over(memory_pair(), &program, (Unit::ALL[0], 40), [&a, &b]);
    assert!(results.iter().all(|result| matches!(result, Err(Error::Input(_)))), "{results:?}");
}

#[test]
fn random_programs_give_what_they_should() {
    let mut rng = Rng::replayable("test inputs");
    for k in 0..24 {
        runs(random_program(&mut rng), Unit::ALL[k % 2], [40, 64, 80][k % 3], &mut rng);
    }
}

#[test]
fn programs_of_the_library_give_what_they_should() {
    let mut rng = Rng::replayable("test inputs");
    for unit in Unit::ALL {
        runs(library::millionaires().unwrap(), unit, 40, &mut rng);
        runs(library::aes::aes_128().unwrap(), unit, 40, &mut rng);
    }
}

/// Each block of the gates' offset costs a bit of security. There are three blocks at s = 40, and four at
/// higher levels. The offsets of components are compressed, and all their blocks together cost one bit.
#[test]
fn what_computing_gains_is_reported() {
    for (security, bits) in [(40, 108.0), (64, 107.0), (80, 107.0)] {
        let level = parameters::HashLevel::of(security).unwrap();
        assert_eq!(report::computational_bits(&level, Unit::Gates), bits);
        assert_eq!(report::computational_bits(&level, Unit::Components), 110.0);
    }
}

/// Returns the rank of these rows, which have 128 bits and four more.
fn rank(mut rows: Vec<(u128, u8)>) -> usize {
    let bit = |row: &(u128, u8), k: usize| match k {
        0..128 => (row.0 >> k) as u8 & 1,
        _ => row.1 >> (k - 128) & 1,
    };
    let mut rank = 0;
    for k in 0..132 {
        let Some(pivot) = (rank..rows.len()).find(|&row| bit(&rows[row], k) == 1) else { continue };
        rows.swap(rank, pivot);
        let (short, known) = rows[rank];
        for row in rows.iter_mut().skip(rank + 1) {
            if bit(row, k) == 1 {
                *row = (row.0 ^ short, row.1 ^ known);
            }
        }
        rank += 1;
    }
    rank
}

/// The lowest bits of an offset's blocks, together with the watched symbols, reveal little about its
/// compression. These bits reveal one bit of it rarely, two with probability below 2^-10, and three below
/// 2^-19. This holds for any symbols that are watched when the points are drawn. The test assumes that these
/// are symbols of the word itself. None is the first of a block, which would be known anyway.
#[test]
fn known_bits_of_an_offset_tell_little_of_its_compression() {
    let mut rng = Rng::replayable("test watched symbols");
    for security in [40, 80] {
        let hash = parameters::HashLevel::of(security).unwrap().labels;
        let code = ihash::SymbolCode::new(&hash);
        // Counts how often one bit is known, and how often more, and adds up how much easier a guess of the
        // offset becomes: 2^lost.
        let (mut told, mut more, mut gained, draws) = (0, 0, 0, 400);
        for _ in 0..draws {
            let mut hidden: Vec<usize> = (0..hash.l()).collect();
            while hidden.len() > hash.l() - hash.w() {
                let place = rng.below(hidden.len() as u64) as usize;
                if !hidden[place].is_multiple_of(16) {
                    hidden.remove(place);
                }
            }
            let points = code.seeded_evaluation(&rng.seed(), parameters::COMPRESSED);
            let mut words = Words::zeros(hash.l(), 8 * hidden.len());
            for k in 0..words.count() {
                words.symbols_mut(k)[hidden[k / 8]] = 1 << (k % 8);
            }
            let short = gates::compressed(&code, &points, &words);
            let known = |k: usize| match (hidden[k / 8], k % 8) {
                (symbol, 0) if symbol % 16 == 0 => 1 << (symbol / 16),
                _ => 0,
            };
            let rows = short.iter().enumerate().map(|(k, &short)| (short, known(k))).collect();
            let lost = 128 + hash.l() / 16 - rank(rows);
            assert!(lost <= 3, "{security}: {lost}");
            told += usize::from(lost > 0);
            more += usize::from(lost > 1);
            gained += 1 << lost;
        }
        assert!(told > 0 && told < draws / 8 && more <= 4, "{security}: {told}, {more}");
        // Guessing becomes easier by less than a factor of 5/4. The promise subtracts one bit, which allows a
        // factor of 2.
        assert!(4 * gained < 5 * draws, "{security}: {gained} of {draws}");
    }
}
