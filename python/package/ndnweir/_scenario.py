"""Scenarios built in Python."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

Value = str | int | float | bool


def _key(key: str) -> str:
    """A key as scenario files write it: with hyphens, where Python has underscores."""
    return key.rstrip("_").replace("_", "-")


def _toml(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(k))} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Iterable):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    raise TypeError(f"{value!r} is no value of a scenario; give a text, number, bool, list or mapping")


class Scenario:
    """A scenario, built part by part; the keys are those of docs/scenario-format.md, with ``_`` for ``-``.

    >>> scenario = Scenario("mine", duration="5s")
    >>> for node in ("C", "R", "P"):
    ...     scenario.node(node)
    >>> scenario.link("C", "R", rate="100Mbps", delay="1ms", queue="200 packets")
    >>> scenario.link("R", "P", rate="10Mbps", delay="5ms", queue="1 BDP")
    >>> scenario.producer("P", prefix="/video")
    >>> scenario.consumer("C", prefix="/video")
    >>> import ndnweir
    >>> ndnweir.run(scenario, "bic").runs.to_pydict()["goodput_mbps"][0] > 5
    True
    """

    def __init__(self, name: str, *, about: str = "", folder: str | os.PathLike[str] = ".", **run: Value) -> None:
        self.name = name
        self.about = about
        self.folder = Path(folder)
        """Where files that it names are."""
        self._tables: dict[str, Mapping[str, object]] = {"run": run} if run else {}
        self._lists: dict[str, list[Mapping[str, object]]] = {}

    def set(self, table: str, **keys: object) -> None:
        """Keys of a table such as ``routing`` or ``run``."""
        self._tables[table] = {**self._tables.get(table, {}), **keys}

    def add(self, kind: str, **keys: object) -> None:
        """An entry of a list such as ``event``, ``cross`` or ``medium``."""
        self._lists.setdefault(kind, []).append(keys)

    def node(self, name: str, **keys: object) -> None:
        """A node."""
        self.add("node", name=name, **keys)

    def link(self, a: str, b: str, *, delay: str, rate: str | None = None, **keys: object) -> None:
        """A link between two nodes; it has a ``rate`` or a ``trace``."""
        given = {} if rate is None else {"rate": rate}
        self.add("link", ends=[a, b], **given, delay=delay, **keys)

    def producer(self, node: str, *, prefix: str, **keys: object) -> None:
        """A producer on a node; of several on one node, give each a ``name``."""
        self.add("producer", **{"name": node, "node": node, "prefix": prefix, **keys})

    def consumer(self, node: str, *, prefix: str, **keys: object) -> None:
        """A consumer on a node; of several on one node, give each a ``name``."""
        self.add("consumer", **{"name": node, "node": node, "prefix": prefix, **keys})

    def to_toml(self) -> str:
        """The text of the scenario's file."""
        head = {"name": self.name} | ({"about": self.about} if self.about else {})
        parts = ["\n".join(f"{key} = {_toml(value)}" for key, value in head.items())]
        for table, keys in self._tables.items():
            parts.append("\n".join([f"[{table}]", *(f"{_key(k)} = {_toml(v)}" for k, v in keys.items())]))
        for kind, entries in self._lists.items():
            for keys in entries:
                parts.append("\n".join([f"[[{kind}]]", *(f"{_key(k)} = {_toml(v)}" for k, v in keys.items())]))
        return "\n\n".join(parts) + "\n"

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(entries)} × {kind}" for kind, entries in self._lists.items())
        return f"<ndnweir.Scenario {self.name}: {counts}>"
