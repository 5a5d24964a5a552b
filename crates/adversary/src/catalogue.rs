//! The attacks on DUPLO, row by row.

mod attacks;
mod disk;
mod line;

use std::time::Duration;

use brickwork::circuit::{Party, Recipient};
use brickwork::commit::split::msg::{ANSWER, CORRECTIONS};
use brickwork::cut_and_choose::Bucketing;
use brickwork::duplo::Cheat;
use brickwork::duplo::adversary::Point;
use brickwork::duplo::adversary::harness::{
    Case, HonestEnding, ands, chosen, flip, flips, opened, small, swap,
};
use brickwork::duplo::msg;
use brickwork::ot::{BASE_OT, extension};
use brickwork::protocol::msg::HELLO;
use brickwork::random::Rng;

use crate::sampler::{choose, exact};
pub use attacks::Attack;
use attacks::{CERTAIN, Catalogue};

/// The cut of both components of the toy program.
const CUT: Bucketing = Bucketing { slots: 2, bucket: 3, opened: 4 };

/// A run with one bit of each party and two AND gates, whose cut needs few copies. `y` is the evaluator's
/// bit.
fn one_bit(y: bool, ot_binding: usize, rng: &mut Rng, attack: impl FnOnce(Case) -> Case) -> Case {
    let program = ands(1, Recipient::Both);
    let case = Case::new(&program, small(&program, [1, 0], [1, 0], [1, 0])).inputs(&[true], &[y]);
    let case = [Party::Garbler, Party::Evaluator]
        .into_iter()
        .fold(case, |case, party| case.wants(party, |_, p| p.ot_binding = ot_binding));
    attack(case).cheap(rng)
}

/// Returns all attacks.
pub fn catalogue() -> Vec<Attack> {
    let mut all = Catalogue(Vec::new());
    ots(&mut all);
    commitments(&mut all);
    copies(&mut all);
    authenticators(&mut all);
    inputs(&mut all);
    outputs(&mut all);
    agreement(&mut all);
    order(&mut all);
    disk::attacks(&mut all);
    line::attacks(&mut all);
    all.0.sort_by_key(|attack| attack.row);
    all.0
}

fn ots(all: &mut Catalogue) {
    all.caught(
        (1, "identity"),
        Cheat::BaseOtIdentity,
        "The garbler sends the identity as its point of the base OTs: every key would be known to everybody.",
        |c| c.sends(Party::Garbler, BASE_OT, 0, |points| points[..32].fill(0)),
    );
    let no_point = vec![(HonestEnding::Caught(Cheat::BaseOtPoint), 1.0)];
    all.add(
        (1, "no_point"),
        "The evaluator's point of the base OTs is not in the group.",
        Party::Evaluator,
        no_point,
        CERTAIN,
        |_| Case::toy().sends(Party::Evaluator, BASE_OT, 0, |points| points[..32].fill(0xff)),
    );
    all.caught(
        (1, "no_vector"),
        Cheat::BaseOtVector,
        "The garbler sends a key of a base OT from lattices in which a number is not below the modulus.",
        |c| c.post_quantum().sends(Party::Garbler, BASE_OT, 0, |keys| keys[32..35].fill(0xff)),
    );
    all.caught(
        (2, "wrong_answer"),
        Cheat::OtExtension,
        "The evaluator answers the check of the OT extension wrongly, as if one row had choices that differ \
         from those in the other rows.",
        |c| c.sends(Party::Evaluator, extension::msg::CHECK, 0, |answer| answer[16] ^= 1),
    );
    all.caught(
        (27, "other_bit"),
        Cheat::OtBinding,
        "The evaluator names the other choice bit of an OT that is opened: the opening would be the \
         garbler's secret offset.",
        |c| {
            // The message has a seed and 48 labels. The bits follow.
            c.evaluator_lies(Point::OtBinding, |shown| shown[16 * 49] ^= 1)
        },
    );
}

