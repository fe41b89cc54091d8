"""Response curves with confidence bands, and heat maps, of sweeps and of runs with ``vary=``.

With matplotlib (:func:`curves`, :func:`heat_map`) or Altair (:func:`curves_chart`, :func:`heat_map_chart`); tables are
those of :class:`ndnweir.Results` or of a sweep's Parquet files, in whatever library reads them.

>>> table = {"scheme": ["bic"] * 4, "queue": ["1 BDP", "1 BDP", "2 BDP", "2 BDP"], "goodput_mbps": [8.0, 10.0, 9.0, 9.0]}
>>> [(point.at, point.mean, round(point.half, 2)) for point in means(table, ["queue"], "goodput_mbps")]
[(('1 BDP',), 9.0, 12.71), (('2 BDP',), 9.0, 0.0)]
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import InputError

if TYPE_CHECKING:
    import altair
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Mean:
    """A mean over seeds."""

    at: tuple[Any, ...]
    """The values of the columns that it is for."""
    mean: float
    half: float | None
    """Half the width of its 95 % confidence interval by Student's t; ``None`` with one value."""
    seeds: int


def columns_of(table: Any) -> dict[str, list[Any]]:
    """The columns of a table of ndnweir, pandas, Polars or pyarrow, or a mapping, as lists."""
    if isinstance(table, Mapping):
        return {str(name): list(values) for name, values in table.items()}
    if hasattr(table, "to_pydict"):
        return dict(table.to_pydict())
    if hasattr(table, "to_dict"):
        try:
            return dict(table.to_dict(as_series=False))
        except TypeError:
            return dict(table.to_dict("list"))
    raise InputError(f"{type(table).__name__} is no table; give one of ndnweir, pandas, Polars or pyarrow")


def means(table: Any, by: Sequence[str], value: str, where: Mapping[str, Any] | None = None) -> list[Mean]:
    """Means of a column for each combination of the values of others, in the order of the table; of rows that agree
    with ``where``. Missing values are left out."""
    columns = columns_of(table)
    for name in (*by, value, *(where or {})):
        if name not in columns:
            raise InputError(f"there is no column {name!r}; there are {', '.join(columns)}")
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in range(len(columns[value])):
        if any(columns[name][row] != wanted for name, wanted in (where or {}).items()):
            continue
        number = columns[value][row]
        group = groups.setdefault(tuple(columns[name][row] for name in by), [])
        if number is not None and math.isfinite(number):
            group.append(float(number))
    return [
        Mean(at, sum(values) / len(values), _native.half_width(values), len(values))
        for at, values in groups.items()
        if values
    ]


_QUANTITY = re.compile(r"([0-9.]+)\s*([A-Za-z%]*)")


def quantities(values: Sequence[Any]) -> tuple[list[float], str] | None:
    """Values such as ``"0.5 BDP"`` as numbers, and their unit; ``None`` unless all have the same."""
    found = [_QUANTITY.fullmatch(str(value).strip()) for value in values]
    units = {match.group(2) for match in found if match}
    if not all(found) or len(units) != 1:
        return None
    try:
        return [float(match.group(1)) for match in found if match], units.pop()
    except ValueError:
        return None


def _axis(values: Sequence[Any]) -> tuple[list[float], bool, str]:
    """Places of values, whether the axis is logarithmic, and the unit; places are 0, 1, 2 … if they are no numbers."""
    known = quantities(values)
    if known is None or len(set(known[0])) < len(values):
        return [float(i) for i in range(len(values))], False, ""
    numbers, unit = known
    return numbers, min(numbers) > 0 and max(numbers) / min(numbers) >= 8, unit


