#!/usr/bin/env python3
"""Asks a forwarder over gNMI with pygnmi, aiognmi and gnmi_cli, and compares with what the forwarder says of itself.

    target/peers/python/bin/python scripts/check_gnmi.py target/release/ndnweir target/peers/gnmi_cli
"""

import json
import logging
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from ports import free_port
from pygnmi.client import gNMIclient, gNMIException

binary, gnmi_cli = (Path(argument).resolve() for argument in sys.argv[1:3])
# pygnmi logs errors that are expected here.
logging.disable(logging.CRITICAL)
# Its threads end with an error where a subscription is closed.
threading.excepthook = lambda _: None
COST = "/ndn/fib/entry[prefix=/t]/next-hop[face={}]/config/cost"
IN_FORCE = "/ndn/fib/entry[prefix=/t]/next-hop[face={}]/state/cost"


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=30)


def tool(folder, *command):
    done = run(binary, *command, "--transport", f"unix://{folder}/s")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rejected(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except gNMIException as error:
        return str(error)
    raise AssertionError(f"{arguments} {named} was not rejected")


def own_counters(folder):
    """What `ndnweir status` and `face list` count, by gNMI's names; the second by face."""

    def named(directions):
        kinds = ("interests", "data", "nacks", "bytes")
        octets = {"bytes": "octets"}
        return {
            f"{way}-{octets.get(kind, kind)}": directions[way][kind]
            for way in ("in", "out") for kind in kinds if kind in directions[way]
        }

    status = tool(folder, "status", "--json")
    more = {name: status[name.replace("-", "_")] for name in ("satisfied-interests", "unsatisfied-interests")}
    return named(status) | more, {str(face["face"]): named(face) for face in tool(folder, "face", "list", "--json")}


def check_equal(who, read, folder):
    """What a client reads, its router's state and its faces, is what the forwarder says of itself: requests of its own
    management count too, so that counters lie between those before and after."""
    (before, faces_before), (state, faces) = own_counters(folder), read()
    after, faces_after = own_counters(folder)

    def plain(tree):
        return {name.split(":")[-1]: value for name, value in tree.items()}

    def compare(where, least, reported, most):
        missing = least.keys() - reported.keys()
        assert not missing, f"{who}: {where}: no {missing}"
        for name in least:
            value = int(reported[name])
            assert least[name] <= value <= most[name], f"{who}: {where}: {name} is {value}, not {least[name]}–{most[name]}"

    compare("the router", before, plain(state), after)
    # Connections of the tools come and go between.
    compared = 0
    for face in plain(faces)["face"]:
        face = plain(face)
        id, counters = str(face["id"]), plain(plain(face["state"])["counters"])
        if id in faces_before and id in faces_after:
            compare(f"face {id}", faces_before[id], counters, faces_after[id])
            compared += 1
    assert compared >= 2, f"{who}: {compared} faces compared"


def read_with_pygnmi(client):
    def get(path):
        return client.get(path=[path], encoding="json_ietf")["notification"][0]["update"][0]["val"]

    return get("/ndn/router/state"), get("/ndn/faces")


def check_aiognmi(port, keys, folder):
    script = Path(__file__).with_name("check_aiognmi.py")
    document = {}

    def read():
        done = run(sys.executable, script, port, keys)
        assert done.returncode == 0, done.stderr
        document.update(json.loads(done.stdout))
        return document["state"], document["faces"]

    check_equal("aiognmi", read, folder)
    assert document["capabilities"]["supported_models"][0]["name"] == "ndnweir-router", document
    before, after = document["capacities"]
    assert after == before + 1 == tool(folder, "cs", "info", "--json")["capacity"], document
    assert document["set"]["update_results"][0]["op"] == "UPDATE", document


def values(notification):
    """The values of a notification by path, its prefix included."""
    prefix = notification["prefix"] or ""
    return {f"/{prefix}/{update['path']}".replace("//", "/"): update["val"] for update in notification["update"]}


def costs(client):
    """The costs in force by face."""
    reported = client.get(path=["/ndn/fib/entry[prefix=/t]"], encoding="json_ietf")
    entry = reported["notification"][0]["update"][0]["val"]
    return {int(hop["face"]): hop["state"]["cost"] for hop in entry["ndnweir-router:next-hop"]}


def check_reading(client, folder):
    reported = client.capabilities()
    assert reported["gnmi_version"] == "0.10.0" and reported["supported_models"][0]["name"] == "ndnweir-router", reported
    assert set(reported["supported_encodings"]) == {"json_ietf", "proto", "json"}, reported
    own = {str(face["face"]): face for face in tool(folder, "face", "list", "--json")}
    for encoding in ("json_ietf", "json"):
        reported = client.get(path=["/ndn/faces"], encoding=encoding)["notification"][0]["update"][0]["val"]
        faces = reported.get("ndnweir-router:face", reported.get("face"))
        for face in faces:
            assert own[str(face["id"])]["remote_uri"] == face["state"]["remote-uri"], face
        assert len(faces) >= 2, reported
    for kind, there in (("all", {"config", "state"}), ("config", {"config"}), ("state", {"state"})):
        reported = client.get(path=["/ndn/content-store"], datatype=kind, encoding="json_ietf")
        val = reported["notification"][0]["update"][0]["val"]
        assert {name.split(":")[1] for name in val} == there, (kind, val)
    scalar = client.get(path=["/ndn/faces/face/state/rate"], encoding="proto")
    assert [values(part) for part in scalar["notification"]] and all(
        rate == 10_000_000 for part in scalar["notification"] for rate in values(part).values()
    ), scalar
    assert "no path /ndn/nothing" in rejected(client.get, path=["/ndn/nothing"])
    assert "nothing is there" in rejected(client.get, path=["/ndn/faces/face[id=1]"])
    return sorted(int(face["id"]) for face in faces)[:2]


def check_setting(client, folder, faces):
    one, two = faces
    client.set(update=[(COST.format(one), 7), (COST.format(two).rsplit("/", 1)[0], {"cost": 3})])
    assert costs(client) == {one: 7, two: 3}, costs(client)
    client.set(replace=[("/ndn/fib/entry[prefix=/t]", {"next-hop": [{"face": str(two), "config": {"cost": 5}}]})])
    assert costs(client) == {one: 0, two: 5}, costs(client)
    client.set(delete=[COST.format(two)])
    assert costs(client) == {one: 0, two: 4}, "the costs of the routes"
    half = rejected(client.set, update=[(COST.format(one), 9), (COST.format(9999), 9)])
    assert "nothing has changed" in half and costs(client) == {one: 0, two: 4}, half
    assert "state" in rejected(client.set, update=[(IN_FORCE.format(one), 1)])
    # pygnmi sends a string as it is, so the quotation marks of JSON are the caller's.
    client.set(update=[("/ndn/strategies/strategy[prefix=/t]/config/name", '"asf"')])
    chosen = [choice["strategy"] for choice in tool(folder, "strategy", "list", "--json") if choice["prefix"] == "/t"]
    assert "asf" in chosen[0], chosen
    client.set(update=[("/ndn/content-store/config/capacity", 123)])
    assert tool(folder, "cs", "info", "--json")["capacity"] == 123


def check_subscribing(client, folder, faces):
    one, _ = faces

    def subscription(form, **one_of):
        path = {"path": "/ndn/fib/entry/next-hop/state/cost", **one_of}
        return {"subscription": [path], "mode": form, "encoding": "proto"}

    def synchronised(stream):
        reported = {}
        for message in stream:
            # Of a stream pygnmi reports the first values together with their end.
            if message.get("update"):
                reported |= values(message["update"])
            if "sync_response" in message:
                return reported

    reported = synchronised(client.subscribe2(subscription("once")))
    assert reported[IN_FORCE.format(one)] == 0 and len(reported) == 2, reported
    changes = client.subscribe2(subscription("stream", mode="on_change"))
    assert len(synchronised(changes)) == 2
    client.set(update=[(COST.format(one), 6)])
    changed = values(changes.get_update(timeout=5)["update"])
    assert changed == {IN_FORCE.format(one): 6}, changed
    changes.close()
    began = time.monotonic()
    samples = client.subscribe2(subscription("stream", mode="sample", sample_interval=200_000_000))
    synchronised(samples)
    for _ in range(5):
        assert values(samples.get_update(timeout=5)["update"])[IN_FORCE.format(one)] == 6
    assert 0.8 < time.monotonic() - began < 10
    samples.close()
    polls = client.subscribe2(subscription("poll"))
    polled = values(polls.get_update(timeout=5)["update"])
    assert polled[IN_FORCE.format(one)] == 6, polled
    polls.close()
    client.set(delete=[COST.format(one)])


def check_elections(client, faces):
    cost = [(COST.format(faces[0]), 0)]

    def master(election):
        return {"master_arbitration": {"role": {"id": "check"}, "election_id": {"high": 0, "low": election}}}

    client.set(update=cost, extension=master(5))
    client.set(update=cost, extension=master(6))
    assert "election_id is 6" in rejected(client.set, update=cost, extension=master(5))


def check_gnmi_cli(address, keys, folder):
    secure = ["-address", address, "-ca_crt", keys / "authority.pem"]
    secure += ["-client_crt", keys / "east.pem", "-client_key", keys / "east-key.pem"]
    reported = run(gnmi_cli, *secure, "-capabilities")
    assert "ndnweir-router" in reported.stdout, reported
    path = 'path: <elem: <name: "ndn"> elem: <name: "router">> encoding: JSON_IETF'
    reported = run(gnmi_cli, *secure, "-get", "-proto", path)
    assert "ndnweir-router:state" in reported.stdout, reported

    def read():
        def get(name):
            path = f'path: <elem: <name: "ndn"> elem: <name: "{name}">> encoding: JSON_IETF'
            text = run(gnmi_cli, *secure, "-get", "-proto", path).stdout
            # The answer is in the text format of protocol buffers; its value a string of JSON in C's notation.
            written = re.search(r'json_ietf_val:\s*("(?:[^"\\]|\\.)*")', text)[1]
            return json.loads(json.loads(written))

        return get("router")["ndnweir-router:state"], get("faces")

    check_equal("gnmi_cli", read, folder)
    once = run(gnmi_cli, *secure, "-query", "/ndn/faces/face/state/remote-uri", "-query_type", "once")
    assert "udp4://127.0.0.1:" in once.stdout, once
    stranger = ["-address", address, "-timeout", "2s", "-ca_crt", keys / "authority.pem"]
    assert run(gnmi_cli, *stranger, "-capabilities").returncode != 0, "without a certificate"


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        keys = folder / "keys"
        hosts = [part for name in ("west", "east") for part in ("--host", f"{name}=127.0.0.1,localhost")]
        made = run(binary, "key", "certificates", keys, *hosts)
        assert made.returncode == 0, made.stderr
        port, neighbours = free_port(socket.SOCK_STREAM), [free_port(socket.SOCK_DGRAM) for _ in range(2)]
        config = f'scheme = "ndnsieve"\n[listen]\nunix = "{folder}/s"\nudp = ["127.0.0.1:{free_port(socket.SOCK_DGRAM)}"]\n'
        config += f'[gnmi]\nlisten = "127.0.0.1:{port}"\ncertificate = "{keys}/west.pem"\nkey = "{keys}/west-key.pem"\n'
        fingerprint = re.search(r"east\.pem +SHA-256 (\S+)", made.stdout)[1]
        config += f'clients = "{keys}/authority.pem"\naccept = ["{fingerprint}"]\n'
        for cost, neighbour in zip((0, 4), neighbours):
            uri = f"udp4://127.0.0.1:{neighbour}"
            config += f'[[face]]\nuri = "{uri}"\nrate = "10Mbps"\n[[route]]\nprefix = "/t"\nto = "{uri}"\ncost = {cost}\n'
        (folder / "fwd.toml").write_text(config)
        forwarder = subprocess.Popen([binary, "fwd", "--config", folder / "fwd.toml"], stderr=subprocess.PIPE, text=True)
        try:
            for line in forwarder.stderr:
                if "serving gNMI" in line:
                    break
            secure = {
                "path_root": str(keys / "authority.pem"),
                "path_cert": str(keys / "east.pem"),
                "path_key": str(keys / "east-key.pem"),
            }
            with gNMIclient(target=("127.0.0.1", port), **secure) as client:
                faces = check_reading(client, folder)
                check_equal("pygnmi", lambda: read_with_pygnmi(client), folder)
                check_setting(client, folder, faces)
                check_subscribing(client, folder, faces)
                check_elections(client, faces)
            check_aiognmi(port, keys, folder)
            check_gnmi_cli(f"127.0.0.1:{port}", keys, folder)
        finally:
            forwarder.terminate()
            forwarder.wait(timeout=10)
    print("pygnmi: capabilities, get, set, subscribe once, poll and stream, elections")
    print("aiognmi: capabilities, get, set; gnmi_cli: capabilities, get, query")


if __name__ == "__main__":
    main()
