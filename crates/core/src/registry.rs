//! The registry: every component that exists, one line each.
//!
//! Command line, scenario parsing, documentation index, fuzzing and conformance tests all iterate over it. Each family
//! becomes an enum that dispatches without a vtable, with one `Custom` arm for schemes written elsewhere.

use crate::component::{Component, Env, FamilyParams, Info, Outside, parse_params};
use crate::error::SchemeError;
pub use crate::family::Family;
use crate::fields::Field;
use crate::{consumer, meter, planner, queue, shaper, strategy, suggest};
use ndnweir_state::{Damaged, Reader, State, Writer};
use serde_json::Value;

/// Defines one family: its enum, what that is built from, its list and a macro that calls a method on any arm. The
/// first component is the null one.
macro_rules! family {
    (
        $d:tt $enum:ident, $params:ident, $trait:path, $family:ident, $doc:literal, $dispatch:ident,
        { $first:ident = $default:ty; $($variant:ident = $type:ty;)* }
    ) => {
        family!(@ $d $enum, $params, $trait, $family, $doc, $dispatch, $first, {
            $first = $default; $($variant = $type;)*
        });
    };
    (
        @ $d:tt $enum:ident, $params:ident, $trait:path, $family:ident, $doc:literal, $dispatch:ident, $first:ident,
        { $($variant:ident = $type:ty;)* }
    ) => {
        #[doc = $doc]
        #[allow(clippy::large_enum_variant, reason = "one per flow, face or node: size matters less than the extra hop")]
        pub enum $enum {
            $(#[doc = concat!("See [`", stringify!($type), "`].")] $variant($type),)*
            /// Written outside this crate.
            Custom(Box<dyn $trait + Send>),
        }

        #[doc = concat!($doc, " What it is built from: its parameters, read and checked.")]
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "one per scheme, node or prefix with a choice of its own")]
        pub enum $params {
            $(#[doc = concat!("Of [`", stringify!($type), "`].")] $variant(<$type as Component>::Params),)*
            /// Made outside this crate.
            Custom(Outside<dyn $trait + Send>),
        }

        impl Default for $params {
            fn default() -> $params {
                $params::$first(Default::default())
            }
        }

        impl FamilyParams for $params {
            const FAMILY: Family = Family::$family;
            type Instance = $enum;

            fn read(name: &str, params: &Value) -> Result<$params, SchemeError> {
                $(if name == <$type as Component>::NAME {
                    let params = parse_params::<$type>(params);
                    return params.map($params::$variant).map_err(|e| e.of(Family::$family, <$type as Component>::NAME));
                })*
                Err(unknown(Family::$family, name))
            }

            fn name(&self) -> &'static str {
                match self {
                    $($params::$variant(_) => <$type as Component>::NAME,)*
                    $params::Custom(outside) => outside.name(),
                }
            }

            fn needs(&self) -> Vec<Field> {
                match self {
                    $($params::$variant(params) => <$type as Component>::needs(params),)*
                    $params::Custom(_) => Vec::new(),
                }
            }

            fn build(&self, env: &mut Env<'_>) -> $enum {
                match self {
                    $($params::$variant(params) => $enum::$variant(<$type as Component>::new(params, env)),)*
                    $params::Custom(outside) => $enum::Custom(outside.make()),
                }
            }
        }

        impl $enum {
            /// Every registered component of the family.
            pub const ALL: &'static [Info] = &[$(Info::of::<$type>()),*];

            /// Checks parameters of the component called `name` without building it.
            ///
            /// # Errors
            /// If there is no such component or the parameters do not fit.
            pub fn check(name: &str, params: &Value) -> Result<(), SchemeError> {
                $params::read(name, params).map(drop)
            }

            /// Builds the component called `name`, once. A scheme reads its [`FamilyParams`] once and builds from them.
            ///
            /// # Errors
            /// As [`Self::check`].
            pub fn build(name: &str, params: &Value, env: &mut Env<'_>) -> Result<$enum, SchemeError> {
                Ok($params::read(name, params)?.build(env))
            }
        }

        impl State for $enum {
            fn save(&self, to: &mut Writer) {
                match self {
                    $($enum::$variant(inner) => State::save(inner, to),)*
                    $enum::Custom(_) => {
                        to.refuse(concat!("a ", stringify!($family), " that was made outside the registry"));
                    }
                }
            }

            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
                match self {
                    $($enum::$variant(inner) => State::load(inner, from),)*
                    $enum::Custom(_) => Err(from.damaged()),
                }
            }
        }

        macro_rules! $dispatch {
            ($d self:expr, $d inner:ident => $d body:expr) => {
                match $d self {
                    $($crate::registry::$enum::$variant($d inner) => $d body,)*
                    $crate::registry::$enum::Custom($d inner) => $d body,
                }
            };
        }
        pub(crate) use $dispatch;
    };
}

