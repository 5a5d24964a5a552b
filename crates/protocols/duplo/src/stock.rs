//! Holds preprocessed items that are not used yet, and takes the items of a program.
//!
//! A batch of copies belongs to a component and comes with the authenticators of its outputs. OTs, and input
//! authenticators for the garbler's inputs and sealed outputs, fit any program. Items are taken in whole
//! buckets and by value, so taken items are gone. Both parties run the same code on the same counts, so both
//! take the same items.

use brickwork_protocol::Promise;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Error;
use super::items::{ComponentItems, Items, Origin, PreprocessedItems};
use super::kept::KeptCommitments;
use super::layout::{BatchSlots, Layout};
use super::parameters::{INPUT_AUTHENTICATORS, KEY_AUTHENTICATORS, promise_of_origins};
use super::request::Request;
use super::steps::{Step, authenticators, sealed_wires};
use brickwork_base::Security;
use brickwork_circuit::{Component, ComponentDigest, ComponentId, Party, Program};
use brickwork_primitives::Labels;
use brickwork_primitives::cut_and_choose::BatchKind;

/// A list of items; a program may have taken the first of them.
struct Open<T> {
    items: T,
    next: usize,
}

impl<T: Items> Open<T> {
    fn left(&self) -> usize {
        self.items.len() - self.next
    }
}

/// Lists of items in the order of their use.
pub(super) struct Queue<T>(VecDeque<Open<T>>);

impl<T: Items> Queue<T> {
    pub fn new() -> Self {
        Queue(VecDeque::new())
    }

    pub fn put(&mut self, items: T) {
        if items.len() > 0 {
            self.0.push_back(Open { items, next: 0 });
        }
    }

    fn left(&self) -> usize {
        self.0.iter().map(Open::left).sum()
    }

    fn into_items(self) -> Vec<T> {
        let left = |open: Open<T>| {
            if open.next == 0 { open.items } else { open.items.slice(open.next..open.items.len()) }
        };
        self.0.into_iter().map(left).collect()
    }

    /// Takes `count` items, which must exist.
    fn take(&mut self, mut count: usize) -> Vec<T> {
        let mut taken = Vec::new();
        while count > 0 {
            let first = self.0.front_mut().expect("the queue has at least `count` items");
            let here = count.min(first.left());
            count -= here;
            let places = first.next..first.next + here;
            first.next = places.end;
            match first.left() {
                0 => {
                    let first = self.0.pop_front().expect("the queue is not empty");
                    // A batch that is taken as a whole is moved, so a large batch is not copied.
                    taken.push(if places.start == 0 { first.items } else { first.items.slice(places) });
                }
                _ => taken.push(first.items.slice(places)),
            }
        }
        taken
    }
}

impl<B: ComponentItems, G: Items, O: Items> ProgramMaterial<B, G, O> {
    /// Makes the material from items that were made for this program alone.
    pub fn of(program: &Arc<Program>, preprocessed: PreprocessedItems<B, G, O>) -> Self {
        let PreprocessedItems { components, input_authenticators, ots } = preprocessed;
        let used = program.slots_by_component().into_iter().enumerate().filter(|(_, slots)| *slots > 0);
        let owner = |((id, slots), batch): ((usize, usize), &B)| BatchSlots {
            component: ComponentId(id as u32),
            slots,
            outputs: batch.outputs(),
        };
        let batch_slots: Vec<BatchSlots> = used.zip(&components).map(owner).collect();
        let sizes: Vec<usize> = input_authenticators.iter().map(G::len).collect();
        let layout = Layout::new(&Step::from(program), &batch_slots, &sizes);
        let ots = ots.map(|ots| vec![ots]);
        ProgramMaterial {
            layout,
            batches: components,
            input_authenticators,
            labels: Labels::default(),
            ots,
            carried: Vec::new(),
        }
    }

    /// Returns the OTs, and the material without them.
    ///
    /// # Panics
    /// If there are no OTs: they must be made before the components of a program are soldered.
    pub fn take_ots(mut self) -> (Vec<O>, Self) {
        (self.ots.take().expect("the OTs are made before a program is run"), self)
    }

    /// Returns the batches of this material, with their names.
    fn own_origins(&self, program: &Program) -> Vec<(String, Origin)> {
        let named = || program.components().iter().zip(program.component_digests());
        let name =
            |digest: &ComponentDigest| named().find(|(_, d)| *d == digest).map_or("", |(c, _)| &c.name);
        let named = |origin: Origin, component: &str| match origin.kind {
            BatchKind::Component => (component.to_owned(), origin),
            BatchKind::KeyAuthenticator => (KEY_AUTHENTICATORS.to_owned(), origin),
            BatchKind::InputAuthenticator => (INPUT_AUTHENTICATORS.to_owned(), origin),
        };
        let batches =
            self.batches.iter().flat_map(|b| b.origins().into_iter().map(|o| named(o, name(b.digest()))));
        let input_authenticators =
            self.input_authenticators.iter().flat_map(|g| g.origins().into_iter().map(|o| named(o, "")));
        batches.chain(input_authenticators).collect()
    }

