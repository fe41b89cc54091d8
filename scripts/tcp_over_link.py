#!/usr/bin/env python3
"""Kernel TCP over `ndnweir link`: what CUBIC and BBR make of the links that NDN transfers are measured on.

Two network namespaces, a TUN interface in each, and the emulated link between them: every IP packet crosses it as one
datagram. Needs root. Everything it makes is gone when it ends.

    scripts/tcp_over_link.py target/release/ndnweir --rate 100Mbps --delay 10ms --queue 1BDP --bytes 30000000 --runs 5

With `--seconds` the transfers are endless and are cut off after that time, and `--flows` begin at once; their goodput
is what the receiver's applications had read by then.

    scripts/tcp_over_link.py target/release/ndnweir --rate 20Mbps --delay 20ms --seconds 30 --flows 2 --algorithms reno
"""
import argparse
import ctypes
import fcntl
import json
import multiprocessing
import os
import re
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
CLONE_NEWNET = 0x40000000
SIDES = ("ndnweir-tcp-a", "ndnweir-tcp-b")
ADDRESSES = ("10.213.0.1", "10.213.0.2")
PORT = 5001


def real_time():
    """Runs this process before ordinary ones: late wake-ups bunch packets, which BBR takes for a higher rate."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))


def enter(namespace):
    fd = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    os.close(fd)


def relay(side, link_port, ready):
    """Moves packets between the TUN interface of a side and the link, whose socket is outside the namespace."""
    real_time()
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    udp.connect(("127.0.0.1", link_port))
    udp.setblocking(False)
    enter(SIDES[side])
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"link0", IFF_TUN | IFF_NO_PI))
    here = ["ip", "addr", "add", f"{ADDRESSES[side]}/24", "dev", "link0"]
    subprocess.run(here, check=True)
    # The emulated queue is the bottleneck's; the interface's own must not add to it or drop.
    subprocess.run(["ip", "link", "set", "link0", "mtu", "1500", "txqueuelen", "10000", "up"], check=True)
    ready.set()
    while True:
        for source in select.select([tun, udp], [], [])[0]:
            for _ in range(64):
                try:
                    if source is tun:
                        udp.send(os.read(tun, 2048))
                    else:
                        os.write(tun, udp.recv(2048))
                except BlockingIOError:
                    break
                except OSError:
                    continue


def receiver(ready, received):
    """Counts what each connection brings, in the order in which they come."""
    real_time()
    enter(SIDES[1])
    server = socket.create_server((ADDRESSES[1], PORT))
    ready.set()

    def read(connection, number):
        while chunk := connection.recv(1 << 18):
            received[number] += len(chunk)
        connection.close()

    for number in range(len(received)):
        threading.Thread(target=read, args=(server.accept()[0], number), daemon=True).start()
    threading.Event().wait()


def sender(algorithm, count, start, results):
    real_time()
    enter(SIDES[0])
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    start.wait()
    connection.connect((ADDRESSES[1], PORT))
    chunk = bytes(1 << 16)
    begin, sent = time.monotonic(), 0
    while count is None or sent < count:
        sent += connection.send(chunk if count is None else chunk[: count - sent])
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
    results.put(time.monotonic() - begin)


def background(target, *args):
    process = multiprocessing.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def measure(args, algorithm, seed):
    for side in SIDES:
        subprocess.run(["ip", "netns", "add", side], check=True)
    command = [args.ndnweir, "link", "--json", "--framing", "0B", "--rate", args.rate, "--delay", args.delay]
    command += ["--queue", args.queue, "--loss", str(args.loss), "--jitter", args.jitter, "--seed", str(seed)]
    link = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=real_time)
    processes = []
    try:
        ports = [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", link.stderr.readline())]
        events = [multiprocessing.Event() for _ in range(4)]
        processes = [background(relay, side, ports[side], events[side]) for side in (0, 1)]
        if not all(event.wait(10) for event in events[:2]):
            sys.exit("the TUN interfaces did not come up")
        received = multiprocessing.Array("Q", args.flows, lock=False)
        processes.append(background(receiver, events[2], received))
        events[2].wait(10)
        results = multiprocessing.Queue()
        count = None if args.seconds else args.bytes
        processes += [background(sender, algorithm, count, events[3], results) for _ in range(args.flows)]
        time.sleep(0.3)
        events[3].set()
        if args.seconds:
            time.sleep(args.seconds)
            seconds = args.seconds
        else:
            seconds = max(results.get(timeout=600) for _ in range(args.flows))
        received = list(received)
        link.send_signal(signal.SIGINT)
        forth = json.loads(link.communicate(timeout=10)[0])["directions"][0]
    finally:
        for process in processes:
            process.kill()
        link.kill()
        for side in SIDES:
            subprocess.run(["ip", "netns", "del", side], check=True)
    return seconds, received, forth


def summary(runs):
    """Medians of an algorithm's runs, and its least and largest share."""
    middle = {key: statistics.median(run[key] for run in runs) for key in ("share", "dropped", "lost", "mean_queue_ms")}
    return middle | {"least": min(run["share"] for run in runs), "most": max(run["share"] for run in runs)}


def bits_per_second(text):
    number, unit = re.fullmatch(r"([\d.]+)([kMG]?)bps", text).groups()
    return float(number) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[unit]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ndnweir", help="the binary")
    parser.add_argument("--rate", default="100Mbps")
    parser.add_argument("--delay", default="10ms")
    parser.add_argument("--queue", default="1BDP")
    parser.add_argument("--loss", type=float, default=0.0)
    parser.add_argument("--jitter", default="0ms", help="most extra delay of a datagram, uniform, order kept")
    parser.add_argument("--bytes", type=int, default=30_000_000, help="of each flow")
    parser.add_argument("--seconds", type=float, help="endless flows, cut off after this time, instead of --bytes")
    parser.add_argument("--flows", type=int, default=1, help="flows of the same algorithm that begin at once")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--algorithms", default="cubic,bbr")
    args = parser.parse_args()
    kept = ("rate", "delay", "queue", "loss", "bytes", "seconds", "flows")
    document = {"link": {key: getattr(args, key) for key in kept}, "runs": []}
    algorithms = args.algorithms.split(",")
    for run in range(args.runs):
        for algorithm in algorithms:
            seconds, received, forth = measure(args, algorithm, run + 1)
            goodputs = [count * 8 / seconds / 1e6 for count in received]
            share = sum(goodputs) * 1e6 / bits_per_second(args.rate)
            sent = {key: forth[key] for key in ("dropped", "lost", "mean_queue_ms")}
            entry = {"algorithm": algorithm, "run": run, "seconds": seconds, "share": share, "goodputs_mbps": goodputs}
            document["runs"].append(entry | {key: forth[key] for key in ("dropped", "lost", "mean_queue_ms")})
    of = {algorithm: [run for run in document["runs"] if run["algorithm"] == algorithm] for algorithm in algorithms}
    document["medians"] = {algorithm: summary(runs) for algorithm, runs in of.items()}
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
