//! Attacks on stock on disk, which check rule (d): the affected stock is burned, and a retry is refused.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use brickwork::circuit::Party;
use brickwork::commit::split::msg::{ANSWER, CORRECTIONS};
use brickwork::duplo::adversary::Point;
use brickwork::duplo::msg;
use brickwork::duplo::{Cheat, Duplo};
use brickwork::ot::{BASE_OT, extension::msg::CHECK};
use brickwork_harness::Ending;

use super::stores::plays::{
    FileChange, Pair, burns, cut, damaged, disk_fails, foreign_folder, killed, lies_about_its_log,
    lies_about_its_pair, names_other_items, nothing_to_burn, old_copy, recovers, second_process, used_up,
    whole_bucket_burns,
};
use super::stores::{PartyLies, RUNS, StoreAction};
use crate::attack::{Catalogue, Name, Played};

/// For either party a variant and its description.
type Variants = [(Party, &'static str, &'static str); 2];

fn either(garbler: [&'static str; 2], evaluator: [&'static str; 2]) -> Variants {
    [(Party::Garbler, garbler[0], garbler[1]), (Party::Evaluator, evaluator[0], evaluator[1])]
}

pub(super) fn attacks(all: &mut Catalogue<Duplo>) {
    burned(all);
    before_an_epoch(all);
    recovered(all);
    used_once(all);
    broken_off(all);
    altered(all);
    brought_back(all);
}

fn flips(place: usize, bits: u8) -> impl FnMut(&mut [u8]) + Send + Sync + 'static {
    move |bytes| bytes[place] ^= bits
}

/// Makes every new commitment of a message invalid, by a wrong correction.
fn no_codewords(rows: &mut [u8]) {
    rows.chunks_mut(16).for_each(|row| row[0] ^= 1);
}

