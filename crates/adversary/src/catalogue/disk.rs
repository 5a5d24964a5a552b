//! Rows about stock on disk, and rule (d): what a cheat was about is burned, and a retry is refused.

use brickwork::Cheat;
use brickwork::circuit::Party;
use brickwork::duplo::adversary::Point;
use brickwork::duplo::adversary::harness::Ending;

use super::Catalogue;
use crate::stores::{
    Damage, RUNS, Side, What, burns, cut, damaged, disk_fails, killed, lies_about_its_log, names_other_items, old_copy, second_process,
    used_up,
};

/// A variant for either party.
type Variants = [(Party, &'static str); 2];

/// A variant for either party.
fn either(garbler: &'static str, evaluator: &'static str) -> Variants {
    [(Party::Garbler, garbler), (Party::Evaluator, evaluator)]
}

pub(super) fn attacks(all: &mut Catalogue) {
    burned(all);
    used_once(all);
    broken_off(all);
    altered(all);
    brought_back(all);
}

fn flips(place: usize, bits: u8) -> impl FnMut(&mut [u8]) + Send + Sync + 'static {
    move |bytes| bytes[place] ^= bits
}

/// Rule (d), in a run and while stock is made, on both sides.
fn burned(all: &mut Catalogue) {
    let run = "In a run from stock: what was made with the same secrets is burned, and a retry is refused.";
    let fill = "While stock is made: what was made with the same secrets is burned, and a retry is refused.";
    for (name, cheat, what, point, place, bits) in [
        ((6, "wrong_link_burns"), Cheat::Opening, What::Fill, Point::Links(0), 3, 4),
        ((10, "wrong_soldering_burns"), Cheat::Opening, What::Run, Point::Joints(0), 3, 4),
        ((13, "wrong_opening_burns"), Cheat::Opening, What::Run, Point::InputChoices, 0, 1),
        ((15, "forged_outputs_burn"), Cheat::ForgedOutput, What::Run, Point::OutputLabels, 3, 4),
        ((27, "other_bit_burns"), Cheat::OtBinding, What::Fill, Point::OtBinding, 16 + 3, 4),
    ] {
        let cheater = if matches!(cheat, Cheat::ForgedOutput | Cheat::OtBinding) { Party::Evaluator } else { Party::Garbler };
        let story = if what == What::Run { run } else { fill };
        all.played(name, story, Some(cheater), Ending::Caught(cheat), move |_| burns(what, cheater, Side::lies(point, flips(place, bits))));
    }
}

/// Row 16.
fn used_once(all: &mut Catalogue) {
    for (party, variant) in either("garbler_names_other_items", "evaluator_names_other_items") {
        let story =
            "A party wants a program to take other items of the stock than those that come next, such as some that were taken before.";
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
        let story =
            "A party copies its folder, runs a program, and runs another one from the copy: the peer knows more of it, and both burn it.";
        all.played((24, variant), story, Some(party), Ending::Stopped, move |_| old_copy(party, 1));
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
