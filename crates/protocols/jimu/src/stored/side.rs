//! The operations of the two roles with stock on disk. The trait [`Role`] has the operations in which the
//! roles differ; they share all other code.

use brickwork_base::label::Delta;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use brickwork_circuit::Component;
use brickwork_primitives::counters::Counters;
use brickwork_primitives::ihash::{MORE_WORDS, Receiver, Sender, WORDS, Words};
use brickwork_primitives::ot::extension::{self, KeysAgain};
use brickwork_primitives::ot::{CotReceiver as _, CotSender as _};
use brickwork_protocol::stock::records::{Batches, Keeper, Records, TakenBatch, TakenItems};
use brickwork_protocol::stock::{Stand, StockProtocol, StockSession};
use brickwork_protocol::{Metered, Promise, SessionId, Terms};
use brickwork_store::{Batch, Counted, EpochSecrets, EpochState, Forward, Ranges, Serial, Writers};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::made::{self, EvaluatorMade, GarblerMade, MadeItems};
use super::needs::{Execution, Filling, Request, kind};
use super::online::{self, EvaluatorMaterial, GarblerMaterial};
use super::origins::{self, BatchCut, Header, Origin};
use super::records::{Context, EvaluatorBuckets, EvaluatorInputs, EvaluatorOts, GarblerItems, Shape};
use crate::gates::CompressedLabels;
use crate::hooks::Hooks;
use crate::layout::{CopyKind, Layout};
use crate::ots::AllSeeds;
use crate::parameters::HashLevel;
use crate::report::Jimu;
use crate::setup::{self, Evaluator, Garbler, Points, SetupTerms, series};

const VERSION: u32 = 1;

type SeedBytes = [u8; SEED_BYTES];

/// Items in the form in which a role keeps them.
pub(super) trait Stored: for<'c> Records<Context<'c> = Context<'c>> + Send {}

impl<T: for<'c> Records<Context<'c> = Context<'c>> + Send> Stored for T {}

/// The items that a program uses, batch by batch.
pub(super) struct Material<R: Role> {
    buckets: Vec<R::Buckets>,
    inputs: Vec<R::Inputs>,
    ots: Vec<R::Ots>,
}

/// The items that a step made at a role.
type MadeBy<R> = MadeItems<<R as Role>::Buckets, <R as Role>::Inputs, <R as Role>::Ots>;

/// A party of a session, and its operations on stock.
pub(super) trait Role: Sized + Send + 'static {
    type Buckets: Send;
    type Inputs: Stored;
    type Ots: Stored;

    fn restored(run: Metered, level: HashLevel, secrets: &EpochSecrets, hooks: Hooks) -> Result<Self, Error>;
    fn secrets(&self) -> EpochSecrets;
    fn id(&self) -> &SessionId;
    fn run(&mut self) -> &mut Metered;
    fn level(&self) -> HashLevel;
    fn release(self) -> (Metered, Hooks);
    fn counters(&mut self) -> &mut Counters;
    /// Enters these ranges of its streams.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;
    fn hashes(&self) -> Option<[&Receiver; 2]>;
    fn make(&mut self, step: &Filling) -> Result<MadeBy<Self>, Error>;
    /// Writes buckets into the store.
    fn put(keeper: &mut Keeper, serial: Serial, batch: &Batch, buckets: Self::Buckets) -> Result<(), Error>;
    /// Reads the buckets of a batch that a program uses.
    fn fetch(batch: TakenBatch, context: &Context) -> Result<Self::Buckets, Error>;
    /// Runs a program with these items. Returns its outputs, and whether they were recovered.
    fn evaluate(
        &mut self,
        job: &Execution,
        taken: Material<Self>,
        stand: Stand,
    ) -> Result<(Vec<bool>, bool), Error>;
}

/// The garbler's stored secrets, apart from the keys of its OTs.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct OfGarbler {
    version: u32,
    session: SessionId,
    /// The seeds of the symbols of labels, and of permutation messages.
    seeds: [Vec<SeedBytes>; 2],
    /// The seeds of the points at which no symbol is sent.
    points: [SeedBytes; 2],
    /// The blocks of Δ, which are the offsets of the series of OTs.
    delta: Vec<u128>,
}

