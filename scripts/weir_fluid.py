"""A fluid model of the scheme weir: its margins in closed form, and its law integrated with delays.

Rates are in parts of the bottleneck's capacity, what waits in seconds of it, times in seconds. The equations and what
they leave out are on the page docs/measurements/weir-stability.md; names follow crates/core/src/meter/weir/level.rs.
"""

import cmath
import math
from dataclasses import dataclass, field, replace

# Constants of level.rs that are no parameters.
MOST_FREE, MOST, FULL, RECENT, SOME_WAIT, FEW_BITS, FORGET = 8.0, 100.0, 1.02, 0.5, 32e3, 400e3, 2.0
LIFT_REACTIONS, MOST_LIFT, YOUNG = 10.0, 0.1, 0.5
# A consumer follows at most this multiple of its pace (consumer/weir.rs).
MOST_RISE = 2.0


@dataclass(frozen=True)
class Params:
    """Of the meter, with its defaults."""

    utilization: float = 0.99
    drain: float = 0.25
    least: float = 0.05
    tolerance: float = 0.1
    growth: float = 0.5
    catch_up: float = 0.5
    slot: float = 0.01
    smoothing: float = 0.1
    round_trips: float = 1.0

    def time(self, rtt, capacity):
        """The time constant of what is counted, of a link of `capacity` bit/s."""
        return max(self.smoothing, FEW_BITS / capacity, rtt * self.round_trips)


def weight(ratio, tolerance):
    """How much of its part a flow counts, from its pace over the level."""
    low, high = 1 - 2 * tolerance, 1 - tolerance
    if ratio >= high:
        return 1.0
    return ratio if ratio <= low else low + (ratio - low) / (high - low) * (1 - low)


# The loop through the queue.


@dataclass(frozen=True)
class Case:
    """`flows` of round trip `rtt` that fill their level, and one of rate `other` that follows nothing; its link in bit/s."""

    rtt: float
    flows: int
    other: float
    capacity: float = 100e6
    params: Params = Params()

    def surplus(self):
        """What the level's flows would send above the capacity if nothing waited, as the meter sees it."""
        return self.params.utilization - (1 - self.other) * (self.flows + 1) / self.flows

    def rest(self):
        """What waits at rest, and the time within which the part `drain` of it is given back."""
        own, surplus = 1 - self.other, self.surplus()
        queue = surplus * self.params.smoothing / (self.params.drain * own)
        if self.rtt + queue <= self.params.smoothing:
            return queue, self.params.smoothing
        per = surplus / (self.params.drain * own)
        if per >= 1:
            return math.inf, math.inf
        queue = per * self.rtt / (1 - per)
        return queue, self.rtt + queue


def with_drain(case, drain):
    return replace(case, params=replace(case.params, drain=drain))


def open_loop(case, rising):
    """The open loop's transfer function; `rising` with the lag that a level has that rises, else without, as it falls."""
    queue, give = case.rest()
    params, own = case.params, 1 - case.other
    rtt = case.rtt + queue
    time = params.time(rtt, case.capacity)
    share = case.flows / (case.flows + 1)

    def transfer(s):
        # More that waits makes the round trip longer within which it is given back.
        stretch = 1 - queue / give / (1 + rtt * s) if give > params.smoothing else 1
        by_queue = params.drain * own / give * stretch / s
        # The others' part of what waits is theirs: it falls with the load.
        by_load = params.drain * queue / give * case.other / (1 + time * s)
        follow = cmath.exp(-s * (rtt + params.slot)) / (1 + rtt * s)
        return share * follow * (by_queue + by_load) / ((1 + time * s) if rising else 1)

    return transfer


def lift_loop(rtt, params=Params()):
    """The open loop's transfer function of the lift, on a link of flows of this round trip that nothing waits for."""
    time = reaction = max(rtt, params.smoothing)

    def transfer(s):
        lags = (1 + rtt * s) * (1 + time * s) ** 2
        return cmath.exp(-s * (rtt + params.slot)) / (lags * LIFT_REACTIONS * reaction * s)

    return transfer


def crossing(transfer, low=1e-2, high=1e3, steps=4000):
    """The angular frequency where the phase first is −π, and the gain there."""
    phase, before = 0.0, None
    ratio = (high / low) ** (1 / steps)
    omega = low
    for _ in range(steps):
        value = transfer(1j * omega)
        if before is None:
            phase = cmath.phase(value)
        else:
            phase += cmath.phase(value / before)
        if phase <= -math.pi:
            return omega, abs(value)
        before = value
        omega *= ratio
    return math.inf, 0.0


