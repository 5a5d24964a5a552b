//! Compares garbling and evaluation with the plain circuit, with a naive implementation, and across kernels.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use brickwork_kernels::Kernel;
use proptest::prelude::*;

use super::*;
use brickwork_base::label::{Delta, Label};
use brickwork_circuit::{Circuit, Gate};

/// Half-gates gate by gate and copy by copy, written only from the design's text.
mod naive {
    use super::*;

    pub struct Hash {
        pub start: u128,
        pub group: u64,
        pub gates_per_key: u64,
    }

    impl Hash {
        fn call(&self, x: u128, i: u128) -> u128 {
            let gate = (i / 2) as u64;
            let mut hasher = blake3::Hasher::new_derive_key("brickwork garbling hash keys v1");
            hasher.update(&self.start.to_le_bytes()).update(&self.group.to_le_bytes());
            let group_key: [u8; 16] = hasher.finalize().as_bytes()[..16].try_into().unwrap();
            let mut key = u128::from(gate / self.gates_per_key).to_le_bytes().into();
            aes::Aes128::new(&group_key.into()).encrypt_block(&mut key);
            let (hi, lo) = ((x >> 64) as u64, x as u64);
            let y = (u128::from(hi ^ lo) << 64 | u128::from(hi)) ^ i;
            let mut block = y.to_le_bytes().into();
            aes::Aes128::new(&key).encrypt_block(&mut block);
            u128::from_le_bytes(block.into()) ^ y
        }
    }

    pub fn garble(circuit: &Circuit, hash: &Hash, delta: u128, inputs: &[u128]) -> (Vec<u128>, Vec<u8>) {
        let (mut wires, mut tables, mut j) = (inputs.to_vec(), Vec::new(), 0u128);
        for gate in circuit.gates() {
            let label = match gate {
                Gate::Xor(a, b) => wires[a as usize] ^ wires[b as usize],
                Gate::Inv(a) => wires[a as usize] ^ delta,
                Gate::And(a, b) => {
                    let (a0, b0) = (wires[a as usize], wires[b as usize]);
                    let (pa, pb) = (a0 & 1, b0 & 1);
                    let (ha0, ha1) = (hash.call(a0, 2 * j), hash.call(a0 ^ delta, 2 * j));
                    let (hb0, hb1) = (hash.call(b0, 2 * j + 1), hash.call(b0 ^ delta, 2 * j + 1));
                    j += 1;
                    // Follows figure 2 of the half-gates paper.
                    let t_g = ha0 ^ ha1 ^ (pb * delta);
                    let w_g = ha0 ^ (pa * t_g);
                    let t_e = hb0 ^ hb1 ^ a0;
                    let w_e = hb0 ^ (pb * (t_e ^ a0));
                    tables.extend(t_g.to_le_bytes());
                    tables.extend(t_e.to_le_bytes());
                    w_g ^ w_e
                }
            };
            wires.push(label);
        }
        (circuit.outputs().iter().map(|&w| wires[w as usize]).collect(), tables)
    }
}

/// Returns a circuit from random numbers. The circuit has many gates that read a wire twice, gates whose
/// results nobody reads, and outputs that are inputs.
fn circuit(inputs: u32, choices: &[(u8, u32, u32)], outputs: &[u32]) -> Circuit {
    let gates = choices.iter().enumerate().map(|(k, &(kind, a, b))| {
        let wires = inputs + k as u32;
        // Prefers recent wires, as real circuits do.
        let near = |x: u32| if x & 1 == 0 { wires - 1 - (x >> 1) % wires.min(8) } else { (x >> 1) % wires };
        match kind % 8 {
            0 => Gate::Inv(near(a)),
            1 => Gate::Xor(near(a), near(a)),
            2 => Gate::And(near(a), near(a)),
            3 | 4 => Gate::Xor(near(a), near(b)),
            _ => Gate::And(near(a), near(b)),
        }
    });
    let wires = inputs + choices.len() as u32;
    Circuit::new(inputs, gates, outputs.iter().map(|&w| w % wires).collect()).unwrap()
}