/// The name of a cheat, its description, the check that detects it, the cheater, the action of both parties,
/// and the change.
type Cheating = (Name, &'static str, Cheat, Party, StoreAction, fn() -> PartyLies);

/// A cheat while both parties set up a session: its name, story, check, cheater and hook.
type Begun = (Name, &'static str, Cheat, Party, fn() -> PartyLies);

/// Adds attacks under rule (d), in a run and while stock is made, by either party.
fn burned(all: &mut Catalogue<Duplo>) {
    use Cheat::*;
    use Party::{Evaluator, Garbler};
    use StoreAction::{Fill, More, Run, RunMakingOts};
    let cases: [Cheating; 22] = [
        // The first check is about the OTs of the setup.
        (
            (2, "wrong_answer_burns"),
            "While stock is made, the evaluator answers the check of the OT extension wrongly: what it \
             would learn concerns every OT of the session, so all is burned.",
            OtExtension,
            Evaluator,
            Fill,
            || PartyLies::rewrites(CHECK, 1, |answer| answer[16] ^= 1),
        ),
        (
            (2, "wrong_answer_burns_what_was_there"),
            "When more is added to a stock, the evaluator answers the check of the OT extension wrongly: the \
             old stock is burned with the new stock.",
            OtExtension,
            Evaluator,
            More,
            || PartyLies::rewrites(CHECK, 0, |answer| answer[16] ^= 1),
        ),
        (
            (3, "no_codeword_burns"),
            "While stock is made, the garbler commits to a word that is no codeword: what it would learn \
             concerns every commitment of the session, so all is burned.",
            Commitment,
            Garbler,
            More,
            || PartyLies::rewrites(CORRECTIONS, 0, |rows| no_codewords(rows)),
        ),
        (
            (5, "hashes_of_nothing_burn"),
            "While stock is made, the garbler sends hashes that belong to no tables: all of the session is \
             burned.",
            OpenedCopy,
            Garbler,
            More,
            || PartyLies::lies(Point::TableHashes(0), |hashes| hashes.fill(0)),
        ),
        (
            (5, "tables_after_the_challenge_burn"),
            "While stock is made, the garbler sends tables that differ from the hashed ones: all of the \
             session is burned.",
            ChosenTables,
            Garbler,
            More,
            || PartyLies::rewrites(msg::TABLES, 0, |tables| tables[0] ^= 1),
        ),
        (
            (6, "wrong_link_burns"),
            "While stock is made, the garbler links a copy wrongly: all of the session is burned.",
            Opening,
            Garbler,
            Fill,
            || PartyLies::lies(Point::DeltaDifferences(0), flips(3, 4)),
        ),
        (
            (6, "opened_offset_ends_in_0_burns"),
            "While stock is made, the garbler opens an offset that ends in 0: all of the session is burned.",
            OffsetColour,
            Garbler,
            More,
            || PartyLies::lies(Point::Opened(0), flips(0, 1)),
        ),
        (
            (6, "link_ends_in_1_burns"),
            "While stock is made, the garbler links a copy whose offset ends in 0: all of the session is \
             burned.",
            DeltaDifferenceColour,
            Garbler,
            More,
            || PartyLies::lies(Point::DeltaDifferences(0), flips(0, 1)),
        ),
        (
            (7, "indicator_bit_burns"),
            "In a run from stock, the garbler would flip an output of the evaluator: all of the session is \
             burned.",
            Indicator,
            Garbler,
            Run,
            || PartyLies::lies(Point::Indicators, flips(0, 1)),
        ),
        (
            (8, "all_refuse_burns"),
            "While stock is made, the garbler makes key authenticators that refuse every label: all of the \
             session is burned.",
            KeyAuthenticator,
            Garbler,
            More,
            || PartyLies::lies(Point::PlainAuthenticators, |hashes| hashes.fill(0)),
        ),
        (
            (9, "all_refuse_burns"),
            "While stock is made, the garbler makes input authenticators that do not follow from their \
             offsets: all of the session is burned.",
            InputAuthenticator,
            Garbler,
            More,
            || PartyLies::lies(Point::InputAuthenticators, |hashes| hashes.fill(0)),
        ),
        (
            (10, "wrong_soldering_burns"),
            "In a run from stock, the garbler solders a slot's input with a wrong difference: all of the \
             session is burned.",
            Opening,
            Garbler,
            Run,
            || PartyLies::lies(Point::ProgramSolderings(0), flips(3, 4)),
        ),
        (
            (11, "wrong_decommitment_burns"),
            "While stock is made, the garbler opens a sum of commitments to a value that is not its value: \
             all of the session is burned.",
            Opening,
            Garbler,
            More,
            || PartyLies::rewrites(ANSWER, 1, |answer| answer[0] ^= 2),
        ),
        (
            (12, "other_label_on_the_spot_burns"),
            "In a run from stock that makes its OTs on the spot, the garbler commits to a label that differs \
             from the label in the OT. The evaluator stops at the last proof, whatever its input is, and all \
             of the session is burned.",
            Opening,
            Garbler,
            RunMakingOts,
            || PartyLies::lies(Point::OtLabels, flips(3, 4)),
        ),
        (
            (13, "wrong_opening_burns"),
            "In a run from stock, the garbler opens an input of the evaluator to a wrong value: all of the \
             session is burned.",
            Opening,
            Garbler,
            Run,
            || PartyLies::lies(Point::InputChoices, flips(0, 1)),
        ),
        (
            (13, "wrong_label_burns"),
            "In a run from stock, the garbler sends an invalid label for its input: all of the session is \
             burned.",
            InputLabel,
            Garbler,
            Run,
            || PartyLies::lies(Point::InputLabels, flips(3, 4)),
        ),
        (
            (13, "flipped_input_on_the_spot_burns"),
            "In a run from stock that makes its OTs on the spot, the garbler commits to a label with the \
             lowest bit flipped, and lies about the evaluator's input to match. This would flip the input. \
             The last proof fails for either input, and all of the session is burned.",
            Opening,
            Garbler,
            RunMakingOts,
            || {
                // The labels of the garbler's three inputs come first.
                let side = PartyLies::lies(Point::OtLabels, flips(16, 1));
                side.and_lies(Point::InputChoices, flips(1, 1)).and_lies(Point::InputLabels, flips(16 * 4, 1))
            },
        ),
        (
            (15, "forged_outputs_burn"),
            "In a run from stock, the evaluator forges the garbler's outputs: all of the session is burned.",
            ForgedOutput,
            Evaluator,
            Run,
            || PartyLies::lies(Point::OutputLabels, flips(3, 4)),
        ),
        (
            (18, "too_short_a_message_burns"),
            "In a run from stock, the message with the garbler's labels is too short: all of the session is \
             burned.",
            UnexpectedMessage,
            Garbler,
            Run,
            || PartyLies::rewrites(msg::INPUT_LABELS, 0, |labels| labels.truncate(3)),
        ),
        (
            (18, "too_long_an_input_burns"),
            "In a run from stock, the evaluator's input is longer than it can be: all of the session is \
             burned.",
            UnexpectedMessage,
            Evaluator,
            Run,
            || PartyLies::rewrites(msg::MASKED_INPUT, 0, |input| input.push(0)),
        ),
        (
            (18, "too_short_outputs_burn"),
            "In a run from stock, the evaluator's last message is too short: all of the session is burned.",
            UnexpectedMessage,
            Evaluator,
            Run,
            || PartyLies::rewrites(msg::OUTPUT_LABELS, 0, |outputs| outputs.truncate(32)),
        ),
        (
            (27, "other_bit_burns"),
            "While stock is made, the evaluator names a wrong choice bit of an OT that is opened: all of the \
             session is burned.",
            OtBinding,
            Evaluator,
            Fill,
            || PartyLies::lies(Point::OtBinding, flips(16 + 3, 4)),
        ),
    ];
    for (name, story, cheat, cheater, what, side) in cases {
        all.slow(name, story, Some(cheater), Ending::caught(cheat), move |_| burns(what, cheater, side()));
    }
    let story = "A bucket of stock has only bad copies. The run that evaluates the bucket fails, and burns \
                 everything made with the same secrets.";
    all.slow((5, "whole_bucket_burns"), story, Some(Garbler), Ending::caught(NoValidLabel), |_| {
        whole_bucket_burns()
    });
}

/// Adds attacks under rule (d) before any epoch exists.
fn before_an_epoch(all: &mut Catalogue<Duplo>) {
    let cases: [Begun; 4] = [
        (
            (1, "identity_in_setup"),
            "When a session for stock is set up, the garbler's point of the base OTs is the identity: \
             nothing is kept, and the next try begins with other secrets.",
            Cheat::BaseOtIdentity,
            Party::Garbler,
            || PartyLies::rewrites(BASE_OT, 0, |points| points[..32].fill(0)),
        ),
        (
            (1, "no_point_in_setup"),
            "When a session for stock is set up, the evaluator sends bytes that are no point of the group: \
             nothing is kept, and the next try begins with other secrets.",
            Cheat::BaseOtPoint,
            Party::Evaluator,
            || PartyLies::rewrites(BASE_OT, 0, |points| points[..32].fill(0xff)),
        ),
        (
            (2, "wrong_answer_in_setup"),
            "When a session for stock is set up, the evaluator answers the check of the OT extension \
             wrongly: nothing is kept, and the next try begins with other secrets.",
            Cheat::OtExtension,
            Party::Evaluator,
            || PartyLies::rewrites(CHECK, 0, |answer| answer[16] ^= 1),
        ),
        (
            (3, "no_codeword_in_setup"),
            "When a session for stock is set up, the garbler commits to a word that is no codeword: nothing \
             is kept, and the next try begins with other secrets.",
            Cheat::Commitment,
            Party::Garbler,
            || PartyLies::rewrites(CORRECTIONS, 0, |rows| no_codewords(rows)),
        ),
    ];
    for (name, story, cheat, cheater, side) in cases {
        all.slow(name, story, Some(cheater), Ending::caught(cheat), move |_| {
            nothing_to_burn(cheater, side())
        });
    }
}

/// Adds rows 14 and 28: recovered outputs.
fn recovered(all: &mut Catalogue<Duplo>) {
    let story = "A copy in stock gives the label of the opposite bit. The evaluator recovers the outputs of \
                 this run without a trace, and the next run from the same stock is right.";
    all.slow((14, "opposite_label_from_stock"), story, Some(Party::Garbler), Ending::Recovered, |_| {
        recovers(false)
    });
    let story = "A copy in stock gives the label of the opposite bit, and copies of a later slot give no \
                 valid label. The garbler would see if the run from stock stops there.";
    all.slow((28, "a_later_abort_from_stock"), story, Some(Party::Garbler), Ending::Recovered, |_| {
        recovers(true)
    });
}

/// Adds row 16: items are used once.
fn used_once(all: &mut Catalogue<Duplo>) {
    for (party, variant, story) in either(
        [
            "garbler_names_other_items",
            "The garbler wants a program to take items of the stock that are not the next ones, such as \
             items whose labels the evaluator has seen.",
        ],
        [
            "evaluator_names_other_items",
            "The evaluator wants a program to take items of the stock that are not the next ones, such as \
             items whose labels it already has.",
        ],
    ) {
        all.slow((16, variant), story, Some(party), Ending::Stopped, move |_| names_other_items(party));
    }
    for (party, variant, story) in either(
        [
            "used_up_at_the_garbler",
            "A program is run one time more often than the stock allows: the garbler gives no item twice.",
        ],
        [
            "used_up_at_the_evaluator",
            "A program is run one time more often than the stock allows: the evaluator takes no item twice.",
        ],
    ) {
        all.slow((16, variant), story, None, Ending::Stopped, move |_| used_up(party));
    }
}

/// Adds rows 20, 21 and 22: interrupted runs and failing disks.
fn broken_off(all: &mut Catalogue<Duplo>) {
    use Party::{Evaluator, Garbler};
    use StoreAction::{Fill, Run};
    for (what, party, variant, story) in [
        (
            Run,
            Garbler,
            "garblers_line_cut_in_a_run",
            "In a run, the connection is cut at any byte that the garbler receives; afterwards both parties \
             continue, and items that the run had taken are not used again.",
        ),
        (
            Fill,
            Garbler,
            "garblers_line_cut_while_stock_is_made",
            "While stock is made, the connection is cut at any byte that the garbler receives; afterwards \
             both parties begin the step again, with new streams.",
        ),
        (
            Run,
            Evaluator,
            "evaluators_line_cut_in_a_run",
            "In a run, the connection is cut at any byte that the evaluator receives; afterwards both \
             parties continue, and no label that the evaluator may have belongs to the items that are used \
             next.",
        ),
        (
            Fill,
            Evaluator,
            "evaluators_line_cut_while_stock_is_made",
            "While stock is made, the connection is cut at any byte that the evaluator receives, also after \
             a challenge. The step is begun again, and the attempt is counted.",
        ),
    ] {
        all.slow((20, variant), story, None, Ending::Gone, move |rng| cut(what, party, rng));
    }
    for (what, party, variant, story) in [
        (
            Run,
            Garbler,
            "garbler_killed_in_a_run",
            "In a run, the garbler is killed at any write, sync or rename, of which any part may be on the \
             disk: an item is fresh or burned.",
        ),
        (
            Fill,
            Garbler,
            "garbler_killed_while_stock_is_made",
            "While stock is made, the garbler is killed at any write, sync or rename, of which any part may \
             be on the disk: the step is stored completely or not at all.",
        ),
        (
            Run,
            Evaluator,
            "evaluator_killed_in_a_run",
            "In a run, the evaluator is killed at any write, sync or rename, of which any part may be on the \
             disk: items that it may have used are burned when it starts again.",
        ),
        (
            Fill,
            Evaluator,
            "evaluator_killed_while_stock_is_made",
            "While stock is made, the evaluator is killed at any write, sync or rename, of which any part \
             may be on the disk: an incomplete segment never counts as stock.",
        ),
    ] {
        all.slow((21, variant), story, None, Ending::Survived, move |rng| killed(what, party, rng));
    }
    for (party, variant, story) in either(
        [
            "garblers_disk_full",
            "The garbler's disk is full before a program has its items: the store reports this, and returns \
             nothing until it is opened again.",
        ],
        [
            "evaluators_disk_full",
            "The evaluator's disk is full before a program has its items: its store reports this and returns \
             nothing, and the garbler finds the connection closed.",
        ],
    ) {
        all.slow((22, variant), story, None, Ending::Stopped, move |rng| disk_fails(party, rng));
    }
}

/// Adds row 23: altered files.
fn altered(all: &mut Catalogue<Duplo>) {
    for (damage, variants) in [
        (
            FileChange::Flip,
            either(
                [
                    "flipped_bits_at_the_garbler",
                    "Somebody flips bits of the garbler's stock: records are sealed, so only the written \
                     data is used.",
                ],
                [
                    "flipped_bits_at_the_evaluator",
                    "Somebody flips bits of the evaluator's stock: no table or label that was not checked \
                     when it was made is evaluated.",
                ],
            ),
        ),
        (
            FileChange::Cut,
            either(
                [
                    "shorter_file_at_the_garbler",
                    "Somebody shortens a file of the garbler's stock: the garbler notices it before it sends \
                     anything.",
                ],
                [
                    "shorter_file_at_the_evaluator",
                    "Somebody shortens a file of the evaluator's stock: the evaluator notices it before it \
                     sends its input.",
                ],
            ),
        ),
        (
            FileChange::Swap,
            either(
                [
                    "files_swapped_at_the_garbler",
                    "Somebody exchanges two files of the garbler's stock: the sealed data contains its \
                     place, so the garbler notices it.",
                ],
                [
                    "files_swapped_at_the_evaluator",
                    "Somebody exchanges two files of the evaluator's stock: the sealed data names its batch, \
                     so no copy is used in place of another.",
                ],
            ),
        ),
    ] {
        for (party, variant, story) in variants {
            all.slow((23, variant), story, None, Ending::Stopped, move |rng| damaged(damage, party, rng));
        }
    }
}

/// Adds rows 24 and 25: old copies and foreign stores.
fn brought_back(all: &mut Catalogue<Duplo>) {
    for (party, variant, story) in either(
        [
            "second_process_of_the_garbler",
            "A second process opens the garbler's store: only the first process may use the store, so no \
             stream is used twice.",
        ],
        [
            "second_process_of_the_evaluator",
            "A second process opens the evaluator's store: only the first process may use the store, so no \
             item is taken by two runs.",
        ],
    ) {
        all.slow((24, variant), story, Some(party), Ending::Stopped, move |_| second_process(party));
    }
    for (party, variant, story) in either(
        [
            "copied_folder_of_the_garbler",
            "The garbler copies its folder, runs a program, and runs another program from the copy. The \
             evaluator's log of the epoch is longer, and both parties burn the epoch.",
        ],
        [
            "copied_folder_of_the_evaluator",
            "The evaluator copies its folder, runs a program, and runs another program from the copy, to get \
             two labels of a wire. The garbler's log of the epoch is longer, and both parties burn the \
             epoch.",
        ],
    ) {
        all.slow((24, variant), story, Some(party), Ending::Stopped, move |_| old_copy(party, 1));
    }
    type Plays = [(&'static str, &'static str, fn(Party) -> Played); 4];
    let plays: [(Party, Plays); 2] = [
        (
            Party::Garbler,
            [
                (
                    "garbler_names_another_pair",
                    "The garbler says that its store belongs to another pair: the evaluator refuses it, and \
                     loses nothing.",
                    |party| lies_about_its_pair(party, Pair::Other),
                ),
                (
                    "garbler_claims_a_new_store",
                    "The garbler says that its store is new, so that nothing would be compared: refused, \
                     and nothing is burned.",
                    |party| lies_about_its_pair(party, Pair::None),
                ),
                (
                    "foreign_folder_of_the_garbler",
                    "The garbler takes the folder of another pair by mistake: both refuse, and nothing is \
                     burned.",
                    |party| foreign_folder(party, false),
                ),
                (
                    "new_folder_of_the_garbler",
                    "The garbler takes an empty folder by mistake: both refuse, and nothing is burned.",
                    |party| foreign_folder(party, true),
                ),
            ],
        ),
        (
            Party::Evaluator,
            [
                (
                    "evaluator_names_another_pair",
                    "The evaluator says that its store belongs to another pair: the garbler refuses it, and \
                     loses nothing.",
                    |party| lies_about_its_pair(party, Pair::Other),
                ),
                (
                    "evaluator_claims_a_new_store",
                    "The evaluator says that its store is new, so that the garbler would compare nothing: \
                     refused, and nothing is burned.",
                    |party| lies_about_its_pair(party, Pair::None),
                ),
                (
                    "foreign_folder_of_the_evaluator",
                    "The evaluator takes the folder of another pair by mistake: both refuse, and nothing is \
                     burned.",
                    |party| foreign_folder(party, false),
                ),
                (
                    "new_folder_of_the_evaluator",
                    "The evaluator takes an empty folder by mistake: both refuse, and nothing is burned.",
                    |party| foreign_folder(party, true),
                ),
            ],
        ),
    ];
    for (party, plays) in plays {
        for (variant, story, play) in plays {
            // A user with a wrong folder is not a cheater.
            let cheater = (!variant.contains("folder")).then_some(party);
            all.slow((24, variant), story, cheater, Ending::Stopped, move |_| play(party));
        }
    }
    for (party, variant, story) in either(
        [
            "old_backup_of_the_garbler",
            "All stock is used, and the garbler restores a backup in which the stock is fresh.",
        ],
        [
            "old_backup_of_the_evaluator",
            "All stock is used, and the evaluator restores a backup in which the stock is fresh, to evaluate \
             the same copies on a second input.",
        ],
    ) {
        all.slow((25, variant), story, Some(party), Ending::Stopped, move |_| old_copy(party, RUNS));
    }
    for (party, variant, story) in either(
        [
            "garbler_lies_about_its_log",
            "The garbler reports a wrong position of its log: both parties burn the epoch of this log.",
        ],
        [
            "evaluator_lies_about_its_log",
            "The evaluator reports a wrong position of its log: the garbler does not continue from this \
             position, and both parties burn the epoch of this log.",
        ],
    ) {
        all.slow((25, variant), story, Some(party), Ending::Stopped, move |_| lies_about_its_log(party));
    }
}
