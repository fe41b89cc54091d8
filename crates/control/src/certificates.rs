//! Certificates with which routers and controllers know each other: a small authority in a folder.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use sha2::{Digest, Sha256};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Somebody to certify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The name of its files, and the certificate's subject.
    pub name: String,
    /// Addresses and names by which others reach it.
    pub addresses: Vec<String>,
}

/// Why a certificate cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// The file is there already.
    #[error("{0} is there already: remove it and its key to make them anew")]
    Taken(PathBuf),
    /// Something about keys or names.
    #[error("{0}: {1}")]
    Certificate(String, rcgen::Error),
}

/// An authority with its key.
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), CertificateError> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(mode).open(path);
    let mut file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CertificateError::Taken(path.to_owned()),
        _ => CertificateError::File(path.to_owned(), error),
    })?;
    file.write_all(text.as_bytes()).map_err(|error| CertificateError::File(path.to_owned(), error))
}

fn params(name: &str, addresses: &[String], days: u16) -> Result<CertificateParams, CertificateError> {
    let failed = |error| CertificateError::Certificate(name.to_owned(), error);
    let mut params = CertificateParams::new(addresses.to_vec()).map_err(failed)?;
    params.distinguished_name.push(DnType::CommonName, name);
    // Clocks of two machines may differ by some time.
    let now = SystemTime::now();
    params.not_before = (now - std::time::Duration::from_secs(3600)).into();
    params.not_after = (now + std::time::Duration::from_secs(86_400 * u64::from(days))).into();
    Ok(params)
}

impl Authority {
    /// The authority of a folder, made if there is none.
    ///
    /// # Errors
    /// If its files cannot be read or written.
    pub fn open(folder: &Path, days: u16) -> Result<Authority, CertificateError> {
        let (certificate, key) = (folder.join("authority.pem"), folder.join("authority-key.pem"));
        let failed = |error| CertificateError::Certificate(certificate.display().to_string(), error);
        // Its name and limits are always the same, so that its key says all of it.
        let mut params = params("ndnweir authority", &[], days)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let pair = if certificate.exists() {
            let text = ndnweir_files::read_text(&key, ndnweir_files::SETTINGS)
                .map_err(|error| CertificateError::File(key.clone(), error))?;
            KeyPair::from_pem(&text).map_err(failed)?
        } else {
            let pair = KeyPair::generate().map_err(failed)?;
            let made = params.self_signed(&pair).map_err(failed)?;
            write(&key, &pair.serialize_pem(), 0o600)?;
            write(&certificate, &made.pem(), 0o644)?;
            pair
        };
        let issuer = Issuer::new(params, pair);
        Ok(Authority { folder: folder.to_owned(), issuer })
    }

    /// Makes a host's key and certificate; its SHA-256 in hexadecimal.
    ///
    /// # Errors
    /// If they are there already or cannot be written.
    pub fn certify(&self, host: &Host, days: u16) -> Result<String, CertificateError> {
        let failed = |error| CertificateError::Certificate(host.name.clone(), error);
        let mut params = params(&host.name, &host.addresses, days)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let pair = KeyPair::generate().map_err(failed)?;
        let made = params.signed_by(&pair, &self.issuer).map_err(failed)?;
        write(&self.folder.join(format!("{}-key.pem", host.name)), &pair.serialize_pem(), 0o600)?;
        write(&self.folder.join(format!("{}.pem", host.name)), &made.pem(), 0o644)?;
        Ok(Sha256::digest(made.der()).iter().map(|byte| format!("{byte:02x}")).collect())
    }
}
