#!/usr/bin/env python3
"""Compares the simulator's model of TCP with this kernel's CUBIC over the same links: goodput and mean queue.

    scripts/tcp_model.py target/release/ndnweir [--runs 3] [--limit 0.1]

The kernel's side is scripts/tcp_over_link.py (root, a machine with nothing else to do); the model's a scenario with
`[[cross]] kind = "tcp"`. Exits with 1 where a case differs by more than the limit in either value.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
# Payload of a segment of 1500 B with the timestamp option.
PAYLOAD = 1448
# Rate in Mbit/s, one-way delay in ms, queue in bytes, bytes to send, loss. 1 BDP, 1/4 BDP, and losses at random.
CASES = [
    (20, 20, 100_000, 60_000_000, 0.0),
    (50, 10, 31_250, 120_000_000, 0.0),
    (20, 20, 100_000, 30_000_000, 0.001),
]

SCENARIO = """
[run]
duration = "{seconds}s"
framing = "0B"
[[node]]
names = ["A", "B"]
[[link]]
ends = ["A", "B"]
rate = "{rate}Mbps"
delay = "{delay}ms"
queue = "{queue}B"
forward = {{ loss = {loss} }}
[[cross]]
name = "tcp"
path = ["A", "B"]
kind = "tcp"
packets = {segments}
[[producer]]
name = "P"
node = "B"
prefix = "/p"
[[consumer]]
name = "C"
node = "A"
prefix = "/p"
kind = "stream"
rate = "0.1/s"
"""


def model(program, case, runs):
    rate, delay, queue, count, loss = case
    seconds = 30 + int(count * 8 / rate / 1e6 * 8)
    text = SCENARIO.format(
        rate=rate, delay=delay, queue=queue, loss=loss, seconds=seconds, segments=-(-count // PAYLOAD)
    )
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "tcp.toml"
        file.write_text(text)
        command = [program, "sim", str(file), "--scheme", "fixed", "--seeds", str(runs), "--json"]
        document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout)
    goodput = statistics.median(run["cross"][0]["goodput_mbps"] for run in document["runs"])
    queues = [link["queue_ms"] for run in document["runs"] for link in run["links"] if link["name"] == "A>B"]
    return goodput, statistics.median(queues)


def kernel(program, case, runs):
    rate, delay, queue, count, loss = case
    command = [sys.executable, str(FOLDER / "tcp_over_link.py"), program, "--rate", f"{rate}Mbps"]
    command += ["--delay", f"{delay}ms", "--queue", f"{queue}B", "--loss", str(loss), "--bytes", str(count)]
    command += ["--runs", str(runs), "--algorithms", "cubic"]
    document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    medians = document["medians"]["cubic"]
    return medians["share"] * rate, medians["mean_queue_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ndnweir", help="the binary")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=0.1)
    parser.add_argument("--model-only", action="store_true", help="print the model's values; needs no root")
    args = parser.parse_args()
    program = str(pathlib.Path(args.ndnweir).resolve())
    failed = False
    for case in CASES:
        rate, delay, queue, _, loss = case
        goodput, wait = model(program, case, args.runs)
        line = f"{rate} Mbit/s, {delay} ms, {queue} B, loss {loss}: model {goodput:.2f} Mbit/s, queue {wait:.1f} ms"
        if not args.model_only:
            true_goodput, true_wait = kernel(program, case, args.runs)
            differs = [abs(a / b - 1) for a, b in ((goodput, true_goodput), (wait, true_wait))]
            failed |= max(differs) > args.limit
            line += f"; kernel {true_goodput:.2f} Mbit/s, queue {true_wait:.1f} ms; "
            line += f"differs by {differs[0]:.1%} and {differs[1]:.1%}"
        print(line)
    sys.exit(failed)


if __name__ == "__main__":
    main()
