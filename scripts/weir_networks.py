"""Networks as the scripts about the scheme weir measure them: runs, fair rates, shipped networks written out."""

import csv
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def simulate(binary, folder, text, scheme, seed, settings, deliveries=None):
    """The folder with the results of one run."""
    file = Path(folder) / "network.toml"
    file.write_text(text)
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    out = Path(folder) / "results"
    words = [binary, "sim", file, "--scheme", scheme, "--seed", str(seed), "--quiet", "--threads", "1", "--force"]
    words += ["--deliveries", deliveries] if deliveries else []
    done = subprocess.run([*words, "--out", out, *sets], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"error: {done.stderr}")
    return out


def short(binary, text, settings=()):
    """The summary of three seconds, whose optimum does not depend on them."""
    with tempfile.TemporaryDirectory(prefix="ndnweir-") as folder:
        lasts = {"run.duration": "3s", "run.warm-up": "0s", **dict(settings)}
        return json.loads((simulate(binary, folder, text, "weir", 1, lasts) / "summary.json").read_text())


def explicit(binary, name):
    """A shipped network whose consumers and producers do not depend on the rates of its links, as [demand] does."""
    text = (ROOT / "scenarios" / f"{name}.toml").read_text()
    text = text.replace('file = "topologies/', f'file = "{ROOT}/scenarios/topologies/')
    with tempfile.TemporaryDirectory(prefix="ndnweir-") as folder:
        told = Path(folder) / "deliveries.csv"
        out = simulate(binary, folder, text, "weir", 1, {"run.duration": "3s", "run.warm-up": "0s"}, told)
        summary = json.loads((out / "summary.json").read_text())
        with open(told, newline="") as file:
            sources = {row["consumer"]: row["path"].split(">")[0] for row in csv.DictReader(file)}
    scenario = summary["scenario"]
    parts = [f'name = "{name}"\n[routing]\nmode = "all"\ncost = "delay"\n']
    parts += [f'[[node]]\nname = "{node["name"]}"\n' for node in scenario["nodes"]]
    # The directions of a link follow each other.
    for link in scenario["links"][::2]:
        values = f'rate = "{link["rate_mbps"]}Mbps"\ndelay = "{link["delay_ms"]}ms"\nqueue = "{link["queue"]}"\n'
        parts.append(f'[[link]]\nends = ["{link["from"]}", "{link["to"]}"]\n{values}')
    producers = {}
    for consumer in scenario["consumers"]:
        producers["/" + consumer["prefix"].split("/")[1]] = sources[consumer["name"]]
        values = f'prefix = "{consumer["prefix"]}"\nstart = "{consumer["start_s"]}s"\n'
        parts.append(f'[[consumer]]\nname = "{consumer["name"]}"\nnode = "{consumer["node"]}"\n{values}')
    for prefix, node in producers.items():
        parts.append(f'[[producer]]\nname = "{prefix[1:]}"\nnode = "{node}"\nprefix = "{prefix}"\n')
    text = "\n".join(parts)
    if fair_rates(short(binary, text)) != fair_rates(summary):
        sys.exit(f"error: {name} with its demand written out has another optimum")
    return name, text


def fair_rates(summary):
    if summary["optimum"]["undefined"]:
        sys.exit(f"error: {summary['scenario']['name']} has no optimum: {summary['optimum']['undefined']}")
    return {each["name"]: each["goodput_mbps"] for each in summary["optimum"]["consumers"]}


def quantile(values, part):
    """Nearest rank."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]
