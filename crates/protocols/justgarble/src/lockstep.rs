//! Gb and Ev with the ciphers that are made of π, on the vectorised kernels. A circuit is prepared once. Then
//! it is garbled or evaluated any number of times in the same memory, with as many copies at a time as a
//! register has blocks.
//!
//! Each copy has its own keys, and its bits do not depend on the other copies. The gates are reordered, so
//! that consecutive gates with rows are independent of each other. The tweak of a gate is still its number in
//! the circuit.

use std::sync::Arc;

use brickwork_base::Error;
use brickwork_base::random::Rng;
use brickwork_circuit as wires;
use brickwork_kernels::{Aes128, CopyKeys, DualKey, GateList, Kernel, LoopGates, ONE, Style, Tokens};
use brickwork_primitives::garbling::{Schedule, input_slot};
use zeroize::Zeroizing;

use crate::cipher::Cipher;
use crate::circuit::{BitCoefficients, GateFunction, NormalCircuit};
use crate::draws::TokenDraws;
use crate::plain::{evaluate_with, garble_with};
use crate::scheme::{
    Checking, Encoding, GarbledCircuit, GarbledResult, Method, OutputDecoding, PublicCircuit, PublicGate,
    Scheme,
};

impl Method {
    fn of_kernels(self) -> Style {
        match self {
            Method::Ga => Style::Ga,
            Method::GaX => Style::GaX,
            Method::GaXR => Style::GaXR,
            Method::HalfGates => Style::HalfGates,
            Method::PrivacyFree => Style::PrivacyFree,
        }
    }
}

enum Step {
    /// A gate with rows. An evaluator needs its function only without privacy.
    Rows(GateFunction),
    /// The sum of some inputs and a constant.
    Sum { first: bool, second: bool, one: bool },
}

/// The largest number of inputs that are neither read by gates nor outputs.
const MOST_UNREAD: usize = 1 << 20;

/// A circuit that is prepared for the kernels. The circuit's gates with rows are AND gates of the schedule.
struct PreparedBatch {
    schedule: Schedule,
    tweaks: Vec<u128>,
    functions: Vec<u8>,
    inputs: u32,
}

impl PreparedBatch {
    fn new(
        inputs: u32,
        gates: impl ExactSizeIterator<Item = (u32, u32, Step)>,
        outputs: &[u32],
    ) -> Result<Self, Error> {
        use wires::Gate::{And, Inv, Xor};
        // An unread input needs memory, but no bytes in a file. So a short file could ask for any amount of
        // memory.
        let wires = u64::from(inputs) + 1 + 2 * gates.len() as u64;
        let read = 2 * gates.len() + outputs.len();
        if wires > u64::from(u32::MAX) || inputs as usize > read + MOST_UNREAD {
            return Err(Error::Input(format!(
                "the circuit has {inputs} inputs, but gates read only a few of them"
            )));
        }
        let (mut tweaks, mut functions) = (Vec::new(), Vec::new());
        // An additional wire behind the inputs, which is always zero.
        let zero = inputs;
        let mut places: Vec<u32> = (0..inputs).collect();
        places.reserve(gates.len());
        let mut plain = Vec::with_capacity(gates.len());
        let mut push = |gate| {
            plain.push(gate);
            inputs + plain.len() as u32
        };
        for (tweak, (first, second, step)) in (inputs + 1..).zip(gates) {
            let (first, second) = (places[first as usize], places[second as usize]);
            let place = match step {
                Step::Rows(function) => {
                    tweaks.push(tweak.into());
                    functions.push(function.table());
                    push(And(first, second))
                }
                Step::Sum { first: x, second: y, one } => {
                    let sum = match (x, y) {
                        (true, true) => push(Xor(first, second)),
                        (true, false) if one => first,
                        (false, true) if one => second,
                        (true, false) => push(Xor(first, zero)),
                        (false, true) => push(Xor(second, zero)),
                        (false, false) if one => zero,
                        (false, false) => push(Xor(zero, zero)),
                    };
                    if one { push(Inv(sum)) } else { sum }
                }
            };
            places.push(place);
        }
        let outputs = outputs.iter().map(|&wire| places[wire as usize]).collect();
        let circuit = wires::Circuit::new(inputs + 1, plain, outputs)?;
        Ok(PreparedBatch { schedule: Schedule::new(&circuit), tweaks, functions, inputs })
    }

    fn gates(&self) -> LoopGates<'_> {
        LoopGates { script: self.schedule.script(), tweaks: &self.tweaks, functions: &self.functions }
    }
}