fn commitments(all: &mut Catalogue) {
    for k in 1..=3u32 {
        // A correction is wrong in k coordinates. In each of them, the evaluator watches one of two shares.
        let variant = ["", "one_coordinate", "two_coordinates", "three_coordinates"][k as usize];
        let p = 0.5f64.powi(k as i32);
        let endings = vec![(HonestEnding::Caught(Cheat::Commitment), 1.0 - p), (HonestEnding::Survived, p)];
        let story = [
            "",
            "The garbler commits to a word that is no codeword, because one coordinate is wrong. It guesses \
             which of the two shares of this coordinate is watched. With 42 wrong coordinates it could open \
             two values.",
            "The garbler commits to a word that is wrong in two coordinates: both guesses of the watched \
             shares must be right.",
            "The garbler commits to a word that is wrong in three coordinates: each wrong coordinate halves \
             the chance of success, and 42 are needed to open two values.",
        ][k as usize];
        all.add((3, variant), story, Party::Garbler, endings, 1500, move |rng| {
            let leave = move |rows: &mut Vec<u8>| {
                (0..k as usize).for_each(|coordinate| rows[16 * 5 * coordinate] ^= 1)
            };
            let program = ands(1, Recipient::Both);
            Case::new(&program, small(&program, [1, 0], [1, 0], [1, 0]))
                .sends(Party::Garbler, CORRECTIONS, 2, leave)
                .cheap(rng)
        });
    }
    all.caught(
        (11, "wrong_decommitment"),
        Cheat::Opening,
        "The garbler opens a sum of commitments to a value that is not its value.",
        |c| c.sends(Party::Garbler, ANSWER, 1, |answer| *answer.last_mut().expect("an answer") ^= 2),
    );
    all.caught(
        (11, "lies_that_cancel"),
        Cheat::Opening,
        "The garbler tells the same lie about two openings, so that the two lies cancel in a sum of both.",
        |c| c.lie(Point::DeltaDifferences(0), flips(vec![2, 4], 60)),
    );
    all.caught(
        (7, "indicator_bit"),
        Cheat::Indicator,
        "The garbler lies about which label of the evaluator's output stands for false: it would flip the \
         output.",
        |c| c.lie(Point::Indicators, flip(0, 0)),
    );
    all.caught(
        (10, "wrong_soldering"),
        Cheat::Opening,
        "The garbler solders a slot's input with a wrong difference.",
        |c| c.lie(Point::ProgramSolderings(0), flip(0, 20)),
    );
    all.caught(
        (10, "other_wire"),
        Cheat::Opening,
        "The garbler swaps two solderings: the slot would read a wire that is not the one in the program.",
        |c| c.lie(Point::ProgramSolderings(1), swap(16, 0, 1)),
    );
}

