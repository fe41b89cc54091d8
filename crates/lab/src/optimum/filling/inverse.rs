//! The inverse of a square matrix whose rows and columns are added, replaced and removed one at a time.

/// Smaller absolute values are rounding errors.
const ZERO_TOLERANCE: f64 = 1e-14;

/// Rows of the inverse are columns of the matrix (basic variables); columns of the inverse are rows of the matrix (full
/// links).
#[derive(Default)]
pub(super) struct Inverse(Vec<Vec<f64>>);

impl Inverse {
    pub(super) fn size(&self) -> usize {
        self.0.len()
    }

    /// The row of the inverse for a variable.
    pub(super) fn row(&self, variable: usize) -> &[f64] {
        &self.0[variable]
    }

    pub(super) fn row_mut(&mut self, variable: usize) -> &mut [f64] {
        &mut self.0[variable]
    }

    /// The inverse times a sparse vector over the rows of the matrix.
    pub(super) fn times(&self, vector: &[(usize, f64)]) -> Vec<f64> {
        self.0.iter().map(|row| vector.iter().map(|(i, v)| row[*i] * v).sum()).collect()
    }

    /// A sparse vector over the columns of the matrix times the inverse.
    pub(super) fn left_times(&self, vector: &[(usize, f64)]) -> Vec<f64> {
        let mut product = vec![0.0; self.size()];
        for (p, v) in vector {
            add(&mut product, *v, &self.0[*p]);
        }
        product
    }

    /// Replaces column `at` of the matrix by one whose product with the inverse is `alpha`.
    pub(super) fn replace_column(&mut self, at: usize, alpha: &[f64]) {
        let pivot = alpha[at];
        self.0[at].iter_mut().for_each(|v| *v /= pivot);
        self.eliminate(at, |p| alpha[p]);
    }

    /// Replaces row `at` of the matrix by one whose product with the inverse is `row`.
    pub(super) fn replace_row(&mut self, at: usize, row: &[f64]) {
        for line in &mut self.0 {
            let scaled = line[at] / row[at];
            if scaled.abs() > ZERO_TOLERANCE {
                add(line, -scaled, row);
            }
            line[at] = scaled;
        }
    }

    /// Adds a last column whose product with the inverse is `alpha`, and a last row whose product is `row`; the corner
    /// element is `corner`.
    pub(super) fn border(&mut self, alpha: &[f64], row: &[f64], row_times_alpha: f64, corner: f64) {
        let rest = corner - row_times_alpha;
        let mut last: Vec<f64> = row.iter().map(|v| -v / rest).collect();
        last.push(1.0 / rest);
        for (line, a) in self.0.iter_mut().zip(alpha) {
            line.push(0.0);
            if a.abs() > ZERO_TOLERANCE {
                add(line, -a, &last);
            }
        }
        self.0.push(last);
    }

    /// Removes column `at` and row `row` of the matrix; the last ones take their positions.
    pub(super) fn remove(&mut self, at: usize, row: usize) {
        let pivot = self.0[at][row];
        self.0[at].iter_mut().for_each(|v| *v /= pivot);
        let column: Vec<f64> = self.0.iter().map(|line| line[row]).collect();
        self.eliminate(at, |p| column[p]);
        self.0.swap_remove(at);
        for line in &mut self.0 {
            line.swap_remove(row);
        }
    }

    /// Subtracts `factor(p)` times line `at` from every other line p.
    fn eliminate(&mut self, at: usize, factor: impl Fn(usize) -> f64) {
        let line = std::mem::take(&mut self.0[at]);
        for p in (0..self.0.len()).filter(|p| *p != at) {
            let factor = factor(p);
            if factor.abs() > ZERO_TOLERANCE {
                add(&mut self.0[p], -factor, &line);
            }
        }
        self.0[at] = line;
    }

    /// The inverse of a matrix given by columns; `None` if it is singular.
    pub(super) fn of(columns: &[Vec<(usize, f64)>]) -> Option<Inverse> {
        let n = columns.len();
        // Starts with the identity; its columns are replaced one by one, each at the position with the best pivot.
        let unit = |i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect();
        let mut inverse = Inverse((0..n).map(unit).collect());
        let mut free = vec![true; n];
        let mut place = vec![0; n];
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|c| columns[*c].len());
        for column in order {
            let alpha = inverse.times(&columns[column]);
            let best = (0..n).filter(|i| free[*i]).max_by(|a, b| alpha[*a].abs().total_cmp(&alpha[*b].abs()))?;
            if alpha[best].abs() < 1e-11 {
                return None;
            }
            inverse.replace_column(best, &alpha);
            free[best] = false;
            place[column] = best;
        }
        let mut lines: Vec<Option<Vec<f64>>> = inverse.0.into_iter().map(Some).collect();
        let lines: Option<Vec<Vec<f64>>> = place.into_iter().map(|p| lines[p].take()).collect();
        lines.map(Inverse)
    }
}

/// Adds `factor` times `other`.
fn add(line: &mut [f64], factor: f64, other: &[f64]) {
    for (v, o) in line.iter_mut().zip(other) {
        *v += factor * o;
    }
}