/// Memory for the tokens of one copy, and for those of many copies, which use different kernels.
struct Room {
    one: Tokens,
    many: Tokens,
}

impl Room {
    /// The function `make` is [`Tokens::of_garbler`] or [`Tokens::of_evaluator`].
    fn new(
        make: fn(Kernel, Style, DualKey, &GateList) -> Tokens,
        kernel: Kernel,
        scheme: Scheme,
        ready: &PreparedBatch,
    ) -> Option<Self> {
        let (style, cipher) = (scheme.method().of_kernels(), scheme.cipher().of_kernels()?);
        let of = |kernel| make(kernel, style, cipher, ready.schedule.script());
        Some(Room { one: of(kernel.for_few_blocks()), many: of(kernel) })
    }

    fn of(&mut self, copies: usize) -> &mut Tokens {
        if copies == 1 { &mut self.one } else { &mut self.many }
    }

    /// Returns how many of the remaining copies are processed in the next call.
    fn next(&self, copies: usize) -> usize {
        copies.min(self.many.lanes())
    }
}

/// The code that processes a circuit.
enum Way<C> {
    Kernels(Box<(PreparedBatch, Room)>),
    /// Code for a cipher that is not made of π, gate by gate.
    Plain(C),
}

/// Garbles a circuit any number of times.
pub struct Garbler {
    scheme: Scheme,
    shape: Arc<PublicCircuit>,
    way: Way<NormalCircuit>,
    kernel: Kernel,
    rng: Rng,
    /// Memory for the tokens of a copy's inputs.
    drawn: Zeroizing<Vec<u128>>,
}

impl Garbler {
    /// Prepares a circuit.
    ///
    /// # Errors
    /// [`Error::Input`] if it has more wires than the kernels support, or more than 2^20 inputs that no gate
    /// reads, [`Error::Resource`] without randomness.
    pub fn new(scheme: Scheme, circuit: &NormalCircuit) -> Result<Self, Error> {
        Self::with_kernel(Kernel::best(), scheme, circuit)
    }

    /// Does the same as [`Garbler::new`], but with a given kernel. The kernel changes only the time that
    /// garbling takes, not the result.
    ///
    /// # Errors
    /// As for [`Garbler::new`].
    pub fn with_kernel(kernel: Kernel, scheme: Scheme, circuit: &NormalCircuit) -> Result<Self, Error> {
        let rng = Rng::new("brickwork justgarble")?;
        let shape = Arc::new(PublicCircuit::of(scheme.method(), circuit));
        let step = |function: GateFunction| match scheme.method().opening(function) {
            PublicGate::Sum { .. } => sum_of(function),
            PublicGate::Known(function) if !function.has_product() => sum_of(function),
            PublicGate::Known(_) | PublicGate::Rows => Step::Rows(function),
        };
        let steps = circuit.gates().iter().map(|gate| (gate.first, gate.second, step(gate.function)));
        let way = match scheme.cipher() {
            Cipher::Aes256 | Cipher::Sha1 => Way::Plain(circuit.clone()),
            _ => {
                let ready = PreparedBatch::new(circuit.inputs(), steps, circuit.outputs())?;
                match Room::new(Tokens::of_garbler, kernel, scheme, &ready) {
                    Some(room) => Way::Kernels(Box::new((ready, room))),
                    None => Way::Plain(circuit.clone()),
                }
            }
        };
        Ok(Garbler { scheme, shape, way, kernel, rng, drawn: Zeroizing::new(Vec::new()) })
    }

    /// Garbles the circuit `copies` times: Gb of the paper.
    ///
    /// # Errors
    /// None.
    pub fn garble(&mut self, copies: usize) -> Vec<GarbledResult> {
        let mut garblings: Vec<GarbledResult> =
            (0..copies).map(|_| GarbledResult::empty(self.scheme, &self.shape)).collect();
        self.garble_again(&mut garblings);
        garblings
    }

    /// Garbles the circuit again. The results overwrite earlier garblings of this garbler.
    ///
    /// # Panics
    /// If one of them was made by another garbler.
    pub fn garble_again(&mut self, garblings: &mut [GarbledResult]) {
        let same = |garbling: &GarbledResult| {
            Arc::ptr_eq(&garbling.garbled.shape, &self.shape)
                && garbling.garbled.cipher == self.scheme.cipher()
        };
        assert!(garblings.iter().all(same), "all garblings must come from this garbler");
        let keys: Vec<[Zeroizing<u128>; 2]> =
            garblings.iter().map(|_| [0; 2].map(|_| Zeroizing::new(self.rng.block()))).collect();
        self.with_keys(garblings, &keys);
    }