fn copies(all: &mut Catalogue) {
    all.caught(
        (4, "fewer_opened"),
        Cheat::UnexpectedMessage,
        "The garbler opens fewer copies than agreed.",
        |c| c.sends(Party::Garbler, msg::OPENED, 0, |copies| copies.truncate(copies.len() - 16)),
    );
    let size = vec![(HonestEnding::Caught(Cheat::UnexpectedMessage), 1.0)];
    all.add(
        (4, "challenge_of_another_size"),
        "The evaluator sends a shorter challenge.",
        Party::Evaluator,
        size,
        CERTAIN,
        |_| Case::toy().sends(Party::Evaluator, msg::CHALLENGE, 0, |seeds| seeds.truncate(16)),
    );
    all.caught(
        (5, "flipped_table"),
        Cheat::OpenedCopy,
        "The garbler flips a bit of a garbled table, in a copy that is opened.",
        |c| c.tables(|_, copy, _, bytes| bytes[0] ^= u8::from(copy == opened(CUT)[0])),
    );
    let survives = vec![(HonestEnding::Survived, 1.0)];
    let story = "The garbler flips a bit of a garbled table, in a copy that is used: the other copies of the \
                 slot outvote it.";
    all.add((5, "flipped_table_in_use"), story, Party::Garbler, survives, CERTAIN, |_| {
        Case::toy().tables(|component, copy, _, bytes| {
            bytes[7] ^= u8::from((component, copy) == (1, chosen(CUT)[2]))
        })
    });
    all.caught(
        (5, "swapped_tables"),
        Cheat::OpenedCopy,
        "The garbler exchanges the tables of two copies, and both are opened.",
        |c| c.lie(Point::TableHashes(0), swap(32, opened(CUT)[0], opened(CUT)[1])),
    );
    let survives = vec![(HonestEnding::Survived, 1.0)];
    let story = "The garbler exchanges the tables of two copies of one slot, and both are used: the third \
                 copy gives the right labels.";
    all.add((5, "swapped_tables_in_use"), story, Party::Garbler, survives, CERTAIN, |_| {
        let chosen = chosen(CUT);
        // Tables are sent in the order of the copies.
        let rank = |copy| chosen.iter().filter(|other| **other < copy).count();
        let (first, second) = (rank(chosen[0]), rank(chosen[1]));
        let case = Case::toy().lie(Point::TableHashes(0), swap(32, chosen[0], chosen[1]));
        case.sends(Party::Garbler, msg::TABLES, 0, move |tables| swap(32, first, second)(tables))
    });
    all.caught(
        (5, "tables_after_the_challenge"),
        Cheat::ChosenTables,
        "The garbler knows which copies are not opened, and then sends tables that differ from the hashed \
         ones.",
        |c| c.sends(Party::Garbler, msg::TABLES, 0, |tables| tables[0] ^= 1),
    );
    all.caught(
        (5, "whole_bucket"),
        Cheat::NoValidLabel,
        "The garbler knows the challenge beforehand and spoils a whole bucket: no label is valid, so the \
         evaluator accepts no wrong output.",
        |c| {
            c.lie(
                Point::CommittedOutputs(0),
                flips(chosen(CUT)[..3].iter().map(|copy| 2 * copy).collect(), 99),
            )
        },
    );
    let story = "With few copies, 16 for 4 slots: the garbler makes three of them bad. It hopes that none of \
                 the three is opened, and that a bucket has only bad copies.";
    all.bad_copies(
        (5, "bucket_of_2_among_4"),
        story,
        Bucketing { slots: 4, bucket: 2, opened: 8 },
        3,
        99,
        4000,
    );
    let story = "With few copies, 32 for 8 slots: the garbler makes three of them bad. With more slots, it \
                 is less probable that bad copies come into one bucket.";
    all.bad_copies(
        (5, "bucket_of_2_among_8"),
        story,
        Bucketing { slots: 8, bucket: 2, opened: 16 },
        3,
        99,
        4000,
    );
    let story = "With few copies and buckets of three: the garbler makes four of them bad. It hopes that \
                 none of the four is opened, and that a bucket has only bad copies.";
    all.bad_copies(
        (5, "bucket_of_3_among_4"),
        story,
        Bucketing { slots: 4, bucket: 3, opened: 12 },
        4,
        99,
        6000,
    );
    let story = "With few copies: two bad copies give a valid label for the opposite bit. If both are in one \
                 bucket, the evaluator accepts a wrong output. In two buckets they disclose the garbler's \
                 input.";
    all.bad_copies(
        (14, "opposite_label_among_4"),
        story,
        Bucketing { slots: 4, bucket: 2, opened: 8 },
        2,
        0,
        3000,
    );
    all.caught(
        (6, "opened_offset_ends_in_0"),
        Cheat::OffsetColour,
        "The garbler opens an offset that ends in 0: solderings of the copy could lie.",
        |c| c.lie(Point::Opened(0), flip(0, 0)),
    );
    all.caught(
        (6, "link_ends_in_1"),
        Cheat::DeltaDifferenceColour,
        "The garbler links a copy whose offset ends in 0.",
        |c| c.lie(Point::DeltaDifferences(0), flip(0, 0)),
    );
    all.caught(
        (6, "other_offset"),
        Cheat::OpenedCopy,
        "The garbler garbles a copy with an offset that differs from the committed one, and the copy is \
         opened.",
        |c| c.lie(Point::GarbledOffsets(1), flip(opened(CUT)[0], 50)),
    );
    all.caught(
        (6, "other_offset_in_use"),
        Cheat::Opening,
        "The garbler garbles a copy with an offset that differs from the committed one, and the copy is \
         used: its solderings show the lie.",
        |c| c.lie(Point::GarbledOffsets(1), flip(chosen(CUT)[3], 50)),
    );
}

