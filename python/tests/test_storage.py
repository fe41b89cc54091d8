"""Sweeps whose results are in storage that fsspec reaches: a server of S3, memory, and file systems that break."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow.parquet
import pytest
import s3fs
from fsspec.implementations.local import LocalFileSystem

import ndnweir

PLAN = """
schemes = ["bic", "cubic"]
seeds = 4
[[experiment]]
id = "rates"
scenario = "dumbbell"
set = ["run.duration=2s"]
vary = [{ key = "link.R1-R2.rate", values = ["5Mbps", "10Mbps"] }]
"""
RUNS = 16
TABLES = {"runs.parquet", "consumers.parquet", "links.parquet"}
KEY = {"key": "test", "secret": "test"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Else it asks the network who it is.
    environment = {**os.environ, "MOTO_EC2_LOAD_DEFAULT_AMIS": "false", "AWS_EC2_METADATA_DISABLED": "true"}
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None and time.monotonic() < deadline, "no server of S3"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=20)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture(scope="module")
def expected(plan: Path) -> dict[str, bytes]:
    """The tables that a folder of this machine gets."""
    out = plan.parent / "out"
    ndnweir.sweep(plan, out)
    return {name: (out / name).read_bytes() for name in TABLES}


@pytest.fixture
def bucket(endpoint: str, request: pytest.FixtureRequest) -> tuple[s3fs.S3FileSystem, str, dict[str, Any]]:
    options = {"endpoint_url": endpoint, **KEY}
    files = s3fs.S3FileSystem(**options, use_listings_cache=False)
    name = request.node.name.replace("_", "-")[:60].rstrip("-")
    files.mkdir(name)
    return files, name, options


def tables(files: Any, root: str) -> dict[str, bytes]:
    return {name: files.cat_file(f"{root}/{name}") for name in TABLES}


def times(files: s3fs.S3FileSystem, folder: str) -> dict[str, Any]:
    return {path.rsplit("/", 1)[1]: files.info(path)["LastModified"] for path in files.ls(folder)}


def test_parts_go_to_s3_and_the_merged_tables_are_those_of_a_folder(
    bucket: tuple[s3fs.S3FileSystem, str, dict[str, Any]], plan: Path, expected: dict[str, bytes]
) -> None:
    files, name, options = bucket
    url = f"s3://{name}/deep/sweep"
    part = ndnweir.sweep(plan, url, shard=(2, 2), storage_options=options)
    there = times(files, f"{name}/deep/sweep/runs")
    assert part["runs"] == len(there) == RUNS // 2
    with pytest.raises(ndnweir.InputError, match="no tables"):
        ndnweir.sweep_tables(url, storage_options=options)
    # What is stored is not run again; S3 keeps whole seconds.
    time.sleep(1.1)
    whole = ndnweir.sweep(plan, url, storage_options=options)
    assert there.items() <= times(files, f"{name}/deep/sweep/runs").items()
    assert tables(files, f"{name}/deep/sweep") == expected
    assert set(whole["files"]) == {f"{url}/{table}" for table in TABLES}
    assert files.cat_file(whole["report"]).startswith(b"<!")
    read = ndnweir.sweep_tables(url, storage_options=options)
    assert read["runs"].num_rows == RUNS and read.keys() == {"runs", "consumers", "links"}
    assert pyarrow.parquet.read_table(whole["files"][0], filesystem=files).equals(read["runs"])
    with pytest.raises(ndnweir.InputError, match=f"s3://{name}/deep/sweep/sweep.json.*another plan"):
        ndnweir.sweep(plan, url, seeds=3, storage_options=options)


WORKER = """
import sys, ndnweir
ndnweir.sweep(sys.argv[1], sys.argv[2], threads=1, set=["run.duration=20s"],
              storage_options={"endpoint_url": sys.argv[3], "key": "test", "secret": "test"})
