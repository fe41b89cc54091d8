//! The three laws, per Data and per loss of one path. Windows w are in segments, round-trip times T in s.
//!
//! Read in the modules of the authors and of the working group for Linux, repository multipath-tcp/mptcp:
//! `mptcp_coupled.c` (0523c03), `mptcp_olia.c` (34ebf9f), `mptcp_balia.c` (0075cb4).

use super::Coupling;

/// A path as the laws see it.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
pub(super) struct Subflow {
    pub(super) window: f64,
    /// Smoothed, in s; above 0.
    pub(super) rtt: f64,
    /// l of OLIA: Data since the last loss or between the last two, whichever is more.
    pub(super) between_losses: f64,
}

impl Subflow {
    /// x = w/T, in segments per second.
    fn rate(&self) -> f64 {
        self.window / self.rtt
    }

    /// w/T².
    fn pull(&self) -> f64 {
        self.rate() / self.rtt
    }

    /// l/T²: the square of the rate of a TCP with this distance of losses, but for a factor.
    fn quality(&self) -> f64 {
        self.between_losses / self.rtt / self.rtt
    }

    /// Windows are compared in whole segments, as where they are integers.
    fn whole(&self) -> f64 {
        libm::floor(self.window)
    }
}

fn total_rate(subflows: &[Subflow]) -> f64 {
    subflows.iter().map(Subflow::rate).sum()
}

fn largest(subflows: &[Subflow], of: impl Fn(&Subflow) -> f64) -> f64 {
    subflows.iter().map(of).fold(0.0, f64::max)
}

/// What the window of the path at `place` gains by one Data in congestion avoidance; under OLIA it may be negative.
pub(super) fn gain(coupling: Coupling, subflows: &[Subflow], place: usize) -> f64 {
    let path = &subflows[place];
    let sum = total_rate(subflows);
    match coupling {
        // RFC 6356 §3: min(alpha/w_total, 1/w), alpha = w_total · max(w_i/T_i²)/(Σ w_i/T_i)².
        Coupling::Lia => (largest(subflows, Subflow::pull) / (sum * sum)).min(1.0 / path.window),
        // (w/T²)/(Σ w_p/T_p)² + α/w.
        Coupling::Olia => path.pull() / (sum * sum) + share_moved(subflows, place) / path.window,
        // x/(T · (Σ x_k)²) · (1 + α)/2 · (4 + α)/5 with α = max x_k/x, written without it.
        Coupling::Balia => {
            let (x, most) = (path.rate(), largest(subflows, Subflow::rate));
            (x + most) * (4.0 * x + most) / (10.0 * path.window * sum * sum)
        }
    }
}

/// α of OLIA: what moves from the paths with the largest windows M to the best paths that
/// are not among them, B \ M.
fn share_moved(subflows: &[Subflow], place: usize) -> f64 {
    let (most, best) = (largest(subflows, Subflow::whole), largest(subflows, Subflow::quality));
    let is_largest = |path: &Subflow| path.whole() == most;
    let is_collected = |path: &Subflow| path.quality() == best && !is_largest(path);
    let count = |which: &dyn Fn(&Subflow) -> bool| subflows.iter().filter(|path| which(path)).count() as f64;
    let collected = count(&is_collected);
    let (path, paths) = (&subflows[place], subflows.len() as f64);
    if collected == 0.0 {
        0.0
    } else if is_collected(path) {
        1.0 / (paths * collected)
    } else if is_largest(path) {
        -1.0 / (paths * count(&is_largest))
    } else {
        0.0
    }
}

/// What a loss leaves of the window of the path at `place`, as a part of it.
pub(super) fn kept(coupling: Coupling, subflows: &[Subflow], place: usize) -> f64 {
    match coupling {
        Coupling::Lia | Coupling::Olia => 0.5,
        // w is cut by w/2 · min(α, 1.5).
        Coupling::Balia => {
            let alpha = largest(subflows, Subflow::rate) / subflows[place].rate();
            1.0 - 0.5 * alpha.min(1.5)
        }
    }
}

