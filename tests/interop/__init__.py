"""Official MCP clients on our real doors: `kumi mcp serve` and `kumi up`, as somebody else's program finds them.

One driver per client library (`drive_python.py`, `drive_typescript.mjs`) does what it is told by lines of JSON, so that every
test is written once and holds for every client, on either transport, in either era of the protocol.
"""
