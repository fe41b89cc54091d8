//! Sparse triangular factors of a basis, with updates.
//!
//! Pivots are chosen after Markowitz (*Management Science* 3(3), 1957) with a threshold; singletons go first, as most
//! columns of a basis are (Suhl and Suhl, *ORSA J. Computing* 2(4), 1990). A column that is exchanged adds a factor
//! in product form until the next factorisation.

/// A pivot is at least this fraction of the largest entry of its row.
const THRESHOLD: f64 = 0.1;
/// A basis without a larger pivot is singular.
const SINGULAR_TOLERANCE: f64 = 1e-9;
/// Number of rows and columns among which a pivot is searched.
const CANDIDATES: usize = 4;

/// A sparse vector.
type Entries = Vec<(u32, f64)>;

/// The factors L·U·E₁·E₂… of a basis. The variable at a position has its pivot in the row of that number.
#[derive(Default)]
pub(super) struct Factors {
    /// Rows in the order of pivots.
    order: Vec<u32>,
    pivot: Vec<f64>,
    lower: Vec<(u32, Entries)>,
    upper_rows: Vec<Entries>,
    upper_columns: Vec<Entries>,
    updates: Vec<(u32, f64, Entries)>,
    entries: usize,
    update_entries: usize,
}

impl Factors {
    /// Smaller absolute values are rounding errors.
    pub(super) const ZERO_TOLERANCE: f64 = 1e-14;

    /// Solves B·x = v in place.
    pub(super) fn solve(&self, x: &mut [f64]) {
        for (row, column) in &self.lower {
            let v = x[*row as usize];
            if v != 0.0 {
                column.iter().for_each(|(i, m)| x[*i as usize] -= m * v);
            }
        }
        for &row in self.order.iter().rev() {
            let row = row as usize;
            if x[row] != 0.0 {
                if x[row].abs() < Factors::ZERO_TOLERANCE {
                    x[row] = 0.0;
                    continue;
                }
                x[row] /= self.pivot[row];
                let v = x[row];
                self.upper_columns[row].iter().for_each(|(i, u)| x[*i as usize] -= u * v);
            }
        }
        for (at, pivot, column) in &self.updates {
            let at = *at as usize;
            if x[at] != 0.0 {
                x[at] /= pivot;
                let v = x[at];
                column.iter().for_each(|(i, a)| x[*i as usize] -= a * v);
            }
        }
    }

    /// Solves y·B = v in place.
    pub(super) fn solve_left(&self, y: &mut [f64]) {
        for (at, pivot, column) in self.updates.iter().rev() {
            let sum: f64 = column.iter().map(|(i, a)| a * y[*i as usize]).sum();
            let at = *at as usize;
            y[at] = (y[at] - sum) / pivot;
        }
        for &row in &self.order {
            let row = row as usize;
            if y[row] != 0.0 {
                if y[row].abs() < Factors::ZERO_TOLERANCE {
                    y[row] = 0.0;
                    continue;
                }
                y[row] /= self.pivot[row];
                let v = y[row];
                self.upper_rows[row].iter().for_each(|(i, u)| y[*i as usize] -= u * v);
            }
        }
        for (row, column) in self.lower.iter().rev() {
            let sum: f64 = column.iter().map(|(i, m)| m * y[*i as usize]).sum();
            if sum != 0.0 {
                y[*row as usize] -= sum;
            }
        }
    }

    /// Replaces the column at a position by one whose product with the inverse is `alpha`.
    pub(super) fn replace(&mut self, at: usize, alpha: &[(u32, f64)]) {
        let mut pivot = 1.0;
        let mut rest = Vec::with_capacity(alpha.len());
        for &(i, a) in alpha {
            match i as usize == at {
                true => pivot = a,
                false => rest.push((i, a)),
            }
        }
        self.update_entries += rest.len() + 1;
        self.updates.push((at as u32, pivot, rest));
    }

    /// Number of updates since the factorisation.
    pub(super) fn updates(&self) -> usize {
        self.updates.len()
    }

    /// Entries of the factors, and of the updates.
    pub(super) fn entries(&self) -> (usize, usize) {
        (self.entries, self.update_entries)
    }

    /// Factors of a matrix given by columns, and the row of the pivot of each column; `None` if it is singular.
    pub(super) fn of(columns: &[&[(u32, f64)]]) -> Option<(Factors, Vec<u32>)> {
        Elimination::new(columns).run()
    }
}

