"""Hundreds of addresses that may be forged request all that may be sent to such addresses."""

import socket
import threading
import time

from attacks._packets import NAME, SEGMENT, interest, nni, tlv
from attacks._processes import paced, version_of
from ndn_programs import Failed, fetched, random_file

TITLE = "500 addresses with 4,000 Interests a second leave a new consumer over UDP its way to be proved"
ADDRESSES, PER_SECOND, SIZE, WITHIN = 500, 4000, 8 << 20, 30


def run(attack):
    lab = attack.lab
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, SIZE)
    forwarder = lab.forwarder("ndnweir")
    lab.producer("ndnweir", forwarder, original, "/attack/file")
    version = version_of(forwarder, "attack", "file")
    attackers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(ADDRESSES)]
    for number, attacker in enumerate(attackers):
        attacker.bind((f"127.0.{1 + number // 250}.{1 + number % 250}", 0))

    def fetch():
        program = lab.consumer("ndnweir", forwarder, "/attack/file", copy, transport="udp")
        return fetched(program, 120, original, copy).seconds

    ended = threading.Event()

    def flood():
        for number in paced(PER_SECOND, ended):
            of = tlv(NAME, tlv(8, b"attack") + tlv(8, b"file") + version + tlv(SEGMENT, nni(number // ADDRESSES % 1000)))
            attackers[number % ADDRESSES].sendto(interest(of, number, 4000), ("127.0.0.1", forwarder.udp))

    flooding = threading.Thread(target=flood, daemon=True)
    try:
        before = fetch()
        flooding.start()
        time.sleep(3)
        during = fetch()
    finally:
        ended.set()
        for attacker in attackers:
            attacker.close()
    figures = f"{SIZE >> 20} MiB over UDP in {before:.2f} s before, {during:.2f} s meanwhile"
    if during > WITHIN:
        raise Failed(figures)
    return figures
