//! Rows 16, 20 and 21 of the table of attacks (docs/concepts/security.md, section 14), explored with loom: a
//! party burns an item before it sends any data of the item. Both parties are threads, and a third thread
//! stops them, one after the other, at every moment that the scheduler allows. The model uses the real
//! [`EpochState`] of a log.
//!
//! `store::model` searches more actions (filling, old copies of a folder). Here loom explores the orders of
//! steps of real threads.

use std::collections::{BTreeSet, VecDeque};

use brickwork::disk::{
    Acquaintance, EpochEntry, EpochId, EpochReport, EpochState, EpochVerdict, FillStep, LogHead, PairId,
    StorePairing, serial,
};
use loom::model::Builder;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

const ID: EpochId = [3; 32];

/// The order in which a party burns an item and sends data of it.
#[derive(Clone, Copy)]
enum Order {
    /// Burn the item, wait for the peer's message that it has burned the item, too, and then send.
    BothBurnThenSend,
    SendThenBurn,
}

enum Message {
    Store(Acquaintance),
    Pair(Option<PairId>),
    Standing(EpochReport),
    Head(LogHead),
}

/// The messages from one party to the other.
#[derive(Default)]
struct Line {
    messages: VecDeque<Message>,
    closed: bool,
}

struct World {
    order: Order,
    /// The durable state of each party.
    disks: [Mutex<EpochState>; 2],
    /// The pair of each party's store.
    stores: [Mutex<Acquaintance>; 2],
    lines: [(Mutex<Line>, Condvar); 2],
    /// By party: the items of which it has sent data.
    sent: [Mutex<BTreeSet<u64>>; 2],
}

/// The connection or the party is gone.
struct Gone;

impl World {
    fn new(order: Order) -> Self {
        let mut log = EpochState::new(&ID);
        let step = FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 };
        for entry in [EpochEntry::Fill(step), EpochEntry::Stored, EpochEntry::Made, EpochEntry::Confirmed] {
            log.apply(&entry).unwrap();
        }
        let disk = || Mutex::new(log.clone());
        let line = || (Mutex::new(Line::default()), Condvar::new());
        let store = || Mutex::new(Acquaintance { pair: None, holds: false });
        World {
            order,
            disks: [disk(), disk()],
            stores: [store(), store()],
            lines: [line(), line()],
            sent: Default::default(),
        }
    }

    fn say(&self, me: usize, message: Message) -> Result<(), Gone> {
        let (line, changed) = &self.lines[me];
        let mut line = line.lock().unwrap();
        if line.closed {
            return Err(Gone);
        }
        line.messages.push_back(message);
        changed.notify_one();
        Ok(())
    }

    fn hear(&self, me: usize) -> Result<Message, Gone> {
        let (line, changed) = &self.lines[1 - me];
        let mut line = line.lock().unwrap();
        loop {
            match line.messages.pop_front() {
                Some(message) => return Ok(message),
                None if line.closed => return Err(Gone),
                None => line = changed.wait(line).unwrap(),
            }
        }
    }

    /// Ends the connection and the actions of both parties, one party after the other.
    fn end(&self) {
        for (line, changed) in &self.lines {
            line.lock().unwrap().closed = true;
            changed.notify_all();
        }
    }

    /// Fails if the party is dead.
    fn lives(&self, me: usize) -> Result<(), Gone> {
        if self.lines[me].0.lock().unwrap().closed { Err(Gone) } else { Ok(()) }
    }

    /// Writes the use of the next item to disk; returns the item.
    fn burn(&self, me: usize) -> Result<u64, Gone> {
        self.lives(me)?;
        let mut log = self.disks[me].lock().unwrap();
        let item = log.gone(serial(1, 0));
        log.apply(&EpochEntry::Use { program: [4; 32], taken: vec![(serial(1, 0), 1)] }).unwrap();
        Ok(item)
    }

    fn send(&self, me: usize, item: u64) -> Result<(), Gone> {
        self.lives(me)?;
        assert!(self.sent[me].lock().unwrap().insert(item), "item {item} was sent twice by party {me}");
        Ok(())
    }

    fn say_head(&self, me: usize) -> Result<(), Gone> {
        let head = *self.disks[me].lock().unwrap().head();
        self.say(me, Message::Head(head))
    }

    fn hear_head(&self, me: usize) -> Result<(), Gone> {
        let Message::Head(theirs) = self.hear(me)? else { return Err(Gone) };
        if theirs == *self.disks[me].lock().unwrap().head() { Ok(()) } else { Err(Gone) }
    }

    /// Plays a party's part in the use of an item.
    fn uses(&self, me: usize) -> Result<(), Gone> {
        if let Order::SendThenBurn = self.order {
            let next = self.disks[me].lock().unwrap().gone(serial(1, 0));
            self.send(me, next)?;
        }
        let item = self.burn(me)?;
        self.say_head(me)?;
        self.hear_head(me)?;
        if let Order::BothBurnThenSend = self.order {
            self.send(me, item)?;
        }
        Ok(())
    }

    /// Plays a party's part in a first meeting of two stores; `session` is the new identifier of the pair.
    /// Afterwards the party counts as having stock.
    fn meets(&self, me: usize, session: PairId) -> Result<(), Gone> {
        let mine = *self.stores[me].lock().unwrap();
        self.say(me, Message::Store(mine))?;
        let Message::Store(theirs) = self.hear(me)? else { return Err(Gone) };
        match mine.meets(&theirs) {
            StorePairing::Strangers => panic!("an honest end made strangers of a pair"),
            StorePairing::Known => {}
            StorePairing::New => {
                self.lives(me)?;
                self.stores[me].lock().unwrap().pair = Some(session);
            }
        }
        let pair = self.stores[me].lock().unwrap().pair;
        self.say(me, Message::Pair(pair))?;
        let Message::Pair(theirs) = self.hear(me)? else { return Err(Gone) };
        assert_eq!(theirs, pair);
        self.lives(me)?;
        self.stores[me].lock().unwrap().holds = true;
        Ok(())
    }

    /// Plays another connection without interruption, in which both compare their logs, catch up and use an
    /// item.
    fn again(&self) {
        for (line, _) in &self.lines {
            *line.lock().unwrap() = Line::default();
        }
        for me in 0..2 {
            let standing = self.disks[me].lock().unwrap().standing();
            assert!(self.say(me, Message::Standing(standing)).is_ok());
        }
        for me in 0..2 {
            let Ok(Message::Standing(theirs)) = self.hear(me) else { panic!("nobody interrupts") };
            let mut log = self.disks[me].lock().unwrap();
            match log.compare(&theirs) {
                EpochVerdict::Same | EpochVerdict::Ahead => {}
                EpochVerdict::Behind(entry) => log.apply_named(&entry).unwrap(),
                EpochVerdict::Apart => panic!("an honest end sets the logs apart"),
            }
        }
        let items = [0, 1].map(|me| self.burn(me).unwrap_or_else(|Gone| panic!("nobody interrupts")));
        assert_eq!(items[0], items[1]);
        assert!((0..2).all(|me| self.send(me, items[me]).is_ok()));
    }
}

