#!/usr/bin/env python3
"""Records the packets between a client and a forwarder: a Unix socket that passes everything on to another.

    python3 scripts/recorder.py FORWARDER.sock HERE.sock FILE       until Ctrl-C
"""

import signal
import socket
import sys
import threading
import time
from pathlib import Path


def number(stream, at):
    """A TLV number, and where it ends; None where the stream has not all of it yet."""
    size = {253: 2, 254: 4, 255: 8}.get(stream[at], 0) if at < len(stream) else None
    if size is None or at + 1 + size > len(stream):
        return None
    return (int.from_bytes(stream[at + 1 : at + 1 + size], "big") if size else stream[at]), at + 1 + size


def packets(stream):
    """Takes the whole packets off the beginning of a stream."""
    while (kind := number(stream, 0)) and (length := number(stream, kind[1])):
        end = length[1] + length[0]
        if end > len(stream):
            return
        yield bytes(stream[:end])
        del stream[:end]


class Recorder:
    """Listens at `path`; `write` gives what was recorded, a packet a line: milliseconds, the direction (`>` to the
    forwarder), the bytes in hexadecimal digits."""

    def __init__(self, forwarder, path):
        self.forwarder, self.lines, self.began = str(forwarder), [], time.monotonic()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            forwarder = socket.socket(socket.AF_UNIX)
            try:
                forwarder.connect(self.forwarder)
            except OSError:
                client.close()
                continue
            for ends in ((client, forwarder, ">"), (forwarder, client, "<")):
                threading.Thread(target=self.copy, args=ends, daemon=True).start()

    def copy(self, source, sink, direction):
        stream = bytearray()
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
                stream += data
                for packet in packets(stream):
                    self.lines.append(f"{1000 * (time.monotonic() - self.began):.0f} {direction} {packet.hex()}\n")
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def write(self, file):
        file.write_text("".join(self.lines))


def main():
    forwarder, here, file = sys.argv[1:]
    recorder = Recorder(forwarder, here)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    recorder.write(Path(file))


if __name__ == "__main__":
    # Before there are other threads, which would have the signals else.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main()
