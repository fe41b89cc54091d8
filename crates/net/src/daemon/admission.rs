//! Limits on on-demand faces, and on what is sent to addresses that are not proved to be real.
//!
//! Faces are counted by where they come from: a user of this machine (the kernel names the user at the other end of a
//! Unix socket), or an address, for IPv6 the /64 around it unless it is link-local ([`network_of`]). No origin may have
//! more than its share or make faces faster than its rate; room is kept for this machine, and in that for the
//! forwarder's owner.

use super::bucket::Bucket;
use super::config::Limits;
use ndnweir_core::units::{Duration, Time};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

/// New faces of one origin per second, and at once.
const ORIGIN_RATE: (f64, f64) = (50.0, 256.0);
/// New faces of all users of this machine but the owner, and of all addresses: per second, and at once.
const SIDE_RATE: (f64, f64) = (250.0, 1024.0);
/// For this many bytes received a peer may be sent one whatever the rates, as in QUIC (RFC 9000, section 8.1).
const FREE: f64 = 3.0;
/// What may be saved up of that, in bytes.
const MAX_FREE: f64 = 16_384.0;
/// How many times as much as one address all unproven ones may get at once.
const ALL_AT_ONCE: f64 = 16.0;
/// When less than half of that is left, an origin may have had as much as is left in about this time: those that are new
/// and ask for little find some however many ask for much (dynamic thresholds, as in `ndnweir_node`'s shares of the PIT).
/// It is longer than a peer needs to be proved.
const REMEMBERED: Duration = Duration::from_millis(30_000);
/// Each sign that a peer gets what is sent to it doubles its part, up to so many.
const MAX_SIGNS: u32 = 6;

/// Where a face comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// The user that the forwarder runs as, and root.
    Owner,
    /// Another user of this machine.
    User(u32),
    /// The [`network_of`] an address.
    Host(IpAddr),
}

impl Origin {
    pub(super) fn of_address(address: IpAddr) -> Origin {
        Origin::Host(network_of(address))
    }
}

/// The part of an address that identifies its owner: an IPv4 address, the first 64 bits of an IPv6 address (what one
/// customer of a provider has at least, and one host can choose freely in), or a whole link-local one, as all
/// neighbours on all links have the same first 64 bits.
pub(super) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if !v6.is_unicast_link_local() => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)))
        }
        whole => whole,
    }
}

/// Why there is no face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejected {
    /// `max-peers`, less what is reserved for others.
    #[error("there are as many faces as there may be (max-peers)")]
    Full,
    /// `per-address` or `per-user`.
    #[error("there are as many faces from there as there may be (per-address, per-user)")]
    Share,
    /// Too many in too short a time.
    #[error("faces from there come too fast")]
    Rate,
}

#[derive(Debug)]
struct Share {
    faces: usize,
    fresh: Bucket,
    /// Bytes that may be sent to its unproven faces.
    draw: Bucket,
    /// Bytes that may be sent to them for what was received from there.
    free: Bucket,
    /// Bytes that were drawn in about the last [`REMEMBERED`], and until when they are counted.
    drawn: f64,
    counted: Time,
}

impl Share {
    fn drawn(&mut self, now: Time) -> f64 {
        self.drawn *= (1.0 - now.since(self.counted).secs() / REMEMBERED.secs()).max(0.0);
        self.counted = self.counted.max(now);
        self.drawn
    }
}

/// Faces that are on demand, by origin.
#[derive(Debug)]
pub(super) struct Admission {
    most: usize,
    limits: Limits,
    total: usize,
    origins: HashMap<Origin, Share>,
    users: Bucket,
    hosts: Bucket,
    /// Bytes that may be sent to all unproven faces.
    draw: Bucket,
}

impl Admission {
    pub(super) fn new(now: Time, most: usize, limits: Limits) -> Admission {
        let side = || Bucket::new(now, SIDE_RATE.1, SIDE_RATE.0);
        let at_once = limits.unproven_burst.get() as f64 * ALL_AT_ONCE;
        let draw = Bucket::new(now, at_once, limits.unproven_total.bps() as f64 / 8.0);
        Admission { most, limits, total: 0, origins: HashMap::new(), users: side(), hosts: side(), draw }
    }

    /// How many there are.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Whether one more face may be made from there. The rate is charged only if the face is made.
    pub(super) fn admit(&mut self, now: Time, origin: Origin, local: bool) -> Result<(), Rejected> {
        let kept = match (origin, local) {
            (Origin::Owner, _) => 0,
            (_, true) => self.most / 16,
            (_, false) => self.most / 8,
        };
        if self.total >= self.most - kept {
            return Err(Rejected::Full);
        }
        let share = share(&mut self.origins, &self.limits, now, origin);
        let most = match origin {
            Origin::Owner => usize::MAX,
            Origin::User(_) => self.limits.per_user.unwrap_or((self.most / 4).max(1)),
            Origin::Host(_) => self.limits.per_address.unwrap_or((self.most / 8).max(1)),
        };
        if share.faces >= most {
            return Err(Rejected::Share);
        }
        let side = match origin {
            Origin::Owner => None,
            Origin::User(_) => Some(&mut self.users),
            Origin::Host(_) => Some(&mut self.hosts),
        };
        if let Some(side) = side
            && !(share.fresh.level(now) >= 1.0 && side.take(now, 1.0) && share.fresh.take(now, 1.0))
        {
            return Err(Rejected::Rate);
        }
        share.faces += 1;
        self.total += 1;
        Ok(())
    }