    /// Returns the batches that a program's kept outputs depend on: its own, and those of the kept values
    /// that it uses.
    pub fn origins(&self, program: &Program) -> Vec<(String, Origin)> {
        let mut seen = std::collections::HashSet::new();
        let all = self.own_origins(program).into_iter().chain(self.carried.iter().cloned());
        all.filter(|(_, origin)| seen.insert(origin.serial)).collect()
    }

    /// Returns the promise of a run with this material, for its own batches and those that its kept values
    /// depend on.
    ///
    /// # Errors
    /// [`Error::Stock`] if all these batches together exceed the budget.
    pub fn promise(&self, program: &Program, security: Security) -> Result<Promise, Error> {
        promise_of_origins(&self.own_origins(program), &self.carried, security)
    }
}

/// The stock of either party: batches `B`, input authenticators `G`, OTs `O`.
pub(super) struct PartyStock<B, G, O> {
    components: Vec<(ComponentDigest, Queue<B>)>,
    /// Input authenticators, for the garbler's inputs and for sealed outputs.
    input: Queue<G>,
    /// The values that earlier steps kept.
    pub kept: KeptCommitments<G>,
    /// OTs, for the evaluator's inputs. A program makes its own OTs if the stock has none.
    ots: Queue<O>,
}

/// The number of items of each kind.
pub(super) struct Counts {
    pub components: HashMap<ComponentDigest, usize>,
    pub input: usize,
    /// The number of OTs; `None` if the stock has no OTs, so that programs make their own.
    pub ots: Option<usize>,
}

impl Counts {
    /// Returns the missing items of a program that takes `garbler_wires` input authenticators.
    pub fn missing(mut self, program: &Program, garbler_wires: usize) -> Request {
        // Components of one program with the same circuit share the items, even if their names differ.
        let mut lacking = |digest: &ComponentDigest, needed: usize| {
            let left = self.components.entry(*digest).or_default();
            let here = needed.min(*left);
            *left -= here;
            needed - here
        };
        let counts = program.slots_by_component();
        let of_component =
            |((component, digest), &slots): ((&Component, _), _)| (component.clone(), lacking(digest, slots));
        let components = program
            .components()
            .iter()
            .zip(program.component_digests())
            .zip(&counts)
            .map(of_component)
            .collect();
        Request {
            components,
            garbler_wires: garbler_wires.saturating_sub(self.input),
            ots: self.ots.map(|ots| program.input_width(Party::Evaluator).saturating_sub(ots)),
        }
    }
}

/// The items that a program took, and its layout.
pub(super) struct ProgramMaterial<B, G, O> {
    pub layout: Layout,
    pub batches: Vec<B>,
    /// Input authenticators: for the garbler's inputs, kept values included, and for sealed outputs.
    pub input_authenticators: Vec<G>,
    /// At the evaluator, the labels of used kept values, in the order of their wires.
    pub labels: Labels,
    /// The OTs; `None` if they must be made.
    pub ots: Option<Vec<O>>,
    /// The batches that the used kept values depend on.
    pub carried: Vec<(String, Origin)>,
}

impl<B: ComponentItems, G: Items, O: Items> Default for PartyStock<B, G, O> {
    fn default() -> Self {
        PartyStock {
            components: Vec::new(),
            input: Queue::new(),
            kept: KeptCommitments::default(),
            ots: Queue::new(),
        }
    }
}

impl<B: ComponentItems, G: Items, O: Items> PartyStock<B, G, O> {
    pub fn new() -> Self {
        PartyStock::default()
    }

    pub fn put_component(&mut self, batch: B) {
        let digest = *batch.digest();
        match self.components.iter_mut().find(|(d, _)| *d == digest) {
            Some((_, queue)) => queue.put(batch),
            None => {
                let mut queue = Queue::new();
                queue.put(batch);
                self.components.push((digest, queue));
            }
        }
    }

    /// Adds items that were checked, proven and [gathered](PreprocessedItems::gathered).
    pub fn put(&mut self, preprocessed: PreprocessedItems<B, G, O>) {
        preprocessed.components.into_iter().for_each(|batch| self.put_component(batch));
        preprocessed.input_authenticators.into_iter().for_each(|input| self.input.put(input));
        preprocessed.ots.into_iter().for_each(|ots| self.ots.put(ots));
    }

    pub fn put_input(&mut self, authenticators: G) {
        self.input.put(authenticators);
    }

    pub fn put_ots(&mut self, ots: O) {
        self.ots.put(ots);
    }

