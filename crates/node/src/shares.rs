//! Shares of the pending Interest table.
//!
//! Room is counted in records (one per name and downstream face) and in the bytes that they hold. Each face belongs to
//! a class and, if it was made on demand, to the group of its remote address:
//!
//! - a face may have [`FACTOR`] times what is free, so that a single one has 7/8, several have even shares and there is
//!   always room for one more (dynamic thresholds: A. K. Choudhury, E. L. Hahne, IEEE/ACM Transactions on Networking
//!   6(2), 1998; that they are used for a PIT, and the factor, are ours);
//! - on-demand peers have three quarters at most, all together, so that a quarter is left to local and configured faces
//!   independent of on-demand peers;
//! - among on-demand peers the rule applies to addresses, and within an address to its faces.

use ndnweir_core::ids::FaceId;
use std::collections::BTreeMap;

/// So many times what is free.
const FACTOR: usize = 7;

/// How a face came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FaceClass {
    /// An application on this machine.
    Local,
    /// A neighbour from the configuration or a command.
    #[default]
    Configured,
    /// A peer that was made on demand.
    OnDemand,
}

/// What the table may hold, apart from its number of entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShareLimits {
    /// Bytes of all pending Interests.
    pub(crate) bytes: usize,
    /// What an Interest takes in addition to twice its size: a name, and a packet while a shaper or queue holds it.
    pub(crate) overhead: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    records: usize,
    bytes: usize,
}

impl Held {
    fn add(&mut self, other: Held) {
        self.records += other.records;
        self.bytes += other.bytes;
    }

    fn subtract(&mut self, other: Held) {
        self.records = self.records.saturating_sub(other.records);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    class: FaceClass,
    group: u128,
    held: Held,
}

/// The accounts.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    limits: ShareLimits,
    /// By face.
    members: Vec<Member>,
    /// Groups of on-demand peers that hold something.
    groups: BTreeMap<u128, Held>,
    on_demand_peers: Held,
    all: Held,
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// There are too many records.
    Records,
    /// They hold too many bytes.
    Bytes,
}

/// Whether an account that holds `held` may hold more where `free` is free.
fn within(held: usize, free: usize) -> bool {
    free > 0 && held < free.saturating_mul(FACTOR)
}

impl Shares {
    pub(crate) fn new(limits: ShareLimits) -> Shares {
        let (members, groups) = (Vec::new(), BTreeMap::new());
        Shares { limits, members, groups, on_demand_peers: Held::default(), all: Held::default() }
    }

    /// Sets the class of a face. What it holds is moved with it.
    pub(crate) fn set(&mut self, face: FaceId, class: FaceClass, group: u128) {
        if self.members.len() <= face.index() {
            self.members.resize(face.index() + 1, Member::default());
        }
        let held = self.members[face.index()].held;
        self.change(face, |member| member.subtract(held));
        self.members[face.index()] = Member { class, group, held: Held::default() };
        self.change(face, |member| member.add(held));
    }

    /// Does the same to all accounts that a face counts in.
    fn change(&mut self, face: FaceId, change: impl Fn(&mut Held)) {
        if self.members.len() <= face.index() {
            self.members.resize(face.index() + 1, Member::default());
        }
        let member = &mut self.members[face.index()];
        change(&mut member.held);
        change(&mut self.all);
        if member.class == FaceClass::OnDemand {
            change(&mut self.on_demand_peers);
            let group = self.groups.entry(member.group).or_default();
            change(group);
            if *group == Held::default() {
                self.groups.remove(&member.group);
            }
        }
    }

    fn cost(&self, size: u32) -> Held {
        Held { records: 1, bytes: 2 * size as usize + self.limits.overhead }
    }

    /// A face becomes the downstream of an Interest of this size.
    pub(crate) fn take(&mut self, face: FaceId, size: u32) {
        let cost = self.cost(size);
        self.change(face, |held| held.add(cost));
    }

    /// It no longer does.
    pub(crate) fn give_back(&mut self, face: FaceId, size: u32) {
        let cost = self.cost(size);
        self.change(face, |held| held.subtract(cost));
    }

    /// Why a face may not have one more pending Interest of this size, where the table has `limit` records.
    pub(crate) fn rejection(&self, face: FaceId, size: u32, limit: usize) -> Option<Rejection> {
        if !self.has_room(face, limit, 0, |held| held.records) {
            return Some(Rejection::Records);
        }
        let more = self.cost(size).bytes;
        (!self.has_room(face, self.limits.bytes, more, |held| held.bytes)).then_some(Rejection::Bytes)
    }

