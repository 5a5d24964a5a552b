//! Digests by which the two parties compare their data. The hashed bytes are defined here explicitly. So a
//! change of a serialiser, of the order of a struct's fields or of a type's width cannot silently change a
//! digest.
//!
//! ```text
//!   number    8 bytes, little endian
//!   digest    32 bytes, of fixed length
//!   bytes     their number, then the bytes
//! ```
//!
//! Lists begin with their length, and variants begin with a number. So each sequence of bytes has only one
//! meaning.

/// A digest that is being computed. Each kind of digest has its own domain.
pub struct Digest(blake3::Hasher);

impl Digest {
    /// Begins an empty digest in this domain.
    pub fn of(domain: &'static str) -> Self {
        Digest(blake3::Hasher::new_derive_key(domain))
    }

    /// Appends a number, in 8 bytes.
    pub fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        self.0.update(&number.into().to_le_bytes());
        self
    }

    /// Appends a length or a count, in 8 bytes.
    pub fn length(&mut self, length: usize) -> &mut Self {
        self.number(length as u64)
    }

    /// Appends another digest, or an identifier: 32 bytes.
    pub fn digest(&mut self, digest: &[u8; 32]) -> &mut Self {
        self.0.update(digest);
        self
    }

    /// Appends any number of bytes, after their length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.length(bytes.len());
        self.0.update(bytes);
        self
    }

    /// Returns the digest.
    pub fn done(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_testing::digest as expected;

    #[test]
    fn what_is_hashed_is_what_is_written_here() {
        let mut digest = Digest::of("brickwork test");
        digest.number(0x0102_0304u32).length(5).digest(&[9; 32]).bytes(b"abc").bytes(b"");
        let bytes: [&[u8]; 6] = [
            &[4, 3, 2, 1, 0, 0, 0, 0],
            &[5, 0, 0, 0, 0, 0, 0, 0],
            &[9; 32],
            &[3, 0, 0, 0, 0, 0, 0, 0],
            b"abc",
            &[0; 8],
        ];
        assert_eq!(digest.done(), expected("brickwork test", &bytes));
        assert_ne!(digest.done(), expected("brickwork other", &bytes));
    }
}
