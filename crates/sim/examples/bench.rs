//! Prints the speed of the engine: `cargo run --release -p ndnweir-sim --example bench [scale] [case] [threads]`.

use ndnweir_sim::bench::cases;

/// Peak resident memory of this process, in MiB; zero where /proc does not tell.
fn peak_rss() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)).and_then(|n| n.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

fn main() {
    let mut args = std::env::args().skip(1);
    let scale = args.next().and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let only = args.next();
    let threads = args.next().and_then(|n| n.parse().ok()).unwrap_or(1);
    println!("case        hops          events/hop  M hops/s  ns/hop  peak in flight  pending  peak RSS MiB");
    for case in cases(scale).into_iter().filter(|case| only.as_ref().is_none_or(|only| case.name == only)) {
        #[expect(clippy::disallowed_methods, reason = "measures the engine from outside")]
        let start = std::time::Instant::now();
        let work = case.run(threads);
        let took = start.elapsed().as_secs_f64();
        match work {
            Ok(work) => println!(
                "{:10} {:12} {:10.3} {:10.2} {:8.1} {:14} {:9} {:10.1}",
                case.name,
                work.packet_hops,
                work.events as f64 / work.packet_hops as f64,
                work.packet_hops as f64 / took / 1e6,
                took * 1e9 / work.packet_hops as f64,
                work.peak_in_flight,
                work.peak_pending,
                peak_rss()
            ),
            Err(error) => println!("{:10} {error}", case.name),
        }
    }
}
