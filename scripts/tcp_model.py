#!/usr/bin/env python3
"""Compares the simulator's models of TCP with this kernel's over the same links: goodput and mean queue.

    scripts/tcp_model.py target/release/ndnweir                        all cases: half an hour
    scripts/tcp_model.py target/release/ndnweir --only cubic --rates 20
    scripts/tcp_model.py target/release/ndnweir --kernel FOLDER        store the kernel's runs there, reuse stored ones
    scripts/tcp_model.py target/release/ndnweir --model-only           needs no root

The kernel's side is scripts/tcp_over_link.py (root), the model's a scenario with `[[cross]]`. Prints a table: medians
of the runs, least and most in brackets, and by how much the model's median differs. Exits with 1 where that is more
than the limit in either value.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
# The kernel's name of an algorithm, and the scenario's.
KINDS = {"cubic": "tcp", "bbr": "tcp-bbr-v1", "reno": "tcp-reno"}
# Rate in Mbit/s: one-way delay in ms, seconds, numbers of flows.
RATES = {20: (20, 25, (1, 2)), 100: (10, 10, (1,))}
QUEUES = (0.5, 1, 4)
# When the second flow begins, in ms after the first, in each run.
LATER = (3, 11, 23, 7, 17)

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
FLOW = """
[[cross]]
name = "T{number}"
path = ["A", "B"]
kind = "{kind}"
start = "{start}ms"
"""


def model(args, rate, times, flows, algorithm):
    """Goodputs of all flows together, and mean queues, by run."""
    delay, seconds, _ = RATES[rate]
    queue = int(times * rate * 1e6 * 2 * delay / 1e3 / 8)
    found = []
    for run in range(args.runs):
        text = SCENARIO.format(rate=rate, delay=delay, queue=queue, seconds=seconds)
        starts = [0] + [LATER[run % len(LATER)]] * (flows - 1)
        for number, start in enumerate(starts):
            text += FLOW.format(number=number, kind=KINDS[algorithm], start=start)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "tcp.toml"
            file.write_text(text)
            command = [args.ndnweir, "sim", str(file), "--scheme", "fixed", "--seed", str(run + 1), "--json"]
            out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
        (result,) = json.loads(out)["runs"]
        queues = [link["queue_ms"] for link in result["links"] if link["name"] == "A>B"]
        found.append((sum(flow["goodput_mbps"] for flow in result["cross"]), queues[0]))
    return found


def kernel(args, rate, times, flows):
    """The same of this kernel, by algorithm."""
    delay, seconds, _ = RATES[rate]
    stored = args.kernel and pathlib.Path(args.kernel) / f"k-{rate}Mbps-{times}BDP-{flows}.json"
    if not stored or not stored.exists():
        command = [sys.executable, str(FOLDER / "tcp_over_link.py"), args.ndnweir, "--rate", f"{rate}Mbps"]
        command += ["--delay", f"{delay}ms", "--queue", f"{times}BDP", "--seconds", str(seconds)]
        command += ["--flows", str(flows), "--runs", str(args.runs), "--algorithms", ",".join(KINDS)]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        if stored:
            stored.parent.mkdir(parents=True, exist_ok=True)
            stored.write_text(text)
    else:
        text = stored.read_text()
    found = {algorithm: [] for algorithm in KINDS}
    for run in json.loads(text)["runs"]:
        found[run["algorithm"]].append((sum(run["goodputs_mbps"]), run["mean_queue_ms"]))
    return found


def spread(runs, place):
    values = [run[place] for run in runs]
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ndnweir", help="the binary")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=0.1)
    parser.add_argument("--only", help="algorithms, separated by commas")
    parser.add_argument("--rates", default="20,100", help="Mbit/s: 20 (RTT 40 ms) and 100 (RTT 20 ms)")
    parser.add_argument("--kernel", metavar="FOLDER", help="where the kernel's runs are stored")
    parser.add_argument("--model-only", action="store_true", help="print the model's values; needs no root")
    args = parser.parse_args()
    args.ndnweir = str(pathlib.Path(args.ndnweir).resolve())
    algorithms = args.only.split(",") if args.only else list(KINDS)
    failed = False
    print("| link | buffer, BDP | flows | | goodput, Mbit/s: kernel | model | | queue, ms: kernel | model | |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for rate in (int(rate) for rate in args.rates.split(",")):
        for flows in RATES[rate][2]:
            for times in QUEUES:
                measured = {} if args.model_only else kernel(args, rate, times, flows)
                for algorithm in algorithms:
                    ours = model(args, rate, times, flows, algorithm)
                    columns = []
                    for place in (0, 1):
                        columns += ["–", spread(ours, place), ""]
                        if theirs := measured.get(algorithm):
                            a, b = (statistics.median(run[place] for run in runs) for runs in (ours, theirs))
                            failed |= abs(a / b - 1) > args.limit
                            columns[-3:] = [spread(theirs, place), spread(ours, place), f"{a / b - 1:+.1%}"]
                    link = f"{rate} Mbit/s, {2 * RATES[rate][0]} ms"
                    print("|", " | ".join([link, str(times), str(flows), algorithm, *columns]), "|", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
