"""The parts of the scripted agent: one file per CLI that it can play, and what they share.

Thousands of these are started in a test run, so nothing here imports what costs at start-up: no pathlib, re, json, typing,
signal or subprocess at the top of a file. A new CLI is a file with a `Voice` and a line in `voices.py`.
"""
