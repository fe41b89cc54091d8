//! A straight line through values over time.

/// A line through values over seconds, by least squares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    /// The first time and value, from which the others count.
    begun: Option<(f64, f64)>,
    n: f64,
    /// Means.
    time: f64,
    value: f64,
    /// Sums of squares and products of what is off the means: of times, of both, of values.
    squares: f64,
    products: f64,
    spread: f64,
}

impl Line {
    /// Adds a value at a time in s.
    pub(super) fn add(&mut self, time: f64, value: f64) {
        let (start, first) = *self.begun.get_or_insert((time, value));
        // Frames may arrive in another order.
        let (x, y) = (time - start, value - first);
        self.n += 1.0;
        let (off, value_off) = (x - self.time, y - self.value);
        self.time += off / self.n;
        self.value += value_off / self.n;
        self.squares += off * (x - self.time);
        self.products += off * (y - self.value);
        self.spread += value_off * (y - self.value);
    }

    /// In units of the value per second; not a number for fewer than two times.
    pub(super) fn steepness(&self) -> f64 {
        self.products / self.squares
    }

    /// By how much times are off the line, in s: the root of the mean square.
    pub(super) fn off(&self) -> f64 {
        let left = (self.spread - self.steepness() * self.products).max(0.0) / self.n;
        left.sqrt() / self.steepness()
    }

    /// The same in bit/s, if there are `least` values and it is a rate.
    pub(super) fn slope(&self, least: u32) -> Option<f64> {
        let slope = self.steepness();
        (self.n >= f64::from(least) && slope.is_finite() && slope >= 1.0).then_some(slope)
    }
}
