"""From the arguments of an operation to the parameters of a command, and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import click
import msgspec

from kumihimo.domain.errors import InvalidValue
from kumihimo.surfaces.cli.verbs import LONG_TEXT, Verb


def parameters(verb: Verb, arguments: type[msgspec.Struct]) -> list[click.Parameter]:
    """One parameter for each field: bare ones in the verb's order, the rest as flags in the struct's."""
    hints = get_type_hints(arguments, include_extras=True)
    fields = {field.name: field for field in msgspec.structs.fields(arguments)}
    bare = [_argument(name, fields[name].required, _read(hints[name])[0]) for name in verb.bare]
    flags = [
        _option(verb.flags.get(name, name), name, hints[name], field)
        for name, field in fields.items()
        if name not in verb.bare and name not in verb.hidden
    ]
    return [*bare, *flags]


def values_of(given: dict[str, Any]) -> dict[str, Any]:
    """What was typed, without what was left out; long text read from where it comes."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or value == ():
            continue
        if isinstance(value, tuple):
            several = cast("tuple[Any, ...]", value)
            values[name] = [long_text(each, name) if name in LONG_TEXT else each for each in several]
        else:
            values[name] = long_text(value, name) if name in LONG_TEXT and isinstance(value, str) else value
    if isinstance(values.get("depends_on"), str):
        values["depends_on"] = [part.strip() for part in values["depends_on"].split(",") if part.strip()]
    return values


def _argument(name: str, required: bool, kind: Any) -> click.Argument:
    if get_origin(kind) is list:
        return click.Argument([name], required=required, nargs=-1, metavar=f"{name.upper()}...")
    return click.Argument([name], required=required, metavar=name.upper())


def _option(flag: str, name: str, hint: Any, field: msgspec.structs.FieldInfo) -> click.Option:
    kind, description = _read(hint)
    spelled = [f"--{flag.replace('_', '-')}", name]
    shared: dict[str, Any] = {"help": description, "required": field.required}
    if kind is bool:
        return click.Option(spelled, is_flag=True, default=None, help=description)
    if name == "depends_on":
        return click.Option(spelled, metavar="N,...", **shared)
    if get_origin(kind) is list:
        return click.Option(spelled, multiple=True, metavar="TEXT", **shared)
    if get_origin(kind) is Literal:
        return click.Option(spelled, type=click.Choice([str(choice) for choice in get_args(kind)]), **shared)
    if kind is int:
        return click.Option(spelled, type=int, metavar="N", **shared)
    return click.Option(spelled, metavar="TEXT|-" if name in LONG_TEXT else "TEXT", **shared)


def _read(hint: Any) -> tuple[Any, str]:
    """The type behind Annotated and Optional, and its description: the outermost one that there is."""
    description = ""
    while True:
        metadata = getattr(hint, "__metadata__", ())
        for meta in metadata:
            if isinstance(meta, msgspec.Meta) and meta.description and not description:
                description = meta.description
        if metadata:
            hint = hint.__origin__
            continue
        choices = [choice for choice in get_args(hint) if choice is not type(None)] if _is_union(hint) else []
        if len(choices) == 1:
            hint = choices[0]
            continue
        return hint, description


def _is_union(hint: Any) -> bool:
    return get_origin(hint) is Union or type(hint).__name__ == "UnionType"


def long_text(value: str, name: str = "-") -> str:
    """The text itself, or what stands where it says. `name` is what it is given for."""
    if value == "-":
        return _decode(sys.stdin.buffer.read(), name)
    if value.startswith("@") and _is_file(value[1:]):
        return _decode(Path(value[1:]).read_bytes(), value)
    return value


def _is_file(name: str) -> bool:
    """A text that begins with `@` may be longer than any name, and hold what no name does."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def file_text(name: str) -> str:
    """The content of a file, or of standard input for `-`."""
    if name == "-":
        return _decode(sys.stdin.buffer.read(), "-")
    try:
        return _decode(Path(name).read_bytes(), name)
    except OSError as error:
        raise InvalidValue(name[:200], "unreadable", reason=error.strerror or str(error)) from None


def _decode(raw: bytes, source: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise InvalidValue(source, "not_unicode") from None
