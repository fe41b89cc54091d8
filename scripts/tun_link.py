"""A link between two network namespaces that is not `ndnweir link`: TUN devices, and a relay of its own between them.

The relay is written without any part of the project, so that what is measured over it does not depend on how the
project's emulator tells the time: a datagram counts from when it was read, a relay that wakes late delivers late.

* `tun`: rate, drop-tail queue, delay, jitter and losses are all the relay's.
* `tbf`: rate and drop-tail queue are the kernel's (`tc qdisc … tbf` on the TUN devices); delay, jitter and losses are
  the relay's.

Needs root. The namespaces have no names and end with the processes in them; those end with the caller, however it ends.
"""
import ctypes
import fcntl
import multiprocessing
import os
import random
import re
import select
import signal
import struct
import subprocess
import threading
import time
from collections import deque

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG, PR_SET_TIMERSLACK = 1, 29
ADDRESSES = ("10.213.0.1", "10.213.0.2")
# A bucket of tbf: two packets, as every packet is below it and larger buckets let bursts through at line rate.
BURST = 3028
LIBC = ctypes.CDLL(None, use_errno=True)


def call(done):
    if done != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Way:
    """One direction. Sizes are those of IP packets."""

    def __init__(self, case, rng):
        self.rate, self.limit = case["rate"], case["limit"]
        self.delay, self.jitter, self.loss, self.rng = case["delay"], case["jitter"], case["loss"], rng
        # (start of transmission, bytes) of what waits, (arrival, packet) of what is in flight.
        self.waiting, self.in_flight = deque(), deque()
        self.waiting_bytes, self.free, self.last = 0, 0.0, 0.0
        self.bits = self.packets = self.dropped = self.lost = 0
        self.waited = 0.0

    def offer(self, now, packet):
        size, start = len(packet), now
        if self.rate:
            while self.waiting and self.waiting[0][0] <= now:
                self.waiting_bytes -= self.waiting.popleft()[1]
            start = max(now, self.free)
            used, most = self.limit
            full = self.waiting_bytes + size > most if used == "bytes" else len(self.waiting) >= most
            if start > now and full:
                self.dropped += 1
                return
            self.free = start + size * 8 / self.rate
            if start > now:
                self.waiting.append((start, size))
                self.waiting_bytes += size
            self.waited += start - now
            start = self.free
        self.bits += size * 8
        self.packets += 1
        if self.loss and self.rng.random() < self.loss:
            self.lost += 1
            return
        lag = self.rng.random() * self.jitter if self.jitter else 0.0
        # The order is kept.
        self.last = max(self.last, start + self.delay + lag)
        self.in_flight.append((self.last, packet))

    def totals(self):
        queue = 1000 * self.waited / max(1, self.packets)
        return {"bits": self.bits, "dropped": self.dropped, "lost": self.lost, "mean_queue_ms": queue}


def end_of_link(address, case, shaped):
    """In a namespace of its own from here on: a TUN device of it and its number, and the namespace."""
    call(LIBC.unshare(CLONE_NEWNET))
    namespace = os.open("/proc/self/ns/net", os.O_RDONLY)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"link0", IFF_TUN | IFF_NO_PI))
    commands = [f"ip addr add {address}/24 dev link0", "ip link set lo up"]
    # The emulated queue is the bottleneck's; the interface's own must not add to it or drop.
    commands += ["ip link set link0 mtu 1500 txqueuelen 10000 up"]
    if shaped:
        kind, most = case["limit"]
        size = most if kind == "bytes" else most * 1500
        commands += [f"tc qdisc add dev link0 root tbf rate {case['rate']:.0f}bit burst {BURST} limit {size:.0f}"]
    for command in commands:
        subprocess.run(command.split(), check=True)
    return tun, namespace


def relay(case, seed, shaped, pipe):
    """Moves packets until it is told to stop, then tells what the directions did."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    LIBC.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ends = [end_of_link(address, case, shaped) for address in ADDRESSES]
    pipe.send([f"/proc/{os.getpid()}/fd/{namespace}" for _, namespace in ends])
    tuns = [tun for tun, _ in ends]
    free = case | {"rate": None} if shaped else case
    ways = [Way(free, random.Random(f"{seed} {side}")) for side in (0, 1)]
    clock = time.monotonic
    while True:
        next_at = min((way.in_flight[0][0] for way in ways if way.in_flight), default=None)
        wait = None if next_at is None else max(0.0, next_at - clock())
        ready = select.select([*tuns, pipe], [], [], wait)[0]
        if pipe in ready:
            pipe.send([way.totals() for way in ways])
            return
        for side in (0, 1):
            if tuns[side] in ready:
                for _ in range(64):
                    try:
                        packet = os.read(tuns[side], 2048)
                    except BlockingIOError:
                        break
                    # IPv4; what IPv6 says of itself on a new device is no one's traffic here.
                    if packet[0] >> 4 == 4:
                        ways[side].offer(clock(), packet)
            in_flight, other, now = ways[side].in_flight, tuns[1 - side], clock()
            while in_flight and in_flight[0][0] <= now:
                packet = in_flight.popleft()[1]
                try:
                    os.write(other, packet)
                except OSError:
                    ways[side].lost += 1


class TunLink:
    """The link of a case: `rate` and `limit` of its queue, `delay` and `jitter` in seconds, `loss`."""

    def __init__(self, case, seed, shaped):
        self.rate, self.shaped = case["rate"], shaped
        self.pipe, far = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=relay, args=(case, seed, shaped, far), daemon=True)
        self.process.start()
        far.close()
        try:
            self.namespaces = self.pipe.recv()
        except EOFError:
            raise SystemExit("the TUN link did not start: it needs root, /dev/net/tun, ip and tc") from None
        self.stopped = threading.Event()
        self.backlogs = []
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        if shaped:
            self.watcher.start()

    def within(self, side):
        """What to put before a command so that it runs at an end of the link and does not outlive the caller."""
        return ["setpriv", "--pdeathsig", "TERM", "nsenter", f"--net={self.namespaces[side]}"]

    def tc(self):
        command = ["nsenter", f"--net={self.namespaces[0]}", "tc", "-s", "qdisc", "show", "dev", "link0"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def watch(self):
        """Reads how much waits in the kernel's queue, ten times a second."""
        while not self.stopped.wait(0.1):
            found = re.search(r"backlog (\d+)([KM]?)b", self.tc())
            self.backlogs.append(int(found[1]) * {"": 1, "K": 1024, "M": 1 << 20}[found[2]])

    def totals(self):
        """Ends the link; what its first direction did."""
        kernel = self.tc() if self.shaped else ""
        self.stopped.set()
        if self.shaped:
            self.watcher.join()
        self.pipe.send("stop")
        forth = self.pipe.recv()[0]
        if self.shaped:
            # Samples of an idle link, before and after the transfer, are not a queue of it.
            busy = [backlog for backlog in self.backlogs if backlog] or [0]
            forth["mean_queue_ms"] = 8000 * sum(busy) / len(busy) / self.rate
            forth["dropped"] = int(re.search(r"dropped (\d+)", kernel)[1])
        return forth

    def end(self):
        self.stopped.set()
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
