#!/usr/bin/env python3
"""NDN transfers over emulated links: put - forwarder - link - forwarder - get, on one machine.

The link's queue is drop-tail and below NDN: faces are told no rate, so only a measured hop delay or losses tell of it.
Under `weir`, the default, they learn it. With `--rates` each face states the rate of its link.
The link is `ndnweir link` (`--via own`), or one between network namespaces that shares nothing with it (`tun`, `tbf`;
see tun_link.py; these need root).

    scripts/link_transfer.py target/release/ndnweir --runs 5 --schemes plain/bic,hbhcm/aimd-ye --cases 100,20,100-loss
    scripts/link_transfer.py target/release/ndnweir --runs 3 --cases 100 --via own,tun,tbf --jitter 0ms,3ms,10ms
    scripts/link_transfer.py target/release/ndnweir --runs 5 --rates --schemes weir/weir --cases 100,20,two-paths
    scripts/link_transfer.py target/release/ndnweir --check
"""
import argparse
import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from ports import free_port
from tun_link import ADDRESSES, TunLink

FAST = {"rate": "100Mbps", "delay": "10ms", "bytes": 30_000_000}
SLOW = {"rate": "20Mbps", "delay": "20ms", "bytes": 10_000_000}
PATHS = [{"rate": "60Mbps", "delay": "5ms"}, {"rate": "20Mbps", "delay": "30ms"}]
CASES = {
    "100": FAST,
    "20": SLOW,
    "100-loss": FAST | {"loss": 0.01},
    "20-loss": SLOW | {"loss": 0.01},
    "100-two": FAST | {"flows": 2},
    "20-two": SLOW | {"flows": 2},
    "100-shallow": FAST | {"queue": "20 packets"},
    # Links between the same two forwarders.
    "two-paths": {"paths": PATHS, "bytes": 30_000_000},
    "two-paths-ten": {"paths": PATHS, "bytes": 6_000_000, "flows": 10},
    # The faster link ends so many seconds after the fetch began.
    "path-dies": {"paths": PATHS, "bytes": 10_000_000, "dies": 0.3},
}
FIELDS = ("payload_share", "wire_share", "retransmissions", "queue_ms", "dropped", "jain", "marks", "rtt_ms", "load")


def bits_per_second(text):
    number, unit = re.fullmatch(r"([\d.]+)([kMG]?)bps", text).groups()
    return float(number) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[unit]


def seconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


