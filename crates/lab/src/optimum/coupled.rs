//! The coupled allocation: the equilibrium of MPTCP's linked increases (RFC 6356) in the fluid model.
//!
//! A subflow i of a flow with windows w_i, total w, gains min(a/w, 1/w_i) per segment and halves with probability p_i,
//! a = w · max(w_i/T_i²) / (Σ w_i/T_i)². In equilibrium the gain per segment equals p_i·w_i/2. Every link increases its
//! price while its load exceeds its capacity; p_i is the sum of the prices on the subflow's path. Rates are w_i/T_i.

/// A subflow: the links it crosses and its round-trip time in s.
#[derive(Clone, Debug, PartialEq)]
pub struct Subflow {
    /// Positions in the list of capacities.
    pub links: Vec<usize>,
    /// Round-trip time, in s.
    pub rtt: f64,
}

/// Number of price iterations; the error then is below 10⁻⁴ of a rate in all cases tried.
const ITERATIONS: usize = 60_000;

/// Rates of every subflow of every flow, in the unit of the capacities.
pub fn coupled(capacities: &[f64], flows: &[Vec<Subflow>]) -> Vec<Vec<f64>> {
    let mut prices = vec![1e-3; capacities.len()];
    let mut windows: Vec<Vec<f64>> = flows.iter().map(|f| vec![1.0; f.len()]).collect();
    let scale = capacities.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for step in 0..ITERATIONS {
        for (flow, windows) in flows.iter().zip(&mut windows) {
            relax(flow, windows, &prices);
        }
        // Large steps first, small ones to converge.
        let stride = 0.02 / (1.0 + step as f64 / 2000.0);
        for (l, price) in prices.iter_mut().enumerate() {
            let rates = flows.iter().zip(&windows).flat_map(|(f, w)| f.iter().zip(w));
            let load: f64 = rates.filter(|(s, _)| s.links.contains(&l)).map(|(s, w)| w / s.rtt).sum();
            let over = (load - capacities[l] / scale) / (capacities[l] / scale);
            *price = (*price * (1.0 + stride * over.clamp(-1.0, 1.0))).clamp(1e-9, 1e9);
        }
    }
    let rate = |(s, w): (&Subflow, &f64)| w / s.rtt * scale;
    flows.iter().zip(&windows).map(|(f, w)| f.iter().zip(w).map(rate).collect()).collect()
}

/// Moves the windows of a flow towards the equilibrium at the given prices. Capacities are scaled to one, so that
/// windows stay near one.
fn relax(flow: &[Subflow], windows: &mut [f64], prices: &[f64]) {
    let total: f64 = windows.iter().sum();
    let best = flow.iter().zip(windows.iter()).map(|(s, w)| w / (s.rtt * s.rtt)).fold(0.0, f64::max);
    let sum: f64 = flow.iter().zip(windows.iter()).map(|(s, w)| w / s.rtt).sum();
    let a = total * best / (sum * sum);
    for (s, w) in flow.iter().zip(windows.iter_mut()) {
        let p: f64 = s.links.iter().map(|l| prices[*l]).sum();
        let gain = (a / total).min(1.0 / *w);
        let rest = 2.0 * gain / p.max(1e-12);
        // Geometric steps keep windows positive.
        *w = (*w * libm::pow(rest / *w, 0.05)).clamp(1e-9, 1e9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(links: &[usize]) -> Subflow {
        Subflow { links: links.to_vec(), rtt: 0.06 }
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 0.01 * b.max(1.0), "{a} against {b}");
    }

    #[test]
    fn two_flows_on_one_link_share_it_and_a_flow_with_two_links_fills_both() {
        let rates = coupled(&[10.0], &[vec![on(&[0])], vec![on(&[0])]]);
        near(rates[0][0], 5.0);
        near(rates[1][0], 5.0);
        let rates = coupled(&[10.0, 10.0], &[vec![on(&[0]), on(&[1])]]);
        near(rates[0][0] + rates[0][1], 20.0);
    }

    /// By hand: with prices p, q of outer and inner links and equal round trips, w_i ∝ 1/p_i and a flow's total is
    /// √(2/min p). Outer flows: 10 on the outer link, 10 − y on the inner; middle flow: y on both. (10 − y)/10 = p/q
    /// and (20 − y)/(2y) = √(q/p), whose root is y = 5.161.
    #[test]
    fn three_flows_over_a_chain_of_four_links_rest_where_the_equations_say() {
        let flows = [vec![on(&[0]), on(&[1])], vec![on(&[1]), on(&[2])], vec![on(&[2]), on(&[3])]];
        let rates = coupled(&[10.0; 4], &flows);
        near(rates[1][0] + rates[1][1], 2.0 * 5.161);
        near(rates[0][0] + rates[0][1], 20.0 - 5.161);
        near(rates[2][0] + rates[2][1], 20.0 - 5.161);
    }
}
