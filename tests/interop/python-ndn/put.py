"""Publishes a file with python-ndn: RDR metadata, and the segments of a version, until it is ended.

    NDN_CLIENT_TRANSPORT=unix:///tmp/a.sock python put.py FILE /name
"""

import logging
import sys
import time

from ndn.app import NDNApp
from ndn.encoding import Component, Name

CHUNK = 8000  # bytes of content in a segment
METADATA_FRESHNESS, SEGMENT_FRESHNESS = 1000, 10_000  # milliseconds


def main():
    file, text = sys.argv[1:]
    with open(file, "rb") as source:
        content = source.read()
    pieces = [content[start : start + CHUNK] for start in range(0, len(content), CHUNK)] or [b""]
    prefix = Name.from_str(text)
    versioned = prefix + [Component.from_version(time.time_ns() // 1000)]
    metadata = prefix + [Component.from_str("32=metadata")]
    segments = {bytes(Name.encode(versioned + [Component.from_segment(n)])): piece for n, piece in enumerate(pieces)}
    app = NDNApp()

    def put(name, content, last, freshness):
        end = Component.from_segment(last)
        app.put_data(name, content=content, freshness_period=freshness, final_block_id=end, digest_sha256=True)

    @app.route(prefix)
    def answer(name, parameters, _application_parameters):
        if parameters.can_be_prefix and Name.is_prefix(name, metadata):
            named = metadata + [Component.from_version(time.time_ns() // 1000), Component.from_segment(0)]
            put(named, Name.encode(versioned), 0, METADATA_FRESHNESS)
        elif (piece := segments.get(bytes(Name.encode(name)))) is not None:
            put(name, piece, len(pieces) - 1, SEGMENT_FRESHNESS)

    logging.basicConfig(level=logging.WARNING)
    app.run_forever()


if __name__ == "__main__":
    main()
