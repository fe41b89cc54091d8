#!/usr/bin/env python3
"""Checks qlog files of ndnweir against a JSON schema, record by record, and for what a viewer relies on.

    target/peers/python/bin/python scripts/check_qlog.py tests/qlog/qlog-0.3.schema.json run.sqlog fetch.sqlog
"""
import collections
import json
import sys

import jsonschema


def records(path):
    """The JSON texts of a sequence (RFC 7464)."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, *parts = text.split("\x1e")
    assert before == "" and parts, f"{path} is no sequence of JSON texts"
    for part in parts:
        assert part.endswith("\n"), "a record without its end"
        yield json.loads(part)


def check(path, validator):
    head, *events = records(path)
    for record in [head, *events]:
        validator.validate(record)
    assert head["qlog_format"] == "JSON-SEQ" and events, path
    times = [event["time"] for event in events]
    assert times == sorted(times), "events are in order of time"
    counts = collections.Counter(event["name"] for event in events)
    for group in {event["group_id"] for event in events}:
        sent, over, largest = set(), set(), 0
        for event in (event for event in events if event["group_id"] == group):
            data = event["data"]
            match event["name"]:
                case "transport:packet_sent":
                    number = data["header"]["packet_number"]
                    assert number == len(sent), f"{group}: packet numbers are those of Interests, without gaps"
                    sent.add(number)
                case "recovery:packet_lost":
                    assert data["header"]["packet_number"] in sent - over
                    over.add(data["header"]["packet_number"])
                case "transport:packet_received":
                    for first, last in data["frames"][0].get("acked_ranges", []):
                        assert first == last and first in sent - over, f"{group}: {first} is acknowledged once, after it was sent"
                        over.add(first)
                case "recovery:metrics_updated":
                    largest = max(largest, data.get("congestion_window", 0))
        assert largest > 0, f"{group} has no window"
    for ndn, quic in [
        ("interest_sent", "transport:packet_sent"),
        ("data_received", "transport:packet_received"),
        ("interest_lost", "recovery:packet_lost"),
    ]:
        assert counts[f"ndn:{ndn}"] == counts[quic], f"{ndn} and {quic}: {counts}"
    assert counts["ndn:data_received"] > 100, counts
    return counts


def main():
    schema, *paths = sys.argv[1:]
    with open(schema, encoding="utf-8") as file:
        rules = json.load(file)
    validator = jsonschema.Draft202012Validator(rules)
    validator.check_schema(rules)
    # A schema that accepts anything would show nothing.
    for wrong in [
        {"time": 1, "name": "transport:packet_sent", "group_id": "x", "data": {"header": {"packet_type": "1RTT"}}},
        {"time": -1, "name": "recovery:metrics_updated", "group_id": "x", "data": {}},
        {"time": 1, "name": "recovery:metrics_updated", "group_id": "x", "data": {"cwnd": 1}},
        {"qlog_version": "0.3", "qlog_format": "JSON"},
    ]:
        assert not validator.is_valid(wrong), f"the schema accepts {wrong}"
    counts = [check(path, validator) for path in paths]
    assert counts[0]["recovery:packet_lost"] > 0, "the simulated run has losses"
    for path, count in zip(paths, counts):
        print(f"{path.rsplit('/')[-1]}: {dict(count)}")


main()
