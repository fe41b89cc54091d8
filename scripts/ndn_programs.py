"""Forwarders, producers and consumers of several NDN implementations as processes of one test.

Everything runs in a folder of its own, on sockets and ports of its own, and is gone when the test ends.
"""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ports import free_port

ROOT = Path(__file__).resolve().parent.parent
ANNOUNCER = "NDNts, announcing"  # registers by prefix announcement, which ndnd's forwarder does not take
REPO = "ndn-python-repo"  # its Data are never fresh
PATIENCE = 30.0  # seconds for a server to be ready


class Failed(Exception):
    """A program failed; names the log to read."""


@dataclass
class Done:
    """A program that has ended: exit status, seconds on the clock, seconds of CPU time."""

    status: int
    seconds: float
    cpu: float


class Program:
    """A running process whose output goes to files."""

    def __init__(self, name, words, folder, env=None, stdin=None):
        self.name, self.log, self.output = name, folder / f"{name}.log", folder / f"{name}.out"
        self.start, self.done = time.monotonic(), None
        with open(self.log, "wb") as log, open(self.output, "wb") as output, open(stdin or os.devnull, "rb") as source:
            self.process = subprocess.Popen(
                [str(word) for word in words], cwd=folder, env=os.environ | (env or {}), stdin=source, stdout=output, stderr=log
            )

    def poll(self):
        """What became of it, or None while it runs."""
        if self.done is None:
            pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                cpu = used.ru_utime + used.ru_stime
                self.done = Done(self.process.returncode, time.monotonic() - self.start, cpu)
        return self.done

    def wait(self, seconds):
        """Its end; None when it has not ended by then."""
        end = self.start + seconds
        while self.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        return self.done

    def stop(self):
        """Ends it: SIGTERM first, then SIGKILL."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            end = time.monotonic() + 5
            if self.poll() is None:
                self.process.send_signal(how)
            while self.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
        return self.done

    def text(self):
        return self.log.read_text(errors="replace")

    def last_words(self):
        lines = [line.strip() for line in self.text().splitlines() if line.strip()]
        return lines[-1][:160] if lines else "no word"


@dataclass
class Forwarder:
    """A forwarder that is ready. `udp` and `tcp` are ports on 127.0.0.1."""

    kind: str
    program: Program
    unix: Path
    udp: int
    tcp: int

    def uri(self, transport):
        return f"unix://{self.unix}" if transport == "unix" else f"{transport}4://127.0.0.1:{getattr(self, transport)}"


class Lab:
    """The programs and their folder. Use it in a `with` statement."""

    def __init__(self, ndnweir, peers=None, nfd=None, needed=None):
        """Of the other implementations, those named in `needed` must be there; all of them where it is None."""
        self.ndnweir = Path(ndnweir).resolve()
        if not self.ndnweir.is_file():
            raise Failed(f"{self.ndnweir} is missing; cargo build --release makes it")
        self.peers = (peers_place(peers) if needed == () else peers_folder(peers, *(needed or ()))).resolve()
        # Programs of NFD and ndn-tools, which no registry has, if there are any.
        self.nfd = nfd and Path(nfd).resolve()
        self.running, self.made = [], 0

    def __enter__(self):
        signal.signal(signal.SIGTERM, ended)
        self.temporary = tempfile.TemporaryDirectory(prefix="ndnweir-")
        self.folder = Path(self.temporary.name)
        return self

    def __exit__(self, *_):
        self.stop_all()
        self.temporary.cleanup()

    def stop_all(self):
        """Ends what runs, what was started last first."""
        while self.running:
            self.running[-1].stop()
            self.running.pop()

    def start(self, name, words, **options):
        self.made += 1
        program = Program(f"{self.made}-{name}", words, self.folder, **options)
        self.running.append(program)
        return program

    def tool(self, forwarder, words):
        """The output of one of our tools about a forwarder, as JSON."""
        env = os.environ | {"NDN_CLIENT_TRANSPORT": forwarder.uri("unix")}
        done = subprocess.run([self.ndnweir, *words.split(), "--json"], env=env, capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"ndnweir {words}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def forwarder(self, kind, flags=(), region=None):
        """Starts ours (`ndnweir`), which takes flags, ndnd's (`ndnd`), or NFD (`NFD`); each may be in a region."""
        unix, udp, tcp = self.folder / f"{self.made}.sock", free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_STREAM)
        if kind == "ndnweir":
            words = [self.ndnweir, "fwd", "--unix", unix, "--udp", f"127.0.0.1:{udp}", "--tcp", f"127.0.0.1:{tcp}", *flags]
            words += ["--region", region] if region else []
        elif kind == "NFD":
            config = self.folder / f"{self.made}.conf"
            config.write_text(nfd_configuration(unix, udp, tcp, region))
            words = [self.nfd / "nfd", "--config", config]
        else:
            config = self.folder / f"{self.made}.yml"
            config.write_text(
                f"faces:\n  udp: {{ enabled_unicast: true, enabled_multicast: false, port_unicast: {udp} }}\n"
                f"  tcp: {{ enabled: true, port_unicast: {tcp} }}\n  websocket: {{ enabled: false }}\n"
                f"  unix: {{ enabled: true, socket_path: {unix} }}\n"
                f"tables: {{ network_region: {{ regions: [{region or ''}] }} }}\n"
            )
            words = [self.peers / "ndnd", "fw", "run", config]
        program = self.start(f"{kind}-fwd", words)
        forwarder = Forwarder(kind, program, unix, udp, tcp)
        self.until(program, lambda: answers(unix))
        return forwarder

    def until(self, program, ready):
        end = time.monotonic() + PATIENCE
        while not ready():
            if program.poll() or time.monotonic() > end:
                raise Failed(f"{program.name} did not get ready: {program.last_words()}")
            time.sleep(0.02)

    def route(self, at, prefix, to, transport):
        self.tool(at, f"route add {prefix} {to.uri(transport)}")

    def producer(self, kind, forwarder, file, name):
        """Starts a producer and waits until its prefix is registered."""
        unix, env = forwarder.unix, {"NDN_CLIENT_TRANSPORT": forwarder.uri("unix"), "HOME": str(self.folder)}
        words, stdin = {
            "ndnweir": ([self.ndnweir, "put", file, name], None),
            "ndnd": ([self.peers / "ndnd", "put", "--expose", name], file),
            "NDNts": (["node", self.peers / "ndnts/put.js", file, name, unix], None),
            "python-ndn": ([self.peers / "python/bin/python", ROOT / "tests/interop/python-ndn/put.py", file, name], None),
            REPO: ([self.peers / "python/bin/python", ROOT / "tests/interop/python-ndn/repo.py", file, name], None),
            "ndn-tools": ([f"{self.nfd}/ndnputchunks", "--quiet", name], file),
            ANNOUNCER: (["node", self.peers / "ndnts/put.js", file, name, unix, 60_000], None),
        }[kind]
        program = self.start(f"{kind}-put", words, env=env, stdin=stdin)
        self.until(program, lambda: any(route["prefix"] == name for route in self.tool(forwarder, "route list")))
        return program

    def consumer(self, kind, forwarder, name, file, transport="unix", hint=None):
        """Starts a consumer whose copy goes to `file`, which is made by it or is its standard output; ours and NDNts' may
        send a ForwardingHint."""
        env = {"NDN_CLIENT_TRANSPORT": forwarder.uri(transport), "HOME": str(self.folder)}
        words = {
            "ndnweir": [self.ndnweir, "get", name, "-o", file, "--json", *(["--hint", hint] if hint else [])],
            "ndnd": [self.peers / "ndnd", "cat", name],
            "NDNts": ["node", self.peers / "ndnts/get.js", name, file, forwarder.unix, *([hint] if hint else [])],
            "python-ndn": [self.peers / "python/bin/python", ROOT / "tests/interop/python-ndn/get.py", name, file],
            "ndn-tools": [f"{self.nfd}/ndncatchunks", "--quiet", name],
        }[kind]
        file.unlink(missing_ok=True)
        program = self.start(f"{kind}-get", words, env=env)
        if kind in ("ndnd", "ndn-tools"):
            file.hardlink_to(program.output)
        return program

    def python_key(self):
        """python-ndn needs a key store with a default key, here in the test's own home."""
        for words in (["init"], ["New-Item", "/interop"]):
            done = subprocess.run(
                [self.peers / "python/bin/pyndnsec", *words], env=os.environ | {"HOME": str(self.folder)}, capture_output=True, text=True
            )
            if done.returncode:
                raise Failed(f"pyndnsec {words[0]}: {done.stderr.strip()}")


