"""Networks that several test files use."""

ONE = """
name = "one"
[run]
duration = "4s"
[[node]]
name = "C"
[[node]]
name = "P"
[[link]]
ends = ["C", "P"]
rate = "8Mbps"
delay = "10ms"
queue = "100 packets"
[[producer]]
name = "P"
node = "P"
prefix = "/a"
[[consumer]]
name = "C"
node = "C"
prefix = "/a"
"""
