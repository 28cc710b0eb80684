"""Groups of runs."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.domain.errors import GroupHasRunningAgents, GroupNotFound, InvalidValue
from kumihimo.domain.group import Group, GroupMode
from kumihimo.operations.operation import Arguments, Call, Nothing, operation


class CreateGroup(Arguments, frozen=True):
    description: Annotated[str, Meta(description="What the group is for.")]
    mode: Annotated[GroupMode, Meta(description="All at once, or stage by stage.")] = "concurrent"


class NameGroup(Arguments, frozen=True):
    group: Annotated[str, Meta(description="The id of the group.")]


@operation("group.create", CreateGroup, Group, InvalidValue)
def create(call: Call, arguments: CreateGroup) -> Group:
    """A new group for runs that belong together."""
    return call.board.groups.create(arguments.description, mode=arguments.mode)


@operation("group.list", Nothing, list[Group], reads=True)
def list_(call: Call, _: Nothing) -> list[Group]:
    """Groups, newest first; deleted ones are still listed."""
    return call.board.groups.list()


@operation("group.show", NameGroup, Group, GroupNotFound, reads=True)
def show(call: Call, arguments: NameGroup) -> Group:
    """One group of runs, also one that was deleted."""
    return call.board.groups.show(arguments.group)


@operation("group.delete", NameGroup, Group, GroupNotFound, GroupHasRunningAgents, destructive=True)
def delete(call: Call, arguments: NameGroup) -> Group:
    """Delete a group that has nothing running. Its runs and their results are kept."""
    return call.board.groups.delete(arguments.group)


OPERATIONS = (create, list_, show, delete)
