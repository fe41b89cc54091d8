"""The scheme weir in round trips, for an SMT solver, over a link that serves as it likes.

The link is the path server of CCAC: V. Arun, M. T. Arashloo, A. Saeed, M. Alizadeh, H. Balakrishnan, "Toward formally
verifying congestion control behavior", SIGCOMM 2021, its network model without losses. Rates are in parts of its rate,
a step is a round trip and a slot of the meter. What is left out is on the page docs/measurements/weir-search.md.
"""

from fractions import Fraction as Q

import z3

# Of the meter: the parameters' defaults, and the time constant of 100 ms in steps.
UTILIZATION, DRAIN, LEAST, TOLERANCE, TIME = Q(99, 100), Q(1, 4), Q(1, 20), Q(1, 10), 10
# A link that owes less than it sends in 0.1 s, in steps, has the rate that it states: with less jitter, always.
OWED = 10
# 0.5 · R/(R + τ), and half of the target is free for those who may grow.
STEP = Q(1, 2) * Q(1, 1 + TIME) * Q(1, 2)
# What a consumer follows in one round trip, in parts of what is left: 1 − 1/e is 0.632.
FOLLOW = Q(5, 8)
MOST_RISE = 2
# The longest wait of Data beyond the jitter, in steps.
MORE_WAIT = 2
# Waits that are longer would lengthen the round trip that a queue is given back in.
MOST_WAIT = TIME - 1


def real(value):
    value = Q(value)
    return z3.Q(value.numerator, value.denominator)


def least_of(a, b):
    return z3.If(a <= b, a, b)


def most_of(a, b):
    return z3.If(a >= b, a, b)


class Trace:
    """The link over one period: what has come, what has left and what was wasted, in capacity times steps.

    All go on after the period as they did in it."""

    def __init__(self, solver, period, jitter):
        self.solver, self.period, self.jitter = solver, period, jitter
        self.come, self.left, self.wasted = (
            [z3.Real(f"{name}{t}") for t in range(period + 1)] for name in ("come", "left", "wasted")
        )
        add = solver.add
        add(self.left[0] == 0, self.wasted[0] == 0)
        # The state at the end is that at the start: so much waits, and so many tokens are left.
        add(self.come[period] - self.come[0] == self.left[period], self.left[period] == period - self.wasted[period])
        for t in range(1, period + 1):
            add(self.left[t] >= self.left[t - 1], self.come[t] >= self.come[t - 1], self.wasted[t] >= self.wasted[t - 1])
            # Of the compositional form of the model: only what could have been served at once is wasted.
            add(z3.Implies(self.wasted[t] > self.wasted[t - 1], self.come[t] <= self.tokens(t)))
            add(self.left[t] <= self.come[t], self.left[t] <= self.tokens(t), self.left[t] >= self.tokens(t - jitter))
            add(self.waiting(t) <= MOST_WAIT)
        # Tokens at the start that nobody had spent are the solver's choice.
        add(self.left[0] <= self.come[0])

    def at(self, values, t):
        """A cumulative value at any step."""
        turns, place = divmod(t, self.period)
        return values[place] + turns * (values[self.period] - values[0])

    def tokens(self, t):
        return z3.Real("credit") + t - self.at(self.wasted, t)

    def served(self, t):
        return self.at(self.left, t) - self.at(self.left, t - 1)

    def waiting(self, t):
        return self.at(self.come, t) - self.at(self.left, t)

    def utilization(self):
        return self.left[self.period] / self.period

    def ring(self, name):
        """A value of the law in each step."""
        return [z3.Real(f"{name}{t}") for t in range(self.period)]


def heard(trace, levels, t):
    """The level that the last Data bears which has left by step t: that of the step before it joined the queue."""
    oldest = trace.jitter + MORE_WAIT
    trace.solver.add(trace.at(trace.left, t) > trace.at(trace.come, t - oldest - 1))
    result = levels[(t - oldest - 1) % trace.period]
    for age in range(oldest - 1, -1, -1):
        came_then = trace.at(trace.left, t) > trace.at(trace.come, t - age - 1)
        result = z3.If(came_then, levels[(t - age - 1) % trace.period], result)
    return result


def follow(trace, pace, then, level, served, free):
    """A consumer's pace after a step in which Data with `level` came, if any did."""
    goal = least_of(level, MOST_RISE * pace)
    if free:
        # At once to a quarter of what is left in a round trip, whatever its smoothed round trip is.
        some, all_of_it = pace + (goal - pace) / 4, goal
        moved = z3.And(then >= least_of(some, all_of_it), then <= most_of(some, all_of_it))
    else:
        moved = then == pace + real(FOLLOW) * (goal - pace)
    trace.solver.add(z3.If(served > 0, moved, then == pace))


