//! Rows about stock on disk, and rule (d): what a cheat was about is burned, and a retry is refused.

use brickwork::Cheat;
use brickwork::circuit::Party;
use brickwork::commit::split::msg::{ANSWER, CORRECTIONS};
use brickwork::duplo::adversary::Point;
use brickwork::duplo::adversary::harness::Ending;
use brickwork::duplo::msg;
use brickwork::ot::{BASE_OT, extension::msg::CHECK};

use super::{Catalogue, Name};
use crate::stores::plays::{
    Damage, Pair, burns, cut, damaged, disk_fails, foreign_folder, killed, lies_about_its_log,
    lies_about_its_pair, names_other_items, nothing_to_burn, old_copy, recovers, second_process, used_up,
    whole_bucket_burns,
};
use crate::stores::{RUNS, Side, What};

/// A variant for either party.
type Variants = [(Party, &'static str); 2];

/// A variant for either party.
fn either(garbler: &'static str, evaluator: &'static str) -> Variants {
    [(Party::Garbler, garbler), (Party::Evaluator, evaluator)]
}

pub(super) fn attacks(all: &mut Catalogue) {
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

/// Every codeword of a message is off where its first commitment is corrected.
fn no_codewords(rows: &mut [u8]) {
    rows.chunks_mut(16).for_each(|row| row[0] ^= 1);
}

/// The name of a cheat, its story, the check that sees it, who cheats, what both were about, and how.
type Cheating = (Name, &'static str, Cheat, Party, What, fn() -> Side);

/// The same where nothing exists yet: both set a session up.
type Begun = (Name, &'static str, Cheat, Party, fn() -> Side);

/// Rule (d), in a run and while stock is made, on both sides.
#[rustfmt::skip]
fn burned(all: &mut Catalogue) {
    use Cheat::*;
    use Party::{Evaluator, Garbler};
    use What::{Fill, More, Run};
    let cases: [Cheating; 20] = [
        // The first check is of setup's OTs.
        ((2, "wrong_answer_burns"), "While stock is made, the evaluator answers the check of the OT extension wrongly: what it would learn concerns every OT of the session, so all is burned.",
            OtExtension, Evaluator, Fill, || Side::rewrites(CHECK, 1, |answer| answer[16] ^= 1)),
        ((2, "wrong_answer_burns_what_was_there"), "The same when more is added to a stock: what was there is burned with it.",
            OtExtension, Evaluator, More, || Side::rewrites(CHECK, 0, |answer| answer[16] ^= 1)),
        ((3, "no_codeword_burns"), "While stock is made, the garbler commits to what is no codeword: what it would learn concerns every commitment of the session, so all is burned.",
            Commitment, Garbler, More, || Side::rewrites(CORRECTIONS, 0, |rows| no_codewords(rows))),
        ((5, "hashes_of_nothing_burn"), "While stock is made, the garbler sends hashes of no tables: all of the session is burned.",
            OpenedCopy, Garbler, More, || Side::lies(Point::TableHashes(0), |hashes| hashes.fill(0))),
        ((5, "tables_after_the_challenge_burn"), "While stock is made, the garbler sends other tables than it hashed: all of the session is burned.",
            ChosenTables, Garbler, More, || Side::rewrites(msg::TABLES, 0, |tables| tables[0] ^= 1)),
        ((6, "wrong_link_burns"), "While stock is made, the garbler links a copy wrongly: all of the session is burned.",
            Opening, Garbler, Fill, || Side::lies(Point::Links(0), flips(3, 4))),
        ((6, "opened_offset_ends_in_0_burns"), "While stock is made, the garbler opens an offset that ends in 0: all of the session is burned.",
            OffsetColour, Garbler, More, || Side::lies(Point::Opened(0), flips(0, 1))),
        ((6, "link_ends_in_1_burns"), "While stock is made, the garbler links a copy whose offset ends in 0: all of the session is burned.",
            LinkColour, Garbler, More, || Side::lies(Point::Links(0), flips(0, 1))),
        ((7, "indicator_bit_burns"), "In a run from stock, the garbler would flip an output of the evaluator: all of the session is burned.",
            Indicator, Garbler, Run, || Side::lies(Point::Indicators, flips(0, 1))),
        ((8, "all_refuse_burns"), "While stock is made, the garbler makes key authenticators that refuse every label: all of the session is burned.",
            KeyAuthenticator, Garbler, More, || Side::lies(Point::PlainAuthenticators, |hashes| hashes.fill(0))),
        ((9, "all_refuse_burns"), "While stock is made, the garbler makes input authenticators that do not follow from their offsets: all of the session is burned.",
            InputAuthenticator, Garbler, More, || Side::lies(Point::InputAuthenticators, |hashes| hashes.fill(0))),
        ((10, "wrong_soldering_burns"), "In a run from stock, the garbler solders a slot's input with a wrong difference: all of the session is burned.",
            Opening, Garbler, Run, || Side::lies(Point::Joints(0), flips(3, 4))),
        ((11, "wrong_decommitment_burns"), "While stock is made, the garbler opens a sum of commitments to another value: all of the session is burned.",
            Opening, Garbler, More, || Side::rewrites(ANSWER, 1, |answer| answer[0] ^= 2)),
        ((13, "wrong_opening_burns"), "In a run from stock, the garbler opens an input of the evaluator otherwise than it may: all of the session is burned.",
            Opening, Garbler, Run, || Side::lies(Point::InputChoices, flips(0, 1))),
        ((13, "wrong_label_burns"), "In a run from stock, the garbler gives a label of its input that is none: all of the session is burned.",
            InputLabel, Garbler, Run, || Side::lies(Point::InputLabels, flips(3, 4))),
        ((15, "forged_outputs_burn"), "In a run from stock, the evaluator forges the garbler's outputs: all of the session is burned.",
            ForgedOutput, Evaluator, Run, || Side::lies(Point::OutputLabels, flips(3, 4))),
        ((18, "too_short_a_message_burns"), "In a run from stock, the garbler's labels come cut off: all of the session is burned.",
            UnexpectedMessage, Garbler, Run, || Side::rewrites(msg::INPUT_LABELS, 0, |labels| labels.truncate(3))),
        ((18, "too_long_an_input_burns"), "In a run from stock, the evaluator's input is longer than it can be: all of the session is burned.",
            UnexpectedMessage, Evaluator, Run, || Side::rewrites(msg::MASKED_INPUT, 0, |input| input.push(0))),
        ((18, "too_short_outputs_burn"), "In a run from stock, the evaluator's last message comes cut off: all of the session is burned.",
            UnexpectedMessage, Evaluator, Run, || Side::rewrites(msg::OUTPUT_LABELS, 0, |outputs| outputs.truncate(32))),
        ((27, "other_bit_burns"), "While stock is made, the evaluator names another choice bit of an OT that is opened: all of the session is burned.",
            OtBinding, Evaluator, Fill, || Side::lies(Point::OtBinding, flips(16 + 3, 4))),
    ];
    for (name, story, cheat, cheater, what, side) in cases {
        all.played(name, story, Some(cheater), Ending::Caught(cheat), move |_| burns(what, cheater, side()));
    }
    let story = "A bucket of stock has only bad copies: the run in which it shows burns what was made with the same secrets.";
    all.played((5, "whole_bucket_burns"), story, Some(Garbler), Ending::Caught(NoValidLabel), |_| whole_bucket_burns());
}

/// Rule (d) where the cheat comes before there is anything.
#[rustfmt::skip]
fn before_an_epoch(all: &mut Catalogue) {
    let cases: [Begun; 4] = [
        ((1, "identity_in_setup"), "When a session for stock is set up, the garbler's point of the base OTs is the identity: nothing is kept, and the next try begins with other secrets.",
            Cheat::BaseOtIdentity, Party::Garbler, || Side::rewrites(BASE_OT, 0, |points| points[..32].fill(0))),
        ((1, "no_point_in_setup"), "When a session for stock is set up, the evaluator sends what is no point of the group: nothing is kept, and the next try begins with other secrets.",
            Cheat::BaseOtPoint, Party::Evaluator, || Side::rewrites(BASE_OT, 0, |points| points[..32].fill(0xff))),
        ((2, "wrong_answer_in_setup"), "When a session for stock is set up, the evaluator answers the check of the OT extension wrongly: nothing is kept, and the next try begins with other secrets.",
            Cheat::OtExtension, Party::Evaluator, || Side::rewrites(CHECK, 0, |answer| answer[16] ^= 1)),
        ((3, "no_codeword_in_setup"), "When a session for stock is set up, the garbler commits to what is no codeword: nothing is kept, and the next try begins with other secrets.",
            Cheat::Commitment, Party::Garbler, || Side::rewrites(CORRECTIONS, 0, |rows| no_codewords(rows))),
    ];
    for (name, story, cheat, cheater, side) in cases {
        all.played(name, story, Some(cheater), Ending::Caught(cheat), move |_| nothing_to_burn(cheater, side()));
    }
}

/// Rows 14 and 28.
fn recovered(all: &mut Catalogue) {
    let story = "A copy in stock says the opposite of the others: its run is recovered, looks like nothing, and the next one from the same stock is right.";
    all.played((14, "opposite_label_from_stock"), story, Some(Party::Garbler), Ending::Recovered, |_| {
        recovers(false)
    });
    let story = "The same, and copies of a later slot give no valid label, to see whether the run from stock breaks off there.";
    all.played((28, "a_later_abort_from_stock"), story, Some(Party::Garbler), Ending::Recovered, |_| {
        recovers(true)
    });
}

/// Row 16.
fn used_once(all: &mut Catalogue) {
    for (party, variant) in either("garbler_names_other_items", "evaluator_names_other_items") {
        let story = "A party wants a program to take other items of the stock than those that come next, such as some that were taken before.";
        all.played((16, variant), story, Some(party), Ending::Stopped, move |_| names_other_items(party));
    }
    for (party, variant) in either("used_up_at_the_garbler", "used_up_at_the_evaluator") {
        let story = "A program is run once more than there is stock for: nothing is taken twice.";
        all.played((16, variant), story, None, Ending::Stopped, move |_| used_up(party));
    }
}

/// Rows 20, 21 and 22.
fn broken_off(all: &mut Catalogue) {
    for (party, run, fill) in [
        (Party::Garbler, "garblers_line_cut_in_a_run", "garblers_line_cut_while_stock_is_made"),
        (Party::Evaluator, "evaluators_line_cut_in_a_run", "evaluators_line_cut_while_stock_is_made"),
    ] {
        let story = "The line is cut at any byte that a party receives; afterwards both go on, and what was broken off is not used again.";
        all.played((20, run), story, None, Ending::Gone, move |rng| cut(What::Run, party, rng));
        all.played((20, fill), story, None, Ending::Gone, move |rng| cut(What::Fill, party, rng));
    }
    for (party, run, fill) in [
        (Party::Garbler, "garbler_killed_in_a_run", "garbler_killed_while_stock_is_made"),
        (Party::Evaluator, "evaluator_killed_in_a_run", "evaluator_killed_while_stock_is_made"),
    ] {
        let story = "A party is killed at any write, sync or rename, of which any part may have arrived: an item is fresh or burned.";
        all.played((21, run), story, None, Ending::Survived, move |rng| killed(What::Run, party, rng));
        all.played((21, fill), story, None, Ending::Survived, move |rng| killed(What::Fill, party, rng));
    }
    for (party, variant) in either("garblers_disk_full", "evaluators_disk_full") {
        let story = "The disk is full before a program has its items: the store says so, and gives nothing until it is opened anew.";
        all.played((22, variant), story, None, Ending::Stopped, move |rng| disk_fails(party, rng));
    }
}

/// Row 23.
fn altered(all: &mut Catalogue) {
    for (damage, variants, story) in [
        (
            Damage::Flip,
            either("flipped_bits_at_the_garbler", "flipped_bits_at_the_evaluator"),
            "Somebody flips bits of the stock: records are sealed, so nothing else than what was written is used.",
        ),
        (
            Damage::Cut,
            either("shorter_file_at_the_garbler", "shorter_file_at_the_evaluator"),
            "Somebody cuts a file of the stock off: it shows before anything is sent.",
        ),
        (
            Damage::Swap,
            either("files_swapped_at_the_garbler", "files_swapped_at_the_evaluator"),
            "Somebody puts one file of the stock in another's place: what is sealed says what it is about.",
        ),
    ] {
        for (party, variant) in variants {
            all.played((23, variant), story, None, Ending::Stopped, move |rng| damaged(damage, party, rng));
        }
    }
}

/// Rows 24 and 25.
fn brought_back(all: &mut Catalogue) {
    for (party, variant) in either("second_process_of_the_garbler", "second_process_of_the_evaluator") {
        let story = "A second process opens a store: the first one has it alone.";
        all.played((24, variant), story, Some(party), Ending::Stopped, move |_| second_process(party));
    }
    for (party, variant) in either("copied_folder_of_the_garbler", "copied_folder_of_the_evaluator") {
        let story = "A party copies its folder, runs a program, and runs another one from the copy: the peer knows more of it, and both burn it.";
        all.played((24, variant), story, Some(party), Ending::Stopped, move |_| old_copy(party, 1));
    }
    for (party, other, none) in [
        (Party::Garbler, "garbler_names_another_pair", "garbler_claims_a_new_store"),
        (Party::Evaluator, "evaluator_names_another_pair", "evaluator_claims_a_new_store"),
    ] {
        let story =
            "A party says that its store is of another pair: the other one refuses it, and loses nothing.";
        all.played((24, other), story, Some(party), Ending::Stopped, move |_| {
            lies_about_its_pair(party, Pair::Other)
        });
        let story = "A party says that its store is new, so that nothing would be compared: refused, and nothing is burned.";
        all.played((24, none), story, Some(party), Ending::Stopped, move |_| {
            lies_about_its_pair(party, Pair::None)
        });
    }
    for (party, crossed, new) in [
        (Party::Garbler, "foreign_folder_of_the_garbler", "new_folder_of_the_garbler"),
        (Party::Evaluator, "foreign_folder_of_the_evaluator", "new_folder_of_the_evaluator"),
    ] {
        let story =
            "A party takes the folder of another pair by mistake: both refuse, and nothing is burned.";
        all.played((24, crossed), story, None, Ending::Stopped, move |_| foreign_folder(party, false));
        let story = "A party takes an empty folder by mistake: both refuse, and nothing is burned.";
        all.played((24, new), story, None, Ending::Stopped, move |_| foreign_folder(party, true));
    }
    for (party, variant) in either("old_backup_of_the_garbler", "old_backup_of_the_evaluator") {
        let story = "All stock is used, and a party brings back a backup in which it is fresh.";
        all.played((25, variant), story, Some(party), Ending::Stopped, move |_| old_copy(party, RUNS));
    }
    for (party, variant) in either("garbler_lies_about_its_log", "evaluator_lies_about_its_log") {
        let story = "A party says that its log stands elsewhere: both burn what it is about.";
        all.played((25, variant), story, Some(party), Ending::Stopped, move |_| lies_about_its_log(party));
    }
}
