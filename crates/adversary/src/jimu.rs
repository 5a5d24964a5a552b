//! The attacks on JIMU, row by row. The protocol is described in docs/protocols/jimu.md.

use brickwork::circuit::Party::{self, Evaluator, Garbler};
use brickwork::circuit::Recipient;
use brickwork::cut_and_choose::{BucketRule, Bucketing};
use brickwork::duplo::adversary::harness::{ands, toy};
use brickwork::ihash::{self, HashParameters};
use brickwork::jimu::adversary::{Case, Point, add, chosen, opposite, small};
use brickwork::jimu::parameters::{HashLevel, Sizes, Unit};
use brickwork::jimu::{Cheat, Jimu, msg};
use brickwork::ot::{self, extension};
use brickwork::random::Rng;
use brickwork::wire::Tag;
use brickwork_harness::Ending;

use crate::attack::{Attack, Name, caught, certain};
use crate::page::{AttackPage, lines};
use crate::sampler::{all_among, bad_for, choose, exact, unnoticed};
use crate::shared;

type Catalogue = crate::attack::Catalogue<Jimu>;

/// Returns the tables of JIMU.
pub fn page() -> AttackPage {
    let of_ots = ot::Cheat::ALL.iter().map(|&check| check.into());
    let of_hashes = ihash::Cheat::ALL.iter().map(|&check| check.into());
    let all = of_ots.chain(of_hashes).chain(Cheat::ALL.iter().map(|&check| check.into()));
    AttackPage { protocol: "jimu", file: "protocols/jimu.md", attacks: catalogue(), checks: lines(all) }
}

/// Makes a run of ten gates between three bits of each party, in two kinds of components, with outputs to
/// both, in buckets of three, with a challenge that the garbler knows in advance.
fn of(unit: Unit, rng: &mut Rng) -> Case {
    let program = toy();
    Case::new(&program, small(&program, unit, [3, 12]), rng).known().dealt(rng)
}

/// Returns the gates or copies in buckets, for the challenge that the garbler knows.
fn kept(case: &Case) -> Vec<Vec<usize>> {
    chosen(case.program(), case.settings())
}

/// Makes a run of `slots` AND gates with a random challenge. Each gate is in a component of its own, with a
/// bit of each party, and both parties learn all results.
fn products(slots: u32, unit: Unit, copies: [u32; 2], rng: &mut Rng) -> Case {
    let program = ands(slots, Recipient::Both);
    Case::new(&program, small(&program, unit, copies), rng).dealt(rng)
}

/// Makes a run of one AND gate with another hash of labels.
fn weakly_hashed(level: HashLevel, rng: &mut Rng) -> Case {
    let program = ands(1, Recipient::Both);
    let sizes = Sizes { level, ..small(&program, Unit::Gates, [3, 12]) };
    Case::new(&program, sizes, rng).dealt(rng)
}

/// The numbers of the garbler's messages that open gates of the toy program.
mod opened {
    use super::{Garbler, Party, Tag, ihash};

    const fn nth(nth: usize) -> (Party, Tag, usize) {
        (Garbler, ihash::msg::OPENED, nth)
    }

    pub const MESSAGES_OF_GATES: (Party, Tag, usize) = nth(0);
    pub const LABELS_OF_GATES: (Party, Tag, usize) = nth(2);
    pub const SOLDERED_MESSAGES: (Party, Tag, usize) = nth(3);
    pub const SOLDERINGS: (Party, Tag, usize) = nth(4);
    pub const SUMS_WITH_READ_ONES: (Party, Tag, usize) = nth(7);
    pub const INPUTS: (Party, Tag, usize) = nth(8);
    pub const DECODING: (Party, Tag, usize) = nth(9);
    /// The number of bytes that open a label.
    pub const LABEL: usize = 17;
}

/// Returns all attacks.
pub fn catalogue() -> Vec<Attack> {
    let mut all = Catalogue::new(|rng| of(Unit::Gates, rng));
    shared::base_ots(&mut all, [Evaluator, Garbler]);
    ots(&mut all);
    hashes(&mut all);
    gates(&mut all);
    let of_gates = std::mem::replace(&mut all.toy, |rng| of(Unit::Components, rng));
    components(&mut all);
    all.toy = of_gates;
    offsets(&mut all);
    reading(&mut all);
    solderings(&mut all);
    inputs(&mut all);
    outputs(&mut all);
    order(&mut all);
    shared::greetings(&mut all);
    all.sorted()
}

