"""`/api/v1`: every operation for the owner, and for nobody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from kumihimo.domain.token import Token
from kumihimo.operations.catalogue import every
from tests.hub.hub_kit import Scripted
from tests.mcp.http_door import HttpDoor, Response


def api(door: HttpDoor, path: str, body: Any = None, token: str | None = "owner", **headers: str) -> Response:
    return door.ask("POST", f"/api/v1/{path}", door.owner if token == "owner" else token, body, **headers)


def refused(response: Response, status: int) -> str:
    assert response.status == status, response.body
    return json.loads(response.body)["error"]["code"]


def test_operations_do_what_the_terminal_does(door: HttpDoor) -> None:
    made = api(door, "task/create?project=alpha", {"title": "By HTTP"})
    assert made.status == 200
    assert json.loads(made.body)["title"] == "By HTTP"
    listed = json.loads(api(door, "task/list?project=alpha").body)
    assert [task["title"] for task in listed["tasks"]] == ["By HTTP"]
    assert {project["name"] for project in json.loads(api(door, "project/list", {}).body)["projects"]} == {
        "alpha",
        "beta",
    }
    assert json.loads(api(door, "instance/health").body)["status"] == "ok"


def test_what_is_wrong_is_told_with_a_status_a_code_and_a_sentence(door: HttpDoor) -> None:
    assert refused(api(door, "task/show?project=alpha", {"task": 99}), 404) == "TaskNotFound"
    assert refused(api(door, "task/create?project=alpha", {}), 400) == "InvalidValue"
    assert refused(api(door, "task/create?project=alpha", {"title": "x", "colour": "red"}), 400) == "InvalidValue"
    assert refused(api(door, "task/list?project=nowhere"), 404) == "ProjectNotFound"
    assert refused(api(door, "task/list", [1]), 400) == "InvalidValue"
    assert refused(api(door, "no/such"), 404) == "NoSuchOperation"
    assert refused(api(door, "mine/task"), 401) == "TokenRefused"
    assert refused(door.ask("GET", "/api/v1/task/list", door.owner), 405) == "MethodNotAllowed"
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert refused(api(door, "task/list", "a=b", **form), 415) == "UnsupportedMediaType"
    made = json.loads(api(door, "group/create", {"description": "x"}).body)["groupId"]
    assert api(door, "group/delete", {"group": made}).status == 200
    assert refused(api(door, "group/delete", {"group": made}), 404) == "GroupNotFound"


def test_a_backup_that_cannot_be_used_is_the_callers_trouble_not_the_servers(door: HttpDoor, tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"not a database" * 100)
    for file, code in (("junk", "StoreNotOurs"), ("nothing", "StoreUnreachable")):
        assert refused(api(door, "board/restore", {"file": str(tmp_path / file)}), 409) == code
    assert api(door, "board/backup", {"file": str(tmp_path / "copy")}).status == 200
    assert refused(api(door, "board/backup", {"file": str(tmp_path / "copy")}), 409) == "StoreNotEmpty"
    assert refused(api(door, "board/restore", {"file": str(tmp_path / "copy")}), 409) == "StoreNotEmpty"


def test_a_number_without_a_fraction_is_an_integer_however_it_is_written(door: HttpDoor) -> None:
    assert api(door, "task/list?project=alpha", {"limit": 2.0}).status == 200
    assert refused(api(door, "task/list?project=alpha", {"limit": 2.5}), 400) == "InvalidValue"


def test_nobody_but_the_owner_gets_in(door: HttpDoor) -> None:
    runner = door.town.board.tokens.issue(Token("runner"))
    for path in ("/api/v1/task/list", "/openapi.json"):
        method = "GET" if path == "/openapi.json" else "POST"
        assert refused(door.ask(method, path, None), 401) == "Refused"
        assert refused(door.ask(method, path, runner), 403) == "Refused"
        assert refused(door.ask(method, path, "wrong"), 401) == "Refused"
        for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
            assert refused(door.ask(method, path, door.owner, **headers), 403) == "Refused"


def test_a_wait_waits_and_the_hub_is_there_as_well(door: HttpDoor, tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})
    file = Path(door.town.alpha.working_directory) / "mcp.config.yaml"
    file.write_text(yaml.safe_dump({"servers": [alpha.config]}))
    called = json.loads(api(door, "hub/call?project=alpha", {"tool": "alpha:echo", "params": {"a": 1}}).body)
    assert called["success"] is True
    assert refused(api(door, "hub/describe?project=alpha", {"tool": "alpha:nope"}), 404) == "TOOL_NOT_FOUND"
    assert json.loads(api(door, "instance/wait", {"timeout_ms": 1}).body)["timed_out"] is True
    door.town.task()
    assert json.loads(api(door, "instance/wait", {"timeout_ms": 30000}).body)["pairs"]


def test_the_description_has_every_operation_and_its_schemas_are_schemas(door: HttpDoor) -> None:
    described = json.loads(door.ask("GET", "/openapi.json", door.owner).body)
    assert described["openapi"].startswith("3.1")
    assert set(described["paths"]) == {f"/api/v1/{it.name.replace('.', '/')}" for it in every()}
    for path in described["paths"].values():
        for schema in (path["post"]["requestBody"], path["post"]["responses"]["200"]):
            found = schema["content"]["application/json"]["schema"]
            jsonschema_rs.Draft202012Validator({**found, "components": described["components"]})


@pytest.mark.parametrize("body", [b"\xff\xfe", b"{", b'{"title": "\xed\xa0\x80"}', b"[" * 100_000, b"null", b"7"])
def test_bytes_that_are_no_json_object_are_refused(door: HttpDoor, body: bytes) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", door.running.port, timeout=30)
    headers = {"authorization": f"Bearer {door.owner}", "content-type": "application/json"}
    connection.request("POST", "/api/v1/task/create?project=alpha", body, headers)
    assert connection.getresponse().status == 400
    connection.close()


def test_metrics_tell_of_the_board_and_of_calls_through_the_hub(door: HttpDoor, tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, 'al"pha', {"name": "echo"}, {"name": "bad", "does": "error"})
    file = Path(door.town.alpha.working_directory) / "mcp.config.yaml"
    file.write_text(yaml.safe_dump({"servers": [alpha.config]}))
    door.town.task()
    for tool in ("echo", "echo", "bad"):
        api(door, "hub/call?project=alpha", {"tool": f'al"pha:{tool}', "params": {}})
    response = door.ask("GET", "/metrics", door.owner)
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = response.body.decode().splitlines()
    assert 'kumihimo_tasks{status="in_progress"} 1' in lines
    assert 'kumihimo_hub_calls_total{server="al\\"pha",outcome="ok"} 2' in lines
    assert 'kumihimo_hub_calls_total{server="al\\"pha",outcome="EXECUTION_FAILED"} 1' in lines
    assert 'kumihimo_hub_call_seconds_count{server="al\\"pha"} 3' in lines
    assert 'kumihimo_hub_call_seconds_bucket{server="al\\"pha",le="+Inf"} 3' in lines
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families)) >= 10
    assert door.ask("GET", "/metrics", None).status == 401


def test_a_refusal_is_in_the_language_that_the_caller_reads(door: HttpDoor) -> None:
    def told(language: str | None) -> str:
        headers = {} if language is None else {"accept-language": language}
        response = api(door, "task/show?project=alpha", {"task": 99}, **headers)
        return json.loads(response.body)["error"]["message"]

    assert told(None) == told("en-GB,en;q=0.9") == told("fr")
    assert told("ja-JP,ja;q=0.9,en;q=0.5") != told("en")


def test_what_the_doctor_finds_is_in_the_language_that_the_caller_reads(door: HttpDoor) -> None:
    def found(language: str) -> dict[str, str]:
        checks = json.loads(api(door, "board/doctor", {}, **{"accept-language": language}).body)["checks"]
        return {check["name"]: check["detail"] for check in checks}

    english, japanese = found("en"), found("ja")
    assert "free" in english["disk"]
    assert "空き" in japanese["disk"]