/// What is not eliminated yet.
struct Elimination {
    rows: Vec<Entries>,
    columns: Vec<Vec<u32>>,
    row_done: Vec<bool>,
    column_done: Vec<bool>,
    /// Rows and columns by their number of entries; some have changed since.
    rows_by_count: Vec<Vec<u32>>,
    columns_by_count: Vec<Vec<u32>>,
    /// The multiple of the pivot row's entry, by column.
    work: Vec<f64>,
    seen: Vec<u32>,
    stamp: u32,
    /// Row of the pivot of each column.
    row_of: Vec<u32>,
    order: Vec<u32>,
    pivot: Vec<f64>,
    lower: Vec<(u32, Entries)>,
    /// By row, over columns.
    upper: Vec<Entries>,
}

impl Elimination {
    fn new(matrix: &[&[(u32, f64)]]) -> Elimination {
        let n = matrix.len();
        let mut rows: Vec<Entries> = vec![Vec::new(); n];
        let mut columns: Vec<Vec<u32>> = Vec::with_capacity(n);
        for (c, column) in matrix.iter().enumerate() {
            columns.push(column.iter().map(|e| e.0).collect());
            column.iter().for_each(|(r, v)| rows[*r as usize].push((c as u32, *v)));
        }
        let mut elimination = Elimination {
            rows,
            columns,
            row_done: vec![false; n],
            column_done: vec![false; n],
            rows_by_count: Vec::new(),
            columns_by_count: Vec::new(),
            work: vec![0.0; n],
            seen: vec![0; n],
            stamp: 0,
            row_of: vec![0; n],
            order: Vec::with_capacity(n),
            pivot: vec![0.0; n],
            lower: Vec::new(),
            upper: vec![Vec::new(); n],
        };
        for i in 0..n as u32 {
            elimination.count_row(i);
            elimination.count_column(i);
        }
        elimination
    }

    fn count_row(&mut self, row: u32) {
        file(&mut self.rows_by_count, self.rows[row as usize].len(), row);
    }

    fn count_column(&mut self, column: u32) {
        file(&mut self.columns_by_count, self.columns[column as usize].len(), column);
    }

    fn run(mut self) -> Option<(Factors, Vec<u32>)> {
        let n = self.rows.len();
        while self.order.len() < n {
            let (row, column) = self.choose()?;
            self.eliminate(row, column);
        }
        let mut upper_columns: Vec<Entries> = vec![Vec::new(); n];
        let mut upper_rows: Vec<Entries> = vec![Vec::new(); n];
        let mut entries = n;
        for row in &self.order {
            let list = std::mem::take(&mut self.upper[*row as usize]);
            entries += list.len();
            for (column, v) in &list {
                upper_columns[self.row_of[*column as usize] as usize].push((*row, *v));
            }
            upper_rows[*row as usize] = list.into_iter().map(|(c, v)| (self.row_of[c as usize], v)).collect();
        }
        entries += self.lower.iter().map(|l| l.1.len()).sum::<usize>();
        let factors = Factors {
            order: self.order,
            pivot: self.pivot,
            lower: self.lower,
            upper_rows,
            upper_columns,
            updates: Vec::new(),
            entries,
            update_entries: 0,
        };
        Some((factors, self.row_of))
    }

