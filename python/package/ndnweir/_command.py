"""The command ``ndnweir`` that comes with the package, and what it says as Python's values."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._results import Report
from ._run import names, overrides
from .errors import InputError, NdnweirError, RunError


class CommandError(RunError):
    """The command failed; the text is what it said."""


def command() -> str:
    """The path of the command that came with this package, or that is on the path."""
    beside = Path(sysconfig.get_path("scripts")) / "ndnweir"
    found = str(beside) if beside.is_file() else shutil.which("ndnweir")
    if found is None:
        raise NdnweirError("the command ndnweir is not installed; install the package as a wheel")
    return found


def said(status: int, out: str, error: str) -> str:
    """What the command printed; its errors are exceptions."""
    if status == 0:
        return out
    text = error.strip().removeprefix("error: ")
    raise InputError(text) if status == 2 else CommandError(text)


def document(*words: str | os.PathLike[str]) -> dict[str, Any]:
    """What the command prints as JSON. Ctrl-C reaches it."""
    line = [command(), *(os.fspath(word) for word in words), "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    read: dict[str, Any] = json.loads(said(done.returncode, done.stdout, done.stderr))
    return read


def list() -> dict[str, Any]:
    """Schemes, scenarios and components that exist, each with ``name`` and ``summary``.

    >>> "pcon" in [scheme["name"] for scheme in list()["schemes"]]
    True
    """
    return document("list")


def explain(name: str) -> dict[str, Any]:
    """A scheme or component: what it does, its parameters, its source.

    >>> explain("codel-pcon")["components"][0]["family"]
    'marker'
    """
    return document("explain", name)


def validate(
    scenario: str | os.PathLike[str], set: Mapping[str, object] | Iterable[str] | None = None
) -> dict[str, Any]:
    """Checks a scenario without running it, and returns it as it was read."""
    return document("validate", scenario, *repeated("--set", overrides(set)))


def repeated(option: str, values: Iterable[str]) -> Iterable[str]:
    """An option once for each value."""
    for value in values:
        yield from (option, value)


@dataclass(frozen=True)
class Judged:
    """Verdicts on schemes, or on a paper's figures."""

    document: dict[str, Any]
    """Every value with its threshold and verdict."""
    page: Report
    """The page."""

    def _repr_html_(self) -> str:
        return self.page._repr_html_()


def _judged(page: str, *words: str | os.PathLike[str]) -> Judged:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        verdicts = document(*words, "--out", out)
        return Judged(verdicts, Report((out / page).read_text(encoding="utf-8")))


def judge(
    schemes: str | Iterable[str],
    *,
    against: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    quick: bool = False,
    seeds: int = 3,
    set: Mapping[str, object] | Iterable[str] | None = None,
) -> Judged:
    """Judges schemes by the criteria of RFC 9743, beside the optimum (docs/judge.md)."""
    words = ["judge", ",".join(names(schemes)), "--seeds", str(seeds), *repeated("--set", overrides(set))]
    for option, values in (("--against", against), ("--only", only)):
        if values is not None:
            words += [option, ",".join(names(values))]
    return _judged("judge.html", *words, *(["--quick"] if quick else []))


def papers(paper: str, *, seeds: int = 10) -> Judged:
    """Runs a published evaluation again: published, measured, spread, verdict (docs/reproductions.md)."""
    return _judged("report.html", "papers", paper, "--seeds", str(seeds))


def main() -> None:
    """Becomes the command."""
    path = command()
    os.execv(path, [path, *sys.argv[1:]])
