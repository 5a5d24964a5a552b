//! The attacks on components with authenticated masks, row by row. The protocol is described in
//! docs/protocols/authenticated.md.

mod stock;

use brickwork::authenticated::adversary::{Case, Outcome, Point, case, chain, of_lengths};
use brickwork::authenticated::{Authenticated, Cheat, msg};
use brickwork::circuit::Party::{self, Evaluator, Garbler};
use brickwork::circuit::Recipient;
use brickwork::ot::{self, Cot, pcg, softspoken};
use brickwork::random::Rng;
use brickwork::wire::Tag;
use brickwork_harness::{Ending, add};

use crate::attack::{Attack, Endings, Name, caught};
use crate::page::{AttackPage, lines};
use crate::shared;

/// The length of a label or a word, and of a tag, in bytes.
const WORD: usize = 16;
const TAG: usize = 8;

/// The number of bytes of the compared bits of a leaky AND.
const COMPARED: usize = 6;

/// The number of runs of an attack that depends on a guess of seven bits.
const GUESSED: usize = 3000;

type Catalogue = crate::attack::Catalogue<Authenticated>;

/// Returns the tables of this protocol.
pub fn page() -> AttackPage {
    let of_ots = ot::Cheat::ALL.iter().map(|&check| check.into());
    let of_trees = softspoken::Cheat::ALL.iter().map(|&check| check.into());
    let of_pcg = pcg::Cheat::ALL.iter().map(|&check| check.into());
    let all = of_ots.chain(of_trees).chain(of_pcg).chain(Cheat::ALL.iter().map(|&check| check.into()));
    let (file, attacks) = ("protocols/authenticated.md", catalogue());
    AttackPage { protocol: "authenticated", file, attacks, checks: lines(all) }
}

/// Returns all attacks.
pub fn catalogue() -> Vec<Attack> {
    let mut all = Catalogue::new(toy);
    shared::base_ots(&mut all, [Evaluator, Garbler]);
    ots(&mut all);
    leaky_ands(&mut all);
    triples(&mut all);
    comparison(&mut all);
    gates(&mut all);
    solderings(&mut all);
    inputs(&mut all);
    answers(&mut all);
    reports(&mut all);
    order(&mut all);
    stock::stock(&mut all);
    lengths(&mut all);
    all.sorted()
}

/// Makes a run of the attacked program: a·b·c for both parties, where x is a.
fn toy(rng: &mut Rng) -> Case {
    case(&chain(Recipient::Both), rng)
}

/// Returns the endings of an attack that this check detects at a rate, and that has no effect otherwise.
fn at_rate(check: Cheat, rate: f64) -> Endings {
    vec![(Ending::caught(check), rate), (Ending::Survived, 1.0 - rate)]
}

/// Returns a change that flips bit `bit` of word number `word`, with `bytes` bytes per word.
fn flip(bytes: usize, word: usize, bit: usize) -> impl FnMut(&mut [u8]) + Send {
    move |all| all[word * bytes + bit / 8] ^= 1 << (bit % 8)
}

/// Returns a change of a byte in data that comes in several parts.
fn in_parts(at: usize, mut alter: impl FnMut(&mut u8) + Send) -> impl FnMut(&mut [u8]) + Send {
    let mut passed = 0;
    move |part| {
        at.checked_sub(passed).and_then(|at| part.get_mut(at)).into_iter().for_each(&mut alter);
        passed += part.len();
    }
}

/// Returns a change that flips bit `bit` of word number `word`, with `bytes` bytes per word, in data that
/// comes in several parts.
fn flip_in_parts(bytes: usize, word: usize, bit: usize) -> impl FnMut(&mut [u8]) + Send {
    in_parts(word * bytes + bit / 8, move |byte| *byte ^= 1 << (bit % 8))
}

/// Returns a change of a case: a party flips a bit at a point.
fn bit(party: Party, point: Point, bytes: usize, word: usize, bit: usize) -> impl Fn(Case) -> Case {
    move |case| case.lies(party, point, flip(bytes, word, bit))
}

/// Makes a party's first message of this tag a byte too long.
fn longer(party: Party, tag: Tag) -> impl Fn(Case) -> Case {
    move |case| case.sends(party, tag, 0, |bytes| bytes.push(0))
}

