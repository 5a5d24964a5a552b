//! The garbler's random tokens (section V): AES-128 in counter mode, with a new key for each garbling.
//!
//! Block 0 is the offset R. The tweak T of a wire is its number plus one. Block T is the wire's token for 0.
//! In Ga, blocks 2T and 2T + 1 are the wire's tokens for 0 and 1. So the tokens do not depend on the order in
//! which gates are garbled.

use brickwork_kernels::{Aes128, Kernel};
use zeroize::Zeroizing;

use crate::cipher::Length;
use crate::scheme::Method;

pub(crate) struct TokenDraws {
    key: Aes128,
    length: Length,
    kernel: Kernel,
}

impl TokenDraws {
    /// Makes tokens of this length from a secret key.
    pub fn new(key: u128, length: Length, kernel: Kernel) -> Self {
        TokenDraws { key: Aes128::with_kernel(kernel, key), length, kernel }
    }

    fn block(&self, number: u64) -> u128 {
        let mut block = [number.into()];
        self.key.encrypt_with(self.kernel.for_few_blocks(), &mut block);
        block[0] & self.length.mask()
    }

    /// Returns R. The last bit of R is 1, so that the two tokens of a wire have different types.
    pub fn offset(&self) -> u128 {
        self.block(0) | self.length.last()
    }

    /// Returns both tokens of the wire with this tweak. In methods other than Ga and GaX, only inputs have
    /// random tokens.
    pub fn of_wire(&self, method: Method, tweak: u64) -> [u128; 2] {
        match method {
            Method::Ga => self.pair(method, 0, [self.block(2 * tweak), self.block(2 * tweak + 1)]),
            _ => self.pair(method, self.offset(), [self.block(tweak), 0]),
        }
    }

    /// Writes both tokens of each input to `pairs`. `drawn` is a buffer for random blocks.
    pub fn inputs_into(
        &self,
        method: Method,
        inputs: u32,
        drawn: &mut Zeroizing<Vec<u128>>,
        pairs: &mut Zeroizing<Vec<[u128; 2]>>,
    ) {
        let (inputs, offset) = (inputs as usize, Zeroizing::new(self.offset()));
        let each = if method == Method::Ga { 2 } else { 1 };
        drawn.resize(each * inputs, 0);
        self.key.ctr_with(self.kernel, each as u128, drawn);
        let of = |drawn: &[u128]| {
            let [zero, one] = [0, each - 1].map(|k| drawn[k] & self.length.mask());
            self.pair(method, *offset, [zero, one])
        };
        pairs.clear();
        pairs.extend(drawn.chunks_exact(each).map(of));
    }

    /// Returns both tokens of each input.
    pub fn of_inputs(&self, method: Method, inputs: u32) -> Zeroizing<Vec<[u128; 2]>> {
        let mut drawn = Zeroizing::new(Vec::new());
        let mut pairs = Zeroizing::new(Vec::with_capacity(inputs as usize));
        self.inputs_into(method, inputs, &mut drawn, &mut pairs);
        pairs
    }

    fn pair(&self, method: Method, offset: u128, [zero, one]: [u128; 2]) -> [u128; 2] {
        let last = self.length.last();
        match method {
            Method::Ga => [zero, one & !last | !zero & last],
            Method::GaX | Method::GaXR | Method::HalfGates => [zero, zero ^ offset],
            // The last bit of a token is the wire's bit.
            Method::PrivacyFree => [zero & !last, (zero & !last) ^ offset],
        }
    }

    /// Returns the key of the tokens.
    pub fn key(&self) -> &Aes128 {
        &self.key
    }
}
