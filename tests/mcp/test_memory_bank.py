"""The memory bank at every door: what is shown is what is given."""

from __future__ import annotations

from pathlib import Path

from tests.mcp.town import Town

BANK = {"id": "linter", "category": "tooling", "title": "Use ruff", "content": "日本語\n\n- one\n  - two\n"}


def test_a_login_is_given_what_the_preview_shows_after_the_prompt_of_its_own(town: Town) -> None:
    editor, worker = town.client("editor"), town.client("worker")
    own = "You write the front end. 日本語も。"
    pair = {"agent_id": town.dev.agent.id, "passkey": town.dev.passkey}
    bare = worker.call("authenticate", **pair, project_id=town.beta.id)
    assert bare["system_prompt"] == own, "another project has other decisions"
    editor.call("memory_add", **BANK)
    editor.call("memory_add", id="later", category="rule", title="Not yet", status="draft")
    shown = editor.call("memory_preview")["content"]
    login = worker.call("authenticate", **pair, project_id=town.alpha.id)
    assert "Use ruff" in shown
    assert login["system_prompt"] == f"{own}\n\n{shown}"
    silent = worker.call("authenticate", agent_id=town.rev.agent.id, passkey=town.rev.passkey, project_id=town.alpha.id)
    assert silent["system_prompt"] == shown


def test_the_resource_is_the_preview_as_markdown(town: Town) -> None:
    editor = town.client("editor")
    assert editor.read("project://memory")["text"] == editor.call("memory_preview")["content"] == ""
    editor.call("memory_add", **BANK)
    found = editor.read("project://memory")
    assert found["mimeType"] == "text/markdown"
    assert found["text"] == editor.call("memory_preview")["content"]
    assert found["text"].endswith("日本語\n\n- one\n  - two\n")


def test_a_decision_of_an_editor_lies_in_the_folder_and_a_lost_copy_comes_back_with_the_preview(town: Town) -> None:
    editor = town.client("editor")
    editor.call("memory_add", **BANK)
    copy = Path(town.alpha.working_directory) / ".kumi/memory/tooling/linter.md"
    whole = copy.read_text()
    copy.unlink()
    editor.call("memory_preview")
    assert copy.read_text() == whole
