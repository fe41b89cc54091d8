"""The processes of attacks: a victim, attackers and their sockets, and what a running program takes."""

import itertools
import multiprocessing
import os
import re
import socket
import time
from contextlib import contextmanager

from attacks._packets import name, tlv
from ndn_programs import fetched, random_file

NOBODY = 65534


def unix(path):
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.connect(str(path))
    return stream


def tcp(port, source="127.0.0.1", receive=None):
    stream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if receive:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    stream.bind((source, 0))
    stream.connect(("127.0.0.1", port))
    return stream


class Attacker:
    """A function in its own process, as the user nobody where possible; `said` is what it returns."""

    def __init__(self, function, *args):
        self.here, there = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=self.run, args=(there, function, args), daemon=True)
        self.process.start()

    @staticmethod
    def run(there, function, args):
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        there.send(function(*args))
        # Sockets stay open until it is told to end.
        there.recv()

    def wait(self, seconds):
        """What the function returned, None if it has not by then."""
        return self.here.recv() if self.here.poll(seconds) else None

    def end(self):
        self.process.kill()
        self.process.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def cpu(program):
    """Seconds of CPU time of a running program."""
    with open(f"/proc/{program.process.pid}/stat") as stat:
        words = stat.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def paced(per_second, ended):
    """The numbers from 0 on, each when its time has come, until the event `ended`."""
    start = time.monotonic()
    for number in itertools.count():
        if ended.wait(max(start + number / per_second - time.monotonic(), 0)):
            return
        yield number


def send(attacker, port, packets, pause=256):
    """Sends to a forwarder, with a pause now and then so that its socket does not overflow."""
    for number, packet in enumerate(packets):
        attacker.sendto(packet, ("127.0.0.1", port))
        if number % pause == pause - 1:
            time.sleep(0.005)
    time.sleep(0.3)


@contextmanager
def victim(attack, size, flags=()):
    """A forwarder with a producer of /attack/file, and a default route to a peer that never answers; how to fetch."""
    lab = attack.lab
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, size)
    forwarder = lab.forwarder("ndnweir", flags)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        lab.tool(forwarder, f"route add / udp4://127.0.0.1:{silent.getsockname()[1]}")
        lab.producer("ndnweir", forwarder, original, "/attack/file")

        def fetch(limit=60):
            return fetched(lab.consumer("ndnweir", forwarder, "/attack/file", copy), limit, original, copy).seconds

        yield forwarder, fetch
    lab.stop_all()


def emulated(lab, far, near, *options, number=""):
    """A link with these options, whose queue is a BDP, from a forwarder, which knows it, to the port `near`; the port of
    its near end."""
    words = [lab.ndnweir, "link", "--json", *options, "--queue", "1BDP"]
    link = lab.start(f"link{number}", [*words, "--a", f"127.0.0.1:{far.udp}", "--b", f"127.0.0.1:{near}"])

    def ports():
        return [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", link.text())]

    lab.until(link, lambda: len(ports()) >= 2)
    lab.tool(far, f"route add /none{number} udp4://127.0.0.1:{ports()[0]}")
    return ports()[1]


def join(lab, far, near, *options, number=""):
    """Joins two forwarders by such a link; by it `near` asks for /attack."""
    port = emulated(lab, far, near.udp, *options, number=number)
    lab.tool(near, f"route add /attack udp4://127.0.0.1:{port}")


def fresh(lab, forwarder, fetch):
    """A fetch that the content store does not answer."""
    lab.tool(forwarder, "cs erase /attack")
    return fetch()


def rss(program):
    """Bytes of memory of a running program, without the pages of its file: a program with debug information has more."""
    with open(f"/proc/{program.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))


def tcp_memory():
    """Bytes of all TCP buffers of this network namespace."""
    with open("/proc/net/sockstat") as stat:
        words = next(line.split() for line in stat if line.startswith("TCP:"))
    return int(words[words.index("mem") + 1]) * 4096


def fetch_seconds(lab, forwarder, of, original, limit=60, times=3):
    """The least of some fetches over the Unix socket."""
    copy = lab.folder / "copy"
    return min(fetched(lab.consumer("ndnweir", forwarder, of, copy), limit, original, copy).seconds for _ in range(times))


def metric(port, of):
    """A number of the metrics page."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as stream:
        stream.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        page = b"".join(iter(lambda: stream.recv(65536), b"")).decode()
    return next(float(line.split()[-1]) for line in page.splitlines() if line.startswith(f"ndnweir_{of} "))


def version_of(forwarder, *object_name):
    """The component of its version, of an object that is published: from its metadata or from a segment."""
    of = name(*object_name)
    with unix(forwarder.unix) as stream:
        stream.settimeout(5)
        stream.sendall(tlv(5, of + tlv(33) + tlv(10, b"\0\0\0\7")))
        data = stream.recv(65536)
    prefix, at = of[2:], -1
    while (at := data.index(prefix, at + 1)) >= 0:
        version = data[at + len(prefix) :]
        if version[0] == 54:
            return version[: 2 + version[1]]