pub(super) fn random_circuit(most_gates: usize) -> impl Strategy<Value = Circuit> {
    (
        1u32..20,
        proptest::collection::vec(any::<(u8, u32, u32)>(), 0..most_gates),
        proptest::collection::vec(any::<u32>(), 0..20),
    )
        .prop_map(|(inputs, choices, outputs)| circuit(inputs, &choices, &outputs))
}

/// A deterministic stream of labels.
struct Stream(blake3::OutputReader);

impl Stream {
    fn new(seed: u64) -> Self {
        Stream(blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof())
    }

    fn next(&mut self) -> u128 {
        let mut bytes = [0; 16];
        self.0.fill(&mut bytes);
        u128::from_le_bytes(bytes)
    }

    fn labels(&mut self, count: usize) -> Vec<Label> {
        (0..count).map(|_| Label::from_bits(self.next())).collect()
    }
}

struct Garbled {
    deltas: Vec<Delta>,
    inputs: Vec<Label>,
    outputs: Vec<Label>,
    tables: Vec<Vec<u8>>,
}

fn garble_copies(schedule: &Schedule, keys: &GarblingKeys, copies: &[u32], seed: u64) -> Garbled {
    let mut stream = Stream::new(seed);
    let deltas: Vec<Delta> = copies.iter().map(|_| Delta::new(stream.next())).collect();
    let inputs = stream.labels(copies.len() * schedule.inputs());
    let mut outputs = vec![Label::ZERO; copies.len() * schedule.outputs()];
    let mut sink = Collect::new(copies.len(), HalfGates::table_bytes(schedule));
    HalfGates::garble(schedule, keys, copies, &deltas, &inputs, &mut outputs, &mut sink).unwrap();
    Garbled { deltas, inputs, outputs, tables: sink.finish() }
}

/// Garbles a circuit and compares with the naive implementation, then evaluates it on random bits and
/// compares with the plain circuit.
fn check(kernel: Kernel, circuit: &Circuit, keys: &GarblingKeys, copies: &[u32], group: usize, seed: u64) {
    let schedule = Schedule::with_kernel(kernel, circuit);
    let garbled = garble_copies(&schedule, keys, copies, seed);
    let mut stream = Stream::new(!seed);
    let (mut active, mut expected) = (Vec::new(), Vec::new());
    for (p, &copy) in copies.iter().enumerate() {
        let (delta, ni, no) = (garbled.deltas[p], schedule.inputs(), schedule.outputs());
        let hash = naive::Hash {
            start: keys.start(),
            group: u64::from(copy) / group as u64,
            gates_per_key: (8192 / group) as u64,
        };
        let inputs: Vec<u128> = garbled.inputs[p * ni..][..ni].iter().map(|l| l.bits()).collect();
        let (outputs, tables) = naive::garble(circuit, &hash, delta.bits(), &inputs);
        assert_eq!(garbled.tables[p], tables, "{kernel:?}: tables of copy {copy}");
        assert!(
            garbled.outputs[p * no..][..no].iter().map(|l| l.bits()).eq(outputs),
            "{kernel:?}: outputs of copy {copy}"
        );

        let bits: Vec<bool> = (0..ni).map(|_| stream.next() & 1 == 1).collect();
        active.extend(bits.iter().zip(&garbled.inputs[p * ni..]).map(|(&x, &l)| l ^ delta.times(x.into())));
        let plain = circuit.evaluate(&bits);
        expected
            .extend(plain.iter().zip(&garbled.outputs[p * no..]).map(|(&y, &l)| l ^ delta.times(y.into())));
    }
    let mut outputs = vec![Label::ZERO; expected.len()];
    HalfGates::evaluate(&schedule, keys, copies, &active, &mut garbled.tables.as_slice(), &mut outputs)
        .unwrap();
    assert!(outputs == expected, "{kernel:?}: evaluated labels of {circuit:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_kernel_garbles_and_evaluates_as_the_naive_one(
        circuit in random_circuit(60), copies in 1u32..41, seed: u64,
    ) {
        let keys = GarblingKeys::new(seed.into(), copies as usize, circuit.and_gates());
        let copies: Vec<u32> = (0..copies).collect();
        for kernel in Kernel::all_available() {
            check(kernel, &circuit, &keys, &copies, copies.len().next_power_of_two(), seed);
        }
    }

    /// Copies of a large batch, taken in any order and from different groups, give the same tables.
    #[test]
    fn copies_may_come_from_anywhere(
        circuit in random_circuit(40),
        copies in proptest::collection::vec(0u32..5000, 0..40),
        seed: u64,
    ) {
        let group = 1024.max(8192 / circuit.and_gates().max(1).next_power_of_two()).min(8192);
        let keys = GarblingKeys::new(seed.into(), 5000, circuit.and_gates());
        check(Kernel::best(), &circuit, &keys, &copies, group, seed);
    }
}

