"""States of what is around a worktree: its repository, its folder, its lock, who works in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.engine.worktrees.lab import BRANCH, NAME, Lab
from tests.engine.worktrees.states_of_files import untracked
from tests.engine.worktrees.states_of_history import committed

HOSTILE = {
    "GIT_DIR": "/nonexistent/.git",
    "GIT_WORK_TREE": "/nonexistent",
    "GIT_INDEX_FILE": "/nonexistent/index",
    "GIT_OBJECT_DIRECTORY": "/nonexistent/objects",
    "GIT_COMMON_DIR": "/nonexistent/common",
    "GIT_NAMESPACE": "elsewhere",
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.bare",
    "GIT_CONFIG_VALUE_0": "true",
    "GIT_EXTERNAL_DIFF": "/bin/false",
    "GIT_EDITOR": "/bin/false",
    "GIT_PAGER": "/bin/false",
    "GIT_TRACE": "1",
    "GIT_DEFAULT_HASH": "sha256",
    "GIT_ICASE_PATHSPECS": "1",
}
UNUSUAL = """[status]
    showUntrackedFiles = no
    relativePaths = true
    branch = true
[diff]
    noprefix = true
    mnemonicPrefix = true
    renames = copies
    external = /bin/false
    ignoreSubmodules = all
[core]
    pager = /bin/false
    editor = /bin/false
    quotePath = false
    fsmonitor = /bin/false
    commentChar = 1
[commit]
    gpgSign = true
[gpg]
    program = /bin/false
[color]
    ui = always
[rebase]
    autoStash = true
[log]
    showSignature = true
[submodule]
    recurse = true
[worktree]
    guessRemote = true
[init]
    defaultBranch = other
"""


def held(lab: Lab) -> None:
    untracked(lab)
    lab.worktrees.hold(NAME, "exec_9")


def locked_by_a_person(lab: Lab) -> None:
    committed(lab)
    lab.git("worktree", "lock", "--reason", "on a stick", str(lab.path))


def moved_by_git(lab: Lab) -> None:
    untracked(lab)
    lab.git("worktree", "move", str(lab.path), str(lab.root / "moved away"))


def project_moved(lab: Lab) -> None:
    committed(lab)
    untracked(lab)
    lab.top.rename(lab.root / "another place")
    lab.top = lab.root / "another place"


def pointer_lost(lab: Lab) -> None:
    untracked(lab)
    (lab.path / ".git").unlink()


def deleted_by_hand(lab: Lab) -> None:
    committed(lab)
    shutil.rmtree(lab.path)


def deleted_by_hand_with_staged_work(lab: Lab) -> None:
    lab.work("staged.txt", "only in the index\n")
    lab.in_worktree("add", "--all")
    shutil.rmtree(lab.path)


def deleted_by_hand_on_no_branch(lab: Lab) -> None:
    lab.in_worktree("checkout", "-q", "--detach")
    committed(lab)
    shutil.rmtree(lab.path)


def admin_folder_gone(lab: Lab) -> None:
    committed(lab)
    untracked(lab)
    shutil.rmtree(lab.top / ".git/worktrees" / NAME)


def project_copied(lab: Lab) -> None:
    untracked(lab)
    shutil.copytree(lab.top, lab.root / "copy", symlinks=True)
    lab.top = lab.root / "copy"


def replaced_by_a_link(lab: Lab) -> None:
    untracked(lab)
    lab.path.rename(lab.root / "on a big disk")
    lab.path.symlink_to(lab.root / "on a big disk")


def folder_is_a_link(lab: Lab) -> None:
    untracked(lab)
    lab.worktrees.remove(NAME, "main", live=lambda _: False)
    lab.folder.rmdir()
    (lab.root / "large").mkdir()
    lab.folder.symlink_to(lab.root / "large")
    lab.create()
    untracked(lab)


def left_over_lock(lab: Lab) -> None:
    untracked(lab)
    (lab.top / ".git/worktrees" / NAME / "index.lock").touch()
    (lab.top / ".git/index.lock").touch()


def no_identity(lab: Lab) -> None:
    committed(lab)
    untracked(lab)
    Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text("[user]\n    useConfigOnly = true\n")


def failing_hooks(lab: Lab) -> None:
    committed(lab)
    untracked(lab)
    names = ("post-checkout", "pre-commit", "commit-msg", "pre-rebase", "reference-transaction", "post-index-change")
    for name in names:
        hook = lab.write(f".git/hooks/{name}", f"#!/bin/sh\ntouch '{lab.root}/hook-ran'\nexit 1\n")
        hook.chmod(0o755)


def unusual_configuration(lab: Lab) -> None:
    committed(lab)
    untracked(lab)
    lab.work("README.md", "changed\n")
    with Path(os.environ["GIT_CONFIG_GLOBAL"]).open("a") as configuration:
        configuration.write(UNUSUAL)


def _submodule(lab: Lab) -> Path:
    origin = Lab.made(lab.root, "library")
    lab.in_worktree("submodule", "--quiet", "add", str(origin.top), "lib")
    lab.commit("add the library", lab.path)
    lab.git("merge", "-q", "--ff-only", BRANCH)
    return lab.path / "lib"


def submodule(lab: Lab) -> None:
    _submodule(lab)


def submodule_changed(lab: Lab) -> None:
    lab.write("README.md", "changed in the library\n", _submodule(lab))


def submodule_with_a_new_file(lab: Lab) -> None:
    lab.write("new.txt", "new in the library\n", _submodule(lab))


def submodule_with_a_commit(lab: Lab) -> None:
    library = _submodule(lab)
    lab.write("README.md", "committed in the library\n", library)
    lab.commit("only here", library)
    lab.in_worktree("commit", "-q", "-a", "-m", "take it")
    lab.git("merge", "-q", "--ff-only", BRANCH)


def submodule_left_out_with_a_commit(lab: Lab) -> None:
    """Its folder is empty again, and its commits are in git's own folder for the worktree."""
    library = _submodule(lab)
    lab.git("switch", "-q", "-c", "own", at=library)
    lab.write("README.md", "committed in the library\n", library)
    lab.commit("only here", library)
    lab.git("checkout", "-q", "main", at=library)
    lab.in_worktree("submodule", "--quiet", "deinit", "-f", "lib")