/// The slow-start threshold goes no lower than this, in segments: 2 (RFC 5681, equation 4), with several paths 1 under
/// the two successors of LIA.
pub(super) fn least_threshold(coupling: Coupling, paths: usize) -> f64 {
    if coupling == Coupling::Lia || paths < 2 { 2.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(window: f64, rtt: f64, between_losses: f64) -> Subflow {
        Subflow { window, rtt, between_losses }
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} instead of {b}");
    }

    // w/T: 100, 100, of which the sum squared is 40,000. w/T²: 1000, 2000.
    const TWO: [(f64, f64); 2] = [(10.0, 0.1), (5.0, 0.05)];

    fn two(between: [f64; 2]) -> [Subflow; 2] {
        [path(TWO[0].0, TWO[0].1, between[0]), path(TWO[1].0, TWO[1].1, between[1])]
    }

    #[test]
    fn one_path_alone_is_tcp_under_every_coupling() {
        for coupling in [Coupling::Lia, Coupling::Olia, Coupling::Balia] {
            near(gain(coupling, &[path(8.0, 0.03, 7.0)], 0), 0.125);
            near(kept(coupling, &[path(8.0, 0.03, 7.0)], 0), 0.5);
        }
    }

    // alpha = 15 · 2000/40,000 = 0.75, over 15 segments 0.05. With a path of 100 segments 1/w = 0.01 is less: rates
    // 1000 and 100, w/T² 10,000 and 2000, 10,000/1,210,000 = 0.008264…; with 1000 segments at 1 s: 1000, 100,
    // 2000/1,210,000.
    #[test]
    fn lia_gives_every_path_the_same_gain_but_no_more_than_tcp_has() {
        (0..2).for_each(|place| near(gain(Coupling::Lia, &two([0.0; 2]), place), 0.05));
        near(gain(Coupling::Lia, &[path(100.0, 0.1, 0.0), path(5.0, 0.05, 0.0)], 0), 10_000.0 / 1_210_000.0);
        // Rates 1000 and 2; w/T² 1000 and 4: 1000/1,004,004 = 0.000996 is below 1/1000, for the other far below 1.
        near(gain(Coupling::Lia, &[path(1000.0, 1.0, 0.0), path(1.0, 0.5, 0.0)], 1), 1000.0 / 1_004_004.0);
        // Rates 10 and 1000; w/T² 1 and 10⁶: 10⁶/1,020,100 = 0.98 is more than 1/100.
        near(gain(Coupling::Lia, &[path(100.0, 10.0, 0.0), path(1.0, 0.001, 0.0)], 0), 0.01);
    }

    // First terms 1000/40,000 and 2000/40,000. Equal l: l/T² is four times as large on the second, which is not the
    // largest: it gains 1/2 segment per window, the first loses as much. 0.025 − 0.5/10 and 0.05 + 0.5/5.
    #[test]
    fn olia_moves_from_the_largest_window_to_the_best_path() {
        near(gain(Coupling::Olia, &two([100.0, 100.0]), 0), -0.025);
        near(gain(Coupling::Olia, &two([100.0, 100.0]), 1), 0.15);
        // l/T² 50,000 and 40,000: the best path is the largest, so nothing moves.
        near(gain(Coupling::Olia, &two([500.0, 100.0]), 0), 0.025);
        near(gain(Coupling::Olia, &two([500.0, 100.0]), 1), 0.05);
    }

    // Three paths of 0.1 s, rates 100, 102 and 40, sum 242. Windows 10 and 10.2 are the same in whole segments, so M
    // has two and each loses 1/(3 · 2); the third is best and gains 1/3.
    #[test]
    fn olia_compares_windows_in_whole_segments() {
        let paths = [path(10.0, 0.1, 5.0), path(10.2, 0.1, 5.0), path(4.0, 0.1, 50.0)];
        let first = |w: f64| w / 0.01 / 58_564.0;
        near(gain(Coupling::Olia, &paths, 0), first(10.0) - 1.0 / 60.0);
        near(gain(Coupling::Olia, &paths, 1), first(10.2) - 1.0 / 61.2);
        near(gain(Coupling::Olia, &paths, 2), first(4.0) + 1.0 / 12.0);
    }

    // Rates 100 and 200, sum squared 90,000, α 2 and 1: 100/(0.1 · 90,000) · 1.5 · 1.2 = 0.02 and 200/(0.1 · 90,000).
    // A loss takes 10/2 · 1.5 of the first (α is cut to 1.5), half of the second. With rates 100 and 120: α = 1.2.
    #[test]
    fn balia_grows_and_cuts_the_slower_path_more() {
        let paths = [path(10.0, 0.1, 0.0), path(20.0, 0.1, 0.0)];
        near(gain(Coupling::Balia, &paths, 0), 0.02);
        near(gain(Coupling::Balia, &paths, 1), 1.0 / 45.0);
        near(kept(Coupling::Balia, &paths, 0), 0.25);
        near(kept(Coupling::Balia, &paths, 1), 0.5);
        near(kept(Coupling::Balia, &[path(10.0, 0.1, 0.0), path(12.0, 0.1, 0.0)], 0), 0.4);
    }
}
