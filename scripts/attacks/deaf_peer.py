"""A peer that asks for more than a link carries, and heeds neither marks nor losses."""

import socket
import threading
import time

from attacks._packets import data, interest, name, tlv
from attacks._processes import fresh, join, paced
from ndn_programs import Failed, fetched, random_file

TITLE = "a peer that asks for twice what a link carries and heeds nothing leaves a fetch a third of its rate"
PER_SECOND, KEEPS = 3000, 1 / 3
LIFETIME = 4000  # ms, what most Interests have
RATE, CONTENT = 100e6, 7800  # of the link in bit/s, of a Data in bytes
BUFFER = 4 << 20
FIRST = tlv(8, b"attack") + tlv(8, b"many")


def run(attack):
    lab, size = attack.lab, (12 << 20) if attack.short else (60 << 20)
    original, copy = lab.folder / "file", lab.folder / "copy"
    random_file(original, size)
    far, near = lab.forwarder("ndnweir"), lab.forwarder("ndnweir")
    join(lab, far, near, "--rate", "100Mbps", "--delay", "10ms")
    lab.producer("ndnweir", far, original, "/attack/file")
    ended, answered = threading.Event(), [0]

    def fetch():
        return fetched(lab.consumer("ndnweir", near, "/attack/file", copy), 120, original, copy).seconds

    def answer(producer):
        producer.settimeout(0.2)
        while not ended.is_set():
            try:
                frame, to = producer.recvfrom(9000)
            except TimeoutError:
                continue
            # The name is somewhere in the frame; its last component has four bytes.
            at = frame.find(FIRST)
            if at >= 0:
                of = tlv(7, frame[at : at + len(FIRST) + 6])
                producer.sendto(data(of, bytes(CONTENT), fresh_ms=0), to)
                answered[0] += 1

    def flood():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
            # What comes is not read: the kernel drops it.
            for number in paced(PER_SECOND, ended):
                of = name("attack", "many", tlv(8, number.to_bytes(4, "big")))
                attacker.sendto(interest(of, number, LIFETIME), ("127.0.0.1", near.udp))

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as producer:
        producer.bind(("127.0.0.1", 0))
        producer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        lab.tool(far, f"route add /attack/many udp4://127.0.0.1:{producer.getsockname()[1]}")
        threads = [threading.Thread(target=flood, daemon=True), threading.Thread(target=answer, args=(producer,), daemon=True)]
        try:
            before = min(fetch(), fresh(lab, near, fetch))
            for thread in threads:
                thread.start()
            time.sleep(1)
            answered[0], start = 0, time.monotonic()
            after = min(fresh(lab, near, fetch), fresh(lab, near, fetch))
            load = answered[0] * CONTENT * 8 / (time.monotonic() - start) / RATE
        finally:
            ended.set()
            # The socket stays open until nobody uses it.
            for thread in threads:
                if thread.is_alive():
                    thread.join()
    figures = f"{size >> 20} MiB in {before:.2f} s before and {after:.2f} s meanwhile: {before / after:.0%} of the rate,"
    figures += f" beside {load:.1f} times what the link carries"
    if load < 1:
        raise Failed(f"{figures}: the link was not filled")
    if before / after < KEEPS:
        raise Failed(figures)
    return figures