    /// A face was removed, or was configured since.
    pub(super) fn leave(&mut self, origin: Origin) {
        self.total = self.total.saturating_sub(1);
        if let Some(share) = self.origins.get_mut(&origin) {
            share.faces = share.faces.saturating_sub(1);
        }
    }

    /// A configured face counts as on-demand again.
    pub(super) fn return_to(&mut self, now: Time, origin: Origin) {
        self.total += 1;
        share(&mut self.origins, &self.limits, now, origin).faces += 1;
    }

    /// Bytes have come from an unproven peer.
    pub(super) fn received(&mut self, now: Time, origin: Origin, bytes: usize) {
        share(&mut self.origins, &self.limits, now, origin).free.put(now, FREE * bytes as f64);
    }

    /// Whether this many bytes may be sent to an unproven peer that has given so many signs that it gets them; they are
    /// then charged.
    pub(super) fn draws(&mut self, now: Time, origin: Origin, signs: u32, bytes: usize) -> bool {
        let (share, bytes) = (share(&mut self.origins, &self.limits, now, origin), bytes as f64);
        if share.free.take(now, bytes) {
            return true;
        }
        let (left, at_once) = (self.draw.level(now), self.limits.unproven_burst.get() as f64 * ALL_AT_ONCE);
        let part = left * f64::from(1_u32 << signs.min(MAX_SIGNS));
        let drawn = share.drawn(now);
        let drawing = (left >= at_once / 2.0 || drawn <= part)
            && share.draw.level(now) >= bytes
            && self.draw.take(now, bytes)
            && share.draw.take(now, bytes);
        share.drawn += if drawing { bytes } else { 0.0 };
        drawing
    }

    /// An unproven peer has given a sign that it receives what is sent to it: that much more may be sent.
    pub(super) fn reward(&mut self, now: Time, origin: Origin) {
        let burst = self.limits.unproven_burst.get() as f64;
        share(&mut self.origins, &self.limits, now, origin).draw.put(now, burst);
    }

    /// One of its peers is proved: what was drawn for that is no reason to keep others from there waiting.
    pub(super) fn proved(&mut self, now: Time, origin: Origin) {
        share(&mut self.origins, &self.limits, now, origin).drawn = 0.0;
    }

    /// Removes origins without faces and without state.
    pub(super) fn forget(&mut self, now: Time) {
        self.origins.retain(|_, share| share.faces > 0 || !share.fresh.is_full(now) || !share.draw.is_full(now));
    }
}

