//! Rows 10, 11 and 30 of the table of attacks (docs/concepts/security.md, section 14): wrong solderings and
//! openings, and values that must never be opened twice.

use super::super::batch::Shape;
use super::super::challenge::BatchSizes;
use super::super::layout::{BatchSlots, Layout, WireLocation};
use super::super::msg;
use super::super::prepare::output_bucket;
use super::harness::*;
use crate::Cheat;
use crate::hooks::Point;
use crate::steps::Step;
use brickwork_circuit::{ComponentId, Party, Port, ProgramBuilder, Type};
use brickwork_primitives::commit::split::msg::{ANSWER, CORRECTIONS, SEED as PROOF};
use std::collections::HashSet;

/// All kinds of solderings that the garbler sends. One proof covers all of them.
const SOLDERINGS: [Point; 9] = [
    Point::BucketSolderings(0),
    Point::BucketSolderings(1),
    Point::PlainSolderings,
    Point::InputSolderings,
    Point::OutputSolderings(0),
    Point::OutputSolderings(1),
    Point::ProgramSolderings(0),
    Point::ProgramSolderings(1),
    Point::PrivateSolderings,
];

/// Checks that the proof shows a lie about each kind of soldering. A hook without labels is skipped.
fn caught_everywhere(lie: impl Fn(&mut [u8]) + Send + Sync + Copy + 'static) {
    for point in SOLDERINGS {
        for toy in [on_toy(), on_toy().in_files()] {
            let outcome = toy
                .lie(point, move |labels| {
                    if !labels.is_empty() {
                        lie(labels)
                    }
                })
                .run();
            outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
        }
    }
}

#[test]
fn row_10_wrong_soldering() {
    caught_everywhere(|labels| labels[5] ^= 0x40);
    caught_everywhere(|labels| labels[labels.len() - 1] ^= 0x80);
}

/// The lowest bit of a soldering is the difference of the two indicator bits.
#[test]
fn row_10_wrong_indicator_in_a_soldering() {
    caught_everywhere(|labels| labels[0] ^= 1);
    caught_everywhere(|labels| labels[labels.len() - 16] ^= 1);
}

#[test]
fn row_10_swapped_solderings() {
    caught_everywhere(|labels| swap(16, 0, labels.len() / 16 - 1)(labels));
}

/// A right soldering is sent in place of the one for another wire.
#[test]
fn row_10_soldering_of_another_wire() {
    caught_everywhere(|labels| labels.copy_within(16..32, 0));
}

#[test]
fn row_10_no_soldering() {
    caught_everywhere(|labels| labels[..16].fill(0));
}

/// The program determines the soldered wires; a message can neither add nor omit one.
#[test]
fn row_10_number_of_solderings() {
    let changes: [fn(&mut Vec<u8>); 3] =
        [|s| s.extend([0; 16]), |s| s.truncate(s.len() - 16), |s| s.extend_from_within(..)];
    let messages = [
        (msg::BUCKET_SOLDERINGS, 0, "preprocess", msg::OT_BINDING),
        (msg::BUCKET_SOLDERINGS, 3, "prepare", msg::OT_BINDING),
        (msg::OUTPUT_SOLDERINGS, 1, "prepare", msg::OT_BINDING),
        (msg::SOLDERINGS, 0, "build", msg::OT_BINDING),
        (msg::SOLDERINGS, 2, "build", msg::OT_BINDING),
    ];
    for change in changes {
        for (tag, nth, phase, last) in messages {
            let outcome = on_toy().sends(Party::Garbler, tag, nth, change).run();
            outcome.evaluator_caught(Cheat::UnexpectedMessage, phase, last);
        }
    }
}

/// A slot reads only earlier wires, so a program has no cycle, and it sets each input of a slot exactly once.
#[test]
fn row_10_cycles_and_inputs_soldered_twice() {
    let mut program = ProgramBuilder::new("cycle", vec![Port::new("x", Type::Uint(1))], vec![]).unwrap();
    let pair = program.component(pair()).unwrap();
    assert!(program.slot(pair, &[0, 1]).is_err(), "its own output");
    assert!(program.slot(pair, &[0, 3]).is_err(), "a later slot's output");
    assert!(program.slot(pair, &[0, 0, 0]).is_err(), "three wires for two inputs");
    assert!(program.slot(pair, &[0, 0]).is_ok());
}

/// The proofs in the order of the messages: of all commitments, of all openings, of inputs and outputs. Each
/// has its phase and the cheat that a lie about hidden values causes; the second proof has no hidden values.
const ANSWERS: [(&str, Cheat); 3] =
    [("prepare", Cheat::Commitment), ("build", Cheat::Opening), ("evaluate", Cheat::Indicator)];

