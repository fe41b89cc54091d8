"""Names that all fall into one place of a table."""

import socket
import struct

from attacks._packets import LASTING, interest, name, tlv
from attacks._processes import cpu, send, victim
from ndn_programs import Failed

TITLE = "names chosen against a hash cost a forwarder as much as random ones"

# Where the last eight bytes of a name are these, the hash that forwarders once had was 0 whatever the others are.
CHOSEN = struct.pack("<Q", 0x3F84D5B5B5470917)
MORE = 1.5


def run(attack):
    count = 15_000 if attack.short else 50_000
    spent, seconds = {}, {}
    for kind in ("random", "chosen"):
        with victim(attack, 4 << 20) as (forwarder, fetch), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
            packets = []
            for number in range(count):
                end = CHOSEN if kind == "chosen" else struct.pack("<Q", number * 0x9E3779B97F4A7C15 % 2**64)
                packets.append(interest(name(tlv(8, struct.pack("<Q", number)[:6] + end)), number, LASTING))
            before = cpu(forwarder.program)
            send(attacker, forwarder.udp, packets)
            spent[kind] = cpu(forwarder.program) - before
            seconds[kind] = fetch()
    figures = ", ".join(f"{kind}: {spent[kind]:.2f} s of CPU time, then a fetch of 4 MiB in {seconds[kind]:.2f} s" for kind in spent)
    # The clock of CPU time ticks in hundredths.
    if spent["chosen"] > MORE * spent["random"] + 0.03:
        raise Failed(figures)
    return f"{count} Interests; {figures}"
