"""Searches for bad traces of the scheme weir with the SMT solver z3, over a link that serves as it likes.

    scripts/weir-search                                       all queries, each up to its longest period
    scripts/weir-search --query collapse --periods 1-6        some
    scripts/weir-search --query collapse --show               the traces found, step by step
    scripts/weir-search --replay target/release/ndnweir       and replays them in the simulator
    scripts/weir-search --bursts target/release/ndnweir       what bursts of a link do, in the simulator alone
    scripts/weir-search --check                               in short, what scripts/test runs

The link is the path server of CCAC (weir_smt.py): its service is that of a token bucket, up to `--jitter` steps late
whenever it likes. A step is a round trip and a slot of the meter, 10 ms; a trace is periodic, so that what it shows
lasts for good. What is modelled, and what is not, is on the page docs/measurements/weir-search.md. `unknown` is what
the solver said in `--limit` seconds. Exits with 1 where a verdict differs from what it must be.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction as Q
from pathlib import Path

import z3
from weir_smt import OWED, UTILIZATION, Trace, beside, by_delay, real, weir

# Shares that queries ask for.
HALF, LITTLE, MOST = (Q(1, 2),), (Q(4, 10),), (Q(9, 10),)
MORE_AND_HALF, HALF_AND_THIRD = (Q(7, 10), Q(1, 2)), (Q(1, 2), Q(3, 10))


@dataclass(frozen=True)
class Query:
    """What is looked for: a trace of this law in which `bad` holds."""

    about: str
    flows: int
    bad: object
    jitters: tuple
    shares: tuple
    # Whether flows count by their pace over the level, which is not linear; else in full.
    counts: bool = False
    # Whether consumers follow by any part from 1/4 to 1 of what is left, in place of FOLLOW.
    free: bool = False
    # Only traces in which each step serves nothing or everything: what is found is a trace of the model; that none is
    # found says nothing of others.
    bursts: bool = False
    law: object = weir
    # What the verdict must be, where it is known.
    known: str = ""

    def solver(self, period, jitter, share):
        solver = z3.SolverFor("QF_NRA" if self.counts else "QF_LRA")
        trace = Trace(solver, period, jitter)
        if self.law is weir:
            paces, levels = weir(trace, self.flows, self.counts, self.free)
        else:
            paces, levels = self.law(trace)
        if self.bursts:
            for t in range(1, period + 1):
                solver.add(z3.Or(trace.left[t] == trace.left[t - 1], trace.left[t] == trace.come[t]))
        solver.add(self.bad(trace, paces, real(share)))
        return solver, trace, paces, levels


def collapses(trace, paces, share):
    """Less than `share` of what the path could carry is carried, for good."""
    return trace.utilization() < share


def starves(trace, paces, share):
    """One of two flows has less than `share` of the other's rate, for good."""
    del trace
    return z3.Sum(paces[0]) < share * z3.Sum(paces[1])


def has_less(trace, paces, share):
    """A flow has less than `share` of what is left to it, for good."""
    left = trace.period * real(UTILIZATION) - z3.Sum(paces[1])
    return z3.Sum(paces[0]) < share * left


def exceeds(trace, paces, share):
    """More is carried than the path can."""
    del paces
    return trace.utilization() > share


QUERIES = {
    "weak law": Query("half on a delay collapses under jitter", 1, collapses, (1,), LITTLE, law=by_delay, known="sat"),
    "weak law, steady": Query("and not without", 1, collapses, (0,), LITTLE, law=by_delay, known="unsat"),
    "excess": Query("more is carried than the path can", 1, exceeds, (2,), (Q(1),), known="unsat"),
    "collapse": Query("less than a share of the path is used", 1, collapses, (0, 1, 2, 3), HALF),
    "collapse, little": Query("the same, a larger share", 1, collapses, (0, 1, 2, 3), (Q(9, 10),)),
    "collapse, bursts": Query("all or nothing leaves in a step", 1, collapses, (3, 5, 7), MORE_AND_HALF, bursts=True),
    "collapse, free": Query("consumers follow as fast as the solver likes", 1, collapses, (1,), HALF, free=True),
    "collapse, counted": Query("flows count by their pace", 1, collapses, (1,), HALF, counts=True),
    "starvation": Query("one of two flows has less than a share of the other", 2, starves, (0, 1, 2), HALF),
    "starvation, free": Query("consumers follow as fast as the solver likes", 2, starves, (1,), HALF, free=True),
    "starvation, counted": Query("flows count by their pace", 2, starves, (1,), HALF, counts=True),
    "beside one": Query("a flow has little beside one held elsewhere", 1, has_less, (0,), MOST, True, law=beside(1)),
    "beside twenty": Query("the same, beside twenty", 1, has_less, (0,), HALF_AND_THIRD, True, law=beside(20)),
}


