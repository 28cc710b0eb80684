"""The program: verbs found as they are typed, flags before or after the verb, answers drawn, errors to exit codes."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.messages import render
from kumihimo.settings import Flags, Language, Settings, load
from kumihimo.surfaces.cli import verbs
from kumihimo.surfaces.cli.complaints import complain, spoken
from kumihimo.surfaces.cli.exit_codes import BAD_ARGUMENT, DONE, FAILED, exit_code
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.verbs import Verb

PROGRAM = "kumi"

# A mark for click: the lines after it stay as they are.
_EXAMPLES = "\b\nExamples:\n"
_MOST_EXAMPLES = 4


def run(arguments: list[str]) -> int:
    """Run one command line. Whatever happens ends in an exit code and, where it is an error, a sentence on stderr."""
    flags: dict[str, Any] = {}
    return _printed(_run(arguments, flags), flags)


def _run(arguments: list[str], flags: dict[str, Any]) -> int:
    try:
        with Root(flags).make_context(PROGRAM, arguments, obj=flags) as context:
            answer = context.command.invoke(context)
        return answer if isinstance(answer, int) else DONE
    except KumihimoError as error:
        complain(render(error, spoken(flags)), spoken(flags))
        return exit_code(error)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as asked:
        # Nothing was named, so nothing is wrong with it: all that there is to choose from, whole.
        print(asked.format_message(), file=sys.stderr)
        return BAD_ARGUMENT
    except click.UsageError as error:
        complain(_usage(error, spoken(flags)), spoken(flags))
        return BAD_ARGUMENT
    except BrokenPipeError:
        # Who reads us has seen enough; Python must not complain about it once more at its own end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (KeyboardInterrupt, click.Abort):
        complain(said("interrupted", spoken(flags)), spoken(flags))
        return 130
    except Exception as error:  # noqa: BLE001 - the outermost loop of this surface
        if flags.get("verbose"):
            import traceback

            traceback.print_exc()
        # A disk that is full, a folder that may not be written: no mistake of ours.
        refused = isinstance(error, OSError) and error.errno is not None
        reason = str(error) if refused else f"{type(error).__name__}: {error}"
        key = "broken" if not refused else "system" if _can_print() else "output"
        complain(said(key, spoken(flags)).format(reason=reason[:300]), spoken(flags))
        return FAILED


def _can_print() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _printed(code: int, flags: dict[str, Any]) -> int:
    """The exit code once everything is printed. What can't be is let go: Python would try, and complain, once more at its end."""
    try:
        sys.stdout.flush()
        return code
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            # Who reads us has seen enough.
            return DONE
        if code != FAILED:
            complain(said("output", spoken(flags)).format(reason=error), spoken(flags))
        return FAILED


