"""One verb carried out: arguments in, operation, answer out as JSON or drawn."""

from __future__ import annotations

import sys
from typing import Any, cast

import msgspec
from msgspec import Struct

from kumihimo.app import open_board
from kumihimo.domain.errors import InvalidValue
from kumihimo.operations.hub import FoundTools, ServerTests, ToolDetail, Use
from kumihimo.operations.operation import Call, Caller, Operation
from kumihimo.services.projects import Place
from kumihimo.settings import Language, Settings
from kumihimo.surfaces.cli import drawing
from kumihimo.surfaces.cli.exit_codes import DATABASE, DONE, FAILED
from kumihimo.surfaces.cli.parameters import values_of
from kumihimo.surfaces.cli.phrases import heading, said
from kumihimo.surfaces.cli.program import settings_of
from kumihimo.surfaces.cli.verbs import Verb
from kumihimo.toolsets.camel.memories import PreviewAnswer
from kumihimo.toolsets.camel.presenting import present
from kumihimo.toolsets.camel.roles import RolesAnswer
from kumihimo.toolsets.camel.upkeep import ConditionAnswer, FindingsAnswer
from kumihimo.toolsets.camel.workers import MergeAnswer, MergesAnswer, WaitedWorker


def perform(verb: Verb, operation: Operation[Any, Any], given: dict[str, Any], flags: dict[str, Any]) -> int:
    try:
        return _perform(verb, operation, given, flags)
    except InvalidValue as error:
        raise error.called(verb.flags) from None


def _perform(verb: Verb, operation: Operation[Any, Any], given: dict[str, Any], flags: dict[str, Any]) -> int:
    settings = settings_of(flags)
    arguments = operation.read(values_of(given), strict=False)
    call = call_of(settings)
    try:
        answer = present(operation.answer, carry_out(operation, call, arguments))
    finally:
        call.close()
    if flags.get("json"):
        sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    else:
        _draw(verb, answer, settings.language)
    return _verdict(answer)


def carry_out(operation: Operation[Any, Any], call: Call, arguments: Any) -> Any:
    """The answer of an operation, waited for where it is one that waits."""
    if operation.uses_hub:
        from kumihimo.surfaces.hubs.alone import carry_out_alone

        def tell(servers: list[str]) -> None:
            print(said("hub_waiting", call.settings.language).format(servers=", ".join(servers)), file=sys.stderr)

        return carry_out_alone(operation, call, arguments, tell)
    if operation.patience is None:
        return operation(call, arguments)
    from kumihimo.surfaces.cli.waiting import wait

    return wait(operation, call, arguments)


def call_of(settings: Settings) -> Call:
    """The owner of this machine, standing where the command was typed."""
    caller = Caller("owner", Place(settings.project, str(settings.folder.resolve())))
    return Call(settings, caller, lambda: open_board(settings))


def _verdict(answer: Struct) -> int:
    """Most verbs that answer have succeeded; those that look after the board may have found something."""
    if isinstance(answer, ConditionAnswer) and not answer.ok:
        return DATABASE
    if isinstance(answer, FindingsAnswer) and any(finding.status == "error" for finding in answer.checks):
        return FAILED
    if isinstance(answer, MergeAnswer) and answer.status != "merged":
        return FAILED
    if isinstance(answer, MergesAnswer):
        return DONE if all(merge.status == "merged" for merge in answer.merges) else FAILED
    if isinstance(answer, WaitedWorker):
        good = answer.status == "completed" and answer.task_status != "blocked"
        return DONE if good and not answer.timed_out else FAILED
    if isinstance(answer, ServerTests) and not all(server.ok for server in answer.servers):
        return FAILED
    if isinstance(answer, RolesAnswer) and not all(role.available for role in answer.roles):
        return FAILED
    return DONE


def _draw(verb: Verb, answer: Struct, language: Language) -> None:
    plain: dict[str, Any] = msgspec.to_builtins(answer)
    if verb.columns:
        rows = next(cast("list[dict[str, Any]]", value) for value in plain.values() if isinstance(value, list))
        if rows:
            drawing.table(rows, verb.columns, language)
        else:
            drawing.nothing(language)
        if isinstance(answer, Use) and answer.over_budget:
            print(said("hub_over_budget", language).format_map(plain), file=sys.stderr)
        if isinstance(answer, FoundTools):
            for missing in plain.get("unreachable", []):
                print(_sentence("hub_unreachable", missing, language), file=sys.stderr)
        if "nextCursor" in plain:
            print(said("more", language).format_map(plain), file=sys.stderr)
    elif isinstance(answer, ToolDetail):
        _describe(answer, language)
    elif isinstance(answer, PreviewAnswer):
        print("\n".join(drawing.safe(line) for line in answer.content.splitlines()))
    elif isinstance(answer, ConditionAnswer) and not answer.ok:
        print(said("db_broken", language).format_map({key: drawing.cell(value) for key, value in plain.items()}))
    elif isinstance(answer, MergeAnswer) and answer.status != "merged":
        print(_sentence("work_not_merged", plain, language))
    elif verb.said:
        print(_sentence("hub_still_named" if "stillIn" in plain else verb.said, plain, language))
        if plain.get("taskReason"):
            print(f"  {drawing.cell(plain['taskReason'])}")
    else:
        drawing.record(plain, language)


def _describe(tool: ToolDetail, language: Language) -> None:
    """A tool: what it is in lines, and what it takes as the schema that it is."""
    drawing.record({"name": tool.name, "description": tool.description, "version": tool.version}, language)
    for name, schema in (("inputSchema", tool.input_schema), ("outputSchema", tool.output_schema)):
        if schema is not None:
            text = msgspec.json.format(msgspec.json.encode(schema), indent=2).decode()
            print(f"\n{heading(name, language)}:\n{drawing.safe(text)}")


def _sentence(key: str, plain: dict[str, Any], language: Language) -> str:
    words = {name: drawing.cell(value) for name, value in plain.items()}
    if plain.get("agents") == []:
        words["agents"] = said("nobody", language)
    if "toAgent" in plain and plain["toAgent"] is None:
        words["toAgent"] = said("anybody", language)
    return said(key, language).format_map(words)
