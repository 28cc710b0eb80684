"""The promises: tests that race, kill, fill and cheat real processes on real databases.

`crew.py` runs child processes, `workers.py` is what they do, `replay.py` holds the log against the board.
"""
