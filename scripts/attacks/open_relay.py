"""A socket that was opened to reach a neighbour, and that others find."""

import socket

from attacks._packets import data, interest, name
from attacks._processes import unix
from ndn_programs import Failed, answers

TITLE = "a port that is not listened on serves the neighbour it was opened for only"


def run(attack):
    lab = attack.lab
    path = lab.folder / "relay.sock"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as neighbour, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
        neighbour.bind(("127.0.0.1", 0))
        neighbour.settimeout(5)
        to = f"udp4://127.0.0.1:{neighbour.getsockname()[1]}"
        relay = lab.start("relay", [lab.ndnweir, "fwd", "--unix", path, "--route", f"/there={to}"])
        lab.until(relay, lambda: answers(path))
        with unix(path) as application:
            application.settimeout(5)
            application.sendall(interest(name("there", "1"), 1))
            asked, source = neighbour.recvfrom(65536)
            # Packets of a configured peer are accepted: a second Interest after its NACK-less silence still goes there.
            attacker.settimeout(1)
            for number in range(10):
                attacker.sendto(interest(name("there", "by-attacker"), 100 + number), ("127.0.0.1", source[1]))
                attacker.sendto(interest(name("nowhere"), 200 + number), ("127.0.0.1", source[1]))
            try:
                raise Failed(f"an attacker got {len(attacker.recv(65536))} bytes from port {source[1]}")
            except TimeoutError:
                pass
            application.sendall(interest(name("there", "2"), 2))
            relayed, _ = neighbour.recvfrom(65536)
            if b"by-attacker" in relayed:
                raise Failed("an attacker's Interest was forwarded")
            neighbour.sendto(data(name("there", "2"), b"yes"), source)
            if b"there" not in application.recv(65536):
                raise Failed("the neighbour's answer did not come through")
    return f"port {source[1]} took nothing from attackers"
