//! The forwarder as a whole and its tables: FIB, RIB, strategies and content store.

use super::Item;
use super::face::expect_type;
use crate::mgmt::codec::{
    CodecResult, each, millis, nested_name, put_millis, put_nested_name, put_numbers, required, set, set_with, wrap,
};
use crate::mgmt::types;
use ndnweir_wire::Name;
use ndnweir_wire::tlv::{self, Element, Reader};
use std::time::Duration;

/// The forwarder as a whole: the dataset `status/general`, which is these fields without an element around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwarderStatus {
    /// Name and version of the software.
    pub version: String,
    /// When it started, since the Unix epoch.
    pub started: Duration,
    /// When the status was taken, since the Unix epoch.
    pub now: Duration,
    /// Entries of the name tree.
    pub name_tree_entries: u64,
    /// Entries of the FIB.
    pub fib_entries: u64,
    /// Entries of the PIT.
    pub pit_entries: u64,
    /// Entries of the measurements table.
    pub measurements_entries: u64,
    /// Packets in the content store.
    pub cs_entries: u64,
    /// Interests received.
    pub in_interests: u64,
    /// Data received.
    pub in_data: u64,
    /// Nacks received.
    pub in_nacks: u64,
    /// Interests sent.
    pub out_interests: u64,
    /// Data sent.
    pub out_data: u64,
    /// Nacks sent.
    pub out_nacks: u64,
    /// Interests answered.
    pub satisfied_interests: u64,
    /// Interests that were not answered.
    pub unsatisfied_interests: u64,
    /// Interests rejected because the PIT or the share of their face was full. Ours, as the next three; 0 is not sent.
    pub rejected_interests: u64,
    /// Of those, the ones rejected for the bytes that pending Interests hold.
    pub rejected_for_memory: u64,
    /// Packets dropped because there was no room for their bytes or names.
    pub memory_drops: u64,
    /// Unsolicited Data.
    pub unsolicited_data: u64,
}

impl ForwarderStatus {
    /// The fields one after the other.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        tlv::write_element(&mut out, types::NFD_VERSION, self.version.as_bytes());
        put_millis(&mut out, types::START_TIMESTAMP, Some(self.started));
        put_millis(&mut out, types::CURRENT_TIMESTAMP, Some(self.now));
        let numbers = [
            (types::N_NAME_TREE_ENTRIES, self.name_tree_entries),
            (types::N_FIB_ENTRIES, self.fib_entries),
            (types::N_PIT_ENTRIES, self.pit_entries),
            (types::N_MEASUREMENTS_ENTRIES, self.measurements_entries),
            (types::N_CS_ENTRIES, self.cs_entries),
            (types::N_IN_INTERESTS, self.in_interests),
            (types::N_IN_DATA, self.in_data),
            (types::N_IN_NACKS, self.in_nacks),
            (types::N_OUT_INTERESTS, self.out_interests),
            (types::N_OUT_DATA, self.out_data),
            (types::N_OUT_NACKS, self.out_nacks),
            (types::N_SATISFIED_INTERESTS, self.satisfied_interests),
            (types::N_UNSATISFIED_INTERESTS, self.unsatisfied_interests),
        ];
        put_numbers(&mut out, numbers);
        let ours = [
            (types::N_REFUSED_INTERESTS, self.rejected_interests),
            (types::N_REFUSED_FOR_MEMORY, self.rejected_for_memory),
            (types::N_MEMORY_DROPS, self.memory_drops),
            (types::N_UNSOLICITED_DATA, self.unsolicited_data),
        ];
        for (typ, count) in ours.into_iter().filter(|(_, count)| *count > 0) {
            tlv::write_nni_element(&mut out, typ, count);
        }
        out
    }

    /// Reads the fields; those that are absent stay zero.
    ///
    /// # Errors
    /// [`super::super::CodecError`] when they are malformed or one of version and times is missing.
    pub fn decode(bytes: &[u8]) -> CodecResult<ForwarderStatus> {
        let mut status = ForwarderStatus::default();
        let (mut version, mut started, mut now) = (None, None, None);
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let e = reader.element()?;
            let counter = match e.typ {
                types::NFD_VERSION => {
                    set(&mut version, &e)?;
                    continue;
                }
                types::START_TIMESTAMP => {
                    set_with(&mut started, &e, millis)?;
                    continue;
                }
                types::CURRENT_TIMESTAMP => {
                    set_with(&mut now, &e, millis)?;
                    continue;
                }
                types::N_NAME_TREE_ENTRIES => &mut status.name_tree_entries,
                types::N_FIB_ENTRIES => &mut status.fib_entries,
                types::N_PIT_ENTRIES => &mut status.pit_entries,
                types::N_MEASUREMENTS_ENTRIES => &mut status.measurements_entries,
                types::N_CS_ENTRIES => &mut status.cs_entries,
                types::N_IN_INTERESTS => &mut status.in_interests,
                types::N_IN_DATA => &mut status.in_data,
                types::N_IN_NACKS => &mut status.in_nacks,
                types::N_OUT_INTERESTS => &mut status.out_interests,
                types::N_OUT_DATA => &mut status.out_data,
                types::N_OUT_NACKS => &mut status.out_nacks,
                types::N_SATISFIED_INTERESTS => &mut status.satisfied_interests,
                types::N_UNSATISFIED_INTERESTS => &mut status.unsatisfied_interests,
                types::N_REFUSED_INTERESTS => &mut status.rejected_interests,
                types::N_REFUSED_FOR_MEMORY => &mut status.rejected_for_memory,
                types::N_MEMORY_DROPS => &mut status.memory_drops,
                types::N_UNSOLICITED_DATA => &mut status.unsolicited_data,
                _ => continue,
            };
            *counter = e.nni()?;
        }
        status.version = required(version, types::NFD_VERSION)?;
        status.started = required(started, types::START_TIMESTAMP)?;
        status.now = required(now, types::CURRENT_TIMESTAMP)?;
        Ok(status)
    }
}

