//! Encryption at rest: AES-256-GCM under keys derived from the store's key.
//!
//! Each segment has its own key, derived from its random identifier. Its records are numbered, and the number
//! is the nonce. A segment is written once, so no nonce is used twice. Rows of the index are sealed with
//! random nonces under one key, at most 2^32 of them. The associated data of an encrypted value contains its
//! table and key, so no value can replace another.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use brickwork_base::Error;

/// Bytes that sealing adds to a record of a segment.
pub const TAG_BYTES: usize = 16;

/// The key that seals everything in a store. Its text form has 64 hexadecimal digits.
///
/// ```
/// use brickwork_store::StoreKey;
///
/// let text = StoreKey::generate()?;
/// assert!(StoreKey::from_hex(&text).is_ok() && StoreKey::from_hex("a password").is_err());
/// # Ok::<(), brickwork_base::Error>(())
/// ```
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct StoreKey([u8; 32]);

impl StoreKey {
    /// Reads 64 hexadecimal digits, and ignores white space around them.
    ///
    /// # Errors
    /// [`Error::Input`] for anything else. The message does not contain the text, and the time does not
    /// depend on the digits.
    pub fn from_hex(text: &str) -> Result<Self, Error> {
        let mut key = StoreKey([0; 32]);
        match base16ct::mixed::decode(text.trim(), &mut key.0) {
            Ok(bytes) if bytes.len() == 32 => Ok(key),
            _ => Err(Error::Input(
                "a store key must be 64 hexadecimal digits; `brickwork keygen --store-key` makes one".into(),
            )),
        }
    }

    /// Returns a new key, in the form that [`StoreKey::from_hex`] reads.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system gives no randomness.
    pub fn generate() -> Result<Zeroizing<String>, Error> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(no_randomness)?;
        let mut hex = Zeroizing::new(String::with_capacity(64));
        for byte in key.iter() {
            hex.extend(
                [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).expect("a digit")),
            );
        }
        Ok(hex)
    }

    /// Makes the key with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        StoreKey(bytes)
    }

    fn derive(&self, purpose: &str, id: &[u8]) -> LessSafeKey {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&(purpose.len() as u64).to_le_bytes()).update(purpose.as_bytes()).update(id);
        let key = Zeroizing::new(*hasher.finalize().as_bytes());
        hasher.zeroize();
        LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &*key).expect("32 bytes"))
    }

    /// Returns the key that seals the index.
    pub(super) fn rows(&self) -> RowKey {
        RowKey(self.derive("brickwork stock index", &[]))
    }

    /// Returns the key that seals the file of an epoch's keys.
    pub(super) fn epoch(&self, id: &[u8; 32]) -> RowKey {
        RowKey(self.derive("brickwork stock epoch keys", id))
    }

    /// Returns the key that seals one segment.
    pub(super) fn segment(&self, id: &[u8; 16]) -> RecordsKey {
        RecordsKey(self.derive("brickwork stock segment", id))
    }
}

fn no_randomness(error: getrandom::Error) -> Error {
    Error::Resource(format!("the operating system gave no random bytes ({error})"))
}

impl std::fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreKey(secret)")
    }
}

/// A key that seals rows of the index.
pub(super) struct RowKey(LessSafeKey);

impl RowKey {
    /// Returns `nonce ‖ ciphertext ‖ tag`.
    pub fn seal(&self, about: &[u8], row: &[u8]) -> Result<Vec<u8>, Error> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(no_randomness)?;
        // The buffer has room for the tag. Otherwise it would have to grow, and could leave a copy of the
        // secret behind.
        let mut text = Vec::with_capacity(row.len() + TAG_BYTES);
        text.extend_from_slice(row);
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(about), &mut text)
            .expect("a row is short enough to be encrypted");
        Ok([&nonce[..], &text].concat())
    }

    /// Returns the row, or none if it was not sealed with this associated data.
    pub fn open(&self, about: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut text = Zeroizing::new(text.to_vec());
        let length = self
            .0
            .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(about), &mut text)
            .ok()?
            .len();
        text.truncate(length);
        Some(text)
    }
}

/// The key that seals the records of one segment.
pub(super) struct RecordsKey(LessSafeKey);

impl RecordsKey {
    fn nonce(number: u64) -> Nonce {
        let mut nonce = [0; NONCE_LEN];
        nonce[..8].copy_from_slice(&number.to_le_bytes());
        Nonce::assume_unique_for_key(nonce)
    }

    /// Returns the associated data of a record: that of its segment, and the record's number.
    fn name(number: u64, about: &[u8]) -> Aad<Vec<u8>> {
        Aad::from([about, &number.to_le_bytes()].concat())
    }

    /// Replaces a record by its ciphertext and tag.
    pub fn seal(&self, number: u64, about: &[u8], record: &mut Vec<u8>) {
        let sealed = self.0.seal_in_place_append_tag(Self::nonce(number), Self::name(number, about), record);
        sealed.expect("a record is short enough to be encrypted");
    }

    /// Replaces a record by its ciphertext; returns the tag.
    pub fn seal_apart(&self, number: u64, about: &[u8], record: &mut [u8]) -> [u8; TAG_BYTES] {
        let tag = self.0.seal_in_place_separate_tag(Self::nonce(number), Self::name(number, about), record);
        *tag.expect("a record is short enough to be encrypted").as_ref().first_chunk().expect("16 bytes")
    }

    /// Decrypts a sealed record in place, without its tag; false if it is not the record with this number.
    pub fn open(&self, number: u64, about: &[u8], sealed: &mut [u8]) -> bool {
        self.0.open_in_place(Self::nonce(number), Self::name(number, about), sealed).is_ok()
    }
}
