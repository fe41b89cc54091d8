//! `ndnweir link`.

use super::{print, print_json};
use crate::failure::Failure;
use crate::interrupt;
use clap::Args;
use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Bytes, Rate, Span};
use ndnweir_net::emulator::{Direction, DirectionCounters, Emulator, End, Network, UDP_FRAMING};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir link --rate 100Mbps --delay 10ms --queue 1BDP --ports 7001,7002
      what one process sends to 127.0.0.1:7001 reaches the other, which sends to 7002, and the other way round
  ndnweir link --rate 20Mbps --delay 20ms --loss 0.01 --ports 7001,7002 --a 127.0.0.1:6363 --b 127.0.0.1:6364
  ndnweir link --rate 10Mbps --delay 10ms --queue '100 packets' --duration 60s --json")]
pub struct LinkArgs {
    /// Rate of each direction, e.g. 100Mbps; without it only delay and loss apply
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// One-way delay, e.g. 10ms
    #[arg(long, default_value = "0ms", value_name = "TIME")]
    delay: Span,
    /// What may wait at each end, e.g. '100 packets', 250kB or 1BDP (rate times twice the delay)
    #[arg(long, default_value = "100 packets", value_name = "SIZE")]
    queue: Queue,
    /// Probability that a datagram is lost, 0 to 1
    #[arg(long, default_value_t = 0.0, value_name = "P", value_parser = probability)]
    loss: f64,
    /// Extra delay of each datagram, uniform up to this; the order is kept
    #[arg(long, default_value = "0ms", value_name = "TIME")]
    jitter: Span,
    /// Bytes counted for each datagram beside its own: IP and UDP headers
    #[arg(long, default_value_t = UDP_FRAMING, value_name = "SIZE")]
    framing: Bytes,
    /// The UDP ports of the two ends on 127.0.0.1; 0 is any free port
    #[arg(long, default_value = "0,0", value_name = "A,B", value_parser = ports)]
    ports: (u16, u16),
    /// Address of the process at the first end; without it the first that sends something there
    #[arg(long, value_name = "ADDR")]
    a: Option<SocketAddr>,
    /// Address of the process at the second end
    #[arg(long, value_name = "ADDR")]
    b: Option<SocketAddr>,
    /// Seed of the random losses and delays
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    seed: u64,
    /// Stop after this time instead of at Ctrl-C
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// Print one JSON document on standard output when the link ends
    #[arg(long)]
    json: bool,
}

/// A queue's limit as the command line gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Queue {
    Packets(u32),
    Bytes(Bytes),
    Bdp(f64),
}

impl FromStr for Queue {
    type Err = String;

    fn from_str(text: &str) -> Result<Queue, String> {
        let remedy = || format!("{text:?} is no queue size: write '100 packets', 250kB or 1BDP");
        let text = text.trim();
        if let Some(number) = text.strip_suffix("packets").or(text.strip_suffix("packet")) {
            return number.trim().parse().ok().filter(|n| *n > 0).map(Queue::Packets).ok_or_else(remedy);
        }
        if let Some(number) = text.strip_suffix("BDP") {
            let factor: Option<f64> = number.trim().parse().ok();
            return factor.filter(|f| *f > 0.0 && f.is_finite()).map(Queue::Bdp).ok_or_else(remedy);
        }
        text.parse().ok().filter(|b| *b > Bytes::ZERO).map(Queue::Bytes).ok_or_else(remedy)
    }
}

impl Queue {
    fn limit(self, rate: Option<Rate>, delay: Span) -> Result<Limit, Failure> {
        match (self, rate) {
            (Queue::Packets(n), _) => Ok(Limit::Packets(n)),
            (Queue::Bytes(bytes), _) => Ok(Limit::Bytes(bytes)),
            (Queue::Bdp(factor), Some(rate)) => {
                let bits = rate.bps() as f64 * 2.0 * delay.secs() * factor;
                // A queue that cannot hold one packet would stop the link.
                Ok(Limit::Bytes(Bytes::new(((bits / 8.0) as u64).max(9000))))
            }
            (Queue::Bdp(_), None) => Err(Failure::Input("a queue in BDP needs --rate".into())),
        }
    }
}

fn probability(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    value.filter(|p| (0.0..=1.0).contains(p)).ok_or_else(|| "write a probability from 0 to 1, such as 0.01".into())
}

fn ports(text: &str) -> Result<(u16, u16), String> {
    let parse = |port: &str| port.trim().parse::<u16>().ok();
    let pair = text.split_once(',').and_then(|(a, b)| Some((parse(a)?, parse(b)?)));
    pair.ok_or_else(|| "write two ports, such as 7001,7002".into())
}

pub fn run(args: &LinkArgs) -> Result<(), Failure> {
    let limit = args.queue.limit(args.rate, args.delay)?;
    let mut direction =
        Direction { rate: args.rate, delay: args.delay, limit, framing: args.framing, ..Direction::default() };
    direction.impairment.loss = args.loss;
    direction.impairment.jitter = args.jitter;
    let network = Network::link(direction, [args.a, args.b], args.ports.into());
    let emulator = Emulator::bind(Ipv4Addr::LOCALHOST, &network, args.seed).map_err(Failure::input)?;
    let stop = interrupt::watch()?;
    let running = emulator.start(&[])?;
    eprintln!("{} <-> {}; Ctrl-C ends the link", running.address(0, End::A), running.address(0, End::B));
    let start = Instant::now();
    let end = args.duration.map(|span| start + Duration::from_nanos(span.nanos()));
    while !stop.load(Ordering::Relaxed) && end.is_none_or(|end| Instant::now() < end) {
        std::thread::sleep(Duration::from_millis(20));
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

/// One direction at the end.
struct Counted {
    from: SocketAddr,
    counters: DirectionCounters,
    undeliverable: u64,
}

impl Counted {
    fn drops(&self) -> u64 {
        self.counters.queue.drops.iter().sum()
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
            "lost": self.counters.way.lost,
            "undeliverable": self.undeliverable,
            "mean_queue_ms": self.mean_queue_ms(),
        })
    }

    fn line(&self, elapsed: f64) -> String {
        format!(
            "{}: {} datagrams, {:.2} Mbit/s, {} dropped, {} lost, {} undeliverable, mean queue {:.1} ms\n",
            self.from,
            self.counters.queue.data_packets,
            self.counters.queue.data_bits as f64 / 1e6 / elapsed,
            self.drops(),
            self.counters.way.lost,
            self.undeliverable,
            self.mean_queue_ms(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_given_in_packets_bytes_or_bandwidth_delay_products() {
        let rate = Some(Rate::from_mbps(100.0));
        let limit = |text: &str| text.parse::<Queue>().unwrap().limit(rate, Span::from_millis(10)).unwrap();
        assert_eq!(limit("100 packets"), Limit::Packets(100));
        assert_eq!(limit("250kB"), Limit::Bytes(Bytes::new(250_000)));
        assert_eq!(limit("1BDP"), Limit::Bytes(Bytes::new(250_000)));
        for bad in ["", "0 packets", "BDP", "-1BDP", "12", "0B"] {
            assert!(bad.parse::<Queue>().unwrap_err().contains("write '100 packets'"), "{bad}");
        }
    }
}
