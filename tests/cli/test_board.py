"""The board from the terminal: every verb does its work and answers in both forms."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from tests.cli.conftest import Kumi


def test_init_makes_a_project_once_and_writes_its_file_once(kumi: Kumi) -> None:
    first = kumi("init", "--json").json
    file = Path("kumi.toml")
    file.write_text(file.read_text() + "\n# mine\n")
    again = kumi("init", "--json").json
    assert (first["created"], again["created"]) == (True, False)
    assert first["id"] == again["id"] == first["projectId"]
    assert first["agents"] == ["planner", "coder", "reviewer", "writer"]
    assert file.read_text().endswith("# mine\n")
    assert [project["name"] for project in kumi("project", "ls", "--json").json["projects"]] == ["shop"]


def test_a_life_of_a_task_from_plan_to_done(shop: Kumi) -> None:
    assert "Task #1 added" in shop("task", "add", "Build it", "--assignee", "coder", "--priority", "urgent").out
    assert shop("task", "add", "Test it", "--depends-on", "1", "--parent", "1").code == 0
    task = shop("task", "show", 2, "--json").json
    assert (task["id"], task["dependsOn"], task["parent"], task["status"]) == (2, [1], 1, "todo")
    assert shop("task", "show", 1, "--json").json["priority"] == "critical"
    assert shop("session", "start", 1, "--json").json["agent"] == "coder"
    assert shop("session", "start", 1).code == 6
    assert shop("task", "update", 2, "--status", "cancelled").code == 0
    ended = shop("session", "end", 1, "--exit-code", 0, "--dod-result", "merged", "--json").json
    assert (ended["status"], ended["taskStatus"], ended["exitCode"]) == ("completed", "done", 0)
    assert [t["id"] for t in shop("task", "ls", "--status", "done", "--json").json["tasks"]] == [1]


def test_words_of_an_editor_are_read_and_the_boards_own_are_written(shop: Kumi) -> None:
    for title in ("a", "b"):
        shop("task", "add", title, "--assignee", "coder")
    shop("session", "start", 1)
    shop("session", "end", 1, "--exit-code", 1)
    assert [t["status"] for t in shop("task", "ls", "--status", "failed", "--json").json["tasks"]] == ["blocked"]
    assert shop("task", "update", 1, "--status", "open", "--json").json["status"] == "todo"
    assert len(shop("task", "list", "--status", "open", "--json").json["tasks"]) == 2


def test_contexts_and_handoffs_pass_from_one_agent_to_the_next(shop: Kumi) -> None:
    shop("task", "add", "x")
    shop("context", "save", 1, "--progress", "half", "--findings", "-", stdin="二つ\nnew\n".encode())
    shop("context", "add", 1, "The API lies", "--type", "decision", "--agent", "coder")
    shown = shop("context", "show", 1, "--json").json
    assert (shown["progress"], shown["findings"]) == ("half", "二つ\nnew\n")
    assert [(note["type"], note["content"]) for note in shown["notes"]] == [("decision", "The API lies")]
    assert "history" not in shown
    assert len(shop("context", "show", 1, "--history", "--json").json["history"]) == 3
    made = shop("handoff", "create", 1, "--from", "coder", "--to", "reviewer", "--summary", "ready", "--next-step", "a",
                "--next-step", "b", "--warning", "c", "--json").json  # fmt: skip
    assert (made["nextSteps"], made["warnings"], made["status"]) == (["a", "b"], ["c"], "pending")
    assert shop("handoff", "accept", made["id"], "--agent", "writer").code == 1
    assert shop("handoff", "accept", made["id"], "--agent", "reviewer").code == 0
    assert shop("handoff", "accept", made["id"], "--agent", "reviewer").code == 6
    assert shop("handoff", "ls", "--json").json == {"handoffs": []}


def test_decisions_reach_agents_only_while_they_are_active(shop: Kumi, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("From a file.")
    shop("memory", "add", "linter", "--category", "tooling", "--title", "Use ruff", "--content", f"@{note}")
    # No name of a file is so long: it is what it says.
    assert shop("task", "add", "A long one", "--description", "@" + "a" * 5000).code == 0
    shop("memory", "add", "later", "--category", "rule", "--title", "Not yet", "--status", "draft")
    assert shop("memory", "show", "linter", "--json").json["content"] == "From a file."
    assert "Use ruff" in (text := shop("memory", "preview").out)
    assert "Not yet" not in text
    assert shop("memory", "preview", "--json").json["memories"] == ["linter"]
    shop("memory", "update", "later", "--status", "active")
    shop("memory", "archive", "linter")
    assert shop("memory", "preview", "--json").json["memories"] == ["later"]


def test_a_passkey_is_printed_once_and_never_again(shop: Kumi, home: Path) -> None:
    added = shop(
        "agent", "add", "dev", "--client", "codex", "--capability", "api", "--capability", "sql", "--json"
    ).json
    again = shop("agent", "rekey", "dev", "--json").json
    assert added["capabilities"] == ["api", "sql"]
    assert added["passkey"] != again["passkey"]
    everything = (
        shop("agent", "show", "dev").out
        + shop("agent", "ls", "--json").out
        + shop("agent", "show", "dev", "--json").out
    )
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    for passkey in (added["passkey"], again["passkey"]):
        assert passkey not in everything
        assert passkey.encode() not in stored
    assert b"$argon2id$" in stored
    assert "passkey" not in shop("agent", "update", "dev", "--role", "x", "--json").json


def test_projects_are_paused_resumed_archived_and_staffed(shop: Kumi, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert shop("project", "add", "other", "--dir", tmp_path / "other", "--worktrees").code == 0
    for verb, status in (("pause", "paused"), ("resume", "active"), ("archive", "archived")):
        assert shop("project", verb, "other", "--json").json["status"] == status
    assert shop("project", "assign", "other", "coder", "--json").json["agents"] == ["coder"]
    assert shop("project", "unassign", "other", "coder", "--json").json["agents"] == []
    shown = shop("project", "show", "other", "--json").json
    assert (shown["worktrees"], shown["workingDirectory"]) == (True, str(tmp_path / "other"))


def test_status_and_doctor_say_how_things_are(shop: Kumi, home: Path) -> None:
    shop("task", "add", "x")
    seen = shop("status", "--json").json
    assert (seen["projects"], seen["tasks"], seen["pid"], seen["url"]) == (1, {"todo": 1}, None, None)
    assert seen["tokenFile"] == str(home / "token")
    doctor = shop("doctor", "--json")
    assert doctor.code == 0
    assert {check["name"]: check["status"] for check in doctor.json["checks"]}["database"] == "ok"
    assert shop("doctor", "--fix").code == 0


def test_the_database_is_checked_backed_up_restored_and_moved(shop: Kumi, tmp_path: Path) -> None:
    shop("task", "add", "kept")
    assert shop("db", "migrate", "--json").json["applied"] == []
    assert shop("db", "check").code == 0
    assert shop("db", "backup", tmp_path / "b").code == 0
    assert shop("db", "backup", tmp_path / "b").code == 4
    assert shop("--db", tmp_path / "r.db", "db", "restore", tmp_path / "b").code == 0
    assert shop("db", "move", tmp_path / "m.db").code == 0
    for copy in ("r.db", "m.db"):
        assert shop("--db", tmp_path / copy, "task", "show", 1, "--json").json["title"] == "kept"


def test_a_list_is_paged_by_its_cursor(shop: Kumi) -> None:
    for number in range(5):
        shop("task", "add", f"t{number}")
    first = shop("task", "ls", "--limit", 2, "--json").json
    assert [task["id"] for task in first["tasks"]] == [5, 4]
    second = shop("task", "ls", "--limit", 3, "--cursor", first["nextCursor"], "--json").json
    assert [task["id"] for task in second["tasks"]] == [3, 2, 1]
    assert "nextCursor" not in second
    assert shop("task", "ls", "--cursor", "nonsense").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(kumi: Kumi, shell: str) -> None:
    printed = kumi("completion", shell)
    assert printed.code == 0
    assert "_KUMI_COMPLETE" in printed.out


def test_the_demo_runs_two_stages_to_their_end_and_leaves_nothing(kumi: Kumi) -> None:
    before = set(Path(tempfile.gettempdir()).glob("kumi-demo-*"))
    printed = kumi("demo")
    assert printed.code == 0, printed.err
    for role, did in (("planner", "PLAN.md"), ("writer", "README.md"), ("coder", "test_login.py"), ("reviewer", "-")):
        assert re.search(rf"^{role} +resultReported +\d+ +\d+ .*{re.escape(did)}", printed.out, re.MULTILINE), role
    assert "kumi group run GROUP --role coder" in printed.out
    assert set(Path(tempfile.gettempdir()).glob("kumi-demo-*")) == before
