//! The rows that protocols share: the same cheats against base OTs, greetings, the order of messages, and
//! randomness.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brickwork::circuit::Party::{self, Evaluator, Garbler};
use brickwork::ot::{self, BASE_OT};
use brickwork::protocol::msg::HELLO;
use brickwork::random::Rng;
use brickwork::wire::Tag;
use brickwork_harness::{Case, Ending, Rigged};

use crate::attack::{Catalogue, Name, Played, caught, certain};

/// Adds attacks on base OTs, with the parties that send the identity and an encoding of no point.
pub(crate) fn base_ots<P: Rigged>(all: &mut Catalogue<P>, [identity, no_point]: [Party; 2]) {
    let toy = all.toy;
    let real = move |rng: &mut Rng| toy(rng).with_base_ots();
    let story = match identity {
        Garbler => {
            "The garbler sends the identity as its point of the base OTs: every key would be known to \
             everybody."
        }
        Evaluator => {
            "The evaluator sends the identity as its point of the base OTs: every key would be known to \
             everybody."
        }
    };
    let _ = all.add((1, "identity"), story, identity, caught(ot::Cheat::BaseOtIdentity), move |rng| {
        real(rng).sends(identity, BASE_OT, 0, |points| points[..32].fill(0))
    });
    let story = match no_point {
        Garbler => "The garbler's point of the base OTs is not in the group.",
        Evaluator => "The evaluator's point of the base OTs is not in the group.",
    };
    let _ = all.add((1, "no_point"), story, no_point, caught(ot::Cheat::BaseOtPoint), move |rng| {
        real(rng).sends(no_point, BASE_OT, 0, |points| points[..32].fill(0xff))
    });
    let story =
        "The garbler sends a key of a base OT from lattices in which a number is not below the modulus.";
    let _ = all.add((1, "no_vector"), story, Garbler, caught(ot::Cheat::BaseOtVector), move |rng| {
        real(rng).post_quantum().sends(Garbler, BASE_OT, 0, |keys| keys[32..35].fill(0xff))
    });
}

/// Adds a garbler that alters its greeting: all are refused before anything depends on a secret.
pub(crate) fn greetings<P: Rigged>(all: &mut Catalogue<P>) {
    type Greeting = (Name, usize, fn(&mut u8), &'static str);
    let greetings: [Greeting; 4] = [
        (
            (19, "older_version"),
            4,
            |byte| *byte -= 1,
            "The garbler claims an older version: versions are not negotiable.",
        ),
        (
            (19, "lower_security"),
            8,
            |byte| *byte = 20,
            "The garbler proposes a lower level of security: levels are not negotiable.",
        ),
        (
            (18, "reflected_greeting"),
            12,
            |byte| *byte ^= 1,
            "The garbler sends the evaluator's own greeting back.",
        ),
        (
            (19, "another_program"),
            16,
            |byte| *byte ^= 1,
            "The evaluator is given a program that differs from the garbler's.",
        ),
    ];
    for (name, place, alter, story) in greetings {
        all.on_toy(name, certain(Ending::Refused), Garbler, story, move |case| {
            case.sends(Garbler, HELLO, 0, move |hello| alter(&mut hello[place]))
        });
    }
}

/// A late message: the variant, the message, the check that fails, and the story.
pub(crate) type Late = (&'static str, (Tag, usize), brickwork::Cheat, &'static str);

/// Adds a garbler's messages that are late and wrong (row 17): nothing that depends on their check is sent
/// before.
pub(crate) fn late<P: Rigged>(all: &mut Catalogue<P>, late: [Late; 3]) {
    for (variant, (tag, nth), check, story) in late {
        all.sends((17, variant), check, (Garbler, tag, nth), story, |message| {
            std::thread::sleep(Duration::from_millis(20));
            message.iter_mut().for_each(|byte| *byte ^= 2);
        });
    }
}

/// Adds honest runs with a random challenge, which must draw new randomness each time (row 26), with both
/// parties' stories. Messages with the `public` tags may be the same in two runs.
pub(crate) fn fresh<P: Rigged>(
    all: &mut Catalogue<P>,
    run: fn(&mut Rng) -> Case<P>,
    [garbler, evaluator]: [&'static str; 2],
    public: &'static [Tag],
) {
    for (role, variant, story) in
        [(Garbler, "garbler_starts_afresh", garbler), (Evaluator, "evaluator_starts_afresh", evaluator)]
    {
        let _ = all.played((26, variant), story, None, certain(Ending::Survived), move |rng| {
            let [one, two] = [said(run(rng), role)?, said(run(rng), role)?];
            nothing_twice(&one, &two, public)
        });
    }
}

/// A message that a party sent.
type Message = (Tag, Vec<u8>);

/// Returns a party's messages in a run, always on the same inputs. Each run has its own base OTs.
fn said<P: Rigged>(case: Case<P>, role: Party) -> Result<Vec<Message>, String> {
    let said: Arc<Mutex<Vec<Message>>> = Arc::default();
    let noted = said.clone();
    let [x, y] = [Garbler, Evaluator].map(|party| vec![true; case.program().input_width(party)]);
    let case = case.with_base_ots().inputs(&x, &y).tampers(role, move |tag, bytes| {
        noted.lock().expect("no panic").push((tag, bytes.clone()));
    });
    let outcome = case.run_alone();
    outcome.garbler.and(outcome.evaluator).map_err(|error| error.to_string())?;
    let said = said.lock().expect("no panic").clone();
    Ok(said)
}

/// Checks that no message with the length of a key occurs in both runs.
fn nothing_twice(one: &[Message], two: &[Message], public: &[Tag]) -> Played {
    let again = one
        .iter()
        .zip(two)
        .find(|((tag, one), (_, two))| !public.contains(tag) && one.len() >= 16 && one == two);
    match again {
        Some(((tag, _), _)) => Err(format!("a party says the same {tag:?} twice")),
        None => Ok(Ending::Survived),
    }
}
