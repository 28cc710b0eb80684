"""OAuth for servers behind HTTP: how a client comes by a token, keeps it, renews it and is let in again after a refusal.

`authorization.py` is what a carrier asks, `oauth.py` answers it. Below: `discovery.py` finds out who gives tokens, a way
(`login.py`, `client_credentials.py`, `jwt_bearer.py`) gets the first one, `store.py` and `file_store.py` keep it, and
`possession.py` proves that it is ours. Another way is one file that has what `way.py` asks for. But for the first, nothing of
it is imported before a server needs it.
"""
