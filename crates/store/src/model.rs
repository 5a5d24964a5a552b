//! A model check of the log's state machine. It searches all orders of all actions of two parties, with
//! crashes and with restored old copies of one party's folder.
//!
//! Each party runs the real steps of a session with stock, on the real [`EpochState`]. It compares the logs,
//! catches up, and checks that both are equal. Then it appends an entry, checks again, and only then uses the
//! items of the entry. Between any two steps the connection may break; then both parties begin again from
//! their disks. A state is searched only once, so the search ends. Only the numbers of shared entries and of
//! restored copies are bounded.
//!
//! The order of the steps is a parameter. If a party uses items before it or the peer has burned them, the
//! search must find a violation.
//!
//! (Within one store a lock and a single writing thread order all changes, so only the steps of the two
//! parties interleave. In a smaller model, `burn.rs` of the adversary's tests runs both parties as threads
//! under loom.)
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

mod seen;
mod workers;

use std::collections::BTreeSet;

use rayon::prelude::*;

use seen::VisitedStates;

use super::log::{EpochEntry, EpochReport, EpochState, EpochVerdict, FillStep, LogHead, serial};

/// The number of shared entries after which no action begins. It applies if a step has one worker.
const ENTRIES: u64 = 5;
/// The number of old copies that are restored.
const RESTORATIONS: u32 = 1;
/// Number of items of the batch that a step makes.
const ITEMS: u64 = 3;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Intent {
    Fill,
    Use,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Message {
    Standing(EpochReport),
    Head(LogHead),
    /// A message that can tell a cheating peer whether it will be caught, such as a challenge.
    Exposed,
    Stored,
}

/// The time at which a party uses the items of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// After the party knows that the peer has the entry, too.
    BothBurned,
    /// After the entry is on this party's disk.
    BurnedHere,
    /// Before the entry is on this party's disk.
    NotBurned,
}

/// A description of a violation.
type Violation = String;

/// One party's end of a connection: its next step, and its messages that the peer has not read.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Running {
    step: usize,
    sent: Vec<Message>,
    /// True if the party has used the items of the entry that it is about to write.
    sent_early: bool,
}

/// The complete state of the model.
#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    /// The number of workers of every step; each uses ranges of its own when both parties have the step's
    /// entry.
    workers: u32,
    logs: [EpochState; 2],
    /// The old copy of a party's folder, which may be restored.
    kept: Option<EpochState>,
    restored: u32,
    connection: Option<(Intent, [Running; 2])>,
    /// For each party, the ranges of counters that it used.
    ranges: [BTreeSet<u64>; 2],
    /// For each party, the items that it used in a message.
    items: [BTreeSet<(u64, u64)>; 2],
}

/// The result of a party's step.
enum Next {
    /// The party waits for a message.
    Waits,
    /// The party ends the connection.
    Ends,
    /// The state of the world after the step.
    Goes(Box<World>),
}

/// Returns the number of the last worker of the last completed step.
fn last_made(state: &EpochState) -> Option<u64> {
    state.made().last().map(|(number, step)| number + u64::from(step.workers) - 1)
}

/// Returns the entry for the action of this connection, if steps have this many workers.
fn entry(intent: Intent, state: &EpochState, workers: u32) -> Option<EpochEntry> {
    match intent {
        Intent::Fill => Some(EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers })),
        Intent::Use => {
            let batch = serial(last_made(state)?, 0);
            (state.gone(batch) < ITEMS).then(|| EpochEntry::Use { program: [4; 32], taken: vec![(batch, 1)] })
        }
    }
}

impl World {
    fn new(workers: u32) -> Self {
        let log = EpochState::new(&[3; 32]);
        World {
            workers,
            logs: [log.clone(), log],
            kept: None,
            restored: 0,
            connection: None,
            ranges: Default::default(),
            items: Default::default(),
        }
    }

    /// Uses the range of counters of an entry, and the items that the entry takes.
    fn use_up(&mut self, me: usize, intent: Intent, state: &EpochState) -> Result<(), Violation> {
        let numbers = if intent == Intent::Fill { u64::from(self.workers) } else { 1 };
        for number in state.shared() + 1 - numbers..=state.shared() {
            if !self.ranges[me].insert(number) {
                return Err(format!("party {me} uses the ranges of number {number} twice"));
            }
        }
        let batch = last_made(state).map(|number| serial(number, 0)).filter(|_| intent == Intent::Use);
        match batch.map(|batch| (batch, state.gone(batch) - 1)) {
            Some(item) if !self.items[me].insert(item) => {
                Err(format!("party {me} sends item {item:?} twice"))
            }
            _ => Ok(()),
        }
    }

