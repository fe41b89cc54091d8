"""A next hop of equal cost that answers now and then only, and one that draws Interests by its levels and drops most Data."""

import random
import select
import socket
import struct
import threading
import time

from attacks._packets import DATA, FRAGMENT, LP_PACKET, inside, read, tlv
from attacks._processes import emulated, fresh, join
from ndn_programs import Failed, fetched, random_file

TITLE = "a next hop that flaps leaves a fetch half of its rate, and one that lied about its level does no harm then"
KEEPS, RECOVERS, PERIOD = 1 / 2, 2 / 3, 1.8
LEVELS = (896, 920)  # secondary-rate, explicit-rate
LARGEST = struct.pack(">I", 2**32 - 2)


def carried(frame):
    """What a frame carries of a packet."""
    kind, value, _ = read(frame)
    return next((inner for of, inner, _ in inside(value) if of == FRAGMENT), b"") if kind == LP_PACKET else frame


def with_largest_levels(frame):
    """The same frame of a Data, which says that its way has room for terabits."""
    kind, value, _ = read(frame)
    if kind != LP_PACKET:
        return frame
    fields = {kind: [] for kind, _, _ in inside(value)} | {kind: [] for kind in LEVELS}
    for kind, _, whole in inside(value):
        fields[kind].append(whole)
    for kind in LEVELS:
        fields[kind] = [tlv(kind, LARGEST)]
    # Fields are in the order of their types, the fragment is last.
    order = sorted(fields, key=lambda kind: (kind == FRAGMENT, kind))
    return tlv(LP_PACKET, b"".join(b"".join(fields[kind]) for kind in order))


class Liar(threading.Thread):
    """Between a forwarder and the end of a link; `lie` says what it does."""

    def __init__(self, near):
        super().__init__(daemon=True)
        self.ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for end in self.ends:
            end.bind(("127.0.0.1", 0))
        self.near, self.far, self.lie, self.random = ("127.0.0.1", near), None, None, random.Random(1)
        # Frames that were passed on, and that were not.
        self.passed = self.kept = 0

    @property
    def ports(self):
        return [end.getsockname()[1] for end in self.ends]

    def run(self):
        to_near, to_far = self.ends
        while True:
            for end in select.select(self.ends, [], [])[0]:
                frame = end.recv(65536)
                upwards = end is to_near
                if self.lie == "flaps" and time.monotonic() % PERIOD < PERIOD / 2:
                    self.kept += 1
                    continue
                if self.lie == "draws" and not upwards and carried(frame)[:1] == bytes([DATA]):
                    if self.random.random() < 0.9:
                        self.kept += 1
                        continue
                    frame = with_largest_levels(frame)
                self.passed += 1
                (to_far if upwards else to_near).sendto(frame, self.far if upwards else self.near)


def run(attack):
    lab, size = attack.lab, (8 << 20) if attack.short else (24 << 20)
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, size)
    far, near = lab.forwarder("ndnweir"), lab.forwarder("ndnweir")
    shape = "--rate", "40Mbps", "--delay", "10ms"
    join(lab, far, near, *shape)
    lab.producer("ndnweir", far, original, "/attack/file")

    def fetch():
        return fetched(lab.consumer("ndnweir", near, "/attack/file", copy), 120, original, copy).seconds

    fetch()
    before = min(fresh(lab, near, fetch) for _ in range(2))
    liar = Liar(near.udp)
    to_near, to_far = liar.ports
    liar.far = ("127.0.0.1", emulated(lab, far, to_far, *shape, number=1))
    liar.start()
    lab.tool(near, f"route add /attack udp4://127.0.0.1:{to_near}")

    def beside(lie, times):
        liar.lie, liar.passed, liar.kept = lie, 0, 0
        seconds = [fresh(lab, near, fetch) for _ in range(times)]
        if not liar.passed or (lie and not liar.kept):
            raise Failed(f"nothing was asked of the next hop that lies ({lie or 'not yet'})")
        return seconds

    # In its first fetch a forwarder finds out.
    honest, drawing, again = min(beside(None, 3)[1:]), beside("draws", 1)[0], min(beside(None, 3)[1:])
    flapping = max(beside("flaps", 3)[1:])
    figures = f"{size >> 20} MiB in {before:.2f} s over one path, {honest:.2f} s over two, {drawing:.2f} s where one draws"
    figures += f" Interests and drops nine of ten Data, {again:.2f} s after that, {flapping:.2f} s where it flaps"
    if honest > before:
        raise Failed(f"{figures}: the second path carries nothing")
    if before / flapping < KEEPS or before / again < RECOVERS:
        raise Failed(figures)
    return figures
