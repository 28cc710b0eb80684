from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo import operations
from kumihimo.operations.catalogue import NOUNS, every, named
from kumihimo.operations.operation import Shape
from kumihimo.surfaces.cli.verbs import VERBS
from kumihimo.toolsets.camel.presenting import MANY, ONE
from kumihimo.toolsets.registry import NAMES, toolset

ROOM = Path(operations.__path__[0])
PRESENTED_BY_TOOLSETS = {tool.operation for name in NAMES for tool in toolset(name).tools if tool.present}
SNAPSHOTS = Path(__file__).parent.parent / "snapshots" / "operations"


def test_every_file_of_the_room_is_listed() -> None:
    found = {path.stem for path in ROOM.glob("*.py")} - {"__init__", "operation", "catalogue"}
    assert found == set(NOUNS)


def test_every_operation_has_its_own_name_and_is_found_by_it() -> None:
    names = [operation.name for operation in every()]
    assert len(set(names)) == len(names)
    assert [named(name).name for name in names] == names


@pytest.mark.parametrize("name", [operation.name for operation in every()])
def test_every_operation_says_what_it_does_and_has_a_shape_and_a_snapshot(name: str) -> None:
    operation = named(name)
    assert operation.description.endswith(".")
    shown = isinstance(operation.answer, type) and issubclass(operation.answer, Shape)
    assert shown or operation.answer in ONE or operation.answer in MANY or name in PRESENTED_BY_TOOLSETS
    assert (SNAPSHOTS / f"{name}.json").is_file()
    assert not (operation.reads and operation.destructive)


def test_every_verb_of_the_command_line_is_an_operation_with_such_arguments() -> None:
    for verb in VERBS:
        fields = set(named(verb.operation).arguments.__struct_fields__)
        assert set(verb.bare) <= fields, verb.words
        assert set(verb.flags) <= fields, verb.words
