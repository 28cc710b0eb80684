"""`hub`: for anyone who wants the tools of other MCP servers through one door."""

from __future__ import annotations

from typing import Any

from kumihimo.toolsets.toolset import Tool, Toolset


def _failed(outcome: Any) -> bool:
    return not outcome.success


TOOLSET = Toolset(
    name="hub",
    dialect="hub",
    caller="owner",
    tools=(
        Tool("hub_servers", "hub.servers", "Servers behind the hub"),
        Tool("hub_search", "hub.search", "Find tools"),
        Tool("hub_describe", "hub.describe", "What a tool takes"),
        Tool("hub_call", "hub.call", "Call a tool", required=("params",), failed=_failed),
        Tool("hub_batch", "hub.batch", "Call many tools", names={"max_parallel": "maxParallel"}),
        Tool("hub_prompts", "hub.prompts", "Prompts of the servers"),
        Tool("hub_get_prompt", "hub.get_prompt", "Fill a prompt", required=("args",)),
        Tool("hub_resources", "hub.resources", "Resources of the servers"),
        Tool("hub_read_resource", "hub.read_resource", "Read a resource"),
        Tool("hub_stats", "hub.stats", "How the servers are used"),
    ),
)
