"""Commands with signatures that are costly to reject."""

import base64
import textwrap
import time

from attacks._packets import forged_command, name
from attacks._processes import Attacker, fetch_seconds, unix
from ndn_programs import Failed, random_file

TITLE = "forged commands do not slow transfers or shut the owner out"
RATE = 10_000
KEY = ("operator", "KEY", "1")
# SubjectPublicKeyInfo of P-256's generator.
GENERATOR = (
    "3059301306072a8648ce3d020106082a8648ce3d030107034200046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
)


def forge(path, seconds):
    sent, streams, start = 0, [unix(path) for _ in range(4)], time.monotonic()
    for stream in streams:
        stream.setblocking(False)
    while (passed := time.monotonic() - start) < seconds:
        for _ in range(20):
            try:
                streams[sent % len(streams)].send(forged_command(sent, name(*KEY)))
            except OSError:
                pass
            sent += 1
        for stream in streams:
            try:
                stream.recv(1 << 20)
            except OSError:
                pass
        if (ahead := sent / RATE - passed) > 0:
            time.sleep(ahead)
    return sent


def run(attack):
    lab = attack.lab
    lab.folder.chmod(0o755)
    original, config, key = lab.folder / "file", lab.folder / "fwd.toml", lab.folder / "operator.pub"
    random_file(original, 32 << 20)
    # The generator of the group as a public key: no one's, but a key.
    lines = textwrap.wrap(base64.b64encode(bytes.fromhex(GENERATOR)).decode(), 64)
    key.write_text("\n".join(["-----BEGIN PUBLIC KEY-----", *lines, "-----END PUBLIC KEY-----", ""]))
    config.write_text(f'[[trust-anchor]]\nkey = "{key}"\nname = "/{"/".join(KEY)}"\n')
    forwarder = lab.forwarder("ndnweir", ["--config", config])
    lab.producer("ndnweir", forwarder, original, "/attack/file")
    alone = fetch_seconds(lab, forwarder, "/attack/file", original)
    with Attacker(forge, forwarder.unix, 6 if attack.short else 20) as attacker:
        time.sleep(0.5)
        lab.tool(forwarder, "route add /owner udp4://127.0.0.1:9")
        beside = fetch_seconds(lab, forwarder, "/attack/file", original)
        lab.tool(forwarder, "route remove /owner udp4://127.0.0.1:9")
        sent = attacker.wait(60)
    figures = f"{sent} forged commands; 32 MiB in {alone:.2f} s alone and {beside:.2f} s beside"
    if beside > 3 * alone + 0.2:
        raise Failed(figures)
    return figures
