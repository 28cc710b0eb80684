"""The files of the page, looked at without a browser."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "src/kumihimo/surfaces/dashboard/page"
SCRIPTS = sorted(PAGE.rglob("*.js"))
STYLES = sorted(PAGE.rglob("*.css"))
# Keys that are put together from a part and a word.
MADE_OF = re.compile(r"`([a-z_]+)\.\$\{")
NAMED = re.compile(r"words\(\s*\"([\w.-]+)\"")


def texts(language: str) -> dict[str, str]:
    source = (PAGE / "words" / f"{language}.js").read_text("utf-8")
    return dict(re.findall(r'^  "([\w.-]+)": "((?:[^"\\]|\\.)*)",$', source, re.MULTILINE))


def test_every_text_is_in_both_languages_with_the_same_facts_in_it() -> None:
    english, japanese = texts("en"), texts("ja")
    assert len(english) > 200
    # Where one of something has a text of its own in English, Japanese says it as it says many.
    alone = {key for key in english if key.endswith(".one")}
    assert {key.removesuffix(".one") for key in alone} < english.keys()
    for key in alone:
        del english[key]
    assert english.keys() == japanese.keys()
    facts = re.compile(r"\{\w+\}")
    different = [key for key in english if sorted(facts.findall(english[key])) != sorted(facts.findall(japanese[key]))]
    assert different == []
    latin = [key for key, text in japanese.items() if text.isascii() and key != "switch.language"]
    assert latin == []


def test_every_text_that_is_asked_for_is_there_and_none_is_idle() -> None:
    source = "\n".join(path.read_text("utf-8") for path in SCRIPTS if path.parent.name != "words")
    english = texts("en")
    assert set(NAMED.findall(source)) - english.keys() == set()
    families = set(MADE_OF.findall(source))
    idle = [
        key for key in english
        if f'"{key}"' not in source and key.split(".")[0] not in families and not key.endswith((".label", ".one"))
    ]  # fmt: skip
    assert idle == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_takes_no_html_runs_no_text_and_asks_nobody_else(path: Path) -> None:
    source = path.read_text("utf-8")
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
    ):
        assert forbidden not in source, forbidden
    assert re.findall(r"https?://", source) == []
    if path.parent.name != "words":
        assert len(source.splitlines()) <= 300
        assert max(map(len, source.splitlines())) <= 130


def test_the_html_has_no_script_and_no_style_of_its_own() -> None:
    html = (PAGE / "index.html").read_text("utf-8")
    assert re.findall(r"<style|style=|\son\w+=|<script(?![^>]*\ssrc=)", html) == []
    named = re.findall(r'(?:href|src)="([^"]+)"', html)
    assert all(name.startswith("/assets/") for name in named)
    assert [name for name in named if not (PAGE / name.removeprefix("/assets/")).is_file()] == []


def test_what_a_script_imports_is_there() -> None:
    missing = [
        (path.name, name)
        for path in SCRIPTS
        for name in re.findall(r"(?:from|import\()\s*\"(\./[^\"]+)\"", path.read_text("utf-8"))
        if not (path.parent / name).is_file()
    ]
    assert missing == []


def test_no_file_of_the_page_is_forgotten() -> None:
    everything = "\n".join(path.read_text("utf-8") for path in [*SCRIPTS, PAGE / "index.html"])
    idle = [path.name for path in [*SCRIPTS, *STYLES] if path.name not in everything and path.parent.name != "words"]
    assert idle == []


def palettes() -> dict[str, dict[str, str]]:
    source = (PAGE / "style/tokens.css").read_text("utf-8")
    blocks = {
        "light": r":root \{(.*?)\}",
        "dark": r':root\[data-theme="dark"\] \{(.*?)\}',
        "system": r":root:not\(\[data-theme\]\) \{(.*?)\}",
    }
    return {
        name: dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", found.group(1)))
        for name, block in blocks.items()
        if (found := re.search(block, source, re.DOTALL))
    }


def contrast(one: str, other: str) -> float:
    """As WCAG 2 has it."""

    def light(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    brighter, darker = sorted((light(one), light(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_every_colour_of_text_can_be_read_on_every_ground_in_light_and_dark() -> None:
    found = palettes()
    assert found["dark"] == found["system"]
    inks = ("ink", "ink-2", "queued", "running", "done", "failed", "needs", "parked", "focus")
    for name, palette in found.items():
        for ink, ground in itertools.product(inks, ("ground", "ground-2", "ground-3")):
            assert contrast(palette[ink], palette[ground]) >= 4.5, (name, ink, ground)
        for ink, ground in (
            ("ink", "added"),
            ("ink", "removed"),
            ("lost-ink", "lost-ground"),
            ("on-primary", "primary"),
        ):
            assert contrast(palette[ink], palette[ground]) >= 4.5, (name, ink, ground)
