"""gNMI: requests that never become complete, answers that nobody reads, subscriptions to everything many times over."""

import socket
import struct
import time

from attacks._http2 import Connection, field, message
from attacks._processes import cpu, rss
from ndn_programs import Failed, free_port

TITLE = "gNMI requests that stay incomplete or unread take bounded memory, and another client is answered"
SET_BYTES = 4 << 20


def answered(port):
    """Seconds that another client's Get takes."""
    start = time.monotonic()
    client = Connection(port)
    # /ndn/router/state
    path = b"".join(field(3, field(1, name)) for name in (b"ndn", b"router", b"state"))
    stream = client.open("Get", message(field(2, path)))
    while stream not in client.ended:
        if time.monotonic() - start > 10 or not client.read(0.1):
            raise Failed("another client's Get was not answered within 10 s")
    return time.monotonic() - start


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def incomplete(port, connections):
    """Requests of 4 MiB less a byte, as fast as they are taken, for some seconds."""
    every = [Connection(port) for _ in range(connections)]
    end = time.monotonic() + 12
    streams = [
        (each, each.open("Set", b"\0" + struct.pack(">I", SET_BYTES - 1), ends=False)) for each in every for _ in range(64)
    ]
    left = [SET_BYTES - 2] * len(streams)
    while time.monotonic() < end:
        for at, (each, stream) in enumerate(streams):
            left[at] -= each.send(stream, left[at])
        if not all(each.read(0) for each in every):
            break
    return every


def unread(port, connections):
    every = [Connection(port, window=0) for _ in range(connections)]
    for each in every:
        for _ in range(64):
            each.open("Get", message(field(2, b"") * 128))
            each.open("Get", message(b""))
    time.sleep(4)
    return every


def subscribed(port, connections):
    every = [Connection(port, window=0) for _ in range(connections)]
    # All values each ten seconds, 128 times.
    all_values = field(2, field(1, b"") + b"\x10\x02\x18\x80\xc8\xaf\xa0\x25")
    for each in every:
        for _ in range(4):
            each.open("Subscribe", message(field(1, all_values * 128)), ends=False)
            each.open("Subscribe", message(field(1, all_values)), ends=False)
    time.sleep(4)
    return every


def run(attack):
    lab = attack.lab
    port, config = free_port(socket.SOCK_STREAM), lab.folder / "gnmi.toml"
    face = f"udp4://127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    routes = "".join(f'[[route]]\nprefix = "/many/{i}"\nto = "{face}"\n' for i in range(3000))
    config.write_text(f'[gnmi]\nlisten = "127.0.0.1:{port}"\ninsecure = true\n[[face]]\nuri = "{face}"\n{routes}')
    forwarder = lab.forwarder("ndnweir", ["--config", config])
    lab.until(forwarder.program, lambda: listens(port))
    answered(port)
    figures, base = [], rss(forwarder.program)
    for way in (incomplete, unread, subscribed):
        before = cpu(forwarder.program)
        held = way(port, 3 if attack.short else 20)
        taken, seconds = rss(forwarder.program) - base, answered(port)
        work = cpu(forwarder.program) - before
        figures.append(f"{way.__name__}: {taken >> 20} MiB, another answered in {seconds:.2f} s, {work:.1f} s of CPU time")
        for each in held:
            each.socket.close()
        if taken > 600 << 20:
            raise Failed("; ".join(figures))
    return "; ".join(figures)