    /// Makes one step of a party.
    fn step(&self, me: usize, order: Order) -> Result<Next, Violation> {
        let Some((intent, parties)) = &self.connection else { return Ok(Next::Ends) };
        let intent = *intent;
        let mut world = self.clone();
        // Even steps send; odd ones receive.
        let step = parties[me].step;
        let heard = match step % 2 {
            0 => None,
            _ => match &parties[1 - me].sent[..] {
                [] => return Ok(Next::Waits),
                [first, rest @ ..] => {
                    let Some((_, changed)) = &mut world.connection else { return Ok(Next::Ends) };
                    changed[1 - me].sent = rest.to_vec();
                    Some(first.clone())
                }
            },
        };
        let log = &mut world.logs[me];
        let mut say = None;
        match (step, heard) {
            (0, _) => say = Some(Message::Standing(log.standing())),
            (1, Some(Message::Standing(peer))) => match log.compare(&peer) {
                EpochVerdict::Same | EpochVerdict::Ahead => {}
                EpochVerdict::Behind(entry) => log.apply_named(&entry).expect("compared"),
                EpochVerdict::Apart => return Ok(Next::Ends),
            },
            (2, _) => say = Some(Message::Head(*log.head())),
            (4, _) => {
                let Some(entry) = entry(intent, log, self.workers) else { return Ok(Next::Ends) };
                let mut after = log.clone();
                if after.apply(&entry).is_err() {
                    return Ok(Next::Ends);
                }
                if order == Order::NotBurned && !parties[me].sent_early {
                    world.use_up(me, intent, &after)?;
                    let Some((_, parties)) = &mut world.connection else { return Ok(Next::Ends) };
                    parties[me].sent_early = true;
                    return Ok(Next::Goes(Box::new(world)));
                }
                *log = after.clone();
                say = Some(Message::Head(*log.head()));
                if order == Order::BurnedHere {
                    world.use_up(me, intent, &after)?;
                }
            }
            (3 | 5 | 11, Some(Message::Head(peer))) if peer == *log.head() => {}
            (6, _) => {
                // Both parties have the entry now, so this party uses its ranges and items.
                if order == Order::BothBurned {
                    let state = log.clone();
                    world.use_up(me, intent, &state)?;
                }
                let log = &mut world.logs[me];
                if intent == Intent::Use {
                    // The run has ended.
                    log.apply(&EpochEntry::Confirmed).expect("always");
                    return Ok(Next::Goes(Box::new(world.closed())));
                }
                // The evaluator counts the step as exposed before it sends a challenge.
                if me == 1 {
                    log.apply(&EpochEntry::Exposed).expect("a step is open");
                }
                say = Some(Message::Exposed);
            }
            (7, Some(Message::Exposed)) if me == 1 => {}
            (7, Some(Message::Exposed)) => log.apply(&EpochEntry::Exposed).expect("a step is open"),
            (8, _) => {
                log.apply(&EpochEntry::Stored).expect("a step is open");
                say = Some(Message::Stored);
            }
            (9, Some(Message::Stored)) => {}
            (10, _) => {
                log.apply(&EpochEntry::Made).expect("stored");
                say = Some(Message::Head(*log.head()));
            }
            (12, _) => {
                log.apply(&EpochEntry::Confirmed).expect("always");
                return Ok(Next::Goes(Box::new(world.closed())));
            }
            _ => return Ok(Next::Ends),
        }
        let Some((_, parties)) = &mut world.connection else { return Ok(Next::Ends) };
        parties[me].step += 1;
        parties[me].sent.extend(say);
        Ok(Next::Goes(Box::new(world)))
    }

    fn closed(mut self) -> Self {
        self.connection = None;
        self
    }