fn ots(all: &mut Catalogue) {
    for (variant, nth, story) in [
        (
            "wrong_answer_of_watched_symbols",
            0,
            "The evaluator answers the check of the OT extension wrongly, in the OTs of the seeds of its \
             watched symbols.",
        ),
        (
            "wrong_answer_of_labels",
            3,
            "The evaluator answers the check of the OT extension wrongly, in the OTs of the labels of its \
             inputs.",
        ),
    ] {
        all.on_toy((2, variant), caught(ot::Cheat::OtExtension), Evaluator, story, move |case| {
            case.sends(Evaluator, extension::msg::CHECK, nth, |answer| answer[16] ^= 1)
        });
    }
    // The first OTs are those of the watched symbols, and the last ones mask combinations.
    for (variant, block, last, story) in [
        (
            "other_choice_in_the_first_block",
            0,
            false,
            "In one series of OTs, the evaluator uses a choice for a watched symbol that differs from its \
             choice in the other series. A key would then be wrong by one block of the offset, which could \
             be found by trying all blocks.",
        ),
        (
            "other_choice_in_the_last_block",
            2,
            false,
            "In the last series, the evaluator uses a choice that differs from its choice in the other \
             series: the check covers every block.",
        ),
        (
            "other_choice_of_a_mask",
            1,
            true,
            "For one block of an OT that masks a combination, the evaluator uses a choice that differs from \
             its choice for the other blocks.",
        ),
    ] {
        all.on_toy((2, variant), caught(Cheat::Choices), Evaluator, story, move |case| {
            case.evaluator_lies(Point::Choices(block), move |choices| {
                let place = if last { choices.len() - 1 } else { 0 };
                choices[place] ^= 1;
            })
        });
    }
    let story = "The evaluator names a secret that it does not have: it watches more symbols than allowed.";
    all.on_toy((2, "guessed_secret"), caught(ihash::Cheat::Watched), Evaluator, story, |case| {
        case.sends(Evaluator, ihash::msg::SECRET, 1, |secret| secret[3] ^= 4)
    });
    let story =
        "The evaluator lies about the sum of its choices in a combination, as if it had chosen another mask.";
    all.on_toy((27, "other_sum_of_choices"), caught(Cheat::Choices), Evaluator, story, |case| {
        case.sends(Evaluator, msg::COMBINED, 0, |told| told[0] ^= 1)
    });
}

