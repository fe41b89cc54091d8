"""Pictures of sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

import pyarrow.parquet
import pytest

import ndnweir
from ndnweir import plots

PLAN = """
schemes = ["bic", "pcon"]
seeds = 2
[[experiment]]
id = "buffers"
scenario = "dumbbell"
set = ["run.duration=2s"]
vary = [
  { key = "link.R1-R2.queue", values = ["0.25 BDP", "1 BDP", "4 BDP"] },
  { key = "link.R1-R2.delay", values = ["5ms", "20ms"] },
]
"""

QUEUE, DELAY = "link.R1-R2.queue", "link.R1-R2.delay"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "plan.toml").write_text(PLAN)
    return ndnweir.sweep(folder / "plan.toml", folder / "out")


def test_a_sweep_brings_its_report_with_curves_and_maps(swept: dict[str, Any]) -> None:
    page = Path(swept["report"])
    text = page.read_text()
    assert "Goodput (Mbit/s) over link.R1-R2.queue" in text
    assert "Goodput (Mbit/s) by link.R1-R2.queue and link.R1-R2.delay" in text
    assert (page.parent / "figures" / "map-0-goodput_mbps.svg").read_text().startswith("<svg")


def test_curves_are_means_with_their_confidence_bands(swept: dict[str, Any]) -> None:
    table = pyarrow.parquet.read_table(swept["files"][0])
    rows = table.to_pydict()
    axes = plots.curves(table, QUEUE, where={DELAY: "5ms"})
    assert [line.get_label() for line in axes.get_lines()] == ["bic", "pcon"]
    assert axes.get_xscale() == "log" and len(axes.collections) == 2
    drawn = axes.get_lines()[1].get_ydata()[0]
    picked = [
        goodput
        for goodput, scheme, queue, delay in zip(
            rows["goodput_mbps"], rows["scheme"], rows[QUEUE], rows[DELAY], strict=True
        )
        if (scheme, queue, delay) == ("pcon", "0.25 BDP", "5ms")
    ]
    assert len(picked) == 2 and drawn == pytest.approx(sum(picked) / 2)


def test_heat_maps_have_a_cell_for_each_case(swept: dict[str, Any]) -> None:
    table = pyarrow.parquet.read_table(swept["files"][0])
    axes = plots.heat_map(table, QUEUE, DELAY, "delay_ms_mean", where={"scheme": "bic"})
    assert len(axes.texts) == 6 and all("±" in text.get_text() for text in axes.texts)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.25 BDP", "1 BDP", "4 BDP"]


def test_charts_of_altair_are_valid(swept: dict[str, Any]) -> None:
    table = pyarrow.parquet.read_table(swept["files"][0])
    curves = plots.curves_chart(table.to_pandas(), QUEUE, where={DELAY: "5ms"}).to_dict()
    assert curves["layer"][1]["encoding"]["x"]["scale"]["type"] == "log"
    heat = plots.heat_map_chart(table, QUEUE, DELAY, where={"scheme": "bic"}).to_dict()
    assert heat["layer"][0]["mark"]["type"] == "rect"


def test_half_widths_are_those_of_students_t() -> None:
    # 1, 2, 3: standard deviation 1, t(2) = 4.3027, over the root of 3.
    table = {"scheme": ["a"] * 3, "x": [1, 1, 1], "y": [1.0, 2.0, 3.0]}
    (point,) = plots.means(table, ["scheme", "x"], "y")
    assert point.mean == 2.0 and point.half == pytest.approx(2.48417, abs=1e-4) and point.seeds == 3
    assert plots.means({"a": [1], "y": [5.0]}, ["a"], "y")[0].half is None
    assert plots.means({"a": [1], "y": [None]}, ["a"], "y") == []


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ndnweir.InputError, match="no column 'z'"):
        plots.means({"a": [1]}, ["a"], "z")
    with pytest.raises(ndnweir.InputError, match="is no table"):
        plots.means(3, ["a"], "z")