    /// Returns all possible next states.
    fn successors(&self, careless: usize, order: Order) -> Result<Vec<World>, Violation> {
        let mut next = Vec::new();
        match &self.connection {
            None => {
                for intent in [Intent::Fill, Intent::Use] {
                    if self.logs.iter().all(|log| log.shared() + 1 < ENTRIES + u64::from(self.workers)) {
                        next.push(World { connection: Some((intent, Default::default())), ..self.clone() });
                    }
                }
                // An old copy is restored while nothing runs.
                if let Some(old) = self.kept.as_ref().filter(|_| self.restored < RESTORATIONS) {
                    let mut world = World { restored: self.restored + 1, ..self.clone() };
                    world.logs[careless] = old.clone();
                    next.push(world);
                }
            }
            Some(_) => {
                for me in 0..2 {
                    match self.step(me, order)? {
                        Next::Waits => {}
                        Next::Ends => next.push(self.clone().closed()),
                        Next::Goes(world) => next.push(*world),
                    }
                }
                // The connection breaks, or either party crashes. Data on disk remains.
                next.push(self.clone().closed());
            }
        }
        // A copy may be made at any time, even in the middle of a run.
        next.push(World { kept: Some(self.logs[careless].clone()), ..self.clone() });
        Ok(next)
    }
}

/// Searches all states. The folder of the party `careless` may be restored from an old copy.
fn explore(careless: usize, order: Order, workers: u32) -> Result<usize, Violation> {
    let mut open = vec![World::new(workers)];
    let mut seen = VisitedStates::from(&open[0]);
    let (mut used, mut apart, mut made, mut exposed) = (0, 0, 0, 0);
    while let Some(world) = open.pop() {
        // If one party has used items in a message, the other party has burned them, unless its folder was
        // restored.
        for me in 0..2 {
            let burned = |&(batch, item): &(u64, u64)| world.logs[1 - me].gone(batch) > item;
            if !(1 - me == careless && world.restored > 0 || world.items[me].iter().all(burned)) {
                return Err(format!("party {me} sent items that the other party has not burned"));
            }
        }
        used += usize::from(world.items.iter().any(|items| items.len() > 1));
        apart += usize::from(world.logs[0].compare(&world.logs[1].standing()) == EpochVerdict::Apart);
        made += usize::from(world.logs.iter().any(|log| log.made().count() > 1));
        exposed += usize::from(world.logs[1].is_exposed() && !world.logs[0].is_exposed());
        for next in world.successors(careless, order)? {
            if seen.is_new(&next) {
                open.push(next);
            }
        }
    }
    // The search reached the interesting states.
    assert!(used > 100 && apart > 100 && made > 100 && exposed > 100, "{used} {apart} {made} {exposed}");
    Ok(seen.len())
}

/// Rows 16, 20, 21, 24 and 25 of the table of attacks: nothing is used twice. (If both parties restore old
/// copies, neither can detect it, so this case is not covered.)
#[test]
fn nothing_is_used_twice_whatever_happens() {
    [(0, 1), (1, 1), (0, 2), (1, 2)].into_par_iter().for_each(|(careless, workers)| {
        let states =
            explore(careless, Order::BothBurned, workers).unwrap_or_else(|violation| panic!("{violation}"));
        println!(
            "counted: {states} states of the model where the folder of party {careless} may come back from \
             a copy, with {workers} at a step"
        );
        assert!(states > 10_000, "{states} states");
    });
}

/// With any other order the search finds an item or a range that is used twice.
#[test]
fn any_other_order_is_caught() {
    for (careless, order) in
        (0..2).flat_map(|careless| [(careless, Order::BurnedHere), (careless, Order::NotBurned)])
    {
        let violation = explore(careless, order, 1).expect_err("it goes wrong");
        println!("counted: {order:?} instead: {violation}");
    }
}

/// A model of pairs of stores: each party has two folders, which can be new. They are opened in any
/// combination, even with the wrong partner. Connections break anywhere, and one folder may be restored from
/// a copy. The model uses the real [`Acquaintance`] and the real logs. The model checks two properties: a
/// user's mistake burns nothing, and no stock is made for a pair that only one party has stored.
mod pairs {
    use super::*;
    use crate::{Acquaintance, EpochId, PairId, StorePairing};

    /// The number of entries of an epoch after which no more are added.
    const ENTRIES: u64 = 3;

    /// The step number of a party that has ended the connection.
    const DONE: u8 = 9;

