"""``ndnweir.run``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from pathlib import Path

from . import _native
from ._progress import Bar
from ._results import Results
from ._scenario import Scenario
from ._schemes import Scheme, split
from .errors import InputError

Progress = Callable[[int, int, float], None]


def overrides(changes: Mapping[str, object] | Iterable[str] | None) -> list[str]:
    """Changes as the command line writes them.

    >>> overrides({"link.R1-R2.rate": "5Mbps", "run.start-jitter": True})
    ['link.R1-R2.rate=5Mbps', 'run.start-jitter=true']
    """
    if changes is None:
        return []
    if isinstance(changes, str):
        return [changes]
    if isinstance(changes, Mapping):
        return [f"{key}={_text(value)}" for key, value in changes.items()]
    return [str(change) for change in changes]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def variations(vary: Mapping[str, Iterable[object]] | Iterable[str] | None) -> list[str]:
    """Varied keys as the command line writes them.

    >>> variations({"link.R1-R2.queue": ["0.5 BDP", "1 BDP"]})
    ['link.R1-R2.queue=0.5 BDP,1 BDP']
    """
    if isinstance(vary, Mapping):
        return [f"{key}={','.join(map(_text, values))}" for key, values in vary.items()]
    return overrides(vary)


def names(schemes: str | Iterable[str] | None) -> list[str]:
    """Names of schemes, from one text with commas or from several."""
    if schemes is None:
        return []
    if isinstance(schemes, str):
        return [name.strip() for name in schemes.split(",")]
    return [str(name) for name in schemes]


def run(
    scenario: str | os.PathLike[str] | Scenario,
    schemes: str | Scheme | type | Iterable[str | Scheme | type] | None = None,
    seeds: int | Sequence[int] = 1,
    *,
    set: Mapping[str, object] | Iterable[str] | None = None,
    vary: Mapping[str, Iterable[object]] | Iterable[str] | None = None,
    threads: int | None = None,
    progress: bool | Progress = True,
) -> Results:
    """Simulates a scenario under schemes with seeds, on all cores.

    Parameters
    ----------
    scenario:
        A name (``ndnweir.list()["scenarios"]``), the path of a scenario or topology file, the text of a scenario in
        TOML (with a line break in it), or a :class:`Scenario`.
    schemes:
        Names, in a list or with commas between, or ``"all"``; without, the scenario's own. Schemes written in Python
        stand among them: classes with ``@ndnweir.consumer`` and so on, or :class:`Scheme`.
    seeds:
        How many, from seed 1 on, or which.
    set:
        Changes of the scenario, as ``--set`` takes them: ``{"link.R1-R2.rate": "5Mbps"}``.
    vary:
        Values of keys; every combination is a case: ``{"link.R1-R2.queue": ["0.5 BDP", "1 BDP"]}``.
    threads:
        At most so many; results do not depend on it.
    progress:
        ``True`` draws a bar in a terminal or notebook; a function is called with the runs that are done, all runs, and
        the fraction of the work; ``False`` says nothing.

    Returns
    -------
    Results
        With the tables ``runs``, ``consumers``, ``links``, ``flows``, ``events`` and ``series(kind)``.

    Raises
    ------
    ScenarioError
        The scenario is wrong; ``problems`` has file, line and remedy.
    InputError
        Another argument is wrong.
    RunError
        The simulation failed.

    Ctrl-C ends the runs and raises ``KeyboardInterrupt``.

    >>> results = run("dumbbell", "bic", set={"run.duration": "2s"}, vary={"link.R1-R2.rate": ["5Mbps", "10Mbps"]})
    >>> results.cases
    ['5Mbps', '10Mbps']
    """
    if isinstance(seeds, int):
        if isinstance(seeds, bool) or not 1 <= seeds <= 10_000_000:
            raise InputError(f"seeds={seeds}: give how many, from 1 on, or which, such as [3, 7]")
        seeds = range(1, seeds + 1)
    try:
        numbers = [index(seed) for seed in seeds]
    except TypeError:
        raise InputError(f"seeds={seeds!r}: give how many, from 1 on, or which, such as [3, 7]") from None
    if not numbers or len(dict.fromkeys(numbers)) < len(numbers) or any(not 0 <= seed < 2**64 for seed in numbers):
        raise InputError("seeds: give one or more whole numbers from 0 up, each once")
    if threads is not None and not 1 <= threads <= 1024:
        raise InputError(f"threads={threads}: give a number from 1 to 1024")
    name, text, folder = source(scenario)
    chosen, written = split(schemes)
    definitions = [scheme.definition() for scheme in written]
    bar = Bar() if progress is True else None
    told: Progress | None = bar
    if callable(progress):
        told = progress
    try:
        native = _native.run(
            name, text, folder, chosen, definitions, numbers, overrides(set), variations(vary), threads, told
        )
    finally:
        if bar is not None:
            bar.close()
    return Results(native)


def source(scenario: str | os.PathLike[str] | Scenario) -> tuple[str, str | None, str]:
    """What a scenario is called, its text if it is one, and the folder of the files that it names."""
    if isinstance(scenario, Scenario):
        return scenario.name, scenario.to_toml(), os.fspath(scenario.folder)
    if isinstance(scenario, str) and "\n" in scenario:
        return "the scenario", scenario, os.fspath(Path.cwd())
    return os.fspath(scenario), None, ""