    /// Returns all batches, input authenticators and OTs.
    pub fn into_items(self) -> (Vec<B>, Vec<G>, Vec<O>) {
        let components = self.components.into_iter().flat_map(|(_, queue)| queue.into_items()).collect();
        (components, self.input.into_items(), self.ots.into_items())
    }

    fn counts(&self) -> Counts {
        Counts {
            components: self.components.iter().map(|(digest, queue)| (*digest, queue.left())).collect(),
            input: self.input.left(),
            ots: Some(self.ots.left()).filter(|&left| left > 0),
        }
    }

    pub fn missing(&self, step: &Step) -> Request {
        self.counts().missing(step.program(), authenticators(step))
    }

    /// Takes the items of a step.
    ///
    /// # Errors
    /// [`Error::Stock`] if items are missing, [`Error::Usage`] if a secret is missing. Nothing is then taken.
    pub fn take(&mut self, step: &Step) -> Result<ProgramMaterial<B, G, O>, Error> {
        let program = step.program();
        let (labels, carried) = (self.kept.labels(step)?, self.kept.origins(step)?);
        let digests = program.component_digests();
        let missing = self.missing(step);
        if !missing.is_empty() {
            return Err(Error::Stock(format!("the program needs {missing} more than the session has")));
        }
        let (mut batches, mut batch_slots) = (Vec::new(), Vec::new());
        for (id, slots) in
            program.slots_by_component().into_iter().enumerate().filter(|(_, slots)| *slots > 0)
        {
            let queue = self.components.iter_mut().find(|(digest, _)| *digest == digests[id]);
            for batch in queue.expect("the stock has enough of this component").1.take(slots) {
                batch_slots.push(BatchSlots {
                    component: ComponentId(id as u32),
                    slots: batch.len(),
                    outputs: batch.outputs(),
                });
                batches.push(batch);
            }
        }
        let input_authenticators = self.input_authenticators(step)?;
        let sizes: Vec<usize> = input_authenticators.iter().map(G::len).collect();
        let layout = Layout::new(step, &batch_slots, &sizes);
        let needed = program.input_width(Party::Evaluator);
        let ots = (needed == 0 || self.ots.left() > 0).then(|| self.ots.take(needed));
        Ok(ProgramMaterial { layout, batches, input_authenticators, labels, ots, carried })
    }

