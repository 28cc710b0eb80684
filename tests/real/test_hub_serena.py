"""A real Serena over a small project: what its methods find there, and that what they change is changed in the files."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.hub.errors import Code
from kumihimo.hub.results import Answer
from kumihimo.hub.serena import Serena
from tests.hub.hub_kit import run, until
from tests.hub.processes import MARK, marked
from tests.real.servers import SERENA, alone

pytestmark = pytest.mark.real
# It starts a language server, which takes its time.
SECONDS = 300.0
SHOP = '''\
"""A shop."""

LIMIT = 3


class Shop:
    def price(self, name: str) -> int:
        return len(name) + LIMIT


def total(names: list[str]) -> int:
    shop = Shop()
    return sum(shop.price(name) for name in names)
'''
USE = 'from shop import total\n\n\ndef main() -> None:\n    print(total(["a", "b"]))\n'


def project(folder: Path) -> Path:
    (folder / ".serena").mkdir(parents=True)
    (folder / ".serena" / "project.yml").write_text(
        "project_name: shop\nlanguages: [python_basedpyright]\nlanguage_servers: [python_basedpyright]\n"
    )
    (folder / "shop.py").write_text(SHOP)
    (folder / "use.py").write_text(USE)
    return folder


@asynccontextmanager
async def serena(tmp_path: Path, *options: str) -> AsyncGenerator[tuple[Hub, Serena]]:
    """Its project is not named: that follows from where the hub is."""
    program = SERENA.program("serena")
    environ = alone(tmp_path / "home")
    settings = tmp_path / "home" / ".serena"
    settings.mkdir()
    languages = {"python_basedpyright": {"ls_path": str(SERENA.program("basedpyright-langserver"))}}
    (settings / "serena_config.yml").write_text(json.dumps({"ls_specific_settings": languages, "projects": []}))
    quiet = ["--enable-web-dashboard", "false", "--enable-gui-log-window", "false", "--log-level", "ERROR"]
    config = {
        "name": "serena",
        "command": str(program),
        "args": ["start-mcp-server", "--context", "desktop-app", *quiet, *options],
        "env": {MARK: str(tmp_path)},
        "timeout": 120_000,
    }
    async with Hub(servers=[config], root=project(tmp_path / "project"), environ=environ) as hub:
        found = hub.serena
        assert found is not None
        yield hub, found
    await until(lambda: not marked(str(tmp_path)))


def data(answer: Answer) -> Any:
    assert answer.success, answer.error
    return answer.data


def test_a_real_serena_finds_symbols_references_patterns_and_files(tmp_path: Path) -> None:
    async def find() -> None:
        async with serena(tmp_path, "--agent-interface", "tools") as (_, found):
            (shop,) = data(await found.find_symbol(name="Shop", type="class", include_body=True))
            assert (shop["name"], shop["type"], shop["path"], shop["line"]) == ("Shop", "class", "shop.py", 6)
            assert shop["body"].startswith("class Shop:")
            assert data(await found.find_symbol(name="Shop", type="function")) == []
            (price,) = data(await found.find_symbol(name="Shop/price", type="function", path="shop.py"))
            assert (price["name"], "body" in price) == ("price", False)
            overview = data(await found.get_symbols_overview(path="shop.py"))
            assert (overview["Class"], overview["Function"]) == (["Shop"], ["total"])
            assert "use.py" in data(await found.find_referencing_symbols(symbol="total", path="shop.py"))
            assert list(data(await found.search_for_pattern(pattern=r"LIM.T = \d"))) == ["shop.py"]
            assert data(await found.find_file(pattern="u*.py")) == ["use.py"]
            assert "shop.py" in data(await found.list_dir())["files"]
            for name in ("think_about_collected_information", "think_about_whether_you_are_done"):
                error = (await getattr(found, name)()).error
                assert error is not None
                assert error.code is Code.TOOL_NOT_FOUND

    run(find(), SECONDS)


def test_a_real_serena_changes_files_and_keeps_memories(tmp_path: Path) -> None:
    shop, use = tmp_path / "project" / "shop.py", tmp_path / "project" / "use.py"
    place: dict[str, Any] = {"path": "shop.py", "symbol_name": "total"}

    async def change() -> None:
        async with serena(tmp_path, "--agent-interface", "tools") as (_, found):
            body = "def price(self, name: str) -> int:\n    return 7"
            replaced = await found.replace_symbol_body(
                path="shop.py", symbol_name="Shop/price", new_body=body, preserve_indentation=True
            )
            data(replaced)
            assert "class Shop:\n    def price(self, name: str) -> int:\n        return 7\n" in shop.read_text()
            data(await found.insert_before_symbol(**place, body="FIRST = 1\n"))
            data(await found.insert_after_symbol(**place, body="\nLAST = 2\n"))
            text = shop.read_text()
            assert text.index("FIRST = 1") < text.index("def total") < text.index("LAST = 2")
            # Twice it stands there: that is a mistake until it is allowed.
            given: dict[str, Any] = {"path": "use.py", "pattern": r'"(.)"', "replacement": r'"\1\1"'}
            assert not (await found.replace_regex(**given)).success
            assert use.read_text() == USE
            data(await found.replace_regex(**given, allow_multiple_occurrences=True))
            assert '["aa", "bb"]' in use.read_text()
            data(await found.write_memory(key="note", value={"price": 7}))
            assert data(await found.read_memory(key="note")) == {"price": 7}
            data(await found.write_memory(key="words", value="# Seven\n"))
            assert data(await found.read_memory(key="words")).strip() == "# Seven"
            missing = (await found.read_memory(key="nothing")).error
            assert missing is not None
            assert missing.code is Code.EXECUTION_FAILED

    run(change(), SECONDS)


def test_a_real_serena_that_offers_its_repl_alone_says_how_to_start_it(tmp_path: Path) -> None:
    async def ask() -> None:
        async with serena(tmp_path, "--agent-interface", "repl") as (_, found):
            error = (await found.find_symbol(name="Shop")).error
            assert error is not None
            assert error.code is Code.TOOL_NOT_FOUND
            assert "--agent-interface tools" in error.message

    run(ask(), SECONDS)
