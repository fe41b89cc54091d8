"""Connections that ask for much and read nothing."""

import time

from attacks._packets import interest, name
from attacks._processes import fetch_seconds, rss, tcp, tcp_memory, version_of
from ndn_programs import Failed, random_file

TITLE = "1,000 readers that hang leave memory and transfers to others"
READERS, MEMORY, MORE = 1000, 64 << 20, 64 << 20


def run(attack):
    lab = attack.lab
    original, config = lab.folder / "file", lab.folder / "fwd.toml"
    random_file(original, 16 << 20)
    config.write_text(f"memory = \"{MEMORY >> 20}MiB\"\n[listen]\nmax-peers = 1200\nper-address = 200\nstuck = \"20s\"\n")
    forwarder = lab.forwarder("ndnweir", ["--config", config])
    lab.producer("ndnweir", forwarder, original, "/attack/file")
    alone = fetch_seconds(lab, forwarder, "/attack/file", original)
    version = version_of(forwarder, "attack", "file")
    before = tcp_memory()
    readers = [tcp(forwarder.tcp, source=f"127.0.1.{number // 100 + 1}", receive=4096) for number in range(READERS)]
    asked = b"".join(interest(name("attack", "file", version, number), number) for number in range(100 if attack.short else 400))
    for stream in readers:
        stream.setblocking(False)
    most = (0, 0, 0)
    for stream in readers:
        try:
            stream.send(asked)
        except BlockingIOError:
            pass
    for _ in range(4 if attack.short else 10):
        most = max(most, taken(forwarder, before))
        time.sleep(0.5)
    beside = fetch_seconds(lab, forwarder, "/attack/file", original)
    most = max(most, taken(forwarder, before))
    total, memory, buffers = (size >> 20 for size in most)
    figures = f"{total} MiB: {memory} of memory, {buffers} of socket buffers; 16 MiB in {alone:.2f} s alone and {beside:.2f} s beside"
    if most[0] > MEMORY + MORE:
        raise Failed(figures)
    if beside > alone / (0.6 if attack.short else 0.8) + 0.1:
        raise Failed(figures)
    end = time.monotonic() + 40
    while not attack.short and len(lab.tool(forwarder, "face list")) > 100:
        if time.monotonic() > end:
            raise Failed(f"stuck readers are not closed; {figures}")
        time.sleep(1)
    return figures


def taken(forwarder, before):
    memory, buffers = rss(forwarder.program), tcp_memory() - before
    return memory + buffers, memory, buffers
