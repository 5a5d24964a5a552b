//! Tests sessions with a share of a promise and a purpose, on which jobs of many lanes rest.

use std::path::Path;
use std::sync::Arc;

use brickwork::circuit::{Party, Program, Recipient};
use brickwork::disk::{EpochEntry, Store, StoreKey};
use brickwork::duplo::{Duplo, FromStock, Lacking, Request, Step, Stocked};
use brickwork::protocol::stock::inventory::inventory;
use brickwork::protocol::{Terms, Unobserved};
use brickwork::wire::{Channel, memory_pair};
use brickwork::{ProtocolError as Error, Security};

use super::{program, terms};

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

/// The actions of one party.
type Play<'p, T> = &'p (dyn Fn(Party, Stocked) -> Result<T, Error> + Sync);

fn store(root: &Path, party: Party) -> Store {
    Store::open(&root.join(format!("{party:?}")), &KEY).unwrap()
}

fn terms_of(shares: u32) -> Terms {
    Terms { security: Security::shared(40, shares).unwrap(), ..terms() }
}

/// Both parties meet, each with these terms and this purpose, and run the closure.
fn meet<T: Send>(root: &Path, of: [(u32, u8); 2], play: Play<T>) -> [Result<T, Error>; 2] {
    let (left, right) = memory_pair();
    let one = |party: Party, channel: Channel| {
        let (shares, purpose) = of[party as usize];
        let store = store(root, party);
        let terms = terms_of(shares);
        play(party, Stocked::open_for([purpose; 32], party, channel, &store, &terms, Unobserved)?)
    };
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| one(Party::Garbler, left));
        let evaluator = one(Party::Evaluator, right);
        [garbler.join().unwrap(), evaluator]
    })
}

fn fill(session: Stocked, program: &Program, times: usize) -> Result<(), Error> {
    let counts = program.slots_by_component().into_iter().map(|n| n * times);
    let request = Request {
        components: program.components().iter().cloned().zip(counts).collect(),
        garbler_wires: times * Request::of(program).garbler_wires,
        ots: Some(times * program.input_width(Party::Evaluator)),
    };
    session.preprocess(std::slice::from_ref(&request))?.1.close().map(drop)
}

fn run(session: Stocked, step: &Step, party: Party) -> Result<(FromStock, Stocked), Error> {
    session.run(step, &vec![party == Party::Garbler; step.input_width(party)], Lacking::Refuse)
}

/// All programs from an epoch with a share of a promise stay within the share together, even if making the
/// stock used all of it. Such an epoch is filled only once.
#[test]
fn the_programs_of_an_epoch_keep_its_share_together() {
    let (folder, program) = (tempfile::tempdir().unwrap(), program(1, Recipient::Both));
    let root = folder.path();
    let of = [(20, 1); 2];
    let filling = |_, session| fill(session, &program, 2);
    meet(root, of, &filling).into_iter().for_each(Result::unwrap);
    let step = Step::from(&program);
    let running = |party, session| {
        let (first, session) = run(session, &step, party)?;
        let (second, session) = run(session, &step, party)?;
        session.close()?;
        Ok([first, second])
    };
    let share = terms_of(20).security.log2();
    for result in meet(root, of, &running) {
        for done in result.unwrap() {
            assert_eq!(done.promise.statistical_bits, 40);
            let of_epoch = done.promise.epoch_bound_log2.unwrap();
            assert!(of_epoch <= share && of_epoch > share - 6.0, "{of_epoch} of {share}");
            assert!(done.promise.bound_log2 <= of_epoch + 1e-9);
            // The commitments' code is that of the next security level, so its part of the bound is small.
            assert!(done.promise.budget.iter().any(|spent| spent.bound_log2 < -64.0));
        }
    }
    // Added stock goes into another epoch.
    meet(root, of, &filling).into_iter().for_each(Result::unwrap);
    for party in [Party::Garbler, Party::Evaluator] {
        let store = store(root, party);
        assert_eq!(store.epochs().unwrap().len(), 2);
        assert!(
            inventory::<Duplo>(&store)
                .unwrap()
                .iter()
                .all(|part| part.epoch.security == terms_of(20).security)
        );
    }
}