family!($ AnyConsumer, ConsumerParams, consumer::Consumer, Consumer, "A consumer.", each_consumer, {
    Fixed = consumer::fixed::Fixed;
    Aimd = consumer::aimd::Aimd;
    Bic = consumer::bic::Bic;
    Cubic = consumer::cubic::Cubic;
    Pcon = consumer::pcon::Pcon;
    AimdYe = consumer::aimd_ye::AimdYe;
    Icp = consumer::icp::Icp;
    Raaqm = consumer::raaqm::Raaqm;
    RateAimd = consumer::rate_aimd::RateAimd;
    Relentless = consumer::relentless::Relentless;
    AimdHis = consumer::aimd_his::AimdHis;
    NdnSieve = consumer::ndnsieve::NdnSieve;
    LevelAimd = consumer::level_aimd::LevelAimd;
    BbrV1 = consumer::bbr_v1::BbrV1;
    Bbr = consumer::bbr::Bbr;
    Copa = consumer::copa::Copa;
    Vivace = consumer::vivace::Vivace;
    Prague = consumer::prague::Prague;
    E2eAqm = consumer::e2e_aqm::E2eAqm;
    Dpccp = consumer::dpccp::Dpccp;
    Ptp = consumer::ptp::Ptp;
    Coupled = consumer::coupled::Coupled;
    Mpcc = consumer::mpcc::Mpcc;
    Ecp = consumer::ecp::Ecp;
    Ictp = consumer::ictp::Ictp;
    Cctcp = consumer::cctcp::Cctcp;
    Rcp = consumer::rcp::Rcp;
    Weir = consumer::weir::Weir;
    Mircc = consumer::mircc::Mircc;
    Qsccp = consumer::qsccp::Qsccp;
    Policy = consumer::policy::Policy;
});

family!($ AnyMarker, MarkerParams, queue::Marker, Marker, "A marker.", each_marker, {
    DropTail = queue::droptail::DropTail;
    Cobalt = queue::cobalt::Cobalt;
    Codel = queue::codel::Codel;
    CodelPcon = queue::codel_pcon::CodelPcon;
    CwndCodel = queue::cwnd_codel::CwndCodel;
    NdnDpdk = queue::ndn_dpdk::NdnDpdk;
    Nfd = queue::nfd::Nfd;
    Pie = queue::pie::Pie;
    Red = queue::red::Red;
    NdnSieve = queue::ndnsieve::NdnSieve;
    E2eAqm = queue::e2e_aqm::E2eAqm;
    Dpccp = queue::dpccp::Dpccp;
    Chopcop = queue::chopcop::Chopcop;
});

family!($ AnyDiscipline, DisciplineParams, queue::Discipline, Discipline, "A queue discipline.", each_discipline, {
    Fifo = queue::fifo::Fifo;
    Drr = queue::drr::Drr;
    FqCodel = queue::fq_codel::FqCodel;
    DualPi2 = queue::dualpi2::DualPi2;
});

family!($ AnyShaper, ShaperParams, shaper::Shaper, Shaper, "An Interest shaper.", each_shaper, {
    None = shaper::none::None;
    Stateful = shaper::stateful::Stateful;
    Hobhis = shaper::hobhis::Hobhis;
    Hobhis2014 = shaper::hobhis_2014::Hobhis2014;
    His = shaper::his::His;
    HrIcp = shaper::hr_icp::HrIcp;
    KatoWindow = shaper::kato_window::KatoWindow;
    FleCom = shaper::flecom::FleCom;
    Ecp = shaper::ecp::Ecp;
    Chopcop = shaper::chopcop::Chopcop;
    Mircc = shaper::mircc::Mircc;
    Qsccp = shaper::qsccp::Qsccp;
    Dscpc = shaper::qsccp::Dscpc;
});