/// The evaluator's stored secrets, apart from the keys of its OTs.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct OfEvaluator {
    version: u32,
    session: SessionId,
    /// The watched symbols of labels and of permutation messages, and their seeds.
    watched: [Vec<u8>; 2],
    seeds: [Vec<SeedBytes>; 2],
    points: [SeedBytes; 2],
    /// The hash of Δ.
    offset: Vec<u128>,
    /// The labels of the OTs whose keys are the seeds of permutation messages, and the data to recompute
    /// these keys.
    labels: Vec<u128>,
    again: Vec<KeysAgain>,
}

fn malformed() -> Error {
    Error::Stock("the stored secrets of this session are malformed, or another version wrote them".into())
}

fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    postcard::from_bytes(bytes).map_err(|_| malformed())
}

fn stored(seeds: &[Seed]) -> Vec<SeedBytes> {
    seeds.iter().map(|seed| *seed.as_bytes()).collect()
}

fn restored(seeds: &[SeedBytes]) -> Vec<Seed> {
    seeds.iter().map(|seed| Seed::from_bytes(*seed)).collect()
}

impl Role for Garbler {
    type Buckets = GarblerItems;
    type Inputs = GarblerItems;
    type Ots = GarblerItems;

    fn restored(run: Metered, level: HashLevel, kept: &EpochSecrets, hooks: Hooks) -> Result<Self, Error> {
        let secrets: OfGarbler = decoded(&kept.fixed)?;
        if secrets.version != VERSION || secrets.delta.len() != level.blocks() {
            return Err(malformed());
        }
        let session = secrets.session;
        let mut delta = Words::zeros(level.labels.l(), 1);
        delta.word_mut(0).copy_from_slice(&secrets.delta);
        let keys = kept.forward.split(&vec![extension::Sender::KEYS; level.blocks()])?;
        let mut all = Vec::new();
        for (block, (&bits, keys)) in secrets.delta.iter().zip(keys).enumerate() {
            let offset = Zeroizing::new(Delta::checked(bits).ok_or_else(malformed)?);
            all.push(extension::Sender::restored(&series(&session, block), *offset, keys)?);
        }
        let [labels, permutations] = [(0, &level.labels), (1, &level.permutations)]
            .map(|(k, hash)| Sender::restored(hash, restored(&secrets.seeds[k]), level.hashes()));
        let (labels, permutations) = (labels?, permutations?);
        let points = points_of(&labels, &permutations, &secrets.points);
        Ok(Garbler {
            run,
            rng: Rng::new("brickwork JIMU garbler")?,
            session,
            level,
            offset: CompressedLabels::new(labels.code(), &points.compression, delta),
            labels,
            permutations,
            points,
            series: all,
            counters: Counters::none(),
            hooks,
        })
    }

    fn secrets(&self) -> EpochSecrets {
        let fixed = OfGarbler {
            version: VERSION,
            session: self.session,
            seeds: [stored(self.labels.seeds()), stored(self.permutations.seeds())],
            points: self.points.seeds.each_ref().map(|seed| *seed.as_bytes()),
            delta: self.series.iter().map(|series| series.offset().bits()).collect(),
        };
        EpochSecrets::new(&fixed, Forward::join(self.series.iter().map(|series| series.keys_behind())))
    }

    fn id(&self) -> &SessionId {
        &self.session
    }

    fn run(&mut self) -> &mut Metered {
        &mut self.run
    }

    fn level(&self) -> HashLevel {
        self.level
    }

    fn release(self) -> (Metered, Hooks) {
        (self.run, self.hooks)
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.labels.enter(ranges, &WORDS)?;
        self.permutations.enter(ranges, &MORE_WORDS)?;
        self.series.iter_mut().try_for_each(|series| series.enter(ranges))
    }

    fn hashes(&self) -> Option<[&Receiver; 2]> {
        None
    }

    fn make(&mut self, step: &Filling) -> Result<GarblerMade, Error> {
        made::garbler(self, &step.supply())
    }

    fn put(keeper: &mut Keeper, serial: Serial, batch: &Batch, buckets: GarblerItems) -> Result<(), Error> {
        keeper.put(serial, batch, buckets)
    }

    fn fetch(batch: TakenBatch, context: &Context) -> Result<GarblerItems, Error> {
        batch.assemble(context)
    }

    fn evaluate(
        &mut self,
        job: &Execution,
        taken: Material<Self>,
        stand: Stand,
    ) -> Result<(Vec<bool>, bool), Error> {
        let level = self.level;
        let joined = |shape: Shape, some: &[GarblerItems]| {
            let mut all = GarblerItems::none(shape, &level);
            some.iter().for_each(|some| all.add(some));
            all
        };
        let material = GarblerMaterial {
            buckets: taken.buckets,
            inputs: joined(Shape::INPUTS, &taken.inputs),
            ots: joined(Shape::OTS, &taken.ots),
        };
        Ok((online::garbler(self, job.layout, &material, stand, job.input)?, false))
    }
}

