"""The HTTP door: who may come in (`access.py`, `cookies.py`, `codes.py`), and what is where (`application.py`).

Loopback only unless told. Everything but `/healthz` needs a token.
"""