def bisect(is_stable, low, high, steps=30):
    """Where a stable value becomes unstable, on a logarithmic scale; `high` if none is unstable."""
    if is_stable(high):
        return high
    for _ in range(steps):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_stable(middle) else (low, middle)
    return math.sqrt(low * high)


def critical_drain(case, rising):
    """The parameter `drain` from which on the equilibrium is unstable."""

    def is_stable(drain):
        return crossing(open_loop(with_drain(case, drain), rising))[1] < 1

    least = case.surplus() / (1 - case.other) * 1.01
    return bisect(is_stable, max(least, 0.01), 100.0)


# Flows that another link holds.


def levels_at_rest(local, elsewhere, part, tolerance):
    """Levels over the target at which a link may rest: `local` flows fill theirs, `elsewhere` flows have `part` each.

    Each with the rate at which small deviations shrink while the lift stays, in 1/τ (negative: they grow), and the lift.
    The load is the target there, or it is less and the lift is the most."""
    low, high = 1 - 2 * tolerance, 1 - tolerance
    slope = (1 - low) / (high - low)
    found = []

    def add(level, lift):
        if level <= 0:
            return
        ratio = part / level
        counted = local + elsewhere * weight(ratio, tolerance)
        steep = 0.0 if ratio >= high else 1.0 if ratio <= low else slope
        if abs(level * counted - lift) < 1e-9 * lift:
            found.append((level, 1 - elsewhere * steep * ratio / counted, lift))

    fair = (1 - elsewhere * part) / local
    lift = fair * (local + elsewhere * weight(part / fair, tolerance)) if fair > 0 else 0.0
    if 1 - 1e-9 <= lift <= 1 + MOST_LIFT:
        add(fair, lift)
    # All count in full; those elsewhere by their rate; in between.
    most = 1 + MOST_LIFT
    rest = local + elsewhere * low * (1 - slope)
    levels = [most / (local + elsewhere), (most - elsewhere * part) / local]
    levels += [(most - elsewhere * slope * part) / rest] if rest else []
    for level in levels:
        if local * level + elsewhere * part < 1:
            add(level, most)
    return sorted(found)


# The whole law, with delays.


@dataclass
class Link:
    """A link of the model."""

    capacity: float
    params: Params
    other: float = 0.0
    queue: float = 0.0
    level: float = 1.0
    most: float = 1.0
    load: float = 0.0
    recent: float = 0.0
    flows: float = 0.0
    bound: float = 0.0
    highest: float = 0.0
    lift: float = 1.0
    age: float = 0.0
    rtt: float = 0.1
    # What has passed in this slot: bits, flows, bound flows, round trips by bits.
    passed: list = field(default_factory=lambda: [0.0, 0.0, 0.0, 0.0])
    fastest: float = 0.0
    # The capacity now over the one that rates are parts of.
    part: float = 1.0

    def unstated(self):
        return min(self.other / self.level, 1.0) if self.other else 0.0

    def reach(self, pace, rtt):
        params = self.params
        target = params.utilization * self.part
        equal = target / max(self.flows + self.unstated(), 1 / MOST)
        step = params.growth * rtt / (rtt + params.time(self.rtt, self.capacity * self.part))
        load = max(self.load, self.recent)
        free = min(target / max(load, target / MOST) - 1, MOST_FREE)
        full, least = (FULL * target, 0.0) if pace < equal else (target, free)
        free = max(free, params.catch_up if load < full else least)
        return max(min(equal, target), pace * (1 + step * free))

    def grant(self, pace, rtt):
        return min(self.level, self.reach(pace, rtt))

    def end_slot(self, present):
        """As `Level::update`."""
        params, elapsed = self.params, self.params.slot
        bits, flows, bound, times = self.passed
        fastest, self.fastest = self.fastest, 0.0
        self.passed = [0.0] * 4
        if bits > 0:
            self.rtt += min(elapsed / self.rtt, 1) * (times / bits - self.rtt)
        time = params.time(self.rtt, self.capacity * self.part)
        gain = min(elapsed / time, 1)
        offered = bits / elapsed + self.other
        self.highest = max(self.highest * (1 - min(elapsed / FORGET, 1)), fastest)
        self.load += gain * (offered - self.load)
        self.recent += RECENT * (offered - self.recent)
        self.flows = min(self.flows + gain * (flows / elapsed - self.flows), present)
        self.bound = min(self.bound + gain * (bound / elapsed - self.bound), present)
        own = self.queue * (1 - min(self.other / max(self.load, 1e-9), 1))
        target = params.utilization * self.part
        give = max(self.rtt, elapsed, params.smoothing)
        free = max(target - params.drain * own / give, self.part * params.least)
        wanted = free / max(self.bound + self.unstated(), 1 / MOST)
        self.age = self.age + elapsed if present > 0 else 0.0
        spare = elapsed / (LIFT_REACTIONS * give) * (free - self.load) / target
        self.lift = min(max(self.lift + spare, 1.0), 1 + MOST_LIFT) if self.age >= YOUNG else 1.0
        change = min(self.lift * wanted / self.level - 1, 1.0)
        if change > 0:
            change *= min(gain, 0.5)
        self.most = self.reach(self.highest, self.rtt)
        self.level = min(self.level * (1 + change), MOST * self.part)
        overloaded = self.recent > target and self.queue * self.capacity > SOME_WAIT
        if self.load > target or overloaded:
            self.level = min(self.level, self.most)


