"""Interests that nobody answers, where a forwarder shares traffic between two links."""

import socket
import struct
import threading

from attacks._packets import LASTING, interest, name, tlv
from attacks._processes import fresh, join, paced
from ndn_programs import Failed, fetched, random_file

TITLE = "300 long Interests a second that nobody answers leave a fetch over two links two thirds of its rate"
LINKS = (("60Mbps", "5ms"), ("20Mbps", "30ms"))
PER_SECOND, KEEPS = 300, 0.66


def run(attack):
    lab, size = attack.lab, (20 << 20) if attack.short else (60 << 20)
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, size)
    far, near = lab.forwarder("ndnweir"), lab.forwarder("ndnweir")
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    lab.tool(far, f"route add /attack/none udp4://127.0.0.1:{silent.getsockname()[1]}")
    for number, (rate, delay) in enumerate(LINKS):
        join(lab, far, near, "--rate", rate, "--delay", delay, number=number)
    lab.producer("ndnweir", far, original, "/attack/file")

    def fetch():
        return fetched(lab.consumer("ndnweir", near, "/attack/file", copy), 120, original, copy).seconds

    ended = threading.Event()

    def flood():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
            for number in paced(PER_SECOND, ended):
                of = name(tlv(8, b"attack"), tlv(8, b"none"), tlv(8, struct.pack(">Q", number)))
                attacker.sendto(interest(of, number, LASTING), ("127.0.0.1", near.udp))

    flooding = threading.Thread(target=flood, daemon=True)
    try:
        before = min(fetch(), fresh(lab, near, fetch))
        flooding.start()
        after = min(fresh(lab, near, fetch), fresh(lab, near, fetch))
    finally:
        ended.set()
        silent.close()
    figures = f"{size >> 20} MiB in {before:.2f} s before and {after:.2f} s meanwhile: {before / after:.0%} of the rate"
    if before / after < KEEPS:
        raise Failed(figures)
    return figures
