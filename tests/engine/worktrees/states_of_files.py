"""States of a worktree's files. Each arranges one, in a lab whose worktree nobody holds."""

from __future__ import annotations

import os
from pathlib import Path

from tests.engine.worktrees.lab import Lab


def untouched(lab: Lab) -> None:
    """Nothing was done."""


def modified(lab: Lab) -> None:
    lab.work("README.md", "changed\n")


def staged(lab: Lab) -> None:
    lab.work("README.md", "staged\n")
    lab.work("added.txt", "added\n")
    lab.in_worktree("add", "--all")


def staged_then_changed_again(lab: Lab) -> None:
    lab.work("README.md", "staged\n")
    lab.in_worktree("add", "--all")
    lab.work("README.md", "and changed\n")


def staged_then_deleted(lab: Lab) -> None:
    lab.work("only-in-the-index.txt", "precious\n")
    lab.in_worktree("add", "--all")
    (lab.path / "only-in-the-index.txt").unlink()


def announced(lab: Lab) -> None:
    lab.work("announced.txt", "intended\n")
    lab.in_worktree("add", "--intent-to-add", "announced.txt")


def deleted(lab: Lab) -> None:
    (lab.path / "docs/guide.md").unlink()
    lab.in_worktree("rm", "-q", "--cached", "README.md")


def untracked(lab: Lab) -> None:
    lab.work("notes/deep/idea.txt", "idea\n")
    lab.work("empty.txt", "")
    lab.work("picture.bin", bytes(range(256)) * 8)


def permissions(lab: Lab) -> None:
    lab.work("run.sh", "#!/bin/sh\n").chmod(0o755)
    lab.work("secret.txt", "secret\n").chmod(0o600)
    (lab.path / "src/app.py").chmod(0o755)


def read_only(lab: Lab) -> None:
    lab.work("kept/away.txt", "away\n").chmod(0o444)
    (lab.path / "README.md").chmod(0o444)
    (lab.path / "kept").chmod(0o555)


def ignored(lab: Lab) -> None:
    lab.work(".env", "TOKEN=only here\n").chmod(0o600)
    lab.work("build/out/result.txt", "hours of work\n")
    lab.work("trace.log", "line\n")


def ignored_but_in_the_checkout_too(lab: Lab) -> None:
    lab.write(".env", "TOKEN=same\n")
    lab.work(".env", "TOKEN=same\n")


def ignored_and_made_again(lab: Lab) -> None:
    lab.work("node_modules/left/index.js", "x")
    lab.work("build/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
    lab.work("build/cache.bin", "x")
    lab.work(".venv/pyvenv.cfg", "home = /usr\n")
    lab.work(".venv/lib/x.py", "x")


def file_becomes_folder(lab: Lab) -> None:
    (lab.path / "README.md").unlink()
    lab.work("README.md/part.md", "part\n")


def folder_becomes_file(lab: Lab) -> None:
    (lab.path / "docs/guide.md").unlink()
    (lab.path / "docs").rmdir()
    lab.work("docs", "a file now\n")


def folder_becomes_file_in_the_index(lab: Lab) -> None:
    folder_becomes_file(lab)
    lab.in_worktree("add", "--all")


def links(lab: Lab) -> None:
    (lab.path / "nowhere").symlink_to("does/not/exist")
    (lab.path / "outside").symlink_to("/etc")
    (lab.path / "README.md").unlink()
    (lab.path / "README.md").symlink_to("src/app.py")


def odd_names(lab: Lab) -> None:
    lab.work("with space.txt", "1")
    lab.work("日本語/ファイル.txt", "2")
    lab.work('"quoted".txt', "3")
    lab.work("line\nbreak.txt", "4")
    lab.work("back\\slash.txt", "5")
    lab.work("-dash", "6")
    lab.work(":(glob)*", "7")
    lab.work("tab\there", "8")
    Path(os.fsdecode(os.fsencode(lab.path) + b"/not-\xff-utf8")).write_text("9")
    lab.in_worktree("add", "--", "with space.txt", "日本語/ファイル.txt")
    lab.work("日本語/ファイル.txt", "2, changed")


def nested_repository(lab: Lab) -> None:
    inner = lab.path / "vendor/inner"
    inner.mkdir(parents=True)
    lab.git("init", "-q", at=inner)
    lab.write("lib.py", "own\n", inner)
    lab.commit("inner work", inner)
    lab.write("lib.py", "own, changed\n", inner)


def nested_repository_without_a_commit(lab: Lab) -> None:
    inner = lab.path / "fresh"
    inner.mkdir()
    lab.git("init", "-q", at=inner)
    lab.write("first.txt", "first\n", inner)


def nested_repository_that_is_ignored(lab: Lab) -> None:
    inner = lab.path / "build/inner"
    inner.mkdir(parents=True)
    lab.git("init", "-q", at=inner)
    lab.write("lib.py", "own\n", inner)
    lab.commit("inner work", inner)


def huge(lab: Lab) -> None:
    lab.work("huge.bin", os.urandom(lab.limit + 1))


def huge_and_ignored(lab: Lab) -> None:
    lab.work("huge.log", os.urandom(lab.limit + 1))


def hidden_from_git(lab: Lab) -> None:
    lab.in_worktree("update-index", "--assume-unchanged", "README.md")
    lab.in_worktree("update-index", "--skip-worktree", "docs/guide.md")
    lab.work("README.md", "my own settings\n")
    lab.work("docs/guide.md", "my own guide\n")


def line_endings(lab: Lab) -> None:
    lab.git("config", "core.autocrlf", "true")
    lab.git("config", "core.safecrlf", "true")
    # Checked out anew, as by somebody who had set this from the start.
    lab.in_worktree("rm", "-q", "-r", "--cached", ".")
    lab.in_worktree("reset", "-q", "--hard")
    lab.work("README.md", "one\r\ntwo\r\nmixed\nthree\r\n")
    lab.work("windows.txt", "a\r\nb\r\n")


def file_modes_off(lab: Lab) -> None:
    lab.git("config", "core.fileMode", "false")
    (lab.path / "src/app.py").chmod(0o755)
    lab.work("run.sh", "#!/bin/sh\n").chmod(0o755)


def filter_missing(lab: Lab) -> None:
    lab.git("config", "filter.lfs.clean", "no-such-program clean %f")
    lab.git("config", "filter.lfs.smudge", "no-such-program smudge %f")
    lab.git("config", "filter.lfs.required", "true")
    lab.work(".gitattributes", "*.bin filter=lfs\n*.md filter=lfs\n")
    lab.work("model.bin", b"\0weights\xff" * 100)
    lab.work("README.md", "changed, and not to be filtered\n")


def filter_that_works(lab: Lab) -> None:
    lab.git("config", "filter.rot.clean", "tr a-z b-za")
    lab.git("config", "filter.rot.smudge", "tr b-za a-z")
    lab.work_commit(".gitattributes", "*.rot filter=rot\n")
    lab.work_commit("text.rot", "hello\n")
    lab.work("text.rot", "goodbye\n")
    lab.work("other.rot", "untracked\n")
