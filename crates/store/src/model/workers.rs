//! A model of workers: two parties make stock in an epoch, with two workers each. The threads of the workers
//! and of the main connection take their steps in any order. Any check may fail, any worker may be lost, and
//! either process may die at any time, even after all workers have stored their shares. In another variant,
//! workers are processes of their own, which may be lost without a report. The model uses the real
//! [`EpochState`]. (The model in the parent module checks that ranges are used once.)
//!
//! If a step is completed, every check of every worker has passed at both parties. If a peer can know that a
//! check has failed, the epoch is burned, and no program ever uses it.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use super::*;

/// Workers of a party.
const WORKERS: usize = 2;

/// The rule by which a step is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// The rule of `protocol::stock::workers`.
    AsItIs,
    /// A party continues when its first worker has finished.
    NoBarrier,
    /// If a worker is lost, the shares of the other workers are still used.
    WithoutTheLost,
    /// After a failed check, the worker's connection closes before the epoch is burned.
    BurnedAfterwards,
    /// The rule of `protocol::stock::makers`: workers are processes of their own. They may be unable to
    /// report a failed check that the peer knows of, and they live on when the process with the store dies.
    Makers,
    /// Like `Makers`, but a process that is lost without a report counts only as an attempt.
    MakersThatCount,
}

/// The state of one party's end of a worker's connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum End {
    /// The step has not begun here.
    Idle,
    /// The worker has used its range and sent the data that the other end checks.
    Made,
    /// The worker has checked the other end's data, has stored its share, and tells the other end so.
    Stored,
    /// The worker knows that the other end has stored its share, too.
    Done,
    /// The connection was interrupted and is closed.
    Lost,
    /// A check failed and the connection is closed, but the burn is not yet on disk.
    Failed,
}

/// The state of one party while stock is made.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Party {
    /// The step on the main connection; `None` when the connection is closed.
    step: Option<u8>,
    said: Vec<Message>,
    ends: [End; WORKERS],
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    logs: [EpochState; 2],
    now: Option<[Party; 2]>,
    begun: bool,
    /// For each party and each step's number, the checks that have passed.
    passed: [BTreeSet<(u64, usize)>; 2],
    /// For each party, true if the peer can know that a check failed.
    told: [bool; 2],
}

fn fill() -> EpochEntry {
    EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: WORKERS as u32 })
}

/// Returns the log after the exposure of the step, whichever worker sends or receives the message first.
fn exposed(log: &EpochState) -> EpochState {
    let mut after = log.clone();
    if !log.is_exposed() && log.burned().is_none() {
        after.apply(&EpochEntry::Exposed).expect("a step is open");
    }
    after
}

impl World {
    fn new() -> Self {
        World {
            logs: [EpochState::new(&[3; 32]), EpochState::new(&[3; 32])],
            now: None,
            begun: false,
            passed: Default::default(),
            told: [false; 2],
        }
    }

    /// Checks for violations.
    fn check(&self) -> Result<(), Violation> {
        for (me, log) in self.logs.iter().enumerate() {
            for (number, _) in log.made() {
                let all = (0..WORKERS).map(|worker| (number, worker));
                if all.clone().any(|check| self.passed.iter().any(|passed| !passed.contains(&check))) {
                    return Err(format!("party {me} made a step of which a check has not passed"));
                }
            }
            if self.told[me] && log.burned().is_none() && !log.is_lent() {
                return Err(format!("the peer of party {me} knows of a failed check, and nothing is burned"));
            }
            if log.is_used() && self.told.contains(&true) {
                return Err(format!("party {me} runs a program where a check has failed"));
            }
        }
        Ok(())
    }