    /// Does the same as [`Garbler::garble_again`] with the given keys of π and of the tokens.
    pub(crate) fn with_keys(&mut self, garblings: &mut [GarbledResult], keys: &[[Zeroizing<u128>; 2]]) {
        let mut rest = (garblings, keys);
        while !rest.0.is_empty() {
            let count = match &self.way {
                Way::Kernels(way) => way.1.next(rest.0.len()),
                Way::Plain(_) => 1,
            };
            let (now, later) = rest.0.split_at_mut(count);
            self.side_by_side(now, &rest.1[..count]);
            rest = (later, &rest.1[count..]);
        }
    }

    /// Garbles as many copies as one call of a kernel can process, each with these keys of π and of its
    /// tokens.
    fn side_by_side(&mut self, garblings: &mut [GarbledResult], keys: &[[Zeroizing<u128>; 2]]) {
        let (method, length) = (self.scheme.method(), self.scheme.cipher().length());
        let draws: Vec<TokenDraws> =
            keys.iter().map(|[_, tokens]| TokenDraws::new(**tokens, length, self.kernel)).collect();
        for ((garbling, [key, _]), draws) in garblings.iter_mut().zip(keys).zip(&draws) {
            garbling.garbled.key = **key;
            draws.inputs_into(method, self.shape.inputs(), &mut self.drawn, &mut garbling.encoding.0);
        }
        match &mut self.way {
            Way::Kernels(way) => {
                let (ready, room) = &mut **way;
                on_kernels(self.kernel, self.scheme, ready, room.of(garblings.len()), garblings, &draws);
            }
            Way::Plain(circuit) => {
                for (garbling, draws) in garblings.iter_mut().zip(&draws) {
                    let cipher = self.scheme.cipher().keyed(garbling.garbled.key);
                    let (rows, tokens) = garble_with(method, &cipher, circuit, draws);
                    garbling.garbled.rows = rows;
                    let of_outputs = circuit.outputs().iter().map(|&wire| tokens[wire as usize]);
                    garbling.checking.0 = Zeroizing::new(of_outputs.collect());
                }
            }
        }
        for garbling in garblings {
            let bits = garbling.checking.0.iter().map(|[zero, _]| length.type_of(*zero));
            garbling.decoding.0.clear();
            garbling.decoding.0.extend(bits);
        }
    }
}

fn sum_of(function: GateFunction) -> Step {
    let BitCoefficients { constant, first, second, .. } = function.terms();
    Step::Sum { first: first == 1, second: second == 1, one: constant == 1 }
}

/// Garbles copies on the kernels. The copies already have their keys and their inputs' tokens.
fn on_kernels(
    kernel: Kernel,
    scheme: Scheme,
    ready: &PreparedBatch,
    tokens: &mut Tokens,
    garblings: &mut [GarbledResult],
    draws: &[TokenDraws],
) {
    let (method, length) = (scheme.method(), scheme.cipher().length());
    // Unused lanes repeat the first copy.
    let of = |lane: usize| if lane < garblings.len() { lane } else { 0 };
    // The token for 0 of a negation is the token for 1 of its input. Without privacy its last bit is
    // inverted, because tokens for 0 end in 0.
    let last = if method == Method::PrivacyFree { length.last() } else { 0 };
    let offsets: Zeroizing<Vec<u128>> =
        Zeroizing::new(draws.iter().map(|draws| draws.offset() ^ last).collect());
    tokens.set(ONE, 1, |lane, _, _| offsets[of(lane)]);
    let inputs = ready.inputs as usize;
    tokens.set(input_slot(inputs), 1, |_, _, _| 0);
    let pairs: [&[[u128; 2]]; 4] = std::array::from_fn(|lane| &garblings[of(lane)].encoding.0[..inputs]);
    tokens.set(input_slot(0), inputs, |lane, wire, bit| pairs[lane][wire][bit]);
    let keys: Vec<CopyKeys> = garblings
        .iter()
        .zip(draws)
        .map(|(garbling, draws)| CopyKeys {
            permutation: Aes128::with_kernel(kernel, garbling.garbled.key),
            tokens: draws.key().clone(),
        })
        .collect();
    let mut rows: Vec<&mut [u128]> =
        garblings.iter_mut().map(|garbling| &mut garbling.garbled.rows[..]).collect();
    tokens.garble(ready.gates(), &keys, &mut rows);
    for (lane, (garbling, draws)) in garblings.iter_mut().zip(draws).enumerate() {
        let offset = Zeroizing::new(draws.offset());
        let pair = |&slot: &u32| {
            let zero = tokens.get(slot, lane, 0);
            [zero, if method == Method::Ga { tokens.get(slot, lane, 1) } else { zero ^ *offset }]
        };
        garbling.checking.0.clear();
        garbling.checking.0.extend(ready.schedule.output_slots().iter().map(pair));
    }
}

