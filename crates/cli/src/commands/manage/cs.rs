//! `ndnweir cs`.

use super::connect;
use super::table::pairs;
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::manage_args::{CsAction, CsArgs, Switch};
use ndnweir_net::mgmt::dataset::CsInfo;
use ndnweir_net::mgmt::{ControlParameters, cs_flags};
use ndnweir_net::remote::Remote;
use ndnweir_wire::Name;
use serde_json::json;

pub fn run(args: &CsArgs) -> Result<(), Failure> {
    let as_json = args.remote.json;
    let mut forwarder = connect(&args.remote)?;
    match &args.action {
        CsAction::Info => {
            let infos: Vec<CsInfo> = forwarder.list("cs", "info")?;
            let info = infos.first().ok_or_else(|| Failure::work("the forwarder reports no content store"))?;
            info_of(info, as_json)
        }
        CsAction::Config { capacity, admit, serve } => {
            let parameters = configuration(*capacity, *admit, *serve)?;
            let done = forwarder.command("cs", "config", &parameters)?;
            let (capacity, flags) = (done.capacity.unwrap_or(0), done.flags.unwrap_or(0));
            let word = |bit| if flags & bit != 0 { "on" } else { "off" };
            let (admit, serve) = (word(cs_flags::ADMIT), word(cs_flags::SERVE));
            if as_json {
                let on = |word| word == "on";
                return print_json(&json!({ "capacity": capacity, "admit": on(admit), "serve": on(serve) }));
            }
            print(&format!("The content store holds {capacity} packets at most, admit {admit}, serve {serve}.\n"))
        }
        CsAction::Erase { prefix, count } => {
            let erased = erase(&mut forwarder, prefix, *count)?;
            if as_json {
                return print_json(&json!({ "prefix": prefix.to_string(), "erased": erased }));
            }
            print(&format!("Erased {erased} packets under {prefix}.\n"))
        }
    }
}

/// What a command requests, with the bits that are meant.
fn configuration(
    capacity: Option<u64>,
    admit: Option<Switch>,
    serve: Option<Switch>,
) -> Result<ControlParameters, Failure> {
    if capacity.is_none() && admit.is_none() && serve.is_none() {
        return Err(Failure::input("say what to change: --capacity PACKETS, --admit on|off, --serve on|off"));
    }
    let flags = [(admit, cs_flags::ADMIT), (serve, cs_flags::SERVE)];
    let bits = |wanted: &dyn Fn(Switch) -> bool| {
        flags.iter().filter(|(switch, _)| switch.is_some_and(wanted)).fold(0, |bits, (_, bit)| bits | bit)
    };
    let (mask, flags) = (bits(&|_| true), bits(&|switch| switch == Switch::On));
    let (flags, mask) = if mask == 0 { (None, None) } else { (Some(flags), Some(mask)) };
    Ok(ControlParameters { capacity, flags, mask, ..ControlParameters::default() })
}

/// Erases command after command, since one erases only so many packets.
fn erase(forwarder: &mut Remote, prefix: &Name, count: Option<u64>) -> Result<u64, Failure> {
    let mut erased = 0;
    loop {
        let left = count.map(|count| count - erased);
        let parameters = ControlParameters { count: left, ..ControlParameters::of_name(prefix.clone()) };
        let done = forwarder.command("cs", "erase", &parameters)?;
        let now = done.count.unwrap_or(0).min(left.unwrap_or(u64::MAX));
        erased += now;
        // A capacity in the answer means that more could be erased (NFD wiki, `CsMgmt`).
        if now == 0 || done.capacity.is_none() || count == Some(erased) {
            return Ok(erased);
        }
    }
}

fn info_of(info: &CsInfo, as_json: bool) -> Result<(), Failure> {
    let on = |bit| info.flags & bit != 0;
    if as_json {
        return print_json(&json!({
            "capacity": info.capacity, "entries": info.entries, "hits": info.hits, "misses": info.misses,
            "admit": on(cs_flags::ADMIT), "serve": on(cs_flags::SERVE),
        }));
    }
    let word = |bit| if on(bit) { "on" } else { "off" }.to_owned();
    print(&pairs(&[
        ("capacity", format!("{} packets", info.capacity)),
        ("entries", format!("{} packets", info.entries)),
        ("hits", info.hits.to_string()),
        ("misses", info.misses.to_string()),
        ("admit", word(cs_flags::ADMIT)),
        ("serve", word(cs_flags::SERVE)),
    ]))
}