class Bench:
    """The processes of one run, ended in the order opposite to that of their start."""

    def __init__(self, binary, folder, stack):
        self.binary, self.folder, self.stack = binary, pathlib.Path(folder), stack
        # Of the forwarders on loopback, which all links join.
        self.ports = (free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_DGRAM))

    def start(self, *command, before=(), **options):
        process = subprocess.Popen([*before, self.binary, *command], **options)
        self.stack.callback(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

    def forwarder(self, side, scheme, links, rates, prefixes, options):
        """A forwarder whose faces to the links are configured, so that its neighbour's congestion fields count; without
        `options` (`None`) none is, and it makes one once a neighbour sends something."""
        path = self.folder / f"{side}.toml"
        ends = [link.end_of("ab".index(side)) for link in links]
        here, _, before = ends[0]
        uris = [f"udp4://{there}" for _, there, _ in ends]
        rates = [f'rate = "{rate}"\n' if rate else "" for rate in rates]
        own = [] if options is None else zip(uris, rates)
        faces = "".join(f'[[face]]\nuri = "{uri}"\n{rate}{options}\n' for uri, rate in own)
        routes = "".join(f'[[route]]\nprefix = "{prefix}"\nto = "{uri}"\n' for uri in uris for prefix in prefixes)
        path.write_text(
            f'{scheme}\n[listen]\nunix = "{self.folder}/{side}.sock"\nudp = ["{here}"]\n{faces}{routes}'
        )
        log = open(self.folder / f"{side}.log", "w")
        self.stack.callback(log.close)
        self.start("fwd", "--config", str(path), before=before, stderr=log)
        deadline = time.monotonic() + 30
        while not (self.folder / f"{side}.sock").exists():
            if time.monotonic() > deadline:
                sys.exit((self.folder / f"{side}.log").read_text() or "the forwarder did not start")
            time.sleep(0.02)

    def client(self, side):
        return os.environ | {"NDN_CLIENT_TRANSPORT": f"unix://{self.folder}/{side}.sock"}


class OwnLink:
    """`ndnweir link` on loopback."""

    def __init__(self, bench, case, seed):
        self.ports = bench.ports
        self.ending, self.ended = threading.Lock(), None
        command = ["link", "--json", "--rate", case["rate"], "--delay", case["delay"], "--queue", case["queue"]]
        command += ["--loss", str(case["loss"]), "--jitter", case["jitter"], "--seed", str(seed)]
        command += ["--a", f"127.0.0.1:{self.ports[0]}", "--b", f"127.0.0.1:{self.ports[1]}"]
        self.process = bench.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.link_ports = re.findall(r"127\.0\.0\.1:(\d+)", self.process.stderr.readline())

    def end_of(self, side):
        """Address of the process at an end, where it finds the other, and what to put before its command."""
        return f"127.0.0.1:{self.ports[side]}", f"127.0.0.1:{self.link_ports[side]}", ()

    def totals(self):
        """What the direction to the fetch carried; ends the link."""
        with self.ending:
            if self.ended is None:
                self.process.send_signal(signal.SIGINT)
                self.ended = json.loads(self.process.communicate(timeout=30)[0])["directions"][0]
        return self.ended


class OtherLink(TunLink):
    """The link between namespaces, from the words of a case."""

    PORT = 6363

    def __init__(self, bench, case, seed, shaped):
        rate, delay = bits_per_second(case["rate"]), seconds(case["delay"])
        number, unit = re.fullmatch(r"([\d.]+) ?(BDP|packets)", case["queue"]).groups()
        limit = ("packets", int(number)) if unit == "packets" else ("bytes", float(number) * rate * 2 * delay / 8)
        words = {"rate": rate, "limit": limit, "delay": delay, "jitter": seconds(case["jitter"]), "loss": case["loss"]}
        super().__init__(words, seed, shaped)
        bench.stack.callback(self.end)

    def end_of(self, side):
        """As that of `OwnLink`."""
        return f"{ADDRESSES[side]}:{self.PORT}", f"{ADDRESSES[1 - side]}:{self.PORT}", self.within(side)


LINKS = {
    "own": OwnLink,
    "tun": lambda *about: OtherLink(*about, shaped=False),
    "tbf": lambda *about: OtherLink(*about, shaped=True),
}


def run(binary, case, scheme, options, seed):
    case = {"queue": "1BDP", "loss": 0, "jitter": "0ms", "via": "own"} | case
    paths = [case | path for path in case.get("paths", [{}])]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        bench = Bench(binary, folder, stack)
        links = [LINKS[case["via"]](bench, path, seed + place) for place, path in enumerate(paths)]
        ends = scheme[0].split("+")
        tomls = [options.fwd.get(end, "" if end == "default" else f'scheme = "{end}"') for end in (ends[0], ends[-1])]
        rates = [path["rate"] if options.rates else None for path in paths]
        bench.forwarder("a", tomls[0], links, rates, [], None if options.on_demand else options.face)
        bench.forwarder("b", tomls[1], links, rates, ["/data"], options.face)
        flows = case.get("flows", 1)
        names, digests = [], []
        for flow in range(flows):
            content = random.Random(seed * 100 + flow).randbytes(case["bytes"])
            (bench.folder / f"in{flow}").write_bytes(content)
            digests.append(hashlib.sha256(content).digest())
            names.append(f"/data/{flow}/v=1")
            bench.start("put", str(bench.folder / f"in{flow}"), names[-1], "--quiet", *options.put, env=bench.client("a"))
        time.sleep(options.settle)
        consumer = [] if scheme[1] == "default" else ["--scheme", scheme[1]]
        fetches = []
        for flow, name in enumerate(names):
            command = ["get", name, "-o", str(bench.folder / f"out{flow}"), "--json", "--quiet", "--timeout", "30s"]
            command += consumer + options.get.get(scheme[1], []) + options.all_get
            fetches.append(bench.start(*command, stdout=subprocess.PIPE, text=True, env=bench.client("b")))
        load = os.getloadavg()[0]
        if "dies" in case:
            death = threading.Timer(case["dies"], links[0].totals)
            death.start()
            stack.callback(death.join)
        results = [json.loads(fetch.communicate(timeout=600)[0]) for fetch in fetches]
        forth = [link.totals() for link in links]
        for flow, digest in enumerate(digests):
            if hashlib.sha256((bench.folder / f"out{flow}").read_bytes()).digest() != digest:
                sys.exit(f"{scheme}: the file of flow {flow} is not what was put")
    rate = sum(bits_per_second(path["rate"]) for path in paths)
    took = max(result["duration_s"] for result in results)
    interests = sum(result["interests"] for result in results)
    return {
        "payload_share": sum(result["bytes"] for result in results) * 8 / took / rate,
        "wire_share": sum(each["bits"] for each in forth) / took / rate,
        "retransmissions": sum(result["retransmissions"] for result in results) / interests,
        "queue_ms": max(each["mean_queue_ms"] for each in forth),
        "dropped": sum(each["dropped"] for each in forth),
        "lost": sum(each["lost"] for each in forth),
        "jain": jain([result["goodput_mbps"] for result in results]),
        "marks": sum(result["marks"] for result in results),
        "decreases": sum(result["decreases"] for result in results),
        "rtt_ms": statistics.mean(result["rtt_ms"]["p50"] for result in results),
        "false_losses": sum(result["false_losses"] for result in results),
        "timeouts": sum(result["timeouts"] for result in results),
        "load": load,
    }


def row(case, scheme, runs):
    middle = {key: statistics.median(each[key] for each in runs) for key in runs[0]}
    spread = "-".join(f"{100 * limit(each['payload_share'] for each in runs):.1f}" for limit in (min, max))
    return (
        f"| {case} | {scheme} | {100 * middle['payload_share']:.1f} ({spread}) | {100 * middle['wire_share']:.1f} |"
        f" {100 * middle['retransmissions']:.2f} | {middle['queue_ms']:.1f} | {middle['rtt_ms']:.1f} | {middle['dropped']:.0f} |"
        f" {middle['jain']:.3f} | {middle['marks']:.0f} | {middle['decreases']:.0f} | {middle['load']:.0f} |"
    )


HEAD = (
    "| case | fwd/get | payload % (least-most) | wire % | retransmitted % | queue ms | RTT ms | dropped | Jain | marks | cuts | load |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)


# Ways that are not a queue's fault, of which the default must make about what it makes without marks.
NOISY = (("own", "10ms"), ("tun", "0ms"), ("tun", "5ms"), ("tbf", "0ms"))


def check(binary, options):
    """One short run of each case with the defaults: whole, identical and without a flood of repeated Interests.

    Then links with jitter, and links that are not the project's own: marks must not cost the default more than four tenths
    of what plain forwarders have in the same run. Then faces that learn their rates. Nothing here depends on how fast the machine is."""
    wrong = 0
    for name, case in CASES.items():
        result = run(binary, case | {"bytes": 4_000_000}, ("default", "default"), options, 1)
        # A short fetch is mostly slow start, worse where two begin at once; a flood is 80 % and more.
        most = 0.5 if case.keys() & {"loss", "queue", "flows", "dies"} else 0.25
        wrong += result["retransmissions"] > most
        print(f"{name}: {100 * result['retransmissions']:.1f} % retransmitted, at most {100 * most:.0f} % wanted", flush=True)
    for via, jitter in NOISY:
        case = FAST | {"via": via, "jitter": jitter, "bytes": 8_000_000}
        default, plain = (run(binary, case, (fwd, "default"), options, 1)["payload_share"] for fwd in ("default", "plain"))
        wrong += default < 0.6 * plain
        print(f"via {via}, jitter {jitter}: {default / plain:.2f} of what plain has, at least 0.6 wanted", flush=True)
    # Faces that learn the rate of their link keep what waits in their own queue.
    case = FAST | {"bytes": 12_000_000}
    default, plain = (run(binary, case, (fwd, "default"), options, 1) for fwd in ("default", "plain"))
    kept, queues = (default[key] / plain[key] for key in ("payload_share", "queue_ms"))
    wrong += kept < 0.6 or queues > 0.5
    print(f"learned rates: {kept:.2f} of what plain has, at least 0.6 wanted; {queues:.2f} of its queue, at most 0.5", flush=True)
    sys.exit(1 if wrong else 0)


def pairs(texts, what):
    """NAME=TEXT options as a dictionary."""
    found = {}
    for text in texts:
        name, sign, rest = text.partition("=")
        if not sign:
            sys.exit(f"{what} {text}: write NAME=…")
        found[name] = rest
    return found


def chosen(names, vias):
    """The cases that are named, of links that can carry them; without names all that these links can carry."""
    can = [name for name, case in CASES.items() if "paths" not in case or vias == ["own"]]
    for name in names or ():
        if name not in can:
            sys.exit(f"--cases {name}: with --via {','.join(vias)} there are {', '.join(can)}")
    return names or can


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ndnweir", help="the binary")
    parser.add_argument("--cases", help="which of " + ", ".join(CASES) + " (those with paths by `--via own` alone)")
    parser.add_argument("--schemes", default="default/default", help="pairs FWD/GET, e.g. plain/bic,hbhcm/hbhcm; A+B/GET: A beside the producer")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--fwd", action="append", default=[], help="NAME=TOML line that FWD stands for")
    parser.add_argument("--get", action="append", default=[], help="NAME=options of get beside --scheme NAME")
    parser.add_argument("--all-get", default="", help="options of every get")
    parser.add_argument("--put", default="", help="options of put, e.g. '--chunk 1200'")
    parser.add_argument("--via", default="own", help="which of " + ", ".join(LINKS))
    parser.add_argument("--jitter", default="0ms", help="most extra delay of a datagram, uniform, order kept, e.g. 1ms,5ms")
    parser.add_argument("--face", default="", help="TOML lines of the face to the link, e.g. 'mtu = 9000'")
    parser.add_argument("--rates", action="store_true", help="each face states the rate of its link")
    parser.add_argument("--on-demand", action="store_true", help="the producer's forwarder has no face of its own to the link")
    parser.add_argument("--bytes", type=int, help="size of each file instead of the case's")
    parser.add_argument("--settle", type=float, default=0.5, help="seconds between put and get")
    parser.add_argument("--check", action="store_true", help="one short run of each case; fails if something is wrong")
    parser.add_argument("--out", help="where the JSON goes")
    options = parser.parse_args()
    options.fwd = pairs(options.fwd, "--fwd")
    options.get = {name: text.split() for name, text in pairs(options.get, "--get").items()}
    options.put, options.all_get = options.put.split(), options.all_get.split()
    if options.check:
        check(options.ndnweir, options)
    vias = options.via.split(",")
    for via in vias:
        if via not in LINKS:
            sys.exit(f"--via {via}: there are {', '.join(LINKS)}")
    cases = chosen(options.cases and options.cases.split(","), vias)
    variants = itertools.product(vias, options.jitter.split(","), cases)
    document = []
    print(HEAD, flush=True)
    for via, jitter, name in variants:
        case = CASES[name] | {"via": via, "jitter": jitter} | ({"bytes": options.bytes} if options.bytes else {})
        words = [name] + [f"via {via}"] * (via != "own") + [f"jitter {jitter}"] * (seconds(jitter) > 0)
        for scheme in options.schemes.split(","):
            runs = [run(options.ndnweir, case, scheme.split("/"), options, seed + 1) for seed in range(options.runs)]
            here = {"case": name, "via": via, "jitter": jitter, "scheme": scheme}
            document += [{**here, "seed": seed + 1, **each} for seed, each in enumerate(runs)]
            print(row(", ".join(words), scheme, runs), flush=True)
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
