"""Serves a file out of an ndn-python-repo until it is ended: segments without version, metadata and FreshnessPeriod, as
its putfile client makes them. The repo answers no Interest with MustBeFresh.

    NDN_CLIENT_TRANSPORT=unix:///tmp/a.sock python repo.py FILE /name
"""

import logging
import sys
import tempfile
from pathlib import Path

from ndn.app import NDNApp
from ndn.encoding import Component, Name
from ndn_python_repo import ReadHandle
from ndn_python_repo.storage.sqlite import SqliteStorage

CHUNK = 8000  # bytes of content in a segment


async def serve(app, folder, content, prefix):
    storage = SqliteStorage(str(folder / "repo.db"))
    last = (len(content) - 1) // CHUNK
    for number in range(last + 1):
        name = prefix + [Component.from_segment(number)]
        piece = content[number * CHUNK : (number + 1) * CHUNK]
        packet = app.prepare_data(
            name, piece, freshness_period=0, final_block_id=Component.from_segment(last), digest_sha256=True
        )
        storage.put_data_packet(name, bytes(packet))
    ReadHandle(app, storage, {"repo_config": {"register_root": False}}).listen(prefix)


def main():
    file, text = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING)
    app = NDNApp()
    with tempfile.TemporaryDirectory() as folder:
        app.run_forever(after_start=serve(app, Path(folder), Path(file).read_bytes(), Name.from_str(text)))


if __name__ == "__main__":
    main()
