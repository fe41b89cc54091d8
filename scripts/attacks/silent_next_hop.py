"""A next hop of equal cost that answers nothing: a dead neighbour on UDP, which no one notices."""

import socket

from attacks._processes import fresh, join
from ndn_programs import Failed, fetched, random_file

TITLE = "a next hop of equal cost that answers nothing leaves a fetch five sixths of its rate"
KEEPS = 5 / 6


def run(attack):
    lab, size = attack.lab, (12 << 20) if attack.short else (60 << 20)
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, size)
    far, near = lab.forwarder("ndnweir"), lab.forwarder("ndnweir")
    join(lab, far, near, "--rate", "200Mbps", "--delay", "25ms")
    lab.producer("ndnweir", far, original, "/attack/file")

    def fetch():
        return fetched(lab.consumer("ndnweir", near, "/attack/file", copy), 120, original, copy).seconds

    fetch()
    before = min(fresh(lab, near, fetch) for _ in range(2))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        lab.tool(near, f"route add /attack udp4://127.0.0.1:{silent.getsockname()[1]}")
        # Some fetches pass until it is known to be silent.
        first = [fresh(lab, near, fetch) for _ in range(3)]
        after = max(fresh(lab, near, fetch) for _ in range(2))
    figures = f"{size >> 20} MiB in {before:.2f} s before, {', '.join(f'{seconds:.2f}' for seconds in first)} s at first"
    figures += f" and {after:.2f} s then: {before / after:.0%} of the rate"
    if before / after < KEEPS:
        raise Failed(figures)
    return figures
