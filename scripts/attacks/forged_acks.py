"""Acks of link reliability for frames that were never sent, from attackers and over a link that retransmits losses."""

import os
import socket
import struct
import threading

from attacks._packets import LP_PACKET, tlv
from attacks._processes import join
from ndn_programs import Failed, fetched, random_file

TITLE = "forged acks of link reliability do not pass for the neighbour's, and losses are still link-retransmitted"
ACK = 0x0344


def acks(numbers):
    return tlv(LP_PACKET, b"".join(tlv(ACK, struct.pack(">Q", number)) for number in numbers))


def run(attack):
    lab, size = attack.lab, (2 << 20) if attack.short else (20 << 20)
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, size)
    far, near = lab.forwarder("ndnweir"), lab.forwarder("ndnweir")
    join(lab, far, near, "--rate", "100Mbps", "--delay", "5ms", "--loss", "0.01")
    lab.producer("ndnweir", far, original, "/attack/file")
    stop, sent = threading.Event(), [0]

    def forge():
        # Each attacker acknowledges small numbers, and numbers at random: of what the neighbour was sent, and of
        # its own face.
        attackers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(8)]
        while not stop.wait(0.001):
            for attacker in attackers:
                guesses = [sent[0], sent[0] + 1, *struct.unpack(">20Q", os.urandom(160))]
                for forwarder in (far, near):
                    attacker.sendto(acks(guesses), ("127.0.0.1", forwarder.udp))
                sent[0] += len(guesses)
        for attacker in attackers:
            attacker.close()

    def fetch():
        lab.tool(near, "cs erase /attack")
        return fetched(lab.consumer("ndnweir", near, "/attack/file", copy), 60, original, copy).seconds

    alone = min(fetch() for _ in range(2))
    forging = threading.Thread(target=forge, daemon=True)
    forging.start()
    try:
        beside = min(fetch() for _ in range(2))
    finally:
        stop.set()
        forging.join()
    figures = f"{sent[0]} forged acks; {size >> 20} MiB over 1 % of loss in {alone:.2f} s alone and {beside:.2f} s beside"
    if beside > 3 * alone + 0.3:
        raise Failed(figures)
    return figures
