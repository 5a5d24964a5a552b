//! Parties that name no protocol, or several, run the fastest protocol that both accept.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use brickwork::protocol::Model;
use brickwork::{
    Error, ErrorKind, Identity, Inputs, Party, Program, Protocol, Run, Store, StoreKey, run_local,
};

const RICHER: &str = "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n\
                      #output 2 uint_t 1\n\
                      function void main() { output1 = input1 > input2; output2 = output1; }";

fn program() -> Program {
    Program::from_source("richer.wir", RICHER).unwrap()
}

/// Runs both parties over a socket pair; each accepts these protocols, or names none.
fn meet(garblers: &[Protocol], evaluators: &[Protocol]) -> [Result<Run, Error>; 2] {
    let (left, right) = UnixStream::pair().unwrap();
    let party = |role: fn(Identity) -> Party, line: UnixStream, accepted: &[Protocol]| {
        line.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let writer = line.try_clone().unwrap();
        let mut party = role(Identity::generate().unwrap().0).over(line, writer).unwrap();
        if !accepted.is_empty() {
            party.accept(accepted.iter().copied());
        }
        party
    };
    let mut garbler = party(Party::garbler, left, garblers);
    let mut evaluator = party(Party::evaluator, right, evaluators);
    std::thread::scope(|scope| {
        let garbler = scope.spawn(move || garbler.run(&program(), &Inputs::from(("input1", 7u32))));
        let evaluator = evaluator.run(&program(), &Inputs::from(("input2", 5u32)));
        [garbler.join().unwrap(), evaluator]
    })
}

#[test]
fn the_protocol_is_one_that_both_accept() {
    let cases: [(&[Protocol], &[Protocol], &[Protocol]); 7] = [
        (&[], &[], &[Protocol::AUTHENTICATED, Protocol::DUPLO, Protocol::LEGO, Protocol::JIMU]),
        (&[Protocol::LEGO], &[], &[Protocol::LEGO]),
        (&[], &[Protocol::JIMU], &[Protocol::JIMU]),
        (&[], &[Protocol::DUPLO], &[Protocol::DUPLO]),
        (&[Protocol::DUPLO, Protocol::JIMU], &[Protocol::JIMU, Protocol::LEGO], &[Protocol::JIMU]),
        (&[Protocol::SEMI_HONEST, Protocol::DUPLO], &[Protocol::SEMI_HONEST], &[Protocol::SEMI_HONEST]),
        (&[Protocol::COMPGC], &[Protocol::COMPGC], &[Protocol::COMPGC]),
    ];
    for (garblers, evaluators, possible) in cases {
        let [garbler, evaluator] = meet(garblers, evaluators).map(Result::unwrap);
        assert!(
            possible.contains(&garbler.report.protocol),
            "{garblers:?} {evaluators:?}: {}",
            garbler.report.protocol
        );
        assert_eq!(garbler.report.protocol, evaluator.report.protocol);
        for run in [&garbler, &evaluator] {
            assert!(run.outputs.get::<bool>("output").unwrap());
        }
        let has_reason =
            |accepted: &[Protocol], run: &Run| run.report.protocol_reason.is_some() == (accepted.len() != 1);
        assert!(
            has_reason(garblers, &garbler) && has_reason(evaluators, &evaluator),
            "{garbler:?} {evaluator:?}"
        );
    }
}

/// Parties that name no protocol run no protocol that is insecure against a cheater.
#[test]
fn without_a_word_no_protocol_runs_that_a_cheater_breaks() {
    for (garblers, evaluators) in [
        (&[Protocol::SEMI_HONEST][..], &[][..]),
        (&[], &[Protocol::SEMI_HONEST]),
        (&[], &[Protocol::COMPGC, Protocol::SEMI_HONEST]),
        (&[Protocol::LEGO], &[Protocol::JIMU]),
    ] {
        for result in meet(garblers, evaluators) {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            assert!(error.message().contains("the garbler has --protocol"), "{error}");
        }
    }
}

/// Two parties that name no protocol run the same one, chosen by prediction, with a bound of at most 2^-40.
#[test]
fn the_fastest_is_taken() {
    let [garbler, evaluator] = run_local(&program(), ("input1", 1u32), ("input2", 2u32)).unwrap();
    assert_eq!(garbler.report.protocol, evaluator.report.protocol);
    assert!(garbler.report.promise.bound_log2 <= -40.0 && evaluator.report.promise.bound_log2 <= -40.0);
    assert!(garbler.report.protocol_reason.is_some_and(|reason| reason.starts_with("predicted to take ")));
}

/// Stock of a protocol that a cheater breaks is used only by a party that accepts that protocol.
#[test]
fn a_store_chooses_no_protocol_that_is_not_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let key = StoreKey::from_hex(&StoreKey::generate().unwrap()).unwrap();
    let pems = [Identity::generate().unwrap().1, Identity::generate().unwrap().1];
    let identity = |k: usize| Identity::from_pem(&pems[k]).unwrap();
    let both = |accepted: &[Protocol]| {
        let (left, right) = UnixStream::pair().unwrap();
        let play = |k: usize, role: fn(Identity) -> Party, line: UnixStream| {
            line.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let party = role(identity(k)).peer(identity(1 - k).public_key());
            let mut party = party.over(line.try_clone().unwrap(), line)?;
            party.accept(accepted.iter().copied());
            party.store(Store::open(&folder.path().join(k.to_string()), &key)?);
            let mut session = party.session()?;
            session.prepare(&program(), 1)?;
            let port = ["input1", "input2"][k];
            let run = session.run(&program(), &Inputs::from((port, 5u32)))?;
            session.close().map(|_| run.promise.model)
        };
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| play(0, Party::garbler, left));
            let evaluator = play(1, Party::evaluator, right);
            [garbler.join().unwrap(), evaluator]
        })
    };
    for model in both(&[Protocol::SEMI_HONEST]) {
        assert_eq!(model.unwrap(), Model::SemiHonest);
    }
    // The store still has stock of this protocol, but nobody accepts the protocol now.
    for result in both(&[]) {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stock, "{error}");
    }
    for model in both(&[Protocol::SEMI_HONEST, Protocol::DUPLO]) {
        assert_eq!(model.unwrap(), Model::SemiHonest);
    }
}
