//! One step of the simplex: a variable enters, the basic ones change with it until one reaches its bound and leaves.

use super::super::error::SolverError;
use super::{Entering, Filling, Inverse, Location, MAX_STEPS, Member, NO_INDEX, REFRESH_INTERVAL};

/// Rates of change below this fraction of the largest one are rounding errors.
const PIVOT_TOLERANCE: f64 = 1e-8;
/// How far a value may fall below zero, relative to its scale, in favour of a better pivot.
const PRIMAL_TOLERANCE: f64 = 4e-12;

/// A variable that reaches its bound.
#[derive(Clone, Copy)]
enum Leaving {
    Member(usize),
    Key(usize),
    Room(usize),
}

/// The changes of all values when the entering variable increases by one.
struct Direction {
    /// Product with the inverse: members change by the negative.
    alpha: Vec<f64>,
    keys: Vec<f64>,
    loads: Vec<f64>,
}

impl Filling<'_> {
    /// The load that a unit of a basic variable adds to a link.
    fn coefficient(&self, member: Member, link: usize) -> f64 {
        match member {
            Member::Level => self.lift[link],
            Member::Path(column) => self.charge(column, link) - self.charge(self.key[self.columns[column].flow], link),
        }
    }

    fn charge(&self, column: usize, link: usize) -> f64 {
        let charges = &self.columns[column].charges;
        charges.binary_search_by_key(&link, |c| c.0).map_or(0.0, |at| charges[at].1)
    }

    /// The load that a unit of the entering variable adds to full links, by row.
    fn on_rows(&self, entering: Entering) -> Vec<(usize, f64)> {
        let row = |(link, weight): (usize, f64)| (self.row_of[link] != NO_INDEX).then(|| (self.row_of[link], weight));
        match entering {
            Entering::Room(link) => vec![(self.row_of[link], 1.0)],
            Entering::Level => {
                self.lift.iter().copied().enumerate().filter(|(_, w)| *w != 0.0).filter_map(row).collect()
            }
            Entering::Path(column) => {
                let own = self.columns[column].charges.iter().copied();
                let key = self.columns[self.key[self.columns[column].flow]].charges.iter();
                own.chain(key.map(|(l, w)| (*l, -w))).filter_map(row).collect()
            }
        }
    }

    fn direction(&self, entering: Entering) -> Direction {
        let alpha = self.inverse.times(&self.on_rows(entering));
        let level = match (self.level_at, entering) {
            (_, Entering::Level) => 1.0,
            (Some(at), _) => -alpha[at],
            _ => 0.0,
        };
        let mut keys: Vec<f64> = self.open.iter().map(|open| if *open { level } else { 0.0 }).collect();
        let mut loads = vec![0.0; self.capacity.len()];
        let mut carry = |column: usize, change: f64| {
            for (link, weight) in &self.columns[column].charges {
                loads[*link] += change * weight;
            }
        };
        for (member, a) in self.members.iter().zip(&alpha) {
            if let Member::Path(column) = member
                && a.abs() > 1e-14
            {
                keys[self.columns[*column].flow] += a;
                carry(*column, -a);
            }
        }
        if let Entering::Path(column) = entering {
            keys[self.columns[column].flow] -= 1.0;
            carry(column, 1.0);
        }
        for (flow, change) in keys.iter().enumerate().filter(|(_, c)| c.abs() > 1e-14) {
            carry(self.key[flow], *change);
        }
        Direction { alpha, keys, loads }
    }

    /// The variable that reaches its bound first, and the step length. If several do so together, the one that changes
    /// fastest.
    fn first_end(&self, direction: &Direction) -> Option<(Leaving, f64)> {
        let scale = self.level.max(1e-12);
        let fastest = direction.alpha.iter().chain(&direction.keys).fold(1.0f64, |m, a| m.max(a.abs()));
        let mut ends: Vec<(Leaving, f64, f64, f64)> = Vec::new();
        for (at, a) in direction.alpha.iter().enumerate() {
            if *a > PIVOT_TOLERANCE * fastest && self.level_at != Some(at) {
                ends.push((Leaving::Member(at), self.value[at].max(0.0), *a, scale));
            }
        }
        for (flow, change) in direction.keys.iter().enumerate() {
            if *change < -PIVOT_TOLERANCE * fastest {
                ends.push((Leaving::Key(flow), self.key_value[flow].max(0.0), -change, scale));
            }
        }
        for (link, load) in direction.loads.iter().enumerate() {
            if *load > PIVOT_TOLERANCE * fastest && self.row_of[link] == NO_INDEX {
                ends.push((Leaving::Room(link), self.room[link].max(0.0), *load, self.capacity[link]));
            }
        }
        let most = ends
            .iter()
            .map(|(_, left, speed, scale)| (left + PRIMAL_TOLERANCE * scale) / speed)
            .fold(f64::MAX, f64::min);
        let together = ends.iter().filter(|(_, left, speed, _)| left / speed <= most);
        let (leaving, left, speed, _) = together.max_by(|a, b| a.2.total_cmp(&b.2))?;
        Some((*leaving, left / speed))
    }

    /// The largest possible value of an entering variable.
    pub(super) fn reach(&self, entering: Entering) -> Option<f64> {
        self.first_end(&self.direction(entering)).map(|(_, step)| step)
    }

    /// Performs one step.
    pub(super) fn enter(&mut self, entering: Entering) -> Result<(), SolverError> {
        self.steps += 1;
        if self.steps > MAX_STEPS * (100 + self.key.len() + self.capacity.len()) {
            let open = self.open.iter().filter(|o| **o).count();
            return Err(SolverError::Steps { open, flows: self.open.len(), level: self.level });
        }
        if self.steps.is_multiple_of(REFRESH_INTERVAL) {
            self.refresh();
        }
        let mut direction = self.direction(entering);
        let Some((mut leaving, step)) = self.first_end(&direction) else {
            return Err(SolverError::Unlimited);
        };
        let before = self.level;
        self.go(entering, &direction, step);
        let gained = self.level > before * (1.0 + 1e-12);
        self.stalled = if gained { 0 } else { self.stalled + 1 };
        let mut entered = match entering {
            Entering::Level => self.level,
            _ => step,
        };
        if let Leaving::Key(flow) = leaving {
            if let Some(at) = self.other(flow) {
                self.swap_key(flow, at);
                direction.alpha = self.inverse.times(&self.on_rows(entering));
                leaving = Leaving::Member(at);
            } else if let Entering::Path(column) = entering {
                self.change_key(flow, column, &direction.alpha, &mut entered);
                return Ok(());
            } else {
                return Err(SolverError::PathLost);
            }
        }
        match (leaving, entering) {
            (Leaving::Member(at), Entering::Room(link)) => self.remove(at, self.row_of[link], step),
            (Leaving::Member(at), _) => {
                self.inverse.replace_column(at, &direction.alpha);
                self.out(at);
                self.put(entering, at, entered);
            }
            (Leaving::Room(link), Entering::Room(full)) => {
                let row = self.row_of[full];
                let (line, _) = self.line_of(link);
                let line = self.inverse.left_times(&line);
                self.inverse.replace_row(row, &line);
                self.row_of[full] = NO_INDEX;
                self.room[full] = step;
                self.rows[row] = link;
                self.row_of[link] = row;
            }
            (Leaving::Room(link), _) => {
                let (line, along) = self.line_of(link);
                let by = |(at, v): &(usize, f64)| v * direction.alpha[*at];
                let crossing = line.iter().map(by).sum();
                let corner = match entering {
                    Entering::Path(column) => self.coefficient(Member::Path(column), link),
                    _ => along,
                };
                let line = self.inverse.left_times(&line);
                self.inverse.border(&direction.alpha, &line, crossing, corner);
                self.row_of[link] = self.rows.len();
                self.rows.push(link);
                self.members.push(Member::Level);
                self.value.push(0.0);
                self.put(entering, self.members.len() - 1, entered);
            }
            (Leaving::Key(_), _) => {}
        }
        Ok(())
    }

    /// The row of a link that is not full yet, over the members, and the coefficient of the level.
    fn line_of(&self, link: usize) -> (Vec<(usize, f64)>, f64) {
        let line = self.members.iter().map(|m| self.coefficient(*m, link)).enumerate();
        (line.filter(|(_, v)| *v != 0.0).collect(), self.lift[link])
    }

    /// Changes all values by one step.
    fn go(&mut self, entering: Entering, direction: &Direction, step: f64) {
        for (value, a) in self.value.iter_mut().zip(&direction.alpha) {
            *value -= step * a;
        }
        for (value, change) in self.key_value.iter_mut().zip(&direction.keys) {
            *value += step * change;
        }
        for (room, load) in self.room.iter_mut().zip(&direction.loads) {
            *room -= step * load;
        }
        match (self.level_at, entering) {
            (_, Entering::Level) => self.level += step,
            (Some(at), _) => self.level = self.value[at],
            _ => {}
        }
    }

    /// Of the other basic paths of a flow, the one with the highest rate.
    fn other(&self, flow: usize) -> Option<usize> {
        let places = self.others[flow].iter().filter_map(|c| match self.columns[*c].place {
            Location::Basic(at) => Some(at),
            _ => None,
        });
        places.max_by(|a, b| self.value[*a].total_cmp(&self.value[*b]))
    }

    /// Exchanges the flow's key path with the basic path at a position.
    fn swap_key(&mut self, flow: usize, at: usize) {
        let mut line = match self.level_at {
            Some(level) if self.open[flow] => self.inverse.row(level).to_vec(),
            _ => vec![0.0; self.inverse.size()],
        };
        for column in &self.others[flow] {
            if let Location::Basic(other) = self.columns[*column].place {
                line.iter_mut().zip(self.inverse.row(other)).for_each(|(v, o)| *v -= o);
            }
        }
        self.inverse.row_mut(at).copy_from_slice(&line);
        let (old, Member::Path(new)) = (self.key[flow], self.members[at]) else { return };
        if self.open[flow] {
            self.lift_by(old, -1.0);
            self.lift_by(new, 1.0);
        }
        self.key[flow] = new;
        self.members[at] = Member::Path(old);
        self.columns[new].place = Location::Key;
        self.columns[old].place = Location::Basic(at);
        self.others[flow].retain(|c| *c != new);
        self.others[flow].push(old);
        std::mem::swap(&mut self.key_value[flow], &mut self.value[at]);
    }

    /// Replaces the only basic path of a flow by another path.
    fn change_key(&mut self, flow: usize, column: usize, alpha: &[f64], entered: &mut f64) {
        let old = self.key[flow];
        if self.open[flow] {
            if let Some(level) = self.level_at {
                let mut alpha = alpha.to_vec();
                alpha[level] += 1.0;
                self.inverse.replace_column(level, &alpha);
            }
            self.lift_by(old, -1.0);
            self.lift_by(column, 1.0);
        }
        self.columns[old].place = Location::Out;
        self.columns[column].place = Location::Key;
        self.key[flow] = column;
        self.key_value[flow] = *entered;
    }

    /// The member at a position leaves the basis.
    fn out(&mut self, at: usize) {
        if let Member::Path(column) = self.members[at] {
            self.columns[column].place = Location::Out;
            let flow = self.columns[column].flow;
            self.others[flow].retain(|c| *c != column);
        }
    }

    fn put(&mut self, entering: Entering, at: usize, value: f64) {
        self.value[at] = value;
        match entering {
            Entering::Path(column) => {
                self.members[at] = Member::Path(column);
                self.columns[column].place = Location::Basic(at);
                self.others[self.columns[column].flow].push(column);
            }
            _ => {
                self.members[at] = Member::Level;
                self.level_at = Some(at);
            }
        }
    }

    /// Removes a member and a row, whose link then has `room` as free capacity.
    pub(super) fn remove(&mut self, at: usize, row: usize, room: f64) {
        self.inverse.remove(at, row);
        let link = self.rows.swap_remove(row);
        self.row_of[link] = NO_INDEX;
        self.room[link] = room;
        if let Some(moved) = self.rows.get(row) {
            self.row_of[*moved] = row;
        }
        self.out(at);
        self.members.swap_remove(at);
        self.value.swap_remove(at);
        match self.members.get(at) {
            Some(Member::Path(column)) => self.columns[*column].place = Location::Basic(at),
            Some(Member::Level) if self.level_at.is_some() => self.level_at = Some(at),
            _ => {}
        }
    }

    /// Computes all values from the capacities, and the inverse if it has become too inaccurate.
    pub(super) fn refresh(&mut self) {
        for attempt in 0..6 {
            for flow in (0..self.key.len()).filter(|f| self.key[*f] != NO_INDEX) {
                let basic = self.others[flow].iter().filter_map(|c| match self.columns[*c].place {
                    Location::Basic(at) => Some(self.value[at]),
                    _ => None,
                });
                let rate = if self.open[flow] { self.level } else { self.rate[flow] };
                self.key_value[flow] = rate - basic.sum::<f64>();
            }
            let mut room = self.capacity.clone();
            for column in &self.columns {
                let carried = match column.place {
                    Location::Out => continue,
                    Location::Key => self.key_value[column.flow],
                    Location::Basic(at) => self.value[at],
                };
                column.charges.iter().for_each(|(link, weight)| room[*link] -= weight * carried);
            }
            let missing: Vec<(usize, f64)> = self.rows.iter().map(|l| room[*l]).enumerate().collect();
            let worst = self.rows.iter().map(|l| room[*l].abs() / self.capacity[*l]).fold(0.0, f64::max);
            self.room = room;
            if worst < 1e-13 {
                return;
            }
            if attempt == 3 && worst > 1e-10 {
                self.invert();
            }
            let change = self.inverse.times(&missing);
            self.value.iter_mut().zip(&change).for_each(|(v, c)| *v += c);
            if let Some(at) = self.level_at {
                self.level = self.value[at];
            }
        }
    }

    /// Recomputes the inverse.
    pub(super) fn invert(&mut self) {
        self.inverted = self.steps;
        let column = |m: &Member| {
            let all = self.rows.iter().map(|l| self.coefficient(*m, *l)).enumerate();
            all.filter(|(_, v)| *v != 0.0).collect()
        };
        let columns: Vec<Vec<(usize, f64)>> = self.members.iter().map(column).collect();
        if let Some(inverse) = Inverse::of(&columns) {
            self.inverse = inverse;
        }
    }
}
