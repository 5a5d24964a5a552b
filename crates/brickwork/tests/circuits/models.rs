//! Models of well-known circuits, written independently of the circuits.

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

/// Returns AES of one block.
pub fn aes128(key: [u8; 16], block: [u8; 16]) -> [u8; 16] {
    let mut block = Array::from(block);
    aes::Aes128::new(&Array::from(key)).encrypt_block(&mut block);
    block.into()
}

/// Returns the compression function of SHA-256 (FIPS 180-4, section 6.2.2).
pub fn sha256(state: [u32; 8], block: [u8; 64]) -> [u32; 8] {
    // The constants are the first bits of the fractional parts of the cube roots of the first 64 primes.
    let primes = (2u64..).filter(|n| (2..*n).all(|d| n % d != 0)).take(64);
    let constants: Vec<u32> =
        primes.map(|p| ((u128::from(p) << 96).cbrt_floor() & 0xffff_ffff) as u32).collect();
    let mut w: Vec<u32> = block.chunks(4).map(|c| u32::from_be_bytes(c.try_into().unwrap())).collect();
    for t in 16..64 {
        let s0 = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ w[t - 15] >> 3;
        let s1 = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ w[t - 2] >> 10;
        w.push(w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1));
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    for t in 0..64 {
        let t1 = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add(e & f ^ !e & g)
            .wrapping_add(constants[t])
            .wrapping_add(w[t]);
        let t2 =
            (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22)).wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    let new = [a, b, c, d, e, f, g, h];
    std::array::from_fn(|i| state[i].wrapping_add(new[i]))
}

/// Returns MD5 of one padded block (RFC 1321, section 3.4).
pub fn md5(block: [u8; 64]) -> [u8; 16] {
    let words: Vec<u32> = block.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
    let start = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let [mut a, mut b, mut c, mut d] = start;
    for i in 0..64 {
        let (f, k, shifts) = match i / 16 {
            0 => (b & c | !b & d, i, [7, 12, 17, 22]),
            1 => (b & d | c & !d, 5 * i + 1, [5, 9, 14, 20]),
            2 => (b ^ c ^ d, 3 * i + 5, [4, 11, 16, 23]),
            _ => (c ^ (b | !d), 7 * i, [6, 10, 15, 21]),
        };
        let constant = (((i + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a.wrapping_add(f).wrapping_add(constant).wrapping_add(words[k % 16]);
        (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(shifts[i % 4])));
    }
    let end = [a, b, c, d];
    let mut digest = [0; 16];
    for (i, bytes) in digest.chunks_mut(4).enumerate() {
        bytes.copy_from_slice(&start[i].wrapping_add(end[i]).to_le_bytes());
    }
    digest
}

trait CubeRoot {
    fn cbrt_floor(self) -> Self;
}

impl CubeRoot for u128 {
    fn cbrt_floor(self) -> u128 {
        let mut root = 0u128;
        for bit in (0..42).rev() {
            let next = root | 1 << bit;
            if next * next * next <= self {
                root = next;
            }
        }
        root
    }
}
