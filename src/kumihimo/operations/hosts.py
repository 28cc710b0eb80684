"""Hosts: where runs happen."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.operations.operation import Call, Nothing, operation
from kumihimo.services.hosts import HostView

HostName = Annotated[str, Meta(description="Where it is to run: the name, the id or a label of a host.")]


@operation("host.list", Nothing, list[HostView], reads=True)
def list_(call: Call, _: Nothing) -> list[HostView]:
    """The homes that share this board: whether each is alive, what it has, and how much it does."""
    return call.board.hosts.list()


OPERATIONS = (list_,)