family!($ AnyStrategy, StrategyParams, strategy::Strategy, Strategy, "A forwarding strategy.", each_strategy, {
    BestRoute = strategy::best_route::BestRoute;
    Multicast = strategy::multicast::Multicast;
    Overflow = strategy::overflow::Overflow;
    BIcp = strategy::b_icp::BIcp;
    Random = strategy::random::Random;
    Pcon = strategy::pcon::Pcon;
    Rfa = strategy::rfa::Rfa;
    Asf = strategy::asf::Asf;
    SelfLearning = strategy::self_learning::SelfLearning;
    Weighted = strategy::weighted::Weighted;
    StatefulForwarding = strategy::stateful_forwarding::StatefulForwarding;
    CongestionAware = strategy::congestion_aware::CongestionAware;
    CoopCon = strategy::coopcon::CoopCon;
    FleCom = strategy::flecom::FleCom;
    Ptp = strategy::ptp::Ptp;
    Mircc = strategy::mircc::Mircc;
    Weir = strategy::weir::Weir;
});

family!($ AnyMeter, MeterParams, meter::Meter, Meter, "A meter.", each_meter, {
    None = meter::none::None;
    HbHcm = meter::hbhcm::HbHcm;
    PathLabel = meter::path_label::PathLabel;
    Pooling = meter::pooling::Pooling;
    LowLatency = meter::low_latency::LowLatency;
    NdnSieve = meter::ndnsieve::NdnSieve;
    CoopCon = meter::coopcon::CoopCon;
    FleCom = meter::flecom::FleCom;
    Rcp = meter::rcp::Rcp;
    Weir = meter::weir::Weir;
});

family!($ AnyPlanner, PlannerParams, planner::Planner, Planner, "A planner.", each_planner, {
    None = planner::none::None;
    NdnSieve = planner::ndnsieve::NdnSieve;
});

impl Family {
    /// All of them, in the order schemes are written.
    pub const ALL: [Family; 7] = [
        Family::Consumer,
        Family::Marker,
        Family::Discipline,
        Family::Shaper,
        Family::Strategy,
        Family::Meter,
        Family::Planner,
    ];

    /// The key in scenario files.
    pub const fn key(self) -> &'static str {
        match self {
            Family::Consumer => "consumer",
            Family::Marker => "marker",
            Family::Discipline => "discipline",
            Family::Shaper => "shaper",
            Family::Strategy => "strategy",
            Family::Meter => "meter",
            Family::Planner => "planner",
        }
    }

    /// The registered components.
    pub const fn components(self) -> &'static [Info] {
        match self {
            Family::Consumer => AnyConsumer::ALL,
            Family::Marker => AnyMarker::ALL,
            Family::Discipline => AnyDiscipline::ALL,
            Family::Shaper => AnyShaper::ALL,
            Family::Strategy => AnyStrategy::ALL,
            Family::Meter => AnyMeter::ALL,
            Family::Planner => AnyPlanner::ALL,
        }
    }

    /// Checks a component's name and parameters.
    ///
    /// # Errors
    /// If there is no such component, or the parameters do not fit.
    pub fn check(self, name: &str, params: &Value) -> Result<(), SchemeError> {
        match self {
            Family::Consumer => AnyConsumer::check(name, params),
            Family::Marker => AnyMarker::check(name, params),
            Family::Discipline => AnyDiscipline::check(name, params),
            Family::Shaper => AnyShaper::check(name, params),
            Family::Strategy => AnyStrategy::check(name, params),
            Family::Meter => AnyMeter::check(name, params),
            Family::Planner => AnyPlanner::check(name, params),
        }
    }

    /// The null component, used where a scheme names none.
    pub const fn default_component(self) -> &'static str {
        self.components()[0].name
    }
}

fn unknown(family: Family, name: &str) -> SchemeError {
    let known: Vec<_> = family.components().iter().map(|info| info.name).collect();
    SchemeError { family: Some(family), ..suggest::unknown(family.key(), name, &known) }
}
