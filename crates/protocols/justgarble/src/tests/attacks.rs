//! Shows why these ciphers are offered: the attacks of section III (figures 4 and 5) succeed against simpler
//! ciphers, and fail against the offered ones. An attack is successful if it finds a secret of the garbler.

use aes::Aes128 as Block;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use brickwork_testing::Replayable as _;

use super::*;
use crate::draws::TokenDraws;
use crate::plain::garble_with;
use brickwork_kernels::Kernel;

/// A public permutation, with its inverse.
#[derive(Clone)]
struct Permutation(Block);

impl Permutation {
    fn new() -> Self {
        Permutation(Block::new(&draws().block().to_be_bytes().into()))
    }

    fn forth(&self, block: u128) -> u128 {
        let mut block = block.to_be_bytes().into();
        self.0.encrypt_block(&mut block);
        u128::from_be_bytes(block.into())
    }

    fn back(&self, block: u128) -> u128 {
        let mut block = block.to_be_bytes().into();
        self.0.decrypt_block(&mut block);
        u128::from_be_bytes(block.into())
    }

    /// The Davies-Meyer construction ρ(K) = π(K) ⊕ K.
    fn davies_meyer(&self, block: u128) -> u128 {
        self.forth(block) ^ block
    }
}

/// A cipher that is defined by a formula for the mask.
struct Formula<F: Fn(u128, u128, u64) -> u128>(F);

impl<F: Fn(u128, u128, u64) -> u128> DualKeyCipher for Formula<F> {
    fn length(&self) -> Length {
        Length::Long
    }

    fn masks<const N: usize>(&self, keys: [(u128, u128, u64); N]) -> [u128; N] {
        keys.map(|(a, b, tweak)| (self.0)(a, b, tweak))
    }
}

fn doubled(a: u128) -> u128 {
    Doubling::D1.double(a, Length::Long)
}

/// A garbled gate with all its tokens, of which an evaluator knows only some.
struct Gated {
    rows: Vec<u128>,
    tokens: Vec<[u128; 2]>,
}

/// Random tokens, which are the same at each call.
fn drawn() -> TokenDraws {
    TokenDraws::new(Rng::replayable("attack").block(), Length::Long, Kernel::best())
}

fn gated(method: Method, cipher: &impl DualKeyCipher, function: GateFunction) -> Gated {
    let circuit = NormalCircuit::new(2, vec![NormalGate { first: 0, second: 1, function }], vec![2]).unwrap();
    let (rows, tokens) = garble_with(method, cipher, &circuit, &drawn());
    Gated { rows, tokens: tokens.to_vec() }
}

impl Gated {
    /// Returns the row that is encrypted under the tokens of these bits.
    fn row(&self, a: usize, b: usize) -> u128 {
        self.rows[2 * (self.tokens[0][a] as usize & 1) + (self.tokens[1][b] as usize & 1)]
    }

    fn offset(&self) -> u128 {
        self.tokens[0][0] ^ self.tokens[0][1]
    }
}

/// Figure 4, top left: the mask π(A ⊕ B) in Ga. An evaluator has both input tokens for 0 of an AND gate. The
/// evaluator decrypts another row, and applies the inverse of π to get a secret input token.
#[test]
fn without_davies_meyer_ga_gives_tokens_away() {
    let pi = Permutation::new();
    let attack = |cipher: &dyn Fn(u128, u128) -> u128, gate: &Gated| {
        let (a, c) = (gate.tokens[0][0], gate.tokens[1][0]);
        let x = gate.row(0, 0) ^ cipher(a, c);
        // The row for (A, D) encrypts X, too.
        pi.back(gate.row(0, 1) ^ x) ^ a == gate.tokens[1][1]
    };
    let plain = |a: u128, b: u128| pi.forth(a ^ b);
    let meyer = |a: u128, b: u128| pi.davies_meyer(a ^ b);
    assert!(attack(&plain, &gated(Method::Ga, &Formula(|a, b, _| plain(a, b)), GateFunction::AND)));
    assert!(!attack(&meyer, &gated(Method::Ga, &Formula(|a, b, _| meyer(a, b)), GateFunction::AND)));
}

/// Figure 4, bottom left: the mask ρ(A ⊕ B) in GaX. Two rows of an AND gate have the same mask, so their sum
/// is R. The same is true for A1 with free XOR, because a gate's rows have the same tweak.
#[test]
fn keys_that_add_up_give_the_offset_away() {
    let pi = Permutation::new();
    let attack = |gate: &Gated| {
        let sums = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)].map(|(i, j)| gate.rows[i] ^ gate.rows[j]);
        sums.contains(&gate.offset())
    };
    assert!(attack(&gated(
        Method::GaX,
        &Formula(|a, b, t| pi.davies_meyer(a ^ b ^ u128::from(t))),
        GateFunction::AND
    )));
    assert!(
        attack(&gated(Method::GaX, &Cipher::A1.keyed(7), GateFunction::AND)),
        "A1 is refused in GaX for this"
    );
    assert!(!attack(&gated(Method::GaX, &Cipher::A2(Doubling::D1).keyed(7), GateFunction::AND)));
}

