"""`kumi hub import`: the servers that other clients on this machine have, into our configuration."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from kumihimo.hub.configuration_writing import add_server, entries_in
from kumihimo.hub.importing import Collision, Combined, Found, combined, found_in
from kumihimo.settings import Settings
from kumihimo.surfaces.cli import drawing
from kumihimo.surfaces.cli.exit_codes import DONE
from kumihimo.surfaces.cli.hub_files import file_to_write, files_of
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.program import config_option, global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way
from kumihimo.surfaces.hubs.seats import project_folder

_COLUMNS = ("name", "outcome", "client", "detail", "file")


def command(way: Way) -> click.Command:
    return click.Command(
        "import",
        callback=_import,
        params=[
            click.Argument(["names"], metavar="[NAME]...", nargs=-1),
            click.Option(["--client"], multiple=True, metavar="C", help="Only from this client."),
            click.Option(["--dry-run"], is_flag=True, help="Only say what would be taken over."),
            config_option(),
            *global_options(),
        ],
        help=f"{way.help}\n\nNothing is started and no secret is copied: where a client names a variable, so does the entry. "
        "A server whose variables are not set here is left out until they are.",
        epilog="\b\nExamples:\n  kumi hub import --dry-run\n  kumi hub import github --client claude-code",
    )


def _import(names: tuple[str, ...], client: tuple[str, ...], dry_run: bool) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    folder = project_folder(settings.folder)
    found = [it for it in found_in(folder, Path.home()) if not client or it.client in client]
    # What is read from our own file anyway is not taken over from it.
    own = {file.resolve() for file in files_of(settings)}
    found = [it for it in found if it.file.resolve() not in own]
    together = combined(found, _known(settings))
    rows = _rows(together, found, set(names))
    target = file_to_write(settings)
    for name, chosen in together.new.items():
        if not dry_run and any(row["name"] == name and row["outcome"] == "imported" for row in rows):
            add_server(target, name, chosen.entry)
    if flags.get("json"):
        sys.stdout.write(msgspec.json.encode({"servers": rows, "file": str(target)}).decode() + "\n")
    elif rows:
        drawing.table(rows, _COLUMNS, settings.language)
        if dry_run:
            print(said("hub_would_import", settings.language).format(file=target), file=sys.stderr)
    else:
        print(said("hub_nothing_found", settings.language))
    return DONE


def _known(settings: Settings) -> dict[str, dict[str, Any]]:
    known: dict[str, dict[str, Any]] = {}
    for file in files_of(settings):
        for name, entry in entries_in(file).items():
            known.setdefault(name, entry)
    return known


def _rows(together: Combined, found: list[Found], names: set[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, chosen in together.new.items():
        unset = [it for it in chosen.found.needs.get(name, ()) if it not in os.environ]
        wanted = not names or name in names
        outcome = "skipped" if not wanted else "needs variables" if unset else "imported"
        rows.append(_row(name, outcome, chosen.found, ", ".join(unset)))
    rows += [_collision(it, "known already") for it in together.duplicates]
    rows += [_collision(it, "name is taken") for it in together.clashes]
    rows += [_row(it.name or "-", "can't be used", each, it.reason) for each in found for it in each.skipped]
    return rows


def _collision(it: Collision, outcome: str) -> dict[str, Any]:
    return _row(it.name, outcome, it.found, it.other)


def _row(name: str, outcome: str, found: Found, detail: str) -> dict[str, Any]:
    return {"name": name, "outcome": outcome, "client": found.client, "detail": detail, "file": str(found.file)}
