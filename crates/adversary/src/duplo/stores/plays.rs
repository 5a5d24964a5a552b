//! Plays of attacks on two stores.
//!
//! Each play checks all conditions. The honest party ends with a typed error after a prefix of an honest
//! party's messages, and the affected stock is burned at both parties, so that a retry is refused.

use brickwork::duplo::adversary::harness::{self, SEED, chosen, stock_bucketing};

use super::*;

/// Plays rule (d): a cheat in a run or a filling is detected, and everything with the same secrets is burned
/// at both parties.
pub fn burns(what: StoreAction, cheater: Party, side: PartyLies) -> Played {
    let stores = what.begin();
    let met = stores.connect(what, only(cheater, side));
    burned(&stores, &met, what, cheater)
}

/// Plays a cheat that is detected only in a later honest run: a bucket with only bad copies.
pub fn whole_bucket_burns() -> Played {
    static STOCK: LazyLock<PartyFolders> = LazyLock::new(|| badly_made(&[(0, 0, usize::MAX, 99)]));
    let stores = STOCK.copy();
    let met = stores.run();
    burned(&stores, &met, StoreAction::Run, Party::Garbler)
}

fn burned(stores: &PartyFolders, met: &ConnectionResult, what: StoreAction, cheater: Party) -> Played {
    let ending = ending(met, other(cheater), what)?;
    must(
        matches!(met.result[cheater as usize], Ok(()) | Err(Error::Io(_))),
        "the cheater was told something",
    )?;
    // When the connection has closed, there is no stock that could be stolen. The evaluator may have sent its
    // last message without waiting for the garbler.
    let found = met.found[cheater as usize];
    must(
        found == Some(0) || cheater == Party::Evaluator && found.is_none(),
        "the line was closed before all was burned",
    )?;
    must(stores.is_burned(other(cheater))?, "not burned")?;
    stores.is_refused()?;
    Ok(ending)
}

/// Plays a cheat before an epoch exists: no stock is burned, and a retry begins with other secrets.
pub fn nothing_to_burn(cheater: Party, side: PartyLies) -> Played {
    let stores = PartyFolders::empty();
    let met = stores.connect(StoreAction::Fill, only(cheater, side));
    let ending = ending(&met, other(cheater), StoreAction::Fill)?;
    must(
        matches!(met.result[cheater as usize], Ok(()) | Err(Error::Io(_))),
        "the cheater was told something",
    )?;
    let epochs = stores.open(other(cheater)).and_then(|store| store.epochs()).map_err(|e| e.to_string())?;
    must(epochs.is_empty(), "an epoch of what was broken off")?;
    goes_on(&stores, StoreAction::Fill)?;
    Ok(ending)
}

/// Makes stock with a garbler that knew the challenge. In the given copies, a bit of the first committed
/// output is wrong.
fn badly_made(bad: &[(usize, usize, usize, usize)]) -> PartyFolders {
    let lie = |&(component, bucket, copies, bit): &(usize, usize, usize, usize)| -> Lie {
        let cut = stock_bucketing(&request(RUNS), component);
        let size = cut.bucket as usize;
        let copies = &chosen(cut)[bucket * size..][..copies.min(size)];
        // Each component has two outputs.
        (
            Point::CommittedOutputs(component),
            Box::new(harness::flips(copies.iter().map(|copy| 2 * copy).collect(), bit)),
        )
    };
    let garbler = PartyLies { lies: bad.iter().map(lie).collect(), ..PartyLies::default() };
    let stores = PartyFolders::empty();
    let met = stores
        .connect(StoreAction::Fill, [garbler, PartyLies::lies(Point::Challenge, |seeds| seeds.fill(SEED))]);
    met.result.into_iter().for_each(|result| result.expect("nothing bad is opened"));
    stores
}

