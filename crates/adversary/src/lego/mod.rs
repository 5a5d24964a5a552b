//! The attacks on LEGO, row by row. All protocols share the rows up to 30; LEGO's own rows follow:
//!
//! * * 31: a gate that is wrong in two of its four rows, so that an opened gate shows it half of the time;
//! * 32: a wire authenticator with a wrong hash for one colour, when the other colour is challenged;
//! * 33: a bad gate and bad wire authenticators in one bucket, which vote together;
//! * * 34: a garbler that disclosed Δ, and whose input is read by bad input authenticators;
//! * * 35: a program that is built wrongly, or from items that are missing in one store.
//!
//! The protocol is described in docs/protocols/lego.md.

mod stock;

use std::sync::Arc;

use brickwork::circuit::Party::{Evaluator, Garbler};
use brickwork::circuit::Recipient;
use brickwork::commit::split::msg::{ANSWER, CORRECTIONS};
use brickwork::cut_and_choose::Bucketing;
use brickwork::duplo::adversary::harness::ands;
use brickwork::lego::adversary::{Bucketings, Case, Point, chosen, opened, toy};
use brickwork::lego::{Cheat, Lego, msg};
use brickwork::ot::extension;
use brickwork::random::Rng;
use brickwork_harness::{Ending, add, flip_all};

use crate::attack::{Attack, caught, certain};
use crate::page::{AttackPage, lines};
use crate::sampler::unnoticed;
use crate::shared;

type Catalogue = crate::attack::Catalogue<Lego>;

/// Returns the tables of LEGO.
pub fn page() -> AttackPage {
    let third = "no cheater can: each gate and each authenticator has one vote for a colour, so two labels \
                 of one colour do not both have more than half, unless hashes collide; what answers it is \
                 tested by itself";
    let mut checks = lines(Cheat::ALL.iter().map(|&check| check.into()));
    for line in checks.iter_mut().filter(|line| line.ending == Ending::caught(Cheat::ThirdLabel)) {
        line.unprovoked = Some(third);
    }
    AttackPage { protocol: "lego", file: "protocols/lego.md", attacks: catalogue(), checks }
}

/// Returns a change that flips a bit of these labels or hashes.
fn flip(labels: &[usize], byte: usize) -> impl Fn(&mut [u8]) + Clone + Send + Sync + 'static {
    let labels = labels.to_vec();
    move |bytes: &mut [u8]| labels.iter().for_each(|label| bytes[16 * label + byte] ^= 1)
}

/// Returns the sizes of buckets and the numbers of opened items, of gates, wire authenticators and input
/// authenticators.
fn cuts(gates: [u32; 2], authenticators: [u32; 2], inputs: [u32; 2]) -> Bucketings {
    Bucketings { gates, authenticators, inputs }
}

/// The sizes for the toy program, which has four gates between two bits of each party and outputs to both:
/// buckets of two gates and three wire authenticators.
const TOY: [[u32; 2]; 3] = [[2, 6], [3, 6], [3, 4]];

/// The gates of the toy program.
const GATES: u32 = 4;

/// The garbler's inputs of the toy program, with the masks of its outputs.
const INPUTS: u32 = 4;

/// Makes a run of the toy program with a challenge that the garbler knows in advance.
fn of_toy(rng: &mut Rng) -> Case {
    let [gates, authenticators, inputs] = TOY;
    Case::new(&Arc::new(toy()), Some(cuts(gates, authenticators, inputs)), rng).known().dealt(rng)
}

/// Makes a run of `slots` AND gates, each of a bit of either party, all results to both, with a random
/// challenge.
fn products(slots: u32, cuts: Bucketings, rng: &mut Rng) -> Case {
    Case::new(&ands(slots, Recipient::Both), Some(cuts), rng).dealt(rng)
}

/// Returns all attacks.
pub fn catalogue() -> Vec<Attack> {
    let mut all = Catalogue::new(of_toy);
    shared::base_ots(&mut all, [Evaluator, Garbler]);
    ots(&mut all);
    commitments(&mut all);
    gates(&mut all);
    offsets(&mut all);
    wire_authenticators(&mut all);
    input_authenticators(&mut all);
    solderings(&mut all);
    inputs(&mut all);
    recovery(&mut all);
    outputs(&mut all);
    order(&mut all);
    shared::greetings(&mut all);
    stock::add(&mut all);
    all.sorted()
}

/// Returns the gates in the toy program's buckets, under the challenge that tests know.
fn in_buckets() -> Vec<usize> {
    chosen(GATES, TOY[0])
}

