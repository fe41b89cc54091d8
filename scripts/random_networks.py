#!/usr/bin/env python3
"""Draws random networks and writes each as a scenario file, the same for the same seed on every machine.

  scripts/random_networks.py SEED COUNT FOLDER
  scripts/random_networks.py v 30 target/networks && ndnweir sim target/networks/v0.toml --scheme weir,hbhcm

A tree of 6 to 24 nodes that grows node by node, with 0.4 to 1.2 further links per node; rates from 2 to 40 Mbit/s and
delays from 0.5 to 30 ms, uniform on a logarithmic scale, in each link; queues of six times the link's delay at its rate,
at least 10 packets; one to four producers, four to fourteen fetches that begin within 2 s; all loop-free ways.
"""

import math
import random
import sys
from pathlib import Path

DATA = 1066
HEAD = """name = "{name}"

[run]
duration = "30s"
warm-up = "10s"

[routing]
mode = "all"
cost = "delay"
"""


def logarithmic(draw, low, high):
    return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.3g}")


def network(name):
    draw = random.Random(name)
    nodes = draw.randint(6, 24)
    links = [(draw.randint(0, i - 1), i) for i in range(1, nodes)]
    for _ in range(int(nodes * draw.uniform(0.4, 1.2))):
        ends = tuple(sorted((draw.randrange(nodes), draw.randrange(nodes))))
        if ends[0] != ends[1] and ends not in links:
            links.append(ends)
    parts = [HEAD.format(name=name)] + [f'[[node]]\nname = "N{i}"\n' for i in range(nodes)]
    for one, other in links:
        rate, delay = logarithmic(draw, 2, 40), logarithmic(draw, 0.5, 30)
        queue = max(10, int(rate * 1e3 * 6 * delay / 8 / DATA))
        values = f'rate = "{rate}Mbps"\ndelay = "{delay}ms"\nqueue = "{queue} packets"\n'
        parts.append(f'[[link]]\nends = ["N{one}", "N{other}"]\n{values}')
    places = [draw.randrange(nodes) for _ in range(draw.randint(1, 4))]
    for i, place in enumerate(places):
        parts.append(f'[[producer]]\nname = "P{i}"\nnode = "N{place}"\nprefix = "/P{i}"\n')
    for i in range(draw.randint(4, 14)):
        producer = draw.randrange(len(places))
        place = draw.choice([node for node in range(nodes) if node != places[producer]])
        values = f'prefix = "/P{producer}/{i}"\nstart = "{draw.randint(0, 2000)}ms"\n'
        parts.append(f'[[consumer]]\nname = "C{i}"\nnode = "N{place}"\n{values}')
    return "\n".join(parts)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    seed, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{seed}{number}.toml").write_text(network(f"{seed}{number}"))


if __name__ == "__main__":
    main()
