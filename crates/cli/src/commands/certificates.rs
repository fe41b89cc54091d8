//! `ndnweir key certificates`.

use super::outputs::{make_folder, no_room};
use crate::control_args::{CertificatesArgs, KeysArgs, KeysCommand};
use crate::failure::Failure;
use ndnweir_control::certificates::{Authority, CertificateError, Host};
use std::io::ErrorKind;

pub fn run(args: &KeysArgs) -> Result<(), Failure> {
    let KeysCommand::Certificates(args) = &args.command;
    make(args)
}

fn host(text: &str) -> Result<Host, Failure> {
    let remedy = "write NAME=ADDRESS, such as west=192.0.2.1";
    let (name, addresses) = text.split_once('=').ok_or_else(|| Failure::Input(format!("--host {text}: {remedy}")))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) || name == "authority" {
        return Err(Failure::Input(format!("--host {text}: the name is that of files: letters, digits, - and _")));
    }
    let addresses: Vec<String> = addresses.split(',').filter(|address| !address.is_empty()).map(Into::into).collect();
    if addresses.is_empty() {
        return Err(Failure::Input(format!("--host {text}: {remedy}")));
    }
    Ok(Host { name: name.to_owned(), addresses })
}

fn make(args: &CertificatesArgs) -> Result<(), Failure> {
    let hosts = args.hosts.iter().map(|text| host(text)).collect::<Result<Vec<Host>, Failure>>()?;
    make_folder(&args.folder)?;
    let authority = Authority::open(&args.folder, args.days).map_err(failed)?;
    for host in &hosts {
        let fingerprint = authority.certify(host, args.days).map_err(failed)?;
        super::print(&format!("{}/{}.pem  SHA-256 {fingerprint}\n", args.folder.display(), host.name))?;
    }
    Ok(())
}

fn failed(error: CertificateError) -> Failure {
    match error {
        // It was to be read: the key of a certificate that is there.
        CertificateError::File(path, error)
            if error.kind() == ErrorKind::NotFound && path.with_file_name("authority.pem").exists() =>
        {
            Failure::Input(format!("{}: {error}; put it back, or name another folder", path.display()))
        }
        CertificateError::File(path, error) => no_room(&path, &error),
        other => Failure::work(other),
    }
}