fn ots(all: &mut Catalogue) {
    for (variant, nth, story) in [
        (
            "wrong_answer_of_watch_bits",
            0,
            "The evaluator answers the check of the OT extension wrongly, in the OTs of the commitments' \
             seeds.",
        ),
        (
            "wrong_answer_of_inputs",
            1,
            "The evaluator answers the check of the OT extension wrongly, in the OTs of the labels of its \
             inputs.",
        ),
    ] {
        all.on_toy((2, variant), caught(Cheat::OtExtension), Evaluator, story, move |case| {
            case.sends(Evaluator, extension::msg::CHECK, nth, |answer| answer[16] ^= 1)
        });
    }
    let story = "The evaluator names a label of the OTs that it did not get. From the answer it would learn \
                 the other label, and from both labels Δ.";
    all.on_toy((27, "other_label"), caught(Cheat::OtBinding), Evaluator, story, |case| {
        case.evaluator_lies(Point::OtBinding, |message| message[16 + 3] ^= 1)
    });
    let story = "The evaluator names the other choice bit of a sum of OTs, whose opening would be Δ.";
    all.on_toy((27, "other_bit"), caught(Cheat::OtBinding), Evaluator, story, |case| {
        case.evaluator_lies(Point::OtBinding, |message| *message.last_mut().expect("bits") ^= 1)
    });
    let story = "The evaluator names a choice that is no bit.";
    all.on_toy((27, "no_bit"), caught(Cheat::OtBinding), Evaluator, story, |case| {
        case.evaluator_lies(Point::OtBinding, |message| *message.last_mut().expect("bits") |= 2)
    });
}

fn commitments(all: &mut Catalogue) {
    for (variant, words, story) in [
        (
            "one_coordinate",
            1_usize,
            "The garbler commits to a gate's input with a word that is wrong in one coordinate: noticed if \
             the evaluator watches the wrong share.",
        ),
        (
            "two_coordinates",
            2,
            "The garbler commits with a word that is wrong in two coordinates: noticed if a wrong share of \
             one of them is watched.",
        ),
        (
            "five_coordinates",
            5,
            "The garbler commits with a word that is wrong in five coordinates. With 42 wrong coordinates it \
             could open a second value.",
        ),
    ] {
        let missed = 0.5_f64.powi(words as i32);
        let endings = vec![(Ending::caught(Cheat::Commitment), 1.0 - missed), (Ending::Survived, missed)];
        let _ = all.add((3, variant), story, Garbler, endings, move |rng| {
            products(1, cuts([2, 4], [3, 4], [3, 4]), rng).sends(Garbler, CORRECTIONS, 1, move |message| {
                // The message has 147 rows of blocks of 128 commitments.
                let row = message.len() / 147;
                (0..words).for_each(|word| message[word * row] ^= 1);
            })
        });
    }
    for (variant, proof, check, story) in [
        (
            "wrong_answer_of_the_first_proof",
            0,
            Cheat::Commitment,
            "The garbler answers the proof of all commitments wrongly.",
        ),
        (
            "wrong_answer_of_the_second_proof",
            1,
            Cheat::Opening,
            "The garbler answers the proof of all openings and solderings wrongly.",
        ),
        (
            "wrong_answer_of_the_last_proof",
            2,
            Cheat::Opening,
            "The garbler's proof of inputs and outputs is wrong; this proof hides the claims about bits.",
        ),
    ] {
        let story_of = story;
        all.on_toy((3, variant), caught(check), Garbler, story_of, move |case| {
            case.sends(Garbler, ANSWER, proof, |answer| {
                let last = answer.len() - 1;
                answer[last] ^= 1;
                answer.iter_mut().for_each(|byte| *byte ^= 1);
            })
        });
    }
}

/// Returns the rates if the garbler made `bad` gates wrong in all rows: such a gate is detected if it is
/// opened.
fn wrong_everywhere(cut: Bucketing, bad: u32, opposite: bool) -> Vec<(Ending, f64)> {
    let (bucket, any) = (cut.bucket, unnoticed(cut, bad, 0.0, |_| 1.0));
    let of = |kind: &dyn Fn(u32) -> bool| unnoticed(cut, bad, 0.0, |k| f64::from(u8::from(kind(k))));
    let noticed = (Ending::caught(Cheat::Opening), 1.0 - any);
    if opposite {
        let agree = of(&|k| k == 0 || k == bucket);
        return vec![noticed, (Ending::Fooled, agree), (Ending::Recovered, any - agree)];
    }
    let lives = of(&|k| k < bucket);
    vec![noticed, (Ending::caught(Cheat::NoValidLabel), any - lives), (Ending::Survived, lives)]
}

/// Returns the rates for gates that are wrong in two rows, those for one colour of the left input. An opened
/// gate is noticed half of the time, and a gate in a bucket is wrong half of the time.
fn wrong_for_one_colour(cut: Bucketing, bad: u32, opposite: bool) -> Vec<(Ending, f64)> {
    let half = |k: u32| 0.5_f64.powi(k as i32);
    let (bucket, any) = (cut.bucket, unnoticed(cut, bad, 0.5, |_| 1.0));
    let noticed = (Ending::caught(Cheat::Opening), 1.0 - any);
    if opposite {
        // The cases for a bucket: none of its bad gates gives a wrong result, or all of its gates do, or the
        // evaluator has two labels.
        let none = unnoticed(cut, bad, 0.5, half);
        let agree = unnoticed(cut, bad, 0.5, |k| half(k) * if k == bucket { 2.0 } else { 1.0 });
        return vec![
            noticed,
            (Ending::Fooled, agree - none),
            (Ending::Recovered, any - agree),
            (Ending::Survived, none),
        ];
    }
    let lives = unnoticed(cut, bad, 0.5, |k| if k == bucket { 1.0 - half(k) } else { 1.0 });
    vec![noticed, (Ending::caught(Cheat::NoValidLabel), any - lives), (Ending::Survived, lives)]
}