"""


def test_a_killed_worker_and_an_upload_in_part_leave_nothing_that_counts_as_a_result(
    bucket: tuple[s3fs.S3FileSystem, str, dict[str, Any]], plan: Path, tmp_path: Path
) -> None:
    files, name, options = bucket
    url, longer = f"s3://{name}/sweep", ["run.duration=20s"]
    words = [ndnweir.command(), "sweep", str(plan), "--list", "--json", "--set", longer[0]]
    listed = subprocess.run(words, capture_output=True, check=True).stdout
    keys = {run["key"] for run in json.loads(listed)["runs"]}
    words = [sys.executable, "-c", WORKER, str(plan), url, options["endpoint_url"]]
    # A group of its own, as the command that it runs outlives it.
    worker = subprocess.Popen(words, start_new_session=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        deadline = time.monotonic() + 120
        while not files.exists(f"{name}/sweep/runs") or len(files.ls(f"{name}/sweep/runs")) < 2:
            assert worker.poll() is None and time.monotonic() < deadline, "it stores nothing"
            time.sleep(0.05)
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait(timeout=20)
    left = times(files, f"{name}/sweep/runs")
    assert 2 <= len(left) < RUNS and left.keys() <= {f"{key}.json" for key in keys}
    # Of another run a part was uploaded; nobody completes it.
    missing = min(keys - {name.removesuffix(".json") for name in left})
    upload = files.call_s3("create_multipart_upload", Bucket=name, Key=f"sweep/runs/{missing}.json")
    files.call_s3(
        "upload_part", Bucket=name, Key=f"sweep/runs/{missing}.json", PartNumber=1, UploadId=upload["UploadId"], Body=b"{"
    )
    assert times(files, f"{name}/sweep/runs") == left
    time.sleep(1.1)
    ndnweir.sweep(plan, url, set=longer, storage_options=options)
    after = times(files, f"{name}/sweep/runs")
    assert left.items() <= after.items() and after.keys() == {f"{key}.json" for key in keys}
    ndnweir.sweep(plan, tmp_path / "folder", set=longer)
    assert tables(files, f"{name}/sweep") == {table: (tmp_path / "folder" / table).read_bytes() for table in TABLES}


class Torn(LocalFileSystem):
    """A file system whose connection breaks in the midst of the third file."""

    protocol = "torn"
    left = 2

    def put_file(self, path1: str, path2: str, **_: Any) -> None:
        content = Path(path1).read_bytes()
        if Torn.left == 0:
            Path(path2).write_bytes(content[: len(content) // 2])
            raise ConnectionResetError("the connection was reset")
        Torn.left -= 1
        Path(path2).write_bytes(content)


def test_a_connection_that_breaks_is_an_error_and_the_same_call_goes_on(
    plan: Path, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    fsspec.register_implementation("torn", Torn, clobber=True)
    out = tmp_path / "out"
    with pytest.raises(ndnweir.StorageError, match="torn://.*connection was reset; what is stored there stays"):
        ndnweir.sweep(plan, f"torn://{out}")
    assert len([name for name in os.listdir(out / "runs") if name.endswith(".json")]) == 1
    Torn.left = 1000
    ndnweir.sweep(plan, f"torn://{out}")
    assert {name: (out / name).read_bytes() for name in TABLES} == expected


def test_memory_and_urls_of_files_are_places_too(plan: Path, tmp_path: Path, expected: dict[str, bytes]) -> None:
    ndnweir.sweep(plan, "memory://sweep")
    assert tables(fsspec.filesystem("memory"), "/sweep") == expected
    assert ndnweir.sweep_tables("memory://sweep")["runs"].num_rows == RUNS
    made = ndnweir.sweep(plan, f"file://{tmp_path}/out")
    assert {name: (tmp_path / "out" / name).read_bytes() for name in TABLES} == expected
    assert f"{tmp_path}/out/runs.parquet" in made["files"]
    assert ndnweir.sweep_tables(tmp_path / "out")["runs"].equals(ndnweir.sweep_tables(f"file://{tmp_path}/out")["runs"])
    with pytest.raises(ndnweir.InputError, match="give the whole path"):
        ndnweir.sweep(plan, "file://relative/out")


def test_what_is_no_sweep_and_what_is_damaged_is_an_error_that_names_it(plan: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/others/thesis.tex", b"...")
    with pytest.raises(ndnweir.InputError, match=r"memory://others: holds something that is no sweep \(thesis.tex\)"):
        ndnweir.sweep(plan, "memory://others")
    ndnweir.sweep(plan, "memory://damaged", shard=(1, 2))
    run = memory.ls("/damaged/runs", detail=False)[0]
    memory.pipe_file(run, memory.cat_file(run)[:100])
    with pytest.raises(ndnweir.RunError, match=f"memory:/{run}.*delete it"):
        ndnweir.sweep(plan, "memory://damaged")
    memory.rm_file(run)
    assert ndnweir.sweep(plan, "memory://damaged")["runs"] == RUNS


def test_storage_that_cannot_be_had_is_an_error_with_a_remedy(
    endpoint: str, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ndnweir.InputError, match="nosuch://bucket/sweep: Protocol not known: nosuch"):
        ndnweir.sweep(plan, "nosuch://bucket/sweep")
    for url in ("s3://", "memory:///", "simplecache::s3://bucket/sweep"):
        with pytest.raises(ndnweir.InputError, match=f"{url}: write PROTOCOL://PLACE"):
            ndnweir.sweep(plan, url)
    options = {"endpoint_url": endpoint, **KEY}
    with pytest.raises(ndnweir.StorageError, match="colour.*storage_options=… are those"):
        ndnweir.sweep(plan, "s3://bucket/sweep", storage_options={**options, "colour": "red"})
    with pytest.raises(ndnweir.StorageError, match="s3://nobody-made-it/sweep: .*there is no such bucket or folder"):
        ndnweir.sweep(plan, "s3://nobody-made-it/sweep", storage_options=options)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ndnweir.StorageError, match="s3://bucket/sweep: .*give credentials by storage_options"):
        ndnweir.sweep(plan, "s3://bucket/sweep", storage_options={"endpoint_url": endpoint})
    for module, remedy in (("s3fs", r"pip install 'ndnweir\[s3\]'"), ("fsspec", r"pip install 'ndnweir\[storage\]'")):
        script = f"import sys; sys.modules[{module!r}] = None; import ndnweir; ndnweir.sweep({str(plan)!r}, 's3://b/sweep')"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "InputError" in done.stderr
        assert remedy.replace("\\", "") in done.stderr.strip().splitlines()[-1]
