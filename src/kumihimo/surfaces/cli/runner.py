"""`kumi runner`: start the agents that have work, for a server of this home or elsewhere, until it is stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import Any, TextIO

import click
import msgspec

from kumihimo.domain.errors import ConfigError, StartFailed
from kumihimo.runner.assembly import assembled
from kumihimo.runner.clock import SystemClock
from kumihimo.runner.desk import Trouble
from kumihimo.runner.lock import AlreadyRunning
from kumihimo.runner.runner import Runner
from kumihimo.runner.told import Fact, Kind
from kumihimo.runner.where import Locate, Where, at_url
from kumihimo.settings import Settings, from_environment
from kumihimo.surfaces.cli import verbs
from kumihimo.surfaces.cli.complaints import complain
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED, WRONG_STATE
from kumihimo.surfaces.cli.program import VerbGroup, settings_of
from kumihimo.surfaces.cli.runner_phrases import sentence
from kumihimo.wire.client.targets import Command

TOKEN = "KUMI_TOKEN"  # noqa: S105 - the name of a variable
STDIO = "stdio"
_QUIET: tuple[Kind, ...] = ("delivered",)


def group(words: str, flags: dict[str, Any]) -> click.Group:
    made = VerbGroup(
        words,
        flags,
        callback=_runner,
        invoke_without_command=True,
        help=verbs.GROUPS[words]
        + "\n\nAgents that may be started are named in the configuration, each with the variable "
        'that holds its passkey: [runner.agents."agt_..."] passkey = "${NAME}". The token of a server elsewhere is taken '
        "from KUMI_TOKEN (`kumi runner token` makes one).",
        epilog="\b\nExamples:\n  kumi runner\n  kumi runner --once --json\n"
        "  KUMI_TOKEN=krun_... kumi runner --server https://board.example:9696\n  kumi runner token --json",
    )
    made.params[:0] = [
        click.Option(
            ["--server"],
            metavar="URL",
            help="The server to ask; this home's own if left out, by HTTP, or by pipes with `stdio`.",
        ),
        click.Option(["--once"], is_flag=True, help="Start what may start now, wait for its end, and stop."),
    ]
    return made


def _runner(server: str | None, once: bool) -> int | None:
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        return None
    flags: dict[str, Any] = context.find_root().obj
    settings = settings_of(flags)
    passkeys, variables = _passkeys(settings)
    key, locate = _server(settings, server or settings.runner.server)
    for name in (TOKEN, *variables):
        # What this process may do and knows is not for the agents that it starts.
        os.environ.pop(name, None)
    try:
        return asyncio.run(_run(settings, key, locate, passkeys, Teller(flags), once=once))
    except AlreadyRunning:
        complain(sentence("already", settings.language, {"server": key}), settings.language)
        return WRONG_STATE


async def _run(
    settings: Settings, key: str, locate: Locate, passkeys: dict[str, str], tell: Teller, *, once: bool
) -> int:
    with assembled(settings, key, locate, passkeys, tell) as runner:
        working = asyncio.ensure_future(_work(runner, settings, once=once))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, working.cancel)
        with suppress(asyncio.CancelledError):
            return await working
        tell.say("stopped", {})
        return DONE


async def _work(runner: Runner, settings: Settings, *, once: bool) -> int:
    try:
        await (runner.run_once() if once else runner.run())
    except Trouble as trouble:
        complain(sentence("unreachable_once", settings.language, {"reason": trouble.reason}), settings.language)
        return FAILED
    finally:
        await runner.close()
    return DONE


def _passkeys(settings: Settings) -> tuple[dict[str, str], list[str]]:
    """Passkeys by agent, and the variables that they came from. ConfigError where there are none, or one is missing."""
    if not settings.runner.agents:
        reason = 'it names no agent to start: add [runner.agents."agt_..."] passkey = "${NAME}"'
        raise ConfigError("[runner]", "bad_setting", reason=reason)
    passkeys: dict[str, str] = {}
    variables: list[str] = []
    for agent_id, agent in settings.runner.agents.items():
        name, passkeys[agent_id] = from_environment(f"[runner.agents.{agent_id}] passkey", agent.passkey, os.environ)
        variables.append(name)
    return passkeys, variables


def _server(settings: Settings, asked: str | None) -> tuple[str, Locate]:
    """By what the server is known on disk, and how it is found."""
    token = os.environ.get(TOKEN) or None
    if asked is not None and asked != STDIO:
        there = at_url(asked, token)

        async def elsewhere() -> Where:
            return there

        return asked.strip().rstrip("/"), elsewhere
    command = Command(
        argv=(sys.executable, "-m", "kumihimo", "--db", settings.database, "mcp", "serve", "--toolset", "runner")
    )

    async def here() -> Where:
        """The host process of this home, started where there is none: instances need its HTTP in any case."""
        from kumihimo.services.hosting import ensure

        try:
            # It starts a process and waits for it, which blocks.
            running = await asyncio.to_thread(ensure, settings)
            where = at_url(running.url, token or settings.token_file.read_text("ascii").strip())
        except (StartFailed, OSError) as error:
            raise Trouble(str(error)) from error
        return Where(command, where.worker_url) if asked == STDIO else where

    return "local", here


class Teller:
    """Says what happens: a sentence on stderr, and with --json a line on stdout."""

    def __init__(self, flags: dict[str, Any]) -> None:
        self._flags = flags
        self._clock = SystemClock()

    def __call__(self, kind: Kind, facts: dict[str, Fact]) -> None:
        if self._flags.get("json"):
            line = {"event": kind, "at": self._clock.now(), **facts}
            _write(sys.stdout, msgspec.json.encode(line).decode())
        if kind not in _QUIET or self._flags.get("verbose"):
            self.say(kind, facts)

    def say(self, key: str, facts: dict[str, Fact]) -> None:
        _write(sys.stderr, sentence(key, self._flags["language"], facts))


def _write(stream: TextIO, line: str) -> None:
    """Who watches may leave; the work goes on."""
    try:
        stream.write(line + "\n")
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
