"""Agents that are started have the hub of their project in the endpoint of their own work."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import yaml

from kumihimo.domain.hub_call import KIND, HubCall
from kumihimo.settings import Flags, load
from tests.hub.hub_kit import Scripted
from tests.lead.conftest import OpenShop
from tests.lead.shop import Lead, Shop, until


def endpoint(shop: Shop, name: str) -> str:
    """The URL of our MCP, as the agent was given it."""
    (start,) = shop.records("start", name)
    told = json.loads(next(word for word in start["argv"] if "mcpServers" in word))
    (server,) = told["mcpServers"].values()
    return server["url"]


def started(shop: Shop, lead: Lead, name: str) -> str:
    (run,) = lead.run(lead.group(), shop.script(name))
    lead.wait(run)
    return endpoint(shop, name)


def test_an_agent_has_the_hub_where_its_project_has_servers(open_shop: OpenShop, tmp_path: Path) -> None:
    shop = open_shop()
    lead = shop.lead()
    assert started(shop, lead, "without").endswith("/mcp/worker")
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})
    (shop.folder / "mcp.config.yaml").write_text(yaml.safe_dump({"servers": [alpha.config]}))
    assert started(shop, lead, "with").endswith("/mcp/hub,worker")
    (shop.folder / "kumi.toml").write_text('[hub]\nexpose = "all"\n')
    assert started(shop, lead, "shown").endswith("/mcp/hub,worker?expose=all")
    (shop.folder / "kumi.toml").write_text("[hub]\nagents = false\n")
    assert started(shop, lead, "kept out").endswith("/mcp/worker")


def test_a_real_call_of_a_run_through_the_hub_is_on_record_with_it(open_shop: OpenShop, tmp_path: Path) -> None:
    shop = open_shop()
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})
    (shop.folder / "mcp.config.yaml").write_text(yaml.safe_dump({"servers": [alpha.config]}))
    lead = shop.lead()
    call = {"tool": "alpha:echo", "params": {"a": 1}}
    (run,) = lead.run(lead.group(), shop.script("caller").mcp("hub_call", **call).report_result(summary="Done."))
    lead.wait(run)
    assert alpha.calls("echo") == 1

    def kept() -> list[str | None]:
        events = shop.board.store.events_after(None, 10_000)
        return [msgspec.json.decode(event.data, type=HubCall).execution_id for event in events if event.kind == KIND]

    until(kept)
    assert kept() == [run]


def test_servers_of_the_user_count_as_well_and_so_does_a_file_that_was_named(tmp_path: Path) -> None:
    home, project, other = tmp_path / "home", tmp_path / "project", tmp_path / "other.yaml"
    home.mkdir()
    project.mkdir()
    environ = {"KUMI_HOME": str(home)}
    assert load(Flags(), environ, project).door_path(project) == "/mcp/worker"
    assert load(Flags(hub_config=str(other)), environ, project).door_path(project) == "/mcp/hub,worker"
    (home / ".mcp.json").write_text("{}")
    assert load(Flags(), environ, project).door_path(project) == "/mcp/hub,worker"
