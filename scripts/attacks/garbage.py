"""Random and mutated datagrams."""

import random
import socket

from ndn_programs import Failed, fetched, random_file

TITLE = "random bytes and mutated packets do not stop a forwarder"
SEED = 11


def run(attack):
    lab, count = attack.lab, 20_000 if attack.short else 400_000
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, 1 << 20)
    forwarder = lab.forwarder("ndnweir")
    lab.producer("ndnweir", forwarder, original, "/attack/file")
    draw = random.Random(SEED)
    # An Interest for /attack/file with a nonce, of which some bytes change.
    packet = bytes.fromhex("0518070e080661747461636b080466696c650a0400000001")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
        for number in range(count):
            if number % 2:
                sent = draw.randbytes(draw.randrange(1, 64))
            else:
                sent = bytearray(packet)
                for _ in range(draw.randrange(1, 4)):
                    sent[draw.randrange(len(sent))] = draw.randrange(256)
            attacker.sendto(sent, ("127.0.0.1", forwarder.udp))
    if forwarder.program.poll():
        raise Failed(f"the forwarder ended: {forwarder.program.last_words()}")
    done = fetched(lab.consumer("ndnweir", forwarder, "/attack/file", copy), 30, original, copy)
    return f"{count} datagrams (seed {SEED}), then 1 MiB fetched in {done.seconds:.2f} s"
