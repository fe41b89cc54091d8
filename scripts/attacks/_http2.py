"""HTTP/2 by hand, as an attacker of gNMI speaks it: frames, and a connection that reads only what it wants."""

import select
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 4, 6, 7, 8


def frame(kind, flags, stream, value=b""):
    return struct.pack(">I", len(value))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + value


def number(n):
    """A number of protobuf or of HPACK behind a full prefix."""
    low = b""
    while n >= 128:
        low, n = low + bytes([n & 127 | 128]), n >> 7
    return low + bytes([n])


def field(tag, value):
    """A field of protobuf with a length."""
    return bytes([tag << 3 | 2]) + number(len(value)) + value


def message(value):
    """A message of gRPC."""
    return b"\0" + struct.pack(">I", len(value)) + value


def text(value):
    return bytes([len(value)]) + value if len(value) < 127 else b"\x7f" + number(len(value) - 127) + value


def request(method):
    lines = [(":method", "POST"), (":scheme", "http"), (":path", f"/gnmi.gNMI/{method}"), (":authority", "a")]
    lines += [("content-type", "application/grpc"), ("te", "trailers")]
    return b"".join(b"\0" + text(name.encode()) + text(value.encode()) for name, value in lines)


class Connection:
    """With a window of no bytes the server can send no answer."""

    def __init__(self, port, window=65535):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, window)))
        self.next, self.came, self.windows, self.initial, self.ended = 1, b"", {0: 65535}, 65535, set()

    def open(self, method, body=b"", ends=True):
        stream, self.next = self.next, self.next + 2
        self.windows[stream] = self.initial - len(body)
        self.windows[0] -= len(body)
        self.socket.sendall(frame(HEADERS, 4, stream, request(method)) + frame(DATA, int(ends), stream, body))
        return stream

    def send(self, stream, most):
        """As many bytes as the server takes now; how many."""
        size = min(16384, most, self.windows[stream], self.windows[0])
        if size > 0:
            self.socket.sendall(frame(DATA, 0, stream, bytes(size)))
            self.windows[stream] -= size
            self.windows[0] -= size
        return max(size, 0)

    def read(self, seconds):
        """Handles what has come, waiting so long for more; whether the connection is open."""
        while select.select([self.socket], [], [], seconds)[0]:
            got = self.socket.recv(1 << 20)
            if not got:
                return False
            self.came, seconds = self.came + got, 0
        while len(self.came) >= 9 and len(self.came) >= 9 + (size := int.from_bytes(self.came[:3], "big")):
            kind, flags, stream = self.came[3], self.came[4], int.from_bytes(self.came[5:9], "big")
            value, self.came = self.came[9 : 9 + size], self.came[9 + size :]
            if kind == SETTINGS and not flags & 1:
                for setting, to in struct.iter_unpack(">HI", value):
                    if setting == 4:
                        for known in self.windows:
                            self.windows[known] += (to - self.initial) if known else 0
                        self.initial = to
                self.socket.sendall(frame(SETTINGS, 1, 0))
            elif kind == PING and not flags & 1:
                self.socket.sendall(frame(PING, 1, 0, value))
            elif kind == WINDOW_UPDATE and stream in self.windows:
                self.windows[stream] += int.from_bytes(value, "big")
            elif kind in (3, GOAWAY) or (kind in (DATA, HEADERS) and flags & 1):
                self.ended.add(stream)
        return True
