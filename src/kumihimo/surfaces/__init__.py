"""How people and programs reach the product: `cli/`, `mcp/`, `http/`, `dashboard/`.

Loops over operations and toolsets; no verb lives here except the ways of running (`up`, `mcp serve`, `demo`, ...).
"""
