"""The tools as they are listed: schemas that leave nothing open, and hints that are true."""

from __future__ import annotations

from typing import Any

from tests.lead.shop import Lead

TOOLS = [
    "create_group", "delete_group", "run_agents", "run_sequential", "list_agents", "get_agent_status", "wait_agent",
    "report_result", "list_roles", "cancel_agent", "continue_agent", "get_agent_output",
]  # fmt: skip
READING = {"list_agents", "get_agent_status", "wait_agent", "list_roles", "get_agent_output"}
DESTRUCTIVE = {"delete_group", "cancel_agent"}
REQUIRED = {
    "create_group": {"description"}, "delete_group": {"groupId"}, "run_agents": {"groupId", "agents"},
    "run_sequential": {"groupId", "stages"}, "list_agents": set[str](), "get_agent_status": {"agentId"},
    "wait_agent": {"agentIds"}, "report_result": {"agentId", "status", "summary"}, "list_roles": set[str](),
    "cancel_agent": {"agentId"}, "continue_agent": {"agentId", "prompt"}, "get_agent_output": {"agentId"},
}  # fmt: skip
OPTIONAL = {
    "create_group": {"mode"}, "run_sequential": {"onFailure"}, "list_agents": {"groupId", "status"},
    "wait_agent": {"timeout_ms", "mode"}, "get_agent_output": {"cursor", "limit"},
    "report_result": {"editedFiles", "createdFiles", "errorMessage", "response"},
}  # fmt: skip


def _schemas(schema: Any) -> list[dict[str, Any]]:
    """A schema and every one inside it."""
    if isinstance(schema, list):
        return [found for one in schema for found in _schemas(one)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(found for one in schema.values() for found in _schemas(one))]


def test_the_tools_are_those_of_the_contract(lead: Lead) -> None:
    assert list(lead.tools()) == TOOLS


def test_every_tool_takes_the_arguments_of_the_contract_and_no_other(lead: Lead) -> None:
    for name, tool in lead.tools().items():
        schema = tool["inputSchema"]
        assert set(schema.get("required", [])) == REQUIRED[name], name
        assert set(schema.get("properties", {})) == REQUIRED[name] | OPTIONAL.get(name, set()), name
        for inner in _schemas(schema):
            if inner.get("type") == "object":
                assert inner["additionalProperties"] is False, name


def test_no_schema_counts_items_so_that_an_empty_list_gets_its_code(lead: Lead) -> None:
    for name, tool in lead.tools().items():
        assert not [inner for inner in _schemas(tool["inputSchema"]) if "minItems" in inner], name


def test_every_tool_is_described_and_so_is_every_argument(lead: Lead) -> None:
    for name, tool in lead.tools().items():
        assert tool["title"], name
        assert tool["description"], name
        assert tool["outputSchema"]["type"] == "object", name
        for argument, schema in tool["inputSchema"].get("properties", {}).items():
            assert schema.get("description"), (name, argument)


def test_the_hints_of_a_tool_say_what_it_may_do(lead: Lead) -> None:
    for name, tool in lead.tools().items():
        hints = tool["annotations"]
        assert hints["title"] == tool["title"]
        assert hints["readOnlyHint"] is (name in READING), name
        assert hints.get("destructiveHint", False) is (name in DESTRUCTIVE), name
        assert hints["openWorldHint"] is False, name
        assert isinstance(hints["idempotentHint"], bool)
