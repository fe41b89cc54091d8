"""Decodes every packet of a pcapng file with python-ndn and checks that the trace makes sense as NDN traffic."""

import struct
import sys
from collections import Counter
from ipaddress import IPv6Address

from ndn.encoding import Name, parse_data, parse_interest, parse_lp_packet_v2

SECTION, INTERFACE, NAMES, PACKET = 0x0A0D0D0A, 1, 4, 6
NDN_PORT = 6363
HEADERS = 14 + 40 + 8


def blocks(file):
    """Yields (type, body) of a little-endian pcapng file."""
    while head := file.read(8):
        kind, length = struct.unpack("<II", head)
        body = file.read(length - 12)
        assert length % 4 == 0 and struct.unpack("<I", file.read(4))[0] == length, "a block's lengths differ"
        yield kind, body


def options(body):
    """Yields (code, value) of options or records."""
    while len(body) >= 4:
        code, length = struct.unpack("<HH", body[:4])
        if code == 0:
            return
        yield code, body[4 : 4 + length]
        body = body[4 + (length + 3) // 4 * 4 :]


def frames(path):
    """Yields (seconds, interface, sender, receiver, NDN packet) by the names that the file gives them."""
    interfaces, names = [], {}
    with open(path, "rb") as file:
        for kind, body in blocks(file):
            if kind == SECTION:
                assert body[:4] == struct.pack("<I", 0x1A2B3C4D), "not little-endian"
            elif kind == INTERFACE:
                given = dict(options(body[8:]))
                assert body[:2] == b"\x01\x00" and given[9] == b"\x09", "not Ethernet, or not in nanoseconds"
                interfaces.append(given[2].decode())
            elif kind == NAMES:
                for code, record in options(body):
                    assert code == 2, "a record that is not of IPv6"
                    names[IPv6Address(record[:16])] = record[16:].rstrip(b"\0").decode()
            elif kind == PACKET:
                number, high, low, captured, original = struct.unpack("<IIIII", body[:20])
                frame = body[20 : 20 + captured]
                assert len(frame) == captured <= original, "truncated frame"
                assert frame[12:14] == b"\x86\xdd" and frame[20] == 17, "no UDP over IPv6"
                ports, length = struct.unpack(">HH", frame[54:58]), struct.unpack(">H", frame[58:60])[0]
                assert ports == (NDN_PORT, NDN_PORT) and length == captured - 54, "not an NDN datagram"
                ends = [names[IPv6Address(frame[at : at + 16])] for at in (22, 38)]
                yield ((high << 32 | low) / 1e9, interfaces[number], *ends, frame[HEADERS:])


def main(path):
    seen, asked, last = Counter(), set(), 0.0
    for at, interface, sender, receiver, packet in frames(path):
        assert at >= last, "packets are not in order of time"
        assert interface == f"{sender}>{receiver}", f"{sender} sends to {receiver} on {interface}"
        last = at
        lp = parse_lp_packet_v2(packet, with_tl=True) if packet[0] == 0x64 else None
        fragment = bytes(lp.fragment) if lp else packet
        if lp and lp.congestion_mark:
            seen["marked"] += 1
        if fragment[0] == 0x05:
            name, parameters, _, _ = parse_interest(fragment, with_tl=True)
            assert parameters.nonce is not None, "an Interest without a nonce"
            seen["nacks" if lp and lp.nack else "interests"] += 1
            asked.add(Name.to_str(name))
        else:
            name, _, content, _ = parse_data(fragment, with_tl=True)
            assert Name.to_str(name) in asked, f"unsolicited Data: {Name.to_str(name)}"
            assert len(content) > 0, "Data without content"
            seen["data"] += 1
    print(f"decoded {dict(seen)} packets over {last:.3f} s, {len(asked)} names")
    assert seen["interests"] > 100 and seen["data"] > 100, "hardly any packets"
    assert seen["marked"] > 0, "no packet is marked, though the scheme marks"


main(sys.argv[1])
