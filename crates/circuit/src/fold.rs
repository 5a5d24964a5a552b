//! Folds circuits: removes gates that read a constant, and gates that no output needs.
//!
//! Files may contain such gates: `EQ` gates of Bristol Fashion, `w XOR w`, sums that cancel. These gates cost
//! time, and a protocol that masks wires cannot hide a constant operand. So a [`Program`](super::Program)
//! garbles the folded form of each circuit, while its file and its digest keep the original circuit.
//!
//! A wire is a sum of terms, which are inputs, outputs of AND gates, and perhaps the constant 1. Each input
//! and each output of an AND gate has a random word, and the word of a wire is the sum of the words of its
//! terms. A constant wire has the word 0, since each of its terms comes an even number of times. Any other
//! wire has the word 0 with a probability of 2^-n for words of n bits.

use std::sync::Arc;

use super::builder::drop_dead;
use super::{Circuit, Gate, MARK, Wire};
use brickwork_base::Error;
use brickwork_base::stop::looking;

/// Returns a word for the `count`th term. Anybody can compute these words, but they only decide whether a
/// slow search for constants is started.
fn quick(count: u32) -> u32 {
    let mixed = count.wrapping_mul(0x9e37_79b9);
    let mixed = (mixed ^ mixed >> 16).wrapping_mul(0x21f0_aaad);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x735a_2d97);
    mixed ^ mixed >> 15
}

/// Returns the words of all wires; a constant wire has the word 0.
fn quick_words(circuit: &Circuit) -> Vec<u32> {
    let mut terms = (1..).map(quick);
    let mut next = || terms.next().unwrap_or_default();
    let mut words: Vec<u32> = Vec::with_capacity(circuit.wires());
    words.extend((0..circuit.inputs()).map(|_| next()));
    for gate in looking(circuit.gates()) {
        words.push(match gate {
            Gate::Xor(a, b) => words[a as usize] ^ words[b as usize],
            Gate::Inv(a) => words[a as usize],
            Gate::And(..) => next(),
        });
    }
    words
}

/// Returns whether a gate may read a constant. The result may be true although no gate reads a constant.
fn may_read_constants(circuit: &Circuit) -> bool {
    let words = quick_words(circuit);
    let constant = |wire: Wire| words[wire as usize] == 0;
    circuit.gates().any(|gate| match gate {
        // This gate is the constant false.
        Gate::Xor(a, b) => a != b && (constant(a) || constant(b)),
        Gate::And(a, b) => constant(a) || constant(b),
        Gate::Inv(a) => constant(a),
    })
}

/// The values of the wires so far, and the gates that remain.
struct Folding {
    inputs: Wire,
    gates: Vec<Gate>,
    /// The word of each wire of the circuit.
    words: Vec<u128>,
    /// For each wire its number among the remaining wires, and in the top bit its value if all terms of its
    /// sum are 0. A constant has only the top bit, its value.
    places: Vec<Wire>,
    /// The wires of false and true, once an output needs them.
    constants: [Option<Wire>; 2],
}

impl Folding {
    fn push(&mut self, gate: Gate) -> Wire {
        self.gates.push(gate);
        self.inputs + (self.gates.len() - 1) as Wire
    }

    /// Returns a wire's value if it is constant.
    fn constant(&self, wire: Wire) -> Option<bool> {
        (self.words[wire as usize] == 0).then(|| self.places[wire as usize] & MARK != 0)
    }

    fn place(&self, wire: Wire) -> Wire {
        self.places[wire as usize] & !MARK
    }

    fn drive(&mut self, word: u128, place: Wire, inverted: bool) {
        self.words.push(word);
        self.places.push(place | if inverted { MARK } else { 0 });
    }

    /// Makes the next wire another name of an earlier wire or of its inverse.
    fn alias(&mut self, wire: Wire, inverted: bool) {
        let flipped = (self.places[wire as usize] & MARK != 0) ^ inverted;
        let place = match inverted && self.constant(wire).is_none() {
            true => self.push(Gate::Inv(self.place(wire))),
            false => self.place(wire),
        };
        self.drive(self.words[wire as usize], place, flipped);
    }

    fn fold(&mut self, gate: Gate, fresh: impl FnOnce() -> u128) {
        match gate {
            Gate::Inv(a) => self.alias(a, true),
            Gate::And(a, b) => match (self.constant(a), self.constant(b)) {
                (Some(false), _) | (_, Some(false)) => self.drive(0, 0, false),
                (Some(true), _) => self.alias(b, false),
                (_, Some(true)) => self.alias(a, false),
                (None, None) => {
                    let place = self.push(Gate::And(self.place(a), self.place(b)));
                    self.drive(fresh(), place, false);
                }
            },
            Gate::Xor(a, b) => match (self.constant(a), self.constant(b)) {
                (Some(value), _) => self.alias(b, value),
                (_, Some(value)) => self.alias(a, value),
                (None, None) => {
                    let word = self.words[a as usize] ^ self.words[b as usize];
                    let inverted = (self.places[a as usize] ^ self.places[b as usize]) & MARK != 0;
                    let place = match word {
                        0 => 0,
                        _ => self.push(Gate::Xor(self.place(a), self.place(b))),
                    };
                    self.drive(word, place, inverted);
                }
            },
        }
    }

