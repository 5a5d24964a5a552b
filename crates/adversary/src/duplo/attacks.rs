//! The list of attacks on DUPLO.

use brickwork::circuit::Party::{Evaluator, Garbler};
use brickwork::circuit::Recipient;
use brickwork::commit::split::msg::{ANSWER, CORRECTIONS};
use brickwork::cut_and_choose::{BucketRule, Bucketing};
use brickwork::duplo::adversary::Point;
use brickwork::duplo::adversary::harness::{
    Case, TableLies as _, ands, cheap, chosen, flip, flips, on_toy, opened, small, swap,
};
use brickwork::duplo::{Cheat, Duplo, msg};
use brickwork::ot::extension;
use brickwork::random::Rng;
use brickwork_harness::Ending;

use super::{disk, line};
use crate::attack::{Attack, Name, caught, certain};
use crate::sampler::{bad_for, choose, exact};
use crate::shared;

type Catalogue = crate::attack::Catalogue<Duplo>;

/// The cut of both components of the toy program.
const CUT: Bucketing = Bucketing { slots: 2, bucket: 3, opened: 4 };

/// Makes a run of the toy program. Every second run keeps the evaluator's data in files.
fn toy(rng: &mut Rng) -> Case {
    if rng.below(2) == 1 { on_toy().dealt(rng).in_files() } else { on_toy().dealt(rng) }
}

/// Makes a run of two AND gates between one bit of each party, whose cut needs few copies, for an input bit
/// of the evaluator.
fn one_bit(y: bool, rng: &mut Rng) -> Case {
    let program = ands(1, Recipient::Both);
    let case = cheap(&program, small(&program, [1, 0], [1, 0], [1, 0]), rng).inputs(&[true], &[y]);
    case.set(|parameters| parameters.ot_binding = 1)
}

/// Returns all attacks.
pub fn catalogue() -> Vec<Attack> {
    let mut all = Catalogue::new(toy);
    shared::base_ots(&mut all, [Garbler, Evaluator]);
    ots(&mut all);
    commitments(&mut all);
    copies(&mut all);
    authenticators(&mut all);
    inputs(&mut all);
    outputs(&mut all);
    shared::greetings(&mut all);
    order(&mut all);
    disk::attacks(&mut all);
    line::attacks(&mut all);
    all.sorted()
}

