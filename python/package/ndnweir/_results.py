"""Results of runs."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

SERIES = ("network", "consumers", "paths", "links", "shares", "nodes", "packets", "hops", "flows")


class Table:
    """Rows and typed columns, which data-frame libraries take through Arrow's C data interface without a copy.

    Undefined values are missing. Names of columns end in their unit: ``_mbps`` is 10⁶ bit/s, ``_ms`` and ``_s`` are
    time; shares, utilisation and fairness are fractions of one.
    """

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """What its rows are."""
        return self._native.name

    @property
    def column_names(self) -> list[str]:
        """The names of its columns."""
        return self._native.column_names

    def __len__(self) -> int:
        return len(self._native)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def to_pyarrow(self) -> pyarrow.Table:
        """As a ``pyarrow.Table``."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """As a ``pandas.DataFrame``."""
        return self.to_pyarrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """As a ``polars.DataFrame``."""
        import polars

        return polars.DataFrame(self)

    def to_pydict(self) -> dict[str, list[Any]]:
        """As lists of Python's values, by column."""
        return self._native.to_pydict()

    def __repr__(self) -> str:
        return f"<ndnweir.Table {self.name}: {len(self)} rows, {len(self.column_names)} columns>"

    def _repr_html_(self) -> str:
        shown = 20
        columns = self.to_pydict()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        rows = [
            "<tr>" + "".join(f"<td>{html.escape(_cell(values[i]))}</td>" for values in columns.values()) + "</tr>"
            for i in range(min(shown, len(self)))
        ]
        more = f"<p>{len(self)} rows</p>" if len(self) > shown else ""
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Report:
    """A page with figures and tables; a notebook shows it in place."""

    def __init__(self, page: str, height: int = 700) -> None:
        self.html = page
        self.height = height

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page, one file that opens offline."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:{self.height}px;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<ndnweir.Report: {len(self.html) // 1000} kB; save(path) writes it>"


class Results:
    """The runs of a scenario, in one or more cases.

    Every table has the columns ``experiment`` (the scenario), ``case``, ``scheme`` and ``seed``, and those of
    docs/metrics.md.
    """

    def __init__(self, native: _native.Results) -> None:
        self._native = native

    @property
    def cases(self) -> list[str]:
        """The names of the cases; one empty name if nothing varies."""
        return self._native.cases

    @property
    def runs(self) -> Table:
        """A row for each run; varied keys are columns."""
        return Table(self._native.table("runs"))

    @property
    def consumers(self) -> Table:
        """A row for each consumer of each run."""
        return Table(self._native.table("consumers"))

    @property
    def links(self) -> Table:
        """A row for each direction of each link of each run."""
        return Table(self._native.table("links"))

    @property
    def flows(self) -> Table:
        """A row for each size class of each consumer whose flows come and go."""
        return Table(self._native.table("flows"))

    @property
    def events(self) -> Table:
        """A row for each change of the network."""
        return Table(self._native.table("events"))

    def series(self, kind: str = "consumers") -> Table:
        """Values over time, a row for each bin: of ``network``, ``consumers``, ``paths``, ``links``, ``shares``,
        ``nodes``, ``packets``, ``hops`` or ``flows``."""
        return Table(self._native.series(kind))

    @property
    def summary(self) -> dict[str, Any]:
        """The document of ``summary.json``: the scenario, every run, the optimum, means and spreads over seeds."""
        document: dict[str, Any] = json.loads(self._native.summary())
        return document

    def report(self, case: str | None = None, *, height: int = 700) -> Report:
        """The page with figures and tables; of several cases, name one."""
        return Report(self._native.page(case), height)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Writes a result folder, as ``ndnweir sim --out`` does."""
        self._native.save(os.fspath(folder))
        return Path(folder)

    def __repr__(self) -> str:
        runs = len(self._native.table("runs"))
        return f"<ndnweir.Results: {runs} runs in {len(self.cases)} cases>"

    def _repr_html_(self) -> str:
        return self.runs._repr_html_()