def curves(
    table: Any,
    x: str,
    y: str = "goodput_mbps",
    *,
    hue: str = "scheme",
    where: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws ``y`` over ``x`` with matplotlib, a line for each value of ``hue``: means over seeds, with their 95 %
    confidence intervals as bands.

    ``x`` may be a column of numbers or of values with units such as those of ``vary=``. Returns the axes.
    """
    from matplotlib import pyplot

    ax = ax or pyplot.subplots(layout="constrained")[1]
    points = means(table, [hue, x], y, where)
    values = list(dict.fromkeys(point.at[1] for point in points))
    places, wide, _ = _axis(values)
    place = dict(zip(values, places, strict=True))
    for name in dict.fromkeys(point.at[0] for point in points):
        mine = sorted((place[point.at[1]], point.mean, point.half) for point in points if point.at[0] == name)
        (line,) = ax.plot([p[0] for p in mine], [p[1] for p in mine], marker="o", markersize=3, label=str(name))
        banded = [p for p in mine if p[2] is not None]
        low, high = [p[1] - (p[2] or 0.0) for p in banded], [p[1] + (p[2] or 0.0) for p in banded]
        ax.fill_between([p[0] for p in banded], low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    if wide:
        ax.set_xscale("log")
    ax.set_xticks(places, [str(value) for value in values])
    ax.minorticks_off()
    ax.set(xlabel=x, ylabel=y)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    return ax


def heat_map(
    table: Any,
    x: str,
    y: str,
    value: str = "goodput_mbps",
    *,
    where: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws means of ``value`` over ``x`` and ``y`` with matplotlib, each with half the width of its 95 % confidence
    interval; ``where={"scheme": "pcon"}`` says of what. Returns the axes."""
    from matplotlib import pyplot

    ax = ax or pyplot.subplots(layout="constrained")[1]
    points = means(table, [x, y], value, where)
    across = list(dict.fromkeys(point.at[0] for point in points))
    down = list(dict.fromkeys(point.at[1] for point in points))
    grid = [[math.nan] * len(across) for _ in down]
    for point in points:
        grid[down.index(point.at[1])][across.index(point.at[0])] = point.mean
    image = ax.imshow(grid, cmap="cividis", aspect="auto")
    middle = (min(point.mean for point in points) + max(point.mean for point in points)) / 2 if points else 0.0
    for point in points:
        half = "" if point.half is None else f"\n± {point.half:.3g}"
        ink = "black" if point.mean > middle else "white"
        at = (across.index(point.at[0]), down.index(point.at[1]))
        ax.text(*at, f"{point.mean:.4g}{half}", ha="center", va="center", color=ink, fontsize=8)
    ax.set_xticks(range(len(across)), [str(one) for one in across])
    ax.set_yticks(range(len(down)), [str(one) for one in down])
    ax.set(xlabel=x, ylabel=y, title=", ".join(str(one) for one in (where or {}).values()))
    ax.figure.colorbar(image, ax=ax, label=value)
    return ax


def curves_chart(
    table: Any, x: str, y: str = "goodput_mbps", *, hue: str = "scheme", where: Mapping[str, Any] | None = None
) -> altair.LayerChart:
    """What :func:`curves` draws, as a chart of Altair."""
    import altair

    points = means(table, [hue, x], y, where)
    values = list(dict.fromkeys(point.at[1] for point in points))
    places, wide, unit = _axis(values)
    place = dict(zip(values, places, strict=True))
    numeric = quantities(values) is not None
    rows = [
        {
            "hue": str(point.at[0]),
            "x": place[point.at[1]] if numeric else str(point.at[1]),
            "mean": point.mean,
            "low": point.mean - (point.half or 0.0),
            "high": point.mean + (point.half or 0.0),
        }
        for point in points
    ]
    title = f"{x} ({unit})" if unit else x
    scale = altair.Scale(type="log") if wide else altair.Scale()
    across = altair.X("x:Q", title=title, scale=scale) if numeric else altair.X("x:N", title=x, sort=None)
    base = altair.Chart(altair.Data(values=rows)).encode(x=across, color=altair.Color("hue:N", title=hue))
    band = base.mark_area(opacity=0.15).encode(y=altair.Y("low:Q", title=y), y2="high:Q")
    line = base.mark_line(point=True).encode(y=altair.Y("mean:Q", title=y), tooltip=["hue:N", "mean:Q", "low:Q", "high:Q"])
    return band + line


def heat_map_chart(
    table: Any, x: str, y: str, value: str = "goodput_mbps", *, where: Mapping[str, Any] | None = None
) -> altair.LayerChart:
    """What :func:`heat_map` draws, as a chart of Altair."""
    import altair

    rows = [
        {"x": str(point.at[0]), "y": str(point.at[1]), "mean": point.mean, "half": point.half, "seeds": point.seeds}
        for point in means(table, [x, y], value, where)
    ]
    base = altair.Chart(altair.Data(values=rows)).encode(
        x=altair.X("x:N", title=x, sort=None), y=altair.Y("y:N", title=y, sort=None)
    )
    color = altair.Color("mean:Q", title=value, scale=altair.Scale(scheme="cividis"))
    cells = base.mark_rect().encode(color=color, tooltip=["mean:Q", "half:Q", "seeds:Q"])
    return cells + base.mark_text(color="white").encode(text=altair.Text("mean:Q", format=".4~g"))
