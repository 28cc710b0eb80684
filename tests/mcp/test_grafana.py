"""The dashboard for Grafana shows what `/metrics` has, all of it, and nothing that it has not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from tests.hub.hub_kit import Scripted
from tests.mcp.http_door import HttpDoor

FILE = Path(__file__).parents[2] / "docs/grafana/kumihimo.json"
METRIC = re.compile(r"\b((?:kumihimo|process)_\w+)(?:\{([^}]*)\})?")
# What Prometheus adds itself when it reads.
ADDED = {"instance", "job"}


def queries() -> list[str]:
    board = json.loads(FILE.read_text("utf-8"))
    shown = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    return shown + [it["definition"] for it in board["templating"]["list"] if it["type"] == "query"]


def samples(door: HttpDoor, tmp_path: Path) -> dict[str, set[str]]:
    """The labels of every metric, once there is something to be told of each."""
    server = Scripted(tmp_path, "alpha", {"name": "echo"})
    file = Path(door.town.alpha.working_directory) / "mcp.config.yaml"
    file.write_text(yaml.safe_dump({"servers": [server.config]}))
    door.town.task()
    door.ask("POST", "/api/v1/hub/call?project=alpha", door.owner, {"tool": "alpha:echo", "params": {}})
    text = door.ask("GET", "/metrics", door.owner).body.decode()
    families: dict[str, set[str]] = {name: set() for name in re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
        families.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return families


def test_every_metric_and_label_of_the_dashboard_is_told_and_every_metric_of_ours_is_shown(
    door: HttpDoor, tmp_path: Path
) -> None:
    told = samples(door, tmp_path)
    shown: set[str] = set()
    for query in queries():
        found = METRIC.findall(query)
        assert found, query
        for name, conditions in found:
            assert name in told, f"{name} in {query}"
            labels = set(re.findall(r"(\w+)\s*(?:=|!)", conditions))
            # Which runs there are differs from moment to moment: there may be none now.
            known = told[name] | ({"status"} if name == "kumihimo_runs" else set())
            assert labels <= known | ADDED, query
            shown.add(re.sub(r"_(bucket|sum|count)$", "", name))
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in told}
    assert {name for name in families if name.startswith("kumihimo_")} <= shown


def test_every_panel_has_a_place_of_its_own_and_a_query() -> None:
    panels: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert panel["type"] == "row" or panel["targets"]
