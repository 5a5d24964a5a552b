//! Makes files with new keys: a party's key pair, or the key of a store.

use std::fmt;
use std::path::Path;

use brickwork_kernels::Erasing;
use brickwork_store::StoreKey;
use brickwork_wire::tls::{Identity, PublicKey};
use serde::Serialize;

use crate::failure::Error;
use crate::files;

/// A new key pair, whose private key is in a file.
#[derive(Clone, Debug, Serialize)]
pub struct NewIdentity {
    /// The file with the private key.
    pub identity: String,
    /// The public key, for the peer.
    pub public_key: PublicKey,
}

/// A new key of a store.
#[derive(Clone, Debug, Serialize)]
pub struct NewStoreKey {
    /// The file with the key.
    pub store_key: String,
}

/// Makes a key pair and writes the private key to a new file that only its owner can read.
///
/// # Errors
/// An error of the machine if there is such a file, or it cannot be written.
pub fn identity(path: &Path) -> Result<NewIdentity, Error> {
    let (identity, pem) = Identity::generate()?;
    files::write_secret(path, &pem)?;
    Ok(NewIdentity { identity: path.display().to_string(), public_key: identity.public_key() })
}

/// Makes the key of a store in a new file that only its owner can read.
///
/// # Errors
/// As [`identity`].
pub fn store_key(path: &Path) -> Result<NewStoreKey, Error> {
    let _erasing = Erasing::begin();
    let key = StoreKey::generate()?;
    files::write_secret(path, &format!("{}\n", *key))?;
    Ok(NewStoreKey { store_key: path.display().to_string() })
}

/// The text is the public key alone, so that a shell can use `PUBLIC=$(brickwork keygen -o KEYFILE)`.
impl fmt::Display for NewIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.public_key)
    }
}

impl fmt::Display for NewStoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "The key is in {0}; give it as --store-key {0}. Without it nobody can read the store, nor can \
             you.",
            self.store_key
        )
    }
}