/// A next hop of a FIB entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// FaceId.
    pub face_id: u64,
    /// Cost.
    pub cost: u64,
}

/// A FIB entry, as `fib/list` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FibEntry {
    /// The prefix.
    pub name: Name,
    /// Its next hops.
    pub next_hops: Vec<NextHop>,
}

impl Item for FibEntry {
    fn write(&self, out: &mut Vec<u8>) {
        wrap(out, types::FIB_ENTRY, |out| {
            self.name.as_view().write(out);
            for hop in &self.next_hops {
                wrap(out, types::NEXT_HOP_RECORD, |out| {
                    put_numbers(out, [(types::FACE_ID, hop.face_id), (types::COST, hop.cost)]);
                });
            }
        });
    }

    fn read(element: &Element<'_>) -> CodecResult<FibEntry> {
        expect_type(element, types::FIB_ENTRY)?;
        let (mut name, mut next_hops) = (None, Vec::new());
        each(element, |e| match e.typ {
            tlv::types::NAME => set(&mut name, e),
            types::NEXT_HOP_RECORD => {
                let (mut face_id, mut cost) = (None, None);
                each(e, |e| match e.typ {
                    types::FACE_ID => set(&mut face_id, e),
                    types::COST => set(&mut cost, e),
                    _ => Ok(()),
                })?;
                let face_id = required(face_id, types::FACE_ID)?;
                next_hops.push(NextHop { face_id, cost: required(cost, types::COST)? });
                Ok(())
            }
            _ => Ok(()),
        })?;
        Ok(FibEntry { name: required(name, tlv::types::NAME)?, next_hops })
    }
}

/// A route of a RIB entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteRecord {
    /// FaceId.
    pub face_id: u64,
    /// Who made the route.
    pub origin: u64,
    /// Cost.
    pub cost: u64,
    /// Bits of [`crate::mgmt::route_flags`].
    pub flags: u64,
    /// The rest of its lifetime; none when it has no end.
    pub expiration_period: Option<Duration>,
}

/// A RIB entry, as `rib/list` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RibEntry {
    /// The prefix.
    pub name: Name,
    /// Its routes.
    pub routes: Vec<RouteRecord>,
}

