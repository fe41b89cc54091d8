#!/usr/bin/env python3
"""Four forwarders in a square and two controllers over gNMI: ndnSieve leads a transfer over both ways, and it goes on when
the controller, its stand-by or a router is killed, and when the network between controller and routers is slow, loses
packets, and is split.

    python3 scripts/control_network.py target/release/ndnweir [--check] [--ndnd target/peers/ndnd]
    python3 scripts/control_network.py target/release/ndnweir --check --nfd FOLDER [--record FILE]

r, beside the consumer, reaches p, beside the producer, over a or b; every link carries 20 Mbit/s. With --ndnd also in a
mixed network: r is ndnd and p is led by NFD's protocol, too, as if it had no gNMI. With --nfd only in a mixed network
where r is NFD, whose programs are in the folder; --record writes what it and the controller say to each other. The slow
network is a TUN link between two namespaces, and needs root. --check ends with an error where something does not hold.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ndn_programs import answers, nfd_configuration
from ports import free_port
from recorder import Recorder
from tun_link import ADDRESSES, TunLink

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("ndnweir", type=Path, help="the binary")
parser.add_argument("--check", action="store_true", help="end with an error where something does not hold")
parser.add_argument("--ndnd", type=Path, help="ndnd's binary")
parser.add_argument("--nfd", type=Path, metavar="FOLDER", help="where NFD's programs are")
parser.add_argument("--record", type=Path, metavar="FILE", help="with --nfd: the packets between it and the controller")
args = parser.parse_args()
binary, ndnd, nfd = args.ndnweir.resolve(), args.ndnd and args.ndnd.resolve(), args.nfd and args.nfd.resolve()
NEIGHBOURS = {"r": "ab", "a": "rp", "b": "rp", "p": "ab"}
ROUTES = {"r": (("a", 0), ("b", 5)), "a": (("p", 0),), "b": (("p", 0),), "p": ()}
BYTES = 12_000_000
RATE = 20e6
problems = []


def hold(what, holds, reported=""):
    print(f"{'  ' if holds else 'NO'} {what} {reported}".rstrip(), flush=True)
    if not holds:
        problems.append(what)


class Network:
    """The forwarders, in a network of their own if there is a link to it, and what is managed by NFD's protocol."""

    def __init__(self, folder, controllers=("first", "second"), link=None, managed="", at_r="ndnweir"):
        self.folder, self.running, self.link, self.managed, self.at_r = folder, {}, link, managed, at_r
        folder.mkdir()
        self.udp = {name: free_port(socket.SOCK_DGRAM) for name in NEIGHBOURS}
        self.gnmi = {name: free_port(socket.SOCK_STREAM) for name in NEIGHBOURS}
        self.listen = {name: free_port(socket.SOCK_STREAM) for name in controllers}
        if link:
            hosts = [part for name in NEIGHBOURS for part in ("--host", f"{name}={ADDRESSES[1]}")]
            command = [binary, "key", "certificates", folder, *hosts, "--host", f"controller={ADDRESSES[0]}"]
            made = subprocess.run(command, check=True, capture_output=True, text=True)
            self.accept = re.search(r"controller\.pem +SHA-256 (\S+)", made.stdout)[1]
        for name in NEIGHBOURS:
            self.forwarder(name)
        (folder / "in").write_bytes(bytes(i * i % 251 for i in range(BYTES // 1000)) * 1000)
        self.wait_for(lambda: all((folder / f"{name}.sock").exists() for name in NEIGHBOURS), "forwarders")
        if "r" in managed:
            self.routes()
        self.recorder = Recorder(folder / "r.sock", folder / "r-recorded.sock") if args.record else None
        transport = ("--transport", f"unix://{folder}/p.sock")
        self.start("put", "put", folder / "in", "/t/x", "--chunk", "1200", *transport)
        self.wait_for(lambda: "/t/x" in self.tool("p", "route", "list"), "the producer")
        before = None
        for name in controllers:
            self.start(name, "control", "run", self.controller(name, before), side=0)
            self.wait_for(lambda: self.reporting(name) == 4, "routers that report")
            before = name

    def forwarder(self, name):
        if name != "r" or self.at_r == "ndnweir":
            self.start(name, "fwd", "--config", self.router(name), side=1)
        elif self.at_r == "ndnd":
            self.start(name, "fw", "run", self.ndnd(name), program=ndnd)
        else:
            # A content store in which lists are found again, and of the object nothing.
            ports = self.udp[name], free_port(socket.SOCK_STREAM)
            text = nfd_configuration(self.folder / "r.sock", *ports, cache=100)
            self.start(name, "--config", self.file("r.conf", text), program=nfd / "nfd")
            self.wait_for(lambda: answers(self.folder / "r.sock"), "NFD")

    def routes(self):
        """Those of r, where it does not read them from a configuration of ours."""
        for other, cost in ROUTES["r"]:
            self.tool("r", "route", "add", "/t", self.uri(other), "--cost", str(cost))

    def uri(self, name):
        return f"udp4://127.0.0.1:{self.udp[name]}"

    def ndnd(self, name):
        text = f"faces:\n  udp: {{ enabled_unicast: true, enabled_multicast: false, port_unicast: {self.udp[name]} }}\n"
        text += f"  tcp: {{ enabled: false }}\n  websocket: {{ enabled: false }}\n"
        text += f"  unix: {{ enabled: true, socket_path: {self.folder}/{name}.sock }}\nfw: {{ threads: 1 }}\n"
        return self.file(f"{name}.yml", text)

    def router(self, name):
        text = f'scheme = "ndnsieve"\ncache = 0\n[listen]\nunix = "{self.folder}/{name}.sock"\n'
        text += f'udp = ["127.0.0.1:{self.udp[name]}"]\n'
        if name not in self.managed:
            text += f'[gnmi]\nlisten = "{self.address(name)}"\n'
            if self.link:
                text += f'certificate = "{name}.pem"\nkey = "{name}-key.pem"\nclients = "authority.pem"\n'
                text += f'accept = ["{self.accept}"]\n'
            else:
                text += "insecure = true\n"
        for other in NEIGHBOURS[name]:
            text += f'[[face]]\nuri = "{self.uri(other)}"\nrate = "20Mbps"\nqueue = "500 packets"\n'
        for other, cost in ROUTES[name]:
            text += f'[[route]]\nprefix = "/t"\nto = "{self.uri(other)}"\ncost = {cost}\n'
        return self.file(f"{name}.toml", text)

    def address(self, name):
        return f"{ADDRESSES[1] if self.link else '127.0.0.1'}:{self.gnmi[name]}"

    def controller(self, name, peer):
        text = f'scheme = "ndnsieve"\nlisten = "127.0.0.1:{self.listen[name]}"\n'
        if peer:
            text += f'peer = "127.0.0.1:{self.listen[peer]}"\n'
        if self.link:
            text += '[tls]\ncertificate = "controller.pem"\nkey = "controller-key.pem"\nauthority = "authority.pem"\n'
        for router in NEIGHBOURS:
            text += f'[[router]]\nname = "{router}"\n'
            if router in self.managed:
                rates = ", ".join(f'"{self.uri(other)}" = "20Mbps"' for other in NEIGHBOURS[router])
                socket_file = "r-recorded.sock" if self.recorder and router == "r" else f"{router}.sock"
                text += f'management = "unix://{self.folder}/{socket_file}"\nrates = {{ {rates} }}\n'
                text += f'uris = ["{self.uri(router)}"]\n'
            else:
                text += f'address = "{self.address(router)}"\n'
        return self.file(f"{name}.toml", text)

    def file(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def within(self, side):
        """What a command at a side of the link between controller and routers begins with."""
        return self.link.within(side) if self.link and side is not None else []

    def start(self, name, *command, side=None, program=binary):
        log = open(self.folder / f"{name}.log", "a")
        command = [str(part) for part in (*self.within(side), program, *command)]
        # NFD makes keys in its home.
        environment = os.environ | {"HOME": str(self.folder)}
        self.running[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env=environment)

    def kill(self, name):
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def end(self):
        if self.recorder:
            self.recorder.write(args.record)
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()

    def tool(self, router, *command):
        command = [binary, *command, "--transport", f"unix://{self.folder}/{router}.sock"]
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=30).stdout

    def status(self, name):
        command = [*self.within(0), str(binary), "control", "status", f"127.0.0.1:{self.listen[name]}", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def reporting(self, name):
        return sum(router["state"] == "reporting" for router in self.status(name).get("routers", []))

    def wait_for(self, true, what, seconds=20):
        deadline = time.monotonic() + seconds
        while not true():
            if time.monotonic() > deadline:
                raise SystemExit(f"error: no {what} after {seconds} s; logs:\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"{log.name}: {log.read_text()[-600:]}" for log in sorted(self.folder.glob("*.log")))

    def get(self, meanwhile=lambda: None):
        """Mbit/s of payload of a fetch, and whether the object arrived whole."""
        (self.folder / "out").unlink(missing_ok=True)
        command = [binary, "get", "/t/x", "-o", self.folder / "out", "--quiet", "--scheme", "ndnsieve", "--restart"]
        command += ["--timeout", "60s", "--transport", f"unix://{self.folder}/r.sock"]
        began = time.monotonic()
        fetch = subprocess.Popen([str(part) for part in command])
        meanwhile()
        ended = fetch.wait(timeout=180)
        took = time.monotonic() - began
        whole = ended == 0 and (self.folder / "out").read_bytes() == (self.folder / "in").read_bytes()
        return BYTES * 8 / took / 1e6, whole


def led(network, controller):
    """Fetches until the controller has switched, three times at most: Mbit/s, whether all were whole, and the switches."""
    whole, switches, speed = True, 0, 0.0
    before = network.status(controller)["counts"]["switches"]
    for _ in range(3):
        speed, came = network.get()
        whole, switches = whole and came, network.status(controller)["counts"]["switches"] - before
        if switches:
            break
    return f"{speed:.1f} Mbit/s, {switches} switches", whole and switches > 0


def unplanned(folder):
    network = Network(folder, controllers=())
    try:
        speed, whole = network.get()
        hold("without a controller the object comes whole", whole, f"{speed:.1f} Mbit/s")
    finally:
        network.end()


def killed(folder):
    """The controller, its stand-by, and a router."""
    network = Network(folder)
    try:
        reported, holds = led(network, "first")
        hold("led by ndnSieve it comes whole", holds, reported)
        counts = network.status("first")["counts"]
        hold("no order was rejected", counts["rejected"] == 0, counts)
        hold("the stand-by gives no orders", not network.status("second")["leads"])

        def without_first():
            time.sleep(1.5)
            network.kill("first")

        speed, whole = network.get(without_first)
        hold("a fetch goes on when the controller is killed", whole, f"{speed:.1f} Mbit/s")
        network.wait_for(lambda: network.status("second").get("leads"), "stand-by that leads")
        hold("the stand-by leads", True)
        reported, holds = led(network, "second")
        hold("and switches", holds, reported)
        network.start("first", "control", "run", network.controller("first", "second"))
        network.wait_for(lambda: network.reporting("first") == 4, "first controller again")
        hold("the first, begun again, stands by", not network.status("first")["leads"])

        def without_b():
            time.sleep(1.5)
            network.kill("b")

        speed, whole = network.get(without_b)
        hold("a fetch goes on when a router on one way is killed", whole, f"{speed:.1f} Mbit/s")
        network.wait_for(lambda: network.reporting("second") == 3, "report of the lost router")
        links = network.status("second")["links"]
        left_out = all(link["up"] != ("b" in (link["from"], link["to"])) for link in links)
        hold("its links are left out of decisions, and only these", left_out)
    finally:
        network.end()


def far(folder):
    """200 ms each way between controller and routers, of which 5 % of the packets are lost; then nothing comes through."""
    link = TunLink({"rate": None, "limit": None, "delay": 0.2, "jitter": 0.0, "loss": 0.05}, 1, False)
    network = None

    def set_link(state):
        subprocess.run([*link.within(1), "ip", "link", "set", "link0", state], check=True)

    try:
        network = Network(folder, controllers=("first",), link=link)
        reported, holds = led(network, "first")
        latency = network.status("first")["counts"]["last_latency"]
        hold("led over 200 ms with 5 % of losses it comes whole", holds, f"{reported}, {1000 * latency:.0f} ms for an order")
        hold("an order takes at least a round trip", latency >= 0.4)
        set_link("down")
        network.wait_for(lambda: network.reporting("first") == 0, "controller that knows of the split")
        links = network.status("first")["links"]
        hold("a controller that is split off leaves all links out", links and not any(link["up"] for link in links))
        speed, whole = network.get()
        hold("a fetch goes on with the last costs", whole, f"{speed:.1f} Mbit/s")
        set_link("up")
        network.wait_for(lambda: network.reporting("first") == 4, "routers that report again", 60)
        reported, holds = led(network, "first")
        hold("joined again it leads again", holds, reported)
    finally:
        if network:
            network.end()
        link.end()


def mixed(folder, at_r):
    """ndnd or NFD beside the consumer, a forwarder of ours without gNMI beside the producer."""
    network = Network(folder, controllers=("first",), managed="rp", at_r=at_r)
    try:
        reported, holds = led(network, "first")
        hold(f"led in a network with {at_r} it comes whole", holds, reported)
        status = network.status("first")
        measured = [link for link in status["links"] if link["from"] == "p"]
        known = [(link["utilization"] is not None, link["occupancy"] is not None) for link in measured]
        hold("byte counters give utilisation, and nothing gives occupancy", known == [(True, False)] * 2, measured)
        hold("no order was rejected", status["counts"]["rejected"] == 0, status["counts"])

        def ordered():
            decisions = [decision for decision in network.status("first")["decisions"] if decision["router"] == "r"]
            return {f"faceid={face} (cost={cost})" for face, _, cost in decisions[0]["costs"]}

        def listed():
            """What its own tool shows."""
            environment = os.environ | {"NDN_CLIENT_TRANSPORT": f"unix://{network.folder}/r.sock"}
            environment["HOME"] = str(network.folder)
            tool = [ndnd, "fw", "fib-list"] if at_r == "ndnd" else [nfd / "nfdc", "fib", "list"]
            output = subprocess.run(tool, capture_output=True, text=True, env=environment).stdout
            return set(re.findall(r"faceid=\d+ \(cost=\d+\)", output))

        settled = set()

        def settle():
            """Whether the costs that were ordered last are listed, and no order followed for a second."""
            settled.clear()
            settled.update(ordered())
            time.sleep(1)
            return settled == ordered() and settled <= listed()

        # Reports of the fetch's last moments may bring more orders, and one that is on its way when the controller is
        # killed may or may not arrive.
        network.wait_for(settle, f"list of {at_r} with the costs that were ordered last")
        network.kill("first")
        hold(f"{at_r} keeps the costs that were ordered last", settled <= listed(), sorted(settled))
        speed, whole = network.get()
        hold("a fetch goes on without the controller", whole, f"{speed:.1f} Mbit/s")
        if at_r == "NFD":
            restarted(network)
    finally:
        network.end()


def restarted(network):
    """NFD is killed during a fetch and begins again, with routes that are added anew."""
    network.start("first", "control", "run", network.controller("first", None))
    network.wait_for(lambda: network.reporting("first") == 4, "routers that report to the controller begun again")

    def without_nfd():
        time.sleep(1.5)
        network.kill("r")
        network.wait_for(lambda: network.reporting("first") == 3, "report of the lost router")
        links = network.status("first")["links"]
        left_out = all(link["up"] != ("r" in (link["from"], link["to"])) for link in links)
        hold("the links of an NFD that was killed are left out, and only these", left_out)
        network.forwarder("r")
        network.routes()
        network.wait_for(lambda: network.reporting("first") == 4, "report of the NFD begun again")

    speed, whole = network.get(without_nfd)
    hold("a fetch goes on when NFD is killed and begins again", whole, f"{speed:.1f} Mbit/s")
    # An order that was on its way to the one that was killed counts as rejected.
    before = network.status("first")["counts"]["rejected"]
    reported, holds = led(network, "first")
    hold("NFD, begun again, is led as before", holds, reported)
    counts = network.status("first")["counts"]
    hold("no order was rejected since then", counts["rejected"] == before, counts)


def main():
    with tempfile.TemporaryDirectory() as folder:
        parts = [(mixed, "NFD")] if nfd else [(unplanned,), (killed,), (far,), *([(mixed, "ndnd")] if ndnd else [])]
        for part, *more in parts:
            part(Path(folder) / part.__name__, *more)
    if problems and args.check:
        sys.exit(f"{len(problems)} of what should hold did not")


if __name__ == "__main__":
    main()