    /// Returns the new number of a wire that is an output.
    fn output(&mut self, wire: Wire) -> Wire {
        let Some(value) = self.constant(wire) else { return self.place(wire) };
        if let Some(place) = self.constants[usize::from(value)] {
            return place;
        }
        let zero = self.constants[0].unwrap_or_else(|| self.push(Gate::Xor(0, 0)));
        self.constants[0] = Some(zero);
        if value {
            self.constants[1] = Some(self.push(Gate::Inv(zero)));
        }
        self.constants[usize::from(value)].unwrap_or(zero)
    }
}

/// Returns the gates and outputs without gates that read constants; all others stay unchanged.
fn without_constants(circuit: &Circuit) -> (Vec<Gate>, Vec<Wire>) {
    // The words depend on all gates, so nobody can choose gates whose words cancel.
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-12 words of wires");
    hasher.update(&circuit.inputs.to_le_bytes());
    for gates in circuit.gates.chunks(1 << 10) {
        let bytes = gates.iter().flat_map(|gate| [gate.a, gate.b]).flat_map(u32::to_le_bytes);
        hasher.update(&bytes.collect::<Vec<_>>());
    }
    let mut stream = hasher.finalize_xof();
    let mut fresh = || {
        let mut word = [0; 16];
        stream.fill(&mut word);
        u128::from_le_bytes(word)
    };
    let mut folding = Folding {
        inputs: circuit.inputs,
        gates: Vec::new(),
        words: (0..circuit.inputs).map(|_| fresh()).collect(),
        places: (0..circuit.inputs).collect(),
        constants: [None; 2],
    };
    looking(circuit.gates()).for_each(|gate| folding.fold(gate, &mut fresh));
    let outputs = circuit.outputs.iter().map(|wire| folding.output(*wire)).collect();
    (folding.gates, outputs)
}

/// Returns whether an output needs each of the gates.
fn all_live(circuit: &Circuit) -> bool {
    let mut live = vec![false; circuit.wires()];
    circuit.outputs.iter().for_each(|wire| live[*wire as usize] = true);
    for (gate, wire) in looking(circuit.gates().zip(circuit.inputs()..circuit.wires()).rev()) {
        if !live[wire] {
            return false;
        }
        match gate {
            Gate::Xor(a, b) | Gate::And(a, b) => {
                live[a as usize] = true;
                live[b as usize] = true;
            }
            Gate::Inv(a) => live[a as usize] = true,
        }
    }
    true
}