@dataclass
class Flow:
    """`count` alike flows. Their Data pass `links` (by number), each after `before` s from the consumer and back there."""

    count: int
    rtt: float
    links: tuple
    before: tuple
    pace: float = 0.01
    start: float = 0.0


def integrate(links, flows, seconds, step=0.001, changes=(), data_bits=8528.0):
    """Paces of all flows over time, by flow and step; `changes` are (time, link, part of its capacity)."""
    steps = int(seconds / step)
    paces = [[flow.pace] for flow in flows]
    # What each flow's Data bear from each link, by the step in which they pass.
    told = [[[] for _ in flow.links] for flow in flows]
    capacity = links[0].capacity
    per_slot = [round(link.params.slot / step) for link in links]
    changes = sorted(changes)
    for now in range(steps):
        while changes and changes[0][0] <= now * step:
            _, which, part = changes.pop(0)
            links[which].part = part
        arriving = [link.other for link in links]
        present = [0] * len(links)
        for number, flow in enumerate(flows):
            for place, which in enumerate(flow.links):
                link = links[which]
                sent = now - round((flow.start + flow.before[place]) / step)
                if sent < 0:
                    told[number][place].append(None)
                    continue
                history = paces[number]
                pace = history[min(now - round(flow.before[place] / step), len(history) - 1)]
                rtt = flow.rtt + link.queue
                arriving[which] += flow.count * pace
                present[which] += flow.count
                link.passed[0] += flow.count * pace * step
                link.passed[1] += flow.count * step
                link.passed[2] += flow.count * step * weight(pace / link.level, link.params.tolerance)
                link.passed[3] += flow.count * pace * step * rtt
                link.fastest = max(link.fastest, pace)
                told[number][place].append(link.grant(pace, rtt))
        for number, link in enumerate(links):
            link.queue = max(0.0, link.queue + (arriving[number] - link.part) * step)
            if (now + 1) % per_slot[number] == 0:
                link.end_slot(present[number])
        for number, flow in enumerate(flows):
            pace = paces[number][-1]
            heard, wait = math.inf, 0.0
            for place, which in enumerate(flow.links):
                back = flow.rtt - flow.before[place] + links[which].queue
                when = now - round(back / step)
                value = told[number][place][when] if when >= 0 else None
                heard = min(heard, math.inf if value is None else value)
                wait += links[which].queue
            if heard < math.inf and now * step >= flow.start:
                between = data_bits / (pace * capacity)
                gain = step / (between + flow.rtt + wait)
                pace += min(gain, 1) * (min(heard, MOST_RISE * pace) - pace)
            paces[number].append(max(pace, 1e-4))
    return paces


def spread(values):
    """Standard deviation over mean."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)) / mean


def in_bins(values, size):
    """Means of each `size` values."""
    return [math.fsum(values[at : at + size]) / size for at in range(0, len(values) - size + 1, size)]


def model_swing(case, seconds=40.0, bin_seconds=0.02):
    """How much the flows' pace swings in the second half, standard deviation over mean."""
    link = Link(case.capacity, case.params, other=case.other)
    queue, _ = case.rest()
    start = (1 - case.other) / case.flows
    link.level, link.load, link.recent, link.flows, link.bound = start, 1.0, 1.0, case.flows, case.flows
    link.rtt, link.queue = case.rtt + min(queue, 1.0), min(queue, 1.0) * 1.2
    flow = Flow(case.flows, case.rtt, (0,), (case.rtt / 2,), pace=start)
    (paces,) = integrate([link], [flow], seconds)
    values = paces[len(paces) // 2 :]
    return spread(in_bins(values, round(bin_seconds / 0.001)))


def delay_margin(case):
    """Seconds of delay that could be added to the loop of a case at rest, of a level that rises."""
    transfer = open_loop(case, True)
    omega, top = 1e-2, crossing(transfer)[0]
    omega = bisect(lambda omega: abs(transfer(1j * omega)) > 1, omega, top)
    phase = cmath.phase(transfer(1j * omega))
    return (phase + math.pi if phase < 0 else phase - math.pi) / omega
