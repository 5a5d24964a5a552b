//! Bits packed into bytes for messages: least significant bit first, unused bits of the last byte are 0.

use crate::Malformed;

/// Packs bits (0 or 1) into bytes.
pub fn pack(bits: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let bits = bits.into_iter();
    let mut bytes = Vec::with_capacity(bits.size_hint().0.div_ceil(8));
    let (mut byte, mut filled) = (0, 0);
    for bit in bits {
        byte |= (bit & 1) << filled;
        filled += 1;
        if filled == 8 {
            bytes.push(byte);
            (byte, filled) = (0, 0);
        }
    }
    if filled > 0 {
        bytes.push(byte);
    }
    bytes
}

/// Returns the first `count` bits of the bytes.
///
/// # Errors
/// [`Malformed::UnexpectedMessage`] if the number of bytes does not fit `count` bits, or an unused bit of the
/// last byte is not 0.
pub fn unpack(bytes: &[u8], count: usize) -> Result<Vec<u8>, Malformed> {
    let unused =
        (8 * bytes.len()).checked_sub(count).filter(|u| *u < 8).ok_or(Malformed::UnexpectedMessage)?;
    if unused > 0 && bytes[bytes.len() - 1] >> (8 - unused) != 0 {
        return Err(Malformed::UnexpectedMessage);
    }
    let mut bits = vec![0; count];
    for (bits, byte) in bits.chunks_mut(8).zip(bytes) {
        bits.iter_mut().enumerate().for_each(|(i, bit)| *bit = byte >> i & 1);
    }
    Ok(bits)
}

/// A fixed-length row of bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// Makes this many zeros.
    pub fn zeros(len: usize) -> Self {
        Bits { words: vec![0; len.div_ceil(64)], len }
    }

    /// Returns the number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns bit `k`, 0 or 1.
    #[inline]
    pub fn get(&self, k: usize) -> u8 {
        (self.words[k / 64] >> (k % 64)) as u8 & 1
    }

    /// Sets bit `k` to 1 if `bit` is 1, and does not change it if `bit` is 0.
    #[inline]
    pub fn add(&mut self, k: usize, bit: u8) {
        self.words[k / 64] |= u64::from(bit & 1) << (k % 64);
    }
}

impl Extend<u8> for Bits {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bits: I) {
        for bit in bits {
            if self.len.is_multiple_of(64) {
                self.words.push(0);
            }
            self.len += 1;
            self.add(self.len - 1, bit);
        }
    }
}

impl FromIterator<u8> for Bits {
    fn from_iter<I: IntoIterator<Item = u8>>(bits: I) -> Self {
        let mut all = Bits::default();
        all.extend(bits);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_stand_where_they_were_put() {
        for count in [0, 1, 63, 64, 65, 200] {
            let bit = |k: usize| (k * k / 3 % 2) as u8;
            let all: Bits = (0..count).map(bit).collect();
            let mut put = Bits::zeros(count);
            (0..count).rev().for_each(|k| put.add(k, bit(k)));
            assert_eq!((&all, all.len()), (&put, count));
            assert!((0..count).all(|k| all.get(k) == bit(k)));
        }
    }

    #[test]
    fn there_and_back_and_nothing_else() {
        for count in 0..40 {
            let bits: Vec<u8> = (0..count).map(|i| (i * i / 3 % 2) as u8).collect();
            let bytes = pack(bits.iter().copied());
            assert_eq!(unpack(&bytes, count).unwrap(), bits);
            assert!(unpack(&[&bytes[..], &[0]].concat(), count).is_err());
            if count % 8 != 0 {
                let mut padded = bytes.clone();
                *padded.last_mut().unwrap() |= 0x80;
                assert_eq!(unpack(&padded, count), Err(Malformed::UnexpectedMessage));
            }
        }
    }
}
