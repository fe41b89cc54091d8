"""Ports for programs that a script starts."""

import random
import socket

# Below the range that the kernel hands out by itself (net.ipv4.ip_local_port_range, 32768 and up): a port found free
# here is not taken by some outgoing socket before the program that it is meant for has opened it.
CANDIDATES = range(10_000, 32_000)
_given = set()


def free_port(kind):
    """A loopback port that is not in use and which this process has not been given before."""
    for port in random.SystemRandom().sample(CANDIDATES, 1000):
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port
    raise OSError("of 1000 ports tried on 127.0.0.1 none is free")
