"""Interests whose sender takes the answers but never shows that it gets them, as a victim of forged addresses."""

import socket
import time

from attacks._packets import interest, name
from attacks._processes import fetch_seconds, version_of
from ndn_programs import Failed, fetched, random_file

TITLE = "a UDP peer that may be forged draws little, and a real one is served"
BURST, RATE = 128 << 10, 125_000
# What headers of fragments and one more packet come to.
SLACK = 1.1


def run(attack):
    lab, seconds = attack.lab, 4 if attack.short else 20
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, 16 << 20)
    forwarder = lab.forwarder("ndnweir")
    lab.producer("ndnweir", forwarder, original, "/attack/file")
    fetch_seconds(lab, forwarder, "/attack/file", original, times=1)
    version = version_of(forwarder, "attack", "file")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as victim:
        victim.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        victim.setblocking(False)
        victim.connect(("127.0.0.1", forwarder.udp))
        sent = got = number = 0
        start, first = time.monotonic(), None
        while (passed := time.monotonic() - start) < seconds:
            for _ in range(5):
                packet = interest(name("attack", "file", version, number % 1900), number)
                sent, number = sent + victim.send(packet), number + 1
            time.sleep(0.005)
            try:
                while True:
                    got += len(victim.recv(65536))
            except BlockingIOError:
                pass
            if first is None and sent >= 1900:
                first = (sent, got)
    most = (BURST + RATE * passed) * SLACK + 3 * sent
    figures = f"{first[0]} B drew {first[1] >> 10} kB, {sent >> 10} kB drew {got >> 10} kB in {passed:.0f} s"
    if got > most:
        raise Failed(f"{figures}, at most {int(most) >> 10} kB should")
    if got < BURST / 2:
        raise Failed(f"{figures}: nobody would be served")
    plain = fetched(lab.consumer("ndnweir", forwarder, "/attack/file", copy, "udp"), 30, original, copy)
    return f"{figures}; then 16 MiB over UDP in {plain.seconds:.2f} s"
