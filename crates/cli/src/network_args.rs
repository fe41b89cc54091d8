//! What `emulate`, `link` and `fwd` accept.

use crate::run_args::RunArgs;
use clap::Args;
use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_net::emulator::{Arq, BurstLoss, UDP_FRAMING};
use ndnweir_scenario as scenario;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// The delay that real processes add to the empty path of the dumbbell, as measured: 0.17 to 0.5 ms over six links.
pub const NOISE: &str = "100us";

/// Emulated runs are never the same: they have a folder of their own.
const EMULATED_OUT: &str =
    "Folder for the report, summary and series [default: results/SCENARIO-emulated, with a number if that is taken]";

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir emulate dumbbell --scheme pcon --set run.duration=20s
  ndnweir emulate two-paths --scheme pcon,bic --seeds 3 --json
  ndnweir emulate papers/ndnsieve/multipath-1.toml --scheme ndnsieve --seeds 10
  ndnweir emulate my-scenario.toml --out results/mine-emulated

Every node is a real forwarder process, every producer and consumer a real application, and a scheme with a planner has
a real controller, as `ndnweir control run` is; links are emulated over UDP on this machine. A run takes as long as the
scenario lasts. The same scenario is simulated beside it, with the packet sizes that the real packets have, and with a
little random delay as real processes have.")]
#[command(mut_arg("seeds", |seeds| seeds.value_parser(clap::value_parser!(u32).range(1..=1000))))]
#[command(mut_arg("out", |out| out.help(EMULATED_OUT)))]
pub struct EmulateArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Random delay of packets on each link of the simulation, at most this: real processes are never exact
    #[arg(long, default_value = NOISE, value_name = "TIME")]
    pub noise: Duration,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir link --rate 100Mbps --delay 10ms --queue 1BDP --ports 7001,7002
      what one process sends to 127.0.0.1:7001 reaches the other, which sends to 7002, and the other way round
  ndnweir link --rate 20Mbps --delay 20ms --loss 0.01 --ports 7001,7002 --a 127.0.0.1:6363 --b 127.0.0.1:6364
  ndnweir link --rate 10Mbps --delay 10ms --queue '100 packets' --duration 60s --json")]
pub struct LinkArgs {
    /// Rate of each direction, e.g. 100Mbps; without it only delay and loss apply
    #[arg(long, value_name = "RATE", conflicts_with = "trace", value_parser = rate)]
    pub rate: Option<Rate>,
    /// File that says when each direction can deliver 1504 bytes, in ms, one line each (mahimahi's format)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// One-way delay, e.g. 10ms
    #[arg(long, default_value = "0ms", value_name = "TIME", value_parser = delay)]
    pub delay: Duration,
    /// What may wait at each end, e.g. '100 packets', 250kB or 1BDP (rate times twice the delay)
    #[arg(long, default_value = "100 packets", value_name = "SIZE")]
    pub queue: Queue,
    /// Probability that a datagram is lost, 0 to 1
    #[arg(long, default_value_t = 0.0, value_name = "P", value_parser = probability)]
    pub loss: f64,
    /// Losses in bursts (Gilbert-Elliott): probabilities to turn bad and good again, and of loss when bad and when good
    #[arg(long, value_name = "P,R[,BAD[,GOOD]]", value_parser = bursts)]
    pub burst_loss: Option<BurstLoss>,
    /// Retransmissions below: attempts, time from one to the next, probability that one fails, e.g. 4,8ms,0.1
    #[arg(long, value_name = "N,TIME,P", value_parser = arq)]
    pub arq: Option<Arq>,
    /// Extra delay of each datagram, uniform up to this; the order is kept
    #[arg(long, default_value = "0ms", value_name = "TIME", value_parser = jitter)]
    pub jitter: Duration,
    /// Bytes counted for each datagram in addition to its own: IP and UDP headers
    #[arg(long, default_value_t = UDP_FRAMING, value_name = "SIZE")]
    pub framing: Bytes,
    /// The UDP ports of the two ends on 127.0.0.1; 0 is any free port
    #[arg(long, default_value = "0,0", value_name = "A,B", value_parser = ports)]
    pub ports: (u16, u16),
    /// Address of the process at the first end; without it the first that sends something there
    #[arg(long, value_name = "ADDR")]
    pub a: Option<SocketAddr>,
    /// Address of the process at the second end
    #[arg(long, value_name = "ADDR")]
    pub b: Option<SocketAddr>,
    /// Seed of the random losses and delays
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    pub seed: u64,
    /// Stop after this time instead of at Ctrl-C
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Duration>,
    /// Print one JSON document on standard output when the link ends
    #[arg(long)]
    pub json: bool,
}

/// A queue's limit as the command line gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    Packets(u32),
    Bytes(Bytes),
    Bdp(f64),
}

impl FromStr for Queue {
    type Err = String;

