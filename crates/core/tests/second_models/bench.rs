//! A component of a router, its clock and its chance, and what its hooks are given.

use ndnweir_core::component::Env;
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::error::SchemeError;
use ndnweir_core::fields::{Field, FieldLayout, Fields, Slot};
use ndnweir_core::ids::FaceId;
use ndnweir_core::queue::{Limit, QueueView};
use ndnweir_core::shaper::FaceView;
use ndnweir_core::units::{Bytes, Rate, Time};
use serde_json::Value;

pub struct Bench<C> {
    pub component: C,
    /// ns.
    pub now: u64,
    /// Chance of the test, apart from that of the component.
    pub dice: Rng,
    rng: Rng,
    trace: Trace,
    layout: FieldLayout,
}

impl<C> Bench<C> {
    /// Builds `name` with one of the registry's functions.
    pub fn new(
        build: fn(&str, &Value, &mut Env<'_>) -> Result<C, SchemeError>,
        name: &str,
        params: &Value,
        fields: &[Field],
    ) -> Bench<C> {
        let mut layout = FieldLayout::new();
        for &field in fields {
            layout.slot(field);
        }
        let component = build(name, params, &mut Env { layout: &mut layout }).unwrap();
        let (dice, rng) = (Rng::derive(5, &[1]), Rng::derive(5, &[2]));
        Bench { component, now: 1_000_000, dice, rng, trace: Trace::default(), layout }
    }

    /// The stream of chance from which the component draws next.
    pub fn chance(&self) -> Rng {
        self.rng.clone()
    }

    pub fn slot(&self, field: Field) -> Slot {
        self.layout.find(field).unwrap()
    }

    /// Header fields with these values.
    pub fn fields(&self, values: &[(Field, u32)]) -> Fields {
        let mut fields = Fields::default();
        for &(field, value) in values {
            fields.set(self.slot(field), value);
        }
        fields
    }

    /// Calls a hook.
    pub fn with<R>(&mut self, hook: impl FnOnce(&mut C, &mut Ctx<'_>) -> R) -> R {
        let now = Time::from_nanos(self.now);
        hook(&mut self.component, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace })
    }
}

/// What waits in a queue that nothing limits.
pub fn queue(packets: u32, bytes: u64, rate: Rate) -> QueueView {
    QueueView { packets, bytes: Bytes::new(bytes), limit: Limit::Packets(100_000), rate: Some(rate) }
}

/// A face to a neighbour, of the same rate in both directions.
pub fn face(rate: Rate, queue: QueueView, offered_bits: u64) -> FaceView {
    let (face, local) = (FaceId(3), false);
    FaceView {
        face,
        local,
        rate: Some(rate),
        open: false,
        return_rate: Some(rate),
        queue,
        sent_bits: offered_bits,
        offered_bits,
    }
}