    /// The data that two stores compare.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Compared {
        /// The identifiers of their pairs, and then their logs.
        Pairs,
        /// Their logs alone.
        Logs,
    }

    /// The data of a folder on disk.
    #[derive(Clone, PartialEq, Eq, Hash, Default)]
    struct Folder {
        pair: Option<PairId>,
        epoch: Option<(EpochId, EpochState)>,
        /// True if an epoch that has begun was burned.
        burned: bool,
        /// True if the folder is a restored copy, or was compared with one.
        old: bool,
    }

    #[derive(Clone, PartialEq, Eq, Hash)]
    enum Said {
        Store(Acquaintance, Option<(EpochId, EpochReport)>),
        Stand(Vec<u8>),
    }

    /// A connection between one folder of each party.
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Connection {
        folders: [usize; 2],
        steps: [u8; 2],
        said: [Vec<Said>; 2],
    }

    #[derive(Clone, PartialEq, Eq, Hash)]
    struct World {
        /// The two folders of each party.
        folders: [[Folder; 2]; 2],
        /// The number of connections so far, and the limit for it.
        connections: [u8; 2],
        now: Option<Connection>,
        kept: Option<Folder>,
        restored: bool,
    }

    impl Folder {
        fn told(&self) -> Acquaintance {
            Acquaintance { pair: self.pair, holds: self.epoch.as_ref().is_some_and(|(_, log)| !log.is_new()) }
        }

        fn stand(&self) -> Vec<u8> {
            self.epoch.as_ref().map_or(Vec::new(), |(id, log)| [&id[..], log.head()].concat())
        }

        fn burn(&mut self) {
            self.burned |= self.epoch.take().is_some_and(|(_, log)| !log.is_new());
        }
    }

    impl World {
        /// Makes new folders.
        fn new() -> Self {
            World { folders: Default::default(), connections: [0, 3], now: None, kept: None, restored: false }
        }

        /// Makes two pairs of folders with stock.
        fn paired() -> Self {
            let mut world = World::new();
            for k in 0..2 {
                let mut log = EpochState::new(&[k as u8 + 100; 32]);
                for entry in [fill(), EpochEntry::Confirmed] {
                    log.apply(&entry).expect("the first entry");
                }
                for party in &mut world.folders {
                    party[k].pair = Some([k as u8 + 200; 32]);
                    party[k].epoch = Some(([k as u8 + 100; 32], log.clone()));
                }
            }
            world
        }

        /// Makes one step of a party, which begins with a message that it receives and ends with the message
        /// that it sends; `None` if the party waits or is done. (A crash between the two is the same as a
        /// lost message.)
        fn step(&self, me: usize, compared: Compared) -> Option<World> {
            let connection = self.now.as_ref()?;
            let (step, number) = (connection.steps[me], self.connections[0]);
            let mut world = self.clone();
            let now = world.now.as_mut()?;
            let heard = match step {
                DONE => return None,
                0 => None,
                _ if now.said[1 - me].is_empty() => return None,
                _ => Some(now.said[1 - me].remove(0)),
            };
            let peer_is_old = self.folders[1 - me][connection.folders[1 - me]].old;
            let folder = &mut world.folders[me][connection.folders[me]];
            let mut say = None;
            let goes_on = match (step, heard) {
                (0, _) => {
                    let standing = folder.epoch.as_ref().map(|(id, log)| (*id, log.standing()));
                    say = Some(Said::Store(folder.told(), standing));
                    true
                }
                (1, Some(Said::Store(theirs, standing))) => {
                    let meeting = match compared {
                        Compared::Pairs => folder.told().meets(&theirs),
                        Compared::Logs => StorePairing::Known,
                    };
                    let goes_on = match meeting {
                        StorePairing::Strangers => false,
                        StorePairing::New => {
                            folder.epoch = None;
                            folder.pair = Some([number; 32]);
                            true
                        }
                        StorePairing::Known => {
                            folder.old |= peer_is_old;
                            reconciled(folder, standing)
                        }
                    };
                    say = goes_on.then(|| Said::Stand(folder.stand()));
                    goes_on
                }
                (2, Some(Said::Stand(theirs))) if theirs == folder.stand() => {
                    let id = [number; 32];
                    let _ = folder.epoch.get_or_insert_with(|| (id, EpochState::new(&id)));
                    say = Some(Said::Stand(folder.stand()));
                    true
                }
                (3, Some(Said::Stand(theirs))) if theirs == folder.stand() => {
                    let log = folder.epoch.as_mut().map(|(_, log)| log).filter(|log| log.shared() < ENTRIES);
                    let appended = log.is_some_and(|log| log.apply(&fill()).is_ok());
                    say = appended.then(|| Said::Stand(folder.stand()));
                    appended
                }
                (4, Some(Said::Stand(theirs))) if theirs == folder.stand() => {
                    if let Some((_, log)) = &mut folder.epoch {
                        log.apply(&EpochEntry::Confirmed).expect("always");
                    }
                    false
                }
                _ => false,
            };
            let now = world.now.as_mut()?;
            now.steps[me] = if goes_on { step + 1 } else { DONE };
            now.said[me].extend(say);
            if now.steps == [DONE; 2] {
                world.now = None;
            }
            Some(world)
        }

        fn successors(&self, compared: Compared) -> Vec<World> {
            let mut next = Vec::new();
            match &self.now {
                None if self.connections[0] < self.connections[1] => {
                    for folders in [[0, 0], [0, 1], [1, 0], [1, 1]] {
                        let now = Connection { folders, steps: [0; 2], said: Default::default() };
                        let connections = [self.connections[0] + 1, self.connections[1]];
                        next.push(World { now: Some(now), connections, ..self.clone() });
                    }
                    if let Some(kept) = self.kept.as_ref().filter(|_| !self.restored) {
                        let mut world = World { restored: true, ..self.clone() };
                        world.folders[0][0] = Folder { old: true, ..kept.clone() };
                        next.push(world);
                    }
                    if self.kept.is_none() {
                        next.push(World { kept: Some(self.folders[0][0].clone()), ..self.clone() });
                    }
                }
                None => {}
                Some(connection) => {
                    for me in 0..2 {
                        next.extend(self.step(me, compared));
                    }
                    // The connection breaks, or a party crashes: messages that were sent and not received are
                    // lost.
                    if connection.steps.iter().any(|step| *step > 0) {
                        next.push(World { now: None, ..self.clone() });
                    }
                }
            }
            next
        }

        fn check(&self) -> Result<(), Violation> {
            let all = || self.folders.iter().flatten();
            if all().any(|folder| folder.burned && !folder.old) {
                return Err("an innocent mistake burned stock".into());
            }
            for mine in &self.folders[0] {
                for theirs in &self.folders[1] {
                    let (Some((id, log)), Some((other, _))) = (&mine.epoch, &theirs.epoch) else { continue };
                    let known = mine.pair.is_some() && mine.pair == theirs.pair;
                    if id == other && !log.is_new() && !mine.old && !theirs.old && !known {
                        return Err("stock was made in a pair that only one party knows".into());
                    }
                }
            }
            Ok(())
        }
    }

    fn fill() -> EpochEntry {
        EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 })
    }

    /// Compares a folder with the peer's report; returns whether the party continues.
    fn reconciled(folder: &mut Folder, theirs: Option<(EpochId, EpochReport)>) -> bool {
        let Some((id, log)) = &mut folder.epoch else {
            return theirs.is_none_or(|(id, standing)| standing.head == *EpochState::new(&id).head());
        };
        match theirs.filter(|(other, _)| other == id).map(|(_, standing)| log.compare(&standing)) {
            Some(EpochVerdict::Same | EpochVerdict::Ahead) => true,
            Some(EpochVerdict::Behind(entry)) => log.apply_named(&entry).is_ok(),
            None if log.is_new() => {
                folder.epoch = None;
                true
            }
            Some(EpochVerdict::Apart) | None => {
                folder.burn();
                false
            }
        }
    }

    fn explore(begin: World, compared: Compared) -> Result<[usize; 4], Violation> {
        let mut seen = VisitedStates::from(&begin);
        let mut open = vec![begin];
        let [mut made, mut refused, mut burned] = [0; 3];
        while let Some(world) = open.pop() {
            world.check()?;
            let folders = || world.folders.iter().flatten();
            made += usize::from(folders().filter(|folder| folder.told().holds).count() > 1);
            burned += usize::from(folders().any(|folder| folder.burned));
            refused += usize::from(world.now.as_ref().is_some_and(|now| {
                let told = [0, 1].map(|party| world.folders[party][now.folders[party]].told());
                told[0].meets(&told[1]) == StorePairing::Strangers
            }));
            for next in world.successors(compared) {
                if seen.is_new(&next) {
                    open.push(next);
                }
            }
        }
        Ok([seen.len(), made, refused, burned])
    }

    /// Rows 21, 24 and 25 of the table of attacks: only a restored copy causes a burn, for any two folders
    /// that are compared and any interruption.
    #[test]
    fn only_an_old_copy_of_the_same_store_burns() {
        for begin in [World::new(), World::paired()] {
            let [states, made, refused, burned] =
                explore(begin, Compared::Pairs).unwrap_or_else(|violation| panic!("{violation}"));
            println!("counted: {states} states of the model of pairs, {refused} of stores that are no pair");
            assert!(
                made > 100 && refused > 100 && burned > 10,
                "{states} states, {made} made, {refused} refused, {burned} burned"
            );
        }
    }

    /// If the stores do not compare identifiers, the search finds a user's mistake that burns stock.
    #[test]
    fn without_the_identifier_a_mistake_burns() {
        let violation = explore(World::paired(), Compared::Logs).expect_err("it goes wrong");
        println!("counted: without the identifier: {violation}");
        assert!(violation.contains("innocent mistake"), "{violation}");
    }
}

