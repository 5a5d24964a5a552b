//! Garbled AND gates whose masks neither party knows (after Katz, Ranellucci, Rosulek and Wang; half-gates).
//!
//! ```text
//!   G    T0 = H(L_a, 2g) + H(L_a + Δ_G, 2g) + A_b         T1 = H(L_b, 2g+1) + H(L_b + Δ_G, 2g+1) + A_a + L_a
//!        L' = H(L_a, 2g) + H(L_b, 2g+1) + A_μ             β = lsb(L'),  L_c = ⌊L'⌋
//!   E    W0 = T0 + B_b    W1 = T1 + B_a    W2 = B_μ + β
//!        X_c = H(X_a, 2g) + H(X_b, 2g+1) + u_a·W0 + u_b·(W1 + X_a) + W2
//! ```
//!
//! L is the label of the masked value 0 and ends in 0, X = L + u·Δ_G is the active one and ends in u: the
//! colour of a label is the wire's masked value. μ = λ_a·λ_b + λ_c is what triples are for.

use brickwork_base::label::{Delta, Label};
use brickwork_circuit::Circuit;
use brickwork_kernels::{Aes128, Kernel};

use crate::pads::sigma;
use crate::share::Share;
use crate::walk::walk;

/// AND gates under one key: four calls each.
const UNDER_A_KEY: u64 = 1 << 13;

/// H of a group of slots: AES of what it is given, under a key for every 2^13 AND gates, plus that.
pub(super) struct GateHash {
    keys: Aes128,
    kernel: Kernel,
    chunk: u64,
    key: Aes128,
}

impl GateHash {
    /// Makes tables whose keys begin at `start`.
    pub fn new(start: u128) -> Self {
        let kernel = Kernel::best().for_few_blocks();
        let keys = Aes128::with_kernel(kernel, start);
        let key = Self::key(&keys, kernel, 0);
        GateHash { keys, kernel, chunk: 0, key }
    }

    fn key(keys: &Aes128, kernel: Kernel, chunk: u64) -> Aes128 {
        let mut key = [0];
        keys.ctr_with(kernel, chunk.into(), &mut key);
        Aes128::with_kernel(kernel, key[0])
    }

    /// Hashes labels of gate number `gate` of the group: the first half of them is of the left operand.
    fn hash<const N: usize>(&mut self, gate: u64, labels: [Label; N]) -> [Label; N] {
        if gate / UNDER_A_KEY != self.chunk {
            self.chunk = gate / UNDER_A_KEY;
            self.key = Self::key(&self.keys, self.kernel, self.chunk);
        }
        let tweak = |k: usize| u128::from(2 * gate + u64::from(2 * k >= N));
        let inputs: [u128; N] = std::array::from_fn(|k| sigma(labels[k].bits()) ^ tweak(k));
        let mut blocks = inputs;
        self.key.encrypt_with(self.kernel, &mut blocks);
        std::array::from_fn(|k| Label::from_bits(blocks[k] ^ inputs[k]))
    }
}

/// The shares of the masks of an AND gate: of its operands, and μ.
#[derive(Clone, Copy, Default)]
pub(super) struct GateMasks {
    pub a: Share,
    pub b: Share,
    pub mu: Share,
}

/// What the garbler sends of an AND gate, and the label that it keeps.
pub(super) struct GarbledGate {
    pub rows: [Label; 2],
    pub colour: u8,
    pub output: Label,
}

/// Garbles an AND gate with these labels of its operands.
pub(super) fn garble(
    hash: &mut GateHash,
    gate: u64,
    delta: Delta,
    masks: &GateMasks,
    [a, b]: [Label; 2],
) -> GarbledGate {
    let [a0, a1, b0, b1] = hash.hash(gate, [a, a ^ delta, b, b ^ delta]);
    let output = a0 ^ b0 ^ masks.mu.key;
    GarbledGate {
        rows: [a0 ^ a1 ^ masks.b.key, b0 ^ b1 ^ masks.a.key ^ a],
        colour: output.colour(),
        output: output.with_colour(0),
    }
}

/// What the evaluator keeps of an AND gate: W0, W1, W2.
pub(super) type Rows = [Label; 3];

/// Folds the evaluator's words into what the garbler sent.
pub(super) fn fold(masks: &GateMasks, rows: &[Label; 2], colour: u8) -> Rows {
    let colour = Label::from_bits((colour & 1).into());
    [rows[0] ^ masks.b.mac, rows[1] ^ masks.a.mac, masks.mu.mac ^ colour]
}

/// Evaluates a circuit of which `wires` has the active labels of the inputs, and whose AND gates are numbered
/// in the group from `first` on. `done` is given each AND gate's operands and output.
pub(super) fn evaluate(
    circuit: &Circuit,
    hash: &mut GateHash,
    first: u64,
    rows: &[Rows],
    wires: &mut Vec<Label>,
    mut done: impl FnMut(usize, [Label; 3]),
) {
    walk(
        circuit,
        wires,
        |label| label,
        |gate, a, b| {
            let [of_a, of_b] = hash.hash(first + gate as u64, [a, b]);
            let [w0, w1, w2] = rows[gate];
            let output = of_a ^ of_b ^ w0.times(a.colour()) ^ (w1 ^ a).times(b.colour()) ^ w2;
            done(gate, [a, b, output]);
            output
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::dealer::{deal, owners};
    use brickwork_base::random::Rng;
    use brickwork_circuit::Gate;
    use brickwork_testing::Replayable as _;

    /// One AND gate with dealt masks, for all inputs: the active label of the output is that of the masked
    /// value, and with a flipped colour, row or mask it is not.
    #[test]
    fn a_gate_is_evaluated_to_the_label_of_its_masked_value() {
        let mut rng = Rng::replayable("test gates");
        let circuit = Circuit::new(2, [Gate::And(0, 1)], vec![2]).unwrap();
        for case in 0..400_u64 {
            let both = owners(&mut rng);
            let [a, b, lambda_a, lambda_b, lambda_c] = [0; 5].map(|_| rng.below(2) as u8);
            let mu = lambda_a & lambda_b ^ lambda_c;
            let shares = [lambda_a, lambda_b, mu].map(|mask| deal(&mut rng, &both, mask));
            let masks = |p: usize| GateMasks { a: shares[0][p], b: shares[1][p], mu: shares[2][p] };
            let labels = [rng.label().with_colour(0), rng.label().with_colour(0)];
            let start = rng.block();
            let gate = case * 1000;
            let made = garble(&mut GateHash::new(start), gate, both[0].delta, &masks(0), labels);
            let rows = [fold(&masks(1), &made.rows, made.colour)];
            let active = [
                labels[0] ^ both[0].delta.times(a ^ lambda_a),
                labels[1] ^ both[0].delta.times(b ^ lambda_b),
            ];
            let mut wires = active.to_vec();
            evaluate(&circuit, &mut GateHash::new(start), gate, &rows, &mut wires, |_, _| {});
            assert!(wires[2] == made.output ^ both[0].delta.times(a & b ^ lambda_c));
            assert!(made.output.colour() == 0 && wires[2].colour() == a & b ^ lambda_c);
        }
    }
}