/// Returns buckets with one more wire authenticator than gates, all of them good, so that a label has a
/// majority together with any gate.
fn with_good_authenticators(cut: Bucketing) -> Bucketings {
    cuts([cut.bucket, cut.opened], [cut.bucket + 1, 2], [3, 2])
}

fn gates(all: &mut Catalogue) {
    let story = "The evaluator sends a shorter challenge.";
    all.on_toy(
        (4, "challenge_of_another_size"),
        caught(Cheat::UnexpectedMessage),
        Evaluator,
        story,
        |case| case.sends(Evaluator, msg::CHALLENGE, 0, |seeds| seeds.truncate(40)),
    );
    let story = "The garbler opens fewer gates than agreed.";
    all.on_toy((4, "fewer_opened"), caught(Cheat::UnexpectedMessage), Garbler, story, |case| {
        case.sends(Garbler, msg::OPENED_GATES, 0, |labels| labels.truncate(labels.len() - 32))
    });
    let story = "Every gate that the garbler makes computes NAND.";
    all.lies((5, "another_function"), Cheat::Opening, Point::GateOutputs, story, flip_all(0));
    let story = "Every gate that the garbler makes has a wrong table.";
    all.lies((5, "other_tables"), Cheat::Opening, Point::Tables, story, flip_all(40));
    let story = "The garbler spoils a gate that is used: the other items of its bucket outvote it.";
    all.on_toy((5, "rubbish_in_use"), certain(Ending::Survived), Garbler, story, |case| {
        case.lie(Point::GateOutputs, flip(&in_buckets()[1..2], 7))
    });
    let story = "The garbler knows the challenge beforehand and spoils a whole bucket: no label is valid, so \
                 the evaluator accepts no wrong output.";
    all.lies(
        (5, "whole_bucket"),
        Cheat::NoValidLabel,
        Point::GateOutputs,
        story,
        flip(&in_buckets()[..2], 7),
    );
    for (variant, slots, bucket, opened, bad, story) in [
        (
            "bucket_of_2_among_4",
            4,
            2,
            8,
            3,
            "With few gates, 16 for 4 buckets: three of them give invalid labels, and each of the three is \
             found if it is opened. A bucket of two such gates gives no label.",
        ),
        (
            "bucket_of_2_among_8",
            8,
            2,
            16,
            3,
            "With few gates and more buckets: three of 32 gates give invalid labels.",
        ),
        (
            "bucket_of_3_among_2",
            2,
            3,
            4,
            4,
            "With few gates, 10 for 2 buckets of three: four of them give invalid labels.",
        ),
    ] {
        let cut = Bucketing { slots, bucket, opened };
        let endings = wrong_everywhere(cut, bad, false);
        let _ = all.add((5, variant), story, Garbler, endings, move |rng| {
            let case = products(slots, with_good_authenticators(cut), rng);
            case.lie(Point::GateOutputs, flip(&(0..bad as usize).collect::<Vec<_>>(), 6))
        });
    }
    for (variant, slots, bucket, opened, bad, story) in [
        (
            "bucket_of_2_among_4",
            4,
            2,
            8,
            3,
            "Three of 16 gates are wrong in two of four rows. Such a gate is found half of the time if it is \
             opened, and gives a wrong label half of the time if it is used.",
        ),
        (
            "bucket_of_3_among_4",
            4,
            3,
            12,
            5,
            "Five of 24 gates for 4 buckets of three are wrong in two of four rows.",
        ),
        (
            "one_among_many",
            4,
            2,
            40,
            1,
            "One of 48 gates is wrong in two rows: noticed with half of the probability that this gate is \
             opened.",
        ),
    ] {
        let cut = Bucketing { slots, bucket, opened };
        let endings = wrong_for_one_colour(cut, bad, false);
        let _ = all.add((31, variant), story, Garbler, endings, move |rng| {
            let case = products(slots, with_good_authenticators(cut), rng);
            // T_G is used if the left label has colour 1.
            case.lie(Point::Tables, flip(&(0..bad as usize).map(|k| 2 * k).collect::<Vec<_>>(), 5))
        });
    }
    for (bit, variant) in [(false, "for_inputs_of_0"), (true, "for_inputs_of_1")] {
        let story = match bit {
            false => {
                "Selective failure, against inputs of 0: six of 16 gates are wrong for one colour. The \
                 colours decide if the run stops, and not the bits."
            }
            true => {
                "Selective failure, against inputs of 1: the run has each of its endings as often as with \
                 inputs of 0."
            }
        };
        let cut = Bucketing { slots: 4, bucket: 2, opened: 8 };
        let endings = wrong_for_one_colour(cut, 6, false);
        let _ = all.add((31, variant), story, Garbler, endings, move |rng| {
            let case = products(4, with_good_authenticators(cut), rng).inputs(&[bit; 4], &[bit; 4]);
            case.lie(Point::Tables, flip(&[0, 2, 4, 6, 8, 10], 5))
        });
    }
    let story = "The garbler knows the challenge and spoils opened gates in the row that is not checked: \
                 these gates are not used, so this has no effect.";
    all.on_toy((31, "rows_that_are_not_opened"), certain(Ending::Survived), Garbler, story, |case| {
        // T_G is used if the left label has colour 1.
        let spoiled = opened(GATES, TOY[0], 2).into_iter().filter(|(_, colours)| colours[0] == 0);
        let spoiled: Vec<usize> = spoiled.map(|(gate, _)| 2 * gate).collect();
        assert!(!spoiled.is_empty(), "a gate whose left input is opened at colour 0");
        case.lie(Point::Tables, flip(&spoiled, 5))
    });
}

