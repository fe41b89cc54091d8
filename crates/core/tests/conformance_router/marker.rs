//! Markers, plugged into a drop-tail queue on a link.

use crate::router;
use ndnweir_core::component::Info;
use ndnweir_core::conformance::{SEEDS, marker};
use ndnweir_core::queue::Marker;
use ndnweir_core::registry::{AnyMarker, MarkerParams};
use serde_json::Value;

fn fuzz(info: &Info, seed: u64, blur: bool) -> Vec<u64> {
    let desk = router::desk::<MarkerParams>(info, &Value::Null, seed);
    marker::fuzz(desk, blur).unwrap_or_else(|e| panic!("{} seed {seed}: {e}", info.name))
}

fn workload(info: &Info, params: &Value) -> Vec<u64> {
    let decided = marker::workload(|seed| router::desk::<MarkerParams>(info, params, seed));
    decided.unwrap_or_else(|e| panic!("{} with {params}: {e}", info.name))
}

#[test]
fn markers_survive_any_traffic_and_keep_to_the_contract() {
    for info in AnyMarker::ALL {
        for seed in SEEDS {
            fuzz(info, seed, false);
        }
    }
}

#[test]
fn predictable_markers_do_not_look_at_the_queue_behind_a_departure() {
    for info in AnyMarker::ALL {
        let desk = router::desk::<MarkerParams>(info, &Value::Null, 0);
        for seed in SEEDS.filter(|_| desk.component.predictable()) {
            let (clear, blurred) = (fuzz(info, seed, false), fuzz(info, seed, true));
            assert_eq!(clear, blurred, "{}", info.name);
        }
    }
}

#[test]
fn markers_decide_the_same_in_every_run() {
    router::assert_deterministic(AnyMarker::ALL, workload);
}

#[test]
fn markers_have_sound_parameters() {
    router::assert_parameters_are_sound(AnyMarker::ALL, AnyMarker::check);
}

#[test]
fn every_parameter_of_a_marker_has_an_effect() {
    router::assert_parameters_have_effects(AnyMarker::ALL, AnyMarker::check, workload);
}
