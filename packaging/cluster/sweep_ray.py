"""A sweep on a Ray cluster: each task runs one part, and the tables are written at the end.

    python sweep_ray.py plan.toml /shared/out --parts 64 --address head:6379

Nodes see the plan and the folder of results under the same paths and have the package ndnweir of the same build. A part
whose worker is lost is run by another one. Without --address, workers are started on this machine.
"""

import argparse

import ndnweir
import ray


@ray.remote(num_cpus=1, max_retries=3)
def part(plan, out, number, parts):
    return ndnweir.sweep(plan, out, shard=(number, parts), threads=1)["runs"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("out")
    parser.add_argument("--parts", type=int, default=64, help="more than there are cores")
    parser.add_argument("--address", help="address of the head node")
    args = parser.parse_args()

    ray.init(address=args.address or "local", log_to_driver=False)
    ray.get([part.remote(args.plan, args.out, number, args.parts) for number in range(1, args.parts + 1)])
    for file in ndnweir.sweep(args.plan, args.out)["files"]:
        print(file)


if __name__ == "__main__":
    main()
