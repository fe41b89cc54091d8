"""Connections to the metrics without a request."""

import socket
import threading
import time

from attacks._processes import metric
from ndn_programs import Failed
from ports import free_port

TITLE = "readers of the metrics without a request do not keep others from reading them"
SCRAPES = 40


def run(attack):
    port = free_port(socket.SOCK_STREAM)
    attack.lab.forwarder("ndnweir", ["--metrics", f"127.0.0.1:{port}"])
    end, held = threading.Event(), []

    def idle():
        while not end.wait(1 / 27):
            held.append(socket.create_connection(("127.0.0.1", port)))

    thread = threading.Thread(target=idle)
    thread.start()
    answered = 0
    try:
        time.sleep(2)
        for _ in range(SCRAPES):
            time.sleep(0.05 if attack.short else 0.5)
            try:
                answered += metric(port, "pit_entries") >= 0
            except (OSError, StopIteration):
                pass
    finally:
        end.set()
        thread.join()
        for stream in held:
            stream.close()
    figures = f"{answered} of {SCRAPES} scrapes beside {len(held)} idle connections"
    if answered < SCRAPES:
        raise Failed(figures)
    return figures
