#!/usr/bin/env python3
"""Decodes a trace with Perfetto's own message classes and checks what its viewer relies on.

    target/peers/python/bin/python scripts/check_perfetto.py run.perfetto-trace
"""
import collections
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

tracks = {}
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid not in tracks, f"two tracks {track.uuid}"
        tracks[track.uuid] = track
for track in tracks.values():
    assert not track.parent_uuid or tracks[track.parent_uuid].HasField("process"), f"{track.name} belongs to no node"

counts = collections.Counter()
events = [(packet.timestamp, packet.track_event) for packet in trace.packet if packet.HasField("track_event")]
# Of events at one time the viewer takes those first that come first in the file.
events.sort(key=lambda event: event[0])
open_slices = collections.defaultdict(list)
flows = collections.defaultdict(list)
for at, event in events:
    track = tracks[event.track_uuid]
    assert at < 2**63
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        open_slices[event.track_uuid].append(event)
        assert len(open_slices[event.track_uuid]) == 1, f"{track.name}: two transmissions at a time, at {at} ns"
        kind = event.categories[0]
        assert event.name.startswith(kind + " /"), event.name
        counts[kind] += 1
        for flow in event.flow_ids:
            flows[flow].append((at, kind, False, event.name))
        for flow in event.terminating_flow_ids:
            flows[flow].append((at, kind, True, event.name))
    elif event.type == TrackEvent.TYPE_SLICE_END:
        assert open_slices[event.track_uuid], f"{track.name}: an end without a beginning, at {at} ns"
        open_slices[event.track_uuid].pop()
    elif event.type == TrackEvent.TYPE_COUNTER:
        assert track.HasField("counter"), f"{track.name} is no counter"
        counts["counter values"] += 1
    else:
        assert event.type == TrackEvent.TYPE_INSTANT and event.name, event
        counts["changes"] += 1
assert not any(open_slices.values()), "a transmission that never ends"

answered = 0
for hops in flows.values():
    assert hops[0][1] == "Interest" and not hops[0][2], f"arrows begin with {hops[0]}"
    assert len({name.split(" ", 1)[1] for *_, name in hops}) == 1, f"arrows between names: {hops}"
    ends = [hop for hop in hops if hop[2]]
    assert len(ends) <= 1 and (not ends or hops[-1] == ends[0]), f"arrows go on after their end: {hops}"
    answered += bool(ends)
assert counts["Interest"] and counts["Data"] and counts["counter values"] and answered
print(f"Perfetto's classes read {dict(counts)}, {len(tracks)} tracks, {len(flows)} chains of arrows, {answered} complete")