#[test]
fn row_11_wrong_decommitment() {
    for (nth, (phase, hidden)) in ANSWERS.into_iter().enumerate() {
        let outcome =
            on_toy().sends(Party::Garbler, ANSWER, nth, |answer| *answer.last_mut().unwrap() ^= 2).run();
        outcome.evaluator_caught(Cheat::Opening, phase, PROOF);
        let outcome = on_toy().sends(Party::Garbler, ANSWER, nth, |answer| answer[2000] ^= 2).run();
        outcome.evaluator_caught(hidden, phase, PROOF);
    }
}

#[test]
fn row_11_swapped_decommitments() {
    for (nth, (phase, _)) in ANSWERS.into_iter().enumerate() {
        // In the last part of the answer, which is about values that the evaluator knows, each coordinate
        // gets the shares of the next coordinate.
        let swapped = |answer: &mut Vec<u8>| {
            let start = answer.len() - 275 * 16;
            answer[start..].rotate_left(16);
        };
        let outcome = on_toy().sends(Party::Garbler, ANSWER, nth, swapped).run();
        outcome.evaluator_caught(Cheat::Opening, phase, PROOF);
    }
}

/// Two equal lies cancel in their sum, but not in random combinations.
#[test]
fn row_11_two_lies_that_cancel() {
    caught_everywhere(|labels| flips(vec![0, 1], 33)(labels));
    let case = on_toy().lie(Point::PlainSolderings, flip(0, 60)).lie(Point::OutputSolderings(0), flip(0, 60));
    case.run().evaluator_caught(Cheat::Opening, "build", PROOF);
    let case =
        on_toy().lie(Point::ProgramSolderings(0), flip(1, 60)).lie(Point::ProgramSolderings(1), flip(1, 60));
    case.run().evaluator_caught(Cheat::Opening, "build", PROOF);
    let case = on_toy().lie(Point::DeltaDifferences(0), flips(vec![2, 4], 60));
    case.run().evaluator_caught(Cheat::Opening, "build", PROOF);
    let case = on_toy().lie(
        Point::CommittedOutputs(1),
        flips(opened(toy_bucketing()).iter().map(|copy| 2 * copy).collect(), 60),
    );
    case.run().evaluator_caught(Cheat::Opening, "build", PROOF);
}

fn toy_bucketing() -> brickwork_primitives::cut_and_choose::Bucketing {
    brickwork_primitives::cut_and_choose::Bucketing { slots: 2, bucket: 3, opened: 4 }
}

/// A wrong opening of a checked copy is detected, because the tables do not match.
#[test]
fn row_11_wrong_opening_of_a_copy() {
    for label in [0, 3, 4, 7] {
        let outcome = on_toy().lie(Point::Opened(0), flip(label, 44)).run();
        outcome.evaluator_caught(Cheat::OpenedCopy, "preprocess", msg::OT_BINDING);
    }
    let outcome = on_toy().lie(Point::Opened(1), swap(16, 0, 1)).run();
    outcome.evaluator_caught(Cheat::OpenedCopy, "preprocess", msg::OT_BINDING);
}

/// Wrong corrections in each message of commitments. The first two commitments get the same error in many
/// coordinates, so the errors cancel in their sum.
#[test]
fn row_11_corrections_that_leave_the_code() {
    // Messages of corrections: 2 for the offsets, 3 for each component, 3 for authenticators, 2 for OTs and 2
    // for masks, all in the first proof; 1 for masks in the last proof. The last message of either proof has
    // the masks of bits.
    for nth in 0..16 {
        let errors =
            |corrections: &mut Vec<u8>| corrections.chunks_mut(32).for_each(|coordinate| coordinate[0] ^= 3);
        let (cheat, phase) = match nth {
            14 => (Cheat::Indicator, "prepare"),
            15 => (Cheat::Indicator, "evaluate"),
            _ => (Cheat::Commitment, "prepare"),
        };
        let outcome = on_toy().sends(Party::Garbler, CORRECTIONS, nth, errors).run();
        outcome.evaluator_caught(cheat, phase, PROOF);
        // An invalid commitment is detected before E sends a challenge or its sums of OTs.
        let asked = outcome.events[1]
            .iter()
            .any(|e| matches!(e, PartyAction::Sent(msg::CHALLENGE | msg::OT_BINDING, _)));
        assert_eq!(asked, phase == "evaluate");
    }
}

