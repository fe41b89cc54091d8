"""Trains a policy that decides on a fetch's window, and compares it with AIMD where it was not trained.

    python train_policy.py --seeds 5 --out trained        trains with seeds 1 to 5: trained/policy-1.toml … and curves
    python train_policy.py --compare trained               compares what was trained with AIMD

Needs ndnweir, numpy, pandas and, for pictures, matplotlib. Training is the cross-entropy method: a generation of candidates is
drawn around a mean, all run in the same scenarios, and mean and spread move to the best of them. A candidate's score is
that of whole runs, by the terms of the environment's reward, so that candidates run as components, without Python.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy

import ndnweir
from ndnweir.policy import Policy, scheme

HIDDEN = 6
BASE = "aimd"
"""Markers and the rest are those of AIMD, which it is compared with."""

# What observations are divided by, after an offset is taken off, so that weights of one size matter alike.
OFFSET = numpy.array([4.0, 4.0, 4.0, 1.0, 0.0, 0.0, 0.0, 1.0])
SCALE = numpy.array([4.0, 4.0, 4.0, 1.0, 0.1, 0.1, 0.1, 1.0])
SIZE = HIDDEN * 8 + HIDDEN + HIDDEN + 1


LIMIT = 1000.0
"""Above so many segments the window always shrinks: what a policy does to others before it has learnt is bounded."""


def policy_of(numbers: Any) -> Policy:
    """The network of SIZE numbers; offset and scale of observations become part of its weights.

    One hidden output more is the limit of the window: it is nearly -1 below and nearly 1 above, which is taken off.
    """
    first, rest = numbers[: HIDDEN * 8].reshape(HIDDEN, 8), numbers[HIDDEN * 8 :]
    weights = first / SCALE
    bias = rest[:HIDDEN] - weights @ OFFSET
    steep, strong = 2000.0, 20.0
    limit = numpy.array([steep, 0, 0, 0, 0, 0, 0, 0])
    first_layer = (numpy.vstack([weights, limit]), [*bias, -steep * numpy.log1p(LIMIT)])
    return Policy([first_layer, ([[*rest[HIDDEN:-1], -strong]], [rest[-1] - strong])])


def score(rows: dict[str, list[Any]]) -> dict[str, float]:
    """Mean scores of schemes, over consumers and runs: logarithm of the goodput in Mbit/s, less twice the mean
    round-trip time over the least one beyond 1, less ten times the share of retransmissions."""
    scores: dict[str, list[float]] = {}
    columns = ("scheme", "goodput_mbps", "rtt_ms_mean", "rtt_ms_min", "retransmissions", "segments")
    for name, goodput, mean, least, losses, segments in zip(*(rows[c] for c in columns), strict=True):
        goodput, mean, least = (float(numpy.nan_to_num(x or 0.0)) for x in (goodput, mean, least))
        ratio = min(mean / least, 100.0) if least > 0 else 1.0
        share = losses / max(1, segments + losses)
        value = float(numpy.log(max(goodput, 1e-3))) - 2.0 * (ratio - 1.0) - 10.0 * share
        scores.setdefault(name, []).append(value)
    return {name: float(numpy.mean(values)) for name, values in scores.items()}


def drawn(random: numpy.random.Generator, duration: float) -> dict[str, str]:
    """A dumbbell: 2 to 20 Mbit/s, 20 to 120 ms base round trip, a queue of 0.3 to 3 times their product."""
    rate = 2.0 * 10.0 ** random.random()
    delay = 5.0 + 25.0 * random.random() ** 2 * 2
    queue = 0.3 * 10.0 ** random.random()
    return {
        "run.duration": f"{duration}s",
        "link.*.rate": f"{4 * rate:.3f}Mbps",
        "link.*.delay": "2ms",
        "link.R1-R2.rate": f"{rate:.3f}Mbps",
        "link.R1-R2.delay": f"{delay:.3f}ms",
        "link.R1-R2.queue": f"{queue:.2f} BDP",
        "consumer.C2.start": f"{random.integers(0, 4)}s",
    }


def evaluate(policies: list[Policy], folder: Path, settings: list[tuple[dict[str, str], int]]) -> Any:
    """The score of each policy in each setting, in the same runs for all."""
    change: dict[str, str] = {}
    names = [f"p{number}" for number in range(len(policies))]
    for name, policy in zip(names, policies, strict=True):
        path = folder / f"{name}.toml"
        path.write_text(policy.to_toml())
        change |= scheme(path, name, BASE)
    found = []
    for setting, seed in settings:
        results = ndnweir.run("dumbbell", names, [seed], set={**setting, **change}, progress=False)
        scores = score(results.consumers.to_pydict())
        found.append([scores[name] for name in names])
    return numpy.array(found).T


def train(seed: int, out: Path, *, generations: int, population: int, scenarios: int, duration: float) -> Policy:
    """Trains one policy; writes it and the curve of its training."""
    random = numpy.random.default_rng(seed)
    mean, spread = numpy.zeros(SIZE), numpy.full(SIZE, 0.5)
    elite = max(2, population // 5)
    # Scores of the mean in settings that do not change: the curve, and which mean is kept.
    watched = [(drawn(numpy.random.default_rng(1000 + i), duration), 1000 + i) for i in range(6)]
    kept, best_value = mean, -numpy.inf
    curve, began = [], time.monotonic()
    (out / "candidates").mkdir(parents=True, exist_ok=True)
    for generation in range(generations + 1):
        value = float(evaluate([policy_of(mean)], out / "candidates", watched).mean())
        if value > best_value:
            kept, best_value = mean, value
        curve.append({"generation": generation, "seconds": time.monotonic() - began, "score": value})
        print(f"seed {seed}, generation {generation}: {value:.3f} after {curve[-1]['seconds']:.0f} s", flush=True)
        if generation == generations:
            break
        candidates = [mean + spread * random.standard_normal(SIZE) for _ in range(population - 1)] + [mean]
        settings = [(drawn(random, duration), int(random.integers(1, 2**31))) for _ in range(scenarios)]
        found = evaluate([policy_of(c) for c in candidates], out / "candidates", settings)
        # By ranks in each setting, so that none outweighs the others.
        ranks = found.argsort(axis=0).argsort(axis=0).mean(axis=1)
        best = numpy.array([candidates[i] for i in ranks.argsort()[::-1][:elite]])
        mean = 0.3 * mean + 0.7 * best.mean(axis=0)
        # The spread shrinks slowly, so that no early chance decides.
        spread = 0.5 * spread + 0.5 * best.std(axis=0) + 0.02 * 0.95**generation
    policy = policy_of(kept)
    policy.save(out / f"policy-{seed}.toml", about=f"trained by train_policy.py, seed {seed}, {generations} generations")
    (out / f"curve-{seed}.json").write_text(json.dumps(curve, indent=1) + "\n")
    return policy


# Not one of them was trained in: other networks, rates and delays out of the range, many flows, changing rates.
UNSEEN: dict[str, tuple[str, dict[str, str]]] = {
    "dumbbell": ("dumbbell", {"run.duration": "30s"}),
    "dumbbell, 1 Mbit/s": ("dumbbell", {"run.duration": "30s", "link.R1-R2.rate": "1Mbps"}),
    "dumbbell, 50 Mbit/s": ("dumbbell", {"run.duration": "20s", "link.*.rate": "100Mbps", "link.R1-R2.rate": "50Mbps"}),
    "dumbbell, 200 ms": ("dumbbell", {"run.duration": "40s", "link.R1-R2.delay": "80ms"}),
    "linear": ("linear", {"run.duration": "30s"}),
    "parking-lot": ("parking-lot", {"run.duration": "30s"}),
    "cellular": ("cellular", {"run.duration": "30s"}),
    "abilene": ("abilene", {"run.duration": "20s"}),
}


def compare(folder: Path, seeds: int, names: list[str] | None = None) -> dict[str, Any]:
    """Scores of what was trained and of AIMD in unseen scenarios, with the spread over the seeds of runs."""
    files = sorted(folder.glob("policy-*.toml"))
    change: dict[str, str] = {}
    for path in files:
        change |= scheme(path, path.stem, BASE)
    table: dict[str, Any] = {}
    for title, (scenario, setting) in UNSEEN.items():
        if names is not None and title not in names:
            continue
        schemes = ["aimd", *(path.stem for path in files)]
        results = ndnweir.run(scenario, schemes, seeds, set={**setting, **change}, progress=False)
        consumers, runs = results.consumers.to_pandas(), results.runs.to_pandas()
        table[title] = {}
        for name in schemes:
            of_each = [
                score(rows.to_dict("list"))[name] for _, rows in consumers[consumers.scheme == name].groupby("seed")
            ]
            mine = runs[runs.scheme == name]
            table[title][name] = {
                "score": float(numpy.mean(of_each)),
                "sd": float(numpy.std(of_each, ddof=1)) if seeds > 1 else 0.0,
                "goodput_mbps": float(mine.goodput_mbps.mean()),
                "delay_ms": float(mine.delay_ms_mean.mean()),
                "jain": float(mine.jain.mean()) if "jain" in mine else None,
            }
    return table


def draw(folder: Path) -> Path:
    """The curves of all training seeds."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    curves = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("curve-*.json"))}
    for name, curve in curves.items():
        axes.plot([p["seconds"] for p in curve], [p["score"] for p in curve], label=name.replace("curve-", "seed "))
    axes.set(xlabel="training, s on 2 cores", ylabel="score in 6 settings", title="Cross-entropy method, 5 seeds")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(folder / "curves.svg")
    pyplot.close(figure)
    return folder / "curves.svg"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="train with seeds 1 to this")
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--population", type=int, default=40)
    parser.add_argument("--scenarios", type=int, default=8, help="settings of a generation")
    parser.add_argument("--duration", type=float, default=15.0, help="simulated seconds of a run")
    parser.add_argument("--run-seeds", type=int, default=5, help="seeds of the runs that compare")
    parser.add_argument("--out", type=Path, default=Path("trained"))
    parser.add_argument("--compare", type=Path, help="compare what this folder has, without training")
    options = parser.parse_args()
    folder = options.compare or options.out
    if options.compare is None:
        for seed in range(1, options.seeds + 1):
            train(
                seed,
                folder,
                generations=options.generations,
                population=options.population,
                scenarios=options.scenarios,
                duration=options.duration,
            )
    table = compare(folder, options.run_seeds)
    (folder / "comparison.json").write_text(json.dumps(table, indent=1) + "\n")
    for title, schemes in table.items():
        for name, row in schemes.items():
            text = f"{title:22} {name:10} {row['score']:7.3f} ± {row['sd']:.3f}  {row['goodput_mbps']:7.2f} Mbit/s"
            print(f"{text}  {row['delay_ms']:6.1f} ms")


if __name__ == "__main__":
    main()