fn hashes(all: &mut Catalogue) {
    let hash = HashLevel::of(40).expect("a level").labels;
    let (n, w) = (hash.n(), hash.w());
    for (variant, count, story) in [
        (
            "one_symbol",
            1,
            "The garbler hashes a label that is no codeword in one symbol: noticed if the evaluator watches \
             it.",
        ),
        (
            "two_symbols",
            2,
            "The garbler hashes a label that is no codeword in two symbols: noticed if one of them is \
             watched.",
        ),
        (
            "five_symbols",
            5,
            "The garbler hashes a label that is no codeword in five symbols. With 55 wrong symbols it could \
             open two labels.",
        ),
    ] {
        let missed = all_among(n - count, n, w);
        let endings =
            vec![(Ending::caught(ihash::Cheat::Codeword), 1.0 - missed), (Ending::Survived, missed)];
        let _ = all.add((3, variant), story, Garbler, endings, move |rng| {
            let case = products(1, Unit::Gates, [3, 12], rng);
            case.sends(Garbler, ihash::msg::CORRECTIONS, 0, move |message| {
                // The lie changes parity symbols of the first word.
                message[..count].iter_mut().for_each(|symbol| *symbol ^= 1);
            })
        });
    }
    let used = (n - w) as f64 / n as f64;
    let story = "For one symbol, the garbler sends a share of a wrong secret. The evaluator notices it if it \
                 does not watch this symbol. The garbler learns only if the symbol is watched.";
    let endings = vec![(Ending::caught(ihash::Cheat::Shares), used), (Ending::Survived, 1.0 - used)];
    let _ = all.add((3, "one_share"), story, Garbler, endings, |rng| {
        let case = products(1, Unit::Gates, [3, 12], rng);
        case.sends(Garbler, ihash::msg::SHARES, 0, |shares| shares[0] ^= 1)
    });
    all.sends(
        (3, "wrong_hash_of_the_secret"),
        ihash::Cheat::Shares,
        (Garbler, ihash::msg::SHARES, 0),
        "The garbler sends the hash of a wrong secret: the answer would show which shares were used.",
        |shares| *shares.last_mut().expect("a hash") ^= 1,
    );
    all.sends(
        (3, "wrong_combination"),
        ihash::Cheat::Codeword,
        (Garbler, ihash::msg::ANSWER, 1),
        "The garbler names combined words that do not belong to its hashed words.",
        |words| words.iter_mut().for_each(|byte| *byte ^= 1),
    );
    // Two labels that differ only in the first symbol agree in at most ℓ − 1 symbols of the codeword.
    let weak = HashParameters::new(96, 48, 8, 3).expect("sizes of a hash");
    let level = HashLevel { labels: weak, ..HashLevel::of(40).expect("a level") };
    let passes = all_among(47, 96, 3);
    let story = "With three watched symbols of 96: the garbler solders an input as if another label were \
                 hashed. The two labels agree in as many symbols as two codewords can. A label that passes \
                 the check fits no gate.";
    let passed = Ending::caught(Cheat::EmptyBucket);
    let endings = vec![(Ending::caught(Cheat::Soldering), 1.0 - passes), (passed, passes)];
    let _ = all.add((11, "another_soldering_of_96"), story, Garbler, endings, move |rng| {
        // The wire comes after that of the constant.
        weakly_hashed(level, rng).lie(Point::Circuit, |labels| labels[48] ^= 1)
    });
    let story = "With three watched symbols of 96: the garbler sends a wrong label of its input, which \
                 agrees with the hashed label in as many symbols as two codewords can. A label that passes \
                 the check fits no gate.";
    let endings = vec![(Ending::caught(Cheat::InputLabel), 1.0 - passes), (passed, passes)];
    let _ = all.add((29, "a_third_label_of_96"), story, Garbler, endings, move |rng| {
        weakly_hashed(level, rng).lie(Point::InputLabels, |labels| labels[0] ^= 1)
    });
    all.sends(
        (11, "wrong_message_of_an_opened_gate"),
        Cheat::Permutation,
        opened::MESSAGES_OF_GATES,
        "The garbler opens a wrong permutation message of an opened gate.",
        |words| words[0] ^= 1,
    );
    all.sends(
        (11, "wrong_label_of_an_opened_gate"),
        Cheat::Label,
        opened::LABELS_OF_GATES,
        "The garbler opens a label of an opened gate for the opposite of the bit that the evaluator asked \
         for.",
        |labels| labels[40] ^= 1,
    );
    all.sends(
        (11, "lies_that_cancel"),
        Cheat::Permutation,
        opened::SOLDERED_MESSAGES,
        "The garbler tells the same lie about two permutation messages, so that the two lies cancel in a sum \
         of both.",
        |words| {
            // A message is opened by a symbol of six bits, so four messages fill three bytes.
            words[0] ^= 1;
            words[3] ^= 1;
        },
    );
}

/// Adds a garbler that makes the first `bad` gates wrong for one colour of their left operand: T_G is wrong
/// by some value, or by Δ.
fn bad_gates(all: &mut Catalogue, name: Name, story: &'static str, cut: Bucketing, bad: u32, opposite: bool) {
    let half = |k: u32| 0.5_f64.powi(k as i32);
    let (bucket, any) = (cut.bucket, unnoticed(cut, bad, 0.5, |_| 1.0));
    let noticed = (Ending::caught(Cheat::OpenedGate), 1.0 - any);
    let endings = if opposite {
        // The cases for a bucket: none of its bad gates gives a wrong result, or all of its gates do, or the
        // evaluator has two labels.
        let none = unnoticed(cut, bad, 0.5, half);
        let agree = unnoticed(cut, bad, 0.5, |k| half(k) * if k == bucket { 2.0 } else { 1.0 });
        vec![
            noticed,
            (Ending::Fooled, agree - none),
            (Ending::Recovered, any - agree),
            (Ending::Survived, none),
        ]
    } else {
        let lives = unnoticed(cut, bad, 0.5, |k| if k == bucket { 1.0 - half(k) } else { 1.0 });
        vec![noticed, (Ending::caught(Cheat::EmptyBucket), any - lives), (Ending::Survived, lives)]
    };
    let _ = all.add(name, story, Garbler, endings, move |rng| {
        let case = products(cut.slots, Unit::Gates, [bucket, cut.opened], rng);
        case.lie_with(Point::Tables, move |delta, tables| {
            let noise: Vec<u8> = delta.iter().map(|byte| byte.rotate_left(3) ^ 0x57).collect();
            add(tables, if opposite { delta } else { &noise }, (0..bad as usize).map(|gate| 2 * gate));
        })
    });
}

