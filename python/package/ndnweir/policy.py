"""Trained policies as plain weights.

>>> policy = Policy([([[0, 0, 0, -0.8, -5, -2, -2, 0]], [1.0])])
>>> round(policy.act([0.0, 0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0]), 9)
-0.2
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

from ._command import validate
from .errors import InputError


class Policy:
    """Layers of weights: what the component ``policy`` runs (docs/schemes/policy.md).

    ``layers`` are pairs of a matrix, a row for each output, and a bias for each output; arrays of NumPy will do.
    ``interval`` is the least time between steps in seconds, as in the environment that it was trained in.
    """

    def __init__(self, layers: Iterable[tuple[Iterable[Iterable[float]], Iterable[float]]], interval: float = 0.1) -> None:
        self.layers = [([[float(w) for w in row] for row in rows], [float(b) for b in bias]) for rows, bias in layers]
        self.interval = float(interval)

    def act(self, observation: Iterable[float]) -> float:
        """The exponent, from -1 to 1, for an observation."""
        values = [float(value) for value in observation]
        for number, (rows, bias) in enumerate(self.layers, 1):
            sums = []
            for row, total in zip(rows, bias, strict=True):
                for weight, value in zip(row, values, strict=True):
                    total += weight * value
                sums.append(total)
            values = sums if number == len(self.layers) else [x / (1.0 + abs(x)) for x in sums]
        return min(max(values[0], -1.0), 1.0)

    def to_toml(self, about: str = "") -> str:
        """The file that a scenario or ``ndnweir get`` names, with ``about`` as comment."""
        lines = [f"# {line}" for line in about.splitlines()]
        lines += ['name = "policy"', f'interval = "{round(1e6 * self.interval)}us"']
        for rows, bias in self.layers:
            lines += ["", "[[layers]]", "weights = [", *(f"  [{_numbers(row)}]," for row in rows), "]"]
            lines.append(f"bias = [{_numbers(bias)}]")
        return "\n".join(lines) + "\n"

    def save(self, path: str | os.PathLike[str], about: str = "") -> Path:
        """Writes the file, if the program's own check of it passes."""
        target = Path(path)
        with tempfile.TemporaryDirectory() as folder:
            tried = Path(folder) / target.name
            tried.write_text(self.to_toml(about), encoding="utf-8")
            check(tried)
        target.write_text(self.to_toml(about), encoding="utf-8")
        return target

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Policy:
        """Reads such a file, after the program's own check of it."""
        check(path)
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        text = str(table.get("interval", "100ms"))
        unit = next((unit for unit in ("us", "ms", "s") if text.endswith(unit)), None)
        if unit is None:
            raise InputError(f"{os.fspath(path)}: interval: write it in us, ms or s")
        interval = float(text.removesuffix(unit)) / {"us": 1e6, "ms": 1e3, "s": 1.0}[unit]
        if "layers" not in table:
            raise InputError(f"{os.fspath(path)}: there are no layers; write [[layers]] with weights and bias")
        return Policy([(layer["weights"], layer["bias"]) for layer in table["layers"]], interval)


def scheme(path: str | os.PathLike[str], name: str = "policy", base: str = "plain") -> dict[str, str]:
    """Changes for ``set=`` that compose the scheme ``name``: a policy's file as consumer, over the other parts of
    ``base``.

    >>> scheme("/tmp/agent.toml", "agent", base="aimd")
    {'scheme.agent.base': 'aimd', 'scheme.agent.consumer.file': '/tmp/agent.toml'}
    """
    return {f"scheme.{name}.base": base, f"scheme.{name}.consumer.file": os.path.abspath(path)}


def check(path: str | os.PathLike[str]) -> None:
    """Lets the program check a policy's file.

    Raises ``InputError`` with file, line and remedy.
    """
    validate("dumbbell", set=scheme(path))


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(repr(value) for value in values)
