"""Every requirement names tests that there are, and has an id of its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| ([A-Z][A-Z0-9]*-\d+) \| (.+) \| (.+) \|$", re.MULTILINE)


def tables() -> list[tuple[str, str, list[str]]]:
    text = "".join(path.read_text("utf-8") for path in sorted((ROOT / "docs/requirements").glob("*.md")))
    return [(identifier, sentence, re.findall(r"`(\w+)`", tests)) for identifier, sentence, tests in ROW.findall(text)]


def existing() -> set[str]:
    return {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_requirement_has_its_own_id_and_a_test_that_exists() -> None:
    rows, tests = tables(), existing()
    assert len(rows) > 90
    assert len({identifier for identifier, _, _ in rows}) == len(rows)
    missing = {identifier: [name for name in named if name not in tests] for identifier, _, named in rows}
    assert {identifier: names for identifier, names in missing.items() if names} == {}
    assert [identifier for identifier, _, named in rows if not named] == []


def test_every_threat_has_a_test_that_exists() -> None:
    text, tests = (ROOT / "docs/security.md").read_text("utf-8"), existing()
    threats = re.findall(r"^\| T\d+ \| .+ \| (.+) \|$", text, re.MULTILINE)
    assert len(threats) > 15
    assert [threat for threat in threats if not set(re.findall(r"`(test_\w+)`", threat)) & tests] == []
    assert set(re.findall(r"`(test_\w+)`", text)) <= tests
