"""Asks Prometheus, which scrapes a forwarder and a controller, every query of the Grafana dashboard.

    python3 scripts/check_monitoring.py target/release/ndnweir
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

from ports import free_port

binary = Path(sys.argv[1]).resolve()
dashboard = Path(__file__).resolve().parent.parent / "packaging" / "monitoring" / "grafana.json"


def queries():
    for panel in json.loads(dashboard.read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "5s")


def answer(port, query):
    asked = urllib.parse.urlencode({"query": query})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{asked}", timeout=5) as reported:
        return json.load(reported)["data"]["result"]


def silent(port):
    """The queries without an answer; all while Prometheus does not listen yet."""
    try:
        return [f"{title}: {query}" for title, query in queries() if not answer(port, query)]
    except OSError:
        return ["Prometheus does not answer"]


def main():
    udp, gnmi, metrics, control, prometheus = (
        free_port(kind) for kind in (socket.SOCK_DGRAM, *[socket.SOCK_STREAM] * 4)
    )
    other, other_gnmi = free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_STREAM)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)

        def forwarder(name, port, neighbour, gnmi_port, more=""):
            text = f'scheme = "ndnsieve"\n{more}[listen]\nunix = "{folder}/{name}.sock"\nudp = ["127.0.0.1:{port}"]\n'
            text += f'[gnmi]\nlisten = "127.0.0.1:{gnmi_port}"\ninsecure = true\n'
            text += f'[[face]]\nuri = "udp4://127.0.0.1:{neighbour}"\nrate = "10Mbps"\n'
            text += f'[[route]]\nprefix = "/t"\nto = "udp4://127.0.0.1:{neighbour}"\n' if name == "a" else ""
            return write(f"{name}.toml", text)

        def write(name, text):
            (folder / name).write_text(text)
            return folder / name

        routers = "".join(
            f'[[router]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\n'
            for name, port in (("a", gnmi), ("b", other_gnmi))
        )
        scrape = "global: { scrape_interval: 1s, scrape_timeout: 1s }\nscrape_configs:\n"
        for job, port in (("ndnweir", metrics), ("ndnweir-control", control)):
            scrape += f"  - {{ job_name: {job}, static_configs: [{{ targets: ['127.0.0.1:{port}'] }}] }}\n"
        (folder / "in").write_bytes(bytes(range(256)) * 4000)
        fwd = [binary, "fwd", "--config"]
        commands = [
            [*fwd, forwarder("a", udp, other, gnmi, f'metrics = "127.0.0.1:{metrics}"\n')],
            [*fwd, forwarder("b", other, udp, other_gnmi)],
            [binary, "control", "run", write("control.toml", f'listen = "127.0.0.1:{control}"\n{routers}')],
            [
                *("prometheus", f"--config.file={write('prometheus.yml', scrape)}"),
                *(f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{prometheus}"),
            ],
        ]
        log = open(folder / "log", "w")
        running = [subprocess.Popen([str(part) for part in command], stderr=log, stdout=log) for command in commands]
        try:
            time.sleep(1)
            put = [binary, "put", folder / "in", "/t/x", "--transport", f"unix://{folder}/b.sock"]
            running.append(subprocess.Popen([str(part) for part in put], stderr=log, stdout=log))
            get = [binary, "get", "/t/x", "-o", "/dev/null", "--quiet", "--restart"]
            get += ["--transport", f"unix://{folder}/a.sock"]
            deadline = time.monotonic() + 60
            while left := silent(prometheus):
                if time.monotonic() > deadline:
                    sys.exit("queries without data:\n" + "\n".join(left) + "\n" + (folder / "log").read_text()[-2000:])
                # Without traffic some rates would be of nothing.
                subprocess.run([str(part) for part in get], stderr=log, stdout=log, timeout=60)
                time.sleep(0.5)
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait(timeout=20)
    print(f"all {len(list(queries()))} queries of the dashboard have data")


if __name__ == "__main__":
    main()