    /// Returns the worlds after each possible step of a worker's end.
    fn works(&self, me: usize, worker: usize, rule: Rule) -> Vec<World> {
        let Some(parties) = self.now.as_ref().filter(|parties| parties[me].step.is_some()) else {
            return Vec::new();
        };
        let (mine, theirs) = (parties[me].ends[worker], parties[1 - me].ends[worker]);
        let number = self.logs[me].open().map_or(0, |(first, _)| first);
        let to = |end: End| {
            let mut world = self.clone();
            if let Some(parties) = &mut world.now {
                parties[me].ends[worker] = end;
            }
            world
        };
        let gone = matches!(theirs, End::Lost | End::Failed) || parties[1 - me].step.is_none();
        let mut next = Vec::new();
        match mine {
            // Both parties have the entry of the step. The evaluator sends a challenge, or the garbler
            // receives it.
            End::Idle if parties[me].step == Some(2) => {
                let mut makes = to(End::Made);
                makes.logs[me] = if me == 1 { exposed(&makes.logs[me]) } else { makes.logs[me].clone() };
                next.push(makes);
            }
            End::Made if theirs >= End::Made && theirs <= End::Done => {
                let mut passes = to(End::Stored);
                passes.logs[me] = exposed(&passes.logs[me]);
                passes.passed[me].insert((number, worker));
                next.push(passes);
                let mut fails = to(End::Failed);
                fails.logs[me] = exposed(&fails.logs[me]);
                match rule {
                    Rule::BurnedAfterwards | Rule::Makers | Rule::MakersThatCount => fails.told[me] = true,
                    _ => fails.burns(me),
                }
                next.push(fails);
                if rule == Rule::Makers {
                    // The worker reports the failed check. Another worker is lost without a report and has
                    // seen nothing.
                    let mut says = to(End::Failed);
                    says.burns(me);
                    next.extend([says, to(End::Failed)]);
                }
            }
            End::Stored if theirs == End::Stored || theirs == End::Done => next.push(to(End::Done)),
            End::Failed if self.logs[me].burned().is_none() && rule != Rule::MakersThatCount => {
                let mut world = self.clone();
                world.burns(me);
                next.push(world);
            }
            _ => {}
        }
        if parties[me].step == Some(2) && mine < End::Done {
            // The worker dies, or notices that the other end has gone.
            next.push(to(End::Lost));
        } else if gone && mine < End::Done {
            next.push(to(End::Lost));
        }
        next
    }

    /// A check has failed. The connection closes only when the burn is on disk.
    fn burns(&mut self, me: usize) {
        if self.logs[me].burned().is_none() {
            self.logs[me].apply(&EpochEntry::Burned("the peer cheated".into())).expect("it is not burned");
        }
        self.told[me] = true;
    }

    /// Makes a step on the main connection.
    fn goes_on(&self, me: usize, rule: Rule) -> Option<World> {
        let parties = self.now.as_ref()?;
        let mut world = self.clone();
        let step = parties[me].step?;
        let ends = parties[me].ends;
        let hears = [1, 3, 4].contains(&step);
        let heard = parties[1 - me].said.first().cloned().filter(|_| hears);
        if hears && heard.is_none() {
            return parties[1 - me].step.is_none().then(|| world.leaves(me));
        }
        if hears {
            world.now.as_mut()?[1 - me].said.remove(0);
        }
        let log = &mut world.logs[me];
        let (mut goes, mut say) = (true, None);
        match (step, heard) {
            (0, _) => {
                goes = log.apply(&fill()).is_ok();
                say = Some(Message::Head(*log.head()));
            }
            (1, Some(Message::Head(peer))) => {
                goes = peer == *log.head();
                // Makers cannot wait for the store before they send, so the step is exposed before they
                // begin.
                if matches!(rule, Rule::Makers | Rule::MakersThatCount) {
                    *log = exposed(log);
                }
                goes &= rule != Rule::Makers || log.apply(&EpochEntry::Lent).is_ok();
            }
            (2, _) => {
                let ready = match rule {
                    Rule::NoBarrier => ends.contains(&End::Done),
                    Rule::WithoutTheLost => {
                        let ended = |end: &End| [End::Done, End::Lost].contains(end);
                        ends.iter().all(ended) && ends.contains(&End::Done)
                    }
                    _ => ends == [End::Done; WORKERS],
                };
                // The main thread waits until all workers have ended.
                let over = ends.iter().all(|end| *end >= End::Done);
                if !ready && !over {
                    return None;
                }
                // If a maker is lost without a report, the epoch is burned before anything else happens.
                if rule == Rule::Makers && log.burned().is_none() {
                    if ends.contains(&End::Failed) {
                        return None;
                    }
                    log.apply(&EpochEntry::Returned).ok()?;
                }
                // A worker that saw a failed check has burned the epoch before the main thread learns of it.
                goes = ready && log.apply(&EpochEntry::Stored).is_ok();
                say = Some(Message::Stored);
            }
            (3, Some(Message::Stored)) => {
                goes = log.apply(&EpochEntry::Made).is_ok();
                say = Some(Message::Head(*log.head()));
            }
            (4, Some(Message::Head(peer))) => {
                if peer == *log.head() {
                    goes = log.apply(&EpochEntry::Confirmed).is_ok();
                }
            }
            _ => goes = false,
        }
        if !goes || step == 4 {
            return Some(world.leaves(me));
        }
        let mine = &mut world.now.as_mut()?[me];
        mine.step = Some(step + 1);
        mine.said.extend(say);
        Some(world)
    }

    /// Closes all connections of a party.
    fn leaves(mut self, me: usize) -> Self {
        if let Some(parties) = &mut self.now {
            parties[me].step = None;
            if parties[1 - me].step.is_none() {
                self.now = None;
            }
        }
        self
    }

