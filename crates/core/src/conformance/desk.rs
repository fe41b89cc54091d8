//! What the suites of the families at a router share: chance, and a record to compare.

use super::Broken;
use crate::ctx::{Ctx, Rng, Trace};
use crate::fields::{Field, FieldLayout, Fields};
use crate::ids::{FlowId, NameId};
use crate::packet::{Kind, Packet};
use crate::units::{Duration, Time};

/// A component under test with what its hooks are given, its clock, and a record of everything it decided.
pub struct Desk<C> {
    /// The component.
    pub component: C,
    /// The time.
    pub now: Time,
    /// The test's own chance, apart from the component's.
    pub dice: Rng,
    /// What it decided.
    pub record: Vec<u64>,
    broken: Option<Broken>,
    rng: Rng,
    trace: Trace,
    layout: FieldLayout,
}

impl<C> Desk<C> {
    /// A component in a run that carries these header fields.
    pub fn new(component: C, layout: FieldLayout, seed: u64) -> Desk<C> {
        let (dice, rng) = (Rng::derive(seed, &[1]), Rng::derive(seed, &[2]));
        let (now, trace) = (Time::ZERO, Trace::new(true));
        Desk { component, now, dice, record: Vec::new(), broken: None, rng, trace, layout }
    }

    /// Whether the component declares a field.
    pub fn carries(&self, field: Field) -> bool {
        self.layout.find(field).is_some()
    }

    /// Header fields with `value` in the first that the component declares, and half of the one before in the others.
    pub fn fields(&self, value: u32) -> Fields {
        let mut fields = Fields::default();
        for (place, (_, slot)) in self.layout.iter().enumerate() {
            fields.set(slot, value >> place.min(31));
        }
        fields
    }

    /// Header fields with anything in them, chosen by `salt` and not by the dice.
    pub fn any_fields(&self, salt: u32) -> Fields {
        self.fields([0, 3, 256 * (salt % 64), u32::MAX, 1, u32::MAX / 64 * (salt % 64)][salt as usize % 6])
    }

    /// Adds the values of the fields that the component declares to the record.
    pub fn record_fields(&mut self, fields: &Fields) {
        self.record.extend(self.layout.iter().map(|(_, slot)| u64::from(fields.get(slot))));
    }

    /// Calls a hook.
    pub fn with<R>(&mut self, hook: impl FnOnce(&mut C, &mut Ctx<'_>) -> R) -> R {
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        hook(&mut self.component, &mut ctx)
    }

    /// Lets time pass: mostly little, sometimes ten days.
    pub fn wander(&mut self) {
        let most = [1, 1_000, 1_000_000, 20_000_000, 1_000_000_000][self.below(5)];
        self.now += Duration::from_nanos(self.dice.below(most));
        if self.chance(0.001) {
            self.now += Duration::from_millis(10 * 86_400_000);
        }
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.dice.below(n as u64) as usize
    }

    /// Whether an event of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.dice.unit() < probability
    }

    /// A packet with a tag of its own, of any kind.
    pub fn packet(&mut self, tag: u32) -> Packet {
        let kind = [Kind::Interest, Kind::Data, Kind::Data, Kind::Nack][self.below(4)];
        let size = match kind {
            Kind::Data => [64, 1250, 8800][self.below(3)],
            _ => 40,
        };
        let name = NameId { flow: FlowId(self.dice.below(5) as u32), segment: tag };
        let mark = u8::from(self.chance(0.1));
        let fields = self.any_fields(tag);
        Packet { fields, name, kind, size, tag, mark, nonce: tag, lifetime_ms: 2000, ..Packet::default() }
    }

    /// Notes that a rule is broken unless it holds; the first that is counts.
    pub fn demand(&mut self, holds: bool, rule: &'static str) {
        if !holds {
            self.broken.get_or_insert(Broken::Rule(rule));
        }
    }

    /// Adds what the component recorded itself, and returns everything.
    ///
    /// # Errors
    /// The first rule that was broken.
    pub fn finish(mut self) -> Result<Vec<u64>, Broken> {
        for event in self.trace.drain() {
            self.record.extend([event.at.nanos(), event.id, event.value.to_bits()]);
        }
        self.broken.map_or(Ok(self.record), Err)
    }
}

/// Seeds every fuzzing test walks.
pub const SEEDS: std::ops::Range<u64> = 0..24;

/// Rates no scheme may trip over.
pub const RATES: [u64; 6] = [0, 1, 1_000_000, 10_000_000, 100_000_000_000, u64::MAX];

/// How often a driver may ask at one instant before it calls that endless.
pub const PATIENCE: usize = 10_000;