/// Tests several sections with each number of lanes. The last section is not full, and chunks are smaller and
/// larger than a section.
#[test]
fn long_circuits_are_walked_in_pieces() {
    let mut stream = Stream::new(7);
    let choices: Vec<(u8, u32, u32)> =
        (0..2500).map(|_| (stream.next() as u8, stream.next() as u32, stream.next() as u32)).collect();
    let circuit = circuit(10, &choices, &(2400..2510).collect::<Vec<_>>());
    assert!(circuit.and_gates() > 1100);
    for (kernel, count, batch) in
        Kernel::all_available().into_iter().flat_map(|k| [(k, 3, 3), (k, 7, 7), (k, 20, 1024)])
    {
        let copies: Vec<u32> = (0..count).collect();
        let keys = GarblingKeys::new(99, batch, circuit.and_gates());
        check(kernel, &circuit, &keys, &copies, batch.next_power_of_two(), 3);
    }
}

/// Tests sections and windows that end exactly at the end of the circuit, or just before it.
#[test]
fn sections_may_be_full_or_empty() {
    for (ands, xors) in [(0, 0), (0, 70_000), (511, 0), (512, 0), (512, 3), (513, 0), (1024, 70_000)] {
        let and = |k: u32| Gate::And(k / 2, k);
        let gates = (0..ands).map(|k| and(k + 1)).chain((0..xors).map(|k| Gate::Xor(k, k + ands + 1)));
        let outputs = (0..5).map(|k| (2 + ands + xors - 1) - k % (2 + ands + xors)).collect();
        let circuit = Circuit::new(2, gates, outputs).unwrap();
        let keys = GarblingKeys::new(5, 5, circuit.and_gates());
        for copies in [1, 5] {
            check(Kernel::best(), &circuit, &keys, &(0..copies).collect::<Vec<_>>(), 8, 6);
        }
    }
}

/// If XORs were delayed until a gate needs them, the summands of a sum of many products would accumulate.
#[test]
fn the_working_set_does_not_grow_with_the_circuit() {
    let working_set = |products: u32| {
        let mut b = brickwork_circuit::Builder::new(20);
        let inputs = b.all_inputs();
        let mut sum = inputs[0];
        for k in 0..products as usize {
            let product = b.and(inputs[k % 19], inputs[k % 20]);
            let product = b.and(product, sum);
            let next = b.and(product, inputs[7]);
            sum = b.xor(sum, next);
        }
        Schedule::new(&b.finish(&[sum]).unwrap()).working_set()
    };
    assert_eq!(working_set(20_000), working_set(5_000));
    assert!(working_set(20_000) < 1000);
}

