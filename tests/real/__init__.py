"""The real agent CLIs, offline: each talks to a scripted model of ours, on this machine alone.

They are installed by npm when they are first needed, and are large: these tests run by `make test-real` only.
"""
