//! `ndnweir status`.

use super::connect;
use super::table::pairs;
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::manage_args::StatusArgs;
use serde_json::json;

pub fn run(args: &StatusArgs) -> Result<(), Failure> {
    #[cfg(feature = "view")]
    if args.watch {
        return watch(args);
    }
    let s = connect(&args.remote)?.status()?;
    let uptime = s.now.saturating_sub(s.started).as_secs();
    if args.remote.json {
        return print_json(&json!({
            "version": s.version,
            "started_unix_seconds": s.started.as_secs_f64(), "uptime_seconds": uptime,
            "fib_entries": s.fib_entries, "pit_entries": s.pit_entries, "cs_entries": s.cs_entries,
            "name_tree_entries": s.name_tree_entries, "measurements_entries": s.measurements_entries,
            "in": { "interests": s.in_interests, "data": s.in_data, "nacks": s.in_nacks },
            "out": { "interests": s.out_interests, "data": s.out_data, "nacks": s.out_nacks },
            "satisfied_interests": s.satisfied_interests, "unsatisfied_interests": s.unsatisfied_interests,
            "rejected_interests": s.rejected_interests, "rejected_for_memory": s.rejected_for_memory,
            "memory_drops": s.memory_drops, "unsolicited_data": s.unsolicited_data,
        }));
    }
    let (hours, minutes, seconds) = (uptime / 3600, uptime / 60 % 60, uptime % 60);
    let mut lines = vec![
        ("version", s.version),
        ("uptime", format!("{hours} h {minutes:02} min {seconds:02} s")),
        ("FIB", format!("{} entries", s.fib_entries)),
        ("PIT", format!("{} entries", s.pit_entries)),
        ("content store", format!("{} packets", s.cs_entries)),
        ("in", format!("{} Interests, {} Data, {} Nacks", s.in_interests, s.in_data, s.in_nacks)),
        ("out", format!("{} Interests, {} Data, {} Nacks", s.out_interests, s.out_data, s.out_nacks)),
        ("satisfied", format!("{} Interests", s.satisfied_interests)),
        ("unsatisfied", format!("{} Interests", s.unsatisfied_interests)),
    ];
    if s.rejected_interests > 0 {
        let memory = s.rejected_for_memory;
        lines.push((
            "rejected",
            format!("{} Interests rejected by full tables, {memory} of them for memory", s.rejected_interests),
        ));
    }
    if s.memory_drops > 0 {
        lines.push(("dropped", format!("{} packets for lack of memory", s.memory_drops)));
    }
    if s.unsolicited_data > 0 {
        lines
            .push(("unsolicited", format!("{} Data without a pending Interest sent to that face", s.unsolicited_data)));
    }
    print(&pairs(&lines))
}

/// Draws what the faces carry, until a key or a signal ends it.
#[cfg(feature = "view")]
fn watch(args: &StatusArgs) -> Result<(), Failure> {
    use ndnweir_net::mgmt::dataset::FaceStatus;
    use ndnweir_view::terminal::{self, FaceTotals, ForwarderSample};
    terminal::check().map_err(Failure::input)?;
    let stop = crate::interrupt::watch()?;
    let mut forwarder = connect(&args.remote)?;
    let first = forwarder.status()?;
    let title = format!("forwarder, version {}", first.version);
    let ask = || {
        let status = forwarder.status().map_err(|error| error.to_string())?;
        let faces: Vec<FaceStatus> = forwarder.list("faces", "list").map_err(|error| error.to_string())?;
        let face = |face: FaceStatus| FaceTotals {
            id: face.face_id,
            uri: face.remote_uri,
            bytes_in: face.counters.in_bytes,
            bytes_out: face.counters.out_bytes,
        };
        let totals = vec![
            format!("PIT {}", status.pit_entries),
            format!("content store {}", status.cs_entries),
            format!("FIB {}", status.fib_entries),
            format!("satisfied {}, unsatisfied {}", status.satisfied_interests, status.unsatisfied_interests),
        ];
        Ok(ForwarderSample { totals, faces: faces.into_iter().map(face).collect() })
    };
    terminal::watch_faces(&title, stop, ask).map_err(Failure::work)
}