fn offsets(all: &mut Catalogue) {
    let story = "The committed offset ends in 0: the two labels of a wire would have the same colour, and \
                 choose the same row of a gate.";
    all.lies((6, "offset_ends_in_0"), Cheat::Indicator, Point::CommittedOffset, story, flip_all(0));
    let story = "The committed offset differs from the offset of the OTs and gates.";
    all.lies((6, "other_offset"), Cheat::Opening, Point::CommittedOffset, story, flip_all(32));
    let story = "Gates are garbled with an offset that differs from the committed one.";
    all.lies((6, "gates_of_another_offset"), Cheat::Opening, Point::GateOffset, story, flip_all(32));
    let story = "The offset of an opened input authenticator ends in 0.";
    all.lies((6, "opened_offset_ends_in_0"), Cheat::OffsetColour, Point::OpenedInputs, story, flip(&[1], 0));
    let story = "The sum of two offsets ends in 1: one of them would end in 0.";
    all.lies(
        (6, "delta_difference_ends_in_1"),
        Cheat::DeltaDifferenceColour,
        Point::DeltaDifferences,
        story,
        flip(&[1], 0),
    );
    let story = "A delta difference is wrong: recovery would not find that offset.";
    all.lies((6, "wrong_delta_difference"), Cheat::Opening, Point::DeltaDifferences, story, flip(&[1], 7));
    let story = "An indicator bit of an output is flipped, which would flip the output.";
    all.lies((7, "indicator_bit"), Cheat::Indicator, Point::Indicators, story, |bits| bits[3] ^= 1);
}

