"""What a toolset is: operations under the names of one audience, in one dialect, with resources and prompts beside them.

Data: who serves it is in `surfaces/`. The arguments of a tool are those of its operation under other names; the schema
comes from the type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import Struct

from kumihimo.operations.catalogue import named
from kumihimo.operations.operation import Call, Operation
from kumihimo.settings import Language

# How a tool knows who calls: the owner of this machine; a token among the arguments; the agent that the process is for.
CallerRule = Literal["owner", "session_token", "bound"]
DialectName = Literal["camel", "lead", "snake", "resident", "hub"]
Presenter = Callable[[Any, Language], Struct]

SESSION_TOKEN = "session_token"  # noqa: S105 - the name of an argument
TokenArgument = Annotated[
    str | None,
    msgspec.Meta(description="The token that authenticate answered; a run with a token of its own needs none."),
]


class Tool(Struct, frozen=True):
    """An operation under a name. `names` renames arguments, `without` drops some, `types` gives some another type.

    `beside` are arguments that do not stand among the others but, as texts, in the request's `_meta` under these keys: what
    we tell one another besides what the tool's own arguments are.

    `failed` says of an answer that it tells of a failure: clients are told so.

    `answer` is the shape that `present` makes of the operation's value; without them the camelCase shape is taken.
    """

    name: str
    operation: str
    title: str
    answer: Any = None
    present: Presenter | None = None
    names: dict[str, str] = {}
    without: tuple[str, ...] = ()
    types: dict[str, Any] = {}
    required: tuple[str, ...] = ()
    caller: CallerRule = "owner"
    beside: dict[str, str] = {}
    aliases: tuple[str, ...] = ()
    failed: Callable[[Any], bool] | None = None

    def bound_operation(self) -> Operation[Any, Any]:
        return named(self.operation)


class Resource(Struct, frozen=True):
    """Something to read: a URI, or a template with holes. `read` gets what filled them and answers text."""

    uri: str
    name: str
    description: str
    mime_type: str
    read: Callable[[Call, dict[str, str], Language], str]

    @property
    def is_template(self) -> bool:
        return "{" in self.uri


class Prompt(Struct, frozen=True):
    """A text to begin with. `arguments` have a name and a description, and all are required."""

    name: str
    title: str
    description: str
    arguments: tuple[tuple[str, str], ...]
    write: Callable[[Call, dict[str, str], Language], str]


class Toolset(Struct, frozen=True):
    """Everything that one audience sees."""

    name: str
    dialect: DialectName
    caller: CallerRule
    tools: tuple[Tool, ...]
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()


def arguments_type(tool: Tool) -> type[Struct]:
    """The arguments of a tool as a type: what is not known is refused, what is required is required."""
    operation = tool.bound_operation()
    hints = get_type_hints(operation.arguments, include_extras=True)
    fields: list[Any] = []
    for field in msgspec.structs.fields(operation.arguments):
        if field.name in (*tool.without, *tool.beside):
            continue
        name = tool.names.get(field.name, field.name)
        kind = tool.types.get(field.name, hints[field.name])
        if field.required or field.name in tool.required:
            fields.append((name, kind))
        elif field.default_factory is not msgspec.NODEFAULT:
            fields.append((name, kind, msgspec.field(default_factory=field.default_factory)))
        else:
            fields.append((name, kind, field.default))
    if tool.caller == "session_token":
        fields.append((SESSION_TOKEN, TokenArgument, None))
    title = "".join(part.capitalize() for part in tool.name.split("_"))
    return msgspec.defstruct(f"{title}Arguments", fields, forbid_unknown_fields=True, kw_only=True)


def wire_names(tool: Tool) -> list[tuple[str, str]]:
    """Each argument of the operation that the tool takes, with its name here."""
    fields = tool.bound_operation().arguments.__struct_fields__
    return [
        (field, str(tool.names.get(field, field))) for field in fields if field not in (*tool.without, *tool.beside)
    ]