/// Adds a garbler that makes the first `bad` copies of an AND gate bad, by flipping this bit of their
/// committed outputs.
fn bad_copies(
    all: &mut Catalogue,
    (name, story): (Name, &'static str),
    cut: Bucketing,
    bad: u32,
    bit: usize,
    trials: usize,
) {
    let hidden = choose(cut.slots * cut.bucket + cut.opened - bad, cut.opened)
        / choose(cut.slots * cut.bucket + cut.opened, cut.opened);
    let ruined = exact(cut, bad_for(cut, BucketRule::COMPONENT) as u32, bad);
    // A flip of bit 0 gives the valid label of the opposite bit, so two labels are valid. Any other flip
    // gives an invalid label, and the other copies of the bucket give the valid one.
    let (wins, else_) = match bit {
        0 => (Ending::Fooled, Ending::Recovered),
        _ => (Ending::caught(Cheat::NoValidLabel), Ending::Survived),
    };
    let endings =
        vec![(Ending::caught(Cheat::Opening), 1.0 - hidden), (wins, ruined), (else_, hidden - ruined)];
    all.add(name, story, Garbler, endings, move |rng| {
        let program = ands(cut.slots, Recipient::Evaluator);
        let parameters = small(&program, [cut.bucket, cut.opened], [1, 0], [1, 0]);
        let lies = flips((0..bad as usize).collect(), bit);
        cheap(&program, parameters, rng).lie(Point::CommittedOutputs(0), lies)
    })
    .trials = trials;
}

fn ots(all: &mut Catalogue) {
    all.sends(
        (2, "wrong_answer"),
        Cheat::OtExtension,
        (Evaluator, extension::msg::CHECK, 0),
        "The evaluator answers the check of the OT extension wrongly, as if one row had choices that differ \
         from those in the other rows.",
        |answer| answer[16] ^= 1,
    );
    all.evaluator_lies(
        (27, "other_bit"),
        Cheat::OtBinding,
        Point::OtBinding,
        "The evaluator names the other choice bit of an OT that is opened: the opening would be the \
         garbler's secret offset.",
        // The message has a seed and 48 labels. The bits follow.
        |shown| shown[16 * 49] ^= 1,
    );
}

fn commitments(all: &mut Catalogue) {
    for (k, variant, story) in [
        (
            1,
            "one_coordinate",
            "The garbler commits to a word that is no codeword, because one coordinate is wrong. It guesses \
             which of the two shares of this coordinate is watched. With 42 wrong coordinates it could open \
             two values.",
        ),
        (
            2,
            "two_coordinates",
            "The garbler commits to a word that is wrong in two coordinates: both guesses of the watched \
             shares must be right.",
        ),
        (
            3,
            "three_coordinates",
            "The garbler commits to a word that is wrong in three coordinates: each wrong coordinate halves \
             the chance of success, and 42 are needed to open two values.",
        ),
    ] {
        // A correction is wrong in k coordinates. In each of them, the evaluator watches one of two shares.
        let p = 0.5f64.powi(k as i32);
        let endings = vec![(Ending::caught(Cheat::Commitment), 1.0 - p), (Ending::Survived, p)];
        all.add((3, variant), story, Garbler, endings, move |rng| {
            let program = ands(1, Recipient::Both);
            let case = cheap(&program, small(&program, [1, 0], [1, 0], [1, 0]), rng);
            case.sends(Garbler, CORRECTIONS, 2, move |rows| {
                (0..k).for_each(|coordinate: usize| rows[16 * 5 * coordinate] ^= 1)
            })
        })
        .trials = 1500;
    }
    all.sends(
        (11, "wrong_decommitment"),
        Cheat::Opening,
        (Garbler, ANSWER, 1),
        "The garbler opens a sum of commitments to a value that is not its value.",
        |answer| *answer.last_mut().expect("an answer") ^= 2,
    );
    all.lies(
        (11, "lies_that_cancel"),
        Cheat::Opening,
        Point::DeltaDifferences(0),
        "The garbler tells the same lie about two openings, so that the two lies cancel in a sum of both.",
        flips(vec![2, 4], 60),
    );
    all.lies(
        (7, "indicator_bit"),
        Cheat::Indicator,
        Point::Indicators,
        "The garbler lies about which label of the evaluator's output stands for false: it would flip the \
         output.",
        flip(0, 0),
    );
    all.lies(
        (10, "wrong_soldering"),
        Cheat::Opening,
        Point::ProgramSolderings(0),
        "The garbler solders a slot's input with a wrong difference.",
        flip(0, 20),
    );
    all.lies(
        (10, "other_wire"),
        Cheat::Opening,
        Point::ProgramSolderings(1),
        "The garbler swaps two solderings: the slot would read a wire that is not the one in the program.",
        swap(16, 0, 1),
    );
}

fn copies(all: &mut Catalogue) {
    all.sends(
        (4, "fewer_opened"),
        Cheat::UnexpectedMessage,
        (Garbler, msg::OPENED, 0),
        "The garbler opens fewer copies than agreed.",
        |copies| copies.truncate(copies.len() - 16),
    );
    all.sends(
        (4, "challenge_of_another_size"),
        Cheat::UnexpectedMessage,
        (Evaluator, msg::CHALLENGE, 0),
        "The evaluator sends a shorter challenge.",
        |seeds| seeds.truncate(16),
    );
    all.on_toy(
        (5, "flipped_table"),
        caught(Cheat::OpenedCopy),
        Garbler,
        "The garbler flips a bit of a garbled table, in a copy that is opened.",
        |c| c.tables(|_, copy, _, bytes| bytes[0] ^= u8::from(copy == opened(CUT)[0])),
    );
    all.on_toy(
        (5, "flipped_table_in_use"),
        certain(Ending::Survived),
        Garbler,
        "The garbler flips a bit of a garbled table, in a copy that is used: the other copies of the slot \
         outvote it.",
        |c| {
            c.tables(|component, copy, _, bytes| {
                bytes[7] ^= u8::from((component, copy) == (1, chosen(CUT)[2]))
            })
        },
    );
    all.lies(
        (5, "swapped_tables"),
        Cheat::OpenedCopy,
        Point::TableHashes(0),
        "The garbler exchanges the tables of two copies, and both are opened.",
        swap(32, opened(CUT)[0], opened(CUT)[1]),
    );
    all.on_toy(
        (5, "swapped_tables_in_use"),
        certain(Ending::Survived),
        Garbler,
        "The garbler exchanges the tables of two copies of one slot, and both are used: the third copy gives \
         the right labels.",
        |c| {
            let chosen = chosen(CUT);
            // Tables are sent in the order of the copies.
            let rank = |copy| chosen.iter().filter(|other| **other < copy).count();
            let (first, second) = (rank(chosen[0]), rank(chosen[1]));
            let case = c.lie(Point::TableHashes(0), swap(32, chosen[0], chosen[1]));
            case.sends(Garbler, msg::TABLES, 0, move |tables| swap(32, first, second)(tables))
        },
    );
    all.sends(
        (5, "tables_after_the_challenge"),
        Cheat::ChosenTables,
        (Garbler, msg::TABLES, 0),
        "The garbler knows which copies are not opened, and then sends tables that differ from the hashed \
         ones.",
        |tables| tables[0] ^= 1,
    );
    all.lies(
        (5, "whole_bucket"),
        Cheat::NoValidLabel,
        Point::CommittedOutputs(0),
        "The garbler knows the challenge beforehand and spoils a whole bucket: no label is valid, so the \
         evaluator accepts no wrong output.",
        flips(chosen(CUT)[..3].iter().map(|copy| 2 * copy).collect(), 99),
    );
    for (name, [slots, bucket, opened], [bad, bit], trials, story) in [
        (
            (5, "bucket_of_2_among_4"),
            [4, 2, 8],
            [3, 99],
            4000,
            "With few copies, 16 for 4 slots: the garbler makes three of them bad. It hopes that none of the \
             three is opened, and that a bucket has only bad copies.",
        ),
        (
            (5, "bucket_of_2_among_8"),
            [8, 2, 16],
            [3, 99],
            4000,
            "With few copies, 32 for 8 slots: the garbler makes three of them bad. With more slots, it is \
             less probable that bad copies come into one bucket.",
        ),
        (
            (5, "bucket_of_3_among_4"),
            [4, 3, 12],
            [4, 99],
            6000,
            "With few copies and buckets of three: the garbler makes four of them bad. It hopes that none of \
             the four is opened, and that a bucket has only bad copies.",
        ),
        (
            (14, "opposite_label_among_4"),
            [4, 2, 8],
            [2, 0],
            3000,
            "With few copies: two bad copies give a valid label for the opposite bit. If both are in one \
             bucket, the evaluator accepts a wrong output. In two buckets they disclose the garbler's input.",
        ),
    ] {
        let cut = Bucketing { slots, bucket, opened };
        bad_copies(all, (name, story), cut, bad, bit as usize, trials);
    }
    for (variant, cheat, point, alter, story) in [
        (
            "opened_offset_ends_in_0",
            Cheat::OffsetColour,
            Point::Opened(0),
            (0, 0),
            "The garbler opens an offset that ends in 0: solderings of the copy could lie.",
        ),
        (
            "link_ends_in_1",
            Cheat::DeltaDifferenceColour,
            Point::DeltaDifferences(0),
            (0, 0),
            "The garbler links a copy whose offset ends in 0.",
        ),
        (
            "other_offset",
            Cheat::OpenedCopy,
            Point::GarbledOffsets(1),
            (opened(CUT)[0], 50),
            "The garbler garbles a copy with an offset that differs from the committed one, and the copy is \
             opened.",
        ),
        (
            "other_offset_in_use",
            Cheat::Opening,
            Point::GarbledOffsets(1),
            (chosen(CUT)[3], 50),
            "The garbler garbles a copy with an offset that differs from the committed one, and the copy is \
             used: its solderings show the lie.",
        ),
    ] {
        all.lies((6, variant), cheat, point, story, flip(alter.0, alter.1));
    }
}

fn authenticators(all: &mut Catalogue) {
    all.lies(
        (8, "all_refuse"),
        Cheat::KeyAuthenticator,
        Point::PlainAuthenticators,
        "The garbler makes key authenticators that refuse every label. If such an authenticator were used, \
         the evaluator's input could decide if the evaluator stops.",
        |hashes| hashes.fill(0),
    );
    for (half, variant, story) in [
        (
            0,
            "half_of_colour_0",
            "The garbler makes the hash for colour 0 wrong in every key authenticator. The check opens one \
             of the two labels at random, so half of the time it opens the label of colour 1 and finds \
             nothing.",
        ),
        (
            1,
            "half_of_colour_1",
            "The garbler makes the hash for colour 1 wrong in every key authenticator: the check finds it as \
             often as a wrong hash for colour 0.",
        ),
    ] {
        // A wrong authenticator that the check misses spoils the gate's output if the output's random colour
        // is the wrong one.
        let endings = vec![
            (Ending::caught(Cheat::KeyAuthenticator), 0.5),
            (Ending::caught(Cheat::NoValidLabel), 0.25),
            (Ending::Survived, 0.25),
        ];
        all.add((8, variant), story, Garbler, endings, move |rng| {
            let program = ands(1, Recipient::Both);
            let case = cheap(&program, small(&program, [1, 0], [1, 1], [1, 0]), rng);
            case.lie(Point::PlainAuthenticators, move |hashes| {
                hashes.chunks_mut(32).for_each(|pair| pair[16 * half] ^= 1)
            })
        })
        .trials = 1500;
    }
    all.lies(
        (9, "all_refuse"),
        Cheat::InputAuthenticator,
        Point::InputAuthenticators,
        "The garbler makes input authenticators that do not follow from their offsets.",
        |hashes| hashes.fill(0),
    );
    let (cut, bad) = (Bucketing { slots: 8, bucket: 3, opened: 24 }, 3);
    let hidden = choose(48 - bad, 24) / choose(48, 24);
    let lost = exact(cut, 2, bad);
    let endings = vec![
        (Ending::caught(Cheat::InputAuthenticator), 1.0 - hidden),
        (Ending::caught(Cheat::InputLabel), lost),
        (Ending::Survived, hidden - lost),
    ];
    let story = "With few authenticators: three of the garbler's input authenticators are bad, and two in \
                 one bucket of three are a majority.";
    all.add((9, "majority_among_8"), story, Garbler, endings, move |rng| {
        let program = ands(cut.slots, Recipient::Evaluator);
        cheap(&program, small(&program, [1, 0], [1, 0], [3, 24]), rng)
            .lie(Point::InputAuthenticators, |hashes| hashes[..32 * 3].fill(0))
    })
    .trials = 3000;
}

fn inputs(all: &mut Catalogue) {
    for (y, variant, story) in [
        (
            false,
            "other_offset_for_input_0",
            "Selective failure, against an input of 0: the garbler uses an offset in the OTs that it did not \
             commit to, and looks whether the evaluator stops.",
        ),
        (
            true,
            "other_offset_for_input_1",
            "Selective failure, against an input of 1: the evaluator stops as often as with an input of 0, \
             so the garbler learns nothing from it.",
        ),
    ] {
        // A single combination binds the OTs, and another OT masks it. It shows the lie with probability 1/2,
        // and so does the input.
        let endings = vec![
            (Ending::caught(Cheat::Opening), 0.5),
            (Ending::caught(Cheat::NoValidLabel), 0.25),
            (Ending::Survived, 0.25),
        ];
        all.add((12, variant), story, Garbler, endings, move |rng| {
            one_bit(y, rng).lie(Point::OtOffset, flip(0, 90))
        })
        .trials = 1500;
    }
    for (name, cheat, point, (label, bit), story) in [
        (
            (12, "poisoned_label"),
            Cheat::Opening,
            Point::OtLabels,
            (1, 33),
            "The garbler commits to a label that differs from the label in the OT.",
        ),
        (
            (13, "wrong_label"),
            Cheat::InputLabel,
            Point::InputLabels,
            (2, 99),
            "The garbler sends an invalid label for its own input.",
        ),
        (
            (13, "wrong_opening"),
            Cheat::Opening,
            Point::InputLabels,
            (4, 99),
            "The garbler opens the evaluator's input wire to a wrong value.",
        ),
    ] {
        all.lies(name, cheat, point, story, flip(label, bit));
    }
}

fn outputs(all: &mut Catalogue) {
    all.on_toy(
        (14, "one_copy_says_the_opposite"),
        certain(Ending::Recovered),
        Garbler,
        "A copy gives the valid label of the opposite bit. The sum of two valid labels is the garbler's \
         secret. The evaluator recovers the garbler's input, computes the output itself, and sends the same \
         messages as in an honest run.",
        |c| c.lie(Point::CommittedOutputs(0), flip(2 * chosen(CUT)[1], 0)),
    );
    let forged = Cheat::ForgedOutput;
    let story = "The evaluator tells the garbler the opposite output.";
    all.evaluator_lies((15, "flipped_colour"), forged, Point::OutputLabels, story, |m| m[0] ^= 1);
    let story = "The evaluator guesses the hash of the output labels.";
    all.evaluator_lies((15, "other_hash"), forged, Point::OutputLabels, story, |m| {
        *m.last_mut().expect("a hash") ^= 1
    });
    let message = (Garbler, msg::AUTHENTICATORS, 0);
    let story = "A message is shorter than in the protocol: it is refused before any part of it is used.";
    all.sends((18, "too_short"), Cheat::UnexpectedMessage, message, story, |m| m.truncate(3));
    let story = "A message is longer than in the protocol: it is refused before memory is allocated for it.";
    all.sends((18, "too_long"), Cheat::UnexpectedMessage, message, story, |m| m.push(0));
    all.on_toy(
        (19, "fewer_copies"),
        certain(Ending::Refused),
        Garbler,
        "The garbler wants fewer copies to be opened than the evaluator wants.",
        |c| c.wants(Garbler, |_, p| p.components[0].opened -= 1),
    );
}

/// Adds attacks on the order of messages, and on data that must stay hidden.
fn order(all: &mut Catalogue) {
    shared::late(
        all,
        [
            (
                "first_proof_stalls_and_fails",
                (ANSWER, 0),
                Cheat::Commitment.into(),
                "The garbler's proof of its commitments is late and wrong: nothing is challenged or opened \
                 before the proof.",
            ),
            (
                "second_proof_stalls_and_fails",
                (ANSWER, 1),
                Cheat::Opening.into(),
                "The garbler's proof of its openings is late and wrong, and all later messages arrive before \
                 it: nothing is evaluated before the proof.",
            ),
            // The outputs are sent after this proof.
            (
                "last_proof_stalls_and_fails",
                (ANSWER, 2),
                Cheat::Opening.into(),
                "The garbler's proof of the inputs is late and wrong, and the labels that follow it are \
                 there: no output is sent before the proof.",
            ),
        ],
    );
    all.on_toy(
        (28, "every_bucket_disagrees"),
        certain(Ending::Recovered),
        Garbler,
        "Each bucket of the garbler gives two valid labels. The garbler would see if many recoveries change \
         the evaluator's messages.",
        |c| c.lie(Point::CommittedOutputs(0), flips(vec![2 * chosen(CUT)[0], 2 * chosen(CUT)[3]], 0)),
    );
    all.on_toy(
        (28, "a_later_abort"),
        certain(Ending::Recovered),
        Garbler,
        "One bucket gives two valid labels, and a later copy gives no valid label. The garbler would see if \
         the evaluator stops there.",
        |c| {
            let later = chosen(CUT)[3..5].iter().flat_map(|copy| [2 * copy, 2 * copy + 1]).collect();
            let case = c.lie(Point::CommittedOutputs(0), flip(2 * chosen(CUT)[1], 0));
            case.lie(Point::CommittedOutputs(1), flips(later, 30))
        },
    );
    all.lies(
        (29, "one_hash_for_all"),
        Cheat::KeyAuthenticator,
        Point::PlainAuthenticators,
        "The garbler uses the hashes of one authenticator for all of them, so that one collision would be \
         enough for all authenticators.",
        |hashes| {
            let (first, others) = hashes.split_at_mut(32);
            others.chunks_mut(32).for_each(|other| other.copy_from_slice(first));
        },
    );
    all.lies(
        (29, "hashes_in_the_other_order"),
        Cheat::InputAuthenticator,
        Point::InputAuthenticators,
        "The garbler puts the hash of each label at the other colour.",
        |hashes| hashes.chunks_mut(32).for_each(|pair| pair.rotate_left(16)),
    );
    all.lies(
        (30, "one_wire_to_two"),
        Cheat::Opening,
        Point::ProgramSolderings(1),
        "The garbler opens the soldering of one pair of wires for a second pair, too: the difference of the \
         two solderings would be an offset.",
        |solderings| solderings.copy_within(..16, 16),
    );
    all.lies(
        (30, "the_other_opening"),
        Cheat::Opening,
        Point::ProgramSolderings(0),
        "The garbler opens a pair of wires with the offset added: both openings of the pair together would \
         disclose the offset.",
        flip(1, 0),
    );
}