fn gates(all: &mut Catalogue) {
    let too_long = caught(Cheat::UnexpectedMessage);
    let story = "The evaluator sends a shorter challenge.";
    all.on_toy((4, "challenge_of_another_size"), too_long, Evaluator, story, |case| {
        case.sends(Evaluator, msg::CHALLENGE, 0, |seed| seed.truncate(8))
    });
    all.sends(
        (4, "fewer_opened"),
        Cheat::UnexpectedMessage,
        opened::LABELS_OF_GATES,
        "The garbler opens fewer gates than agreed.",
        |labels| labels.truncate(labels.len() - opened::LABEL),
    );
    let story = "Every gate that the garbler makes computes NAND.";
    all.on_toy((5, "another_function"), caught(Cheat::OpenedGate), Garbler, story, |case| {
        let gates = case.settings().copies[0].copies() as usize;
        case.lie_with(Point::GateOutputs, move |delta, outputs| add(outputs, delta, 0..gates))
    });
    let story = "The garbler flips a bit of a gate that is used: the other gates of its bucket give right \
                 labels.";
    all.on_toy((5, "flipped_table_in_use"), certain(Ending::Survived), Garbler, story, |case| {
        let gate = kept(&case)[0][2];
        case.lie(Point::Tables, move |tables| {
            tables[96 * gate..][..96].iter_mut().step_by(48).for_each(|byte| *byte ^= 1)
        })
    });
    let story = "The garbler knows the challenge beforehand and spoils a whole bucket: no result is valid, \
                 so the evaluator accepts no wrong output.";
    all.on_toy((5, "whole_bucket"), caught(Cheat::EmptyBucket), Garbler, story, |case| {
        let gates = kept(&case)[0][..3].to_vec();
        case.lie(Point::GateOutputs, move |outputs| gates.iter().for_each(|gate| outputs[48 * gate + 7] ^= 1))
    });
    let story = "With few gates, 16 for 4 buckets: three of them are wrong for one colour. An opened wrong \
                 gate is found half of the time. If both gates of a bucket give wrong labels, the bucket has \
                 no result.";
    bad_gates(all, (5, "bucket_of_2_among_4"), story, Bucketing { slots: 4, bucket: 2, opened: 8 }, 3, false);
    let story = "With few gates, 24 for 4 buckets of three: five of them are wrong for one colour.";
    bad_gates(
        all,
        (5, "bucket_of_3_among_4"),
        story,
        Bucketing { slots: 4, bucket: 3, opened: 12 },
        5,
        false,
    );
    let story = "With few gates: three of them give the opposite label for one colour. If all gates of a \
                 bucket are such gates, the evaluator accepts a wrong output. Otherwise it has two valid \
                 labels, and computes the outputs in the clear.";
    bad_gates(
        all,
        (14, "opposite_label_among_4"),
        story,
        Bucketing { slots: 4, bucket: 2, opened: 8 },
        3,
        true,
    );
    let story = "With few gates and more buckets: two of them give the opposite label for one colour.";
    bad_gates(
        all,
        (14, "opposite_label_among_8"),
        story,
        Bucketing { slots: 8, bucket: 2, opened: 16 },
        2,
        true,
    );
    let story = "One gate of a bucket computes NAND: the sum of two valid labels is the garbler's offset. \
                 The evaluator computes the output itself, and sends the same messages as in an honest \
                 run.";
    all.on_toy((14, "one_gate_says_the_opposite"), certain(Ending::Recovered), Garbler, story, |case| {
        let gate = kept(&case)[0][4];
        case.lie_with(Point::GateOutputs, move |delta, outputs| add(outputs, delta, [gate]))
    });
    let story = "Every bucket gives two valid labels. The garbler would see if many recoveries change the \
                 evaluator's messages.";
    all.on_toy((28, "every_bucket_disagrees"), certain(Ending::Recovered), Garbler, story, |case| {
        let gates: Vec<usize> = kept(&case)[0].chunks(3).map(|gates| gates[1]).collect();
        case.lie_with(Point::GateOutputs, move |delta, outputs| add(outputs, delta, gates.iter().copied()))
    });
    let story = "The first bucket gives two valid labels. In each later bucket only one gate gives a valid \
                 label. The garbler would see if the evaluator stops there.";
    all.on_toy((28, "a_later_abort"), certain(Ending::Recovered), Garbler, story, |case| {
        let gates = kept(&case)[0].clone();
        case.lie_with(Point::GateOutputs, move |delta, outputs| {
            add(outputs, delta, [gates[1]]);
            for bucket in gates[3..].chunks(3) {
                bucket[1..].iter().for_each(|gate| outputs[48 * gate + 20] ^= 8);
            }
        })
    });
}

