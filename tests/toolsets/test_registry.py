from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo import toolsets
from kumihimo.domain.errors import InvalidValue, ToolsetClash
from kumihimo.domain.messages import LANGUAGES
from kumihimo.operations.catalogue import every, named
from kumihimo.toolsets.registry import NAMES, together, toolset
from kumihimo.toolsets.texts import TEXTS, words
from kumihimo.toolsets.toolset import arguments_type

SNAPSHOTS = Path(__file__).parent.parent / "snapshots" / "tools"


def test_every_toolset_of_the_room_is_listed() -> None:
    room = Path(toolsets.__path__[0])
    found = {path.stem for path in room.glob("*.py") if "TOOLSET = " in path.read_text("utf-8")}
    assert found == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_is_an_operation_whose_arguments_it_has_and_has_a_snapshot(name: str) -> None:
    for tool in toolset(name).tools:
        fields = set(named(tool.operation).arguments.__struct_fields__)
        assert {*tool.names, *tool.without, *tool.types, *tool.required} <= fields, tool.name
        assert arguments_type(tool).__struct_config__.forbid_unknown_fields
        assert tool.title
        assert (SNAPSHOTS / name / f"{tool.name}.json").is_file(), tool.name


def test_the_three_of_a_runner_are_one_server_and_a_clash_is_named() -> None:
    assert len(together(["runner", "worker", "manager"])) == 3
    assert len(together(["editor", "runner", "editor"])) == 2
    with pytest.raises(ToolsetClash, match="list_agents"):
        together(["worker", "resident"])
    with pytest.raises(ToolsetClash, match=r"task://\{id\}"):
        together(["manager", "editor"])
    with pytest.raises(InvalidValue, match="runner"):
        together(["nonsense"])


def test_every_text_speaks_every_language() -> None:
    assert all(set(spoken) == set(LANGUAGES) for spoken in TEXTS.values())


def test_no_operation_is_forgotten() -> None:
    from kumihimo.surfaces.cli.verbs import VERBS

    offered = {tool.operation for name in NAMES for tool in toolset(name).tools} | {verb.operation for verb in VERBS}
    # Read as resources, to come with the engine's own surfaces, or reached by verbs that are ways of their own.
    assert {operation.name for operation in every()} - offered == {
        "group.create", "group.delete", "group.list", "group.show", "login.logout", "mine.session", "handoff.list",
        "worker.run", "run.proof", "board.status", "run.conversation", "run.errors",
    } - offered  # fmt: skip


def test_what_an_instance_is_told_in_japanese_are_the_words_of_the_design() -> None:
    assert words("logged_in", "ja") == "get_my_task を呼び出してタスク詳細を取得してください"
    assert words("has_task", "ja") == "タスクを完了したら report_completed を呼び出してください"
    assert words("no_task", "ja") == "現在割り当てられたタスクはありません"
    assert words("reported", "ja") == "タスクが完了しました。セッションを終了します。"
    assert words("session_closed", "ja") == "セッションが終了されました"
