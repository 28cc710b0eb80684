"""Branches travel by the remote of the project: what was done on one host is merged on another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kumihimo.domain.errors import GitError, NothingToMerge
from kumihimo.domain.execution import Execution
from kumihimo.engine.worktrees.travelling import fetch, push, remote_of
from kumihimo.services.host_name import host_id
from tests.lead.shop import until
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop


def with_remote(workshop: Workshop, name: str = "origin") -> Path:
    """A remote that everybody reaches."""
    remote = workshop.folder.parent / f"{name}.git"
    workshop.git("clone", "-q", "--bare", str(workshop.folder), str(remote))
    workshop.git("remote", "add", name, str(remote))
    return remote


def with_another_host(workshop: Workshop) -> None:
    until(lambda: workshop.board.hosts.alive())
    workshop.board.hosts.renew("host_other", "other", 1)


def on_another_host(workshop: Workshop, run: Execution) -> None:
    """As if this were another clone, of a host that has never seen the run."""
    worktree = workshop.folder_of(run)
    workshop.git("worktree", "unlock", str(worktree), fine=(0, 128))
    workshop.git("worktree", "remove", "--force", str(worktree))
    workshop.git("branch", "-q", "-D", run.branch or "")
    shutil.rmtree(workshop.folder / ".git" / "kumi")
    (workshop.home / "host").write_text("host_another\n")


def test_what_was_done_on_one_host_is_merged_on_another(open_workshop: OpenWorkshop) -> None:
    workshop = open_workshop()
    remote = with_remote(workshop)
    with_another_host(workshop)
    number = workshop.task(workshop.writes("far/a"), dod=["test -f far/a"])
    run = workshop.work(number)
    evidence = workshop.board.evidence.of(run.id)
    assert evidence is not None
    assert evidence.unpushed is None
    assert workshop.git("rev-parse", run.branch or "", folder=remote) == evidence.head
    # The target is nobody's to move but its owner's.
    assert workshop.git("rev-parse", "main", folder=remote) == run.base
    on_another_host(workshop, run)
    meanwhile = workshop.commit("near", "by hand\n")

    (merged,) = workshop.merge(number)

    assert merged.status == "merged", merged.reason
    assert workshop.git("rev-list", "--parents", "-n", "1", "main").split() == [merged.commit, meanwhile]
    assert (workshop.folder / "far/a").read_text() == "text\n"
    assert workshop.see(number).status == "done"


def test_a_branch_that_is_on_no_remote_is_told_with_the_host_that_has_it(open_workshop: OpenWorkshop) -> None:
    workshop = open_workshop()
    with_another_host(workshop)
    number = workshop.task(workshop.writes("far/b"))
    run = workshop.work(number)
    host = host_id(workshop.home)
    on_another_host(workshop, run)
    (refused,) = workshop.merge(number)
    assert refused.status == "refused"
    assert isinstance(refused.error, NothingToMerge)
    told = str(refused.error)
    assert workshop.board.hosts.called(host) in told
    assert run.branch is not None
    assert run.branch in told
    assert "remote" in told


def test_a_remote_that_refuses_holds_nobody_and_is_on_record(open_workshop: OpenWorkshop) -> None:
    workshop = open_workshop()
    remote = with_remote(workshop)
    shutil.rmtree(remote)
    with_another_host(workshop)
    number = workshop.task(workshop.writes("far/c"))
    run = workshop.work(number)
    evidence = workshop.board.evidence.of(run.id)
    assert evidence is not None
    assert "origin.git" in (evidence.unpushed or "")
    until(lambda: "could not be pushed" in (workshop.home / "said").read_text())
    # Here it is merged all the same.
    (merged,) = workshop.merge(number)
    assert merged.status == "merged"


def test_a_home_that_is_alone_sends_nothing_away(open_workshop: OpenWorkshop) -> None:
    workshop = open_workshop()
    remote = with_remote(workshop)
    run = workshop.work(workshop.task(workshop.writes("near/a")))
    assert workshop.git("for-each-ref", "--format=%(refname:short)", "refs/heads", folder=remote) == "main"
    assert run.branch is not None


def test_commits_of_somebody_else_on_the_remote_are_never_replaced(open_workshop: OpenWorkshop) -> None:
    workshop = open_workshop(up=False)
    remote = with_remote(workshop)
    repository = workshop.worktrees.repository
    first = workshop.head()
    workshop.git("branch", "work")
    push(repository, "origin", "work")
    # Ours may be replaced: a rebase has rewritten it.
    mine = workshop.commit("mine", "1\n")
    workshop.git("branch", "-f", "work", mine)
    push(repository, "origin", "work")
    workshop.git("commit", "-q", "--amend", "-m", "other words")
    workshop.git("branch", "-f", "work", "HEAD")
    push(repository, "origin", "work")
    assert workshop.git("rev-parse", "work", folder=remote) == workshop.head("work")
    # What somebody else has put there may not.
    workshop.git("update-ref", "refs/heads/work", first, folder=remote)
    workshop.git("branch", "-f", "work", mine)
    with pytest.raises(GitError):
        push(repository, "origin", "work")
    assert workshop.git("rev-parse", "work", folder=remote) == first
    # A branch of the same name that we have never pushed is somebody else's.
    workshop.git("branch", "theirs", mine)
    workshop.git("update-ref", "refs/heads/theirs", first, folder=remote)
    with pytest.raises(GitError):
        push(repository, "origin", "theirs")
    # And one that is here stays as well, where that on the remote does not go on from it.
    workshop.git("branch", "-f", "theirs", workshop.commit("here", "2\n"))
    workshop.git("update-ref", "refs/heads/theirs", workshop.head("work"), folder=remote)
    before = workshop.head("theirs")
    with pytest.raises(GitError):
        fetch(repository, "origin", "theirs")
    assert workshop.head("theirs") == before
    assert fetch(repository, "origin", "nobody's") is False


def test_branches_travel_by_the_remote_that_git_pushes_to(open_workshop: OpenWorkshop) -> None:
    workshop = open_workshop(up=False)
    repository = workshop.worktrees.repository
    assert remote_of(repository) is None
    workshop.git("remote", "add", "upstream", "/nowhere")
    assert remote_of(repository) == "upstream"
    workshop.git("remote", "add", "fork", "/nowhere")
    assert remote_of(repository) is None
    workshop.git("remote", "add", "origin", "/nowhere")
    assert remote_of(repository) == "origin"
    workshop.git("config", "remote.pushDefault", "fork")
    assert remote_of(repository) == "fork"
