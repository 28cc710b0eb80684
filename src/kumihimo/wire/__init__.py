"""MCP itself: JSON-RPC, the protocol's revisions, stdio, Streamable HTTP and, for clients, HTTP+SSE and WebSocket.

Knows no noun of the product. Nothing of kumihimo but `kumihimo.wire` may be imported here. A new protocol feature is one
file named after its noun (`tool.py`, `task.py`); a new way to carry messages is one file beside `stdio.py` and `http.py`;
the client side is in `client/`, HTTP/1.1 itself in `serving/`.
"""
