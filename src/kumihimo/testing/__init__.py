"""The shipped test kit: a fake clock, countable ids, stores on both databases.

For our own tests and for those of programs built on Kumihimo. Not imported by anything that runs in production.
"""