def decide(query, period, jitter, share, limit):
    """The verdict, seconds, and the trace if there is one."""
    solver, *values = query.solver(period, jitter, share)
    solver.set("timeout", int(limit * 1000))
    began = time.monotonic()
    verdict = str(solver.check())
    return verdict, time.monotonic() - began, (solver.model(), *values) if verdict == "sat" else None


def value(model, expression):
    """Of a trace that was found."""
    number = model.eval(expression, model_completion=True)
    return float(number.approx(12).as_fraction()) if z3.is_algebraic_value(number) else float(number.as_fraction())


def shown(found):
    """A trace step by step, rates in parts of the link's."""
    model, trace, paces, levels = found
    names = ["served", "wasted", "waiting", *(f"pace {n + 1}" for n in range(len(paces))), "level"]
    yield "    step " + " ".join(f"{name:>9}" for name in names)
    for t in range(trace.period):
        cells = [trace.served(t), trace.at(trace.wasted, t) - trace.at(trace.wasted, t - 1), trace.waiting(t)]
        cells += [pace[t] for pace in paces] + ([levels[t]] if levels else [])
        yield f"    {t:4} " + " ".join(f"{value(model, cell):9.3f}" for cell in cells)


REPLAY = """
[run]
duration = "25s"
warm-up = "5s"
[[node]]
names = ["A", "B"]
[[link]]
ends = ["A", "B"]
delay = "5ms"
queue = "2000 packets"
forward = {{ rate = "{rate}Mbps" }}
backward = {{ trace = "found.trace" }}
[[producer]]
name = "P"
node = "B"
prefix = "/p"
[[consumer]]
name = "C"
node = "A"
prefix = "/p"
"""


def goodputs(binary, offered, turns, schemes="weir,bic,rcp", rate=20):
    """Goodput over the link's mean rate by scheme, where each step of 10 ms offers so much of what the rate is."""
    lines, due = [], 0.0
    # A delivery opportunity is 1504 B at a whole millisecond.
    each = rate * 1e6 * 0.01 / (1504 * 8)
    for turn in range(turns):
        for place, part in enumerate(offered):
            for ms in range(10):
                due += part * each / 10
                lines += [(turn * len(offered) + place) * 10 + ms + 1] * int(due)
                due -= int(due)
    with tempfile.TemporaryDirectory(prefix="ndnweir-") as name:
        (Path(name) / "found.trace").write_text("\n".join(map(str, lines)) + "\n")
        (Path(name) / "replay.toml").write_text(REPLAY.format(rate=rate))
        command = [binary, "sim", f"{name}/replay.toml", "--scheme", schemes, "--json", "--threads", "1"]
        done = subprocess.run([*command, "--out", f"{name}/out"], check=True, capture_output=True, text=True)
        runs = json.loads(done.stdout)["runs"]
    return {run["scheme"]: run["goodput_mbps"] * 1066 / 1024 / rate for run in runs}


