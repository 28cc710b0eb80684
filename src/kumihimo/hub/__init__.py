"""Many upstream MCP servers as one: registry, routing, retry, cache, sandbox.

Beside `services`, which it does not see. Nothing lives here yet.
"""
