"""How files are written: in one step, as they were, or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kumihimo.surfaces.cli.setup import config_file
from tests.cli.setup.conftest import OURS, Desk, tree

OTHER = '{"mcpServers": {"a": {"command": "x"}}}\n'
RUN_SETUP = """
import sys
from kumihimo.surfaces.cli import verbs
if not any(way.words == "setup" for way in verbs.WAYS):
    verbs.WAYS = (*verbs.WAYS, verbs.Way("setup", "setup.command", ""))
from kumihimo.surfaces.cli.program import run
sys.exit(run(["setup", *sys.argv[1:]]))
"""


def servers(path: Path) -> dict[str, object]:
    return json.loads(path.read_text())["mcpServers"]


def test_a_second_run_writes_nothing_and_says_so(desk: Desk) -> None:
    desk.file(".mcp.json", OTHER)
    desk.setup("claude")
    path = desk.repository / ".mcp.json"
    os.utime(path, ns=(1, 1))
    before = path.stat()

    result = desk.setup("claude")

    assert result.code == 0
    assert "already; nothing was written" in result.out
    assert "Next:" not in result.out
    after = path.stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_the_file_as_it_was_at_first_is_kept_once(desk: Desk) -> None:
    path = desk.file(".mcp.json", OTHER)
    backup = Path(f"{path}.kumi-backup")
    path.chmod(0o640)

    assert str(backup) in desk.setup("claude").out
    path.write_text(path.read_text().replace('"kumi"', '"older"'))
    assert desk.setup("claude").code == 0

    assert backup.read_text() == OTHER
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640
    assert servers(path)["kumihimo"] == OURS


def test_a_file_that_is_new_has_no_backup_and_nothing_else_is_left(desk: Desk) -> None:
    assert desk.setup("cursor").code == 0
    assert [file.name for file in (desk.repository / ".cursor").iterdir()] == ["mcp.json"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o700])
def test_the_permissions_of_a_file_stay(desk: Desk, mode: int) -> None:
    path = desk.file("~/.claude.json", OTHER)
    path.chmod(mode)

    assert desk.setup("claude", "--scope", "user").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_of_a_repository_has_the_permissions_that_new_files_have(desk: Desk) -> None:
    before = os.umask(0o027)
    try:
        assert desk.setup("claude").code == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((desk.repository / ".mcp.json").stat().st_mode) == 0o640


def test_a_link_stays_and_what_it_points_to_is_changed(desk: Desk, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "cursor.json"
    target.parent.mkdir()
    target.write_text(OTHER)
    link = desk.home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    middle = tmp_path / "middle.json"
    middle.symlink_to(target)
    link.symlink_to(os.path.relpath(middle, link.parent))

    assert desk.setup("cursor", "--scope", "user").code == 0

    assert link.is_symlink()
    assert middle.is_symlink()
    assert set(servers(target)) == {"a", "kumihimo"}
    assert [file.name for file in target.parent.iterdir()] == ["cursor.json"]
    assert Path(f"{link}.kumi-backup").read_text() == OTHER


def test_a_link_to_a_file_that_is_not_there_yet_gets_that_file(desk: Desk, tmp_path: Path) -> None:
    link = desk.repository / ".mcp.json"
    link.symlink_to(tmp_path / "later" / "mcp.json")

    assert desk.setup("claude").code == 0
    assert link.is_symlink()
    assert set(servers(tmp_path / "later" / "mcp.json")) == {"kumihimo"}


def test_a_link_that_leads_to_itself_is_refused(desk: Desk) -> None:
    link = desk.repository / ".mcp.json"
    link.symlink_to(link)

    result = desk.setup("claude")
    assert result.code == 3
    assert str(link) in result.err


def test_a_folder_that_can_not_be_made_is_a_sentence_and_exit_3(desk: Desk) -> None:
    desk.file(".cursor", "a file, not a folder")

    result = desk.setup("cursor")

    assert result.code == 3
    assert f"{desk.repository / '.cursor'} can't be written: " in result.err
    assert "Nothing was changed" in result.err


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_not_a_file_is_refused_and_not_waited_for(desk: Desk, kind: str) -> None:
    path = desk.repository / ".mcp.json"
    os.mkfifo(path) if kind == "pipe" else path.mkdir()

    result = desk.setup("claude")
    assert result.code == 3
    assert f"{path} can't be written: not a regular file" in result.err


def test_a_file_that_was_made_read_only_is_left(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.file(".mcp.json", OTHER)
    path.chmod(0o444)
    # Who runs the tests may be root, whom no permission holds back.
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda name, mode: allowed(name, mode) and mode != os.W_OK)

    result = desk.setup("claude")
    assert result.code == 3
    assert "Permission denied" in result.err
    assert path.read_text() == OTHER


@pytest.mark.parametrize("step", ["fsync", "fchmod"])
def test_a_disk_that_is_full_leaves_the_old_file_and_no_other(
    desk: Desk, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = desk.file(".cursor/mcp.json", OTHER)
    before = tree(desk.repository)

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, full)
    result = desk.setup("cursor")

    assert result.code == 3
    assert f"{path} can't be written: No space left on device" in result.err
    assert tree(desk.repository) == before


def test_what_the_client_wrote_in_the_meantime_is_not_lost(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.file("~/.claude.json", OTHER)
    staged = config_file._stage
    writes = iter(['{"mcpServers": {"b": {}}}', '{"mcpServers": {"b": {}, "c": {}}}'])

    def stage_while_the_client_writes(target: Path, raw: bytes, status: os.stat_result, private: bool) -> Path:
        if (text := next(writes, None)) is not None:
            path.write_text(text)
        return staged(target, raw, status, private)

    monkeypatch.setattr(config_file, "_stage", stage_while_the_client_writes)

    assert desk.setup("claude", "--scope", "user").code == 0
    assert set(servers(path)) == {"b", "c", "kumihimo"}
    assert sorted(file.name for file in desk.home.glob(".claude*")) == [".claude.json", ".claude.json.kumi-backup"]


def test_a_file_that_never_stays_the_same_is_given_up_with_a_sentence(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = desk.file("~/.claude.json", OTHER)
    monkeypatch.setattr(config_file, "_unchanged", lambda *_: False)

    result = desk.setup("claude", "--scope", "user")
    assert result.code == 3
    assert "close Claude Code" in result.err
    assert path.read_text() == OTHER
    assert [file.name for file in desk.home.glob(".claude*")] == [".claude.json"]


def test_a_run_that_is_killed_before_its_last_step_has_changed_nothing(desk: Desk, tmp_path: Path) -> None:
    path = desk.file(".mcp.json", OTHER)
    script = tmp_path / "run_setup.py"
    script.write_text("import os, pathlib\npathlib.Path.replace = lambda *_: os.kill(os.getpid(), 9)\n" + RUN_SETUP)

    killed = subprocess.run([sys.executable, str(script), "claude"], check=False)

    assert killed.returncode == -9
    assert path.read_text() == OTHER
    assert desk.setup("claude").code == 0
    assert set(servers(path)) == {"a", "kumihimo"}


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_many_runs_at_once_leave_one_valid_file(desk: Desk, client: str, tmp_path: Path) -> None:
    script = tmp_path / "run_setup.py"
    script.write_text(RUN_SETUP)
    words = [sys.executable, str(script), client, "--scope", "user", "--json"]
    runs = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)]
    answers = [(*run.communicate(timeout=60), run.returncode) for run in runs]

    assert [code for _, _, code in answers] == [0] * 6, answers
    assert sorted(json.loads(out)["changed"] for out, _, _ in answers) == [False] * 5 + [True]
    path = Path(json.loads(answers[0][0])["path"])
    assert path.read_text().count("kumihimo") == 1
    assert [file.name for file in path.parent.iterdir() if file.name.startswith(f".{path.name.lstrip('.')}.")] == []
    assert desk.setup(client, "--scope", "user", "--dry-run").code == 0
