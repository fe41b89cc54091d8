"""Storage that fsspec reaches, for what sweeps write: nothing has the name of a result before it is whole."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from .errors import InputError, NdnweirError, RunError

# What is written there appears whole or not at all. Elsewhere it is written under another name, and then renamed.
_WHOLE = {"abfs", "abfss", "az", "gcs", "gs", "memory", "oci", "s3", "s3a"}


class StorageError(RunError):
    """Storage cannot be reached, or does not do what was asked of it."""


def is_url(place: str) -> bool:
    """Whether a place is a URL, such as ``s3://bucket/sweep``, and not a folder.

    >>> is_url("s3://bucket/sweep"), is_url("results/plan")
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*(://|::)", place) is not None


def folder_of(url: str) -> str | None:
    """The folder that a URL of this machine's files means; ``None`` for other URLs.

    >>> folder_of("file:///shared/my%20sweep"), folder_of("s3://bucket/sweep")
    ('/shared/my sweep', None)
    """
    parts = urlsplit(url)
    if parts.scheme.lower() not in {"file", "local"}:
        return None
    if parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
        raise InputError(f"{url}: give the whole path, as in file:///shared/sweep")
    return unquote(parts.path)


def _remedy(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such bucket or folder; make it, or name another"
    if isinstance(error, TypeError):
        return "storage_options=… are those of fsspec's file system for this protocol"
    if isinstance(error, PermissionError) or "credential" in f"{type(error).__name__} {error}".lower():
        return "give credentials by storage_options=…, or where the library of this storage looks for them"
    return "what is stored there stays: give the same call again once the storage answers"


class Store:
    """A folder of storage, with the names of files below it."""

    def __init__(self, url: str, options: Mapping[str, Any] | None) -> None:
        protocol, _, below = url.partition("://")
        if "::" in url or not below.strip("/"):
            raise InputError(f"{url}: write PROTOCOL://PLACE of the storage itself, such as s3://bucket/sweep")
        self.url = url.rstrip("/")
        try:
            import fsspec
        except ImportError as error:
            raise InputError(f"{url}: URLs need fsspec; pip install 'ndnweir[storage]'") from error
        try:
            self.files, self.root = fsspec.core.url_to_fs(self.url, **(options or {}))
        except ImportError as error:
            remedy = "pip install 'ndnweir[s3]'" if protocol in {"s3", "s3a"} else "install that package"
            raise InputError(f"{url}: {error}; {remedy}") from error
        except Exception as error:  # every file system has its own
            remedy = "fsspec.available_protocols() has those that exist; storage_options=… are for the file system"
            raise InputError(f"{url}: {error}; {remedy}") from error
        self.root = self.root.rstrip("/")
        self.whole = protocol.lower() in _WHOLE
        # A bucket alone has no name within it.
        self.name = self.root.rsplit("/", 1)[-1] or "sweep"

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except NdnweirError:
            raise
        except Exception as error:  # every file system has its own
            said = str(error) or type(error).__name__
            raise StorageError(f"{self.url}: {said.rstrip('.')}; {_remedy(error)}") from error

    def _at(self, name: str) -> str:
        return f"{self.root}/{name}"

    def names(self, folder: str = "") -> set[str]:
        """Names of what is in a folder; not of what is being written."""
        with self._reaching():
            self.files.invalidate_cache()
            at = self._at(folder).rstrip("/")
            try:
                found = self.files.ls(at, detail=False)
            except FileNotFoundError:
                return set()
        # An object may stand for the folder itself.
        names = {str(path).rstrip("/").rsplit("/", 1)[-1] for path in found if str(path).rstrip("/") != at}
        return {name for name in names if not name.startswith(".")}

    def bring(self, names: Iterable[str], folder: Path) -> None:
        """Copies files into a folder of this machine."""
        pairs = [(self._at(name), folder / name) for name in names]
        for parent in {path.parent for _, path in pairs}:
            parent.mkdir(parents=True, exist_ok=True)
        with self._reaching():
            if pairs:
                self.files.get([there for there, _ in pairs], [os.fspath(here) for _, here in pairs])

    def take(self, names: Iterable[str], folder: Path) -> None:
        """Copies files of a folder of this machine there. Who is killed leaves nothing in part under these names."""
        pairs = [(os.fspath(folder / name), self._at(name)) for name in names]
        with self._reaching():
            if not pairs:
                return
            if self.whole:
                self.files.put([here for here, _ in pairs], [there for _, there in pairs])
                return
            for here, there in pairs:
                parent, name = there.rsplit("/", 1)
                self.files.makedirs(parent, exist_ok=True)
                written = f"{parent}/.{name}.{uuid.uuid4().hex}"
                self.files.put_file(here, written)
                try:
                    self.files.mv(written, there)
                except Exception:
                    # Not everywhere may a name take the place of another.
                    if not self.files.exists(there):
                        raise
                    self.files.rm_file(there)
                    self.files.mv(written, there)
