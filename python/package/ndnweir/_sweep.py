"""Sweeps: plans of many runs, with results in a folder or in storage that fsspec reaches."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._command import command, document, repeated, said
from ._run import names, overrides
from ._storage import Store, folder_of, is_url
from .errors import InputError

if TYPE_CHECKING:
    import pyarrow

_MANIFEST = "sweep.json"
_TABLES = ("runs", "consumers", "links", "flows")
# Seconds between looks at what the command has stored, and those that it has to end when asked to.
_LOOK = 0.5
_END = 20.0


def sweep(
    plan: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    schemes: str | Iterable[str] | None = None,
    seeds: int | None = None,
    set: Mapping[str, object] | Iterable[str] | None = None,
    shard: tuple[int, int] | None = None,
    threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Runs a plan, or a part ``(i, n)`` of it, and keeps each run in ``out`` (docs/sweeps.md): a folder, or a URL of
    fsspec such as ``s3://bucket/sweep``, for whose file system ``storage_options`` are.

    Without ``shard`` the tables are merged at the end; the returned ``files`` are Parquet files, which
    :func:`sweep_tables` reads.
    """
    words = ["sweep", os.fspath(plan), *repeated("--set", overrides(set))]
    if schemes is not None:
        words += ["--scheme", ",".join(names(schemes))]
    if seeds is not None:
        words += ["--seeds", str(seeds)]
    part = [] if shard is None else ["--shard", f"{shard[0]}/{shard[1]}"]
    crew = [] if threads is None else ["--threads", str(threads)]
    place = _place(os.fspath(out), storage_options)
    if isinstance(place, Path):
        return document(*words, "--out", place, *part, *crew)
    listed = document(*words, "--list", *part)["runs"]
    with tempfile.TemporaryDirectory(prefix="ndnweir-") as scratch:
        folder = Path(scratch) / place.name
        _bring(place, folder, {f"{run['key']}.json" for run in listed})
        return _run(place, folder, [*words, "--out", str(folder), *part, *crew, "--json"])


def sweep_tables(
    out: str | os.PathLike[str], *, storage_options: Mapping[str, Any] | None = None
) -> dict[str, pyarrow.Table]:
    """The merged tables of a sweep, by name: ``runs``, ``consumers``, ``links``, and ``flows`` if there are any. ``out``
    is what :func:`sweep` got."""
    import pyarrow.parquet

    place = _place(os.fspath(out), storage_options)
    files = [f"{table}.parquet" for table in _TABLES]
    with tempfile.TemporaryDirectory(prefix="ndnweir-") as scratch:
        folder = Path(scratch)
        if isinstance(place, Path):
            folder = place
        else:
            there = place.names()
            place.bring([file for file in files if file in there], folder)
        found = [folder / file for file in files if (folder / file).is_file()]
        if not found:
            raise InputError(f"{os.fspath(out)}: has no tables; `sweep` without `shard` merges what is stored")
        # Not mapped into memory: what was brought goes.
        return {file.stem: pyarrow.parquet.read_table(file, memory_map=False) for file in found}


def _place(out: str, options: Mapping[str, Any] | None) -> Path | Store:
    if not is_url(out):
        return Path(out)
    folder = folder_of(out)
    return Store(out, options) if folder is None else Path(folder)


def _bring(store: Store, folder: Path, wanted: set[str]) -> None:
    """Brings what the command looks at: whose results these are, and which of these runs are stored."""
    there = store.names()
    if _MANIFEST in there:
        store.bring([_MANIFEST], folder)
        runs = store.names("runs") & wanted
        store.bring(sorted(f"runs/{run}" for run in runs), folder)
    # Another worker may have written it meanwhile.
    elif there and _MANIFEST not in store.names():
        raise InputError(f"{store.url}: holds something that is no sweep ({min(there)}); name another place")


def _files(folder: Path) -> set[str]:
    """Names of the files below a folder, but for what is being written."""
    found = set[str]()
    for parent, _, files in os.walk(folder):
        below = os.path.relpath(parent, folder)
        found |= {os.path.normpath(os.path.join(below, name)) for name in files if not name.startswith(".")}
    return found


def _run(store: Store, folder: Path, words: list[str]) -> dict[str, Any]:
    """Runs the command, and takes to the storage what it stores, as soon as it does."""
    taken = _files(folder)

    def take() -> None:
        found = _files(folder) - taken
        # First whose results these are: who may not write there learns it at once.
        for group in ([_MANIFEST], sorted(name for name in found if name.startswith("runs/"))):
            store.take([name for name in group if name in found], folder)
        taken.update(name for name in found if name == _MANIFEST or name.startswith("runs/"))

    with subprocess.Popen([command(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            pause = _LOOK
            while True:
                try:
                    out, error = process.communicate(timeout=pause)
                    break
                except subprocess.TimeoutExpired:
                    began = time.monotonic()
                    take()
                    pause = max(_LOOK, 10 * (time.monotonic() - began))
        except BaseException as stopped:
            _end(process)
            if isinstance(stopped, KeyboardInterrupt):
                take()
            raise
    take()
    if "(os error" in error:
        error += f"\n{folder} holds what is not yet at {store.url}; the variable TMPDIR names another place for it"
    else:
        error = error.replace(str(folder), store.url)
    result: dict[str, Any] = json.loads(said(process.returncode, out, error))
    made = _files(folder) - taken
    store.take(sorted(made), folder)
    if "files" in result:
        result["files"] = [file.replace(str(folder), store.url) for file in result["files"]]
        result["report"] = result["report"] and result["report"].replace(str(folder), store.url)
    return result


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the command, which keeps what it has stored."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=_END)
    except subprocess.TimeoutExpired:
        process.kill()