/// Figure 4, top right: the mask ρ(A ⊕ 2B) in GaX. An evaluator has the tokens A for 1 and B for 0 of an OR
/// gate. The evaluator inverts π for the row of A ⊕ R and B. This row encrypts X ⊕ R, and this R cancels with
/// the R in the input of ρ.
#[test]
fn one_doubling_is_not_enough() {
    let pi = Permutation::new();
    let attack = |key: &dyn Fn(u128, u128) -> u128| {
        let gate = gated(Method::GaX, &Formula(|a, b, _| pi.davies_meyer(key(a, b))), GateFunction::OR);
        let known = key(gate.tokens[0][1], gate.tokens[1][0]);
        let x = gate.row(1, 0) ^ pi.davies_meyer(known);
        pi.back(gate.row(0, 0) ^ known ^ x) ^ known == gate.offset()
    };
    assert!(attack(&|a, b| a ^ doubled(b)));
    assert!(!attack(&|a, b| doubled(a) ^ doubled(doubled(b))));
}

/// Figure 4, bottom right: masks without a tweak. Two gates that read the same wires have the same masks, so
/// their rows reveal the sum of their output tokens.
#[test]
fn without_a_tweak_gates_are_masked_alike() {
    let pi = Permutation::new();
    let gate = |function| NormalGate { first: 0, second: 1, function };
    let circuit =
        NormalCircuit::new(2, vec![gate(GateFunction::AND), gate(GateFunction::OR)], vec![2, 3]).unwrap();
    // An evaluator with the input tokens for (1, 1) learns the sum of both gates' tokens for (0, 0).
    let leaks = |cipher: &dyn Fn(u128, u128, u64) -> u128| {
        let (rows, tokens) = garble_with(Method::Ga, &Formula(cipher), &circuit, &drawn());
        let place = 2 * (tokens[0][0] as usize & 1) + (tokens[1][0] as usize & 1);
        rows[place] ^ rows[4 + place] == tokens[2][0] ^ tokens[3][0]
    };
    assert!(leaks(&|a, b, _| pi.davies_meyer(a ^ b)));
    assert!(!leaks(&|a, b, tweak| pi.davies_meyer(a ^ b ^ u128::from(tweak))));
}

/// Figure 5: the mask H(A ‖ T) ⊕ H(B ‖ T) in GaX. With free XOR, two wires can have the same tokens. If a
/// gate reads both wires, two of its masks are zero, so the sum of the two rows is R.
#[test]
fn hashes_that_add_up_vanish() {
    let hash = Cipher::Sha1.keyed(0);
    let h = |a: u128, tweak: u64| hash.masks([(a & !1, 0, tweak)])[0];
    let gates = vec![
        NormalGate { first: 0, second: 1, function: GateFunction::XOR },
        NormalGate { first: 1, second: 2, function: GateFunction::XOR },
        // Wires 5 and 6 are both the sum of the wires 0, 1 and 2.
        NormalGate { first: 2, second: 3, function: GateFunction::XOR },
        NormalGate { first: 0, second: 4, function: GateFunction::XOR },
        NormalGate { first: 5, second: 6, function: GateFunction::AND },
    ];
    let circuit = NormalCircuit::new(3, gates, vec![7]).unwrap();
    let leaks = |cipher: &dyn Fn(u128, u128, u64) -> u128| {
        let (rows, tokens) = garble_with(Method::GaX, &Formula(cipher), &circuit, &drawn());
        assert_eq!(tokens[5], tokens[6]);
        let offset = tokens[0][0] ^ tokens[0][1];
        // The rows for equal tokens have equal types: rows 0 and 3.
        rows[0] ^ rows[3] == offset
    };
    assert!(leaks(&|a, b, tweak| h(a, tweak) ^ h(b, tweak)));
    assert!(!leaks(&|a, b, tweak| hash.masks([(a & !1, b & !1, tweak)])[0]));
}

/// The authors' program negates a wire by a gate that reads the wire twice. With A1, the masks of its rows
/// depend only on the tweak, so everybody can read both tokens. That is why circuits here cannot have such
/// gates.
#[test]
fn a_wire_that_is_read_twice_would_be_readable() {
    let cipher = Cipher::A1.keyed(5);
    let (one, other) = (draws().block(), draws().block());
    let [mask] = cipher.masks([(one, one, 9)]);
    assert_eq!(mask, cipher.masks([(other, other, 9)])[0], "the mask is the same for every token");
    let gate = NormalGate { first: 0, second: 0, function: GateFunction::NOT_SECOND };
    assert!(NormalCircuit::new(2, vec![gate], vec![2]).is_err());
    let circuit =
        NormalCircuit::normalised(2, [(0, 0, GateFunction::NOT_SECOND), (1, 2, GateFunction::AND)], &[3])
            .unwrap();
    assert_eq!(circuit.gates().len(), 1);
}