/// Guesses the lowest byte of an offset, or of the sum of both offsets if the last bit of one is left out.
/// The guess ends in 1.
fn guess(rng: &mut Rng) -> u8 {
    (rng.below(128) << 1) as u8 | 1
}

fn ots(all: &mut Catalogue) {
    for (cheater, trees, rows, answer) in [
        (Garbler, "garblers_trees", "garblers_rows", "garblers_answer"),
        (Evaluator, "evaluators_trees", "evaluators_rows", "evaluators_answer"),
    ] {
        let told = |garbler, evaluator| if cheater == Garbler { garbler } else { evaluator };
        let story = told(
            "The garbler sends trees that differ from the proved ones. If the evaluator completed them, it \
             would disclose bits of its offset.",
            "The evaluator sends trees that differ from the proved ones, to learn bits of the garbler's \
             offset.",
        );
        all.on_toy((1, trees), caught(softspoken::Cheat::OtTrees), cheater, story, move |case| {
            case.sends(cheater, softspoken::msg::TREES, 0, |trees| trees[32 * 128 + 3] ^= 4)
        });
        let story = told(
            "The garbler uses choices in one row of its masks' OTs that differ from those in the other rows.",
            "The evaluator uses choices in one row of its masks' OTs that differ from those in the other \
             rows.",
        );
        all.on_toy((1, rows), caught(ot::Cheat::OtExtension), cheater, story, move |case| {
            case.sends(cheater, softspoken::msg::ROWS, 0, |rows| rows[WORD] ^= 1)
        });
        let story = told(
            "The garbler answers the check of its rows wrongly.",
            "The evaluator answers the check of its rows wrongly.",
        );
        all.on_toy((1, answer), caught(ot::Cheat::OtExtension), cheater, story, move |case| {
            case.sends(cheater, softspoken::msg::CHECK, 0, |answer| answer[WORD] ^= 1)
        });
    }
    let story = "The garbler sends a wrong word of a PCG's tree: its trees would depend on the positions of \
                 the evaluator's errors.";
    all.on_toy((1, "word_of_a_pcg"), caught(pcg::Cheat::PcgTrees), Garbler, story, |case| {
        case.set(|(_, cot)| *cot = Cot::Pcg)
            .sends(Garbler, pcg::msg::CORRECTIONS, 0, |words| words[WORD * 7 + 1] ^= 2)
    });
}

/// Adds 2 to ciphertext `k` and to the compared word, as if the other party's share of x were 1.
fn bet(case: Case, party: Party, k: usize) -> Case {
    let case = case.lies(party, Point::Ciphertexts, flip(COMPARED, k, 1));
    case.lies(party, Point::Compared, flip(COMPARED, k, 1))
}

fn leaky_ands(all: &mut Catalogue) {
    for (cheater, variant, other, story, told) in [
        (
            Garbler,
            "garblers_bet",
            "garblers_word",
            "The garbler bets on the evaluator's share of an x. The garbler loses half of the time.",
            "The garbler compares a wrong word of a leaky AND.",
        ),
        (
            Evaluator,
            "evaluators_bet",
            "evaluators_word",
            "The evaluator bets on the garbler's share of an x. The evaluator loses half of the time.",
            "The evaluator compares a wrong word of a leaky AND.",
        ),
    ] {
        all.on_toy((2, variant), at_rate(Cheat::Equality, 0.5), cheater, story, move |case| {
            bet(case, cheater, 0)
        });
        all.on_toy(
            (2, other),
            caught(Cheat::Equality),
            cheater,
            told,
            bit(cheater, Point::Compared, COMPARED, 5, 40),
        );
    }
    for (cheater, variant, guessed, story, told) in [
        (
            Garbler,
            "garblers_bit",
            "garblers_bit_and_a_guess",
            "The garbler lies about its bit of a leaky AND. This makes a triple whose product is wrong.",
            "The garbler lies about its bit of a leaky AND, and guesses seven of the eight bits that are \
             compared here. Then a gate computes NAND, and the output is wrong where c is 1.",
        ),
        (
            Evaluator,
            "evaluators_bit",
            "evaluators_bit_and_a_guess",
            "The evaluator lies about its bit of a leaky AND.",
            "The evaluator lies about its bit of a leaky AND, and guesses seven of the eight compared bits.",
        ),
    ] {
        all.on_toy((3, variant), caught(Cheat::Equality), cheater, story, bit(cheater, Point::Bits, 1, 0, 0));
        let right = 1.0 / 128.0;
        let endings = vec![
            (Ending::caught(Cheat::Equality), 1.0 - right),
            (Ending::Fooled, right / 2.0),
            (Ending::Survived, right / 2.0),
        ];
        all.add((3, guessed), told, cheater, endings, move |rng| {
            let guess = guess(rng);
            let case = of_lengths(toy(rng), |all| all.compared = 8).lies(cheater, Point::Bits, flip(1, 0, 0));
            // Both parties continue with the lie. So their words differ by the sum of both offsets, if the
            // last bit of one offset is left out.
            case.lies(cheater, Point::Compared, move |words| words[0] ^= guess)
        })
        .trials = GUESSED;
    }
    for (cheater, variant, story) in [
        (
            Garbler,
            "garblers_three_bets",
            "The garbler bets on three leaky ANDs. It wins all three bets with probability 1/8.",
        ),
        (Evaluator, "evaluators_three_bets", "The evaluator bets on three leaky ANDs, one of each layer."),
    ] {
        all.on_toy((4, variant), at_rate(Cheat::Equality, 0.875), cheater, story, move |case| {
            [0, 2, 4].into_iter().fold(case, |case, k| bet(case, cheater, k))
        });
    }
}