fn wire_authenticators(all: &mut Catalogue) {
    let story = "Every wire authenticator refuses the honest label.";
    all.lies((8, "all_refuse"), Cheat::WireAuthenticator, Point::WireHashes, story, flip_all(24));
    let story = "The two hashes of every wire authenticator are exchanged.";
    all.lies(
        (29, "hashes_in_the_other_order"),
        Cheat::WireAuthenticator,
        Point::WireHashes,
        story,
        |hashes| {
            hashes.chunks_mut(32).for_each(|pair| pair.rotate_left(16));
        },
    );
    let story = "All wire authenticators have the hashes of one: a single collision would be enough for all \
                 of them.";
    all.lies((29, "one_hash_for_all"), Cheat::WireAuthenticator, Point::WireHashes, story, |hashes| {
        let one: [u8; 32] = hashes[..32].try_into().expect("a pair");
        hashes.chunks_exact_mut(32).for_each(|pair| pair.copy_from_slice(&one));
    });
    // In a bucket of one gate and two authenticators, two votes of three decide.
    let two_of_three = |opened: u32| cuts([1, 2], [2, opened], [3, 2]);
    let cut = Bucketing { slots: 4, bucket: 2, opened: 8 };
    let any = unnoticed(cut, 3, 0.0, |_| 1.0);
    let lives = unnoticed(cut, 3, 0.0, |k| f64::from(u8::from(k < 2)));
    let endings = vec![
        (Ending::caught(Cheat::WireAuthenticator), 1.0 - any),
        (Ending::caught(Cheat::NoValidLabel), any - lives),
        (Ending::Survived, lives),
    ];
    let story = "With few authenticators, 16 for 4 buckets of one gate and two authenticators: three \
                 authenticators refuse every label. If both authenticators of a bucket do, the vote of the \
                 gate is not enough.";
    let _ = all.add((8, "both_of_a_bucket_among_4"), story, Garbler, endings, move |rng| {
        let case = products(4, two_of_three(8), rng);
        case.lie(Point::WireHashes, flip(&[0, 1, 2, 3, 4, 5], 3))
    });
    let half = |k: u32| if k == 2 { 0.75 } else { 1.0 };
    for (colour, variant, story) in [
        (
            0,
            "half_of_colour_0",
            "Four authenticators refuse the label of colour 0: such an authenticator is found half of the \
             time if it is opened. If it is used, it gets a label of this colour half of the time.",
        ),
        (1, "half_of_colour_1", "Four authenticators refuse the label of colour 1."),
    ] {
        let any = unnoticed(cut, 4, 0.5, |_| 1.0);
        let lives = unnoticed(cut, 4, 0.5, half);
        let endings = vec![
            (Ending::caught(Cheat::WireAuthenticator), 1.0 - any),
            (Ending::caught(Cheat::NoValidLabel), any - lives),
            (Ending::Survived, lives),
        ];
        let _ = all.add((32, variant), story, Garbler, endings, move |rng| {
            let hashes: Vec<usize> = (0..4).map(|k| 2 * k + colour).collect();
            products(4, two_of_three(8), rng).lie(Point::WireHashes, flip(&hashes, 3))
        });
    }
    let story = "A wire authenticator of the challenge is opened to a wrong label.";
    let point = Point::OpenedAuthenticators;
    all.lies((11, "other_label_of_an_authenticator"), Cheat::WireAuthenticator, point, story, flip(&[1], 7));
    let story = "A wire authenticator of the challenge is opened to the wrong bit.";
    all.lies((11, "other_bit_of_an_authenticator"), Cheat::Opening, point, story, flip(&[1], 0));

    // In a bucket of two gates and one authenticator, two bad items of different kinds are a majority.
    let story = "One of 12 gates gives invalid labels, and one of 8 authenticators refuses every label. Each \
                 alone does little harm. Both in one bucket of two gates and one authenticator leave one \
                 good vote of three.";
    let kept = 8.0 / 12.0 * 0.5;
    let endings = vec![
        (Ending::caught(Cheat::WireAuthenticator), 0.5),
        (Ending::caught(Cheat::Opening), 0.5 * 4.0 / 12.0),
        (Ending::caught(Cheat::NoValidLabel), kept / 4.0),
        (Ending::Survived, kept * 3.0 / 4.0),
    ];
    let _ = all.add((33, "one_of_each_in_a_bucket"), story, Garbler, endings, |rng| {
        let case = products(4, cuts([2, 4], [1, 4], [3, 2]), rng);
        let case = case.lie(Point::GateOutputs, flip(&[0], 6));
        case.lie(Point::WireHashes, flip(&[0, 1], 3))
    });
    let story = "One of 12 gates gives an invalid label of the other colour, and one of 8 authenticators \
                 accepts only this label. If both are in one bucket of two gates and one authenticator, the \
                 evaluator accepts the label, and decodes the wrong bit.";
    let endings = vec![
        (Ending::caught(Cheat::WireAuthenticator), 0.5),
        (Ending::caught(Cheat::Opening), 0.5 * 4.0 / 12.0),
        (Ending::Fooled, kept / 4.0),
        (Ending::Survived, kept * 3.0 / 4.0),
    ];
    let _ = all.add((33, "an_authenticator_accepts_rubbish"), story, Garbler, endings, |rng| {
        // In an output of its own, the garbler would notice this label.
        let program = ands(4, Recipient::Evaluator);
        let case = Case::new(&program, Some(cuts([2, 4], [1, 4], [3, 2])), rng).dealt(rng);
        let case = case.lie(Point::GateOutputs, flip(&[0], 6));
        let case = case.lie(Point::GateOutputs, flip(&[0], 0));
        case.lie(Point::WireLabels, flip(&[0], 6))
    });
    let story = "The garbler knows the challenge and spoils one gate of two and one authenticator of three \
                 of a bucket: three good votes of five are enough.";
    all.on_toy((33, "a_minority_of_both_kinds"), certain(Ending::Survived), Garbler, story, |case| {
        let guard = chosen(GATES, TOY[1])[1];
        let case = case.lie(Point::GateOutputs, flip(&in_buckets()[..1], 7));
        case.lie(Point::WireHashes, flip(&[2 * guard, 2 * guard + 1], 3))
    });
    let story = "The garbler knows the challenge and spoils one gate of two and two authenticators of three \
                 of a bucket: two good votes of five are not enough, so the evaluator accepts no label.";
    all.on_toy((33, "a_majority_of_both_kinds"), caught(Cheat::NoValidLabel), Garbler, story, |case| {
        let guards = chosen(GATES, TOY[1]);
        let hashes = [2 * guards[0], 2 * guards[0] + 1, 2 * guards[1], 2 * guards[1] + 1];
        let case = case.lie(Point::GateOutputs, flip(&in_buckets()[..1], 7));
        case.lie(Point::WireHashes, flip(&hashes, 3))
    });
}