class VerbGroup(click.Group):
    """Finds its verbs in the table and makes a command of one when it is asked for."""

    def __init__(self, path: str, flags: dict[str, Any], **attributes: Any) -> None:
        super().__init__(path.rpartition(" ")[2] or PROGRAM, **attributes)
        self.path = path
        self.flags = flags
        self.params.extend(global_options())

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the base class's signature
        found = [verb.words for verb in (*verbs.VERBS, *verbs.WAYS)]
        start = f"{self.path} " if self.path else ""
        return list(
            dict.fromkeys(words.removeprefix(start).partition(" ")[0] for words in found if words.startswith(start))
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        words = f"{self.path} {verbs.ALIASES.get(cmd_name, cmd_name) if self.path else cmd_name}".strip()
        if words in verbs.RUNNING:
            made: click.Command = import_module(f"kumihimo.surfaces.cli.{verbs.RUNNING[words]}").group(
                words, self.flags
            )
            made.short_help = _first_sentence(verbs.GROUPS[words])
            return made
        if words in verbs.GROUPS:
            about = verbs.GROUPS[words]
            return VerbGroup(words, self.flags, help=about, short_help=_first_sentence(about))
        for verb in verbs.VERBS:
            if verb.words == words:
                return command_of(verb)
        for way in verbs.WAYS:
            if way.words == words:
                command: click.Command = import_module(f"kumihimo.surfaces.cli.{way.module}").command(way)
                command.short_help = _first_sentence(way.help)
                return command
        return None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One example of each of the first verbs, where there are none of the group's own."""
        if self.epilog is None:
            commands = (self.get_command(ctx, name) for name in self.list_commands(ctx))
            epilogs = [command.epilog for command in commands if command is not None and command.epilog]
            first = [epilog.removeprefix(_EXAMPLES).partition("\n")[0] for epilog in epilogs[:_MOST_EXAMPLES]]
            self.epilog = _EXAMPLES + "\n".join(first)
        super().format_epilog(ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            raise NoSuchVerb(name, self.list_commands(ctx), ctx)
        return super().resolve_command(ctx, args)


class Root(VerbGroup):
    def __init__(self, flags: dict[str, Any]) -> None:
        super().__init__(
            "",
            flags,
            help="Kumihimo: the control plane for AI coding agents.\n\nBegin with `kumi init` in a repository, or look around "
            "with `kumi demo`.",
            epilog=_EXAMPLES + "  kumi init\n  kumi task add 'Log in with a passkey' --assignee coder\n  kumi open",
            no_args_is_help=True,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        self.params.append(
            click.Option(["--version", "-V"], is_flag=True, is_eager=True, expose_value=False, callback=_version)
        )


class NoSuchVerb(click.UsageError):
    def __init__(self, name: str, names: list[str], ctx: click.Context) -> None:
        super().__init__(name, ctx)
        self.name = name
        self.names = names


def global_options() -> list[click.Parameter]:
    """The flags that every verb takes, before or after it; the one nearest to the end wins.

    Their names inside are their own: a verb may have an argument called `project`.
    """

    def keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value is not None and value is not False and parameter.name:
            context.find_root().obj[parameter.name.removeprefix("global_")] = value

    shared: dict[str, Any] = {"expose_value": False, "callback": keep, "is_eager": True}
    return [
        click.Option(
            ["--db", "global_db"], metavar="PATH|URL", help="The board: a SQLite file or a postgresql:// URL.", **shared
        ),
        click.Option(
            ["--project", "global_project"],
            metavar="P",
            help="The project, by name or id; else the one of this folder.",
            **shared,
        ),
        click.Option(
            ["--json", "global_json"], is_flag=True, help="Print one JSON document and nothing else.", **shared
        ),
        click.Option(
            ["--lang", "global_lang"], type=click.Choice(["en", "ja"]), help="The language to speak.", **shared
        ),
        click.Option(["--verbose", "-v", "global_verbose"], is_flag=True, help="Say more, on stderr.", **shared),
    ]


def config_option() -> click.Parameter:
    """For what has to do with the hub: the file that says which servers are behind it."""

    def keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:  # noqa: ARG001
        if value is not None:
            context.find_root().obj["hub_config"] = value

    return click.Option(
        ["--config", "hub_config"],
        metavar="FILE",
        expose_value=False,
        is_eager=True,
        callback=keep,
        help="The servers behind the hub, in place of mcp.config.yaml and .mcp.json.",
    )


def settings_of(flags: dict[str, Any]) -> Settings:
    asked = Flags(
        flags.get("db"), flags.get("project"), flags.get("lang"), bool(flags.get("verbose")), flags.get("hub_config")
    )
    settings = load(asked, os.environ, Path.cwd())
    flags["language"] = settings.language
    # Each flag has its variable: `KUMI_JSON=1` is `--json`.
    flags["json"] = flags.get("json") or os.environ.get("KUMI_JSON", "") not in ("", "0")
    flags["verbose"] = settings.verbose
    return settings


def command_of(verb: Verb) -> click.Command:
    """The verb as a command: its operation is loaded now, and no other."""
    from kumihimo.operations.catalogue import named
    from kumihimo.surfaces.cli.parameters import parameters

    operation = named(verb.operation)
    examples = "\n".join(f"  {example}" for example in verb.examples)
    extra = [config_option()] if verb.words.startswith("hub ") else []

    def invoke(**given: Any) -> int:
        from kumihimo.surfaces.cli.invocation import perform

        return perform(verb, operation, given, click.get_current_context().find_root().obj)

    return click.Command(
        verb.words.rpartition(" ")[2],
        callback=invoke,
        params=[*parameters(verb, operation.arguments), *extra, *global_options()],
        help=operation.description,
        epilog=_EXAMPLES + examples if examples else None,
        short_help=_first_sentence(operation.description),
    )


def _first_sentence(text: str) -> str:
    """For a list of verbs: whole, since who chooses a verb has nothing of half a sentence."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].removesuffix(".") + "."


def _version(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001
    if value:
        from kumihimo import __version__

        print(f"{PROGRAM} {__version__}")
        context.exit()


def _usage(error: click.UsageError, language: Language) -> str:
    """A mistake in the command line, with what was probably meant and where to read on."""
    command = error.ctx.command_path if error.ctx else PROGRAM
    hint = said("usage", language).format(command=command)
    if isinstance(error, NoSuchVerb):
        near = _near(error.name, error.names, language)
        return f"{said('no_such_verb', language).format(name=error.name[:60], near=near)} {hint}"
    if isinstance(error, click.NoSuchOption):
        near = said("near", language).format(near=error.possibilities[0]) if error.possibilities else ""
        return f"{said('no_such_option', language).format(name=error.option_name[:60], near=near)} {hint}"
    if isinstance(error, click.MissingParameter) and error.param:
        return f"{said('missing', language).format(name=error.param.get_error_hint(error.ctx) if error.ctx else '')} {hint}"
    from kumihimo.surfaces.cli.mistakes import told

    return f"{told(error, language)[:500]} {hint}"


def _near(name: str, names: list[str], language: Language) -> str:
    import difflib

    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return said("near", language).format(near=close[0]) if close else ""