    fn has_room(&self, face: FaceId, limit: usize, more: usize, of: impl Fn(&Held) -> usize) -> bool {
        let member = self.members.get(face.index()).copied().unwrap_or_default();
        let held = of(&member.held);
        let free = limit.saturating_sub(of(&self.all));
        if free <= more {
            return false;
        }
        if member.class != FaceClass::OnDemand {
            return within(held, free);
        }
        let free = free.min((limit - limit / 4).saturating_sub(of(&self.on_demand_peers)));
        let group = self.groups.get(&member.group).map_or(0, &of);
        let free_of_group = free.saturating_mul(FACTOR).saturating_sub(group);
        free > more && within(group, free) && within(held, free_of_group)
    }

    /// Forgets what is held.
    pub(crate) fn clear(&mut self) {
        self.members.iter_mut().for_each(|member| member.held = Held::default());
        self.groups.clear();
        (self.on_demand_peers, self.all) = (Held::default(), Held::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 64_000;

    fn shares() -> Shares {
        Shares::new(ShareLimits { bytes: 64 << 20, overhead: 100 })
    }

    /// How many of `want` Interests of this size a face may add.
    fn admitted(shares: &mut Shares, face: u16, want: usize, size: u32) -> usize {
        let face = FaceId(face);
        let take = |_: &usize| {
            let room = shares.rejection(face, size, LIMIT).is_none();
            if room {
                shares.take(face, size);
            }
            room
        };
        (0..want).take_while(take).count()
    }

    #[test]
    fn a_face_alone_gets_seven_eighths_and_the_next_still_has_room() {
        let mut shares = shares();
        assert_eq!(admitted(&mut shares, 0, LIMIT, 50), 56_000);
        assert_eq!(admitted(&mut shares, 1, LIMIT, 50), 7000);
    }

    #[test]
    fn on_demand_peers_leave_a_quarter_however_many_addresses_they_have() {
        let mut shares = shares();
        for face in 0..1000 {
            shares.set(FaceId(face), FaceClass::OnDemand, face.into());
            admitted(&mut shares, face, 1000, 50);
        }
        assert!((40_000..=48_000).contains(&shares.all.records), "{:?}", shares.all);
        assert_eq!(admitted(&mut shares, 1000, 10_000, 50), 10_000, "a configured face has its room");
    }

    #[test]
    fn the_faces_of_an_address_share_as_one_and_evenly() {
        let mut shares = shares();
        (0..900).for_each(|face| shares.set(FaceId(face), FaceClass::OnDemand, 7));
        for _ in 0..75 {
            for face in 0..900 {
                admitted(&mut shares, face, 1, 50);
            }
        }
        assert!((41_000..=42_000).contains(&shares.all.records), "7/8 of three quarters: {:?}", shares.all);
        let held = || shares.members[..900].iter().map(|member| member.held.records);
        assert!(held().min() >= Some(45) && held().max() <= Some(48), "{:?} to {:?}", held().min(), held().max());
        shares.set(FaceId(900), FaceClass::OnDemand, 8);
        assert_eq!(admitted(&mut shares, 900, 3000, 50), 3000, "another address");
    }

    #[test]
    fn long_interests_count_by_their_bytes() {
        let mut shares = shares();
        shares.set(FaceId(0), FaceClass::OnDemand, 1);
        // 7/8 of three quarters of 64 MiB, at 2 * 8600 + 100 bytes each, and 7/8 again of what is then left to its
        // address.
        let most = (64 << 20) * 3 / 4 * 49 / 57 / 17_300;
        let got = admitted(&mut shares, 0, LIMIT, 8600);
        assert!((most - 1..=most + 1).contains(&got), "{got} of {most}");
        assert_eq!(shares.rejection(FaceId(0), 8600, LIMIT), Some(Rejection::Bytes));
        assert_eq!(admitted(&mut shares, 1, 900, 8600), 900, "a quarter is left to others");
    }

    #[test]
    fn what_a_face_holds_goes_with_it_when_it_is_adopted_and_all_is_given_back() {
        let mut shares = shares();
        shares.set(FaceId(3), FaceClass::OnDemand, 9);
        admitted(&mut shares, 3, 10, 50);
        assert_eq!((shares.on_demand_peers.records, shares.groups.len()), (10, 1));
        shares.set(FaceId(3), FaceClass::Configured, 0);
        assert_eq!((shares.on_demand_peers.records, shares.groups.len(), shares.all.records), (0, 0, 10));
        (0..10).for_each(|_| shares.give_back(FaceId(3), 50));
        assert_eq!((shares.all, shares.members[3].held), (Held::default(), Held::default()));
    }
}