fn input_authenticators(all: &mut Catalogue) {
    let story = "Every input authenticator refuses the honest label.";
    all.lies((9, "all_refuse"), Cheat::InputAuthenticator, Point::InputHashes, story, flip_all(24));
    let story = "No input authenticator follows from its offset: a party that has Δ could not read the \
                 garbler's input.";
    all.lies((9, "none_follows"), Cheat::InputAuthenticator, Point::InputWires, story, flip_all(40));
    let story = "Every input authenticator stands for the wrong bit.";
    all.lies((9, "the_other_bit"), Cheat::Opening, Point::InputWires, story, flip_all(0));
    let story = "The garbler opens a wrong offset of an input authenticator.";
    let point = Point::OpenedInputs;
    all.lies((9, "another_offset_opened"), Cheat::InputAuthenticator, point, story, flip(&[1], 7));
    let cut = Bucketing { slots: 4, bucket: 3, opened: 6 };
    let any = unnoticed(cut, 3, 0.0, |_| 1.0);
    let lives = unnoticed(cut, 3, 0.0, |k| f64::from(u8::from(k < 2)));
    let endings = vec![
        (Ending::caught(Cheat::InputAuthenticator), 1.0 - any),
        (Ending::caught(Cheat::InputLabel), any - lives),
        (Ending::Survived, lives),
    ];
    let story = "With few input authenticators, 18 for 4 inputs in buckets of three: three authenticators \
                 refuse every label. Two of them in one bucket are a majority.";
    let _ = all.add((9, "majority_among_4"), story, Garbler, endings, |rng| {
        let case = products(4, cuts([2, 2], [3, 2], [3, 6]), rng);
        case.lie(Point::InputHashes, flip(&[0, 1, 2, 3, 4, 5], 3))
    });
    // A gate of the first bucket computes NAND and reveals Δ. The attack makes sure that this gate is not
    // opened.
    let endings = vec![
        (Ending::caught(Cheat::Opening), 1.0 - any),
        (Ending::Fooled, any - lives),
        (Ending::Recovered, lives),
    ];
    let story = "Three of 18 input authenticators stand for the wrong bit, and a gate discloses Δ. If most \
                 authenticators of an input lie, the input is read wrongly.";
    let _ = all.add((34, "majority_reads_the_other_bit"), story, Garbler, endings, |rng| {
        let case = products(4, cuts([2, 0], [3, 2], [3, 6]), rng);
        let x: Vec<bool> = (0..4).map(|_| rng.below(2) == 1).collect();
        let case = case.inputs(&x, &[true; 4]).lie(Point::GateOutputs, flip(&[0], 0));
        case.lie(Point::InputWires, flip(&[0, 1, 2], 0))
    });
}

fn solderings(all: &mut Catalogue) {
    for (variant, point, byte, story) in [
        (
            "wrong_label_in_a_bucket",
            Point::GateSolderings,
            7,
            "A soldering between gates of a bucket is wrong.",
        ),
        (
            "other_bit_in_a_bucket",
            Point::GateSolderings,
            0,
            "A soldering between gates of a bucket flips the bit.",
        ),
        (
            "wrong_label_to_an_authenticator",
            Point::AuthenticatorSolderings,
            7,
            "A soldering to a wire authenticator is wrong.",
        ),
        (
            "other_bit_to_an_authenticator",
            Point::AuthenticatorSolderings,
            0,
            "A soldering to a wire authenticator flips the bit.",
        ),
        (
            "wrong_label_of_an_input",
            Point::InputSolderings,
            7,
            "A soldering between input authenticators is wrong.",
        ),
        (
            "other_bit_of_an_input",
            Point::InputSolderings,
            0,
            "A soldering between input authenticators flips the bit: the recovery would read the wrong bit.",
        ),
        ("wrong_soldering", Point::Solderings, 7, "A soldering of the program is wrong."),
        ("other_bit", Point::Solderings, 0, "A soldering of the program flips the bit of a wire."),
    ] {
        all.lies((10, variant), Cheat::Opening, point, story, flip(&[2], byte));
    }
    let story = "The garbler swaps the solderings of two inputs of a gate: each would read the wire of the \
                 other.";
    all.lies((10, "other_wire"), Cheat::Opening, Point::Solderings, story, |solderings| {
        let (left, right) = solderings[..32].split_at_mut(16);
        left.swap_with_slice(right);
    });
    let story = "A gate of the challenge is opened to a wrong label.";
    all.lies((11, "other_label_of_a_gate"), Cheat::Opening, Point::OpenedGates, story, flip(&[1], 7));
    let story = "A gate of the challenge is opened to the wrong bit.";
    all.lies((11, "other_bit_of_a_gate"), Cheat::Opening, Point::OpenedGates, story, flip(&[1], 0));
    let story =
        "The garbler tells the same lie about two solderings, so that the two lies cancel in a sum of both.";
    all.lies((11, "lies_that_cancel"), Cheat::Opening, Point::Solderings, story, flip(&[0, 1], 9));
    let story = "The garbler opens the soldering of one pair of wires for a second pair, too.";
    all.lies((30, "one_wire_to_two"), Cheat::Opening, Point::Solderings, story, |solderings| {
        solderings.copy_within(..16, 16);
    });
    let story = "The garbler sends the other soldering of a pair, whose sum with the right one is Δ.";
    all.on_toy((30, "the_other_opening"), caught(Cheat::Opening), Garbler, story, |case| {
        case.lie_with(Point::Solderings, |delta, solderings| add(solderings, delta, [0]))
    });
}

