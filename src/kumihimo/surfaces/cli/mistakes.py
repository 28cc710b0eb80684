"""Mistakes in a command line, as click tells them, in the language of whoever typed."""

from __future__ import annotations

import re

import click

from kumihimo.settings import Language

# The English sentence of click, and the same in Japanese. The longest a value may be is cut elsewhere.
_JAPANESE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (r"(.*) is not one of (.*)\.", r"\1 は選べません。次のどれかにしてください: \2。"),
        (r"(.*) is not a valid integer\.", r"\1 は整数ではありません。"),
        (r"(.*) is not a valid float\.", r"\1 は数ではありません。"),
        (r"(.*) is not a valid boolean\..*", r"\1 は true か false ではありません。"),
        (r"(.*) is not in the range (.*)\.", r"\1 は範囲 \2 の外です。"),
        (r"(?:File|Directory|Path) (.*) does not exist\.", r"\1 がありません。"),
        (r"(?:File|Directory|Path) (.*) is not (?:readable|writable)\.", r"\1 を読み書きできません。"),
        (r"Option (.*) requires an argument\.", r"オプション \1 には値が必要です。"),
        (r"Option (.*) does not take a value\.", r"オプション \1 に値は付けられません。"),
        (r"Argument (.*) takes (\d+) values\.", r"引数 \1 には値が \2 個必要です。"),
        (r"Got unexpected extra arguments? \((.*)\)", r"余分な引数があります: \1。"),
        (r"Missing command\.", "動詞がありません。"),
        (r"a resident server needs --agent-id\.", "resident のサーバーには --agent-id が必要です。"),
    )
)


def told(error: click.UsageError, language: Language) -> str:
    """What is wrong, in a sentence. What is not known here is told as click has it."""
    if language == "en":
        return error.format_message()
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        name = error.param_hint or (error.param.get_error_hint(error.ctx) if error.param and error.ctx else "")
        shown = name if isinstance(name, str) else " / ".join(name)
        return f"{shown} の値が正しくありません: {_japanese(error.message)}"
    return _japanese(error.message)


def _japanese(message: str) -> str:
    for pattern, words in _JAPANESE:
        if (found := pattern.fullmatch(message)) is not None:
            return found.expand(words)
    return message
