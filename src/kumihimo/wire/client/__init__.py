"""MCP's client side: one live session with one server, on stdio or Streamable HTTP, in either era of the protocol.

`connect.py` opens a session and negotiates, `session.py` is what one calls; below them a carrier (`stdio.py`, `http.py`)
moves the messages, and `dialogue.py` brings each answer to whoever waits for it. A new way to carry messages is one file
that has what `carrier.py` asks for. Nothing but `kumihimo.wire` is imported here.
"""