/// No pair of wires is soldered twice, in either direction, because the sum of the two openings would be an
/// offset. No message can ask for it: both parties compute the pairs from the program and the challenge.
#[test]
fn row_30_no_pair_is_soldered_twice() {
    let program = toy();
    let parameters = small(&program, [3, 4], [5, 6], [3, 4]);
    let batch = |bucketing| BatchSizes::from(bucketing);
    let shapes: Vec<Shape> = (0..2)
        .map(|c| Shape::new(&program.components()[c].circuit, batch(parameters.components[c])))
        .collect();
    let owner = |(id, s): (u32, &Shape)| BatchSlots {
        component: ComponentId(id),
        slots: s.batch.buckets,
        outputs: s.outputs,
    };
    let owners: Vec<BatchSlots> = (0..).zip(&shapes).map(owner).collect();
    let layout = Layout::new(&Step::from(&program), &owners, &[parameters.input.slots as usize]);

    #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
    enum Wire {
        Input(usize, usize, usize),
        Output(usize, usize),
        Plain(usize),
        Gadget(usize),
        Ot(usize),
    }
    let (plain, input) = (batch(parameters.plain), batch(parameters.input));
    // The authenticators of outputs are numbered batch after batch.
    let first = |set: usize| shapes[..set].iter().map(|s| s.batch.buckets * s.outputs).sum::<usize>();
    let wire_of = |location: WireLocation| match location.set as usize {
        set @ 0..=1 => Wire::Plain((first(set) + location.bucket as usize) * plain.size),
        2 => Wire::Gadget(location.bucket as usize * input.size),
        _ => Wire::Ot(location.bucket as usize),
    };
    let location = |wire| wire_of(layout.location(wire));
    let mut pairs: Vec<[Wire; 2]> = Vec::new();
    for (b, shape) in shapes.iter().enumerate() {
        pairs.extend((0..shape.bucket_solderings()).map(|k| {
            let (head, copy, wire) = shape.bucket_soldering(k);
            [Wire::Input(b, head, wire), Wire::Input(b, copy, wire)]
        }));
        let outputs = shape.batch.chosen() * shape.outputs;
        pairs.extend(
            (0..outputs).map(|k| {
                [Wire::Output(b, k), Wire::Plain((first(b) + output_bucket(*shape, k)) * plain.size)]
            }),
        );
        for (bucket, &slot) in layout.slots[b].iter().enumerate() {
            let inputs = program.slot(slot as usize).inputs;
            pairs.extend(
                inputs
                    .iter()
                    .enumerate()
                    .map(|(w, &from)| [location(from), Wire::Input(b, bucket * shape.batch.size, w)]),
            );
        }
    }
    pairs.extend((0..plain.pairs()).map(|k| [plain.pair(k).0, plain.pair(k).1].map(Wire::Plain)));
    pairs.extend((0..input.pairs()).map(|k| [input.pair(k).0, input.pair(k).1].map(Wire::Gadget)));
    let private = layout.sealed_outputs.iter().enumerate();
    pairs.extend(private.map(|(k, &from)| [location(from), wire_of(layout.sealed_location(k))]));

    assert_eq!(pairs.len(), 2 * 2 * 2 + 2 * 2 * 4 + 2 * 2 * 6 + 2 * 2 + 2 * 4 + 4 * 8 + 2 * 5 + 2);
    let unordered: HashSet<[Wire; 2]> = pairs
        .iter()
        .map(|&[from, to]| {
            assert_ne!(from, to);
            [from.min(to), from.max(to)]
        })
        .collect();
    assert_eq!(unordered.len(), pairs.len());
    // The solderings have no longer cycle, either, because the sum of the openings along a cycle could be an
    // offset. So every soldering must join two parts that are not connected yet.
    let mut part: std::collections::HashMap<Wire, Wire> = pairs.iter().flatten().map(|&w| (w, w)).collect();
    for [a, b] in pairs {
        let root = |mut w: Wire| {
            while part[&w] != w {
                w = part[&w];
            }
            w
        };
        let (a, b) = (root(a), root(b));
        assert_ne!(a, b, "a cycle of solderings");
        part.insert(a, b);
    }
}

/// A proof has one answer, so no value is opened in two ways: a second answer is an unexpected message.
#[test]
fn row_30_one_answer_to_one_challenge() {
    for (nth, (phase, _)) in ANSWERS.into_iter().enumerate() {
        let outcome =
            on_toy().sends(Party::Garbler, ANSWER, nth, |answer| answer.extend_from_within(..)).run();
        outcome.evaluator_caught(Cheat::UnexpectedMessage, phase, PROOF);
        let garbler_last =
            outcome.events[0].iter().filter(|e| matches!(e, PartyAction::Sent(ANSWER, _))).count();
        assert_eq!(garbler_last, nth + 1);
        // The garbler accepts one seed for each proof.
        let outcome = on_toy().sends(Party::Evaluator, PROOF, nth, |seed| seed.extend_from_within(..)).run();
        let last = if phase == "build" { msg::SOLDERINGS } else { CORRECTIONS };
        outcome.caught(Party::Garbler, Cheat::UnexpectedMessage, phase, last);
    }
}
