//! What a running forwarder does not take over from another configuration.

use super::Config;

impl Config {
    /// The settings that are others in a new configuration, and stay as they are until the next start.
    pub(in crate::daemon) fn kept_until_restart(&self, new: &Config) -> Vec<&'static str> {
        let mut parts = new.scheme.parts.clone();
        parts.strategy = self.scheme.parts.strategy.clone();
        let marks = (&self.scheme.interest_marks, &self.scheme.cached_marks);
        let same_scheme = parts == self.scheme.parts && marks == (&new.scheme.interest_marks, &new.scheme.cached_marks);
        // Keys have no order and no equality of their own; they are shown as numbers.
        let anchors = |config: &Config| format!("{:?}", config.authority.trust_anchors);
        let signature = |config: &Config| config.authority.signer.0.signature_type();
        let settings = [
            ("scheme (but for strategies)", same_scheme),
            ("cache", self.cache == new.cache),
            ("pit", self.pit == new.pit),
            ("memory", self.memory == new.memory),
            ("fragments", self.fragments == new.fragments),
            ("prefixes", self.prefixes == new.prefixes),
            ("max-lifetime", self.max_lifetime == new.max_lifetime),
            ("management", self.management == new.management),
            ("localhop", self.authority.localhop == new.authority.localhop),
            ("trust-anchor", anchors(self) == anchors(new)),
            ("answer-key", signature(self) == signature(new)),
            ("metrics", self.metrics == new.metrics),
            ("gnmi", self.gnmi == new.gnmi),
            ("listen.unix", self.unix == new.unix),
            ("listen.udp", self.udp == new.udp),
            ("listen.tcp", self.tcp == new.tcp),
            ("listen.mtu", self.mtu == new.mtu),
            ("listen.reliability", self.reliability == new.reliability),
            ("listen.max-peers", self.max_peers == new.max_peers),
            ("listen.idle", self.idle == new.idle),
            ("listen.max-lifetime", self.max_lifetime_on_demand == new.max_lifetime_on_demand),
            ("listen.per-address", self.limits.per_address == new.limits.per_address),
            ("listen.per-user", self.limits.per_user == new.limits.per_user),
            ("listen.backlog", self.limits.backlog == new.limits.backlog),
            ("listen.stuck", self.limits.stuck == new.limits.stuck),
            ("listen.unproven-rate", self.limits.unproven_rate == new.limits.unproven_rate),
            ("listen.unproven-burst", self.limits.unproven_burst == new.limits.unproven_burst),
            ("listen.unproven-total", self.limits.unproven_total == new.limits.unproven_total),
        ];
        settings.iter().filter(|(_, same)| !same).map(|(name, _)| *name).collect()
    }
}
