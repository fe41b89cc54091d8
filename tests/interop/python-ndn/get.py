"""Fetches an object with python-ndn: RDR metadata, then the segments of the version it names, sixteen at a time.

    NDN_CLIENT_TRANSPORT=unix:///tmp/a.sock python get.py /name FILE
"""

import asyncio
import sys

from ndn.app import NDNApp
from ndn.encoding import Component, Name
from ndn.security import sha256_digest_checker

AT_ONCE = 16


async def fetch(app, prefix):
    async def ask(name, **options):
        for attempt in range(3):
            try:
                return await app.express_interest(
                    name, validator=sha256_digest_checker, lifetime=1000, **options
                )
            except Exception as error:  # Timeouts and NACKs while a route is young.
                if attempt == 2:
                    raise
                print(f"once more after {error!r}", file=sys.stderr)
                await asyncio.sleep(0.1)

    metadata = Name.from_str(prefix) + [Component.from_str("32=metadata")]
    _, _, content = await ask(metadata, can_be_prefix=True, must_be_fresh=True)
    versioned = Name.decode(content)[0]
    _, first, content = await ask(versioned + [Component.from_segment(0)])
    segments, last = [content], Component.to_number(first.final_block_id)
    while len(segments) <= last:
        numbers = range(len(segments), min(len(segments) + AT_ONCE, last + 1))
        answers = await asyncio.gather(*(ask(versioned + [Component.from_segment(n)]) for n in numbers))
        segments += [content for _, _, content in answers]
    return b"".join(bytes(segment) for segment in segments)


def main():
    prefix, file = sys.argv[1:]
    app, whole = NDNApp(), []

    async def work():
        try:
            whole.append(await fetch(app, prefix))
        finally:
            app.shutdown()

    app.run_forever(after_start=work())
    if not whole:
        sys.exit("nothing was fetched")
    with open(file, "wb") as out:
        out.write(whole[0])


if __name__ == "__main__":
    main()
