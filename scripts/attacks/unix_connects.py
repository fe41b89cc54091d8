"""Connections that come and go faster than face numbers can be used again."""

import time

from attacks._packets import interest, name
from attacks._processes import Attacker, fetch_seconds, unix
from ndn_programs import Failed, random_file

TITLE = "70,000 connects to the Unix socket do not lock others out"
COUNT = 70_000


def connects(path):
    start = time.monotonic()
    for number in range(COUNT):
        try:
            with unix(path) as stream:
                if number % 8 == 0:
                    stream.sendall(interest(name("x", str(number)), number, lifetime=60_000))
        except OSError:
            pass
    return time.monotonic() - start


def asks(path):
    """Whether another user gets an answer."""
    for _ in range(20):
        try:
            with unix(path) as stream:
                stream.settimeout(5)
                stream.sendall(interest(name("nowhere"), 1))
                if stream.recv(100):
                    return True
        except OSError:
            pass
        time.sleep(0.2)
    return False


def run(attack):
    lab = attack.lab
    lab.folder.chmod(0o755)
    original = lab.folder / "file"
    random_file(original, 1 << 20)
    forwarder = lab.forwarder("ndnweir")
    lab.producer("ndnweir", forwarder, original, "/attack/file")
    with Attacker(connects, forwarder.unix) as attacker:
        time.sleep(0.5)
        lab.tool(forwarder, "status")
        seconds = attacker.wait(120)
    if seconds is None:
        raise Failed("the connects did not end")
    fetch = fetch_seconds(lab, forwarder, "/attack/file", original, 20, times=1)
    with Attacker(asks, forwarder.unix) as attacker:
        if not attacker.wait(30):
            raise Failed("the user gets no face any more")
    return f"{COUNT} connects in {seconds:.1f} s; then 1 MiB in {fetch:.2f} s"