#[test]
fn every_number_of_copies_gives_the_same_copy() {
    let mut stream = Stream::new(8);
    let choices: Vec<(u8, u32, u32)> =
        (0..60).map(|_| (stream.next() as u8, stream.next() as u32, stream.next() as u32)).collect();
    let circuit = circuit(5, &choices, &(50..65).collect::<Vec<_>>());
    let schedule = Schedule::new(&circuit);
    let keys = GarblingKeys::new(1, 40, circuit.and_gates());
    let (delta, inputs) = (Delta::new(stream.next()), stream.labels(5));
    let mut first: Option<(Vec<u8>, Vec<Label>)> = None;
    for count in 1..=40 {
        let copies: Vec<u32> = (0..count as u32).collect();
        let mut outputs = vec![Label::ZERO; count * schedule.outputs()];
        let mut sink = Collect::new(count, HalfGates::table_bytes(&schedule));
        HalfGates::garble(
            &schedule,
            &keys,
            &copies,
            &vec![delta; count],
            &inputs.repeat(count),
            &mut outputs,
            &mut sink,
        )
        .unwrap();
        let mut hashes = HashTables::new(count, HalfGates::table_bytes(&schedule));
        HalfGates::garble(
            &schedule,
            &keys,
            &copies,
            &vec![delta; count],
            &inputs.repeat(count),
            &mut outputs,
            &mut hashes,
        )
        .unwrap();
        for ((tables, outputs), hash) in
            sink.finish().into_iter().zip(outputs.chunks_exact(schedule.outputs())).zip(hashes.finish())
        {
            assert_eq!(hash, *blake3::hash(&tables).as_bytes());
            let copy = (tables, outputs.to_vec());
            assert!(*first.get_or_insert_with(|| copy.clone()) == copy, "{count} copies");
        }
    }
}

/// The bytes of the tables are part of the protocol, so they must not change.
#[test]
fn fixed_vector() {
    let circuit =
        Circuit::new(2, [Gate::And(0, 1), Gate::Inv(2), Gate::And(3, 0), Gate::Xor(4, 3)], vec![5, 2])
            .unwrap();
    let keys = GarblingKeys::new(0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100, 1, 2);
    for kernel in Kernel::all_available() {
        let schedule = Schedule::with_kernel(kernel, &circuit);
        let mut outputs = [Label::ZERO; 2];
        let mut sink = HashTables::new(1, HalfGates::table_bytes(&schedule));
        let inputs = [1u128, 2].map(|x| Label::from_bits(x * 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef));
        HalfGates::garble(
            &schedule,
            &keys,
            &[0],
            &[Delta::new(u128::MAX / 3)],
            &inputs,
            &mut outputs,
            &mut sink,
        )
        .unwrap();
        let hash = u128::from_le_bytes(sink.finish()[0][..16].try_into().unwrap());
        assert_eq!(hash, 0xfa0c7928c640927dcdbba956a21b9058, "{kernel:?}");
        let expected = [0xde49a067dac0b8bf8a5d6614802b1148, 0xea91c2b5120626f76e9d8c4fd9fa0dbf];
        assert_eq!(outputs.map(Label::bits), expected, "{kernel:?}");
    }
}

#[test]
fn a_sink_that_fails_ends_the_walk() {
    struct Full(usize);
    impl TableSink for Full {
        fn tables(&mut self, _: usize, _: &[u8]) -> Result<(), brickwork_base::Error> {
            self.0 += 1;
            Err(brickwork_base::Error::Resource("full".into()))
        }
    }
    let schedule = Schedule::new(&Circuit::new(2, [Gate::And(0, 1)], vec![2]).unwrap());
    let keys = GarblingKeys::new(0, 40, 1);
    let copies: Vec<u32> = (0..40).collect();
    let mut sink = Full(0);
    let result = HalfGates::garble(
        &schedule,
        &keys,
        &copies,
        &[Delta::new(0); 40],
        &[Label::ZERO; 80],
        &mut [Label::ZERO; 40],
        &mut sink,
    );
    assert!(matches!(result, Err(brickwork_base::Error::Resource(_))));
    assert_eq!(sink.0, 1);
}