impl Item for RibEntry {
    fn write(&self, out: &mut Vec<u8>) {
        wrap(out, types::RIB_ENTRY, |out| {
            self.name.as_view().write(out);
            for route in &self.routes {
                wrap(out, types::ROUTE, |out| {
                    let numbers = [
                        (types::FACE_ID, route.face_id),
                        (types::ORIGIN, route.origin),
                        (types::COST, route.cost),
                        (types::FLAGS, route.flags),
                    ];
                    put_numbers(out, numbers);
                    put_millis(out, types::EXPIRATION_PERIOD, route.expiration_period);
                });
            }
        });
    }

    fn read(element: &Element<'_>) -> CodecResult<RibEntry> {
        expect_type(element, types::RIB_ENTRY)?;
        let (mut name, mut routes) = (None, Vec::new());
        each(element, |e| match e.typ {
            tlv::types::NAME => set(&mut name, e),
            types::ROUTE => {
                routes.push(read_route(e)?);
                Ok(())
            }
            _ => Ok(()),
        })?;
        Ok(RibEntry { name: required(name, tlv::types::NAME)?, routes })
    }
}

fn read_route(element: &Element<'_>) -> CodecResult<RouteRecord> {
    let (mut face_id, mut origin, mut cost, mut flags, mut expiration) = (None, None, None, None, None);
    each(element, |e| match e.typ {
        types::FACE_ID => set(&mut face_id, e),
        types::ORIGIN => set(&mut origin, e),
        types::COST => set(&mut cost, e),
        types::FLAGS => set(&mut flags, e),
        types::EXPIRATION_PERIOD => set_with(&mut expiration, e, millis),
        _ => Ok(()),
    })?;
    Ok(RouteRecord {
        face_id: required(face_id, types::FACE_ID)?,
        origin: required(origin, types::ORIGIN)?,
        cost: required(cost, types::COST)?,
        flags: required(flags, types::FLAGS)?,
        expiration_period: expiration,
    })
}

/// A strategy choice, as `strategy-choice/list` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyChoice {
    /// The prefix.
    pub name: Name,
    /// The strategy's name.
    pub strategy: Name,
}

impl Item for StrategyChoice {
    fn write(&self, out: &mut Vec<u8>) {
        wrap(out, types::STRATEGY_CHOICE, |out| {
            self.name.as_view().write(out);
            put_nested_name(out, types::STRATEGY, &self.strategy);
        });
    }

    fn read(element: &Element<'_>) -> CodecResult<StrategyChoice> {
        expect_type(element, types::STRATEGY_CHOICE)?;
        let (mut name, mut strategy) = (None, None);
        each(element, |e| match e.typ {
            tlv::types::NAME => set(&mut name, e),
            types::STRATEGY => set_with(&mut strategy, e, nested_name),
            _ => Ok(()),
        })?;
        Ok(StrategyChoice { name: required(name, tlv::types::NAME)?, strategy: required(strategy, types::STRATEGY)? })
    }
}

/// The content store: the dataset `cs/info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsInfo {
    /// How many packets it can hold.
    pub capacity: u64,
    /// Bits of [`crate::mgmt::cs_flags`].
    pub flags: u64,
    /// How many it holds.
    pub entries: u64,
    /// Interests it answered.
    pub hits: u64,
    /// Interests it could not answer.
    pub misses: u64,
}

impl Item for CsInfo {
    fn write(&self, out: &mut Vec<u8>) {
        wrap(out, types::CS_INFO, |out| {
            let numbers = [
                (types::CAPACITY, self.capacity),
                (types::FLAGS, self.flags),
                (types::N_CS_ENTRIES, self.entries),
                (types::N_HITS, self.hits),
                (types::N_MISSES, self.misses),
            ];
            put_numbers(out, numbers);
        });
    }

    fn read(element: &Element<'_>) -> CodecResult<CsInfo> {
        expect_type(element, types::CS_INFO)?;
        let mut info = CsInfo::default();
        each(element, |e| {
            let number = match e.typ {
                types::CAPACITY => &mut info.capacity,
                types::FLAGS => &mut info.flags,
                types::N_CS_ENTRIES => &mut info.entries,
                types::N_HITS => &mut info.hits,
                types::N_MISSES => &mut info.misses,
                _ => return Ok(()),
            };
            *number = e.nni()?;
            Ok(())
        })?;
        Ok(info)
    }
}
