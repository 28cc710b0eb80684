"""The `kumi` command: a table of verbs, parsing, drawing, exit codes.

`entry.py` is where it starts. A new verb is a line in `verbs.py`; its work is an operation.
"""
