//! Where the forwarder listens, and limits on its on-demand peers.

use super::{Config, ConfigError, ConfigReader, LIFETIMES, MIN_MTU, address};
use crate::daemon::Allowed;
use ndnweir_core::units::{Bytes, Duration, Rate};
use serde::Deserialize;
use std::path::PathBuf;
use toml::Spanned;

/// The bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most on-demand faces from one address (IPv6: a /64, or a whole link-local address); by default an eighth of
    /// all.
    pub per_address: Option<usize>,
    /// Those of one user of this machine who is not the forwarder's owner; by default a quarter of all.
    pub per_user: Option<usize>,
    /// The most bytes of packets that wait for the readers of all streams.
    pub backlog: Bytes,
    /// After how long a stream is closed if its peer reads nothing though something waits for it.
    pub stuck: Duration,
    /// Data to one address that may be forged.
    pub unproven_rate: Rate,
    /// The burst that may be sent there.
    pub unproven_burst: Bytes,
    /// Data to all such addresses together.
    pub unproven_total: Rate,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            per_address: None,
            per_user: None,
            backlog: Bytes::new(16 << 20),
            stuck: Duration::from_millis(30_000),
            unproven_rate: Rate::from_bps(1_000_000),
            unproven_burst: Bytes::new(128 << 10),
            unproven_total: Rate::from_bps(32_000_000),
        }
    }
}

/// The table `[listen]`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Listen {
    unix: Option<PathBuf>,
    #[serde(default)]
    udp: Vec<Spanned<String>>,
    #[serde(default)]
    tcp: Vec<Spanned<String>>,
    mtu: Option<Spanned<usize>>,
    reliability: Option<bool>,
    max_peers: Option<Spanned<usize>>,
    idle: Option<Duration>,
    max_lifetime: Option<Spanned<Duration>>,
    #[serde(default)]
    allow_local: Vec<Spanned<String>>,
    per_address: Option<Spanned<usize>>,
    per_user: Option<Spanned<usize>>,
    backlog: Option<Spanned<Bytes>>,
    stuck: Option<Spanned<Duration>>,
    unproven_rate: Option<Spanned<Rate>>,
    unproven_burst: Option<Spanned<Bytes>>,
    unproven_total: Option<Spanned<Rate>>,
}

impl Listen {
    /// Applies its settings.
    pub(super) fn read(self, reader: &ConfigReader<'_>, config: &mut Config) -> Result<(), ConfigError> {
        config.unix = self.unix;
        config.udp = self.udp.iter().map(|text| reader.parse(text, address)).collect::<Result<_, _>>()?;
        config.tcp = self.tcp.iter().map(|text| reader.parse(text, address)).collect::<Result<_, _>>()?;
        config.mtu = reader.within(self.mtu, "mtu", (MIN_MTU, 65_507), config.mtu)?;
        config.reliability = self.reliability.unwrap_or(config.reliability);
        config.max_peers = reader.within(self.max_peers, "max-peers", (1, 60_000), config.max_peers)?;
        config.idle = self.idle.unwrap_or(config.idle);
        let usual = config.max_lifetime_on_demand;
        config.max_lifetime_on_demand = reader.within(self.max_lifetime, "max-lifetime", LIFETIMES, usual)?;
        for text in &self.allow_local {
            let allowed: Allowed = reader.parse(text, str::parse)?;
            if config.unknown_user.is_none() && !allowed.is_known() {
                let why = format!("this machine has no {allowed}: {}", allowed.remedy());
                config.unknown_user = Some(reader.error(text.span().start, why));
            }
            config.allow_local.push(allowed);
        }
        let usual = Limits::default();
        let count = |value: Option<Spanned<usize>>, what: &str| {
            value.map(|value| reader.within(Some(value), what, (1, 60_000), 1)).transpose()
        };
        // One second's share of an address must hold a packet of full size.
        let rates = (Rate::from_bps(80_000), Rate::from_bps(1_000_000_000_000));
        let bytes = (Bytes::new(10_000), Bytes::new(1 << 40));
        let stuck = (Duration::from_millis(1000), Duration::from_millis(86_400_000));
        config.limits = Limits {
            per_address: count(self.per_address, "per-address")?,
            per_user: count(self.per_user, "per-user")?,
            backlog: reader.within(self.backlog, "backlog", (Bytes::new(1 << 20), bytes.1), usual.backlog)?,
            stuck: reader.within(self.stuck, "stuck", stuck, usual.stuck)?,
            unproven_rate: reader.within(self.unproven_rate, "unproven-rate", rates, usual.unproven_rate)?,
            unproven_burst: reader.within(self.unproven_burst, "unproven-burst", bytes, usual.unproven_burst)?,
            unproven_total: reader.within(self.unproven_total, "unproven-total", rates, usual.unproven_total)?,
        };
        Ok(())
    }
}