fn triples(all: &mut Catalogue) {
    // The first differences are those of two layers with two gates each. After them come both factors of each
    // gate.
    for (cheater, layers, factors, story, told) in [
        (
            Garbler,
            "garblers_difference_of_layers",
            "garblers_difference_to_a_triple",
            "The garbler opens a wrong difference between two layers of leaky ANDs.",
            "The garbler opens a wrong difference between a gate's masks and its triple: the gate would \
             compute another function than AND.",
        ),
        (
            Evaluator,
            "evaluators_difference_of_layers",
            "evaluators_difference_to_a_triple",
            "The evaluator opens a wrong difference between two layers of leaky ANDs.",
            "The evaluator opens a wrong difference between a gate's masks and its triple.",
        ),
    ] {
        for (variant, story, first) in [(layers, story, 0), (factors, told, 4)] {
            let _ = all.add((5, variant), story, cheater, caught(Cheat::Opening), move |rng| {
                let place = first + rng.below(4) as usize;
                bit(cheater, Point::Opened, 1, place, 0)(toy(rng))
            });
        }
    }
}

fn comparison(all: &mut Catalogue) {
    let story = "The evaluator has seen the garbler's coin, and opens a coin that differs from the announced \
                 one. It would shift layers so that its bets come into one bucket.";
    let lie = bit(Evaluator, Point::Coin, 1, 3, 2);
    all.on_toy((6, "other_coin"), caught(Cheat::Coin), Evaluator, story, lie);
    let story = "The evaluator masks a digest that differs from that of its words. It has one guess, and no \
                 part of the digest is sent unencrypted.";
    all.on_toy((7, "evaluators_digest"), caught(Cheat::Equality), Evaluator, story, |case| {
        case.sends(Evaluator, msg::COMPARE, 0, |digest| digest[5] ^= 8)
    });
    let story = "The garbler answers with a hash of keys that differ from those in its digest.";
    all.on_toy((7, "garblers_answer"), caught(Cheat::Equality), Garbler, story, |case| {
        case.sends(Garbler, msg::COMPARED, 0, |answer| answer[2] ^= 1)
    });
    let story = "The evaluator answers with a hash of keys that differ from those in its digest.";
    all.on_toy((7, "evaluators_answer"), caught(Cheat::Equality), Evaluator, story, |case| {
        case.sends(Evaluator, msg::COIN, 0, |answer| answer[2] ^= 1)
    });
}