impl GarbledResult {
    /// Makes a garbling without contents, with memory for its parts.
    fn empty(scheme: Scheme, shape: &Arc<PublicCircuit>) -> Self {
        let outputs = shape.outputs().len();
        GarbledResult {
            garbled: GarbledCircuit {
                cipher: scheme.cipher(),
                key: 0,
                shape: shape.clone(),
                rows: vec![0; shape.rows()],
            },
            encoding: Encoding(Zeroizing::new(Vec::with_capacity(shape.inputs() as usize))),
            decoding: OutputDecoding(Vec::with_capacity(outputs), scheme.cipher().length()),
            checking: Checking(Zeroizing::new(Vec::with_capacity(outputs))),
        }
    }
}

/// Evaluates any number of garblings of a circuit.
pub struct Evaluator {
    scheme: Scheme,
    shape: Arc<PublicCircuit>,
    way: Way<()>,
    kernel: Kernel,
}

impl Evaluator {
    /// Prepares the evaluation of garblings like this one.
    ///
    /// # Errors
    /// [`Error::Input`] if it has more wires than the kernels support, or more than 2^20 inputs that no gate
    /// reads.
    pub fn new(garbled: &GarbledCircuit) -> Result<Self, Error> {
        Self::with_kernel(Kernel::best(), garbled)
    }

    /// Does the same as [`Evaluator::new`], but with a given kernel.
    ///
    /// # Errors
    /// As for [`Evaluator::new`].
    pub fn with_kernel(kernel: Kernel, garbled: &GarbledCircuit) -> Result<Self, Error> {
        let (scheme, shape) = (garbled.scheme(), garbled.shape.clone());
        let step = |opening| match opening {
            // The evaluation does not depend on the function, which the evaluator does not know.
            PublicGate::Rows => Step::Rows(GateFunction::AND),
            PublicGate::Sum { first, second } => Step::Sum { first, second, one: false },
            PublicGate::Known(function) if function.has_product() => Step::Rows(function),
            PublicGate::Known(function) => sum_of(function),
        };
        let steps = shape.gates().iter().map(|&(first, second, opening)| (first, second, step(opening)));
        let way = match scheme.cipher() {
            Cipher::Aes256 | Cipher::Sha1 => Way::Plain(()),
            _ => {
                let ready = PreparedBatch::new(shape.inputs(), steps, shape.outputs())?;
                match Room::new(Tokens::of_evaluator, kernel, scheme, &ready) {
                    Some(room) => Way::Kernels(Box::new((ready, room))),
                    None => Way::Plain(()),
                }
            }
        };
        Ok(Evaluator { scheme, shape, way, kernel })
    }

    /// Evaluates garbled circuits: Ev of the paper. Takes the tokens of each one's inputs, and returns the
    /// tokens of its outputs.
    ///
    /// # Errors
    /// [`Error::Input`] if the numbers of garbled circuits, of inputs or of tokens do not agree, or a garbled
    /// circuit has another shape or scheme.
    pub fn evaluate(
        &mut self,
        garbled: &[&GarbledCircuit],
        inputs: &[&[u128]],
    ) -> Result<Vec<Zeroizing<Vec<u128>>>, Error> {
        if garbled.len() != inputs.len() {
            return Err(Error::Input(format!(
                "the caller gave {} garbled circuits, but inputs for {}",
                garbled.len(),
                inputs.len()
            )));
        }
        for (garbled, inputs) in garbled.iter().zip(inputs) {
            let same = Arc::ptr_eq(&garbled.shape, &self.shape) || garbled.shape == self.shape;
            if !same || garbled.scheme() != self.scheme {
                return Err(Error::Input(
                    "the garbled circuit has another shape or scheme than this evaluator was made for".into(),
                ));
            }
            has_inputs(&self.shape, inputs)?;
        }
        let mut outputs = Vec::with_capacity(garbled.len());
        let mut rest = (garbled, inputs);
        while !rest.0.is_empty() {
            let count = match &mut self.way {
                Way::Plain(()) => {
                    let cipher = self.scheme.cipher().keyed(rest.0[0].key);
                    outputs.push(evaluate_with(&self.shape, &cipher, &rest.0[0].rows, rest.1[0]));
                    1
                }
                Way::Kernels(way) => {
                    let (ready, room) = &mut **way;
                    let count = room.next(rest.0.len());
                    let now = (&rest.0[..count], &rest.1[..count]);
                    outputs.extend(evaluate_on_kernels(self.kernel, self.scheme, ready, room.of(count), now));
                    count
                }
            };
            rest = (&rest.0[count..], &rest.1[count..]);
        }
        Ok(outputs)
    }
}

