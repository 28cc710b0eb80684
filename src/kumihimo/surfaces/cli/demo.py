"""`kumi demo`: two stages of agents at work in a repository of their own, drawn live, and what came of it.

The agents are scripted, so it costs nothing and needs no account; everything else is what you would use: the board, the
supervisor, the processes, the streams of real CLIs, MCP over HTTP. It touches nothing that is yours.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from kumihimo.operations.groups import CreateGroup, RunStages, create
from kumihimo.operations.groups import plan as plan_operation
from kumihimo.operations.operation import Call
from kumihimo.services.sights import Sight
from kumihimo.settings import Language, language_of
from kumihimo.surfaces.cli import drawing
from kumihimo.surfaces.cli.demo_story import CLIENTS, Part, stages
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.invocation import call_of
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.program import global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way
from kumihimo.testing.scripts import command as scripted
from kumihimo.toolsets.camel.runs import agent as present_run
from kumihimo.toolsets.camel.runs import status_word

_LOOK_SECONDS = 0.1
_BAR = 24


def command(way: Way) -> click.Command:
    return click.Command(
        way.words,
        callback=_demo,
        params=[
            click.Option(["--keep"], is_flag=True, help="Leave the folder there, to look around in it."),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi demo\n  kumi demo --keep\n  kumi demo --json",
    )


def _demo(keep: bool) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    language = language_of(os.environ, flags.get("lang"))
    folder = Path(tempfile.mkdtemp(prefix="kumi-demo-"))
    _prepare(folder, language)
    settings = settings_of({})
    as_json = bool(flags.get("json"))
    call = call_of(settings)
    try:
        # With --json what is drawn is talk, and what came of it the only data.
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            sights = _play(call, language)
            if keep:
                print(f"\nKUMI_HOME={folder / 'home'}  {folder / 'shop'}")
        if as_json:
            print(_document(sights, folder if keep else None))
        return DONE if all(sight.execution.succeeded for sight in sights) else FAILED
    finally:
        call.close()
        _end_host(settings.state_folder)
        if not keep:
            _remove(folder)


def _prepare(folder: Path, language: Language) -> None:
    """A repository, and a home in which every CLI is a scripted agent."""
    home, shop = folder / "home", folder / "shop"
    home.mkdir()
    shop.mkdir()
    (shop / "README.md").write_text("# Shop\n", "utf-8")
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-qm", "Begin"),
    ):
        subprocess.run(["git", "-C", str(shop), *words], check=False, capture_output=True)
    lines = ['admission = "slots"']
    for client in sorted(set(CLIENTS.values())):
        lines += [f"[clients.{client}]", f"command = {msgspec.json.encode(scripted(client)).decode()}"]
    (home / "config.toml").write_text("\n".join(lines) + "\n", "utf-8")
    os.environ.update(KUMI_HOME=str(home), KUMI_LANG=language)
    for name in ("KUMI_DB", "KUMI_PROJECT"):
        os.environ.pop(name, None)
    os.chdir(shop)


def _document(sights: list[Sight], folder: Path | None) -> str:
    """`folder` is what was left there."""
    told = {"agents": [present_run(sight) for sight in sights], "folder": None if folder is None else str(folder)}
    return msgspec.json.encode(told).decode()


def _play(call: Call, language: Language) -> list[Sight]:
    board = call.board
    board.projects.init(str(Path.cwd()), git=True)
    for role, client in CLIENTS.items():
        board.agents.update(role, client=client)
    told = stages()
    _say("demo_begins", language)
    group = create(call, CreateGroup(description="A login with passkeys", mode="sequential"))
    asked = plan_operation.read(
        {"group": group.id, "stages": [{"tasks": [part.task() for part in stage]} for stage in told]}
    )
    assert isinstance(asked, RunStages), "read as what it is"
    plan_operation(call, asked)
    parts = {part.role: part for stage in told for part in stage}
    sights = _follow(call, group.id, parts, language)
    _tell_results(sights, language)
    _say("demo_ends", language)
    return sights


def _follow(call: Call, group_id: str, parts: dict[str, Part], language: Language) -> list[Sight]:
    """Drawn again and again on a terminal; into a pipe one line for each thing that changed."""
    shown: dict[str, str] = {}
    live = _live() if sys.stdout.isatty() else None
    try:
        while True:
            sights = call.board.executions.sights_of(group_id=group_id).items
            lines = {sight.execution.id: _line(sight, parts[sight.role]) for sight in sights}
            if live is not None:
                live.update(_text(_with_stages(sights, lines, language)))
            for run, line in lines.items():
                if live is None and shown.get(run) != line:
                    print(line, flush=True)
            shown = lines
            if not any(sight.execution.live for sight in sights):
                return sights
            time.sleep(_LOOK_SECONDS)
    finally:
        if live is not None:
            live.stop()


def _live() -> Any:
    from rich.live import Live

    live = Live("", refresh_per_second=10)
    live.start()
    return live


def _text(lines: list[str]) -> Any:
    """What agents say is text, never markup; a line that is too long is cut."""
    from rich.text import Text

    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


def _with_stages(sights: list[Sight], lines: dict[str, str], language: Language) -> list[str]:
    drawn: list[str] = []
    for index, sight in enumerate(sights):
        stage = sight.execution.stage or 0
        if index == 0 or sights[index - 1].execution.stage != stage:
            drawn.append(said("demo_stage", language).format(number=stage + 1))
        drawn.append("  " + lines[sight.execution.id])
    return drawn


def _line(sight: Sight, part: Part) -> str:
    share = 1.0 if sight.execution.done else min(1.0, sight.seen.tool_calls / (part.steps + 1))
    filled = round(share * _BAR)
    message = drawing.safe((sight.seen.last_message or "").partition("\n")[0])[:60]
    word = status_word(sight.execution)
    return f"{part.role:9} {CLIENTS[part.role]:12} {'█' * filled}{'░' * (_BAR - filled)} {word:14} {message}"


def _tell_results(sights: list[Sight], language: Language) -> None:
    rows: list[dict[str, Any]] = []
    for sight in sights:
        answer: dict[str, Any] = msgspec.to_builtins(present_run(sight))
        result: dict[str, Any] = answer["result"] or {}
        rows.append(
            {
                "role": answer["role"],
                "status": answer["status"],
                "tools": answer["toolCallCount"],
                "tokens": answer["usage"]["inputTokens"] + answer["usage"]["outputTokens"],
                "files": [Path(path).name for path in (*answer["createdFiles"], *answer["editedFiles"])],
                "summary": result.get("summary"),
            }
        )
    print()
    drawing.table(rows, ("role", "status", "tools", "tokens", "files", "summary"), language)


def _say(key: str, language: Language) -> None:
    print(said(key, language), flush=True)


def _end_host(state_folder: Path) -> None:
    import signal

    from kumihimo.services.hosting import bury, find_running

    found = find_running(state_folder)
    if found is not None:
        os.kill(found.process.pid, signal.SIGTERM)
    bury(state_folder)


def _remove(folder: Path) -> None:
    import shutil

    os.chdir(folder.parent)
    shutil.rmtree(folder)
