"""Unsolicited Data with thousands of components."""

import socket
import struct

from attacks._packets import LASTING, data, interest, name, tlv
from attacks._processes import cpu, send, victim
from ndn_programs import Failed

TITLE = "the names of Data take time as they are long, not its square"
MORE = 2.0


def run(attack):
    count = 1_000 if attack.short else 10_000
    # One Interest with CanBePrefix that none of the Data answers.
    asked = name(*(tlv(8, struct.pack(">I", number)) for number in range(40)))
    # As many components in all.
    floods = {"500 components": [data(name(tlv(8) * 500))] * (8 * count), "4000 components": [data(name(tlv(8) * 4000))] * count}
    spent = {}
    with victim(attack, 1 << 20) as (forwarder, fetch), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
        for kind, packets in floods.items():
            send(attacker, forwarder.udp, [interest(asked, len(spent) + 1, LASTING, prefix=True)])
            before = cpu(forwarder.program)
            send(attacker, forwarder.udp, packets, pause=64)
            spent[kind] = cpu(forwarder.program) - before
        seconds = fetch()
    figures = ", ".join(f"{kind}: {time:.2f} s of CPU time" for kind, time in spent.items())
    if spent["4000 components"] > MORE * spent["500 components"] + 0.05:
        raise Failed(figures)
    return f"{count} Data of 8 kB, or as much in shorter ones; {figures}; then 1 MiB fetched in {seconds:.2f} s"