fn inputs(all: &mut Catalogue) {
    for bit in [false, true] {
        let (label, lowest) = if bit {
            ("poisoned_label_for_inputs_of_1", "lowest_bit_for_inputs_of_1")
        } else {
            ("poisoned_label_for_inputs_of_0", "lowest_bit_for_inputs_of_0")
        };
        let [of_label, of_lowest] = match bit {
            false => [
                "Selective failure, against inputs of 0: the garbler commits to a label that differs from \
                 the label in the OT.",
                "The garbler commits to an OT's label with the lowest bit flipped, and opens an input to \
                 match, against inputs of 0: it would flip these inputs.",
            ],
            true => [
                "Selective failure, against inputs of 1: the evaluator stops at the same message as with \
                 inputs of 0, before it sends anything that depends on its inputs.",
                "The garbler commits to an OT's label with the lowest bit flipped, against inputs of 1.",
            ],
        };
        all.on_toy((12, label), caught(Cheat::Opening), Garbler, of_label, move |case| {
            case.inputs(&[bit; 2], &[bit; 2]).lie(Point::OtLabels, flip(&[1], 9))
        });
        all.on_toy((12, lowest), caught(Cheat::Opening), Garbler, of_lowest, move |case| {
            let case = case.inputs(&[bit; 2], &[bit; 2]).lie(Point::OtLabels, flip(&[1], 0));
            case.lie(Point::InputLabels, flip(&[INPUTS as usize + 1], 0))
        });
    }
    for (variant, byte, story) in [
        ("wrong_label", 5, "The garbler sends an invalid label for its own input."),
        ("other_colour", 0, "The garbler flips the colour of the label for its own input."),
    ] {
        all.lies((13, variant), Cheat::InputLabel, Point::InputLabels, story, flip(&[1], byte));
    }
    for (variant, byte, story) in [
        (
            "wrong_opening",
            5,
            "The garbler opens an input of the evaluator wrongly: the evaluator would get an invalid label.",
        ),
        ("flipped_input", 0, "The garbler flips the bit of an input of the evaluator."),
    ] {
        let label = INPUTS as usize;
        all.lies((13, variant), Cheat::Opening, Point::InputLabels, story, flip(&[label], byte));
    }
    let story = "The garbler exchanges the labels of two inputs.";
    all.lies((13, "swapped_labels"), Cheat::InputLabel, Point::InputLabels, story, |labels| {
        let (first, others) = labels.split_at_mut(16);
        first.swap_with_slice(&mut others[..16]);
    });
}

fn recovery(all: &mut Catalogue) {
    for (variant, slots, bucket, opened, bad, story) in [
        (
            "opposite_label_among_4",
            4,
            2,
            8,
            2,
            "With few gates, 16 for 4 buckets: two of them compute NAND, and each of the two is found if it \
             is opened. If all gates of a bucket are such gates, the evaluator accepts a wrong output. \
             Otherwise it has two valid labels, and computes the outputs in the clear.",
        ),
        (
            "opposite_label_among_8",
            8,
            2,
            8,
            2,
            "With few gates and more buckets: two of 24 gates compute NAND.",
        ),
    ] {
        let cut = Bucketing { slots, bucket, opened };
        let endings = wrong_everywhere(cut, bad, true);
        let _ = all.add((14, variant), story, Garbler, endings, move |rng| {
            let case = products(slots, with_good_authenticators(cut), rng);
            case.lie(Point::GateOutputs, flip(&(0..bad as usize).collect::<Vec<_>>(), 0))
        });
    }
    let cut = Bucketing { slots: 4, bucket: 2, opened: 8 };
    for (bit, variant, story) in [
        (
            false,
            "opposite_for_one_colour_for_inputs_of_0",
            "Three gates of 16 give the opposite label for one colour of their left input, against inputs of \
             0. Such a gate is found half of the time if it is opened, and gives the wrong label half of the \
             time if it is used.",
        ),
        (
            true,
            "opposite_for_one_colour_for_inputs_of_1",
            "Three gates of 16 give the opposite label for one colour of their left input, against inputs of \
             1. The probabilities are those with inputs of 0.",
        ),
    ] {
        let endings = wrong_for_one_colour(cut, 3, true);
        let _ = all.add((14, variant), story, Garbler, endings, move |rng| {
            let case = products(4, with_good_authenticators(cut), rng).inputs(&[bit; 4], &[bit; 4]);
            case.lie_with(Point::Tables, |delta, tables| add(tables, delta, [0, 2, 4]))
        });
    }
    let story = "One gate of a bucket computes NAND: the sum of two valid labels is the garbler's offset. \
                 The evaluator computes the outputs itself, and sends the same messages as in an honest \
                 run.";
    all.on_toy((14, "one_gate_says_the_opposite"), certain(Ending::Recovered), Garbler, story, |case| {
        case.lie(Point::GateOutputs, flip(&in_buckets()[3..4], 0))
    });
    let story = "Every bucket gives two valid labels. The garbler would see if many recoveries change the \
                 evaluator's messages.";
    all.on_toy((28, "every_bucket_disagrees"), certain(Ending::Recovered), Garbler, story, |case| {
        let gates: Vec<usize> = in_buckets().chunks(2).map(|gates| gates[1]).collect();
        case.lie(Point::GateOutputs, flip(&gates, 0))
    });
    let story = "The first bucket gives two valid labels. In each later bucket only one gate gives a valid \
                 label. The garbler would see if the evaluator stops there.";
    all.on_toy((28, "a_later_abort"), certain(Ending::Recovered), Garbler, story, |case| {
        let gates = in_buckets();
        let others: Vec<usize> = gates[2..].chunks(2).map(|gates| gates[1]).collect();
        let case = case.lie(Point::GateOutputs, flip(&gates[1..2], 0));
        case.lie(Point::GateOutputs, flip(&others, 9))
    });
}

