"""A sweep on HyperQueue, by its Python package: each task runs one part, and the tables are written at the end.

    python sweep_hyperqueue.py plan.toml /shared/out --parts 64 --server-dir ~/.hq-server

Workers see the plan and the folder of results under the same paths and have the command ndnweir of the same build on
their path. If a task failed, give the same command again: what is stored is not run again.
"""

import argparse
import subprocess

from hyperqueue import Client, Job


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("out")
    parser.add_argument("--parts", type=int, default=64, help="more than there are cores")
    parser.add_argument("--server-dir", required=True, help="folder of the running server")
    args = parser.parse_args()

    sweep = ["ndnweir", "sweep", args.plan, "--out", args.out, "--quiet"]
    job = Job(name="ndnweir")
    for number in range(1, args.parts + 1):
        job.program([*sweep, "--shard", f"{number}/{args.parts}", "--threads", "1"], name=f"part {number}")
    client = Client(args.server_dir)
    client.wait_for_jobs([client.submit(job)])
    subprocess.run([*sweep, "--merge"], check=True)


if __name__ == "__main__":
    main()
