"""One client set up: which file, which entry, what changed."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kumihimo.surfaces.cli.exit_codes import BAD_ARGUMENT
from kumihimo.surfaces.cli.setup import config_file, json_document, toml_document
from kumihimo.surfaces.cli.setup.client import Client
from kumihimo.surfaces.cli.setup.config_file import Written
from kumihimo.surfaces.cli.setup.document import Form
from kumihimo.surfaces.cli.setup.entry import SERVER, entry_of
from kumihimo.surfaces.cli.setup.json_document import JsonDocument
from kumihimo.surfaces.cli.setup.merging import Merge, Was, merge
from kumihimo.surfaces.cli.setup.place import Place, Scope
from kumihimo.surfaces.cli.setup.refusal import Refusal, Unreadable

FORMS: dict[str, Form] = {"json": json_document.FORM, "toml": toml_document.FORM}


class Installation(Struct, frozen=True):
    """What was done, or would be. `oddities` are those lines of the file that its client will not read."""

    client: Client
    scope: Scope
    path: str
    command: str
    snippet: str
    was: Was
    keys: tuple[str, ...]
    changed: bool
    backup: str | None
    oddities: dict[str, int]


def install(client: Client, scope: Scope | None, place: Place, argv: list[str], dry_run: bool) -> Installation:
    """The client's file with our entry in it. Raises Refusal; then nothing was written."""
    scope = _scope(client, scope, place)
    path = client.files[scope](place)
    entry = entry_of(client, scope, argv, place.environ)
    snippet = FORMS[client.form].snippet((client.servers, SERVER), entry)
    merges: list[Merge] = []

    def change(text: str) -> str:
        merges.append(merge(FORMS[client.form].read(text), client.servers, entry))
        return merges[-1].document.text

    try:
        if dry_run:
            written = Written(config_file.preview(path, change))
        else:
            written = config_file.rewrite(path, change, private=scope == "user")
    except Unreadable as error:
        raise Refusal("unreadable", path=path, line=error.line, reason=error.reason) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise Refusal("unreadable", path=path, line=line, reason="not_utf8") from None
    except config_file.Busy:
        raise Refusal("busy", path=path, client=client.title) from None
    except OSError as error:
        raise Refusal("unwritable", path=error.filename or path, reason=error.strerror or str(error)) from None
    except Refusal as refusal:
        raise Refusal(refusal.key, path=path, snippet=snippet) from None
    last = merges[-1]
    return Installation(
        client=client,
        scope=scope,
        path=path,
        command=entry["command"],
        snippet=snippet,
        was=last.was,
        keys=last.keys,
        changed=written.changed,
        backup=written.backup,
        oddities=_oddities(client, last.document),
    )


def _scope(client: Client, asked: Scope | None, place: Place) -> Scope:
    if asked is None:
        usual = place.usual_scope()
        return usual if usual in client.files else client.scopes[0]
    if asked not in client.files:
        raise Refusal("no_such_scope", BAD_ARGUMENT, client=client.title, scopes=", ".join(client.scopes))
    return asked


def _oddities(client: Client, document: Any) -> dict[str, int]:
    if not isinstance(document, JsonDocument):
        return {}
    return {kind: line for kind, line in document.oddities.items() if kind in client.refuses}