/// Explores every schedule of both parties and of the end of the connection, up to a number of preemptions.
fn explore(order: Order) {
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let world = Arc::new(World::new(order));
        let parties = [0, 1].map(|me| {
            let world = world.clone();
            thread::spawn(move || drop(world.uses(me)))
        });
        world.end();
        for party in parties {
            party.join().unwrap();
        }
        // If a party has sent data of an item, the item must be burned at both parties.
        for me in 0..2 {
            let sent = world.sent[me].lock().unwrap().len() as u64;
            let burned = |log: &Mutex<EpochState>| log.lock().unwrap().gone(serial(1, 0)) >= sent;
            assert!(matches!(order, Order::SendThenBurn) || world.disks.iter().all(burned));
        }
        world.again();
    });
}

/// Row 21 of the table of attacks: if the first connection of two stores is interrupted anywhere, the next
/// one succeeds. An identifier on only one party's disk does not separate the stores.
#[test]
fn row_21_a_pair_is_made_on_any_schedule() {
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = Arc::new(World::new(Order::BothBurnThenSend));
        let meet = |session| {
            [0, 1].map(|me| {
                let world = world.clone();
                thread::spawn(move || world.meets(me, [session; 32]).is_ok())
            })
        };
        let parties = meet(1);
        world.end();
        for party in parties {
            party.join().unwrap();
        }
        for (line, _) in &world.lines {
            *line.lock().unwrap() = Line::default();
        }
        assert!(meet(2).into_iter().all(|party| party.join().unwrap()));
        let pairs = [0, 1].map(|me| world.stores[me].lock().unwrap().pair);
        assert!(pairs[0].is_some() && pairs[0] == pairs[1]);
    });
}

#[test]
fn row_21_nothing_is_sent_twice_on_any_schedule() {
    explore(Order::BothBurnThenSend);
}

/// With the wrong order the model finds a violation.
#[test]
#[should_panic(expected = "was sent twice")]
fn row_21_the_other_order_is_caught() {
    explore(Order::SendThenBurn);
}