fn authenticators(all: &mut Catalogue) {
    all.caught(
        (8, "all_refuse"),
        Cheat::KeyAuthenticator,
        "The garbler makes key authenticators that refuse every label. If such an authenticator were used, \
         the evaluator's input could decide if the evaluator stops.",
        |c| c.lie(Point::PlainAuthenticators, |hashes| hashes.fill(0)),
    );
    for half in 0..2usize {
        let variant = ["half_of_colour_0", "half_of_colour_1"][half];
        let story = [
            "The garbler makes the hash for colour 0 wrong in every key authenticator. The check opens one \
             of the two labels at random, so half of the time it opens the label of colour 1 and finds \
             nothing.",
            "The garbler makes the hash for colour 1 wrong in every key authenticator: the check finds it as \
             often as a wrong hash for colour 0.",
        ][half];
        // A wrong authenticator that the check misses spoils the gate's output if the output's random colour
        // is the wrong one.
        let endings = vec![
            (HonestEnding::Caught(Cheat::KeyAuthenticator), 0.5),
            (HonestEnding::Caught(Cheat::NoValidLabel), 0.25),
            (HonestEnding::Survived, 0.25),
        ];
        all.add((8, variant), story, Party::Garbler, endings, 1500, move |rng| {
            let program = ands(1, Recipient::Both);
            let wrong = move |hashes: &mut [u8]| hashes.chunks_mut(32).for_each(|pair| pair[16 * half] ^= 1);
            Case::new(&program, small(&program, [1, 0], [1, 1], [1, 0]))
                .lie(Point::PlainAuthenticators, wrong)
                .cheap(rng)
        });
    }
    all.caught(
        (9, "all_refuse"),
        Cheat::InputAuthenticator,
        "The garbler makes input authenticators that do not follow from their offsets.",
        |c| c.lie(Point::InputAuthenticators, |hashes| hashes.fill(0)),
    );
    let (cut, bad) = (Bucketing { slots: 8, bucket: 3, opened: 24 }, 3);
    let hidden = choose(48 - bad, 24) / choose(48, 24);
    let lost = exact(cut, 2, bad);
    let endings = vec![
        (HonestEnding::Caught(Cheat::InputAuthenticator), 1.0 - hidden),
        (HonestEnding::Caught(Cheat::InputLabel), lost),
        (HonestEnding::Survived, hidden - lost),
    ];
    let story = "With few authenticators: three of the garbler's input authenticators are bad, and two in \
                 one bucket of three are a majority.";
    all.add((9, "majority_among_8"), story, Party::Garbler, endings, 3000, move |rng| {
        let program = ands(cut.slots, Recipient::Evaluator);
        let refuse = |hashes: &mut [u8]| hashes[..32 * 3].fill(0);
        Case::new(&program, small(&program, [1, 0], [1, 0], [3, 24]))
            .lie(Point::InputAuthenticators, refuse)
            .cheap(rng)
    });
}

