"""One file per agent CLI: its command line, the reader of its stream, the judge of its end.

`client.py` says what every one of them is and `happenings.py` what a stream can tell; `registry.py` finds one by its name. A new
CLI is one file here, one line in the registry, and its captured streams under `tests/engine/agents/streams/`.
"""