    fn from_str(text: &str) -> Result<Queue, String> {
        let remedy = || format!("{text:?} is not a queue size: write '100 packets', 250kB or 1BDP");
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

/// A quantity as far as links of scenarios can have it.
fn within<T>(text: &str, check: impl Fn(&T) -> Result<(), String>, remedy: &str) -> Result<T, String>
where
    T: FromStr,
    T::Err: Display,
{
    let value: T = text.parse().map_err(|error: T::Err| error.to_string())?;
    check(&value).map(|()| value).map_err(|why| format!("{why}; {remedy}"))
}

fn rate(text: &str) -> Result<Rate, String> {
    within(text, scenario::rate_check, scenario::RATE_HELP)
}

fn delay(text: &str) -> Result<Duration, String> {
    within(text, scenario::delay_check, scenario::DELAY_HELP)
}

fn jitter(text: &str) -> Result<Duration, String> {
    within(text, scenario::lag_check, scenario::LAG_HELP)
}

fn probability(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    value.filter(|p| (0.0..=1.0).contains(p)).ok_or_else(|| "write a probability from 0 to 1, such as 0.01".into())
}

fn bursts(text: &str) -> Result<BurstLoss, String> {
    let remedy = || "write 2 to 4 probabilities, such as 0.01,0.2 or 0.01,0.2,0.8,0.001".to_owned();
    let all: Result<Vec<f64>, String> = text.split(',').map(|p| probability(p.trim())).collect();
    match *all.map_err(|_| remedy())?.as_slice() {
        [to_bad, to_good] => Ok(BurstLoss { to_bad, to_good, loss_bad: 1.0, loss_good: 0.0 }),
        [to_bad, to_good, loss_bad] => Ok(BurstLoss { to_bad, to_good, loss_bad, loss_good: 0.0 }),
        [to_bad, to_good, loss_bad, loss_good] => Ok(BurstLoss { to_bad, to_good, loss_bad, loss_good }),
        _ => Err(remedy()),
    }
}

fn arq(text: &str) -> Result<Arq, String> {
    let parse = || {
        let (attempts, rest) = text.split_once(',')?;
        let (slot, loss) = rest.split_once(',')?;
        let attempts = attempts.trim().parse().ok().filter(|n| (1..=100).contains(n))?;
        let slot: Duration = slot.trim().parse().ok()?;
        Some(Arq { attempts, slot, loss: probability(loss.trim()).ok()?, in_order: true })
    };
    let remedy = "write attempts from 1 to 100, a time and a probability, such as 4,8ms,0.1; at most 2 s in all";
    parse().filter(|arq| arq.longest() <= Duration::from_millis(2000)).ok_or_else(|| remedy.into())
}

fn ports(text: &str) -> Result<(u16, u16), String> {
    let parse = |port: &str| port.trim().parse::<u16>().ok();
    let pair = text.split_once(',').and_then(|(a, b)| Some((parse(a)?, parse(b)?)));
    pair.ok_or_else(|| "write two ports, such as 7001,7002".into())
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ndnweir fwd --unix /run/nfd/nfd.sock --udp 0.0.0.0:6363
      applications here, peers over UDP
  ndnweir fwd --unix /tmp/a.sock --udp 0.0.0.0:6363 --route /=udp4://192.0.2.1:6363
      everything unknown goes to a neighbour
  ndnweir fwd --unix /tmp/a.sock --udp 0.0.0.0:6363 --scheme pcon \\
      --route /example=udp4://192.0.2.1:6363 --rate udp4://192.0.2.1:6363=100Mbps
      sent at 100 Mbit/s, with the queue and the marks of a scheme
  ndnweir fwd --config fwd.toml --metrics 127.0.0.1:9090

SIGTERM or Ctrl-C ends it, SIGHUP reads the faces, routes, strategies and regions of the configuration again.
NDNWEIR_LOG=debug writes more (see docs/forwarder.md).")]
pub struct FwdArgs {
    /// A configuration file (TOML); flags add to it or replace what it says
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Unix socket for applications; /run/nfd/nfd.sock is where they look first
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,
    /// UDP address to listen on; may be repeated
    #[arg(long, value_name = "ADDR:PORT")]
    pub udp: Vec<String>,
    /// TCP address to listen on; may be repeated
    #[arg(long, value_name = "ADDR:PORT")]
    pub tcp: Vec<String>,
    /// The scheme in force (see `ndnweir list`) [default: weir, over the cheapest next hops that answer]
    #[arg(long, short, value_name = "NAME")]
    pub scheme: Option<String>,
    /// The strategy of a prefix, such as /video=asf; may be repeated
    #[arg(long, value_name = "PREFIX=NAME")]
    pub strategy: Vec<String>,
    /// A route, such as /example=udp4://192.0.2.1:6363; may be repeated
    #[arg(long, value_name = "PREFIX=FACEURI")]
    pub route: Vec<String>,
    /// A region that this node is in: Interests whose ForwardingHint says so go by their names; may be repeated
    #[arg(long, value_name = "NAME")]
    pub region: Vec<String>,
    /// The rate at which a face sends, such as udp4://192.0.2.1:6363=100Mbps; may be repeated
    #[arg(long, value_name = "FACEURI=RATE")]
    pub rate: Vec<String>,
    /// Packets in the content store; 0 is none [default: 65536]
    #[arg(long, value_name = "PACKETS")]
    pub cs: Option<usize>,
    /// Serve Prometheus metrics at this address
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_the_rates_and_delays_that_scenarios_have() {
        assert_eq!((rate("10Mbps"), delay("100s")), (Ok(Rate::from_mbps(10.0)), Ok(Duration::from_millis(100_000))));
        for (error, part) in [
            (rate("0Mbps").unwrap_err(), "carries nothing; write a rate from \"1kbps\""),
            (rate("fast").unwrap_err(), "write"),
            (delay("1000h").unwrap_err(), "absurdly long; write a delay from \"0ms\" to \"100s\""),
            (jitter("3s").unwrap_err(), "too long; write a time from \"0ms\" to \"2s\""),
        ] {
            assert!(error.contains(part), "{error}");
        }
    }
}
