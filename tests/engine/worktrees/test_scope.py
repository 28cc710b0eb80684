"""Globs: what they mean, and whether two of them can mean one file."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kumihimo.domain.agent import Scope
from kumihimo.engine.worktrees.scope import matches, outside, overlap
from tests.engine.worktrees.lab import Lab


@pytest.mark.parametrize(
    ("glob", "path", "meant"),
    [
        ("src", "src/a/b.py", True),
        ("src", "src", True),
        ("src", "srcs/a", False),
        ("src/", "src/a", True),
        ("src/", "src", False),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("*.md", "README.md", True),
        ("*.md", "docs/README.md", False),
        ("**/*.md", "docs/deep/README.md", True),
        ("**/*.md", "README.md", True),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/**/z", "ab/z", False),
        ("**", "anything/at/all", True),
        ("docs/?.md", "docs/a.md", True),
        ("docs/?.md", "docs/ab.md", False),
        ("docs/[a-c].md", "docs/b.md", True),
        ("docs/[!a-c].md", "docs/b.md", False),
        ("docs/[^a-c].md", "docs/d.md", True),
        ("docs/[]x].md", "docs/].md", True),
        ("docs/[z-a].md", "docs/m.md", False),
        ("docs/[open", "docs/[open", True),
        (r"docs/\*.md", "docs/*.md", True),
        (r"docs/\*.md", "docs/a.md", False),
        ("./src/x", "src/x", True),
        ("/src/x", "src/x", True),
        ("src/**.py", "src/a.py", True),
        ("src/**.py", "src/a/b.py", False),
        ("日本/*.txt", "日本/語.txt", True),
        ("", "a", False),
        ("/", "a", False),
        ("x[/]y", "x/y", False),
    ],
)
def test_a_glob_means_what_gitignore_would(glob: str, path: str, meant: bool) -> None:
    assert matches(glob, path) is meant


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (["src/**"], ["docs/**"], False),
        (["src"], ["src/app/**/*.py"], True),
        (["src/*.py"], ["src/*.pyi"], False),
        (["**/*.py"], ["src/**"], True),
        (["src/a*"], ["src/*b"], True),
        (["src/[a-f]*"], ["src/[g-z]*"], False),
        (["src/[!a]*"], ["src/a*"], False),
        (["a/**/c"], ["b/**/c"], False),
        # `d` may be a folder, and then there may be a `c` in it.
        (["a/**/c"], ["a/b/d"], True),
        (["docs/", "tests/"], ["src", "tests/unit/x.py"], True),
        (["a"], ["a/"], True),
        (["a"], ["A"], False),
        ([], ["**"], False),
    ],
)
def test_two_scopes_overlap_where_a_path_is_in_both(one: list[str], other: list[str], meet: bool) -> None:
    assert overlap(one, other) is meet
    assert overlap(other, one) is meet


# Whatever two of these globs have in common, they have on these names, at most so deep.
NAMES = ["a", "b", "ab", "bb"]
PATHS = ["/".join(names) for depth in (1, 2, 3, 4, 5) for names in product(NAMES, repeat=depth)]
PIECES = ["a", "b", "*", "?", "[a]", "[!a]", "[ab]", "**", "a*", "*b", "?b", "a?"]
GLOBS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=2).map("/".join)
FOLDERS = GLOBS.map(lambda glob: f"{glob}/")
SIDES = st.lists(GLOBS | FOLDERS, min_size=1, max_size=2)


@settings(max_examples=200, deadline=None)
@given(SIDES, SIDES)
def test_overlap_says_what_trying_every_path_says(one: list[str], other: list[str]) -> None:
    common = [
        path
        for path in PATHS
        if any(matches(glob, path) for glob in one) and any(matches(glob, path) for glob in other)
    ]
    assert overlap(one, other) is bool(common), common[:3]


@settings(max_examples=25, deadline=None)
@given(glob=GLOBS)
def test_a_glob_means_the_same_to_git(glob: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    lab = Lab.made(tmp_path_factory.mktemp("globs"))
    lab.write(".gitignore", f"/{glob}\n")
    paths = [path for path in PATHS if path.count("/") < 2]
    said = lab.git("check-ignore", "--no-index", *paths, fine=(0, 1)).splitlines()
    assert {path for path in paths if matches(glob, path)} == set(said)


def test_outside_names_what_is_excluded_or_not_declared() -> None:
    paths = ["src/a.py", "src/secret/key", "docs/x.md"]
    assert outside(paths, Scope()) == []
    assert outside(paths, Scope(write=("src",))) == ["docs/x.md"]
    assert outside(paths, Scope(exclude=("src/secret",))) == ["src/secret/key"]
    assert outside(paths, Scope(write=("src",), exclude=("src/secret",))) == ["src/secret/key", "docs/x.md"]