/// Adds a garbler that makes the first `bad` copies of a component give an invalid label, or the opposite
/// label.
fn bad_copies(all: &mut Catalogue, name: Name, story: &'static str, cut: Bucketing, bad: u32, turned: bool) {
    let hidden =
        choose(cut.kept() as u32 + cut.opened - bad, cut.opened) / choose(cut.copies() as u32, cut.opened);
    let ruined = exact(cut, bad_for(cut, BucketRule::COMPONENT) as u32, bad);
    let (lost, rest) = match turned {
        true => (Ending::Fooled, Ending::Recovered),
        false => (Ending::caught(Cheat::EmptyBucket), Ending::Survived),
    };
    let endings =
        vec![(Ending::caught(Cheat::OpenedCopy), 1.0 - hidden), (lost, ruined), (rest, hidden - ruined)];
    let _ = all.add(name, story, Garbler, endings, move |rng| {
        let case = products(cut.slots, Unit::Components, [cut.bucket, cut.opened], rng);
        if turned {
            return opposite(case, 0, 0..bad, 0);
        }
        (0..bad).fold(case, |case, copy| {
            case.lie(Point::CopyTables(0, copy), |tables| {
                let rows = tables.len() - 96;
                tables[rows..].iter_mut().for_each(|byte| *byte ^= 1);
            })
        })
    });
}

fn components(all: &mut Catalogue) {
    let story = "Every copy of a component computes another function.";
    all.on_toy((5, "components_of_another_function"), caught(Cheat::OpenedCopy), Garbler, story, |case| {
        let copies = case.settings().copies[0].copies() as u32;
        opposite(case, 0, 0..copies, 0)
    });
    let story = "The garbler flips a bit of the tables of a copy in use: the other copies of its bucket give \
                 right labels.";
    all.on_toy((5, "a_copy_in_use"), certain(Ending::Survived), Garbler, story, |case| {
        let copy = kept(&case)[1][4] as u32;
        case.lie(Point::CopyTables(1, copy), |tables| {
            tables.iter_mut().step_by(7).for_each(|byte| *byte ^= 1)
        })
    });
    let story = "The garbler knows the challenge beforehand and spoils all copies of a bucket: the evaluator \
                 accepts no wrong output.";
    all.on_toy((5, "whole_bucket_of_components"), caught(Cheat::EmptyBucket), Garbler, story, |case| {
        let copies = kept(&case)[1][3..6].to_vec();
        copies
            .into_iter()
            .fold(case, |case, copy| case.lie(Point::CopyTables(1, copy as u32), |tables| tables.fill(0x5a)))
    });
    let story = "The garbler sends tables of a copy in use that differ from the hashed tables.";
    all.on_toy((5, "tables_after_their_hash"), caught(Cheat::Tables), Garbler, story, |case| {
        case.sends(Garbler, msg::TABLES, 0, |tables| tables[1] ^= 4)
    });
    let story = "The garbler garbles all copies of a component with offsets that differ from the hashed \
                 ones: an opened copy shows it.";
    all.on_toy((6, "other_offsets_of_copies"), caught(Cheat::OpenedCopy), Garbler, story, |case| {
        case.lie(Point::CopyOffsets(0), |offsets| offsets.iter_mut().step_by(48).for_each(|byte| *byte ^= 2))
    });
    let story = "The garbler tells wrongly which copies have the hashed word as their offset. So their \
                 opened offsets do not match.";
    all.on_toy((6, "other_colours_of_copies"), caught(Cheat::Label), Garbler, story, |case| {
        case.sends(Garbler, msg::COLOURS, 0, |colours| colours[0] ^= 0xff)
    });
    let story = "With few copies, 16 for 4 components: two of them give invalid labels, and each of them is \
                 found if it is opened. A bucket of both has no result.";
    let cut = Bucketing { slots: 4, bucket: 2, opened: 8 };
    bad_copies(all, (5, "components_bucket_of_2_among_4"), story, cut, 2, false);
    let story = "With few copies: two of them give the opposite label. If both are in one bucket, the \
                 evaluator accepts a wrong output. Otherwise it has two valid labels, learns the offset from \
                 them, and computes the outputs in the clear.";
    bad_copies(all, (14, "opposite_component_among_4"), story, cut, 2, true);
    let story = "With more copies opened, 24 of 40: two of them give the opposite label.";
    let cut = Bucketing { slots: 8, bucket: 2, opened: 24 };
    bad_copies(all, (14, "opposite_component_among_8"), story, cut, 2, true);
    let story = "One copy of each component gives the opposite label of an output: the sum of two labels is \
                 the sum of the copy's offset and the session's offset. The evaluator computes the outputs \
                 itself, and sends the same messages as in an honest run.";
    all.on_toy((28, "every_component_disagrees"), certain(Ending::Recovered), Garbler, story, |case| {
        let all_kept = kept(&case);
        let of_kind =
            |kind: usize| all_kept[kind].chunks(3).map(|copies| copies[1] as u32).collect::<Vec<_>>();
        opposite(opposite(case, 0, of_kind(0), 0), 1, of_kind(1), 0)
    });
}