/// Plays rows 14 and 28: in the first of several runs a copy gives the opposite label, and if `and_none`, the
/// copies of another component's bucket give no valid label. The run has the right outputs, looks like an
/// honest run, and burns nothing.
pub fn recovers(and_none: bool) -> Played {
    static STOCK: LazyLock<[PartyFolders; 2]> =
        LazyLock::new(|| [badly_made(&[(0, 0, 1, 0)]), badly_made(&[(0, 0, 1, 0), (1, 1, 2, 30)])]);
    let stores = STOCK[usize::from(and_none)].copy();
    let met = stores.connect(StoreAction::Runs, Default::default());
    must(
        met.recovered == [vec![false; RUNS], vec![true, false]],
        "it was not the first run that was recovered",
    )?;
    for party in [Party::Garbler, Party::Evaluator] {
        let honest = &HONEST[StoreAction::Runs as usize].sent[party as usize];
        must(met.sent[party as usize] == *honest, "it looks like something")?;
        let burned = || {
            let store = stores.open(party)?;
            let mut epochs = store.epochs()?.into_iter();
            epochs.try_fold(false, |any, (id, _)| Ok::<_, Error>(any || store.state(&id)?.burned().is_some()))
        };
        must(!burned().map_err(|e| e.to_string())?, "an epoch is burned")?;
    }
    stores.agree(RUNS)?;
    ending(&met, Party::Evaluator, StoreAction::Runs)
}

/// Plays row 16: a party names items of the stock that are not the next ones.
pub fn names_other_items(cheater: Party) -> Played {
    let stores = PartyFolders::filled();
    let met = stores
        .connect(StoreAction::Run, only(cheater, PartyLies::rewrites(msg::INTENT, 0, |plan| plan[7] ^= 1)));
    only_talk(&met, other(cheater))?;
    stores.works()?;
    stores.agree(1)?;
    ending(&met, other(cheater), StoreAction::Run)
}

/// Plays row 16: a program is run once more than the stock allows.
pub fn used_up(party: Party) -> Played {
    let stores = PartyFolders::filled();
    (0..RUNS).try_for_each(|_| stores.works())?;
    let met = stores.run();
    only_talk(&met, party)?;
    ending(&met, party, StoreAction::Run)
}

/// Plays row 20: the connection is cut at any byte that a party receives; afterwards both parties continue,
/// and no item is used twice.
pub fn cut(what: StoreAction, party: Party, rng: &mut Rng) -> Played {
    let stores = what.begin();
    let at = rng.below(HONEST[what as usize].read[party as usize] as u64) as usize;
    let met = stores.connect(what, only(party, PartyLies::cut(at)));
    goes_on(&stores, what)?;
    ending(&met, party, what)
}

/// Plays row 21: a party is killed at any change of its disk, and any part of the change may be stored.
/// Afterwards both parties continue.
pub fn killed(what: StoreAction, party: Party, rng: &mut Rng) -> Played {
    let never = Failing::killed(usize::MAX, 0);
    drop(what.begin().connect(what, only(party, PartyLies::fails(never.clone()))));
    let (at, some) = (rng.below(never.seen() as u64) as usize, [0, 100, usize::MAX][rng.below(3) as usize]);
    let stores = what.begin();
    drop(stores.connect(what, only(party, PartyLies::fails(Failing::killed(at, some)))));
    goes_on(&stores, what)?;
    Ok(Ending::Survived)
}

/// Checks that both parties can continue: the next connection has enough stock, and both logs agree.
fn goes_on(stores: &PartyFolders, what: StoreAction) -> Result<(), String> {
    if what == StoreAction::Fill {
        let met = stores.connect(what, Default::default());
        must(met.result.iter().all(Result::is_ok), "stock cannot be made afterwards")?;
    }
    stores.works()?;
    stores.agree(1)?;
    for party in [Party::Garbler, Party::Evaluator] {
        let verified = stores.open(party).and_then(|store| store.verify());
        must(verified.is_ok(), "a store is damaged")?;
    }
    Ok(())
}

