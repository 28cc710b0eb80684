"""Toolsets served over MCP. Nothing lives here yet."""
