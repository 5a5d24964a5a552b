//! The identity of a party: an Ed25519 key pair. The peer's public key is pinned, and is sent as a raw public
//! key (RFC 7250), so there is no certificate and no authority.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use base64ct::{Base64, Encoding};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::aws_lc_rs::{cipher_suite, kx_group};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme,
};
use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

use brickwork_base::Error;

/// The prefix of the text form of a public key.
const PREFIX: &str = "brickwork1:";

/// The bytes that precede the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410, section 4).
const SPKI_HEADER: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The bytes that precede the 32 bytes of an Ed25519 private key in a PKCS#8 structure (RFC 8410, section 7).
const PKCS8_HEADER: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// The length of a private key in that structure.
const DER_BYTES: usize = PKCS8_HEADER.len() + 32;

/// The lines around a private key in PEM text (RFC 7468, section 10).
const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// The public key of a party. Its text form is `brickwork1:` and 64 hexadecimal digits.
///
/// ```
/// use brickwork_wire::tls::PublicKey;
///
/// let key = PublicKey::from_bytes([7; 32]);
/// assert_eq!(key.to_string().parse::<PublicKey>()?, key);
/// # Ok::<(), brickwork_base::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Makes the key with these bytes, which are not checked: a wrong key matches no peer.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        PublicKey(bytes)
    }

    /// Returns the 32 bytes of the key.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    fn spki(self) -> [u8; 44] {
        let mut spki = [0; 44];
        spki[..12].copy_from_slice(&SPKI_HEADER);
        spki[12..].copy_from_slice(&self.0);
        spki
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let malformed = || {
            Error::Usage(format!(
                "this is not a public key; a public key is {PREFIX} followed by 64 hexadecimal digits, as \
                 `brickwork keygen` prints it"
            ))
        };
        let digits = text.trim().strip_prefix(PREFIX).ok_or_else(malformed)?.as_bytes();
        if digits.len() != 64 {
            return Err(malformed());
        }
        let mut key = [0; 32];
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            for &digit in pair {
                let nibble = char::from(digit).to_digit(16).ok_or_else(malformed)?;
                *byte = *byte << 4 | nibble as u8;
            }
        }
        Ok(PublicKey(key))
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A party's key pair.
///
/// ```
/// use brickwork_wire::tls::Identity;
///
/// let (identity, pem) = Identity::generate()?;
/// // The text of the private key goes to a file of its owner; the public key goes to the peer.
/// assert_eq!(Identity::from_pem(&pem)?.public_key(), identity.public_key());
/// # Ok::<(), brickwork_base::Error>(())
/// ```
pub struct Identity {
    public: PublicKey,
    certified: Arc<CertifiedKey>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.public)
    }
}

impl Identity {
    /// Makes a new key pair; returns it, and its private key as a PKCS#8 PEM text.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system gives no randomness.
    pub fn generate() -> Result<(Self, Zeroizing<String>), Error> {
        let mut der = Zeroizing::new([0; DER_BYTES]);
        der[..16].copy_from_slice(&PKCS8_HEADER);
        getrandom::fill(&mut der[16..])
            .map_err(|e| Error::Resource(format!("the operating system gave no random bytes: {e}")))?;
        let identity = Identity::from_der(&PrivatePkcs8KeyDer::from(&der[..]))?;
        Ok((identity, to_pem(&der)))
    }

    /// Reads the key pair with the private key in a PKCS#8 PEM text, as [`Identity::generate`] or OpenSSL
    /// writes it.
    ///
    /// # Errors
    /// [`Error::Input`] if the text holds no Ed25519 key.
    pub fn from_pem(pem: &str) -> Result<Self, Error> {
        let der = from_pem(pem).ok_or_else(|| {
            Error::Input("the key file does not hold a PKCS#8 private key in PEM form".into())
        })?;
        Identity::from_der(&PrivatePkcs8KeyDer::from(&der[..]))
    }