fn share<'a>(origins: &'a mut HashMap<Origin, Share>, limits: &Limits, now: Time, origin: Origin) -> &'a mut Share {
    origins.entry(origin).or_insert_with(|| {
        let mut free = Bucket::new(now, MAX_FREE, 0.0);
        free.owe(now, MAX_FREE);
        let rate = limits.unproven_rate.bps() as f64 / 8.0;
        Share {
            faces: 0,
            fresh: Bucket::new(now, ORIGIN_RATE.1, ORIGIN_RATE.0),
            draw: Bucket::new(now, limits.unproven_burst.get() as f64, rate),
            free,
            drawn: 0.0,
            counted: now,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time::ZERO;

    fn host(last: u8) -> Origin {
        Origin::of_address(IpAddr::from([192, 0, 2, last]))
    }

    fn at(ms: u64) -> Time {
        START + Duration::from_millis(ms)
    }

    /// How many faces a peer gets that tries for this long, once each millisecond.
    fn tried(admission: &mut Admission, origin: Origin, local: bool, ms: std::ops::Range<u64>) -> usize {
        ms.filter(|&ms| admission.admit(at(ms), origin, local).is_ok()).count()
    }

    #[test]
    fn no_address_and_no_user_has_more_than_its_share_and_the_owner_finds_room() {
        let mut admission = Admission::new(START, 1024, Limits::default());
        assert_eq!(tried(&mut admission, host(1), false, 0..100_000), 128);
        assert_eq!(admission.admit(at(100_000), host(1), false), Err(Rejected::Share));
        for last in 2..50 {
            tried(&mut admission, host(last), false, 100_000..110_000);
        }
        assert_eq!(admission.admit(at(110_000), host(60), false), Err(Rejected::Full));
        assert_eq!(admission.total(), 896);
        assert_eq!(tried(&mut admission, Origin::User(1000), true, 110_000..120_000), 64);
        assert_eq!(admission.admit(at(120_000), Origin::User(1001), true), Err(Rejected::Full));
        assert_eq!(tried(&mut admission, Origin::Owner, true, 120_000..121_000), 64);
        // Who goes makes room.
        (0..70).for_each(|_| admission.leave(host(1)));
        assert_eq!(admission.admit(at(121_000), Origin::User(1001), true), Ok(()));
    }

    #[test]
    fn faces_that_come_and_go_are_admitted_at_a_rate_and_the_owner_s_always() {
        let mut admission = Admission::new(START, 1024, Limits::default());
        let mut got = 0;
        for i in 0..70_000 {
            if admission.admit(at(i * 2200 / 70_000), Origin::User(1000), true).is_ok() {
                got += 1;
                admission.leave(Origin::User(1000));
            }
        }
        // 256 at once and 50/s for 2.2 s.
        assert!((350..=370).contains(&got), "{got}");
        assert_eq!(admission.admit(at(2200), Origin::User(1001), true), Ok(()), "another user");
        assert!((0..10_000).all(|_| {
            let admitted = admission.admit(at(2200), Origin::Owner, true);
            admission.leave(Origin::Owner);
            admitted.is_ok()
        }));
        admission.leave(Origin::User(1001));
        admission.forget(at(20_000));
        assert!(admission.origins.is_empty());
    }

    #[test]
    fn hosts_with_a_network_of_their_own_are_one_origin() {
        let of = |text: &str| Origin::of_address(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), host(1));
        assert_ne!(of("fe80::1"), of("fe80::2"), "neighbours on a link are several");
    }

    /// 500 addresses ask for 8 packets of 8000 bytes a second each, which is 8 times what all may have. After a minute one
    /// more asks for so many, with these signs: how many of them it gets in so many seconds.
    fn drawn_beside_five_hundred(per_second: u64, signs: u32, seconds: u64) -> u64 {
        let mut admission = Admission::new(START, 1024, Limits::default());
        let other = |n: u64| Origin::Host(IpAddr::from([10, 0, (n / 250) as u8, (n % 250) as u8]));
        let mut got = 0;
        for ms in 0..60_000 + 1000 * seconds {
            for i in 0..4 {
                admission.draws(at(ms), other((4 * ms + i) % 500), 0, 8000);
            }
            if ms >= 60_000 && ms % (1000 / per_second) == 0 && admission.draws(at(ms), host(1), signs, 8000) {
                got += 1;
            }
        }
        got
    }

    #[test]
    fn who_is_new_gets_its_burst_beside_hundreds_who_ask_for_much_and_its_part_afterwards() {
        assert_eq!(drawn_beside_five_hundred(10, 0, 2), 20, "an eighth, were it a matter of chance");
        let much = drawn_beside_five_hundred(50, 0, 60);
        assert!((60..=120).contains(&much), "{much} in a minute");
        let signs = drawn_beside_five_hundred(50, 5, 60);
        assert!(signs > 5 * much, "{signs}, not {much}");
    }

    #[test]
    fn an_address_that_had_much_waits_unless_one_of_its_peers_was_proved() {
        let mut admission = Admission::new(START, 1024, Limits::default());
        let leave = |admission: &mut Admission, bytes: f64| {
            let level = admission.draw.level(START);
            admission.draw.owe(START, level - bytes);
        };
        leave(&mut admission, 100_000.0);
        // Six have 48 kB and leave 52 kB, seven have more than they leave.
        assert_eq!((0..20).filter(|_| admission.draws(START, host(1), 0, 8000)).count(), 7);
        leave(&mut admission, 40_000.0);
        assert!(!admission.draws(START, host(1), 0, 8000) && admission.draws(START, host(2), 0, 8000));
        admission.proved(START, host(1));
        assert!(admission.draws(START, host(1), 0, 8000));
    }

    #[test]
    fn an_unproven_address_draws_its_burst_and_its_rate_and_three_times_what_it_sent() {
        let limits = Limits::default();
        let mut admission = Admission::new(START, 1024, limits);
        let burst = limits.unproven_burst.get() as usize;
        let mut drawn = 0;
        for _ in 0..1000 {
            drawn += if admission.draws(START, host(1), 0, 1400) { 1400 } else { 0 };
        }
        assert!(drawn <= burst && drawn > burst - 1400, "{drawn}");
        admission.received(START, host(1), 1000);
        assert!(admission.draws(START, host(1), 0, 3000) && !admission.draws(START, host(1), 0, 1400));
        for ms in 0..10_000 {
            drawn += if admission.draws(at(ms), host(1), 0, 1400) { 1400 } else { 0 };
        }
        let rate = limits.unproven_rate.bps() as usize / 8;
        assert!(drawn <= burst + 10 * rate, "{drawn}");
        // There is a bound for all together, too.
        let all: usize =
            (0..255).map(|n| (0..1000).filter(|_| admission.draws(at(10_000), host(n), 0, 1400)).count()).sum();
        assert!(all * 1400 <= burst * ALL_AT_ONCE as usize, "{all}");
    }
}
