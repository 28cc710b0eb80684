"""The truth: plain SQL, one repository per noun, numbered migrations, the change feed and its bell.

`sqlite.py` and `postgres.py` hold everything in which the two databases differ; all other SQL here is read by both.
Imports `domain` and `settings` only. A new backend is one file beside those two.
"""
