"""Toolsets served over MCP: a loop over their tools, resources and prompts, on `wire`'s server side.

`catalogs.py` makes them, `door.py` carries a call out, `refusals.py` is the table from error to answer. No verb lives here.
"""
