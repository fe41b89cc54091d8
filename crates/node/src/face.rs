//! A face: its egress, its shaper and what is pending from it.

use crate::egress::Egress;
use crate::flows::FlowCounter;
use ndnweir_core::ctx::Rng;
use ndnweir_core::ids::FaceId;
use ndnweir_core::registry::{AnyShaper, DisciplineParams, MarkerParams};
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::shaper::{FaceView, PacketCount};
use ndnweir_core::units::Rate;

#[derive(ndnweir_state::State)]
#[repr(C)]
pub(crate) struct Face {
    pub(crate) egress: Egress,
    pub(crate) shaper: AnyShaper,
    pub(crate) shaper_rng: Rng,
    /// See [`FaceView::open`]; never in a simulation.
    #[state(skip)]
    pub(crate) open: bool,
    pub(crate) return_rate: Option<Rate>,
    /// Interests that arrived, link framing excluded; kept when the node has shapers.
    pub(crate) interests_in: PacketCount,
    /// Flows with pending Interests from here; kept when the node has a meter or shapers.
    pub(crate) flows: FlowCounter,
    /// Components in place of the scheme's, to build them again after a crash. Few faces have any.
    #[state(skip)]
    pub(crate) own: Option<Box<OwnQueue>>,
}

/// Components of one face's queue in place of the scheme's.
pub(crate) struct OwnQueue {
    pub(crate) marker: Option<ComponentChoice<MarkerParams>>,
    pub(crate) discipline: Option<ComponentChoice<DisciplineParams>>,
}

impl Face {
    /// What components may see; the egress must have advanced to now.
    pub(crate) fn view(&self, face: FaceId) -> FaceView {
        FaceView {
            face,
            local: self.egress.is_local(),
            rate: self.egress.rate(),
            open: self.open,
            return_rate: self.return_rate,
            queue: self.egress.view(),
            sent_bits: self.egress.sent_bits(),
            offered_bits: self.egress.offered_bits(),
        }
    }
}
