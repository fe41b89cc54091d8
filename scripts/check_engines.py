"""Runs one plan with several engines: all cores, GNU parallel, Slurm, Dask, HyperQueue, Ray, Snakemake. The tables must be
the same to the byte, also when a worker is killed midway, a node drained, a disk full.

    python scripts/check_engines.py COMMAND ENGINE...
    python scripts/check_engines.py --measure COMMAND ENGINE...    what engines cost for each task
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from engines import ENGINES, WORKERS, wait_until  # noqa: E402

RUNS = 24
PARTS = 8
PLAN = """
about = "Short runs for engines"
schemes = ["aimd", "bic", "cubic", "pcon"]
seeds = 3

[[experiment]]
id = "buffers"
scenario = "dumbbell"
set = ["link.R1-R2.rate=10Mbps", "run.duration={duration}s"]
vary = [{{ key = "link.R1-R2.queue", values = ["0.25 BDP", "1 BDP"] }}]
"""
# Does nothing, but what engines look at is there.
IDLE = """#!/bin/sh
case "$*" in *--merge*) mkdir -p "$4" && cd "$4" && touch runs.parquet consumers.parquet links.parquet ;; esac
echo '{"runs": 0, "files": []}'
"""
TABLES = ["runs.parquet", "consumers.parquet", "links.parquet"]


def tables(out):
    return {name: (out / name).read_bytes() for name in TABLES}


def stored(out):
    """The stored runs, each with when it was written."""
    return {path.name: path.stat().st_mtime_ns for path in (out / "runs").glob("*.json")}


def finish(engine, process, seconds=120):
    """Whether the command succeeded."""
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise SystemExit(f"error: {engine.name} has not ended within {seconds} s\n{engine.said()}") from None


def must(engine, process):
    if not finish(engine, process):
        raise SystemExit(f"error: {engine.name} failed\n{engine.said()}")


def compare(engine, out, expected, before=None):
    """The tables are those expected, each run is stored once, and those stored before were left alone."""
    after = stored(out)
    assert len(after) == RUNS, f"{engine.name}: {len(after)} stored runs instead of {RUNS}"
    for name, when in (before or {}).items():
        assert after[name] == when, f"{engine.name}: {name} was run again"
    for name, found in tables(out).items():
        assert found == expected[name], f"{engine.name}: {name} differs from that of all cores"


def midway(engine, process, out, least):
    """Workers at a time when at least so many runs are stored; a sweep that ended before is a failure."""

    def reached():
        if process.poll() is not None:
            raise SystemExit(f"error: {engine.name} ended before it could be disturbed\n{engine.said()}")
        return len(stored(out)) >= least and engine.workers(out)

    return wait_until(f"{engine.name}: a part after {least} runs", reached)


def whole(engine, plan, folder, expected):
    out = folder / f"{engine.name}-whole"
    must(engine, engine.begin(plan, out, PARTS))
    compare(engine, out, expected)


def killed(engine, plan, folder, expected):
    out = folder / f"{engine.name}-killed"
    process = engine.begin(plan, out, PARTS)
    while True:
        victim = midway(engine, process, out, 3)[0]
        before = stored(out)
        try:
            os.kill(victim, signal.SIGKILL)
            break
        except ProcessLookupError:  # it has just ended by itself
            continue
    assert len(before) < RUNS, f"{engine.name}: nothing was left to lose"
    if engine.recovers:
        must(engine, process)
    else:
        # HyperQueue's client may wait for ever for a server that is gone.
        if engine.kills_parent:
            process.kill()
        assert not finish(engine, process), f"{engine.name} does not notice that a worker was killed"
        engine.restore()
        must(engine, engine.begin(plan, out, PARTS))
    compare(engine, out, expected, before)
    return len(before)


def drained(engine, plan, folder, expected):
    """A node of Slurm ends the tasks that it has and gets no others, until it is resumed."""
    out = folder / f"{engine.name}-drained"
    process = engine.begin(plan, out, PARTS)
    midway(engine, process, out, 1)
    engine.set_node("state=drain", "reason=test")
    wait_until("a drained node", lambda: engine.states() == {"drained"})
    before = stored(out)
    assert 0 < len(before) < RUNS and not engine.workers(out), "the node was drained too late"
    time.sleep(2)
    assert stored(out) == before, "a drained node goes on with the sweep"
    engine.set_node("state=resume")
    must(engine, process)
    compare(engine, out, expected, before)
    return len(before)


def full_disk(engine, plan, folder, expected):
    """A full disk is an error that says so; once there is room the sweep goes on."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80k", "tmpfs", str(disk)], check=True)
    try:
        out = disk / "out"
        assert not finish(engine, engine.begin(plan, out, PARTS)), "a full disk is not noticed"
        said, before = engine.said(), stored(out)
        assert "No space left on device" in said and str(out) in said, said
        assert 0 < len(before) < RUNS, before
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        must(engine, engine.begin(plan, out, PARTS))
        compare(engine, out, expected, before)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    return said.strip().splitlines()[-1]