    fn from_der(der: &PrivatePkcs8KeyDer<'_>) -> Result<Self, Error> {
        let not_ed25519 = || Error::Input("the key file does not hold an Ed25519 private key".into());
        let key = aws_lc_rs::sign::any_eddsa_type(der).map_err(|_| not_ed25519())?;
        let spki = key.public_key().map(|spki| spki.as_ref().to_vec()).ok_or_else(not_ed25519)?;
        let public =
            spki.strip_prefix(&SPKI_HEADER).and_then(|key| key.try_into().ok()).ok_or_else(not_ed25519)?;
        let certified = CertifiedKey::new(vec![CertificateDer::from(spki)], key);
        Ok(Identity { public: PublicKey(public), certified: Arc::new(certified) })
    }

    /// Returns the public key, for the peer.
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    pub(super) fn client_config(&self, peer: PublicKey) -> Result<Arc<ClientConfig>, Error> {
        let pinned = Pinned::new(peer);
        let mut config = ClientConfig::builder_with_details(pinned.provider.clone(), Arc::new(Timeless))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(unusable)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(pinned))
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
                self.certified.clone(),
            )));
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        Ok(Arc::new(config))
    }

    pub(super) fn server_config(&self, peer: PublicKey) -> Result<Arc<ServerConfig>, Error> {
        let pinned = Pinned::new(peer);
        let mut config = ServerConfig::builder_with_details(pinned.provider.clone(), Arc::new(Timeless))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(unusable)?
            .with_client_cert_verifier(Arc::new(pinned))
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(self.certified.clone())));
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        config.max_early_data_size = 0;
        Ok(Arc::new(config))
    }
}

/// A clock that always shows the same time: keys are pinned, and no certificate has a validity period. The
/// clock of rustls panics if the machine's time is before 1970.
#[derive(Debug)]
struct Timeless;

impl TimeProvider for Timeless {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::ZERO))
    }
}

fn unusable(error: rustls::Error) -> Error {
    Error::Resource(format!("this machine cannot use TLS: {error}"))
}

/// Writes a private key as PEM text, in OpenSSL's form. No digit of the key decides a branch or an index.
fn to_pem(der: &[u8; DER_BYTES]) -> Zeroizing<String> {
    let digits = Zeroizing::new(Base64::encode_string(der));
    Zeroizing::new(format!("{BEGIN}\n{}\n{END}\n", *digits))
}

/// Reads the private key in a PEM text with any line breaks; `None` if there is none. Only characters that
/// are not digits of the key decide a branch.
fn from_pem(pem: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut lines = pem.lines().map(str::trim).skip_while(|line| *line != BEGIN).skip(1);
    let mut digits = Zeroizing::new(String::with_capacity(pem.len()));
    loop {
        match lines.next()? {
            END => break,
            line => digits.push_str(line),
        }
    }
    let mut der = Zeroizing::new(vec![0; digits.len()]);
    let length = Base64::decode(digits.as_bytes(), &mut der).ok()?.len();
    der.truncate(length);
    Some(der)
}

