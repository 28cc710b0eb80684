"""`kumi setup CLIENT`: an AI client is told of our MCP server."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from kumihimo.settings import Language
from kumihimo.surfaces.cli.drawing import safe
from kumihimo.surfaces.cli.exit_codes import DONE
from kumihimo.surfaces.cli.program import PROGRAM, complain, global_options, settings_of
from kumihimo.surfaces.cli.setup.clients import NAMES, named
from kumihimo.surfaces.cli.setup.entry import SERVER, on_path
from kumihimo.surfaces.cli.setup.installation import Installation, install
from kumihimo.surfaces.cli.setup.phrases import said
from kumihimo.surfaces.cli.setup.place import Scope, place_of
from kumihimo.surfaces.cli.setup.refusal import Refusal
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        way.words,
        callback=_setup,
        params=[
            click.Argument(["client"], type=click.Choice(NAMES)),
            click.Option(
                ["--scope"],
                type=click.Choice(["repo", "user"]),
                help="For everybody in this repository, or for you in every folder. Inside a repository: repo.",
            ),
            click.Option(["--dry-run"], is_flag=True, help="Write nothing; print what would be merged in."),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi setup claude\n  kumi setup codex --scope user\n  kumi setup vscode --dry-run",
    )


def _setup(client: str, scope: Scope | None, dry_run: bool) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    language = settings_of(flags).language
    try:
        done = install(named(client), scope, place_of(Path.cwd(), os.environ), sys.argv, dry_run)
    except Refusal as refusal:
        complain(refusal.sentence(language), language)
        return refusal.exit_code
    if flags.get("json"):
        sys.stdout.write(msgspec.json.encode(_document(done)).decode() + "\n")
    elif dry_run:
        _talk("would_change" if done.changed else "same", done, language)
        sys.stdout.write(done.snippet)
    else:
        _report(done, language)
    _warn(done, language)
    return DONE


def _document(done: Installation) -> dict[str, Any]:
    """`changed` with `--dry-run` is what would be."""
    return {
        "client": done.client.name,
        "path": done.path,
        "scope": done.scope,
        "changed": done.changed,
        "snippet": done.snippet,
    }


def _report(done: Installation, language: Language) -> None:
    facts = {
        "server": SERVER,
        "client": done.client.title,
        "path": safe(done.path),
        "keys": safe(", ".join(done.keys)),
        "backup": safe(done.backup or ""),
    }
    key = {"absent": "added", "different": "replaced", "same": "same"}[done.was]
    print(said(key, language).format_map(facts))
    if done.backup:
        print(said("backup", language).format_map(facts))
    if done.changed:
        print(said(f"next_{done.client.name}_{done.scope}", language))


def _warn(done: Installation, language: Language) -> None:
    """What may keep the client from using it although all is written; on stderr, whatever is printed."""
    for kind, line in done.oddities.items():
        _talk(kind, done, language, line=line)
    if done.command == PROGRAM and not on_path(os.environ):
        _talk("not_on_path", done, language)


def _talk(key: str, done: Installation, language: Language, **facts: int) -> None:
    words = {"server": SERVER, "program": PROGRAM, "client": done.client.title, "path": safe(done.path), **facts}
    print(said(key, language).format_map(words), file=sys.stderr)
