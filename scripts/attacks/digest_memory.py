"""Long names with implicit digests that stay pending."""

import os
import socket
import struct

from attacks._packets import LASTING, interest, name, tlv
from attacks._processes import send, victim
from ndn_programs import Failed

TITLE = "the pending names of one attacker leave memory for a fetch, and status says that some were rejected"
MEMORY = 64  # MiB


def run(attack):
    count = 12_000 if attack.short else 31_000
    configuration = attack.lab.folder / "fwd.toml"
    configuration.write_text(f'memory = "{MEMORY}MiB"\n')
    with victim(attack, 8 << 20, ["--config", configuration]) as (forwarder, fetch):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
            packets = (
                interest(name(tlv(8, os.urandom(8) + bytes(8500)), tlv(1, struct.pack(">I", number) * 8)), number, LASTING)
                for number in range(count)
            )
            send(attacker, forwarder.udp, packets, pause=64)
        seconds = fetch(20)
        status = attack.lab.tool(forwarder, "status")
    rejected, dropped = status.get("rejected_for_memory", 0), status.get("memory_drops", 0)
    if not rejected or dropped:
        raise Failed(f"status: {rejected} Interests rejected for memory, {dropped} packets dropped")
    return f"{count} names of 8.5 kB, memory {MEMORY} MiB: {rejected} rejected, then 8 MiB fetched in {seconds:.2f} s"
