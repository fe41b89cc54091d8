//! For the test that a panic gives the terminal back: a forwarder whose second answer is one.

use ndnweir_view::terminal::{ForwarderSample, watch_faces};
use std::sync::atomic::AtomicBool;

fn main() {
    let mut asked = 0;
    let ended = watch_faces("test", &AtomicBool::new(false), || {
        asked += 1;
        assert!(asked < 2, "asked twice");
        Ok(ForwarderSample::default())
    });
    if let Err(error) = ended {
        eprintln!("error: {error}");
        std::process::exit(2);
    }
}