fn gates(all: &mut Catalogue) {
    for (gate, function, colour, story, told) in [
        (
            0,
            "first_gate_is_nand",
            "colour_of_the_first_gate",
            "The garbler garbles NAND for AND.",
            "The garbler flips the bit that makes an output's label end in 0.",
        ),
        (
            1,
            "last_gate_is_nand",
            "colour_of_the_last_gate",
            "The garbler garbles NAND for the gate that is the output.",
            "The garbler flips the bit that makes the label end in 0, of the gate that is the output.",
        ),
    ] {
        all.on_toy((8, function), caught(Cheat::Gates), Garbler, story, move |case| {
            case.lie_with(Point::Products, move |offset, all| add(all, offset, [gate]))
        });
        all.on_toy(
            (8, colour),
            caught(Cheat::Gates),
            Garbler,
            told,
            bit(Garbler, Point::Colours, 1, gate, 0),
        );
    }
    for (row, variant, story) in [
        (
            0,
            "first_row",
            "The garbler sends a wrong row of a gate. The row is used if the masked value of the first \
             operand is 1.",
        ),
        (
            1,
            "second_row",
            "The garbler sends a wrong second row of a gate. The row is used if the masked \
             value of the second operand is 1.",
        ),
    ] {
        let lie = bit(Garbler, Point::Rows, WORD, row, 0);
        all.on_toy((9, variant), at_rate(Cheat::Gates, 0.5), Garbler, story, lie);
    }
    for (y, variant, story) in [
        (
            false,
            "row_for_inputs_of_0",
            "A row of the last gate is wrong, and the evaluator's bits are 0. The evaluator stops as often \
             as with bits 1, so the garbler learns nothing.",
        ),
        (true, "row_for_inputs_of_1", "A row of the last gate is wrong, and the evaluator's bits are 1."),
    ] {
        all.on_toy((9, variant), at_rate(Cheat::Gates, 0.5), Garbler, story, move |case| {
            case.inputs(&[true], &[y; 2]).lie(Point::Rows, flip(WORD, 2, 0))
        });
    }
}

fn solderings(all: &mut Catalogue) {
    for (port, rate, variant, story) in [
        (
            3,
            0.5,
            "one_gate_behind",
            "The garbler flips a bit of a soldering, so that the label becomes invalid: noticed if the next \
             gate uses this label.",
        ),
        (0, 0.75, "two_gates_behind", "The garbler solders wrongly, and two gates use the wire."),
    ] {
        let lie = bit(Garbler, Point::Solderings, WORD, port, 77);
        all.on_toy((10, variant), at_rate(Cheat::Gates, rate), Garbler, story, lie);
    }
    let names = [
        ("last_bit_of_port_0", "negated_port_0"),
        ("last_bit_of_port_1", "negated_port_1"),
        ("last_bit_of_port_2", "negated_port_2"),
        ("last_bit_of_port_3", "negated_port_3"),
    ];
    let stories = [
        (
            "The garbler flips the last bit of a soldering.",
            "The garbler solders to the other label of a wire: a value would be negated.",
        ),
        (
            "The garbler flips a soldering of an input of the evaluator.",
            "The garbler negates an input of the evaluator.",
        ),
        (
            "The garbler flips the last bit of a soldering between two gates.",
            "The garbler negates a wire between two gates.",
        ),
        (
            "The garbler flips the last bit of the last port's soldering.",
            "The garbler negates the value that goes into the last port.",
        ),
    ];
    for (port, ((last, negated), (story, told))) in names.into_iter().zip(stories).enumerate() {
        let lie = bit(Garbler, Point::Solderings, WORD, port, 0);
        all.on_toy((11, last), caught(Cheat::Soldering), Garbler, story, lie);
        all.on_toy((11, negated), caught(Cheat::Soldering), Garbler, told, move |case| {
            case.lie_with(Point::Solderings, move |offset, all| add(all, offset, [port]))
        });
    }
}

fn inputs(all: &mut Catalogue) {
    let story = "The garbler sends an invalid label of its own input: a gate notices it, or it has no \
                 effect.";
    let lie = bit(Garbler, Point::InputLabels, WORD, 0, 9);
    all.on_toy((12, "third_label"), at_rate(Cheat::Gates, 0.75), Garbler, story, lie);
    for (wire, variant, story) in [
        (1, "evaluators_first_input", "The garbler sends the other label of the evaluator's input."),
        (2, "evaluators_last_input", "The garbler sends the other label of the evaluator's last input."),
    ] {
        all.on_toy((13, variant), caught(Cheat::InputLabel), Garbler, story, move |case| {
            case.lie_with(Point::InputLabels, move |offset, all| add(all, offset, [wire]))
        });
    }
    for (cheater, row, inputs, outputs, story, told) in [
        (
            Garbler,
            15,
            "mask_of_an_input",
            "mask_of_an_output",
            "The garbler opens a wrong share of the mask of the evaluator's input, which would be flipped.",
            "The garbler opens a wrong share of the mask of the evaluator's output, which would be flipped.",
        ),
        (
            Evaluator,
            18,
            "mask_of_an_input",
            "mask_of_an_output",
            "The evaluator opens a wrong share of the mask of the garbler's input.",
            "The evaluator opens a wrong share of the mask of the garbler's output.",
        ),
    ] {
        let lie = bit(cheater, Point::InputMasks, 1, 0, 0);
        all.on_toy((row, inputs), caught(Cheat::Opening), cheater, story, lie);
        let lie = bit(cheater, Point::OutputMasks, 1, 0, 0);
        all.on_toy((row, outputs), caught(Cheat::Opening), cheater, told, lie);
    }
}

