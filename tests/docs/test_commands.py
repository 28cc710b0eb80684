"""Every command that any page of the documentation shows is one: its verb is there, and so are its flags."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from kumihimo.surfaces.cli.program import Root
from tests.docs.terminal import ROOT

# The reference is made from the verbs themselves.
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
_BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(kumi [^`\n]+)`")
# What stands for something that whoever reads this has: one of several, or anything.
_LOOSE = re.compile(r"[…|\[\]]|\.\.\.")


def shown(page: Path) -> list[str]:
    """The commands of a page, in blocks and in sentences."""
    text = page.read_text("utf-8")
    found = _INLINE.findall(_BLOCK.sub("", text))
    for block in _BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            found += [f"kumi {rest}" for rest in re.findall(r"(?:^|[|;&(]\s*|^\$ )kumi (.+)", line.strip())]
    return [it for it in found if not _LOOSE.search(it.split(" #")[0]) and not it.split()[1].isupper()]


def parse(command: str) -> None:
    """As the program would, without doing it."""
    flags: dict[str, Any] = {}
    part: click.Command = Root(flags)
    lexer = shlex.shlex(re.sub(r"\$\([^)]*\)", "SOMETHING", command), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    words = list(lexer)[1:]
    end = next((at for at, word in enumerate(words) if word in ("<", ">", ">>", "|", "&&", ";", "&")), len(words))
    context = part.make_context("kumi", words[:end], obj=flags)
    rest = [*context._protected_args, *context.args]
    while isinstance(part, click.Group):
        if not rest:
            return
        name, found, rest = part.resolve_command(context, rest)
        assert found is not None, name
        part = found
        if isinstance(part, click.Group) and not rest:
            return
        context = part.make_context(name, list(rest), parent=context)
        rest = [*getattr(context, "_protected_args", ()), *context.args]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_is_one(page: Path) -> None:
    wrong: list[str] = []
    for command in shown(page):
        try:
            parse(command)
        except (click.MissingParameter, click.exceptions.Exit):
            # Named in a sentence, not typed; or its help is asked for.
            continue
        except (click.ClickException, ValueError) as error:
            if isinstance(error, click.BadParameter) and re.search(r"'[A-Z]+' is not", str(error)):
                # A word in capitals stands for one of those that there are.
                continue
            wrong.append(f"{command}: {error}")
    assert wrong == []


def test_a_command_that_is_none_is_found() -> None:
    for wrong in ("kumi task shw 1", "kumi task show 1 --frobnicate", "kumi nothing"):
        with pytest.raises(click.UsageError):
            parse(wrong)
    for right in ("kumi task show 1", "kumi group run G --role a --prompt b | cat", "kumi hub add x -- npx -y y ."):
        parse(right)