fn points_of(labels: &Sender, permutations: &Sender, seeds: &[SeedBytes; 2]) -> Points {
    let seeds = seeds.map(Seed::from_bytes);
    Points::new(labels.code(), permutations.code(), [&seeds[0], &seeds[1]])
}

impl Role for Evaluator {
    type Buckets = EvaluatorBuckets;
    type Inputs = EvaluatorInputs;
    type Ots = EvaluatorOts;

    fn restored(run: Metered, level: HashLevel, kept: &EpochSecrets, hooks: Hooks) -> Result<Self, Error> {
        let secrets: OfEvaluator = decoded(&kept.fixed)?;
        if secrets.version != VERSION {
            return Err(malformed());
        }
        let session = secrets.session;
        let keys = kept.forward.split(&vec![extension::Receiver::KEYS; level.blocks()])?;
        let mut all = Vec::new();
        for (block, keys) in keys.into_iter().enumerate() {
            all.push(extension::Receiver::restored(&series(&session, block), keys)?);
        }
        let [labels, permutations] = [(0, &level.labels), (1, &level.permutations)].map(|(k, hash)| {
            Receiver::restored(hash, &secrets.watched[k], restored(&secrets.seeds[k]), level.hashes())
        });
        let (labels, permutations) = (labels?, permutations?);
        let offset = labels.stored(secrets.offset.clone())?;
        if offset.count() != 1 {
            return Err(malformed());
        }
        let of_ots = Words::stored(level.labels.l(), secrets.labels.clone())?;
        if (of_ots.count(), secrets.again.len()) != (level.permutations.n(), level.blocks()) {
            return Err(malformed());
        }
        let seeds = secrets.points.map(Seed::from_bytes);
        let points = Points::new(labels.code(), permutations.code(), [&seeds[0], &seeds[1]]);
        Ok(Evaluator {
            run,
            rng: Rng::new("brickwork JIMU evaluator")?,
            session,
            level,
            offset,
            completion: labels.completion(&points.openings),
            sight: labels.sight(&points.openings),
            labels,
            permutations,
            points,
            series: all,
            all_seeds: AllSeeds { labels: of_ots, again: secrets.again.clone() },
            counters: Counters::none(),
            hooks,
        })
    }

    fn secrets(&self) -> EpochSecrets {
        let [labels, permutations] = [self.labels.state(), self.permutations.state()];
        let fixed = OfEvaluator {
            version: VERSION,
            session: self.session,
            watched: [labels.0.to_vec(), permutations.0.to_vec()],
            seeds: [stored(labels.1), stored(permutations.1)],
            points: self.points.seeds.each_ref().map(|seed| *seed.as_bytes()),
            offset: self.offset.data().to_vec(),
            labels: self.all_seeds.labels.data().to_vec(),
            again: self.all_seeds.again.clone(),
        };
        EpochSecrets::new(&fixed, Forward::join(self.series.iter().map(|series| series.keys_behind())))
    }

    fn id(&self) -> &SessionId {
        &self.session
    }

    fn run(&mut self) -> &mut Metered {
        &mut self.run
    }

    fn level(&self) -> HashLevel {
        self.level
    }

    fn release(self) -> (Metered, Hooks) {
        (self.run, self.hooks)
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.labels.enter(ranges, &WORDS)?;
        self.permutations.enter(ranges, &MORE_WORDS)?;
        self.series.iter_mut().try_for_each(|series| series.enter(ranges))
    }

    fn hashes(&self) -> Option<[&Receiver; 2]> {
        Some([&self.labels, &self.permutations])
    }

    fn make(&mut self, step: &Filling) -> Result<EvaluatorMade, Error> {
        made::evaluator(self, &step.supply())
    }

    fn put(
        keeper: &mut Keeper,
        serial: Serial,
        batch: &Batch,
        buckets: EvaluatorBuckets,
    ) -> Result<(), Error> {
        match buckets {
            EvaluatorBuckets::Gates(gates) => keeper.put(serial, batch, gates),
            EvaluatorBuckets::Copies(copies) => keeper.put(serial, batch, copies),
        }
    }