    /// Compares the stores in a new connection, and runs a program if there is stock.
    fn runs(&self) -> Option<World> {
        let mut world = self.clone();
        for log in world.logs.iter_mut().filter(|log| log.is_lent() && log.burned().is_none()) {
            log.apply(&EpochEntry::Burned("makers had its secrets".into())).ok()?;
        }
        let logs = world.logs.clone();
        let stands = [0, 1].map(|me| logs[me].standing());
        for me in 0..2 {
            let apart = "the peer's log is another one".to_string();
            match (logs[me].burned(), logs[1 - me].burned()) {
                (Some(_), _) => continue,
                // The peer does not report an epoch that it has burned.
                (None, Some(_)) => world.logs[me].apply(&EpochEntry::Burned(apart)).ok()?,
                (None, None) => match logs[me].compare(&stands[1 - me]) {
                    EpochVerdict::Behind(entry) => world.logs[me].apply_named(&entry).ok()?,
                    EpochVerdict::Apart => world.logs[me].apply(&EpochEntry::Burned(apart)).ok()?,
                    EpochVerdict::Same | EpochVerdict::Ahead => {}
                },
            }
        }
        if let Some(batch) = last_made(&world.logs[0]).map(|number| serial(number, 0)) {
            let entry = EpochEntry::Use { program: [4; 32], taken: vec![(batch, 1)] };
            let mut used = world.logs.clone();
            if used.iter_mut().all(|log| log.apply(&entry).is_ok()) {
                world.logs = used;
            }
        }
        Some(world)
    }

    fn successors(&self, rule: Rule) -> Vec<World> {
        let mut next = Vec::new();
        if self.now.is_none() {
            next.extend(self.runs());
            // If a crash came between the writes of the two parties, the missing entry is written before
            // anything begins.
            let same = self.logs[0].head() == self.logs[1].head();
            let is_living = |log: &EpochState| log.burned().is_none() && !log.is_used() && !log.is_lent();
            let living = self.logs.iter().all(is_living);
            if !self.begun && same && living {
                let party = Party { step: Some(0), said: Vec::new(), ends: [End::Idle; WORKERS] };
                let now = Some([party.clone(), party]);
                next.push(World { now, begun: true, ..self.clone() });
            }
            return next;
        }
        for me in 0..2 {
            next.extend(self.goes_on(me, rule));
            for worker in 0..WORKERS {
                next.extend(self.works(me, worker, rule));
            }
            // The process dies, or the main connection breaks.
            next.push(self.clone().leaves(me));
            let makes =
                |parties: &[Party; 2]| parties[me].step == Some(2) && parties[me].ends.contains(&End::Made);
            if matches!(rule, Rule::Makers | Rule::MakersThatCount) && self.now.as_ref().is_some_and(makes) {
                // A maker lives on and sees a failed check.
                let mut fails = self.clone().leaves(me);
                fails.told[me] = true;
                next.push(fails);
            }
        }
        next
    }
}

/// Returns the number of states, and in how many of them a program has run, a step was given up, or the epoch
/// was burned.
fn explore(rule: Rule) -> Result<[usize; 4], Violation> {
    let mut open = vec![World::new()];
    let mut seen = VisitedStates::from(&open[0]);
    let [mut used, mut given_up, mut burned] = [0; 3];
    while let Some(world) = open.pop() {
        world.check()?;
        used += usize::from(world.logs.iter().all(EpochState::is_used));
        given_up += usize::from(world.logs.iter().any(|log| log.given_up().steps > 0));
        burned += usize::from(world.logs.iter().any(|log| log.burned().is_some()));
        for next in world.successors(rule) {
            if seen.is_new(&next) {
                open.push(next);
            }
        }
    }
    Ok([seen.len(), used, given_up, burned])
}

/// Rows 16, 20, 21 and 24 of the table of attacks: with both real rules the search finds no violation.
#[test]
fn workers_make_a_step_together_or_not_at_all() {
    for rule in [Rule::AsItIs, Rule::Makers] {
        let [states, used, given_up, burned] =
            explore(rule).unwrap_or_else(|violation| panic!("{violation}"));
        println!(
            "counted: {states} states of the model of workers ({rule:?}), {given_up} where one was lost"
        );
        assert!(used > 10 && given_up > 100 && burned > 100, "{used} {given_up} {burned}");
    }
}

/// With any other rule the search finds a violation.
#[test]
fn any_other_rule_of_workers_is_caught() {
    for (rule, what) in [
        (Rule::NoBarrier, "has not passed"),
        (Rule::WithoutTheLost, "has not passed"),
        (Rule::BurnedAfterwards, "nothing is burned"),
        (Rule::MakersThatCount, "nothing is burned"),
    ] {
        let violation = explore(rule).expect_err("it goes wrong");
        println!("counted: {rule:?} instead: {violation}");
        assert!(violation.contains(what), "{rule:?}: {violation}");
    }
}
