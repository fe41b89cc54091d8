"""What the command does, from Python."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

import ndnweir

PLAN = """
schemes = ["bic", "cubic"]
seeds = 2
[[experiment]]
id = "rates"
scenario = "dumbbell"
set = ["run.duration=2s"]
vary = [{ key = "link.R1-R2.rate", values = ["5Mbps", "10Mbps"] }]
"""


def test_schemes_are_listed_and_explained() -> None:
    listed = ndnweir.list()
    assert {"pcon", "bic"} <= {scheme["name"] for scheme in listed["schemes"]}
    assert ndnweir.explain("pcon")["scheme"]["parts"]["strategy"]["name"] == "pcon"
    with pytest.raises(ndnweir.InputError, match="did you mean"):
        ndnweir.explain("pcom")


def test_a_scenario_is_validated() -> None:
    assert ndnweir.validate("dumbbell", {"run.duration": "3s"})["run"]["duration"] == "3s"
    with pytest.raises(ndnweir.InputError, match="duration"):
        ndnweir.validate("dumbbell", {"run.duration": "3"})


def test_schemes_are_judged() -> None:
    judged = ndnweir.judge("cubic", only="constrained", quick=True, seeds=1)
    assert judged.document["criteria"][0]["name"] == "constrained"
    assert judged.page.html.startswith("<!")


def test_a_swept_plan_gives_the_same_tables_as_a_run(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    part = ndnweir.sweep(plan, tmp_path / "out", shard=(1, 2))
    assert part["runs"] == 4
    whole = ndnweir.sweep(plan, tmp_path / "out")
    assert whole["runs"] == 8
    swept = pyarrow.parquet.read_table(tmp_path / "out" / "runs.parquet").to_pydict()
    run = ndnweir.run(
        "dumbbell", "bic,cubic", 2, set=["run.duration=2s"], vary={"link.R1-R2.rate": ["5Mbps", "10Mbps"]}, progress=False
    )
    rows = run.runs.to_pydict()
    assert {**swept, "experiment": rows["experiment"]} == rows
    with pytest.raises(ndnweir.InputError, match="another plan"):
        ndnweir.sweep(plan, tmp_path / "out", seeds=3)


def test_the_readmes_line_shows_a_table() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    (line,) = re.findall(r"^\$ (python -c .*)$", readme, re.MULTILINE)
    words = [sys.executable, *shlex.split(line)[1:]]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert shown[0].split() == ["scheme", "goodput_mbps", "jain"]
    assert [row.split()[1] for row in shown[1:]] == ["bic", "pcon"]
