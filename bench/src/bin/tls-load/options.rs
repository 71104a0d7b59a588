//! The command line.

use std::net::SocketAddr;

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme, SupportedProtocolVersion,
    client::{
        Resumption,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{
        CryptoProvider,
        aws_lc_rs::{cipher_suite, default_provider, kx_group},
        verify_tls12_signature, verify_tls13_signature,
    },
    pki_types::{CertificateDer, ServerName, UnixTime},
    version::{TLS12, TLS13},
};
use std::sync::Arc;

/// What is asked of a server.
pub struct Options {
    /// Where it listens.
    pub address: SocketAddr,
    /// Connections at a time.
    pub connections: usize,
    /// How long new connections are started.
    pub seconds: f64,
    /// The one version that is offered.
    pub version: &'static SupportedProtocolVersion,
    /// The key exchange groups that are offered, in this order.
    pub groups: String,
    /// Of how many connections one is cut in mid-handshake; 0: none.
    pub cut: u64,
    /// A connection that takes longer has failed.
    pub limit_ns: u64,
}

const HELP: &str = "\
Full TLS handshakes with a server, as many as it takes, each with one HTTP request.

usage: tls-load --address IP:PORT [options]
  --connections N   at a time (8)
  --seconds S       how long new connections are started (2)
  --tls 1.2|1.3     the version offered (1.3)
  --groups LIST     of x25519, p256, p384; the first is the key share (x25519,p256)
  --cut N           every Nth connection is cut in mid-handshake (0: none)
  --limit S         a connection that takes longer has failed (10)

Prints one JSON object; exits with 1 when a connection failed that was not cut.";

impl Options {
    /// Reads the command line; the message otherwise.
    pub fn read() -> Result<Options, String> {
        let mut o = Options {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            connections: 8,
            seconds: 2.0,
            version: &TLS13,
            groups: "x25519,p256".to_owned(),
            cut: 0,
            limit_ns: 10_000_000_000,
        };
        let mut args = std::env::args().skip(1);
        while let Some(option) = args.next() {
            if option == "--help" || option == "-h" {
                println!("{HELP}");
                std::process::exit(0);
            }
            let value = args.next().ok_or_else(|| format!("{option} needs a value\n{HELP}"))?;
            let wrong = || format!("{option}: not '{value}'\n{HELP}");
            match &*option {
                "--address" => o.address = value.parse().map_err(|_| wrong())?,
                "--connections" => o.connections = value.parse().map_err(|_| wrong())?,
                "--seconds" => o.seconds = value.parse().map_err(|_| wrong())?,
                "--groups" => o.groups = value,
                "--cut" => o.cut = value.parse().map_err(|_| wrong())?,
                "--limit" => {
                    o.limit_ns = (value.parse::<f64>().map_err(|_| wrong())? * 1e9) as u64;
                }
                "--tls" => {
                    o.version = match &*value {
                        "1.2" => &TLS12,
                        "1.3" => &TLS13,
                        _ => return Err(wrong()),
                    }
                }
                _ => return Err(format!("no option {option}\n{HELP}")),
            }
        }
        if o.address.port() == 0 || o.connections == 0 {
            return Err(format!("an address with a port and at least one connection\n{HELP}"));
        }
        Ok(o)
    }

    /// The TLS side: nothing is ever resumed.
    pub fn client(&self) -> Result<ClientConfig, String> {
        let mut provider = default_provider();
        provider.kx_groups.clear();
        for group in self.groups.split(',') {
            provider.kx_groups.push(match group {
                "x25519" => kx_group::X25519,
                "p256" => kx_group::SECP256R1,
                "p384" => kx_group::SECP384R1,
                _ => return Err(format!("--groups: no group '{group}'")),
            });
        }
        provider.cipher_suites = vec![
            // What OpenSSL's own client and server agree on in TLS 1.3.
            cipher_suite::TLS13_AES_256_GCM_SHA384,
            cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        ];
        let provider = Arc::new(provider);
        let verifier = Arc::new(AnyCertificate(Arc::clone(&provider)));
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[self.version])
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}

/// Takes every certificate, but checks that the server has its key: the signature of the handshake
/// is verified.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