    fn fetch(batch: TakenBatch, context: &Context) -> Result<EvaluatorBuckets, Error> {
        Ok(match context.circuit {
            None => EvaluatorBuckets::Gates(batch.assemble(context)?),
            Some(_) => EvaluatorBuckets::Copies(batch.assemble(context)?),
        })
    }

    fn evaluate(
        &mut self,
        job: &Execution,
        taken: Material<Self>,
        stand: Stand,
    ) -> Result<(Vec<bool>, bool), Error> {
        let symbols = self.level.labels.l();
        let none = Words::zeros(symbols, 0);
        let mut ots =
            EvaluatorOts { hashes: self.labels.hashes(&none), choices: Default::default(), labels: none };
        taken.ots.iter().for_each(|some| ots.add(some));
        let material = EvaluatorMaterial { buckets: taken.buckets, inputs: taken.inputs, ots };
        online::evaluator(self, job.layout, &material, stand, job.input)
    }
}

/// A role's session, in the form that the shared code for stock uses.
pub(super) struct OnDisk<R: Role> {
    party: Box<R>,
    /// The items that the current step made.
    made: Option<MadeBy<R>>,
}

/// The result of a program.
pub struct Ran {
    pub(crate) outputs: Vec<bool>,
    pub(crate) recovered: bool,
    pub(crate) promise: Promise,
}

impl<R: Role> OnDisk<R> {
    fn of(party: R) -> Box<dyn StockSession<Jimu>> {
        Box::new(OnDisk { party: Box::new(party), made: None })
    }
}

impl StockProtocol for Jimu {
    const AGREEMENT: &'static str = "prepare";
    type Carried = Hooks;
    type FillStep<'s> = Filling;
    type Execution<'j> = Execution<'j>;
    type Outcome = Ran;
    type Kept = ();

    /// If an evaluator breaks off, it has learned nothing about the garbler's checks of it, so its attempts
    /// need no bound.
    fn counted(role: Party) -> Counted {
        match role {
            Party::Garbler => Counted::Nothing,
            Party::Evaluator => Counted::BrokenOffOrThrownAway,
        }
    }

    fn setup(run: Metered, terms: &Terms, hooks: Hooks) -> Result<Box<dyn StockSession<Self>>, Error> {
        let purpose = SetupTerms::stock(HashLevel::of_stock(terms.security.whole()?)?);
        match run.role {
            Party::Garbler => setup::garbler(run, terms, purpose, hooks).map(OnDisk::of),
            Party::Evaluator => setup::evaluator(run, terms, purpose, hooks).map(OnDisk::of),
        }
    }

    fn restore(
        run: Metered,
        terms: &Terms,
        secrets: &EpochSecrets,
        hooks: Hooks,
    ) -> Result<Box<dyn StockSession<Self>>, Error> {
        let level = HashLevel::of_stock(terms.security.whole()?)?;
        match run.role {
            Party::Garbler => Garbler::restored(run, level, secrets, hooks).map(OnDisk::of),
            Party::Evaluator => Evaluator::restored(run, level, secrets, hooks).map(OnDisk::of),
        }
    }

    /// All items of a session must exist before its first input. Too many steps that were given up close an
    /// epoch.
    fn may_begin(state: &EpochState, terms: &Terms) -> Result<bool, Error> {
        Ok(!state.is_used() && origins::may_begin(state.given_up(), terms.security.whole()?)?)
    }

    fn fixed(terms: &Terms) -> Result<u128, Error> {
        origins::fixed(terms.security.whole()?)
    }

    /// The garbler also checks the evaluator's choices in the OTs, by combinations that it draws. So either
    /// party may gain by breaking off early.
    fn early_risk(_: Party, terms: &Terms) -> Result<u128, Error> {
        Ok(HashLevel::of_stock(terms.security.whole()?)?.early_risk())
    }

    fn program(job: &Execution) -> [u8; 32] {
        job.digest()
    }

    fn needs(job: &Execution) -> String {
        Request::of_layout(job.layout).to_string()
    }

    fn choose(job: &Execution, batches: &Batches, terms: &Terms) -> Result<Vec<(Serial, u32)>, Error> {
        Request::of_layout(job.layout).choose(batches, job.layout.unit(), terms.security.whole()?)
    }
}

impl<R: Role> StockSession<Jimu> for OnDisk<R> {
    fn secrets(&self) -> EpochSecrets {
        self.party.secrets()
    }

    fn id(&self) -> &SessionId {
        self.party.id()
    }

