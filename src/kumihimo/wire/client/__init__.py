"""MCP's client side: one live session with one server, by whatever carries it, in either era of the protocol.

`connect.py` opens a session and negotiates, `session.py` is what one calls, and `messenger.py` brings it to the server; below
them a carrier (`stdio.py`, `http.py`, `sse.py`, `websocket.py`) moves the messages, and `dialogue.py` brings each answer to
whoever waits for it, and each question to whoever can be asked. A new way to carry messages is one file that has what
`carrier.py` asks for. Nothing but `kumihimo.wire` is imported here.
"""