/// Plays row 22: a change of the disk fails before a program has its items. The store reports the failure and
/// gives no items until it is opened again; then each item is fresh or burned.
pub fn disk_fails(party: Party, rng: &mut Rng) -> Played {
    let stores = PartyFolders::filled();
    let opened = Failing::once(usize::MAX, 0);
    drop(Store::open_with(&stores.of(party), &KEY, opened.clone()).map_err(|e| e.to_string())?);
    let take = |store: &Store| -> Result<(), Error> {
        let (id, _) = store.epochs()?[0];
        let taken = store.batches(&id)?.iter().map(|batch| (batch.serial, 1)).collect();
        store.append(&id, &EpochEntry::Use { program: [9; 32], taken }).map(drop)
    };
    let (counted, copy) = (Failing::once(usize::MAX, 0), stores.copy());
    let store = Store::open_with(&copy.of(party), &KEY, counted.clone()).map_err(|e| e.to_string())?;
    let before = counted.seen();
    take(&store).map_err(|e| e.to_string())?;
    let changes = counted.seen() - before;
    let (at, some) = (before + rng.below(changes as u64) as usize, rng.below(200) as usize);
    let store =
        Store::open_with(&stores.of(party), &KEY, Failing::once(at, some)).map_err(|e| e.to_string())?;
    let failed = take(&store);
    must(matches!(failed, Err(Error::Resource(_))), "a full disk was not noticed")?;
    must(
        matches!(take(&store), Err(Error::Stock(why)) if why.contains("open the store again")),
        "the store went on",
    )?;
    drop(store);
    let store = stores.open(party).map_err(|e| e.to_string())?;
    let (id, _) = store.epochs().map_err(|e| e.to_string())?[0];
    let state = store.state(&id).map_err(|e| e.to_string())?;
    let gone: Vec<u64> =
        store.batches(&id).map_err(|e| e.to_string())?.iter().map(|batch| state.gone(batch.serial)).collect();
    must(gone.iter().all(|n| *n == gone[0] && *n <= 1), "an item is neither fresh nor burned")?;
    Ok(Ending::Stopped)
}

/// Row 23 of the table of attacks: changes of the files of a party's stock.
#[derive(Clone, Copy)]
pub enum FileChange {
    /// A bit of every 64 bytes is flipped, so that no record can be read.
    Flip,
    /// A file is a byte too short.
    Cut,
    /// Two files have exchanged places.
    Swap,
}

/// Plays row 23: the damage is found by a check of the store, and also by a run that needs the damaged data.
pub fn damaged(damage: FileChange, party: Party, rng: &mut Rng) -> Played {
    let stores = PartyFolders::filled();
    let segments = stores.segments(party);
    match damage {
        FileChange::Flip => segments.iter().for_each(|path| {
            let mut bytes = std::fs::read(path).expect("a segment");
            for piece in bytes.chunks_mut(64) {
                let at = rng.below(piece.len() as u64) as usize;
                piece[at] ^= 1 << rng.below(8);
            }
            std::fs::write(path, bytes).expect("a segment");
        }),
        FileChange::Cut => {
            let path = &segments[rng.below(segments.len() as u64) as usize];
            let bytes = std::fs::read(path).expect("a segment");
            std::fs::write(path, &bytes[..bytes.len() - 1]).expect("a segment");
        }
        FileChange::Swap => {
            let [a, b] = [&segments[0], &segments[1]].map(|path| std::fs::read(path).expect("a segment"));
            std::fs::write(&segments[0], b).expect("a segment");
            std::fs::write(&segments[1], a).expect("a segment");
        }
    }
    let verified = stores.open(party).and_then(|store| store.verify());
    must(matches!(verified, Err(Error::Stock(_))), "damage was not found")?;
    let mut met = stores.run();
    only_talk(&met, party)?;
    // An honest party with undamaged stock removes no item.
    let sent = &mut met.sent[party as usize];
    let takes_out = [msg::INTENT, msg::DAMAGED, msg::STAND];
    while let Some(at) = sent.windows(3).position(|three| three.iter().map(|(tag, _)| *tag).eq(takes_out)) {
        drop(sent.drain(at..at + 3));
    }
    ending(&met, party, StoreAction::Run)
}

/// Plays row 24: a second process opens a store.
pub fn second_process(party: Party) -> Played {
    let stores = PartyFolders::filled();
    let first = stores.open(party).map_err(|e| e.to_string())?;
    let second = stores.open(party);
    drop(first);
    match second {
        Err(Error::Busy(why)) if why.contains("another process uses") => Ok(Ending::Stopped),
        _ => Err("a second process has it".into()),
    }
}