fn inputs(all: &mut Catalogue) {
    for y in [false, true] {
        let variant = if y { "other_offset_for_input_1" } else { "other_offset_for_input_0" };
        let story = match y {
            false => {
                "Selective failure, against an input of 0: the garbler uses an offset in the OTs that it did \
                 not commit to, and looks whether the evaluator stops."
            }
            true => {
                "Selective failure, against an input of 1: the evaluator stops as often as with an input of \
                 0, so the garbler learns nothing from it."
            }
        };
        // A single combination binds the OTs, and another OT masks it. It shows the lie with probability 1/2,
        // and so does the input.
        let endings = vec![
            (HonestEnding::Caught(Cheat::Opening), 0.5),
            (HonestEnding::Caught(Cheat::NoValidLabel), 0.25),
            (HonestEnding::Survived, 0.25),
        ];
        all.add((12, variant), story, Party::Garbler, endings, 1500, move |rng| {
            one_bit(y, 1, rng, |case| case.lie(Point::OtOffset, flip(0, 90)))
        });
    }
    all.caught(
        (12, "poisoned_label"),
        Cheat::Opening,
        "The garbler commits to a label that differs from the label in the OT.",
        |c| c.lie(Point::OtLabels, flip(1, 33)),
    );
    all.caught(
        (13, "wrong_label"),
        Cheat::InputLabel,
        "The garbler sends an invalid label for its own input.",
        |c| c.lie(Point::InputLabels, flip(2, 99)),
    );
    all.caught(
        (13, "wrong_opening"),
        Cheat::Opening,
        "The garbler opens the evaluator's input wire to a wrong value.",
        |c| c.lie(Point::InputLabels, flip(4, 99)),
    );
}

fn outputs(all: &mut Catalogue) {
    let recovered = vec![(HonestEnding::Recovered, 1.0)];
    let story = "A copy gives the valid label of the opposite bit. The sum of two valid labels is the \
                 garbler's secret. The evaluator recovers the garbler's input, computes the output itself, \
                 and sends the same messages as in an honest run.";
    all.add((14, "one_copy_says_the_opposite"), story, Party::Garbler, recovered, CERTAIN, |_| {
        Case::toy().lie(Point::CommittedOutputs(0), flip(2 * chosen(CUT)[1], 0))
    });
    all.caught(
        (15, "flipped_colour"),
        Cheat::ForgedOutput,
        "The evaluator tells the garbler the opposite output.",
        |c| c.evaluator_lies(Point::OutputLabels, |message| message[0] ^= 1),
    );
    all.caught(
        (15, "other_hash"),
        Cheat::ForgedOutput,
        "The evaluator guesses the hash of the output labels.",
        |c| c.evaluator_lies(Point::OutputLabels, |message| *message.last_mut().expect("a hash") ^= 1),
    );
    for (variant, change) in [("too_short", false), ("too_long", true)] {
        let endings = vec![(HonestEnding::Caught(Cheat::UnexpectedMessage), 1.0)];
        let story = match change {
            false => {
                "A message is shorter than in the protocol: it is refused before any part of it is used."
            }
            true => {
                "A message is longer than in the protocol: it is refused before memory is allocated for it."
            }
        };
        all.add((18, variant), story, Party::Garbler, endings, CERTAIN, move |_| {
            Case::toy().sends(Party::Garbler, msg::AUTHENTICATORS, 0, move |m| {
                if change { m.push(0) } else { m.truncate(3) }
            })
        });
    }
}

fn agreement(all: &mut Catalogue) {
    let refused = || vec![(HonestEnding::Refused, 1.0)];
    let story = "The garbler proposes a lower level of security: levels are not negotiable.";
    all.add((19, "lower_security"), story, Party::Garbler, refused(), CERTAIN, |_| {
        Case::toy().sends(Party::Garbler, HELLO, 0, |hello| hello[8] = 20)
    });
    let story = "The garbler claims an older version: versions are not negotiable.";
    all.add((19, "older_version"), story, Party::Garbler, refused(), CERTAIN, |_| {
        Case::toy().sends(Party::Garbler, HELLO, 0, |hello| hello[4] -= 1)
    });
    let story = "The evaluator is given a program that differs from the garbler's.";
    all.add((19, "another_program"), story, Party::Garbler, refused(), CERTAIN, |_| {
        Case::toy().sends(Party::Garbler, HELLO, 0, |hello| hello[16] ^= 1)
    });
    let story = "The garbler sends the evaluator's own greeting back.";
    all.add((18, "reflected_greeting"), story, Party::Garbler, refused(), CERTAIN, |_| {
        Case::toy().sends(Party::Garbler, HELLO, 0, |hello| hello[12] ^= 1)
    });
    let story = "The garbler wants fewer copies to be opened than the evaluator wants.";
    all.add((19, "fewer_copies"), story, Party::Garbler, refused(), CERTAIN, |_| {
        Case::toy().wants(Party::Garbler, |_, p| p.components[0].opened -= 1)
    });
}

