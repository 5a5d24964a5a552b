//! TLS for requests: a certificate of the service, and clients that know it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::place::HttpStream;
use crate::commands::files;
use crate::render::failure::Failure;

const HINT: &str = "docs/guides/serve.md has a command that makes a certificate and its key";

/// Reads the certificates of a PEM file.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let name = path.display().to_string();
    let pem = files::read_all(File::open(path), files::MAX_KEY_BYTES, &name)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(Failure::input(format!("{name} contains no certificate in PEM form"), HINT)),
    }
}

fn unusable(error: rustls::Error) -> Failure {
    Failure::fault(format!("this build cannot use TLS: {error}"))
}

/// Returns what accepts connections with this certificate. Only the owner may be able to read the key.
///
/// # Errors
/// If a file cannot be read, or the two do not belong together.
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, Failure> {
    let chain = certificates(certificate)?;
    let pem = files::private_bytes(key, files::MAX_KEY_BYTES)?;
    let private = PrivateKeyDer::from_pem_slice(&pem).map_err(|_| {
        Failure::input(format!("{} contains no private key in PEM form", key.display()), HINT)
    })?;
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS13]).map_err(unusable)?.with_no_client_auth();
    let mut config = builder.with_single_cert(chain, private).map_err(|_| {
        let (certificate, key) = (certificate.display(), key.display());
        Failure::input(format!("the key in {key} is not that of the certificate in {certificate}"), HINT)
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config).into())
}

/// Accepts only the certificate that it knows. So names and dates do not matter.
#[derive(Debug)]
struct PinnedCertificate {
    known: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match *shown == self.known {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("only TLS 1.3 is used".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Makes connections to a service with the first certificate of a file.
pub struct KnownService(TlsConnector);

impl KnownService {
    /// Reads the certificate.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let (known, provider) = (certificates(path)?.remove(0), Arc::new(aws_lc_rs::default_provider()));
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let config = builder
            .with_protocol_versions(&[&TLS13])
            .map_err(unusable)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(PinnedCertificate { known, provider }))
            .with_no_client_auth();
        Ok(KnownService(Arc::new(config).into()))
    }

    /// Begins TLS on a connection.
    ///
    /// # Errors
    /// If the service has another certificate or does not use TLS.
    pub async fn connect(&self, stream: Box<dyn HttpStream>) -> Result<Box<dyn HttpStream>, String> {
        let name = ServerName::try_from("localhost").map_err(|e| e.to_string())?;
        let connected = self.0.connect(name, stream).await;
        let is_other = |e: &std::io::Error| {
            let why = e.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>());
            matches!(why, Some(rustls::Error::InvalidCertificate(_)))
        };
        match connected {
            Ok(stream) => Ok(Box::new(stream)),
            Err(e) if is_other(&e) => Err("it has another certificate than the given one".into()),
            Err(e) => Err(e.to_string()),
        }
    }
}
