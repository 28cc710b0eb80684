"""Writes what is derived from the code and committed, or says with --check where the two differ.

Snapshots of every operation and tool (names on the wire do not change by accident), the schemas that servers read, the
reference of operations and verbs, and the state diagrams.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import sys
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import msgspec

from kumihimo.domain import agent, execution, group, handoff, memory, project, session, task
from kumihimo.domain.errors import ToolsetClash
from kumihimo.domain.states import StateTable
from kumihimo.operations.catalogue import every
from kumihimo.operations.operation import Operation
from kumihimo.settings import Flags, load
from kumihimo.surfaces.cli.program import PROGRAM, Root
from kumihimo.surfaces.cli.verbs import GROUPS, VERBS, WAYS
from kumihimo.surfaces.mcp.catalogs import Bench
from kumihimo.surfaces.mcp.door import Door
from kumihimo.surfaces.mcp.schemas import FOLDER as SCHEMAS
from kumihimo.surfaces.mcp.schemas import ToolSchemas, encode_kept
from kumihimo.toolsets.camel.presenting import MANY, ONE, answer_type
from kumihimo.toolsets.registry import NAMES, together
from kumihimo.wire.revision import STATELESS

ROOT = Path(__file__).resolve().parent.parent
DOMAIN = (project, agent, task, session, execution, group, handoff, memory)


def snapshot(operation: Operation[Any, Any]) -> str:
    """Everything about an operation that the outside can see, as JSON."""
    seen = {
        "name": operation.name,
        "description": operation.description,
        "reads": operation.reads,
        "idempotent": operation.idempotent,
        "destructive": operation.destructive,
        "errors": sorted(error.__name__ for error in operation.errors),
        "arguments": schema(operation.arguments),
        "answer": answer_schema(operation.answer),
    }
    return msgspec.json.format(msgspec.json.encode(seen, order="sorted"), indent=2).decode() + "\n"


def schema(shape: Any) -> Any:
    return msgspec.json.schema(shape)


def answer_schema(declared: Any) -> Any:
    """The shape of the answer in the camelCase dialect; others are in the snapshots of their tools."""
    return schema(answer_type(declared)) if declared in MANY or declared in ONE else None


def operations_page() -> str:
    lines = ["# Operations", "", "Every verb, declared once. Made from the code: `make snapshots`.", ""]
    for operation in every():
        hints = [word for word in ("reads", "idempotent", "destructive") if getattr(operation, word)]
        lines += [f"## `{operation.name}`", "", operation.description, ""]
        fields = msgspec.structs.fields(operation.arguments)
        if fields:
            properties = schema(operation.arguments)["$defs"][operation.arguments.__name__]["properties"]
            lines += ["| argument | | what |", "|---|---|---|"]
            for field in fields:
                needed = "required" if field.required else ""
                lines.append(f"| `{field.encode_name}` | {needed} | {_description(properties[field.encode_name])} |")
            lines.append("")
        refusals = ", ".join(f"`{error.__name__}`" for error in operation.errors)
        lines += [
            f"Hints: {', '.join(hints) or 'changes the board'}." + (f" Refusals: {refusals}." if refusals else ""),
            "",
        ]
    return "\n".join(lines)


def _description(property_schema: Any) -> str:
    found = property_schema.get("description")
    if found:
        return found
    return next((some["description"] for some in property_schema.get("anyOf", []) if "description" in some), "")


def verbs_page() -> str:
    """The help of every verb, as the terminal shows it."""
    lines = ["# Verbs", "", "What `kumi VERB --help` prints. Made from the code: `make snapshots`.", ""]
    flags: dict[str, Any] = {}
    root = Root(flags)
    names = ["", *GROUPS, *(verb.words for verb in VERBS), *(way.words for way in WAYS)]
    for words in names:
        context = click.Context(root, info_name=PROGRAM, obj=flags, terminal_width=110, max_content_width=110)
        command: click.Command = root
        for word in words.split():
            assert isinstance(command, click.Group)
            found = command.get_command(context, word)
            assert found is not None, words
            command, context = found, click.Context(found, parent=context, info_name=word, terminal_width=110)
        lines += [f"## `{f'kumi {words}'.strip()}`", "", "```text", command.get_help(context).rstrip(), "```", ""]
    return "\n".join(lines)


def states_page() -> str:
    lines = ["# States", "", "The state tables of the domain, drawn. Made from the code: `make snapshots`.", ""]
    for noun in DOMAIN:
        table: StateTable = noun.STATES
        lines += [f"## {table.noun.capitalize()}", "", "```mermaid", "stateDiagram-v2"]
        lines += [f"    [*] --> {state}" for state in table.initial]
        for (before, action), after in table.rows.items():
            lines.append(f"    {before} --> {after}" + ("" if action == after else f": {action}"))
        lines += [f"    {state} --> [*]" for state in table.states() if not table.actions(state)]
        lines += ["```", ""]
    return "\n".join(lines)


def tool_snapshots() -> dict[Path, str]:
    """Every tool of every toolset, as `tools/list` shows it to the newest clients."""
    files: dict[Path, str] = {}
    for name in NAMES:
        for tool, call in bench([name]).calls().items():
            made = call.make_schemas()
            seen = {
                **call.definition().definition(STATELESS),
                "inputSchema": msgspec.json.decode(made.arguments),
                "outputSchema": msgspec.json.decode(made.answer),
            }
            text = msgspec.json.format(msgspec.json.encode(seen, order="sorted"), indent=2)
            files[ROOT / "tests/snapshots/tools" / name / f"{tool}.json"] = text.decode() + "\n"
    return files


def kept_schemas() -> dict[Path, str]:
    """The schemas that a server reads instead of making them: of every toolset, and of what two have in common."""
    groups: dict[str, dict[str, ToolSchemas]] = {}
    for names in [*([name] for name in NAMES), *map(list, combinations(NAMES, 2))]:
        with contextlib.suppress(ToolsetClash):
            for tool, call in bench(names).calls().items():
                groups.setdefault(call.group, {})[tool] = call.make_schemas()
    return {SCHEMAS / f"{group}.jsonl": encode_kept(made) for group, made in groups.items()}


def bench(names: list[str]) -> Bench:
    door = Door(load(Flags(db=":none:"), {"KUMI_HOME": "/nowhere"}, ROOT))
    return Bench(door, together(names), lambda _, __: door.owner())


def derived() -> dict[Path, str]:
    files = {
        ROOT / "tests/snapshots/operations" / f"{operation.name}.json": snapshot(operation) for operation in every()
    }
    files |= tool_snapshots() | kept_schemas()
    files[ROOT / "docs/reference/operations.md"] = operations_page()
    files[ROOT / "docs/reference/verbs.md"] = verbs_page()
    files[ROOT / "docs/reference/states.md"] = states_page()
    return files


def differences(files: dict[Path, str]) -> Iterable[str]:
    known = {*(ROOT / "tests/snapshots").rglob("*.json"), *SCHEMAS.glob("*.jsonl")}
    for path in sorted(known - set(files)):
        yield f"{path.relative_to(ROOT)} belongs to nothing any more: remove it\n"
    for path, text in files.items():
        old = path.read_text("utf-8") if path.exists() else ""
        name = str(path.relative_to(ROOT))
        yield from difflib.unified_diff(old.splitlines(True), text.splitlines(True), name, f"{name} (from the code)")


def main() -> int:
    os.environ["COLUMNS"] = "110"
    files = derived()
    if "--check" in sys.argv:
        found = list(differences(files))
        sys.stdout.writelines(found[:200])
        if found:
            print("\nThe code says something else than what is committed. If it is meant: `make snapshots`.")
        return 1 if found else 0
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