    /// Takes input authenticators for the garbler's inputs in order, and then for sealed outputs. Those of
    /// kept values are copied, because several steps may use a kept value.
    fn input_authenticators(&mut self, step: &Step) -> Result<Vec<G>, Error> {
        let (mut input_authenticators, mut fresh) = (Vec::new(), 0);
        for (width, carried) in step.garbler_ports() {
            let Some(secret) = carried else {
                fresh += width;
                continue;
            };
            input_authenticators.extend(self.input.take(std::mem::take(&mut fresh)));
            input_authenticators.extend(self.kept.authenticators(secret)?);
        }
        input_authenticators.extend(self.input.take(fresh + sealed_wires(step.program())));
        Ok(input_authenticators)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::adversary::harness::{component, pair, run_of, small};
    use crate::steps::garbler_wires;
    use crate::tests::sessions::both;
    use brickwork_circuit::{Port, ProgramBuilder, Recipient, Type};
    use brickwork_primitives::cut_and_choose::Bucketing;
    use brickwork_testing::digest as expected;

    struct Numbers(Vec<usize>);

    impl Items for Numbers {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn origins(&self) -> Vec<Origin> {
            Vec::new()
        }

        fn slice(&self, items: Range<usize>) -> Self {
            Numbers(self.0[items].to_vec())
        }

        fn gathered(self) -> Result<Self, Error> {
            Ok(self)
        }
    }

    /// In any sequence of adding and taking, each item is taken once, and all items stay in order.
    #[test]
    fn row_16_each_item_of_a_pool_is_taken_once() {
        for takes in [
            vec![],
            vec![4],
            vec![3],
            vec![3, 1],
            vec![2, 4, 1],
            vec![1, 1, 1, 1, 1, 1, 1, 1, 1],
            vec![9],
            vec![5, 0, 4],
        ] {
            let mut queue = Queue::new();
            for items in [0..4, 4..4, 4..7, 7..9] {
                queue.put(Numbers(items.collect()));
            }
            let mut seen = Vec::new();
            for &count in &takes {
                let taken = queue.take(count);
                assert_eq!(taken.iter().map(Numbers::len).sum::<usize>(), count, "{takes:?}");
                seen.extend(taken.into_iter().flat_map(|items| items.0));
            }
            assert_eq!(queue.left(), 9 - seen.len(), "{takes:?}");
            seen.extend(queue.into_items().into_iter().flat_map(|items| items.0));
            assert_eq!(seen, (0..9).collect::<Vec<_>>(), "{takes:?}");
        }
    }

    fn and(name: &str) -> Component {
        component(name, 2, |b, w| vec![b.and(w[0], w[1])])
    }

    /// Both parties compare digests of their requests, so different requests must have different digests.
    #[test]
    fn row_19_each_request_has_its_name() {
        let or = component("or", 2, |b, w| vec![b.or(w[0], w[1])]);
        let request = |components: &[(&Component, usize)], garbler_wires, ots| {
            let components = components.iter().map(|(c, slots)| ((*c).clone(), *slots)).collect();
            Request { components, garbler_wires, ots }.digest()
        };
        let and = and("and");
        let names = [
            request(&[(&and, 1)], 2, Some(3)),
            request(&[(&and, 2)], 2, Some(3)),
            request(&[(&or, 1)], 2, Some(3)),
            request(&[(&and, 1), (&or, 1)], 2, Some(3)),
            request(&[(&or, 1), (&and, 1)], 2, Some(3)),
            request(&[], 2, Some(3)),
            request(&[(&and, 1)], 3, Some(3)),
            request(&[(&and, 1)], 2, Some(2)),
            request(&[(&and, 1)], 2, Some(0)),
            request(&[(&and, 1)], 2, None),
        ];
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "request {i}");
        }
        // A component with zero slots counts as not requested.
        assert_eq!(request(&[(&and, 1), (&or, 0)], 2, Some(3)), names[0]);
        // The digest is a hash of exactly these bytes.
        let number = |n: u64| n.to_le_bytes();
        let domain = "brickwork 2026-11 duplo preprocessing request";
        let one = [&and.digest()[..], &number(1)].concat();
        let bytes = [&number(1)[..], &one, &number(2), &number(1), &number(3)];
        assert_eq!(names[0], expected(domain, &bytes));
        assert_eq!(names[9], expected(domain, &[&number(1), &one, &number(2), &number(0), &number(0)]));
    }

    /// Components of a program with the same circuit share the items.
    #[test]
    fn row_16_what_serves_one_component_does_not_serve_another() {
        let mut program = ProgramBuilder::new("twins", vec![Port::new("x", Type::Uint(2))], vec![]).unwrap();
        let mut last = 0;
        for name in ["one", "other"] {
            let id = program.component(and(name)).unwrap();
            for _ in 0..2 {
                last = program.slot(id, &[0, 1]).unwrap();
            }
        }
        program.output(Port::new("z", Type::Uint(1)), Recipient::Garbler, vec![last]).unwrap();
        let program = program.finish().unwrap();
        let digest = program.component_digests()[0];
        assert_eq!(program.component_digests(), [digest; 2]);
        for (there, lacking) in [(0, [2, 2]), (1, [1, 2]), (3, [0, 1]), (4, [0, 0]), (9, [0, 0])] {
            let counts = Counts { components: HashMap::from([(digest, there)]), input: 2, ots: Some(0) };
            let request = counts.missing(&program, garbler_wires(&program));
            assert_eq!(
                request.components.iter().map(|(_, slots)| *slots).collect::<Vec<_>>(),
                lacking,
                "{there}"
            );
            assert_eq!((request.garbler_wires, request.ots), (1, Some(0)));
        }
    }

    /// A component without slots takes and makes no items, and later components get their own items, in a run
    /// and from stock.
    #[test]
    fn a_component_without_a_slot_takes_nothing() {
        let ports = |name: &str| vec![Port::new(name, Type::Uint(1))];
        let mut program = ProgramBuilder::new("partly used", ports("x"), ports("y")).unwrap();
        program.component(and("unused")).unwrap();
        let pair = program.component(pair()).unwrap();
        let first = program.slot(pair, &[0, 1]).unwrap();
        let last = program.slot(pair, &[first + 1, 1]).unwrap();
        program.output(Port::new("z", Type::Uint(2)), Recipient::Both, vec![last, last + 1]).unwrap();
        let program = Arc::new(program.finish().unwrap());

        let mut parameters = small(&program, [3, 4], [3, 6], [3, 4]);
        parameters.components[0] = Bucketing { slots: 0, bucket: 1, opened: 0 };
        run_of(&program, parameters).run().survived();

        let request = Request::of(&program);
        let (garbled, evaluated) = both(
            |session| Ok(session.fill(&request)?.build(&program)?.evaluate(&[true])?.decode()?.0),
            |session| Ok(session.fill(&request)?.build(&program)?.evaluate(&[false])?.decode()?.0),
        );
        let expected = program.simulate(&[true], &[false]);
        assert_eq!(
            [garbled, evaluated].map(Result::unwrap),
            [Party::Garbler, Party::Evaluator].map(|party| program.output_bits(party, &expected))
        );
    }
}
