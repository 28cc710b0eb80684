"""What the memory bank of a project says reaches the agents that work in it, word for word."""

from __future__ import annotations

from kumihimo.services.groups import Limits
from kumihimo.services.projects import Place
from kumihimo.supervisor.prompt import compose

from .home import Home
from .patience import until


def decide(home: Home) -> str:
    """What the preview shows."""
    memories, here = home.board.memories, Place(home.project.id)
    memories.add(here, "linter", category="tooling", title="Use ruff", content="日本語 — `code`\n\n- one\n  - two")
    memories.add(here, "later", category="rule", title="Not yet", status="draft")
    memories.add(here, "gone", category="rule", title="Not any more")
    memories.archive(here, "gone")
    return memories.preview(here).content


def told(home: Home, run: object) -> str:
    return (home.run_folder(run).path / "in").read_bytes().decode()  # type: ignore[arg-type]


def test_every_run_of_a_project_is_told_exactly_what_the_preview_shows(home: Home) -> None:
    shown = decide(home)
    home.supervisor()
    runs = [*home.run(home.script("one"), home.script("two")), *home.plan([[home.script("three")]])[0]]
    home.ended(runs)
    for run in runs:
        introduction, given, task = told(home, run).partition(shown)
        assert given == shown
        assert introduction.startswith(f"You are the agent {run.id}")
        assert introduction.endswith("\n\n")
        assert task == "\n\n" + run.prompt, "between who it is and what is wanted of it, and nothing else"
        assert "Not yet" not in introduction + given


def test_a_stage_is_told_before_it_hears_of_the_results(home: Home) -> None:
    shown = decide(home)
    home.supervisor()
    first, second = home.plan([[home.script("plan").say("planned")], [home.script("build")]])
    home.ended([*first, *second])
    text = told(home, second[0])
    assert text.count(shown) == 1
    assert text.index(shown) < text.index("Results of the stage before yours") < text.index(second[0].prompt)


def test_what_is_decided_between_two_runs_is_told_to_the_second(home: Home) -> None:
    decide(home)
    home.supervisor()
    first = home.ended(home.run(home.script("one")))[0]
    home.board.memories.archive(Place(home.project.id), "linter")
    second = home.ended(home.run(home.script("two")))[0]
    assert "Use ruff" in told(home, first)
    assert told(home, second) == compose(second, [])


def test_a_run_of_no_project_is_told_nothing_of_any(home: Home) -> None:
    decide(home)
    home.supervisor()
    group = home.board.groups.create("of nobody")
    (run,) = home.board.groups.run(group.id, [home.errand(home.script("one"))], Limits(10))
    home.ended([run])
    assert told(home, run) == compose(run, [])


def test_copies_that_could_not_be_made_are_made_when_the_supervisor_starts(home: Home) -> None:
    elsewhere = home.project_folder.with_name("elsewhere")
    home.project_folder.rename(elsewhere)
    decide(home)
    elsewhere.rename(home.project_folder)
    assert not (home.project_folder / ".kumi").exists()
    home.supervisor()
    until(lambda: (home.project_folder / ".kumi/memory/tooling/linter.md").exists(), "the copy")
