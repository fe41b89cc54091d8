"""NACKs from peers without an out-record, or with nonces that were not sent."""

import os
import socket
import threading
import time

from attacks._packets import INTEREST, LP_PACKET, interest, nack, name, network_packet, tlv
from attacks._processes import metric, unix, version_of
from ndn_programs import Failed, fetched, random_file
from ports import free_port

TITLE = "NACKs from faces without an out-record, and with other nonces than were sent, stop no fetch"
REASONS = 50, 100, 150
UNMATCHED = 'dropped_total{reason="unmatched-nack"}'


def run(attack):
    lab, size = attack.lab, (32 << 20) if attack.short else (100 << 20)
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, size)
    page = free_port(socket.SOCK_STREAM)
    forwarder = lab.forwarder("ndnweir", ["--metrics", f"127.0.0.1:{page}"])
    lab.producer("ndnweir", forwarder, original, "/attack/file")

    def fetch():
        lab.tool(forwarder, "cs erase /attack")
        return fetched(lab.consumer("ndnweir", forwarder, "/attack/file", copy), 60, original, copy).seconds

    # What a fetch requests is no secret.
    version = version_of(forwarder, "attack", "file")
    stop, sent = threading.Event(), [0]

    def forge():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
            attacker.connect(("127.0.0.1", forwarder.udp))
            while not stop.wait(0.002):
                for number in range(20):
                    segment = int.from_bytes(os.urandom(2), "big") % (size // 8000 + 1)
                    of = name("attack", "file", version, segment) if number % 4 else name("nobody", str(sent[0]))
                    rejected = interest(of, int.from_bytes(os.urandom(4), "big"))
                    try:
                        attacker.send(nack(rejected, REASONS[number % 3]))
                        sent[0] += 1
                    except OSError:
                        pass

    alone = min(fetch() for _ in range(2))
    forging = threading.Thread(target=forge, daemon=True)
    forging.start()
    try:
        beside = min(fetch() for _ in range(3))
        told = asked_and_rejected(lab, forwarder)
    finally:
        stop.set()
        forging.join()
    # The page is made once a second.
    time.sleep(1.5)
    counted = metric(page, UNMATCHED)
    figures = f"{sent[0]} forged NACKs, {counted:.0f} unmatched; {size >> 20} MiB in {alone:.2f} s alone and {beside:.2f} s beside; {told}"
    if counted < sent[0] / 2 or beside > 3 * alone + 0.3:
        raise Failed(figures)
    return figures


def asked_and_rejected(lab, forwarder):
    """A neighbour with an out-record: its NACK with another nonce is ignored, its true one goes downstream."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as neighbour, unix(forwarder.unix) as application:
        neighbour.bind(("127.0.0.1", 0))
        neighbour.settimeout(5)
        lab.tool(forwarder, f"route add /there udp4://127.0.0.1:{neighbour.getsockname()[1]}")
        application.sendall(interest(name("there"), 77))
        frame, source = neighbour.recvfrom(65536)
        kind, value = network_packet(frame)
        if kind != INTEREST:
            raise Failed("no Interest came to the neighbour")
        asked = tlv(INTEREST, value)
        forged = interest(name("there"), 78)
        for _ in range(100):
            neighbour.sendto(nack(forged, 150), source)
        application.settimeout(0.3)
        try:
            raise Failed(f"a NACK with a wrong nonce came through: {application.recv(65536)[:40]}")
        except TimeoutError:
            pass
        neighbour.sendto(nack(asked, 150), source)
        application.settimeout(5)
        if application.recv(65536)[0] != LP_PACKET:
            raise Failed("the true NACK did not come through")
    return "a neighbour's own came through with the right nonce only"