    /// The pivot of the lowest cost among the shortest rows and columns.
    fn choose(&mut self) -> Option<(u32, u32)> {
        let mut best: Option<(usize, f64, u32, u32)> = None;
        let mut tried = 0;
        for count in 1..=self.rows.len() {
            if best.is_some_and(|b| b.0 <= (count - 1) * (count - 1)) {
                break;
            }
            let mut i = 0;
            while let Some(&column) = self.columns_by_count.get(count).and_then(|list| list.get(i)) {
                let at = column as usize;
                if self.column_done[at] || self.columns[at].len() != count {
                    self.columns_by_count[count].swap_remove(i);
                    continue;
                }
                i += 1;
                let mut found = false;
                for &row in &self.columns[at] {
                    let (v, most) = largest(&self.rows[row as usize], column);
                    let cost = (self.rows[row as usize].len() - 1) * (count - 1);
                    let stable = v >= THRESHOLD * most && v > SINGULAR_TOLERANCE;
                    if stable && better(&best, cost, v) {
                        best = Some((cost, v, row, column));
                    }
                    found |= stable;
                }
                tried += usize::from(found);
                if best.is_some_and(|b| b.0 == 0) || tried >= CANDIDATES {
                    return best.map(|b| (b.2, b.3));
                }
            }
            let mut i = 0;
            while let Some(&row) = self.rows_by_count.get(count).and_then(|list| list.get(i)) {
                let at = row as usize;
                if self.row_done[at] || self.rows[at].len() != count {
                    self.rows_by_count[count].swap_remove(i);
                    continue;
                }
                i += 1;
                let most = self.rows[at].iter().fold(0.0f64, |m, e| m.max(e.1.abs()));
                let mut found = false;
                for &(column, v) in &self.rows[at] {
                    let cost = (self.columns[column as usize].len() - 1) * (count - 1);
                    let stable = v.abs() >= THRESHOLD * most && v.abs() > SINGULAR_TOLERANCE;
                    if stable && better(&best, cost, v.abs()) {
                        best = Some((cost, v.abs(), row, column));
                    }
                    found |= stable;
                }
                tried += usize::from(found);
                if best.is_some_and(|b| b.0 == 0) || tried >= CANDIDATES {
                    return best.map(|b| (b.2, b.3));
                }
            }
        }
        best.map(|b| (b.2, b.3))
    }

    fn eliminate(&mut self, row: u32, column: u32) {
        let mut own = std::mem::take(&mut self.rows[row as usize]);
        let at = own.iter().position(|e| e.0 == column).unwrap_or_default();
        let (_, pivot) = own.swap_remove(at);
        self.row_done[row as usize] = true;
        self.column_done[column as usize] = true;
        self.order.push(row);
        self.row_of[column as usize] = row;
        self.pivot[row as usize] = pivot;
        for (c, _) in &own {
            let list = &mut self.columns[*c as usize];
            if let Some(at) = list.iter().position(|r| *r == row) {
                list.swap_remove(at);
            }
        }
        let below = std::mem::take(&mut self.columns[column as usize]);
        own.iter().for_each(|(c, v)| self.work[*c as usize] = *v);
        let mut lower = Vec::with_capacity(below.len().saturating_sub(1));
        for other in below.into_iter().filter(|r| *r != row) {
            let mut list = std::mem::take(&mut self.rows[other as usize]);
            let at = list.iter().position(|e| e.0 == column).unwrap_or_default();
            let (_, v) = list.swap_remove(at);
            let factor = v / pivot;
            lower.push((other, factor));
            if !own.is_empty() {
                self.stamp += 1;
                let mut i = 0;
                while i < list.len() {
                    let c = list[i].0 as usize;
                    if self.work[c] != 0.0 {
                        self.seen[c] = self.stamp;
                        list[i].1 -= factor * self.work[c];
                        if list[i].1.abs() < Factors::ZERO_TOLERANCE {
                            list.swap_remove(i);
                            let rows = &mut self.columns[c];
                            if let Some(at) = rows.iter().position(|r| *r == other) {
                                rows.swap_remove(at);
                            }
                            continue;
                        }
                    }
                    i += 1;
                }
                for (c, v) in &own {
                    if self.seen[*c as usize] != self.stamp {
                        list.push((*c, -factor * v));
                        self.columns[*c as usize].push(other);
                    }
                }
            }
            self.rows[other as usize] = list;
            self.count_row(other);
        }
        for (c, _) in &own {
            self.work[*c as usize] = 0.0;
            self.count_column(*c);
        }
        if !lower.is_empty() {
            self.lower.push((row, lower));
        }
        self.upper[row as usize] = own;
    }
}

/// Whether a pivot costs less than the best one, or as much and is larger.
fn better(best: &Option<(usize, f64, u32, u32)>, cost: usize, value: f64) -> bool {
    best.is_none_or(|(least, most, ..)| cost < least || cost == least && value > most)
}

/// The absolute value of a row's entry in a column, and the largest of the row.
fn largest(row: &[(u32, f64)], column: u32) -> (f64, f64) {
    row.iter().fold((0.0, 0.0f64), |(own, most), (c, v)| (if *c == column { v.abs() } else { own }, most.max(v.abs())))
}

fn file(lists: &mut Vec<Vec<u32>>, count: usize, item: u32) {
    if lists.len() <= count {
        lists.resize_with(count + 1, Vec::new);
    }
    lists[count].push(item);
}
