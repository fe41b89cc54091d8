"""Decodes every packet of a pcap file with python-ndn and checks that the trace makes sense as NDN traffic."""

import struct
import sys
from collections import Counter

from ndn.encoding import Name, parse_data, parse_interest, parse_lp_packet_v2

ETHERTYPE_NDN = 0x8624


def frames(path):
    """Yields (seconds, Ethernet payload) of a classic pcap file."""
    with open(path, "rb") as file:
        magic, _, _, _, _, _, link_type = struct.unpack("<IHHiIII", file.read(24))
        nanoseconds = {0xA1B2C3D4: 1_000, 0xA1B23C4D: 1}[magic]
        assert link_type == 1, f"link type {link_type} is not Ethernet"
        while header := file.read(16):
            seconds, fraction, captured, original = struct.unpack("<IIII", header)
            frame = file.read(captured)
            assert len(frame) == captured <= original, "truncated frame"
            assert struct.unpack(">H", frame[12:14])[0] == ETHERTYPE_NDN, "not an NDN frame"
            yield seconds + fraction * nanoseconds / 1e9, frame[14:]


def main(path):
    seen, asked, last = Counter(), set(), 0.0
    for at, frame in frames(path):
        assert at >= last, "packets are not in order of time"
        last = at
        lp = parse_lp_packet_v2(frame, with_tl=True) if frame[0] == 0x64 else None
        fragment = bytes(lp.fragment) if lp else frame
        if lp and lp.congestion_mark:
            seen["marked"] += 1
        if fragment[0] == 0x05:
            name, parameters, _, _ = parse_interest(fragment, with_tl=True)
            assert parameters.nonce is not None, "an Interest without a nonce"
            seen["nacks" if lp and lp.nack else "interests"] += 1
            asked.add(Name.to_str(name))
        else:
            name, _, content, _ = parse_data(fragment, with_tl=True)
            assert Name.to_str(name) in asked, f"Data nobody asked for: {Name.to_str(name)}"
            assert len(content) > 0, "Data without content"
            seen["data"] += 1
    print(f"decoded {dict(seen)} packets over {last:.3f} s, {len(asked)} names")
    assert seen["interests"] > 100 and seen["data"] > 100, "hardly any packets"
    assert seen["marked"] > 0, "no packet is marked, though the scheme marks"


main(sys.argv[1])
