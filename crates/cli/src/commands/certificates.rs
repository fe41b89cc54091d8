//! `ndnweir key certificates`.

use crate::control_args::{CertificatesArgs, KeysArgs, KeysCommand};
use crate::failure::Failure;
use ndnweir_control::certificates::{Authority, Host};
use std::path::Path;

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
    std::fs::create_dir_all(&args.folder).map_err(|error| in_folder(&args.folder, error))?;
    let authority = Authority::open(&args.folder, args.days).map_err(Failure::work)?;
    for host in &hosts {
        let fingerprint = authority.certify(host, args.days).map_err(Failure::work)?;
        super::print(&format!("{}/{}.pem  SHA-256 {fingerprint}\n", args.folder.display(), host.name))?;
    }
    Ok(())
}

fn in_folder(folder: &Path, error: std::io::Error) -> Failure {
    Failure::Work(format!("{}: {error}", folder.display()))
}