/// Evaluates as many copies as one call of a kernel can process.
fn evaluate_on_kernels(
    kernel: Kernel,
    scheme: Scheme,
    ready: &PreparedBatch,
    tokens: &mut Tokens,
    (garbled, inputs): (&[&GarbledCircuit], &[&[u128]]),
) -> Vec<Zeroizing<Vec<u128>>> {
    let is_private = scheme.method().is_private();
    let one = if is_private { 0 } else { scheme.cipher().length().last() };
    let mask = scheme.cipher().length().mask();
    let of = |lane: usize| if lane < garbled.len() { lane } else { 0 };
    tokens.set(ONE, 1, |_, _, _| one);
    tokens.set(input_slot(ready.inputs as usize), 1, |_, _, _| 0);
    let lanes: [&[u128]; 4] = std::array::from_fn(|lane| &inputs[of(lane)][..ready.inputs as usize]);
    tokens.set(input_slot(0), ready.inputs as usize, |lane, wire, _| lanes[lane][wire] & mask);
    let permutations: Vec<Aes128> =
        garbled.iter().map(|garbled| Aes128::with_kernel(kernel, garbled.key)).collect();
    let rows: Vec<&[u128]> = garbled.iter().map(|garbled| &garbled.rows[..]).collect();
    tokens.evaluate(ready.gates(), &permutations.iter().collect::<Vec<_>>(), &rows);
    let of = |lane| {
        let slots = ready.schedule.output_slots().iter();
        Zeroizing::new(slots.map(|&slot| tokens.get(slot, lane, 0)).collect())
    };
    (0..garbled.len()).map(of).collect()
}

/// Garbles a circuit: Gb of the paper.
///
/// # Errors
/// [`Error::Resource`] without randomness.
pub fn garble(scheme: Scheme, circuit: &NormalCircuit) -> Result<GarbledResult, Error> {
    let mut rng = Rng::new("brickwork justgarble")?;
    let (method, length) = (scheme.method(), scheme.cipher().length());
    let key = rng.block();
    let draws = TokenDraws::new(*Zeroizing::new(rng.block()), length, Kernel::best());
    let (rows, tokens) = garble_with(method, &scheme.cipher().keyed(key), circuit, &draws);
    let of_outputs: Vec<[u128; 2]> = circuit.outputs().iter().map(|&wire| tokens[wire as usize]).collect();
    let shape = Arc::new(PublicCircuit::of(method, circuit));
    Ok(GarbledResult {
        garbled: GarbledCircuit { cipher: scheme.cipher(), key, shape, rows },
        encoding: Encoding(Zeroizing::new(tokens[..circuit.inputs() as usize].to_vec())),
        decoding: OutputDecoding(of_outputs.iter().map(|[zero, _]| length.type_of(*zero)).collect(), length),
        checking: Checking(Zeroizing::new(of_outputs)),
    })
}

/// Checks that there is a token for each input.
fn has_inputs(shape: &PublicCircuit, inputs: &[u128]) -> Result<(), Error> {
    match inputs.len() == shape.inputs() as usize {
        true => Ok(()),
        false => Err(Error::Input(format!(
            "the garbled circuit has {} inputs, but {} tokens were given",
            shape.inputs(),
            inputs.len()
        ))),
    }
}

impl GarbledCircuit {
    /// Evaluates the garbled circuit: Ev of the paper. Takes the tokens of the inputs, and returns the tokens
    /// of the outputs.
    ///
    /// # Errors
    /// [`Error::Input`] if there is not a token for each input.
    pub fn evaluate(&self, inputs: &[u128]) -> Result<Zeroizing<Vec<u128>>, Error> {
        has_inputs(&self.shape, inputs)?;
        Ok(evaluate_with(&self.shape, &self.cipher.keyed(self.key), &self.rows, inputs))
    }
}
