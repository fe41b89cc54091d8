"""An application without rights answers what the owner asks the forwarder."""

import socket
import threading
import time

from attacks import _packets as wire
from ndn_programs import Failed

TITLE = "an application cannot answer in the place of the forwarder's management"
TRUE, FORGED = b"internal://", b"forged-by-x"


def true_list(forwarder):
    """The content of the dataset of faces, as everybody may ask for it."""
    interest = wire.tlv(
        wire.INTEREST,
        wire.name("localhost", "nfd", "faces", "list") + wire.tlv(0x21, b"") + wire.tlv(0x12, b"") + wire.tlv(0x0A, b"abcd"),
    )
    with socket.socket(socket.AF_UNIX) as application:
        application.connect(str(forwarder.unix))
        application.sendall(interest)
        application.settimeout(5)
        for packet in wire.packets(application):
            kind, value = wire.network_packet(packet) or (None, b"")
            if kind == wire.DATA:
                return next(inner for kind, inner, _ in wire.inside(value) if kind == wire.CONTENT)
    raise Failed("the forwarder lists no faces")


def run(attack):
    lab, asked = attack.lab, 20 if attack.short else 300
    forwarder = lab.forwarder("ndnweir")
    content = true_list(forwarder).replace(TRUE, FORGED)
    stop, sent = threading.Event(), [0]

    def forge():
        with socket.socket(socket.AF_UNIX) as application:
            application.connect(str(forwarder.unix))
            while not stop.wait(0.0002):
                version = time.time_ns() // 1000 + 10_000_000
                name = wire.name("localhost", "nfd", "faces", "list", (wire.VERSION, version), (wire.SEGMENT, 0))
                application.sendall(wire.data(name, content, final=0))
                sent[0] += 1

    forging = threading.Thread(target=forge, daemon=True)
    forging.start()
    try:
        for number in range(asked):
            faces = lab.tool(forwarder, "face list")
            if FORGED.decode() in str(faces):
                raise Failed(f"list {number + 1} was made by another application, after {sent[0]} forged ones")
    finally:
        stop.set()
        forging.join()
    if sent[0] < asked:
        raise Failed(f"only {sent[0]} lists were forged: the attack did not take place")
    return f"{asked} lists requested, {sent[0]} forged ones sent: none came through"
