"""Repositories and git itself: opened, asked, and refused with what to do next."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kumihimo.domain.errors import GitError, GitLocked, GitMissing, HeadDetached, HeadUnborn, NotARepository
from kumihimo.engine.worktrees.git import Git, first_useful_line, identity
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.surfaces.cli.exit_codes import exit_code
from kumihimo.surfaces.mcp.refusals import refuse
from kumihimo.wire.errors import RpcError
from tests.engine.worktrees import states_of_surroundings as around
from tests.engine.worktrees.lab import Lab


def test_a_repository_is_found_from_any_folder_in_it(lab: Lab) -> None:
    for folder in (lab.top, lab.top / "src", lab.top / ".git"):
        opened = Repository.open(folder)
        assert (opened.top, opened.common_folder, opened.bare) == (lab.top, lab.top / ".git", False)
    linked = Repository.open(lab.path)
    assert (linked.top, linked.common_folder) == (lab.path, lab.top / ".git")


@pytest.mark.parametrize("folder", ["plain", "not there"])
def test_a_folder_that_is_in_no_repository_is_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(NotARepository, match="git init"):
        Repository.open(tmp_path / folder)


def test_the_target_is_the_branch_of_the_checkout(bench: Lab) -> None:
    assert Repository.open(bench.top).target() == "main"
    bench.git("switch", "-q", "-c", "feature/深い")
    assert Repository.open(bench.top).target() == "feature/深い"
    bench.git("checkout", "-q", "--detach")
    with pytest.raises(HeadDetached, match="git switch"):
        Repository.open(bench.top).target()


def test_a_repository_without_a_commit_says_what_to_do(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.git("init", "-q", "-b", "trunk", str(lab.top), at=tmp_path)
    with pytest.raises(HeadUnborn, match=r"'trunk'.*git commit"):
        Repository.open(lab.top).target()
    with pytest.raises(GitError):
        lab.create(base="trunk")


def test_a_branch_comes_before_a_tag_of_the_same_name(bench: Lab) -> None:
    bench.git("tag", "same")
    bench.git("branch", "same")
    bench.write("x", "x")
    head = bench.commit("go on")
    bench.git("branch", "-f", "same", head)
    assert Repository.open(bench.top).commit_of("same") == head
    assert Repository.open(bench.top).find("--all") is None


def test_the_caller_s_environment_does_not_reach_git(bench: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in around.HOSTILE.items():
        monkeypatch.setenv(name, value)
    assert Git(bench.top).text("rev-parse", "--show-toplevel") == str(bench.top)
    assert Git(bench.top).text("var", "GIT_EDITOR") == ":"


def test_an_identity_is_the_user_s_own_or_ours(bench: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    git = Git(bench.top)
    assert identity(git) == {"GIT_COMMITTER_NAME": "Tester", "GIT_COMMITTER_EMAIL": "tester@example.org"}
    Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text("")
    assert identity(git)["GIT_COMMITTER_NAME"] == "Kumihimo"
    monkeypatch.setenv("GIT_COMMITTER_NAME", "From the environment")
    assert identity(git)["GIT_COMMITTER_NAME"] == "From the environment"


def test_a_lock_that_was_left_over_is_named(bench: Lab) -> None:
    lock = bench.top / ".git/index.lock"
    lock.touch()
    with pytest.raises(GitLocked, match=r"index\.lock.*remove that file"):
        Git(bench.top).run("reset", "--hard")


def test_a_machine_without_git_is_said(bench: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(bench.root / "nothing here"))
    with pytest.raises(GitMissing, match="Install git"):
        Git(bench.top).run("status")


def test_the_first_useful_line_is_what_is_wrong() -> None:
    assert first_useful_line("warning: x\nhint: y\nfatal: bad thing.\nmore\n") == "bad thing"
    assert first_useful_line("just words\n") == "just words"
    assert first_useful_line("") == ""


def test_every_refusal_of_git_is_one_error_to_the_outside(bench: Lab) -> None:
    with pytest.raises(GitError) as caught:
        Git(bench.top).run("no-such-command")
    assert exit_code(caught.value) == 5
    refused = refuse("camel", caught.value, "en")
    assert isinstance(refused, RpcError)
    assert (refused.code, refused.data) == (-32008, {"code": "GitError"})
