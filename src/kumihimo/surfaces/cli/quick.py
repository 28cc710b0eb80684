"""`kumi mcp serve` without the machinery of the command line, which costs a fifth of its start.

An editor starts this every time it opens. Only the flags that configurations use are read here; anything else, and every
mistake, is left to the ordinary way.
"""

from __future__ import annotations

import os
from pathlib import Path

_WITH_VALUE = ("--toolset", "--agent-id", "--db", "--project", "--lang", "--config", "--expose")
_WITHOUT = {"-v": "--verbose", "--verbose": "--verbose"}


def read(arguments: list[str]) -> dict[str, str] | None:
    """The flags of `mcp serve`, or None where this is something else."""
    if arguments[:2] != ["mcp", "serve"]:
        return None
    flags: dict[str, str] = {}
    rest = arguments[2:]
    while rest:
        name, joined, value = rest.pop(0).partition("=")
        if name in _WITHOUT and not joined:
            flags[_WITHOUT[name]] = "1"
        elif name in _WITH_VALUE and (joined or rest):
            flags[name] = value if joined else rest.pop(0)
        else:
            return None
    ordinary = (
        flags.get("--lang", "en") in ("en", "ja")
        and flags.get("--expose", "all") in ("all", "search")
        and ("resident" not in flags.get("--toolset", "") or "--agent-id" in flags)
    )
    return flags if ordinary else None


def serve(flags: dict[str, str]) -> int:
    """As the command does it: the same settings, the same server, the same exit codes."""
    from kumihimo.domain.errors import KumihimoError
    from kumihimo.settings import Flags, load
    from kumihimo.surfaces.mcp.stdio import serve as serve_toolsets
    from kumihimo.toolsets.registry import names_of

    language = {"lang": flags.get("--lang")}
    try:
        asked = Flags(
            flags.get("--db"),
            flags.get("--project"),
            flags.get("--lang"),
            "--verbose" in flags,
            flags.get("--config"),
        )
        settings = load(asked, os.environ, Path.cwd())
        language["language"] = settings.language
        names = names_of(flags.get("--toolset"))
        if "--agent-id" in flags and "resident" not in names:
            from kumihimo.surfaces.cli.serve import warn_of_idle_agent

            warn_of_idle_agent(names, settings.language)
        return serve_toolsets(settings, names, flags.get("--agent-id"), flags.get("--expose"))
    except KumihimoError as error:
        from kumihimo.domain.messages import render
        from kumihimo.surfaces.cli.complaints import complain, spoken
        from kumihimo.surfaces.cli.exit_codes import exit_code

        complain(render(error, spoken(language)), spoken(language))
        return exit_code(error)
