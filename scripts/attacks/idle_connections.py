"""Connections that are opened and left."""

from attacks._packets import interest, name
from attacks._processes import Attacker, fetch_seconds, tcp, unix
from ndn_programs import Failed, random_file

TITLE = "idle connections of one address and of one user do not lock others out"


# Open until their process ends.
held = []


def idle(unix_path, tcp_port):
    """Opens as many of both kinds as there would be room for."""
    for connect, count in ((lambda: tcp(tcp_port), 896), (lambda: unix(unix_path), 1024)):
        for _ in range(count):
            try:
                held.append(connect())
            except OSError:
                break
    return len(held)


def run(attack):
    lab = attack.lab
    lab.folder.chmod(0o755)
    original = lab.folder / "file"
    random_file(original, 1 << 20)
    forwarder = lab.forwarder("ndnweir")
    lab.producer("ndnweir", forwarder, original, "/attack/file")
    with Attacker(idle, forwarder.unix, forwarder.tcp) as attacker:
        made = attacker.wait(30)
        faces = len(lab.tool(forwarder, "face list"))
        # The owner, another address, and another user: root is not the one who holds them.
        seconds = fetch_seconds(lab, forwarder, "/attack/file", original, 20, times=1)
        lab.tool(forwarder, "route add /more udp4://127.0.0.1:9")
        other = tcp(forwarder.tcp, source="127.0.0.77")
        other.settimeout(5)
        other.sendall(interest(name("nowhere"), 1))
        try:
            answered = other.recv(100)
        except OSError:
            answered = b""
        if not answered:
            raise Failed("another address gets no answer")
        if faces > 600:
            raise Failed(f"{faces} faces: no share was enforced")
    return f"{made} connections tried, {faces} faces; the owner fetched 1 MiB in {seconds:.2f} s"