def ended(*_):
    raise SystemExit("ended by a signal")


def nfd_configuration(unix, udp, tcp, region=None, cache=65536, certificate="any"):
    """Configuration of an NFD for tests: every application may give commands, or who has the key of a certificate's file;
    nothing is sent to groups."""
    return f"""
tables {{ cs_max_packets {cache} network_region {{ {region or ""} }} strategy_choice {{
  / /localhost/nfd/strategy/best-route
  /localhost /localhost/nfd/strategy/multicast
  /localhost/nfd /localhost/nfd/strategy/best-route
}} }}
face_system {{
  unix {{ path {unix} }}
  tcp {{ port {tcp} enable_v6 no }}
  udp {{ port {udp} enable_v6 no mcast no }}
}}
authorizations {{ authorize {{ certfile {certificate} privileges {{
 faces
 fib
 cs
 strategy-choice
}} }} }}
rib {{ localhost_security {{ trust-anchor {{ type any }} }} }}
"""


def answers(unix):
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(unix)) == 0


def same(one, other):
    """Whether two files have the same bytes."""
    with open(one, "rb") as a, open(other, "rb") as b:
        while (left := a.read(1 << 20)) == (right := b.read(1 << 20)):
            if not left:
                return True
        return False


def fetched(program, seconds, original, copy):
    """Checks the end of a consumer: in time, without error, every byte the same."""
    done = program.wait(seconds)
    if done is None:
        raise Failed(f"not done in {seconds:.0f} s: {program.last_words()}")
    if done.status:
        raise Failed(f"exit status {done.status}: {program.last_words()}")
    if not same(original, copy):
        raise Failed("the copy differs")
    return done


def peers_place(given):
    """Where the other implementations are or will be."""
    return Path(given or ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "peers")


def peers_folder(given, *wanted):
    """Where the peers are, after scripts/peers has seen to it that they are there; all of them unless some are named."""
    folder = peers_place(given)
    if subprocess.run([ROOT / "scripts/peers", folder.resolve(), *wanted]).returncode:
        raise Failed("the other implementations cannot be had")
    return folder


def random_file(path, size):
    """Bytes that no compression or aligned loss leaves unchanged."""
    with open(path, "wb") as file:
        while size > 0:
            size -= file.write(os.urandom(min(size, 1 << 20)))


def table(rows, head, right=()):
    """Lines of columns as wide as their widest entry; columns named in `right` are set to the right."""
    rows = [head, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["  ".join(c.rjust(w) if h in right else c.ljust(w) for c, w, h in zip(row, widths, head)).rstrip() for row in rows]
    lines.insert(1, "─" * max(map(len, lines)))
    return "\n".join(lines)
