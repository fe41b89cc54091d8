"""A sweep on a Dask cluster: each task runs one part, and the tables are written at the end.

    python sweep_dask.py plan.toml /shared/out --parts 64 --scheduler tcp://scheduler:8786

Workers see the plan and the folder of results under the same paths and have the package ndnweir of the same build. A part
whose worker is lost is run by another one. Without --scheduler, workers are started on this machine.
"""

import argparse

import ndnweir
from dask.distributed import Client


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("out")
    parser.add_argument("--parts", type=int, default=64, help="more than there are workers")
    parser.add_argument("--scheduler", help="address of the scheduler")
    args = parser.parse_args()

    def part(number):
        return ndnweir.sweep(args.plan, args.out, shard=(number, args.parts), threads=1)["runs"]

    with Client(args.scheduler) as client:
        # A part is not a function of its arguments alone: Dask must not take it for one that it knows.
        client.gather(client.map(part, range(1, args.parts + 1), pure=False))
    for file in ndnweir.sweep(args.plan, args.out)["files"]:
        print(file)


if __name__ == "__main__":
    main()
