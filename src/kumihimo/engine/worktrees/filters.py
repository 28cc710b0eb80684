"""Programs that files pass on their way in and out of git (LFS and its like), and how to do without them."""

from __future__ import annotations

from kumihimo.engine.worktrees.git import Git


def without_filters(git: Git) -> Git:
    """The same git, with every configured filter off: files are what they are on the disk."""
    names = {key.rpartition(".")[0] for key in git.names("config", "-z", "--name-only", "--get-regexp", r"^filter\.")}
    settings = [
        (f"{name}.{key}", value)
        for name in sorted(names)
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    ]
    environment = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return git.within(environment)
