"""Congestion control for Named Data Networking: simulate, compare, judge, and write schemes.

>>> import ndnweir
>>> results = ndnweir.run("dumbbell", ["bic", "cubic"], set={"run.duration": "2s"})
>>> results.runs.to_pydict()["scheme"]
['bic', 'cubic']
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from ._command import CommandError, command, explain, judge, list, papers, validate
from ._network import Fetched, ObjectStream, Published, get, get_async, put, stream, stream_async
from ._results import Report, Results, Table
from ._run import run
from ._scenario import Scenario
from ._schemes import Scheme, check, consumer, marker, strategy
from ._storage import StorageError
from ._sweep import sweep, sweep_tables
from .errors import InputError, NdnweirError, Problem, RunError, ScenarioError

try:
    __version__ = version("ndnweir")
except PackageNotFoundError:  # imported from a checkout
    __version__ = "0"

__all__ = [
    "CommandError",
    "Fetched",
    "InputError",
    "NdnweirError",
    "ObjectStream",
    "Problem",
    "Published",
    "Report",
    "Results",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Scheme",
    "StorageError",
    "Table",
    "check",
    "command",
    "consumer",
    "explain",
    "get",
    "get_async",
    "judge",
    "list",
    "marker",
    "papers",
    "put",
    "run",
    "strategy",
    "stream",
    "stream_async",
    "sweep",
    "sweep_tables",
    "validate",
]
