"""The packets of attacks, by hand: elements, names, Interests, Data, commands, and what arrives in a stream."""

import hashlib
import struct
import time

LP_PACKET, FRAGMENT, NACK, INTEREST, DATA, NAME, CONTENT = 0x64, 0x50, 0x0320, 0x05, 0x06, 0x07, 0x15
SEGMENT, VERSION = 50, 54
LASTING = 60_000  # ms, longer than any forwarder has to wait for attackers


def tlv(kind, value=b""):
    def number(n):
        return bytes([n]) if n < 253 else b"\xfd" + struct.pack(">H", n)

    return number(kind) + number(len(value)) + value


def nni(n):
    """A non-negative integer in the fewest bytes allowed."""
    return n.to_bytes(next(size for size in (1, 2, 4, 8) if n < 1 << 8 * size), "big")


def name(*components):
    """A Name; text is a generic component, a number a segment, a pair a type and a number; bytes are elements as they are."""

    def component(part):
        if isinstance(part, bytes):
            return part
        if isinstance(part, str):
            return tlv(8, part.encode())
        kind, value = part if isinstance(part, tuple) else (SEGMENT, part)
        return tlv(kind, nni(value))

    return tlv(NAME, b"".join(component(part) for part in components))


def interest(of, nonce, lifetime=4000, prefix=False):
    can_be_prefix = tlv(33) if prefix else b""
    return tlv(INTEREST, of + can_be_prefix + tlv(10, struct.pack(">I", nonce)) + tlv(12, nni(lifetime)))


def data(of, content=b"", fresh_ms=3_600_000, final=None):
    """A Data with a digest, which anyone can make."""
    meta = tlv(0x19, nni(fresh_ms)) + (tlv(0x1A, tlv(SEGMENT, nni(final))) if final is not None else b"")
    signed = of + tlv(0x14, meta) + tlv(CONTENT, content) + tlv(0x16, tlv(0x1B, b"\0"))
    return tlv(DATA, signed + tlv(0x17, hashlib.sha256(signed).digest()))


def nack(rejected, reason):
    """A NACK of this Interest."""
    return tlv(LP_PACKET, tlv(NACK, tlv(0x0321, nni(reason))) + tlv(FRAGMENT, rejected))


def forged_command(counter, key_name):
    """A rib/register with an ECDSA signature that looks right and is not."""
    parameters = tlv(0x68, name("forged", str(counter)))
    locator = tlv(28, key_name)
    freshness = tlv(38, counter.to_bytes(8, "big")) + tlv(40, nni(int(time.time() * 1000)))
    signed = tlv(36) + tlv(44, tlv(27, nni(3)) + locator + freshness)
    # Two numbers below the order of the group, in DER: worth checking.
    number = tlv(2, b"\x11" + hashlib.sha256(counter.to_bytes(8, "big")).digest()[1:])
    signed += tlv(46, tlv(0x30, number + number))
    digest = tlv(2, hashlib.sha256(signed).digest())
    of = name("localhost", "nfd", "rib", "register", tlv(8, parameters), digest)
    return tlv(5, of + tlv(10, struct.pack(">I", counter & 0xFFFFFFFF)) + signed)


def read(wire, at=0):
    """Type, value and end of the element at a place; None when not all of it is there."""
    numbers = []
    for _ in range(2):
        if at >= len(wire):
            return None
        size = {253: 2, 254: 4, 255: 8}.get(wire[at], 0)
        if at + 1 + size > len(wire):
            return None
        numbers.append(int.from_bytes(wire[at + 1 : at + 1 + size], "big") if size else wire[at])
        at += 1 + size
    kind, length = numbers
    return (kind, wire[at : at + length], at + length) if at + length <= len(wire) else None


def inside(value):
    """The elements in a value, as type, value and the whole element."""
    at = 0
    while at < len(value):
        kind, inner, end = read(value, at)
        yield kind, inner, value[at:end]
        at = end


def packets(source):
    """The packets that arrive on a stream socket, each as it came."""
    waiting = b""
    while got := source.recv(65536):
        waiting += got
        while (found := read(waiting)) is not None:
            yield waiting[: found[2]]
            waiting = waiting[found[2] :]


def network_packet(wire):
    """Type and value of the Interest or Data in a packet of the link; None when there is none."""
    kind, value, _ = read(wire)
    if kind == LP_PACKET:
        fragment = next((inner for kind, inner, _ in inside(value) if kind == FRAGMENT), b"")
        return read(fragment)[:2] if fragment else None
    return kind, value
