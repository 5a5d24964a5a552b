//! Fields of 4 to 256 elements, in constant time: an element is a byte, whose bits are the coefficients of a
//! polynomial over F_2.

use brickwork_kernels::{Factor, SymbolFactors};

/// GF(2^bits), for 2 to 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    bits: u32,
    reduction: u8,
}

/// For each number of bits from 2 on, the value of x^bits: an irreducible polynomial without its leading
/// term.
const REDUCTIONS: [u8; 7] = [0b11, 0b11, 0b11, 0b101, 0b11, 0b11, 0b1_1011];

impl Field {
    /// Returns the field of 2^bits elements; `None` if it has fewer than 4 or more than 256.
    pub fn of_bits(bits: u32) -> Option<Self> {
        let reduction = *REDUCTIONS.get(bits.checked_sub(2)? as usize)?;
        Some(Field { bits, reduction })
    }

    /// Returns the number of bits of an element.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the mask of the bits that an element uses within its byte.
    pub fn mask(self) -> u8 {
        (u16::MAX >> (16 - self.bits)) as u8
    }

    /// Returns the product. Takes constant time.
    pub fn mul(self, a: u8, b: u8) -> u8 {
        let (mut power, mut product) = (a, 0);
        for bit in 0..self.bits {
            product ^= power & (b >> bit & 1).wrapping_neg();
            power = self.double(power);
        }
        product
    }

    /// Returns x times an element.
    fn double(self, a: u8) -> u8 {
        let carry = (a >> (self.bits - 1) & 1).wrapping_neg();
        (a << 1 & self.mask()) ^ (carry & self.reduction)
    }

    /// Returns the inverse of an element, and 0 for 0.
    pub fn inverse(self, a: u8) -> u8 {
        // a^(2^bits − 2) is the product of a^(2^i) for all i from 1 on.
        (1..self.bits)
            .fold((1, a), |(product, power), _| {
                let power = self.mul(power, power);
                (self.mul(product, power), power)
            })
            .0
    }

    /// Returns the multiplication with `element`, as a linear map of bits. Takes constant time.
    pub(super) fn factor(self, element: u8) -> Factor {
        let mut image = element;
        Factor(std::array::from_fn(|bit| {
            let here = image & u8::from(bit < self.bits as usize).wrapping_neg();
            image = self.double(image);
            here
        }))
    }

    /// Returns the multiplication with any element, for the vector kernels.
    pub(super) fn scale(self) -> SymbolFactors {
        SymbolFactors::new(|element| self.factor(element & self.mask()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> impl Iterator<Item = Field> {
        (2..=8).map(|bits| Field::of_bits(bits).unwrap())
    }

    #[test]
    fn they_are_fields() {
        assert!([0, 1, 9].iter().all(|&bits| Field::of_bits(bits).is_none()));
        for field in fields() {
            let all = || 0..=field.mask();
            assert_eq!(usize::from(field.mask()) + 1, 1 << field.bits());
            assert_eq!(field.inverse(0), 0);
            for a in all() {
                assert_eq!((field.mul(a, 1), field.mul(a, 0)), (a, 0));
                assert!(a == 0 || field.mul(a, field.inverse(a)) == 1);
                for b in all() {
                    assert_eq!(field.mul(a, b), field.mul(b, a));
                    let c = a.wrapping_mul(7) & field.mask() ^ 1;
                    assert_eq!(field.mul(a, b ^ c), field.mul(a, b) ^ field.mul(a, c));
                    assert_eq!(field.mul(a, field.mul(b, c)), field.mul(field.mul(a, b), c));
                }
            }
        }
    }

    #[test]
    fn factors_are_multiplications() {
        for field in fields() {
            for a in 0..=field.mask() {
                let Factor(images) = field.factor(a);
                for b in 0..=field.mask() {
                    let product =
                        (0..8).fold(0, |sum, bit| sum ^ images[bit] & (b >> bit & 1).wrapping_neg());
                    assert_eq!(product, field.mul(a, b));
                }
                assert!(images[field.bits() as usize..].iter().all(|&image| image == 0));
            }
        }
    }
}
