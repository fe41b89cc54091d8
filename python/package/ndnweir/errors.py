"""What can go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["InputError", "NdnweirError", "Problem", "RunError", "ScenarioError"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario."""

    source: str
    """The file, or ``--set KEY=VALUE`` for a change."""
    line: int | None
    """The line, from 1 on; ``None`` where lines mean nothing."""
    message: str
    """What is wrong."""
    help: str
    """What to do about it."""


class NdnweirError(Exception):
    """Whatever ndnweir says."""

    def __init__(self, text: str, problems: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(text)
        self.problems = [Problem(**problem) for problem in problems]


class InputError(NdnweirError, ValueError):
    """An argument is wrong; nothing was run."""


class ScenarioError(InputError):
    """A scenario is wrong: ``problems`` has file, line and remedy of each."""


class RunError(NdnweirError, RuntimeError):
    """The work failed."""
