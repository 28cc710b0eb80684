"""`kumi demo`: a board planned, worked on and handed over, by the very commands that you would type.

It runs in a folder of its own with a home of its own, so it touches nothing that is yours.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import msgspec

from kumihimo.settings import Language, language_of
from kumihimo.surfaces.cli import drawing
from kumihimo.surfaces.cli.invocation import call_of
from kumihimo.surfaces.cli.program import PROGRAM, global_options, run, settings_of
from kumihimo.surfaces.cli.verbs import Way

_COLUMNS = ("backlog", "todo", "in_progress", "blocked", "done")

# What is said before each part, and the commands of it. The last command of "rules" is refused, and that is its point.
_STORY: tuple[tuple[dict[Language, str], tuple[str, ...]], ...] = (
    (
        {
            "en": "A folder becomes a project, with four agents.",
            "ja": "フォルダーをプロジェクトにします。エージェントが四人付きます。",
        },
        ("init",),
    ),
    (
        {"en": "A plan: what, who, and what waits for what.", "ja": "計画: 何を、誰が、何の後に。"},
        (
            "task add 'Log in with a passkey' --type feature --priority high --assignee coder",
            "task add 'Store passkeys as argon2id' --parent 1 --assignee coder",
            "task add 'Review the login' --depends-on 1 --assignee reviewer",
            "task add 'Write the guide' --depends-on 3 --assignee writer --status backlog",
            "memory add hashing --category rule --title 'Only argon2id for secrets'",
        ),
    ),
    (
        {
            "en": "The board keeps its own rules: nobody reviews what is not there.",
            "ja": "ボードは規則を守ります。まだ無いものは誰も査読できません。",
        },
        ("task update 3 --status in_progress",),
    ),
    (
        {
            "en": "The coder works. What it learns is kept, how it ended is a fact.",
            "ja": "coder が働きます。学んだことは残り、結果は事実として記録されます。",
        },
        (
            "session start 2",
            "context save 2 --progress 'Hashes are stored' --findings 'A hash takes 50 ms: not inside a transaction'",
            "session end 1 --exit-code 0 --dod-result merged",
            "session start 1",
            "session end 2 --exit-code 0 --dod-result merged",
        ),
    ),
    (
        {
            "en": "The work is handed over, and the reviewer takes it up.",
            "ja": "仕事を引き継ぎ、reviewer が受け取ります。",
        },
        (
            "handoff create 3 --from coder --to reviewer --summary 'Login works; look at the error paths'",
            "handoff ls",
            "handoff accept hnd_ --agent reviewer",
            "session start 3",
        ),
    ),
)


def command(way: Way) -> click.Command:
    return click.Command(
        way.words,
        callback=_demo,
        params=[
            click.Option(["--keep"], is_flag=True, help="Leave the folder there, to look around in it."),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi demo\n  kumi demo --keep",
    )


def _demo(keep: bool) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    language = language_of(os.environ, flags.get("lang"))
    folder = Path(tempfile.mkdtemp(prefix="kumi-demo-"))
    project = folder / "shop"
    project.mkdir()
    os.environ.update(KUMI_HOME=str(folder / "home"), KUMI_LANG=language)
    for name in ("KUMI_DB", "KUMI_PROJECT"):
        os.environ.pop(name, None)
    os.chdir(project)
    try:
        for words, commands in _STORY:
            click.secho(f"\n{words[language]}", bold=True)
            for typed in commands:
                click.secho(f"$ {PROGRAM} {typed}", fg="cyan")
                sys.stdout.flush()
                run(shlex.split(typed))
        print()
        _draw_board(language)
    finally:
        if keep:
            print(f"\nKUMI_HOME={folder / 'home'}  {project}")
        else:
            _remove(folder)
    return 0


def _draw_board(language: Language) -> None:
    """The whole board as columns."""
    from kumihimo.operations.tasks import ListTasks, list_
    from kumihimo.toolsets.camel.presenting import present

    call = call_of(settings_of({}))
    try:
        answer = msgspec.to_builtins(present(list_.answer, list_(call, ListTasks())))
    finally:
        call.close()
    tasks: list[dict[str, Any]] = answer["tasks"][::-1]
    columns = [
        [f"#{task['id']} {task['title']} ({task['assignee']})" for task in tasks if task["status"] == name]
        for name in _COLUMNS
    ]
    rows = [
        {name: column[index] if index < len(column) else "" for name, column in zip(_COLUMNS, columns, strict=True)}
        for index in range(max(len(column) for column in columns))
    ]
    shown = tuple(name for name, column in zip(_COLUMNS, columns, strict=True) if column)
    drawing.table(rows, shown, language)


def _remove(folder: Path) -> None:
    import shutil

    os.chdir(folder.parent)
    shutil.rmtree(folder)