def check(engine, plan, folder, expected):
    began = time.monotonic()
    whole(engine, plan, folder, expected)
    said = ["whole"]
    if engine.name != "kubernetes":
        how = "completes by itself" if engine.recovers else "completes when asked for again"
        said.append(f"a worker killed after {killed(engine, plan, folder, expected)} runs: {how}")
    if engine.name == "slurm":
        said.append(f"node drained after {drained(engine, plan, folder, expected)} runs and resumed")
    if engine.name == "cores":
        said.append(f"a full disk: {full_disk(engine, plan, folder, expected)}")
    print(f"{engine.name}: {'; '.join(said)} ({time.monotonic() - began:.1f} s)", flush=True)


def measure(engine, folder):
    """Seconds of a worker that a task costs, and seconds until one task for each worker is done: tasks that do nothing. Of
    two attempts the shorter counts, as other work on the machine makes them longer only."""

    def seconds(parts):
        took = []
        for attempt in range(2):
            began = time.monotonic()
            must(engine, engine.begin(folder / "plan.toml", folder / f"{engine.name}-{parts}-{attempt}", parts))
            took.append(time.monotonic() - began)
        return min(took)

    few = seconds(WORKERS)
    return (seconds(engine.tasks) - few) / (engine.tasks - WORKERS) * WORKERS, few


def start_of_command(environment, plan, out, times=20):
    """Seconds of processor time in which the command finds that nothing of a part is left to run."""
    words = ["ndnweir", "sweep", str(plan), "--out", str(out), "--shard", "1/8", "--threads", "1", "--quiet"]
    before = os.times()
    for _ in range(times):
        subprocess.run(words, env=environment, check=True)
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system) / times


@contextmanager
def idle_command(folder):
    """In place of the command, also of the package's, one that does nothing."""
    idle = folder / "idle"
    idle.write_text(IDLE)
    idle.chmod(0o755)
    places = [folder / "bin" / "ndnweir", Path(sys.executable).parent / "ndnweir"]
    before = [place.resolve() for place in places]
    try:
        for place in places:
            place.unlink()
            place.symlink_to(idle)
        yield
    finally:
        for place, program in zip(places, before, strict=True):
            place.unlink()
            place.symlink_to(program)


def reference(environment, folder):
    """The plan, and the folder of its results by all cores. Runs are so long that a sweep can be disturbed midway, however
    fast the machine and the build of the program are."""
    for attempt in range(8):
        plan, out = folder / "plan.toml", folder / f"reference-{attempt}"
        plan.write_text(PLAN.format(duration=10 << attempt))
        began = time.monotonic()
        words = ["ndnweir", "sweep", str(plan), "--out", str(out), "--threads", str(WORKERS), "--quiet"]
        subprocess.run(words, env=environment, check=True)
        if time.monotonic() - began > 2:
            break
    return plan, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=Path)
    parser.add_argument("engine", nargs="+", choices=sorted(ENGINES))
    parser.add_argument("--measure", action="store_true")
    args = parser.parse_args()
    # What was started is stopped also when the check is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("error: ended"))
    with tempfile.TemporaryDirectory(prefix="ndnweir-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # munged wants others to reach its socket
        (folder / "bin").mkdir()
        (folder / "bin" / "ndnweir").symlink_to(args.command.resolve())
        path = f"{folder}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
        environment = {**os.environ, "PATH": path, "HOME": name}
        plan, done = reference(environment, folder)
        expected = tables(done)
        if args.measure:
            print(f"the command: {start_of_command(environment, plan, done):.3f} s of processor time", flush=True)
        for kind in args.engine:
            (folder / kind).mkdir()
            engine = ENGINES[kind](folder / kind, environment)
            try:
                engine.start()
                if args.measure:
                    with idle_command(folder):
                        each, few = measure(engine, folder)
                    print(f"{kind}: {each:.4f} s a task, of {engine.tasks}; {few:.1f} s for {WORKERS}", flush=True)
                else:
                    check(engine, plan, folder, expected)
            finally:
                engine.stop()


if __name__ == "__main__":
    main()
