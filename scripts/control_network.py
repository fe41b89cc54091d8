#!/usr/bin/env python3
"""Four forwarders in a square and two controllers over gNMI: ndnSieve leads a transfer over both ways, and it goes on when
the controller, its stand-by or a router is killed.

    python3 scripts/control_network.py target/release/ndnweir [--check]

r, beside the consumer, reaches p, beside the producer, over a or b; every link carries 20 Mbit/s. --check ends with an
error where something does not hold.
"""

import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ports import free_port

binary = Path(sys.argv[1]).resolve()
check = "--check" in sys.argv[2:]
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
    def __init__(self, folder, planned=True):
        self.folder, self.running = folder, {}
        self.udp = {name: free_port(socket.SOCK_DGRAM) for name in NEIGHBOURS}
        self.gnmi = {name: free_port(socket.SOCK_STREAM) for name in NEIGHBOURS}
        self.listen = {name: free_port(socket.SOCK_STREAM) for name in ("first", "second")}
        for name in NEIGHBOURS:
            self.start(name, "fwd", "--config", self.router(name))
        (folder / "in").write_bytes(bytes(i * i % 251 for i in range(BYTES // 1000)) * 1000)
        self.wait_for(lambda: all((folder / f"{name}.sock").exists() for name in NEIGHBOURS), "forwarders")
        transport = ("--transport", f"unix://{folder}/p.sock")
        self.start("put", "put", folder / "in", "/t/x", "--chunk", "1200", *transport)
        self.wait_for(lambda: "/t/x" in self.tool("p", "route", "list"), "the producer")
        if planned:
            self.start("first", "control", "run", self.controller("first", None))
            self.wait_for(lambda: self.status("first").get("leads"), "the first controller")
            self.start("second", "control", "run", self.controller("second", "first"))
            self.wait_for(lambda: self.reporting("first") == 4 and self.reporting("second") == 4, "the routers")

    def router(self, name):
        text = f'scheme = "ndnsieve"\ncache = 0\n[listen]\nunix = "{self.folder}/{name}.sock"\n'
        text += f'udp = ["127.0.0.1:{self.udp[name]}"]\n'
        text += f'[gnmi]\nlisten = "127.0.0.1:{self.gnmi[name]}"\ninsecure = true\n'
        for other in NEIGHBOURS[name]:
            uri = f"udp4://127.0.0.1:{self.udp[other]}"
            text += f'[[face]]\nuri = "{uri}"\nrate = "20Mbps"\nqueue = "500 packets"\n'
        for other, cost in ROUTES[name]:
            text += f'[[route]]\nprefix = "/t"\nto = "udp4://127.0.0.1:{self.udp[other]}"\ncost = {cost}\n'
        return self.file(f"{name}.toml", text)

    def controller(self, name, peer):
        text = f'scheme = "ndnsieve"\nlisten = "127.0.0.1:{self.listen[name]}"\n'
        if peer:
            text += f'peer = "127.0.0.1:{self.listen[peer]}"\n'
        for router, port in self.gnmi.items():
            text += f'[[router]]\nname = "{router}"\naddress = "127.0.0.1:{port}"\n'
        return self.file(f"{name}.toml", text)

    def file(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def start(self, name, *command):
        log = open(self.folder / f"{name}.log", "a")
        command = [str(part) for part in (binary, *command)]
        self.running[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def kill(self, name):
        self.running.pop(name).kill()

    def end(self):
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
        command = [str(binary), "control", "status", f"127.0.0.1:{self.listen[name]}", "--json"]
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


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "alone").mkdir()
        alone = Network(folder / "alone", planned=False)
        try:
            without, whole = alone.get()
            hold("without a controller the object comes whole", whole, f"{without:.1f} Mbit/s")
        finally:
            alone.end()
        (folder / "led").mkdir()
        network = Network(folder / "led")
        try:
            led, whole = network.get()
            counts = network.status("first")["counts"]
            hold("led by ndnSieve it comes whole", whole, f"{led:.1f} Mbit/s, {counts['switches']} switches")
            hold("signals led to switches and no order was rejected", counts["switches"] > 0 and counts["rejected"] == 0, counts)
            hold("the stand-by gives no orders", not network.status("second")["leads"])

            def without_first():
                time.sleep(1.5)
                network.kill("first")

            speed, whole = network.get(without_first)
            hold("a fetch goes on when the controller is killed", whole, f"{speed:.1f} Mbit/s")
            network.wait_for(lambda: network.status("second").get("leads"), "stand-by that leads")
            hold("the stand-by leads", True)
            before = network.status("second")["counts"]["switches"]
            speed, whole = network.get()
            switches = network.status("second")["counts"]["switches"] - before
            hold("and switches", whole and switches > 0, f"{speed:.1f} Mbit/s, {switches} switches")
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
    if problems and check:
        sys.exit(f"{len(problems)} of what should hold did not")


if __name__ == "__main__":
    main()