fn outputs(all: &mut Catalogue) {
    for (variant, place, story) in [
        ("flipped_colour", 0, "The evaluator sends the wrong colour of a label of the garbler's output."),
        ("other_hash", 20, "The evaluator sends a wrong hash of the labels of the garbler's outputs."),
    ] {
        all.on_toy((15, variant), caught(Cheat::ForgedOutput), Evaluator, story, move |case| {
            case.evaluator_lies(Point::OutputLabels, move |message| message[place] ^= 1)
        });
    }
}

/// Adds attacks on the order of messages, and on the bytes of a connection.
fn order(all: &mut Catalogue) {
    shared::late(
        all,
        [
            (
                "first_proof_stalls_and_fails",
                (ANSWER, 0),
                Cheat::Commitment.into(),
                "The garbler's proof of its commitments is late and wrong: nothing is challenged before the \
                 proof.",
            ),
            (
                "second_proof_stalls_and_fails",
                (ANSWER, 1),
                Cheat::Opening.into(),
                "The garbler's proof of openings and solderings is late and wrong, and the labels of inputs \
                 arrive before it.",
            ),
            // The outputs are sent after this proof.
            (
                "last_proof_stalls_and_fails",
                (ANSWER, 2),
                Cheat::Opening.into(),
                "The garbler's last message is late and wrong: no output is sent before this message is \
                 checked.",
            ),
        ],
    );
    let unexpected = || caught(Cheat::UnexpectedMessage);
    let story = "A message is shorter than in the protocol: it is refused before any part of it is used.";
    all.on_toy((18, "too_short"), unexpected(), Garbler, story, |case| {
        case.sends(Garbler, msg::TABLES, 0, |message| message.truncate(3))
    });
    let story = "A message is longer than in the protocol: it is refused before memory is allocated for it.";
    all.on_toy((18, "too_long"), unexpected(), Garbler, story, |case| {
        case.sends(Garbler, msg::INPUT_LABELS, 0, |message| message.push(0))
    });
    let story = "The message with the evaluator's hash of the labels of outputs is too short.";
    all.on_toy((18, "too_short_outputs"), unexpected(), Evaluator, story, |case| {
        case.sends(Evaluator, msg::OUTPUT_LABELS, 0, |labels| labels.truncate(16))
    });
    let story = "The evaluator sends more bits than its input has.";
    all.on_toy((18, "bits_behind_the_last"), unexpected(), Evaluator, story, |case| {
        case.sends(Evaluator, msg::MASKED_INPUT, 0, |bits| bits[0] |= 0x80)
    });
    let run = |rng: &mut Rng| {
        let [gates, authenticators, inputs] = TOY;
        Case::new(&Arc::new(toy()), Some(cuts(gates, authenticators, inputs)), rng)
    };
    let garbler = "The same inputs in two runs: no message of the garbler is the same, so neither an offset \
                   nor a label occurs twice.";
    let evaluator = "The same inputs in two runs: no message of the evaluator is the same, so it watches \
                     different coordinates and draws a different challenge in the second run.";
    shared::fresh(all, run, [garbler, evaluator], &[msg::PROPOSAL]);
    let story = "The garbler proposes to open fewer gates than a bound of 2^-s takes.";
    all.on_toy((19, "fewer_opened"), certain(Ending::Refused), Garbler, story, |case| {
        case.wants(Evaluator, |_, cuts| *cuts = None)
    });
    let story = "The garbler proposes one cut in its greeting and another cut after it.";
    all.on_toy((19, "another_proposal"), certain(Ending::Refused), Garbler, story, |case| {
        case.sends(Garbler, msg::PROPOSAL, 0, |proposal| proposal[4] ^= 1)
    });
}