/// Returns the cryptographic algorithms that both sides offer. AES-128 comes first. The protocol promises at
/// most 128 bits of computational security, because its labels have 128 bits. Four fifths of the encrypted
/// bytes are tables, for which a longer key would be no better protection.
fn provider() -> CryptoProvider {
    let cipher_suites = vec![
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    // The hybrid key exchange protects against an attacker that records today and has a quantum computer
    // later. Both ends are this software, so no weaker alternative is offered.
    let kx_groups = vec![kx_group::X25519MLKEM768];
    CryptoProvider { cipher_suites, kx_groups, ..aws_lc_rs::default_provider() }
}

/// Accepts exactly one public key, on either side.
#[derive(Debug)]
struct Pinned {
    spki: [u8; 44],
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    fn new(peer: PublicKey) -> Self {
        Pinned { spki: peer.spki(), provider: Arc::new(provider()) }
    }

    fn algorithms(&self) -> &WebPkiSupportedAlgorithms {
        &self.provider.signature_verification_algorithms
    }

    fn check(&self, key: &CertificateDer<'_>, further: &[CertificateDer<'_>]) -> Result<(), rustls::Error> {
        if key.as_ref() == self.spki && further.is_empty() {
            Ok(())
        } else {
            Err(rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    /// Checks a signature by the pinned key, even if the peer sent another key.
    fn verify(
        &self,
        message: &[u8],
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature_with_raw_key(
            message,
            &SubjectPublicKeyInfoDer::from(&self.spki[..]),
            signature,
            self.algorithms(),
        )
    }
}

fn old_tls() -> rustls::Error {
    rustls::Error::General("this party accepts only TLS 1.3".into())
}

/// The verification that both sides share: Ed25519 in TLS 1.3, with the pinned key.
macro_rules! pinned_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            Err(old_tls())
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            _: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            self.verify(message, signature)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        further: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.check(key, further).map(|()| ServerCertVerified::assertion())
    }

    pinned_signatures!();
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        further: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.check(key, further).map(|()| ClientCertVerified::assertion())
    }

    pinned_signatures!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_their_text_forms() {
        let (identity, pem) = Identity::generate().unwrap();
        assert_eq!(Identity::from_pem(&pem).unwrap().public_key(), identity.public_key());
        let text = identity.public_key().to_string();
        assert_eq!(text.parse::<PublicKey>().unwrap(), identity.public_key());
        assert!(!format!("{identity:?}").contains("PRIVATE"));
    }

    #[test]
    fn keys_survive_their_bytes() {
        let key: PublicKey =
            "brickwork1:19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1".parse().unwrap();
        assert_eq!(PublicKey::from_bytes(key.to_bytes()), key);
    }

    /// The example of RFC 8410: a private key (section 10.3) and its public key (section 10.1).
    #[test]
    fn reads_the_key_of_the_rfc() {
        let pem = "-----BEGIN PRIVATE \
                   KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END \
                   PRIVATE KEY-----\n";
        let public = "brickwork1:19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";
        assert_eq!(Identity::from_pem(pem).unwrap().public_key().to_string(), public);
    }

    #[test]
    fn refuses_what_is_not_a_key() {
        for text in [
            "",
            "brickwork1:",
            "brickwork2:00",
            &format!("brickwork1:{}", "g".repeat(64)),
            &format!("brickwork1:{}", "é".repeat(32)),
        ] {
            assert!(matches!(text.parse::<PublicKey>(), Err(Error::Usage(_))), "{text}");
        }
        let rsa_like = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for pem in ["", "-----BEGIN PRIVATE KEY-----\n", rsa_like] {
            assert!(matches!(Identity::from_pem(pem), Err(Error::Input(_))), "{pem}");
        }
    }

    /// Each of the 64 digits at each of its four positions agrees with a bitwise encoding, in lines of any
    /// length and with text around them.
    #[test]
    fn texts_are_those_of_rfc_7468() {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".as_bytes();
        for shift in 0..64 {
            let mut text = Vec::new();
            let mut bits = Vec::new();
            for place in 0..DER_BYTES * 4 / 3 {
                let digit = (place + shift) % 64;
                text.push(digits[digit]);
                bits.extend((0..6).rev().map(|bit| digit >> bit & 1));
            }
            let byte = |bits: &[usize]| bits.iter().fold(0, |byte, bit| byte << 1 | *bit as u8);
            let der: Vec<u8> = bits.chunks(8).map(byte).collect();
            let text = String::from_utf8(text).unwrap();
            assert_eq!(*to_pem(der[..].try_into().unwrap()), format!("{BEGIN}\n{text}\n{END}\n"));
            let lines: Vec<&str> =
                text.as_bytes().chunks(shift + 1).map(|l| str::from_utf8(l).unwrap()).collect();
            let broken = format!("a key\r\n{BEGIN} \r\n{}\r\n{END}\r\nmore", lines.join("\r\n"));
            assert_eq!(*from_pem(&broken).unwrap(), der);
        }
        for bad in ["M", "MA", "MA=", "MC4C!w==", "MC4C=AAA", "MC 4", "MC4C\n=", "MC4_"] {
            assert!(from_pem(&format!("{BEGIN}\n{bad}\n{END}\n")).is_none(), "{bad}");
        }
        for bad in [format!("{BEGIN}\nMC4C\n"), format!("MC4C\n{END}\n"), format!("{END}\nMC4C\n{BEGIN}\n")] {
            assert!(from_pem(&bad).is_none(), "{bad}");
        }
    }
}