impl Circuit {
    /// Returns the same function without gates that read a constant, and without gates that no output needs.
    /// All other gates stay unchanged, and a circuit without such gates is returned as it is. A sum in which
    /// every term comes an even number of times is a constant.
    ///
    /// # Errors
    /// [`Error::Input`] if the constants that the outputs need make too many wires for a circuit.
    pub fn folded(self: &Arc<Self>) -> Result<Arc<Self>, Error> {
        let (gates, outputs) = match (may_read_constants(self), all_live(self)) {
            (false, true) => return Ok(Arc::clone(self)),
            (true, _) => without_constants(self),
            (false, false) => (self.gates().collect(), self.outputs.clone()),
        };
        let (gates, outputs) = drop_dead(self.inputs, gates, outputs);
        let folded = Circuit::new(self.inputs, gates, outputs)?;
        Ok(if folded == **self { Arc::clone(self) } else { Arc::new(folded) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    fn circuit(inputs: u32, gates: Vec<Gate>, outputs: Vec<Wire>) -> Arc<Circuit> {
        Arc::new(Circuit::new(inputs, gates, outputs).unwrap())
    }

    fn bits(value: usize, width: usize) -> Vec<bool> {
        (0..width).map(|i| value >> i & 1 == 1).collect()
    }

    /// Returns the folded circuit, which computes the same and folds into itself.
    fn folded(circuit: &Arc<Circuit>) -> Arc<Circuit> {
        let folded = circuit.folded().unwrap();
        for input in 0..1 << circuit.inputs() {
            let input = bits(input, circuit.inputs());
            assert_eq!(
                folded.evaluate(&input),
                circuit.evaluate(&input),
                "{:?}",
                circuit.gates().collect::<Vec<_>>()
            );
        }
        assert!(Arc::ptr_eq(&folded.folded().unwrap(), &folded), "{:?}", circuit.gates().collect::<Vec<_>>());
        folded
    }

    #[test]
    fn constants_and_dead_gates_go_and_others_stay() {
        use Gate::{And, Inv, Xor};
        // The cases in which all gates stay or only outputs are constants.
        for (gates, outputs) in [
            (vec![And(0, 1), Xor(2, 0), Inv(3)], vec![4, 2]),
            (vec![And(0, 0)], vec![2]),
            (vec![Xor(0, 0), Inv(2)], vec![3, 2, 3]),
            (vec![Xor(0, 0)], vec![2, 0]),
            (vec![], vec![1, 1]),
        ] {
            let circuit = circuit(2, gates, outputs);
            assert!(Arc::ptr_eq(&circuit, &folded(&circuit)), "{:?}", circuit.gates().collect::<Vec<_>>());
        }
        for (gates, outputs, rest) in [
            // The gates read `w XOR w`, and the constant true.
            (vec![Xor(0, 0), And(2, 1)], vec![3], vec![Xor(0, 0)]),
            (vec![Xor(0, 0), Inv(2), And(3, 1)], vec![4], vec![]),
            (vec![Xor(0, 0), Inv(2), Xor(3, 1)], vec![4], vec![Inv(1)]),
            (vec![Xor(1, 1), Inv(2), Inv(3), Xor(4, 1)], vec![5, 3], vec![Xor(0, 0), Inv(2)]),
            // The sums cancel, with inversions.
            (vec![Inv(0), Xor(2, 0), And(3, 1)], vec![4], vec![]),
            (vec![Xor(0, 1), Xor(2, 0), Xor(3, 1), And(4, 0)], vec![5], vec![Xor(0, 0)]),
            (vec![And(0, 1), Xor(2, 0), Xor(3, 2), Xor(4, 0), Inv(5), And(6, 2)], vec![7], vec![And(0, 1)]),
            // No output needs some of the gates.
            (vec![And(0, 1), Xor(0, 1), Inv(2)], vec![3], vec![Xor(0, 1)]),
        ] {
            let circuit = circuit(2, gates, outputs);
            assert_eq!(folded(&circuit).gates().collect::<Vec<_>>(), rest);
        }
    }

    #[test]
    fn random_circuits_compute_what_they_did() {
        let mut rng = Rng::replayable("test folding");
        let (mut smaller, mut same) = (0, 0);
        for _ in 0..2000 {
            let inputs = 1 + rng.below(4) as u32;
            let mut gates = Vec::new();
            for wires in u64::from(inputs)..u64::from(inputs) + rng.below(25) {
                let [a, b] = [0, 1].map(|_| rng.below(wires) as Wire);
                gates.push(match rng.below(4) {
                    0 => Gate::And(a, b),
                    1 => Gate::Inv(a),
                    _ => Gate::Xor(a, b),
                });
            }
            let wires = u64::from(inputs) + gates.len() as u64;
            let outputs = (0..1 + rng.below(6)).map(|_| rng.below(wires) as Wire).collect();
            let circuit = circuit(inputs, gates, outputs);
            let folded = folded(&circuit);
            assert!(
                folded.gate_count() <= circuit.gate_count() + 2 && folded.and_gates() <= circuit.and_gates()
            );
            *(if Arc::ptr_eq(&circuit, &folded) { &mut same } else { &mut smaller }) += 1;
        }
        assert!(smaller > 100 && same > 100, "{smaller} {same}");
    }

    /// Each term has a word of 32 bits (`quick`), and the words of a sum may cancel by chance. Such a sum
    /// must not be taken for a constant.
    #[test]
    fn known_words_that_cancel_are_no_constant() {
        // Gaussian elimination: each row has a word, and the set of inputs whose words add up to it.
        let mut rows: Vec<(u32, u64)> = Vec::new();
        let cancels = (0..64).find_map(|input| {
            let mut new = (quick(input + 1), 1u64 << input);
            for row in &rows {
                if new.0 & 1 << row.0.ilog2() != 0 {
                    new = (new.0 ^ row.0, new.1 ^ row.1);
                }
            }
            if new.0 == 0 {
                return Some(new.1);
            }
            let at = rows.iter().position(|row| row.0 < new.0).unwrap_or(rows.len());
            rows.insert(at, new);
            None
        });
        let terms: Vec<Wire> = (0..64).filter(|input| cancels.unwrap() >> input & 1 == 1).collect();
        let mut gates = vec![Gate::Xor(terms[0], terms[1])];
        for (term, sum) in terms[2..].iter().zip(64..) {
            gates.push(Gate::Xor(sum, *term));
        }
        let sum = 63 + gates.len() as Wire;
        gates.push(Gate::And(sum, 0));
        let circuit = circuit(64, gates, vec![sum + 1]);
        assert_eq!(quick_words(&circuit)[sum as usize], 0);
        assert!(may_read_constants(&circuit));
        assert!(Arc::ptr_eq(&circuit, &circuit.folded().unwrap()));
    }
}