/// A model of sessions: two connections at the same time between the same two stores, with two epochs. The
/// threads of both parties make their steps in any order. Either end of a connection may break at any step.
/// One party's folder may be restored while none of its sessions runs. The model checks that no range is used
/// twice, and that without a restored copy no two logs seem to differ.
mod sessions {
    use super::*;

    /// The number of shared entries of an epoch after which no more are added.
    const ENTRIES: u64 = 2;
    /// The number of connections.
    const CONNECTIONS: u8 = 2;
    /// The step number of an end that has gone away.
    const GONE: u8 = 9;

    /// The way in which stores are compared.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Rule {
        /// The rule of `protocol::stock::meeting`.
        AsItIs,
        /// A party reports an epoch that another session has leased like any other epoch.
        NothingIsBusy,
        /// The evaluator reads its logs before it has received the garbler's message.
        BothAtOnce,
        /// The evaluator compares after the garbler's first message, although the garbler may have gone away
        /// by then.
        EvaluatorAtOnce,
    }

    // The variants differ in size, but there are only a few messages at a time.
    #[allow(clippy::large_enum_variant)]
    #[derive(Clone, PartialEq, Eq, Hash)]
    enum Said {
        Stands([Option<EpochReport>; 2]),
        Stand(Vec<(usize, LogHead)>),
        Plan(Option<(usize, LogHead)>),
        Head(LogHead),
    }

    /// One party's end of a connection.
    #[derive(Clone, Default, PartialEq, Eq, Hash)]
    struct End {
        step: u8,
        said: Vec<Said>,
        heard: Option<[Option<EpochReport>; 2]>,
        told: Option<[Option<EpochReport>; 2]>,
        shared: Vec<usize>,
        named: Option<(usize, LogHead)>,
    }

    #[derive(Clone, PartialEq, Eq, Hash)]
    struct World {
        /// By party and epoch.
        logs: [[EpochState; 2]; 2],
        /// By party and epoch, the connection that leases the epoch.
        leases: [[Option<usize>; 2]; 2],
        /// For each party, the connection that holds the lock.
        locked: [Option<usize>; 2],
        lines: [Option<[End; 2]>; 2],
        begun: u8,
        kept: Option<[EpochState; 2]>,
        restored: bool,
        /// For each party, the ranges that were used.
        entered: [BTreeSet<(usize, u64)>; 2],
        /// True if an old copy was found.
        found: bool,
    }

    fn fill() -> EpochEntry {
        EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 })
    }

    impl World {
        fn new() -> Self {
            let logs = [3, 4].map(|id| EpochState::new(&[id; 32]));
            World {
                logs: [logs.clone(), logs],
                leases: Default::default(),
                locked: Default::default(),
                lines: Default::default(),
                begun: 0,
                kept: None,
                restored: false,
                entered: Default::default(),
                found: false,
            }
        }

        /// Ends one party's end of a connection, and releases its epoch.
        fn ends(mut self, line: usize, me: usize) -> Self {
            for lease in &mut self.leases[me] {
                *lease = lease.filter(|leased| *leased != line);
            }
            self.locked[me] = self.locked[me].filter(|held| *held != line);
            if let Some(ends) = &mut self.lines[line] {
                ends[me].step = GONE;
                if ends[1 - me].step == GONE {
                    self.lines[line] = None;
                }
            }
            self
        }

        fn stands(&self, me: usize, rule: Rule) -> [Option<EpochReport>; 2] {
            [0, 1].map(|epoch| {
                let idle = self.leases[me][epoch].is_none() || rule == Rule::NothingIsBusy;
                idle.then(|| self.logs[me][epoch].standing())
            })
        }

        /// Compares the reports of both parties; `None` if an old copy was detected.
        fn compares(
            &mut self,
            me: usize,
            told: &[Option<EpochReport>; 2],
            theirs: &[Option<EpochReport>; 2],
        ) -> Result<Option<Vec<usize>>, Violation> {
            let mut shared = Vec::new();
            for epoch in 0..2 {
                let (Some(_), Some(theirs)) = (&told[epoch], &theirs[epoch]) else { continue };
                match self.logs[me][epoch].compare(theirs) {
                    EpochVerdict::Same | EpochVerdict::Ahead => {}
                    EpochVerdict::Behind(entry) => {
                        self.logs[me][epoch].apply_named(&entry).expect("compared")
                    }
                    EpochVerdict::Apart if self.restored => return Ok(None),
                    EpochVerdict::Apart => return Err(format!("an innocent epoch is burned by party {me}")),
                }
                shared.push(epoch);
            }
            Ok(Some(shared))
        }

        /// Returns the positions of these epochs.
        fn heads(&self, me: usize, shared: &[usize]) -> Vec<(usize, LogHead)> {
            shared.iter().map(|epoch| (*epoch, *self.logs[me][*epoch].head())).collect()
        }

        /// Makes one step of an end; `None` if it waits.
        fn step(&self, line: usize, me: usize, rule: Rule) -> Result<Option<World>, Violation> {
            let Some(ends) = &self.lines[line] else { return Ok(None) };
            let mut world = self.clone();
            let mut end = ends[me].clone();
            let evaluator = me == 1;
            // Steps 0 and 1 exchange the positions of the logs, and step 2 compares them (the evaluator after
            // the garbler). Step 3 receives the heads, step 4 names or receives the epoch, step 5 agrees and
            // appends, and step 6 receives the head.
            let hears = match (end.step, evaluator) {
                (GONE, _) => return Ok(None),
                (0, _) => evaluator && rule != Rule::BothAtOnce,
                (1, true) => rule == Rule::BothAtOnce,
                (2, true) => rule != Rule::EvaluatorAtOnce,
                (1, false) | (3, _) | (6, _) | (4, true) | (5, false) => true,
                _ => false,
            };
            let heard = match (hears, ends[1 - me].said.first()) {
                (false, _) => None,
                (true, Some(said)) => {
                    if let Some(ends) = &mut world.lines[line] {
                        ends[1 - me].said.remove(0);
                    }
                    Some(said.clone())
                }
                (true, None) if ends[1 - me].step == GONE => return Ok(Some(world.ends(line, me))),
                (true, None) => return Ok(None),
            };
            let gate_is_free = self.locked[me].is_none() || self.locked[me] == Some(line);
            let tells = end.told.is_none() && !hears && end.step < 2;
            if (tells || !hears && matches!(end.step, 4 | 5)) && !gate_is_free {
                return Ok(None);
            }
            let mut say = Vec::new();
            match (end.step, heard) {
                (0 | 1, Some(Said::Stands(theirs))) => end.heard = Some(theirs),
                (0 | 1, None) => {
                    world.locked[me] = Some(line);
                    let told = world.stands(me, rule);
                    say.push(Said::Stands(told.clone()));
                    end.told = Some(told);
                }
                (2, heard) => {
                    let (Some(told), Some(theirs)) = (&end.told, &end.heard) else { unreachable!() };
                    match world.compares(me, told, theirs)? {
                        Some(shared) => end.shared = shared,
                        None => return Ok(Some(World { found: true, ..world })),
                    }
                    let stand = world.heads(me, &end.shared);
                    say.push(Said::Stand(stand.clone()));
                    match heard {
                        None => {}
                        Some(Said::Stand(theirs)) if theirs == stand => {
                            world.locked[me] = None;
                            end.step += 1;
                        }
                        Some(_) => return Ok(Some(world.ends(line, me))),
                    }
                }
                (3, Some(Said::Stand(theirs))) if theirs == world.heads(me, &end.shared) => {
                    world.locked[me] = None;
                }
                (4, None) => {
                    let free = |epoch: &&usize| {
                        world.leases[me][**epoch].is_none() && world.logs[me][**epoch].shared() < ENTRIES
                    };
                    let Some(epoch) = end.shared.iter().find(free).copied() else {
                        return Ok(Some(world.ends(line, me)));
                    };
                    world.leases[me][epoch] = Some(line);
                    end.named = Some((epoch, *world.logs[me][epoch].head()));
                    say.push(Said::Plan(end.named));
                }
                (4, Some(Said::Plan(named))) => end.named = named,
                (5, None) => {
                    let may = end.named.filter(|(epoch, head)| {
                        end.shared.contains(epoch)
                            && world.leases[me][*epoch].is_none()
                            && world.logs[me][*epoch].head() == head
                    });
                    say.push(Said::Plan(may));
                    match may {
                        Some((epoch, _)) => {
                            world.leases[me][epoch] = Some(line);
                            world.logs[me][epoch].apply(&fill()).expect("there is room");
                            say.push(Said::Head(*world.logs[me][epoch].head()));
                        }
                        None => end.step = GONE - 1,
                    }
                }
                (5, Some(Said::Plan(theirs))) if theirs.is_some() && theirs == end.named => {
                    let Some((epoch, _)) = end.named else { unreachable!() };
                    world.logs[me][epoch].apply(&fill()).expect("there is room");
                    say.push(Said::Head(*world.logs[me][epoch].head()));
                }
                (6, Some(Said::Head(theirs))) => {
                    let Some((epoch, _)) = end.named else { unreachable!() };
                    if theirs == *world.logs[me][epoch].head() {
                        if !world.entered[me].insert((epoch, world.logs[me][epoch].shared())) {
                            return Err(format!("party {me} enters a range of epoch {epoch} twice"));
                        }
                        world.logs[me][epoch].apply(&EpochEntry::Confirmed).expect("always");
                    }
                    return Ok(Some(world.ends(line, me)));
                }
                _ => return Ok(Some(world.ends(line, me))),
            }
            end.step += 1;
            if let Some(ends) = &mut world.lines[line] {
                end.said = std::mem::take(&mut ends[me].said);
                end.said.extend(say);
                ends[me] = end.clone();
            }
            Ok(Some(if end.step == GONE { world.ends(line, me) } else { world }))
        }

        fn successors(&self, careless: usize, rule: Rule) -> Result<Vec<World>, Violation> {
            let mut next = Vec::new();
            if self.found {
                return Ok(next);
            }
            for line in 0..2 {
                match &self.lines[line] {
                    None if self.begun < CONNECTIONS => {
                        let mut world = World { begun: self.begun + 1, ..self.clone() };
                        world.lines[line] = Some(Default::default());
                        next.push(world);
                    }
                    None => {}
                    Some(ends) => {
                        for (me, end) in ends.iter().enumerate() {
                            next.extend(self.step(line, me, rule)?);
                            if end.step != GONE {
                                next.push(self.clone().ends(line, me));
                            }
                        }
                    }
                }
            }
            if self.kept.is_none() {
                next.push(World { kept: Some(self.logs[careless].clone()), ..self.clone() });
            }
            let runs = self.lines.iter().flatten().any(|ends| ends[careless].step != GONE);
            if let Some(old) = self.kept.as_ref().filter(|_| !self.restored && !runs) {
                let mut world = World { restored: true, ..self.clone() };
                world.logs[careless] = old.clone();
                next.push(world);
            }
            Ok(next)
        }
    }

    /// Searches all states. Returns the number of states, and in how many of them both sessions hold an
    /// epoch, or an old copy is detected.
    fn explore(careless: usize, rule: Rule) -> Result<[usize; 3], Violation> {
        let mut open = vec![World::new()];
        let mut seen = VisitedStates::from(&open[0]);
        let [mut both, mut found] = [0; 2];
        while let Some(world) = open.pop() {
            both += usize::from(world.leases.iter().flatten().all(Option::is_some));
            found += usize::from(world.found);
            for next in world.successors(careless, rule)? {
                if seen.is_new(&next) {
                    open.push(next);
                }
            }
        }
        Ok([seen.len(), both, found])
    }

    /// Rows 16, 20, 21 and 24 of the table of attacks: two sessions at the same time burn nothing and use
    /// nothing twice, whatever they do and wherever they break.
    #[test]
    fn sessions_at_once_burn_nothing_and_use_nothing_twice() {
        for careless in 0..2 {
            let [worlds, both, found] =
                explore(careless, Rule::AsItIs).unwrap_or_else(|violation| panic!("{violation}"));
            println!(
                "counted: {worlds} worlds of two sessions at once, {both} with both epochs leased, {found} \
                 with an old copy found"
            );
            assert!(
                worlds > 20_000 && both > 100 && found > 5,
                "{worlds} worlds, {both} with both, {found} found"
            );
        }
    }

    /// With any other rule of comparison, the search finds a violation: a party must report busy epochs as
    /// busy, and the garbler must report first.
    #[test]
    fn any_other_way_to_compare_burns_the_innocent() {
        for rule in [Rule::NothingIsBusy, Rule::BothAtOnce, Rule::EvaluatorAtOnce] {
            let violation = explore(0, rule).expect_err("it goes wrong");
            println!("counted: {rule:?}: {violation}");
            assert!(violation.contains("innocent"), "{violation}");
        }
    }
}
