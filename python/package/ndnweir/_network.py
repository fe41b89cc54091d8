"""Objects of a real network: fetched and published over the forwarder of this machine."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from . import _native

__all__ = ["Fetched", "ObjectStream", "Published", "get", "get_async", "put", "stream", "stream_async"]

PIECE = 1 << 16
Progress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Fetched:
    """An object in memory."""

    object: str
    """Its name with version."""
    content: bytes
    """Its bytes."""
    statistics: dict[str, Any]
    """What was counted: ``bytes``, ``segments``, ``interests``, ``retransmissions``, ``timeouts``, ``losses``, ``nacks``,
    ``marks``, ``rejected``, the last ``window`` in segments, ``duration_s``, and what of signatures was ``checked``."""


class ObjectStream(io.RawIOBase):
    """An object that is read in order as it comes: a file, which can be read once.

    Closing it ends the fetch. The fetch waits for a reader who is slow."""

    def __init__(self, fetch: _native.Fetch) -> None:
        self._fetch = fetch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        read = self._fetch.read(len(view)) if len(view) else b""
        view[: len(read)] = read
        return len(read)

    def pieces(self) -> Iterator[bytes]:
        """The object in pieces of at most 64 KiB."""
        while piece := self._fetch.read(PIECE):
            yield piece

    @property
    def statistics(self) -> dict[str, Any]:
        """What was counted so far, as `Fetched.statistics`; some of it only when all has been read."""
        return self._fetch.statistics()

    def close(self) -> None:
        if not self.closed:
            self._fetch.close()
        super().close()


def stream(
    name: str, *, scheme: str = "bic", trust: str = "any", transport: str | None = None, timeout: float = 15
) -> ObjectStream:
    """Starts to fetch an object, and gives a file from which it is read as it comes.

    The options are those of `get`."""
    return ObjectStream(_native.fetch(name, scheme, trust, transport, timeout))


def get(
    name: str,
    *,
    scheme: str = "bic",
    trust: str = "any",
    transport: str | None = None,
    timeout: float = 15,
    progress: Progress | None = None,
) -> Fetched:
    """Fetches an object into memory: its newest version unless the name ends in one.

    ``scheme`` names whose consumer decides how much is requested at once (`list`), ``trust`` which signatures are accepted
    (``any``, ``digest``, ``ed25519:FILE``, ``ecdsa:FILE``, public keys in PEM), ``transport`` the forwarder, as
    ``unix:///run/nfd/nfd.sock``, ``timeout`` after how many seconds without an answer to give up. ``progress`` is called
    with what was counted so far as the object comes. Ctrl-C ends it.

    Raises `InputError` for wrong arguments, `RunError` where the object cannot be fetched."""
    with stream(name, scheme=scheme, trust=trust, transport=transport, timeout=timeout) as source:
        content = bytearray()
        for piece in source.pieces():
            content += piece
            if progress:
                progress(source.statistics)
        return _fetched(source, content)


def _fetched(source: ObjectStream, content: bytearray) -> Fetched:
    statistics = source.statistics
    return Fetched(statistics.pop("object"), bytes(content), statistics)


async def stream_async(
    name: str, *, scheme: str = "bic", trust: str = "any", transport: str | None = None, timeout: float = 15
) -> AsyncIterator[bytes]:
    """The object in pieces, for ``async for``. To leave it, or to cancel its task, ends the fetch."""
    source = await asyncio.to_thread(stream, name, scheme=scheme, trust=trust, transport=transport, timeout=timeout)
    try:
        while piece := await asyncio.to_thread(source._fetch.read, PIECE):
            yield piece
    finally:
        source.close()


async def get_async(
    name: str,
    *,
    scheme: str = "bic",
    trust: str = "any",
    transport: str | None = None,
    timeout: float = 15,
    progress: Progress | None = None,
) -> Fetched:
    """As `get`, for ``await``. To cancel its task ends the fetch."""
    source = await asyncio.to_thread(stream, name, scheme=scheme, trust=trust, transport=transport, timeout=timeout)
    try:
        content = bytearray()
        while piece := await asyncio.to_thread(source._fetch.read, PIECE):
            content += piece
            if progress:
                progress(source.statistics)
        return _fetched(source, content)
    finally:
        source.close()


class Published:
    """An object that is published until `end`, or the end of a ``with``."""

    def __init__(self, publication: _native.Publication) -> None:
        self._publication = publication
        self._object = publication.object()

    @property
    def object(self) -> str:
        """Its name with version."""
        return self._object or ""

    @property
    def active(self) -> bool:
        """Whether it is still published; if not, `end` raises why."""
        return self._publication.is_active()

    def end(self) -> None:
        """Ends it. Raises `RunError` if it had ended by itself."""
        self._publication.end()

    def __enter__(self) -> Published:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.end()


def put(
    name: str, data: bytes | bytearray | memoryview | os.PathLike[str], *, sign: str = "digest", transport: str | None = None
) -> Published:
    """Publishes bytes, or a file that is read as it is requested, in the background.

    ``sign`` is ``digest``, ``ed25519:FILE`` or ``ecdsa:FILE`` (private keys in PKCS#8 PEM). The forwarder must let this
    user register the name. Returns once it has agreed.

    Raises `InputError` for wrong arguments, `RunError` where there is no forwarder, or it does not agree."""
    if isinstance(data, os.PathLike):
        return Published(_native.publish(name, None, os.fspath(data), sign, transport))
    return Published(_native.publish(name, bytes(data), None, sign, transport))