    fn run(&mut self) -> &mut Metered {
        self.party.run()
    }

    fn release(self: Box<Self>) -> (Metered, Hooks) {
        self.party.release()
    }

    fn enter(&mut self, mut ranges: Ranges) -> Result<(), Error> {
        *self.party.counters() = Counters::of_entry(&mut ranges)?;
        self.party.enter(&mut ranges)
    }

    fn risk(&self, step: &Filling) -> u128 {
        step.risk()
    }

    fn fill(&mut self, step: &Filling, _: Writers) -> Result<(), Error> {
        self.made = Some(self.party.make(step)?);
        Ok(())
    }

    fn keep(&mut self, step: &Filling, keeper: &mut Keeper) -> Result<(), Error> {
        let nothing = || Error::Usage("a step must be made before it is kept".into());
        let MadeItems { buckets, inputs, ots } = self.made.take().ok_or_else(nothing)?;
        let (security, counters) = (step.sizes.level.security, self.party.counters());
        let component = step.component().map_or([0; 32], Component::digest);
        let mut batch = |kind: u8, name: &str, component, (cut, start): (Option<BatchCut>, u128)| {
            let header = Header::new(security, cut.map(|cut| cut.bucketing), start).encode();
            let batch = Batch { kind, name: name.into(), component, header };
            counters.serial().map(|serial| (serial, batch))
        };
        if let Some((start, buckets)) = buckets {
            let kind = if step.component().is_some() { kind::COPIES } else { kind::GATES };
            let (serial, batch) = batch(kind, step.name(), component, (step.cut(), start))?;
            R::put(keeper, serial, &batch, buckets)?;
        }
        let mut keep = |kind: u8, name: &str| batch(kind, name, [0; 32], (None, 0));
        if let Some(inputs) = inputs {
            let (serial, batch) = keep(kind::INPUTS, "inputs")?;
            keeper.put(serial, &batch, inputs)?;
        }
        if let Some(ots) = ots {
            let (serial, batch) = keep(kind::OTS, "OTs")?;
            keeper.put(serial, &batch, ots)?;
        }
        Ok(())
    }

    /// Everything that does not depend on the peer is read first. So no party waits for a disk after both
    /// have burned the items.
    fn take(&mut self, items: &TakenItems, job: &Execution, stand: Stand) -> Result<Ran, Error> {
        let party = &mut *self.party;
        let (level, mut layout) = (party.level(), job.layout.clone());
        let mut taken = Material { buckets: Vec::new(), inputs: Vec::new(), ots: Vec::new() };
        let (mut all, mut given_up, mut batches) = (Vec::new(), Default::default(), Vec::new());
        items.each(|batch| {
            given_up = batch.given_up;
            if [kind::GATES, kind::COPIES].contains(&batch.batch.kind) {
                let items = batch.items().iter().map(ExactSizeIterator::len).sum();
                batches.push((batch.batch.component, items));
            }
            // The number identifies the batch within this program, so that it is counted once.
            all.extend(Origin::of(all.len() as Serial, batch.batch)?);
            fetch(&*party, (&level, job.layout), batch, &mut taken)
        })?;
        layout.take(&batches)?;
        let promise = origins::promise(&all, layout.unit(), given_up, level.security)?;
        let job = Execution { layout: &layout, input: job.input };
        let (outputs, recovered) = party.evaluate(&job, taken, stand)?;
        Ok(Ran { outputs, recovered, promise })
    }
}

