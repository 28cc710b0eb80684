"""The doctor: the machine, the database, git and the projects. Each finding is provoked, and mended where that is safe."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from string import Formatter

import apsw
import pytest

import kumihimo
from kumihimo.domain.agent import Scope
from kumihimo.domain.event import Change
from kumihimo.domain.messages.findings import FINDINGS
from kumihimo.engine.agents.registry import NAMES
from kumihimo.services.diagnosis import machine
from kumihimo.services.diagnosis.database import look_at_events
from kumihimo.services.diagnosis.diagnosis import by_weight, diagnose
from kumihimo.services.diagnosis.git import STAND_IN
from kumihimo.services.diagnosis.machine import look_at_machine
from kumihimo.services.workplaces import open_worktrees
from kumihimo.store.schema import VERSION, statements
from kumihimo.store.sqlite import SqliteConnection
from tests.services.clinic import Clinic, git, program


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clinic]:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    made = Clinic(tmp_path)
    yield made
    made.close()


def test_a_look_at_an_empty_home_finds_no_error_and_makes_nothing(clinic: Clinic) -> None:
    found = clinic.look()
    assert all(finding.verdict != "error" for finding in found.values())
    assert not clinic.home.exists()


def test_a_file_that_is_no_database_is_an_error_that_says_what_to_do(clinic: Clinic, tmp_path: Path) -> None:
    (tmp_path / "junk.db").write_bytes(b"not a database" * 100)
    found = clinic.look(database=str(tmp_path / "junk.db"))["database"]
    assert found.verdict == "error"
    assert "--db" in found.detail


def test_a_damaged_database_is_an_error_that_names_the_backup(clinic: Clinic) -> None:
    board = clinic.board()
    clinic.run(board, over=True)
    board.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    clinic.close()
    clinic._boards.clear()
    file = clinic.home / "kumi.db"
    content = bytearray(file.read_bytes())
    content[8192 : 8192 + 4096] = b"\xff" * 4096
    file.write_bytes(content)
    found = clinic.look()["database"]
    assert found.verdict == "error"


def test_an_old_schema_is_told_and_left_alone_until_it_is_to_be_mended(clinic: Clinic) -> None:
    clinic.home.mkdir(mode=0o700)
    old = SqliteConnection(clinic.home / "kumi.db")
    for statement in statements(1, old.dialect.words):
        old.execute(statement)
    old.set_schema_version(1)
    old.close()
    assert clinic.look()["database"].verdict == "warning"
    assert "schema 1" in clinic.look()["database"].detail, "a look does not bring it up to date"
    mended = clinic.look(fix=True)["database"]
    assert (mended.verdict, mended.mended) == ("ok", True)
    assert f"to {VERSION}" in mended.detail


def test_a_database_of_a_newer_kumihimo_is_an_error(clinic: Clinic) -> None:
    clinic.board().store.connection.set_schema_version(VERSION + 1)
    assert clinic.look(fix=True)["database"].verdict == "error"


def test_an_old_sqlite_is_an_error(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    found = {finding.name: finding for finding in look_at_machine(clinic.examination())}["sqlite"]
    assert found.verdict == "error"
    assert "pip install" in found.detail


def test_what_others_can_read_is_told_and_closed(clinic: Clinic) -> None:
    clinic.board()
    (clinic.home / "token").write_text("secret")
    for name, mode in (("", 0o755), ("token", 0o644), ("kumi.db", 0o640)):
        (clinic.home / name).chmod(mode)
    names = ("folder", "token", "database file")
    found = clinic.look()
    assert [found[name].verdict for name in names] == ["warning"] * 3
    mended = clinic.look(fix=True)
    assert [mended[name].mended for name in names] == [True] * 3
    modes = [(clinic.home / name).stat().st_mode & 0o777 for name in ("", "token", "kumi.db")]
    assert modes == [0o700, 0o600, 0o600]
    assert clinic.look()["folder"].verdict == "ok"


def test_what_killed_commands_left_is_removed_and_what_is_being_written_is_not(clinic: Clinic, tmp_path: Path) -> None:
    clinic.home.mkdir(mode=0o700)
    dead = subprocess.Popen(["true"])
    dead.wait()
    left, written = clinic.home / f"up.json.{dead.pid}", clinic.home / f"up.json.{os.getpid()}"
    for file in (left, written):
        file.write_text("{}")
    old, fresh = tmp_path / "kumi-check-old", tmp_path / "kumi-check-fresh"
    for folder in (old, fresh):
        (folder / "work").mkdir(parents=True)
    os.utime(old, (1, 1))
    assert clinic.look()["leftovers"].verdict == "warning"
    assert clinic.look(fix=True)["leftovers"].mended
    assert (left.exists(), written.exists(), old.exists(), fresh.exists()) == (False, True, False, True)
    assert "leftovers" not in clinic.look()


def test_a_disk_without_room_is_a_warning(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 5_000_000))
    assert clinic.look()["disk"].verdict == "warning"


def test_a_channel_for_notices_that_cannot_work_is_a_warning(clinic: Clinic) -> None:
    clinic.home.mkdir(mode=0o700)
    (clinic.home / "config.toml").write_text('[notifications.command]\nargv = ["no-such-program-anywhere"]\n')
    found = clinic.look()["notifications"]
    assert found.verdict == "warning"
    assert "no-such-program-anywhere" in found.detail
    (clinic.home / "config.toml").write_text('[notifications.command]\nargv = ["true"]\n')
    assert clinic.look()["notifications"].detail == "command"


def test_a_clock_that_is_behind_the_board_is_a_warning(clinic: Clinic) -> None:
    board = clinic.board()
    project = board.projects.init(str(clinic.folder), git=False).project
    late = Change(project, "project.paused", board.clock() + timedelta(minutes=10))
    board.store.write(lambda transaction: transaction.events.append(late))
    found = {finding.name: finding for finding in look_at_events(clinic.examination(), board)}
    assert found["clock"].verdict == "warning"


def test_old_events_are_folded_only_when_mending(clinic: Clinic) -> None:
    board = clinic.board()
    project = board.projects.init(str(clinic.folder), git=False).project
    for days in (40, 39):
        passed = Change(project, "project.paused", board.clock() - timedelta(days=days))
        board.store.write(lambda transaction, passed=passed: transaction.events.append(passed))
    before = len(board.store.events_after(None, 1000))
    assert clinic.look()["events"].mended is False
    assert len(board.store.events_after(None, 1000)) == before
    assert clinic.look(fix=True)["events"].mended
    assert len(board.store.events_after(None, 1000)) < before


def test_a_git_that_is_missing_or_too_old_is_a_warning(
    clinic: Clinic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert "not on PATH" in clinic.look()["git"].detail
    program(tmp_path / "bin", "git", "echo git version 2.30.1")
    found = clinic.look()
    assert found["git"].verdict == "warning"
    assert "2.30.1" in found["git"].detail
    assert "identity" not in found


def test_a_missing_identity_is_stood_in_for_in_a_project_and_given_back(
    clinic: Clinic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(clinic.folder, "init", "-q")
    assert "git config --global user.name" in clinic.look()["identity"].detail
    assert clinic.look(fix=True)["identity"].verdict == "warning", "no project, no change"
    clinic.board().projects.init(str(clinic.folder), git=True)
    assert clinic.look(fix=True)["identity"].mended
    assert git(clinic.folder, "config", "--local", "user.name") == "Kumihimo"
    assert STAND_IN in clinic.look()["identity"].detail
    own = tmp_path / "gitconfig"
    own.write_text("[user]\n\tname = Mei\n\temail = mei@example.com\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    assert clinic.look()["identity"].verdict == "warning"
    assert clinic.look(fix=True)["identity"].mended
    assert clinic.look()["identity"].detail == "Mei <mei@example.com>"


def test_a_repositorys_own_identity_is_left_alone(clinic: Clinic) -> None:
    git(clinic.folder, "init", "-q")
    git(clinic.folder, "config", "user.name", "Ken")
    git(clinic.folder, "config", "user.email", "ken@example.com")
    clinic.board().projects.init(str(clinic.folder), git=True)
    assert clinic.look(fix=True)["identity"].detail == "Ken <ken@example.com>"


def test_a_project_whose_folder_is_gone_is_named(clinic: Clinic, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    clinic.board().projects.init(str(tmp_path / "old"), git=False)
    (tmp_path / "old").rmdir()
    found = clinic.look()["projects"]
    assert found.verdict == "warning"
    assert "kumi project archive old" in found.detail


def test_worktrees_whose_work_has_arrived_are_offered_and_collected(clinic: Clinic) -> None:
    git(clinic.folder, "init", "-q", "-b", "main")
    for key, value in (("user.name", "Ken"), ("user.email", "ken@example.com")):
        git(clinic.folder, "config", key, value)
    git(clinic.folder, "commit", "-q", "--allow-empty", "-m", "first")
    project = clinic.board().projects.init(str(clinic.folder), git=True).project
    worktrees = open_worktrees(project)
    merged = worktrees.create("task-1", "kumi/task-1", "main", holder="exec_1", scope=Scope())
    worktrees.release("task-1", "exec_1")
    held = worktrees.create("task-2", "kumi/task-2", "main", holder="exec_2", scope=Scope())
    (held.path / "work.txt").write_text("not there yet")
    worktrees.release("task-2", "exec_2")
    offered = clinic.look()["worktrees of shop"]
    assert offered.verdict == "warning"
    assert "task-1" in offered.detail
    assert "task-2" not in offered.detail
    assert merged.path.exists()
    assert clinic.look(fix=True)["worktrees of shop"].mended
    assert (merged.path.exists(), held.path.exists()) == (False, True)


def test_errors_come_first_and_what_is_in_order_last(clinic: Clinic, tmp_path: Path) -> None:
    (tmp_path / "junk.db").write_bytes(b"not a database" * 100)
    settings = clinic.settings(str(tmp_path / "junk.db"))
    found = by_weight(diagnose(settings, clinic.board, fix=True))
    verdicts = ["mended" if finding.mended else finding.verdict for finding in found]
    assert verdicts == sorted(verdicts, key=["error", "warning", "mended", "ok"].index)
    assert verdicts[0] == "error"


def test_the_doctor_speaks_japanese(clinic: Clinic) -> None:
    found = diagnose(clinic.settings(language="ja"), clinic.board, fix=False)
    assert any("空き" in finding.detail for finding in found)


def test_every_finding_speaks_every_language_with_the_same_facts_and_is_used() -> None:
    for key, spoken in FINDINGS.items():
        facts = [{name for _, name, _, _ in Formatter().parse(text) if name} for text in spoken.values()]
        assert set(spoken) == {"en", "ja"}, key
        assert facts[0] == facts[1], key
    source = Path(kumihimo.__file__).parent
    files = [*(source / "services" / "diagnosis").glob("*.py"), source / "hub" / "diagnosis.py"]
    words = {
        node.value
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(FINDINGS) <= words, set(FINDINGS) - words


def test_the_page_about_the_doctor_has_every_finding() -> None:
    source = Path(kumihimo.__file__).parent
    files = [*(source / "services" / "diagnosis").glob("*.py"), source / "hub" / "diagnosis.py"]
    methods = {"ok", "warning", "error", "mended", "plain", "refused"}
    named: set[str] = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
                first = node.args[0]
                named |= {str(first.value)} if isinstance(first, ast.Constant) else set()
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_told":
                second = node.args[1]
                named |= {str(second.value)} if isinstance(second, ast.Constant) else set()
    named |= {"token", "database file", "worktrees of NAME", *(name for name in NAMES if name != "command")}
    page = Path(__file__).parents[2] / "docs" / "how-to" / "find-what-is-wrong.md"
    rows = [line.split("|")[1] for line in page.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall("`([^`]+)`", row)} == named
