//! `ndnweir link`.

use super::inputs::settings;
use super::{print, print_json};
use crate::failure::Failure;
use crate::interrupt;
use crate::network_args::{LinkArgs, Queue};
use crate::terminal::say;
use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_net::emulator::{
    DirectionCounters, EmulatedDirection, EmulatedNetwork, Emulator, End, MAX_BYTES_IN_FLIGHT, MAX_IN_FLIGHT,
    RateTrace, TraceError,
};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Queue {
    fn limit(self, rate: Option<Rate>, delay: Duration) -> Result<Limit, Failure> {
        match (self, rate) {
            (Queue::Packets(n), _) => Ok(Limit::Packets(n)),
            (Queue::Bytes(bytes), _) => Ok(Limit::Bytes(bytes)),
            (Queue::Bdp(factor), Some(rate)) => {
                let bits = rate.bps() as f64 * 2.0 * delay.secs() * factor;
                // A queue that cannot hold one packet would stop the link.
                Ok(Limit::Bytes(Bytes::new(((bits / 8.0) as u64).max(9000))))
            }
            (Queue::Bdp(_), None) => Err(Failure::Input("a queue in BDP needs --rate or --trace".into())),
        }
    }
}

pub fn run(args: &LinkArgs) -> Result<(), Failure> {
    let trace = args.trace.as_deref().map(read_trace).transpose()?;
    let rate = args.rate.or(trace.as_ref().map(RateTrace::mean));
    let limit = args.queue.limit(rate, args.delay)?;
    let mut direction = EmulatedDirection {
        rate: args.rate,
        trace,
        delay: args.delay,
        limit,
        framing: args.framing,
        ..EmulatedDirection::default()
    };
    direction.impairment.loss = args.loss;
    direction.impairment.jitter = args.jitter;
    direction.impairment.burst = args.burst_loss;
    direction.impairment.arq = args.arq;
    let network = EmulatedNetwork::link(direction, [args.a, args.b], args.ports.into());
    let emulator = Emulator::bind(Ipv4Addr::LOCALHOST, &network, args.seed).map_err(Failure::input)?;
    let stop = interrupt::watch()?;
    let running = emulator.start(&[])?;
    say(format_args!("{} <-> {}; Ctrl-C ends the link", running.address(0, End::A), running.address(0, End::B)));
    let start = Instant::now();
    let end = args.duration.map(|duration| start + std::time::Duration::from_nanos(duration.nanos()));
    while !stop.load(Ordering::Relaxed) && end.is_none_or(|end| Instant::now() < end) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let counted = [(End::A, End::B), (End::B, End::A)].map(|(from, to)| Counted {
        from: running.address(0, from),
        counters: running.counters(0, from),
        undeliverable: running.end_counters(0, to).undeliverable,
    });
    running.stop()?;
    let elapsed = start.elapsed().as_secs_f64();
    if args.json {
        let directions: Vec<Value> = counted.iter().map(Counted::document).collect();
        return print_json(&json!({ "duration_s": elapsed, "directions": directions }));
    }
    print(&counted.iter().map(|direction| direction.line(elapsed)).collect::<String>())
}

fn read_trace(file: &Path) -> Result<RateTrace, Failure> {
    let text = settings(file)?;
    let at = |e: TraceError| Failure::Input(format!("{}:{}: {}", file.display(), e.line, e.message));
    RateTrace::parse(&text).map_err(at)
}

/// One direction at the end.
struct Counted {
    from: SocketAddr,
    counters: DirectionCounters,
    undeliverable: u64,
}

impl Counted {
    fn drops(&self) -> u64 {
        self.counters.queue.drops.total()
    }

    fn mean_queue_ms(&self) -> f64 {
        self.counters.queue.sojourn_sum as f64 / self.counters.queue.sojourn_count.max(1) as f64 / 1e6
    }

    fn document(&self) -> Value {
        json!({
            "from": self.from,
            "datagrams": self.counters.queue.data_packets,
            "bits": self.counters.queue.data_bits,
            "dropped": self.drops(),
            "dropped_for_memory": self.counters.memory_drops,
            "lost": self.counters.propagation.lost,
            "undeliverable": self.undeliverable,
            "mean_queue_ms": self.mean_queue_ms(),
        })
    }

    fn line(&self, elapsed: f64) -> String {
        let memory = match self.counters.memory_drops {
            0 => String::new(),
            drops => format!(
                " ({drops} since {MAX_IN_FLIGHT} datagrams or {} MiB were under way, the most that are kept)",
                MAX_BYTES_IN_FLIGHT >> 20
            ),
        };
        format!(
            "{}: {} datagrams, {:.2} Mbit/s, {} dropped{memory}, {} lost, {} undeliverable, mean queue {:.1} ms\n",
            self.from,
            self.counters.queue.data_packets,
            self.counters.queue.data_bits as f64 / 1e6 / elapsed,
            self.drops(),
            self.counters.propagation.lost,
            self.undeliverable,
            self.mean_queue_ms(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_for_want_of_memory_is_said_at_the_end() {
        let line = |memory_drops| {
            let counters = DirectionCounters { memory_drops, ..DirectionCounters::default() };
            Counted { from: SocketAddr::from(([127, 0, 0, 1], 7001)), counters, undeliverable: 0 }.line(1.0)
        };
        assert!(line(3).contains("dropped (3 since 1048576 datagrams or 256 MiB were under way"), "{}", line(3));
        assert!(!line(0).contains("MiB"));
    }

    #[test]
    fn queues_are_given_in_packets_bytes_or_bandwidth_delay_products() {
        let rate = Some(Rate::from_mbps(100.0));
        let limit = |text: &str| text.parse::<Queue>().unwrap().limit(rate, Duration::from_millis(10)).unwrap();
        assert_eq!(limit("100 packets"), Limit::Packets(100));
        assert_eq!(limit("250kB"), Limit::Bytes(Bytes::new(250_000)));
        assert_eq!(limit("1BDP"), Limit::Bytes(Bytes::new(250_000)));
        for bad in ["", "0 packets", "BDP", "-1BDP", "12", "0B"] {
            assert!(bad.parse::<Queue>().unwrap_err().contains("write '100 packets'"), "{bad}");
        }
    }
}