/// A peer with another lane, attempt or share of the promise is refused before the stores are compared. Both
/// keep their stock, and neither store becomes a pair with the other.
#[test]
fn another_purpose_is_refused_before_stores_meet() {
    let (folder, program) = (tempfile::tempdir().unwrap(), program(0, Recipient::Both));
    let root = folder.path();
    let filling = |_, session| fill(session, &program, 1);
    let words = [("another lane", [(20, 1), (20, 2)]), ("divides the promise among", [(20, 1), (21, 1)])];
    let refused = || {
        for (words, of) in words {
            for result in meet(root, of, &filling) {
                assert!(matches!(&result, Err(Error::Mismatch(why)) if why.contains(words)), "{result:?}");
            }
        }
    };
    refused();
    for party in [Party::Garbler, Party::Evaluator] {
        let store = store(root, party);
        assert!(store.epochs().unwrap().is_empty() && store.pairs().unwrap().is_empty());
    }
    meet(root, [(20, 1); 2], &filling).into_iter().for_each(Result::unwrap);
    refused();
    let step = Step::from(&program);
    let running = |party, session| run(session, &step, party)?.1.close().map(drop);
    meet(root, [(20, 1); 2], &running).into_iter().for_each(Result::unwrap);
}

/// The log records the purpose of each step, and both parties must name the same.
#[test]
fn the_log_says_what_a_step_was_for() {
    let (folder, program) = (tempfile::tempdir().unwrap(), program(0, Recipient::Both));
    let root = folder.path();
    let of = [(2, 0); 2];
    meet(root, of, &|_, session| fill(session, &program, 2)).into_iter().for_each(Result::unwrap);
    let steps = [3, 4].map(|purpose| Step::from(&program).for_purpose([purpose; 32]));
    assert!(steps[0].entered_as() != steps[1].entered_as() && steps[0].entered_as() != program.digest());
    let crossed = meet(root, of, &|party, session| run(session, &steps[party as usize], party).map(drop));
    assert!(crossed.iter().all(|result| matches!(result, Err(Error::Mismatch(_)))), "{crossed:?}");
    let entered = |party: Party, step: &Step| {
        let store = store(root, party);
        let asked = step.entered_as();
        let is_it =
            |entry: &EpochEntry| matches!(entry, EpochEntry::Use { program, .. } if *program == asked);
        let mut epochs = store.epochs().unwrap().into_iter();
        epochs.any(|(id, _)| store.log(&id).unwrap().iter().any(is_it))
    };
    for party in [Party::Garbler, Party::Evaluator] {
        assert!(!steps.iter().any(|step| entered(party, step)));
    }
    let same = meet(root, of, &|party, session| run(session, &steps[1], party)?.1.close().map(drop));
    same.into_iter().for_each(Result::unwrap);
    for party in [Party::Garbler, Party::Evaluator] {
        assert!(entered(party, &steps[1]) && !entered(party, &steps[0]));
    }
}

/// A share of a promise for which no code is strong enough gives an error with this reason.
#[test]
fn a_share_without_a_code_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), Party::Garbler);
    let (left, right) = memory_pair();
    let terms = Terms { security: Security::shared(80, 2).unwrap(), ..terms() };
    let program: Arc<Program> = program(0, Recipient::Both);
    let results = std::thread::scope(|scope| {
        let other = folder.path().join("other");
        let terms = &terms;
        let program = &program;
        let evaluator = scope.spawn(move || {
            let store = Store::open(&other, &KEY).unwrap();
            fill(Stocked::open(Party::Evaluator, right, &store, terms, Unobserved)?, program, 1)
        });
        let garbler = Stocked::open(Party::Garbler, left, &store, terms, Unobserved)
            .and_then(|session| fill(session, program, 1));
        [garbler, evaluator.join().unwrap()]
    });
    assert!(
        results
            .iter()
            .any(|r| matches!(r, Err(Error::Usage(why)) if why.contains("no error-correcting code"))),
        "{results:?}"
    );
}