/// Adds attacks on the order of messages, and on data that must stay hidden.
fn order(all: &mut Catalogue) {
    for (variant, proof, cheat, story) in [
        (
            "first_proof_stalls_and_fails",
            0,
            Cheat::Commitment,
            "The garbler's proof of its commitments is late and wrong: nothing is challenged or opened \
             before the proof.",
        ),
        (
            "second_proof_stalls_and_fails",
            1,
            Cheat::Opening,
            "The garbler's proof of its openings is late and wrong, and all later messages arrive before it: \
             nothing is evaluated before the proof.",
        ),
        // The outputs are sent after this proof.
        (
            "last_proof_stalls_and_fails",
            2,
            Cheat::Opening,
            "The garbler's proof of the inputs is late and wrong, and the labels that follow it are there: \
             no output is sent before the proof.",
        ),
    ] {
        let caught = vec![(HonestEnding::Caught(cheat), 1.0)];
        all.add((17, variant), story, Party::Garbler, caught, CERTAIN, move |_| {
            Case::toy().sends(Party::Garbler, ANSWER, proof, |answer| {
                std::thread::sleep(Duration::from_millis(20));
                answer.iter_mut().for_each(|byte| *byte ^= 2);
            })
        });
    }
    let recovered = || vec![(HonestEnding::Recovered, 1.0)];
    let story = "Each bucket of the garbler gives two valid labels. The garbler would see if many recoveries \
                 change the evaluator's messages.";
    all.add((28, "every_bucket_disagrees"), story, Party::Garbler, recovered(), CERTAIN, |_| {
        let (first, second) = (chosen(CUT)[0], chosen(CUT)[3]);
        Case::toy().lie(Point::CommittedOutputs(0), flips(vec![2 * first, 2 * second], 0))
    });
    let story = "One bucket gives two valid labels, and a later copy gives no valid label. The garbler would \
                 see if the evaluator stops there.";
    all.add((28, "a_later_abort"), story, Party::Garbler, recovered(), CERTAIN, |_| {
        let later = chosen(CUT)[3..5].iter().flat_map(|copy| [2 * copy, 2 * copy + 1]).collect();
        let two_labels = flip(2 * chosen(CUT)[1], 0);
        Case::toy()
            .lie(Point::CommittedOutputs(0), two_labels)
            .lie(Point::CommittedOutputs(1), flips(later, 30))
    });
    all.caught(
        (29, "one_hash_for_all"),
        Cheat::KeyAuthenticator,
        "The garbler uses the hashes of one authenticator for all of them, so that one collision would be \
         enough for all authenticators.",
        |c| {
            c.lie(Point::PlainAuthenticators, |hashes| {
                let (first, others) = hashes.split_at_mut(32);
                others.chunks_mut(32).for_each(|other| other.copy_from_slice(first));
            })
        },
    );
    all.caught(
        (29, "hashes_in_the_other_order"),
        Cheat::InputAuthenticator,
        "The garbler puts the hash of each label at the other colour.",
        |c| {
            c.lie(Point::InputAuthenticators, |hashes| {
                hashes.chunks_mut(32).for_each(|pair| pair.rotate_left(16))
            })
        },
    );
    all.caught(
        (30, "one_wire_to_two"),
        Cheat::Opening,
        "The garbler opens the soldering of one pair of wires for a second pair, too: the difference of the \
         two solderings would be an offset.",
        |c| c.lie(Point::ProgramSolderings(1), |solderings| solderings.copy_within(..16, 16)),
    );
    all.caught(
        (30, "the_other_opening"),
        Cheat::Opening,
        "The garbler opens a pair of wires with the offset added: both openings of the pair together would \
         disclose the offset.",
        |c| c.lie(Point::ProgramSolderings(0), flip(1, 0)),
    );
}