fn offsets(all: &mut Catalogue) {
    let story = "The garbler's offset is 0: all gates are right, but both labels of each wire are equal.";
    all.on_toy((6, "offset_of_0"), caught(Cheat::Offset), Garbler, story, |case| {
        case.lie(Point::Offset, |offset| offset.fill(0))
    });
    for (bit, variant) in [(false, "colour_0_for_inputs_of_0"), (true, "colour_0_for_inputs_of_1")] {
        let story = match bit {
            false => {
                "The offset has colour 0, so only the row of zeros is right in each gate. The two opened \
                 gates show it, or the inputs are zeros and nobody notices it."
            }
            true => {
                "The offset has colour 0, against inputs of 1. If the two opened gates do not show it, the \
                 bucket gives no result. If only few gates were opened, the garbler would learn the input."
            }
        };
        let otherwise = if bit { Ending::caught(Cheat::EmptyBucket) } else { Ending::Survived };
        let endings = vec![(Ending::caught(Cheat::OpenedGate), 15.0 / 16.0), (otherwise, 1.0 / 16.0)];
        let _ = all.add((6, variant), story, Garbler, endings, move |rng| {
            let case = products(1, Unit::Gates, [2, 2], rng).inputs(&[bit], &[bit]);
            case.lie(Point::Colour, |colour| colour[0] = 0)
        });
    }
    for (bit, variant) in
        [(false, "copies_of_colour_0_for_inputs_of_0"), (true, "copies_of_colour_0_for_inputs_of_1")]
    {
        let story = match bit {
            false => {
                "Two of four copies have offsets of colour 0, and all other values match these offsets. Such \
                 a copy is found if it is opened. A bucket of both gives right labels for inputs of 0."
            }
            true => {
                "Two of four copies have offsets of colour 0, against inputs of 1, for which a bucket of \
                 both gives no result. If opened copies did not show it, the garbler would learn the input."
            }
        };
        let otherwise = if bit { Ending::caught(Cheat::EmptyBucket) } else { Ending::Survived };
        let endings = vec![(Ending::caught(Cheat::OpenedCopy), 5.0 / 6.0), (otherwise, 1.0 / 6.0)];
        let _ = all.add((6, variant), story, Garbler, endings, move |rng| {
            let case = products(1, Unit::Components, [2, 2], rng).inputs(&[bit], &[bit]);
            let flip = |colours: &mut [u8]| colours[..2].iter_mut().for_each(|one| *one ^= 1);
            case.lie(Point::CopyColours(0), flip)
        });
    }
}

/// Makes a gate of a bucket give the opposite label, so that the evaluator learns Δ.
fn gives_the_offset_away(case: Case) -> Case {
    let gate = kept(&case)[0][0];
    case.lie_with(Point::GateOutputs, move |delta, outputs| add(outputs, delta, [gate]))
}