def replay(binary, found):
    """A found service in the simulator.

    The link can send only in steps that serve something, in proportion, and in sum by its mean rate: what is late in the
    model has its tokens already, what is late here has not."""
    model, trace, *_ = found
    used = value(model, trace.utilization())
    offered = [value(model, trace.served(t)) / used for t in range(1, trace.period + 1)]
    return goodputs(binary, offered, 100 // trace.period)


def bursts(binary):
    """Links that deliver all of a period's rate in its last 10 ms."""
    schemes = ["weir", "rcp", "bic", "hbhcm", "pcon-ndnsim"]
    print("| a burst each | " + " | ".join(schemes) + " |\n|" + "---|" * (len(schemes) + 1))
    for steps in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20):
        found = goodputs(binary, [0] * (steps - 1) + [steps], 100 // steps, ",".join(schemes))
        print(f"| {steps * 10} ms | " + " | ".join(f"{found[scheme]:.2f}" for scheme in schemes) + " |", flush=True)


def search(args):
    """Prints verdicts; what differs from what must be."""
    print("| query | jitter | share | period | verdict | s | used |\n|---|---|---|---|---|---|---|", flush=True)
    for name in args.query or QUERIES:
        query = QUERIES[name]
        for jitter in query.jitters if args.jitter is None else (args.jitter,):
            for share in query.shares if args.share is None else (args.share,):
                for period in args.periods:
                    verdict, seconds, found = decide(query, period, jitter, share, args.limit)
                    used = f"{value(found[0], found[1].utilization()):.3f}" if found else ""
                    row = [name, jitter, float(share), period, verdict, f"{seconds:.1f}", used]
                    print("|", " | ".join(map(str, row)), "|", flush=True)
                    if found and args.show:
                        print("\n".join(shown(found)), flush=True)
                    if found and args.replay and query.law is weir and query.flows == 1:
                        simulated = replay(args.replay, found)
                        said = ", ".join(f"{scheme} {part:.3f}" for scheme, part in simulated.items())
                        print("    replayed:", said, flush=True)
                    if query.known and verdict != query.known and not (query.known == "sat" and period < 2):
                        yield f"{name}, period {period}: {verdict}, not {query.known}"
                    # Longer ones take longer, and one trace is enough.
                    if not args.on and (verdict == "unknown" or verdict == "sat" and not query.known):
                        break


def known_of_weir():
    """What is known of weir itself; what differs from it."""
    for name, period, jitter, share, known, burst in (
        ("collapse", 4, 0, Q(9, 10), "unsat", ()),
        # All leaves in the third and fourth of six steps: a meter that took gaps for a slow link used 0.37.
        ("collapse", 6, 5, Q(1, 2), "unsat", (3, 4)),
        ("beside one", 1, 0, Q(9, 10), "unsat", ()),
        ("beside twenty", 1, 0, Q(1, 2), "sat", ()),
    ):
        solver, trace, *_ = QUERIES[name].solver(period, jitter, share)
        for t in range(1, period + 1) if burst else ():
            solver.add(trace.left[t] == (trace.come[t] if t in burst else trace.left[t - 1]))
        solver.set("timeout", 60_000)
        verdict = str(solver.check())
        print(f"{name}, period {period}, jitter {jitter}, share {float(share)}: {verdict}")
        if verdict != known:
            yield f"{name}, period {period}, jitter {jitter}: {verdict}, not {known}"


def periods(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--query", action="append", choices=list(QUERIES), help="one of: " + ", ".join(QUERIES))
    parser.add_argument("--periods", type=periods, default=range(1, 11), metavar="N-M", help="in steps [default: 1-10]")
    parser.add_argument("--jitter", type=int, help="in steps, in place of the query's")
    parser.add_argument("--share", type=Q, help="in place of the query's")
    parser.add_argument("--limit", type=float, default=600, help="seconds for each verdict [default: 600]")
    parser.add_argument("--on", action="store_true", help="go on with longer periods after a trace or an unknown verdict")
    parser.add_argument("--show", action="store_true", help="print what was found, step by step")
    parser.add_argument("--replay", metavar="BINARY", help="and what the simulator makes of it")
    parser.add_argument("--bursts", metavar="BINARY", help="simulate links that deliver in bursts, and nothing else")
    parser.add_argument("--check", action="store_true", help="verdicts that are known, in short")
    args = parser.parse_args()
    if args.jitter is not None and not 0 <= args.jitter < OWED:
        parser.error(f"--jitter: from 0 to {OWED - 1} steps, as the model has a link that is never taken for a slow one")
    if args.bursts:
        return bursts(args.bursts)
    if args.check:
        args.query, args.limit = ["weak law", "weak law, steady", "excess"], 60
        args.periods = range(2, 5)
    problems = list(search(args))
    if args.check:
        problems += known_of_weir()
    print("\n".join(f"error: {problem}" for problem in problems) or "no verdict differs from what is known")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
