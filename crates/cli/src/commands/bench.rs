//! `ndnweir bench`.

use super::{print, print_json};
use crate::args::BenchArgs;
use crate::failure::Failure;
use ndnweir_lab::speed::{self, Measurement};
use serde_json::json;

pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    #[cfg(feature = "network")]
    if let Some(crate::transfer_args::BenchCommand::Get(args)) = &args.command {
        return super::bench_get::run(args);
    }
    let cases = speed::chosen(args.filter.as_deref(), args.quick);
    if cases.is_empty() {
        let names: Vec<_> = speed::chosen(None, true).iter().map(|case| case.name).collect();
        let wanted = args.filter.as_deref().unwrap_or_default();
        return Err(Failure::Input(format!("no case contains {wanted:?}; there are: {}", names.join(", "))));
    }
    let mut measured = Vec::new();
    if !args.json {
        print(&heading())?;
    }
    for case in &cases {
        let measurement = speed::measure(case).map_err(Failure::work)?;
        if !args.json {
            print(&row(&measurement))?;
        }
        measured.push(measurement);
    }
    match args.json {
        true => print_json(&json!({ "cases": measured })),
        false => print(
            "\nOne core (parallel-…: all), full node pipelines. A packet-hop is one packet crossing one link. Nothing is \
                 recorded, but in\nrecorded-dumbbell and random-… all that a result folder has. Times include setting the \
                 network up.\n",
        ),
    }
}

fn heading() -> String {
    format!(
        "{:<17} {:>12} {:>14} {:>10} {:>12} {:>10} {:>10}  what\n",
        "case", "hops", "hops/s", "ns/hop", "in flight", "peak MiB", "B/pending"
    )
}

fn row(m: &Measurement) -> String {
    let optional = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.0}"));
    format!(
        "{:<17} {:>12} {:>14.0} {:>10.1} {:>12} {:>10} {:>10}  {}\n",
        m.name,
        m.packet_hops,
        m.packet_hops_per_s,
        m.ns_per_hop,
        m.peak_in_flight,
        optional(m.peak_rss_mib),
        optional(m.bytes_per_pending_interest),
        m.summary
    )
}