fn answers(all: &mut Catalogue) {
    for (gate, variant, story) in [
        (0, "tag_of_the_first_gate", "The garbler answers with a wrong tag of a gate."),
        (1, "tag_of_the_last_gate", "The garbler answers with a wrong tag of the last gate."),
    ] {
        all.on_toy((14, variant), caught(Cheat::Gates), Garbler, story, move |case| {
            case.lie(Point::Gates, flip_in_parts(TAG, gate, 5))
        });
    }
    let right = 1.0 / 128.0;
    let endings = vec![(Ending::caught(Cheat::Gates), 1.0 - right), (Ending::Fooled, right)];
    let story = "The garbler garbles NAND for the gate that is the output, and guesses the seven unknown \
                 bits of a tag of one byte: then the output is wrong.";
    all.add((14, "guessed_tag"), story, Garbler, endings, move |rng| {
        let guess = guess(rng);
        let case = of_lengths(toy(rng), |all| all.tag = 1)
            .lie_with(Point::Products, move |offset, all| add(all, offset, [1]));
        case.lie(Point::Gates, in_parts(1, move |tag| *tag ^= guess))
    })
    .trials = GUESSED;
}

fn reports(all: &mut Catalogue) {
    // The garbler alters the values of ports, of the first gate, and of the last gate; there are four ports.
    for (first, values, named, tagged, story, told) in [
        (
            0,
            5,
            "value_of_a_port",
            "label_of_a_port",
            "The evaluator reports a value of a port that differs from the value of its label. The answer \
             would disclose an inner bit to the evaluator.",
            "The evaluator reports the hash of a wrong label of a port.",
        ),
        (
            5,
            1,
            "value_of_the_output",
            "label_of_the_output",
            "The evaluator reports a wrong value of the output that the garbler reads.",
            "The evaluator reports the hash of a wrong label of the output.",
        ),
    ] {
        let any = move |rng: &mut Rng| first + rng.below(values) as usize;
        let seen = || caught(Cheat::Labels);
        let _ = all.add((16, named), story, Evaluator, seen(), move |rng| {
            let value = any(rng);
            bit(Evaluator, Point::Report, 1, value, 0)(toy(rng))
        });
        let _ = all.add((16, tagged), told, Evaluator, seen(), move |rng| {
            let value = any(rng);
            toy(rng).evaluator_lies(Point::ReportedTags, flip_in_parts(TAG, value, 11))
        });
    }
    let right = 1.0 / 128.0;
    let endings = vec![(Ending::caught(Cheat::Labels), 1.0 - right), (Ending::Fooled, right)];
    let story = "The evaluator reports a wrong value of the output and guesses the seven unknown bits of a \
                 tag of one byte: then the garbler's output is wrong.";
    all.add((17, "guessed_tag"), story, Evaluator, endings, move |rng| {
        let guess = guess(rng);
        let case = of_lengths(toy(rng), |all| all.tag = 1).evaluator_lies(Point::Report, flip(1, 5, 0));
        case.evaluator_lies(Point::ReportedTags, in_parts(5, move |tag| *tag ^= guess))
    })
    .trials = GUESSED;
}

