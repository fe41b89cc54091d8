"""Objects over a real forwarder, the command's `fwd`."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ndnweir

BYTES = bytes(i * i % 251 for i in range(1000)) * 2000


@pytest.fixture
def forwarder(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "fwd.sock"
    process = subprocess.Popen([sys.executable, "-m", "ndnweir", "fwd", "--unix", str(path)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while True:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(str(path)) == 0:
                    break
            assert process.poll() is None and time.monotonic() < deadline, "no forwarder"
            time.sleep(0.02)
        yield f"unix://{path}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


@pytest.fixture
def silent(forwarder: str) -> Iterator[str]:
    """A name with a route, over which nobody answers: an Interest without a route is sent back, and ends a fetch."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        uri = f"udp4://127.0.0.1:{nobody.getsockname()[1]}"
        command = [sys.executable, "-m", "ndnweir", "route", "add", "/py/silent", uri, "--transport", forwarder]
        subprocess.run(command, check=True, capture_output=True)
        yield "/py/silent"


def test_what_is_put_is_got_with_any_schemes_consumer(forwarder: str) -> None:
    seen: list[int] = []
    with ndnweir.put("/py/object", BYTES, transport=forwarder) as published:
        assert published.active and published.object.startswith("/py/object/v=")
        for scheme in ("bic", "pcon"):
            fetched = ndnweir.get(
                "/py/object", scheme=scheme, transport=forwarder, progress=lambda now: seen.append(now["segments"])
            )
            assert fetched.content == BYTES
            assert fetched.object == published.object
            # 2 000 000 bytes in segments of 8000.
            assert (fetched.statistics["segments"], fetched.statistics["bytes"]) == (250, 2_000_000)
            assert fetched.statistics["checked"] == "digest" and fetched.statistics["duration_s"] > 0
    assert seen and max(seen) == 250
    assert not published.active
    published.end()


def test_a_stream_is_a_file_and_closing_it_ends_the_fetch(forwarder: str, tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(BYTES)
    with ndnweir.put("/py/file/v=3", file, transport=forwarder):
        with ndnweir.stream("/py/file", transport=forwarder) as source:
            assert source.read(10) == BYTES[:10]
            assert source.read() == BYTES[10:]
            assert source.read(1) == b"" and source.statistics["object"] == "/py/file/v=3"
        with ndnweir.stream("/py/file", transport=forwarder) as source:
            assert next(source.pieces()) == BYTES[:8000]
        with pytest.raises(ndnweir.RunError, match="closed"):
            next(source.pieces())


def test_many_fetches_at_once_and_a_cancelled_one_under_asyncio(forwarder: str, silent: str) -> None:
    async def all_of_them() -> None:
        fetches = (ndnweir.get_async("/py/async", transport=forwarder) for _ in range(3))
        assert [fetched.content for fetched in await asyncio.gather(*fetches)] == [BYTES] * 3
        pieces = [piece async for piece in ndnweir.stream_async("/py/async", transport=forwarder)]
        assert b"".join(pieces) == BYTES
        waiting = asyncio.create_task(ndnweir.get_async(silent, transport=forwarder, timeout=600))
        await asyncio.sleep(0.3)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    with ndnweir.put("/py/async", BYTES, transport=forwarder):
        asyncio.run(all_of_them())


def test_ctrl_c_ends_a_fetch_and_python_goes_on_meanwhile(forwarder: str, silent: str) -> None:
    counted = [0]
    over = threading.Event()

    def count() -> None:
        while not over.wait(0.01):
            counted[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    # Tests that run in the background inherit that Ctrl-C is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            ndnweir.get(silent, transport=forwarder, timeout=600)
    finally:
        over.set()
        counter.join()
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert counted[0] > 3


def test_errors_say_what_is_wrong(forwarder: str, tmp_path: Path) -> None:
    with pytest.raises(ndnweir.RunError, match="/py/nobody"):
        ndnweir.get("/py/nobody", transport=forwarder, timeout=0.3)
    with pytest.raises(ndnweir.RunError, match="403"):
        ndnweir.put("/localhost/nfd/x", b"", transport=forwarder)
    with pytest.raises(ndnweir.RunError, match="no forwarder listens"):
        ndnweir.get("/a", transport=f"unix://{tmp_path}/none.sock")
    for wrong in ({"scheme": "none-such"}, {"trust": "ed25519:none.pem"}, {"transport": "ftp://x"}, {"timeout": 0}):
        with pytest.raises(ndnweir.InputError):
            ndnweir.get("/a", **{"transport": forwarder, **wrong})  # type: ignore[arg-type]
    with pytest.raises(ndnweir.InputError, match="none.txt"):
        ndnweir.put("/a", tmp_path / "none.txt", transport=forwarder)
    with pytest.raises(ndnweir.InputError):
        ndnweir.get("", transport=forwarder)
