"""How people and programs reach the product: `cli/`, `mcp/`, `http/`, `live/`, `dashboard/`; `host/` is the process
that keeps them up, `hubs/` what they share of the hub, `telemetry/` what they tell of themselves.

Loops over operations and toolsets; no verb lives here except the ways of running (`up`, `mcp serve`, `demo`, ...).
"""