/// Adds an attack in which a party must not have sent a message.
fn silent(
    all: &mut Catalogue,
    (name, story): (Name, &'static str),
    cheater: Party,
    check: Cheat,
    (party, tag, why): (Party, Tag, &'static str),
    case: impl Fn(&mut Rng) -> Case + Send + Sync + 'static,
) {
    let _ = all.played(name, story, Some(cheater), caught(check), move |rng| {
        let outcome: Outcome = case(rng).run();
        if outcome.says(party, tag) {
            return Err(why.into());
        }
        outcome.ending(cheater)
    });
}

fn order(all: &mut Catalogue) {
    let story = "The garbler garbles NAND for the gate that is its output: the evaluator's shares of the \
                 output's mask, from which it would read an input, are not sent before the digest is \
                 checked.";
    let early = (Evaluator, msg::OUTPUT_MASKS, "the evaluator opened an output before the digest");
    silent(all, ((19, "outputs_before_the_digest"), story), Garbler, Cheat::Gates, early, |rng| {
        let case = case(&chain(Recipient::Garbler), rng);
        case.lie_with(Point::Products, |offset, all| add(all, offset, [1]))
    });
    for (variant, cheater, said, tag, early, why, story) in [
        (
            "garblers_pads",
            Evaluator,
            softspoken::msg::CHECK,
            Garbler,
            msg::CIPHERTEXTS,
            "the garbler said where its pads begin",
            "The evaluator's answer about its OTs is malformed: the garbler has not disclosed yet where its \
             pads begin. If it had, the evaluator could choose words that cancel.",
        ),
        (
            "evaluators_pads",
            Garbler,
            softspoken::msg::CHECK,
            Evaluator,
            msg::CIPHERTEXTS,
            "the evaluator said where its pads begin",
            "The garbler's answer about its OTs is malformed: the evaluator has not disclosed yet where its \
             pads begin.",
        ),
        (
            "keys_of_gates",
            Evaluator,
            msg::OPENED,
            Garbler,
            msg::TABLES,
            "the garbler said where the keys of gates begin",
            "The evaluator opens too many differences: the garbler has not disclosed yet where the keys of \
             gates begin.",
        ),
    ] {
        let (name, unexpected) = (((22, variant), story), Cheat::UnexpectedMessage);
        silent(all, name, cheater, unexpected, (tag, early, why), move |rng| longer(cheater, said)(toy(rng)));
    }
}

/// Messages with an additional byte: the sender, the tag and the attack.
const LONGER: [(Party, Tag, &str, &str); 19] = [
    (Garbler, softspoken::msg::TREES, "garblers_trees", "An additional byte after the garbler's trees."),
    (
        Evaluator,
        softspoken::msg::TREES,
        "evaluators_trees",
        "An additional byte after the evaluator's trees.",
    ),
    (Evaluator, softspoken::msg::ROWS, "rows", "An additional byte after the rows of masks."),
    (
        Garbler,
        msg::CIPHERTEXTS,
        "garblers_ciphertexts",
        "An additional byte after the garbler's ciphertexts of leaky ANDs.",
    ),
    (
        Evaluator,
        msg::CIPHERTEXTS,
        "evaluators_ciphertexts",
        "An additional byte after the evaluator's ciphertexts of leaky ANDs.",
    ),
    (Garbler, msg::BITS, "garblers_bits", "An additional byte after the garbler's bits of leaky ANDs."),
    (Evaluator, msg::BITS, "evaluators_bits", "An additional byte after the evaluator's bits of leaky ANDs."),
    (Evaluator, msg::COMPARE, "digest", "An additional byte after the masked digest."),
    (Garbler, msg::COMPARED, "answer", "An additional byte after the answer to the masked digest."),
    (Evaluator, msg::COIN, "coin", "An additional byte after the opened coin."),
    (Garbler, msg::TABLES, "tables", "An additional byte after the gates' rows."),
    (Garbler, msg::COLOURS, "colours", "An additional byte after the bits that make labels end in 0."),
    (Garbler, msg::SOLDERINGS, "solderings", "An additional byte after the solderings."),
    (
        Garbler,
        msg::INPUT_MASKS,
        "masks_of_inputs",
        "An additional byte after the masks of the evaluator's inputs.",
    ),
    (
        Evaluator,
        msg::MASKED_INPUTS,
        "masked_inputs",
        "An additional byte after the evaluator's masked inputs.",
    ),
    (Garbler, msg::INPUT_LABELS, "labels_of_inputs", "An additional byte after the labels of inputs."),
    (Evaluator, msg::REPORT, "report", "An additional byte after the evaluator's report."),
    (Garbler, msg::GATES, "digest_of_gates", "An additional byte after the digest of all gates."),
    (Garbler, msg::OUTPUT_MASKS, "masks_of_outputs", "An additional byte after the masks of outputs."),
];

fn lengths(all: &mut Catalogue) {
    for (cheater, tag, variant, story) in LONGER {
        all.on_toy((23, variant), caught(Cheat::UnexpectedMessage), cheater, story, longer(cheater, tag));
    }
}
