//! Copa as venkatarun95/genericCC@18299d6 has it (`markoviancc.cc`, `rtt-window.cc`, `estimators.cc`), in its
//! automatic mode. Times in ns instead of ms, so that equal times are equal.

/// The least or largest value of a time window.
struct Extreme {
    largest: bool,
    span: f64,
    values: Vec<(f64, f64)>,
}

impl Extreme {
    fn new(largest: bool) -> Extreme {
        Extreme { largest, span: 10e9, values: Vec::new() }
    }

    fn sample(&mut self, value: f64, now: f64) {
        let largest = self.largest;
        while self.values.last().is_some_and(|&(_, last)| if largest { last < value } else { last > value }) {
            self.values.pop();
        }
        self.values.push((now, value));
        while self.values.len() > 1 && self.values[0].0 < now - self.span {
            self.values.remove(0);
        }
    }

    fn get(&self) -> f64 {
        self.values.first().map_or(f64::INFINITY, |&(_, value)| value)
    }
}

pub struct CopaModel {
    srtt: f64,
    latest: f64,
    least: Extreme,
    standing: Extreme,
    recent_least: Extreme,
    recent_largest: Extreme,
    pub window: f64,
    /// The time between two packets.
    pub gap: f64,
    slow_start: bool,
    pub delta: f64,
    default_delta: f64,
    /// The mode `auto`; else δ is constant.
    pub competitive: bool,
    /// From how many updates in one direction on each doubles the velocity; the code has 1.
    pub steady: u32,
    same: u32,
    velocity: f64,
    direction: i64,
    last_direction: i64,
    updated: f64,
    acked: u32,
    delta_updated: f64,
    delta_lost: f64,
    lost: u32,
    packets: u32,
    judged: f64,
}

impl CopaModel {
    pub fn new(default_delta: f64) -> CopaModel {
        CopaModel {
            srtt: 0.0,
            latest: 0.0,
            least: Extreme::new(false),
            standing: Extreme::new(false),
            recent_least: Extreme::new(false),
            recent_largest: Extreme::new(true),
            window: 10.0,
            gap: 0.0,
            slow_start: true,
            delta: 1.0,
            default_delta,
            competitive: true,
            steady: 1,
            same: 0,
            velocity: 1.0,
            direction: 1,
            last_direction: 1,
            updated: 0.0,
            acked: 0,
            delta_updated: 0.0,
            delta_lost: 0.0,
            lost: 0,
            packets: 0,
            judged: 0.0,
        }
    }

    fn competes(&self) -> bool {
        if !self.competitive {
            return false;
        }
        // Where all round trips are equal, the code takes the queue for filled by others; the component says that it
        // does not, and this follows it.
        if self.recent_largest.get() == self.least.get() {
            return false;
        }
        let threshold = self.least.get() + 0.1 * (self.recent_largest.get() - self.least.get());
        self.recent_least.get() >= threshold
    }

    fn update_delta(&mut self, rtt: f64, now: f64) {
        if !self.competes() {
            if self.delta_updated == 0.0 || self.delta_lost + rtt < now {
                self.delta = self.default_delta;
                self.delta_updated = now;
            }
            return;
        }
        if self.delta_updated == 0.0 {
            self.delta = self.default_delta;
        }
        if self.delta_updated + rtt < now {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
            self.delta_updated = now;
        }
        self.delta = self.delta.min(self.default_delta);
    }

    fn update_window(&mut self, now: f64) {
        if self.acked < 2 * 10 - 1 {
            return;
        }
        let rtt = self.standing.get();
        let queueing = rtt - self.least.get();
        let target = if queueing == 0.0 { f64::MAX } else { rtt / (queueing * self.delta) };
        if self.slow_start {
            self.window += 1.0;
            self.slow_start = self.window < target;
        } else {
            if self.updated + self.latest < now {
                if self.last_direction * self.direction > 0 {
                    self.same += 1;
                    if self.same >= self.steady {
                        self.velocity = self.velocity.trunc() * 2.0;
                    }
                } else {
                    self.same = 0;
                    self.velocity = 1.0;
                    self.last_direction *= -1;
                }
                self.updated = now;
                self.direction = 0;
            }
            if self.velocity > self.window * self.delta {
                self.velocity /= 2.0;
            }
            self.velocity = self.velocity.max(1.0);
            let step = self.velocity / (self.delta * self.window);
            if self.window < target {
                self.direction += 1;
                self.window += step;
            } else {
                self.direction -= 1;
                self.window -= step;
            }
        }
        self.window = self.window.max(2.0);
        self.gap = 0.5 * rtt / self.window;
    }

    /// Whether more than 30 % were lost over two round trips and more than 20 packets.
    fn too_many_lost(&mut self, lost: bool, now: f64) -> bool {
        self.lost += u32::from(lost);
        self.packets += 1;
        if now > self.judged + 2.0 * self.latest && self.packets > 20 {
            let share = f64::from(self.lost) / f64::from(self.packets);
            (self.judged, self.lost, self.packets) = (now, 0, 0);
            return share > 0.3;
        }
        false
    }

    fn reduce(&mut self) {
        self.window = (self.window * 0.7).max(2.0);
        self.gap = 0.5 * self.standing.get() / self.window;
    }

    /// A packet is found lost between two acknowledgements. There it is found by the next acknowledgement, after that
    /// was taken, and every such call doubles δ; here, as the component says of itself, at most once per round trip.
    pub fn on_loss(&mut self, now: f64) {
        if self.competes() && self.delta_lost + self.latest < now {
            self.delta = (2.0 * self.delta).min(self.default_delta);
            self.delta_lost = now;
        }
        if self.too_many_lost(true, now) {
            self.reduce();
        }
    }

    /// An acknowledgement.
    pub fn on_ack(&mut self, now: f64, rtt: f64) {
        if self.srtt == 0.0 {
            self.srtt = rtt;
        }
        self.srtt = rtt / 16.0 + (1.0 - 1.0 / 16.0) * self.srtt;
        self.latest = rtt;
        self.least.span = 10e9_f64.max(20.0 * self.least.get().min(1e300));
        if self.least.values.is_empty() {
            self.least.span = f64::MAX;
        }
        let longest = self.least.span;
        self.standing.span = longest.min(0.5 * self.srtt);
        self.recent_least.span = longest.min(4.0 * self.srtt);
        self.recent_largest.span = longest.min(4.0 * self.srtt);
        for window in [&mut self.least, &mut self.standing, &mut self.recent_least, &mut self.recent_largest] {
            window.sample(rtt, now);
        }
        self.update_delta(rtt, now);
        self.update_window(now);
        if self.too_many_lost(false, now) {
            self.reduce();
        }
        self.acked += 1;
    }
}
