#!/usr/bin/env python3
"""What aiognmi reads and changes of a forwarder, as JSON: capabilities, the router's state, its faces, and the size of the
content store before and after a Set.

    target/peers/python/bin/python scripts/check_aiognmi.py PORT KEYS
"""

import asyncio
import json
import sys
from pathlib import Path

import grpc
from aiognmi import AsyncgNMIClient
from aiognmi.proto.gnmi.gnmi_pb2_grpc import gNMIStub

CAPACITY = "ndn/content-store/config/capacity"


class Client(AsyncgNMIClient):
    """With a connection of ours: aiognmi 0.1.1 reads its certificates from files that it has not opened."""

    async def connect(self):
        read = [(self.keys / name).read_bytes() for name in ("authority.pem", "east-key.pem", "east.pem")]
        self.channel = grpc.aio.secure_channel(self.target, grpc.ssl_channel_credentials(*read))
        self.stub = gNMIStub(self.channel)


async def main():
    client = Client(host="127.0.0.1", port=int(sys.argv[1]), username="", password="")
    client.keys = Path(sys.argv[2])
    async with client:

        async def get(path):
            reported = (await client.get(paths=[path], encoding="json_ietf")).result
            return reported["notifications"][0]["updates"][0]["val"]

        capabilities = (await client.get_capabilities()).result
        document = {"capabilities": capabilities, "state": await get("ndn/router/state"), "faces": await get("ndn/faces")}
        before = int(await get(CAPACITY))
        update = [{"path": CAPACITY, "data": before + 1}]
        document["set"] = (await client.set(update=update, encoding="json_ietf")).result
        document["capacities"] = [before, int(await get(CAPACITY))]
        print(json.dumps(document))


asyncio.run(main())