/// Reads the items of a batch that a program uses.
fn fetch<R: Role>(
    party: &R,
    (level, layout): (&HashLevel, &Layout),
    batch: TakenBatch,
    taken: &mut Material<R>,
) -> Result<(), Error> {
    let header = &Header::decode(&batch.batch.header)?;
    let of = |shape: Shape| Context { header, level, shape, circuit: None, hashes: party.hashes() };
    match batch.batch.kind {
        kind::GATES => taken.buckets.push(R::fetch(batch, &of(Shape::of(&CopyKind::Gate)))?),
        kind::COPIES => {
            let other =
                || Error::Stock("a batch has copies of a component that the program does not have".into());
            let kind = layout.kind_of(&batch.batch.component).ok_or_else(other)?;
            let context = Context { circuit: kind.circuit(), ..of(Shape::of(kind)) };
            taken.buckets.push(R::fetch(batch, &context)?);
        }
        kind::INPUTS => taken.inputs.push(batch.assemble(&of(Shape::INPUTS))?),
        kind::OTS => taken.ots.push(batch.assemble(&of(Shape::OTS))?),
        other => return Err(Error::Stock(format!("a stored batch has the unknown kind {other}"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_protocol::Unobserved;
    use brickwork_wire::memory_pair;

    fn restored<R: Role>(secrets: &impl Serialize, keys: usize) -> Result<R, Error> {
        let run = Metered::new::<Jimu>(memory_pair().0, Party::Garbler, Box::new(Unobserved));
        let level = HashLevel::of_stock(40).unwrap();
        R::restored(run, level, &EpochSecrets::new(secrets, Forward::of_setup(vec![1; keys])), Hooks::none())
    }

    /// The stored form of the garbler's secrets, field by field, and then of the evaluator's.
    type Garblers = (u32, SessionId, [Vec<SeedBytes>; 2], [SeedBytes; 2], Vec<u128>);
    type Evaluators = (
        u32,
        SessionId,
        [Vec<u8>; 2],
        [Vec<SeedBytes>; 2],
        [SeedBytes; 2],
        Vec<u128>,
        Vec<u128>,
        Vec<([u8; 32], u64)>,
    );

    #[test]
    fn row_25_secrets_of_another_version_or_length_are_refused() {
        let level = HashLevel::of_stock(40).unwrap();
        let seed = [1; SEED_BYTES];
        let hashes = [&level.labels, &level.permutations];
        let garbler = || -> Garblers {
            let seeds = hashes.map(|hash| vec![seed; hash.n()]);
            (VERSION, [3; 32], seeds, [[2; SEED_BYTES], [4; SEED_BYTES]], vec![5; 3])
        };
        let evaluator = || -> Evaluators {
            let watched = hashes.map(|hash| (0..hash.n()).map(|i| u8::from(i < hash.w())).collect());
            let seeds = hashes.map(|hash| vec![seed; hash.w()]);
            let points = [[2; SEED_BYTES], [4; SEED_BYTES]];
            let (labels, again) = (vec![9; 3 * level.permutations.n()], vec![([6; 32], 5); 3]);
            (VERSION, [3; 32], watched, seeds, points, vec![7, 8], labels, again)
        };
        // The secrets, when they are written again, give the same bytes.
        let again = |secrets: EpochSecrets, expected: Vec<u8>| assert_eq!(secrets.fixed, expected);
        let party: Garbler = restored(&garbler(), 3 * 128).unwrap();
        again(party.secrets(), postcard::to_stdvec(&garbler()).unwrap());
        let party: Evaluator = restored(&evaluator(), 3 * 256).unwrap();
        again(party.secrets(), postcard::to_stdvec(&evaluator()).unwrap());
        let refused = |k: usize, result: Result<(), Error>| {
            assert!(matches!(&result, Err(Error::Stock(why)) if why.contains("malformed")), "{k} {result:?}");
        };
        let fewer = [
            restored::<Garbler>(&garbler(), 3 * 128 - 1).map(drop),
            restored::<Evaluator>(&evaluator(), 2 * 256).map(drop),
        ];
        assert!(fewer.iter().all(|result| matches!(result, Err(Error::Stock(_)))));
        let garblers: [fn(&mut Garblers); 5] = [
            |s| s.0 += 1,
            |s| s.2[0].truncate(3),
            |s| s.2[1].push([1; SEED_BYTES]),
            |s| s.4.truncate(2),
            |s| s.4[1] = 6,
        ];
        for (k, change) in garblers.into_iter().enumerate() {
            let mut secrets = garbler();
            change(&mut secrets);
            refused(k, restored::<Garbler>(&secrets, 3 * 128).map(drop));
        }
        let evaluators: [fn(&mut Evaluators); 11] = [
            |s| s.0 += 1,
            |s| s.2[0][0] = 0,
            |s| s.2[1][0] = 2,
            |s| s.2[0].push(0),
            |s| s.3[0].truncate(3),
            |s| s.5.truncate(1),
            |s| s.5.extend([7, 8]),
            |s| s.5[1] = u128::MAX,
            |s| s.6.truncate(2),
            |s| s.6.extend([9; 3]),
            |s| s.7.truncate(2),
        ];
        for (k, change) in evaluators.into_iter().enumerate() {
            let mut secrets = evaluator();
            change(&mut secrets);
            refused(k, restored::<Evaluator>(&secrets, 3 * 256).map(drop));
        }
    }
}
