"""Forged segments: sent by an attacker all the time, and sent by an upstream that forges a few answers or all."""

import socket
import threading
import time

from attacks import _packets as wire
from ndn_programs import Failed, random_file

TITLE = "a fetch with a key brings the file in spite of forged segments, or ends and names the segment"
SEGMENT = 3
RATE = 200  # forged Data per second


def keys(lab):
    import subprocess

    secret, public = lab.folder / "key.pem", lab.folder / "key.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", secret], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", secret, "-pubout", "-out", public], check=True, capture_output=True)
    return secret, public


class Forger:
    """A relay between a consumer and a forwarder; the first `forgeries` answers for one segment are forged."""

    def __init__(self, lab, forwarder, forgeries):
        self.path, self.left, self.count = lab.folder / f"forger-{forgeries}.sock", forgeries, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.upstream = str(forwarder.unix)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        near, _ = self.listener.accept()
        far = socket.socket(socket.AF_UNIX)
        far.connect(self.upstream)
        threading.Thread(target=self.pass_on, args=(near, far), daemon=True).start()
        self.pass_on(far, near, lying=True)

    def pass_on(self, source, sink, lying=False):
        try:
            for packet in wire.packets(source):
                sink.sendall(self.forged(packet) if lying else packet)
        except OSError:
            pass

    def forged(self, packet):
        kind, value = wire.network_packet(packet) or (None, b"")
        if kind != wire.DATA or self.left == 0:
            return packet
        _, name, element = next(wire.inside(value))
        last = list(wire.inside(name))[-1]
        if last[:2] != (wire.SEGMENT, bytes([SEGMENT])):
            return packet
        self.left, self.count = self.left - 1, self.count + 1
        return wire.data(element, b"forged" * 100)


def get(lab, uri, name, public):
    """Exit status, seconds and last words of a fetch, which must not leave a wrong file."""
    lab.made += 1
    copy = lab.folder / f"copy-{lab.made}"
    words = [lab.ndnweir, "get", name, "-o", copy, "--trust", f"ed25519:{public}", "--quiet"]
    program = lab.start("get", words, env={"NDN_CLIENT_TRANSPORT": uri})
    done = program.wait(60)
    if done is None:
        raise Failed("a fetch among forged segments does not end")
    if copy.exists() and copy.read_bytes() != (lab.folder / "file").read_bytes():
        raise Failed("forged bytes ended in the file")
    return done, program.text()


def run(attack):
    lab = attack.lab
    random_file(lab.folder / "file", (1 if attack.short else 20) << 20)
    secret, public = keys(lab)
    forwarder = lab.forwarder("ndnweir")
    producer = lab.start(
        "put", [lab.ndnweir, "put", lab.folder / "file", "/attack/file/v=7", "--sign", f"ed25519:{secret}"],
        env={"NDN_CLIENT_TRANSPORT": forwarder.uri("unix")},
    )
    lab.until(producer, lambda: any(r["prefix"] == "/attack/file" for r in lab.tool(forwarder, "route list")))

    figures = []
    for forgeries, ends in ((5, 0), (1_000_000, 1)):
        forger = Forger(lab, forwarder, forgeries)
        done, text = get(lab, f"unix://{forger.path}", "/attack/file/v=7", public)
        if done.status != ends:
            raise Failed(f"after {forger.count} forged answers the exit status is {done.status}, not {ends}: {text.strip()}")
        if ends and not all(part in text for part in (f"/seg={SEGMENT}", "sha256digest=", "ndnweir cs erase")):
            raise Failed(f"the error names no segment, digest and remedy: {text.strip()}")
        figures.append(f"{forger.count} forged answers: exit {done.status} after {done.seconds:.1f} s")

    stop, sent = threading.Event(), [0]
    forged = wire.data(wire.name("attack", "file", (wire.VERSION, 7), (wire.SEGMENT, SEGMENT)), b"forged" * 100)

    def flood():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
            while not stop.wait(1 / RATE):
                attacker.sendto(forged, ("127.0.0.1", forwarder.udp))
                sent[0] += 1

    flooding = threading.Thread(target=flood, daemon=True)
    flooding.start()
    try:
        time.sleep(0.1)
        for _ in range(3 if attack.short else 20):
            lab.tool(forwarder, "cs erase /attack")
            done, text = get(lab, forwarder.uri("unix"), "/attack/file/v=7", public)
            if done.status:
                raise Failed(f"an attacker's forged segments end a fetch: {text.strip()}")
    finally:
        stop.set()
        flooding.join()
    figures.append(f"{sent[0]} forged Data of an attacker at {RATE}/s: every fetch complete")
    return "; ".join(figures)