def weight(trace, pace, level, name):
    """How much of a flow counts; pace over level is a variable of its own, as only products can be said."""
    ratio = z3.Real(name)
    trace.solver.add(ratio * level == pace)
    low, high = 1 - 2 * TOLERANCE, 1 - TOLERANCE
    between = real(low) + (ratio - real(low)) * real((1 - low) / (high - low))
    return z3.If(ratio >= real(high), 1, z3.If(ratio <= real(low), ratio, between))


def weir(trace, flows, counts, free):
    """Paces by flow and step, and levels by step. One flow stands for any number of alike ones."""
    solver, period = trace.solver, trace.period
    # While it has a queue no token is wasted, and it is behind them by the jitter at most.
    assert trace.jitter < OWED
    paces = [trace.ring(f"pace{flow}-") for flow in range(flows)]
    levels = trace.ring("level")
    bound = trace.ring("bound")
    for t in range(period):
        before = (t - 1) % period
        solver.add(levels[t] > 0, *(pace[t] > 0 for pace in paces))
        if not counts:
            # Follows from the law; said so that the solver need not find it.
            most = real(UTILIZATION / flows)
            solver.add(levels[t] <= most, *(pace[t] <= most for pace in paces))
        solver.add(trace.at(trace.come, t + 1) - trace.at(trace.come, t) == z3.Sum([pace[t] for pace in paces]))
        free_rate = most_of(real(UTILIZATION) - real(DRAIN / TIME) * trace.waiting(t), real(LEAST))
        if counts:
            parts = [weight(trace, pace[before], levels[before], f"ratio{n}-{t}") for n, pace in enumerate(paces)]
            solver.add(bound[t] == bound[before] + (z3.Sum(parts) - bound[before]) / TIME)
            wanted = z3.Real(f"wanted{t}")
            solver.add(wanted * bound[t] == free_rate, bound[t] > 0)
        else:
            solver.add(bound[t] == flows)
            wanted = free_rate / flows
        rise = levels[before] + least_of(wanted - levels[before], levels[before]) / TIME
        solver.add(levels[t] == z3.If(wanted <= levels[before], wanted, rise))
        for number, pace in enumerate(paces):
            told = levels
            if counts:
                # Beyond an equal part a flow grows by steps.
                grown = pace[t] * real(1 + STEP)
                told = [least_of(level, most_of(real(UTILIZATION / flows), grown)) for level in levels]
            level = z3.Real(f"heard{number}-{t}")
            if flows == 1:
                solver.add(level == heard(trace, told, t))
            else:
                # Each flow's Data may also be late on their own way, by the jitter.
                solver.add(z3.Or([level == told[(t - 1 - late) % period] for late in range(trace.jitter + 1)]))
            follow(trace, pace[t], pace[(t + 1) % period], level, trace.served(t), free)
    return paces, levels


def by_delay(trace):
    """A law that is weak on purpose: a twentieth more per round trip, half when the last Data waited for a step."""
    pace = trace.ring("pace0-")
    for t in range(trace.period):
        then = pace[(t + 1) % trace.period]
        trace.solver.add(pace[t] > 0, trace.at(trace.come, t + 1) - trace.at(trace.come, t) == pace[t])
        marked = trace.at(trace.left, t) <= trace.at(trace.come, t - 1)
        trace.solver.add(then == z3.If(marked, pace[t] / 2, pace[t] + real(Q(1, 20))))
    return [pace], []


def beside(count):
    """The law of a link where one flow fills its level beside `count` that another link holds at a rate of its choice."""

    def law(trace):
        solver, period = trace.solver, trace.period
        part, levels, bound = z3.Real("part"), trace.ring("level"), trace.ring("bound")
        for t in range(period):
            before = (t - 1) % period
            solver.add(part > 0, levels[t] > 0, bound[t] > 0, part <= levels[t])
            solver.add(trace.at(trace.come, t + 1) - trace.at(trace.come, t) == levels[t] + count * part)
            counted = 1 + count * weight(trace, part, levels[before], f"ratio{t}")
            solver.add(bound[t] == bound[before] + (counted - bound[before]) / TIME)
            wanted = z3.Real(f"wanted{t}")
            solver.add(wanted * bound[t] == real(UTILIZATION))
            rise = levels[before] + least_of(wanted - levels[before], levels[before]) / TIME
            solver.add(levels[t] == z3.If(wanted <= levels[before], wanted, rise))
        return [levels, [count * part] * period], levels

    return law
