//! Bins of a run are given on while it is simulated.

use ndnweir_lab::experiment::{Experiment, Progress, choose};
use ndnweir_lab::results::{Series, SeriesKind};
use ndnweir_scenario as scenario;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// What was given, by run: the next bin expected, and all columns of each row.
#[derive(Default)]
struct Taken(Mutex<Vec<(usize, Series)>>);

impl Progress for Taken {
    fn advanced(&self, _: usize, _: f64) {}

    fn wants_bins(&self) -> bool {
        true
    }

    fn bins(&self, run: usize, first: usize, part: &Series) {
        let mut all = self.0.lock().unwrap();
        let runs = all.len().max(run + 1);
        all.resize(runs, (0, Series::default()));
        let (next, series) = &mut all[run];
        assert_eq!(first, *next, "every bin once, in order");
        *next += part.len();
        for (have, more) in series.tables.iter_mut().zip(&part.tables) {
            have.resize(more.len(), Default::default());
            for (have, more) in have.iter_mut().zip(more) {
                have.key.clone_from(&more.key);
                have.columns.resize(more.columns.len(), Vec::new());
                have.columns.iter_mut().zip(&more.columns).for_each(|(all, some)| all.extend(some));
            }
        }
    }
}

#[test]
fn what_is_given_while_a_run_is_simulated_are_the_series_that_it_has_at_its_end() {
    let scenario = scenario::load("two-paths", &["run.duration=5s", "run.warm-up=1s"]).unwrap();
    let schemes = choose(&scenario, &["pcon".into(), "cubic".into()]).unwrap();
    let experiment = Experiment { scenario, schemes, seeds: vec![1], events: Vec::new() };
    let taken = Taken::default();
    let comparison = experiment.run(&taken, &AtomicBool::new(false)).unwrap();
    let taken = taken.0.into_inner().unwrap();
    assert_eq!((taken.len(), comparison.runs.len()), (2, 2));
    for (run, (bins, series)) in comparison.runs.iter().zip(&taken) {
        // 5 s in bins of 100 ms.
        assert_eq!(*bins, 50);
        for kind in [SeriesKind::Network, SeriesKind::Consumers, SeriesKind::Links, SeriesKind::Packets] {
            // Undefined values are not equal to themselves.
            assert_eq!(format!("{:?}", series.table(kind)), format!("{:?}", run.series.table(kind)), "{kind:?}");
        }
        assert!(series.table(SeriesKind::Nodes).is_empty());
    }
}
