"""Attacks on real processes, one file each; `scripts/attack` runs them.

A file here has `TITLE`, a sentence that says what holds, and `run(attack)`, which returns what it measured as one line
of text and raises `ndn_programs.Failed` when the sentence is not true. `attack` is an [`Attack`]. Everything that it
starts ends with it; traffic stays on loopback or in namespaces that it makes itself.
"""

from dataclasses import dataclass
from pathlib import Path

from ndn_programs import Lab


@dataclass(frozen=True)
class Attack:
    """What an attack gets: the programs, whether to be quick, and where our binary is."""

    lab: Lab
    short: bool
    binary: Path
