"""Hundreds of peers with unanswered Interests."""

import socket
import struct

from attacks._packets import LASTING, interest, name, tlv
from attacks._processes import fresh, join, send
from ndn_programs import Failed, fetched, random_file

TITLE = "long Interests from 890 ports leave a fetch over a link of 50 ms four fifths of its rate"
PORTS, EACH, KEEPS = 890, 75, 0.8


def run(attack):
    lab, size = attack.lab, (12 << 20) if attack.short else (60 << 20)
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, size)
    far, near = lab.forwarder("ndnweir"), lab.forwarder("ndnweir")
    join(lab, far, near, "--rate", "200Mbps", "--delay", "25ms")
    lab.producer("ndnweir", far, original, "/attack/file")
    attackers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(PORTS)]
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    lab.tool(near, f"route add / udp4://127.0.0.1:{silent.getsockname()[1]}")

    def fetch():
        return fetched(lab.consumer("ndnweir", near, "/attack/file", copy), 120, original, copy).seconds

    try:
        before = min(fetch(), fresh(lab, near, fetch))
        for round in range(EACH):
            for number, attacker in enumerate(attackers):
                of = name(tlv(8, struct.pack(">HH", number, round)))
                attacker.sendto(interest(of, round << 16 | number, LASTING), ("127.0.0.1", near.udp))
            send(attackers[0], near.udp, [], 1) if round % 15 == 14 else None
        pending = lab.tool(near, "status")["pit_entries"]
        # As before: the better of two, since a fetch takes half a second.
        after = min(fresh(lab, near, fetch), fresh(lab, near, fetch))
        still = lab.tool(near, "status")["pit_entries"]
    finally:
        for attacker in [*attackers, silent]:
            attacker.close()
    share = before / after
    figures = f"{pending}, then {still} pending, {size >> 20} MiB in {before:.2f} s before and {after:.2f} s after"
    figures += f": {share:.0%} of the rate"
    if share < KEEPS:
        raise Failed(figures)
    return figures
