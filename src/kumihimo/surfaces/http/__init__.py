"""The HTTP door: who may come in (`access.py`), what is where (`application.py`), and the process itself (`host.py`).

Loopback only unless told. Everything but `/healthz` needs a token.
"""