/// Adds attacks on messages that are read with Δ: the garbler hashes words that are not codewords, and hopes
/// that the wrong symbols are not watched.
fn reading(all: &mut Catalogue) {
    let hash = HashLevel::of(40).expect("a level").permutations;
    let (n, w) = (hash.n(), hash.w());
    // The first messages are two of the setup, five with labels and four with permutation bits.
    const READ: usize = 11;
    for (variant, count, story) in [
        (
            "one_symbol_of_what_is_read",
            1,
            "The garbler hashes messages that are read with Δ and are wrong in one symbol, and a gate \
             discloses Δ. If the symbol is watched, the evaluator notices it. Otherwise the other symbols \
             disclose the garbler's input.",
        ),
        ("three_symbols_of_what_is_read", 3, "Messages that are read with Δ are wrong in three symbols."),
    ] {
        let missed = all_among(n - count, n, w);
        let endings =
            vec![(Ending::caught(ihash::Cheat::Codeword), 1.0 - missed), (Ending::Recovered, missed)];
        let _ = all.add((9, variant), story, Garbler, endings, move |rng| {
            let case = gives_the_offset_away(of(Unit::Gates, rng));
            case.sends(Garbler, ihash::msg::CORRECTIONS, READ, move |message| {
                // The first parity symbols of each message, of six bits each.
                let parity = 6 * (n - hash.l());
                for bit in (0..8 * message.len() - parity + 1).step_by(parity) {
                    (0..count).map(|k| bit + 6 * k).for_each(|bit| message[bit / 8] ^= 1 << (bit % 8));
                }
            })
        });
    }
    let story = "The garbler proves messages that differ from those that are read with Δ.";
    all.on_toy(
        (9, "wrong_combination_of_what_is_read"),
        caught(ihash::Cheat::Codeword),
        Garbler,
        story,
        |case| {
            case.sends(Garbler, ihash::msg::ANSWER, 3, |words| words.iter_mut().for_each(|byte| *byte ^= 1))
        },
    );
    let story = "The garbler names combinations of sums that differ from the opened sums with read messages.";
    all.on_toy((9, "wrong_combination_of_sums"), caught(Cheat::Permutation), Garbler, story, |case| {
        case.sends(Garbler, ihash::msg::OPENINGS, 5, |words| words.iter_mut().for_each(|byte| *byte ^= 1))
    });
}

fn solderings(all: &mut Catalogue) {
    all.sends(
        (10, "wrong_soldering"),
        Cheat::Soldering,
        opened::SOLDERINGS,
        "The garbler solders a gate with a wrong difference.",
        |labels| labels[20] ^= 16,
    );
    all.sends(
        (10, "other_wire"),
        Cheat::Soldering,
        opened::SOLDERINGS,
        "The garbler swaps the differences of two gates: each would read the wire of the other.",
        |labels| {
            let (first, others) = labels.split_at_mut(opened::LABEL);
            first.swap_with_slice(&mut others[..opened::LABEL]);
        },
    );
    all.sends(
        (10, "other_message"),
        Cheat::Permutation,
        opened::SOLDERED_MESSAGES,
        "The garbler flips a permutation bit by a wrong message: a gate would not compute AND.",
        |words| words[1] ^= 0x10,
    );
    all.sends(
        (10, "wrong_sum_with_what_is_read"),
        Cheat::Permutation,
        opened::SUMS_WITH_READ_ONES,
        "The garbler opens a wrong sum of a message and the message that is read in its place: a party that \
         has Δ would read a wrong bit.",
        |words| words[0] ^= 1,
    );
    all.sends(
        (30, "one_wire_to_two"),
        Cheat::Soldering,
        opened::SOLDERINGS,
        "The garbler opens the difference of one pair of wires for a second pair, too.",
        |labels| labels.copy_within(..opened::LABEL, opened::LABEL),
    );
}

fn inputs(all: &mut Catalogue) {
    for bit in [false, true] {
        let (offset, label) = if bit {
            ("other_offset_for_inputs_of_1", "poisoned_label_for_inputs_of_1")
        } else {
            ("other_offset_for_inputs_of_0", "poisoned_label_for_inputs_of_0")
        };
        let [of_offset, of_label] = match bit {
            false => [
                "Selective failure, against inputs of 0: the garbler hashes an offset that differs from that \
                 of the OTs.",
                "Selective failure, against inputs of 0: the garbler hashes the other label of an OT.",
            ],
            true => [
                "Selective failure, against inputs of 1: the evaluator stops at the same message as with \
                 inputs of 0, before it sends anything that depends on its inputs.",
                "Selective failure, against inputs of 1: if the garbler hashes the other label, the run ends \
                 as with inputs of 0.",
            ],
        };
        all.on_toy((12, offset), caught(Cheat::OtOffset), Garbler, of_offset, move |case| {
            case.inputs(&[bit; 3], &[bit; 3]).lie(Point::Offset, |offset| offset[30] ^= 1)
        });
        all.on_toy((12, label), caught(Cheat::OtOffset), Garbler, of_label, move |case| {
            let case = case.inputs(&[bit; 3], &[bit; 3]);
            case.lie_with(Point::OtLabels, |delta, labels| add(labels, delta, [1]))
        });
    }
    all.sends(
        (13, "wrong_label"),
        Cheat::InputLabel,
        opened::INPUTS,
        "The garbler sends an invalid label for its own input, so that the run would depend on the label \
         that the evaluator reads.",
        |labels| labels[40] ^= 1,
    );
}