/// Plays rows 24 and 25: a party continues with a copy of its folder from before the last runs.
pub fn old_copy(party: Party, runs: usize) -> Played {
    let stores = PartyFolders::filled();
    let copy = stores.copy();
    (0..runs).try_for_each(|_| stores.works())?;
    stores.restore(party, &copy);
    // The other party has burned the epochs that it used, and still knows all of them.
    let met = stores.run();
    only_talk(&met, Party::Garbler)?;
    only_talk(&met, Party::Evaluator)?;
    must(met.result.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "an old copy was taken")?;
    must(stores.is_burned(party)?, "the old copy is not burned")?;
    ending(&met, other(party), StoreAction::Run)
}

/// A party's lie about the pair of its store.
#[derive(Clone, Copy)]
pub enum Pair {
    /// The party claims to have another pair's store.
    Other,
    /// The party claims to have a new store, so that its attempts are counted from zero.
    None,
}

/// Plays row 24: a party lies about the pair of its store. The other party loses nothing.
pub fn lies_about_its_pair(cheater: Party, lie: Pair) -> Played {
    let stores = PartyFolders::filled();
    let rewrite = move |bytes: &mut Vec<u8>| match lie {
        Pair::Other => bytes[7] ^= 1,
        Pair::None => bytes[..33].fill(0),
    };
    let met = stores.connect(StoreAction::Run, only(cheater, PartyLies::rewrites(msg::PAIR, 0, rewrite)));
    only_talk(&met, other(cheater))?;
    must(
        matches!(met.result[other(cheater) as usize], Err(Error::Strangers(_))),
        "another pair was not noticed",
    )?;
    must(stores.is_whole(other(cheater))?, "something is burned")?;
    stores.works()?;
    stores.agree(1)?;
    ending(&met, other(cheater), StoreAction::Run)
}

/// Plays row 24: a party uses the folder of another pair of the same two parties, or a new one. Nothing is
/// burned, and with the right folder both parties continue.
pub fn foreign_folder(party: Party, is_new: bool) -> Played {
    static OTHERS: LazyLock<PartyFolders> = LazyLock::new(|| {
        let stores = PartyFolders::empty();
        let met = stores.connect(StoreAction::Fill, Default::default());
        met.result.into_iter().for_each(|result| result.expect("honest parties make stock"));
        stores
    });
    let stores = PartyFolders::filled();
    let right = stores.copy();
    match is_new {
        true => std::fs::remove_dir_all(stores.of(party)).expect("a folder"),
        false => stores.restore(party, &OTHERS),
    }
    for what in [StoreAction::More, StoreAction::Run] {
        let met = stores.connect(what, Default::default());
        only_talk(&met, Party::Garbler)?;
        only_talk(&met, Party::Evaluator)?;
        must(
            met.result.iter().all(|result| matches!(result, Err(Error::Strangers(_)))),
            "a foreign folder was taken",
        )?;
        must(stores.is_whole(other(party))? && (is_new || stores.is_whole(party)?), "something is burned")?;
    }
    let met = stores.run();
    stores.restore(party, &right);
    stores.works()?;
    stores.agree(1)?;
    ending(&met, other(party), StoreAction::Run)
}

/// Plays row 25: a party lies about the position of its log.
pub fn lies_about_its_log(cheater: Party) -> Played {
    let stores = PartyFolders::filled();
    // The head of the log comes after the number of epochs, the first epoch's identifier, a kind and a
    // number.
    let head = 1 + 32 + 1 + 8;
    let lie = move |bytes: &mut Vec<u8>| bytes[head] ^= 1;
    let met = stores.connect(StoreAction::Run, only(cheater, PartyLies::rewrites(msg::STANDINGS, 0, lie)));
    only_talk(&met, other(cheater))?;
    must(stores.is_burned(other(cheater))?, "not burned")?;
    stores.is_refused()?;
    ending(&met, other(cheater), StoreAction::Run)
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;

    /// The check that all stock is burned fails if a party left its stock unburned.
    #[test]
    fn what_is_not_burned_is_found() {
        let stores = PartyFolders::filled();
        let segments = stores.segments(Party::Garbler).len();
        let met = stores.connect(
            StoreAction::Run,
            only(Party::Garbler, PartyLies::cut(HONEST[StoreAction::Run as usize].read[0] / 2)),
        );
        assert!(segments > 0 && met.found == [None, Some(segments)], "{:?} of {segments}", met.found);
        assert!(
            burned(&stores, &met, StoreAction::Run, Party::Evaluator)
                .is_err_and(|why| why.contains("before all was burned"))
        );
    }
}