fn outputs(all: &mut Catalogue) {
    all.sends(
        (13, "wrong_decoding"),
        Cheat::Permutation,
        opened::DECODING,
        "The garbler lies about which label of the evaluator's output stands for 0: it would flip the \
         output.",
        |words| words[0] ^= 1,
    );
    for (variant, place, story) in [
        (
            "flipped_bit",
            5,
            "For an output of the garbler, the evaluator sends a value that is neither of the two labels.",
        ),
        (
            "flipped_colour",
            0,
            "The evaluator flips only the colour of a label, as if it were the other label of the wire.",
        ),
    ] {
        all.on_toy((15, variant), caught(Cheat::OutputLabel), Evaluator, story, move |case| {
            case.evaluator_lies(Point::OutputLabels, move |labels| labels[place] ^= 1)
        });
    }
    let story = "The evaluator exchanges the labels of two outputs.";
    all.on_toy((15, "swapped_outputs"), caught(Cheat::OutputLabel), Evaluator, story, |case| {
        case.evaluator_lies(Point::OutputLabels, |labels| {
            let (first, others) = labels.split_at_mut(16);
            first.swap_with_slice(&mut others[..16]);
        })
    });
}

/// Adds attacks on the order of messages, and on the bytes of a connection.
fn order(all: &mut Catalogue) {
    shared::late(
        all,
        [
            (
                "combinations_stall_and_fail",
                (ihash::msg::ANSWER, 1),
                ihash::Cheat::Codeword.into(),
                "The garbler's combined words are late and wrong: nothing is challenged before they are \
                 checked.",
            ),
            (
                "solderings_stall_and_fail",
                (opened::SOLDERINGS.1, opened::SOLDERINGS.2),
                Cheat::Soldering.into(),
                "The garbler's solderings are late and wrong, and all later messages arrive before them: \
                 nothing is evaluated before the solderings are checked.",
            ),
            // The outputs are sent after this message.
            (
                "decoding_stalls_and_fails",
                (opened::DECODING.1, opened::DECODING.2),
                Cheat::Permutation.into(),
                "The values that decode the outputs are late and wrong: no output is sent before they are \
                 checked.",
            ),
        ],
    );
    all.sends(
        (18, "too_short"),
        Cheat::UnexpectedMessage,
        (Garbler, msg::GATES, 0),
        "A message is shorter than in the protocol: it is refused before any part of it is used.",
        |message| message.truncate(3),
    );
    all.sends(
        (18, "too_long"),
        Cheat::UnexpectedMessage,
        opened::INPUTS,
        "A message is longer than in the protocol: it is refused before memory is allocated for it.",
        |message| message.push(0),
    );
    let unexpected = || caught(Cheat::UnexpectedMessage);
    let story = "The message with the evaluator's labels of outputs is too short.";
    all.on_toy((18, "too_short_outputs"), unexpected(), Evaluator, story, |case| {
        case.sends(Evaluator, msg::OUTPUT_LABELS, 0, |labels| labels.truncate(16))
    });
    let story = "The evaluator sends more bits than its input has.";
    all.on_toy((18, "bits_behind_the_last"), unexpected(), Evaluator, story, |case| {
        case.sends(Evaluator, msg::CHOICES, 0, |bits| bits[0] |= 0x80)
    });
    let run = |rng: &mut Rng| {
        let program = toy();
        Case::new(&program, small(&program, Unit::Gates, [3, 12]), rng)
    };
    let garbler = "The same inputs in two runs: no message of the garbler is the same, so neither an offset \
                   nor a label occurs twice.";
    let evaluator = "The same inputs in two runs: no message of the evaluator is the same, so it watches \
                     different symbols in the two runs.";
    shared::fresh(all, run, [garbler, evaluator], &[]);
    let story = "The garbler wants fewer gates to be opened than the evaluator wants.";
    all.on_toy((19, "fewer_opened"), certain(Ending::Refused), Garbler, story, |case| {
        case.wants(Garbler, |_, sizes: &mut Sizes| sizes.copies[0].opened -= 1)
    });
}
