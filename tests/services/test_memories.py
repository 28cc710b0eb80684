from __future__ import annotations

import pytest

from kumihimo.domain.errors import AmbiguousReference, IllegalTransition, InvalidValue, MemoryNotFound, NameTaken
from kumihimo.services.projects import Place
from tests.services.conftest import Shop


def test_only_active_decisions_reach_an_agent_by_category(shop: Shop) -> None:
    memories = shop.kit.board.memories
    memories.add(
        shop.here, "linter", category="tooling", title="Use ruff", summary="one linter", content="Nothing else."
    )
    memories.add(shop.here, "later", category="rule", title="Not yet", status="draft")
    memories.add(shop.here, "arch", category="architecture", title="Hexagons")
    preview = memories.preview(shop.here)
    assert preview.content == (
        "# Decisions of this project\n\n## architecture\n\n### Hexagons\n\n"
        "## tooling\n\n### Use ruff\n\none linter\n\nNothing else.\n"
    )
    assert [memory.slug for memory in preview.memories] == ["arch", "linter"]
    memories.archive(shop.here, "linter")
    assert "ruff" not in memories.preview(shop.here).content
    assert "Not yet" in memories.preview(shop.here, status="draft").content
    assert memories.preview(shop.here, category="nothing").content == ""


def test_a_slug_is_taken_once_in_a_project_and_free_in_another(shop: Shop) -> None:
    memories = shop.kit.board.memories
    other = shop.kit.board.projects.init("/srv/other", git=False).project
    memories.add(shop.here, "linter", category="tooling", title="Use ruff")
    with pytest.raises(NameTaken):
        memories.add(shop.here, "linter", category="tooling", title="Use black")
    assert memories.add(Place(other.id), "linter", category="tooling", title="Use black").title == "Use black"
    assert memories.show(shop.here, "linter").title == "Use ruff"


def test_a_decision_moves_between_its_states_and_keeps_what_is_not_changed(shop: Shop) -> None:
    memories = shop.kit.board.memories
    memories.add(shop.here, "linter", category="tooling", title="Use ruff", content="Why: speed.", status="draft")
    changed = memories.update(shop.here, "linter", title="Ruff only", status="active")
    assert (changed.title, changed.content, changed.status) == ("Ruff only", "Why: speed.", "active")
    memories.archive(shop.here, "linter")
    with pytest.raises(IllegalTransition):
        memories.update(shop.here, "linter", status="draft")
    assert memories.update(shop.here, "linter", status="active").status == "active"


@pytest.mark.parametrize("slug", ["../evil", "a/b", "Ärger!", "", "-x", "x-", "A", "x" * 65])
def test_what_is_not_a_slug_is_refused(shop: Shop, slug: str) -> None:
    events = shop.events()
    with pytest.raises(InvalidValue):
        shop.kit.board.memories.add(shop.here, slug, category="rule", title="T")
    assert shop.events() == events


def test_an_unknown_decision_is_not_found_and_a_near_one_is_named(shop: Shop) -> None:
    shop.kit.board.memories.add(shop.here, "linter", category="tooling", title="Use ruff")
    with pytest.raises(MemoryNotFound, match="Did you mean 'linter'"):
        shop.kit.board.memories.show(shop.here, "lintr")
    with pytest.raises(MemoryNotFound):
        shop.kit.board.memories.show(shop.here, "\0")


def test_a_decision_is_named_by_the_beginning_of_its_slug_where_that_is_clear(shop: Shop) -> None:
    memories = shop.kit.board.memories
    for slug in ("linter", "linter-two", "database"):
        memories.add(shop.here, slug, category="rule", title="T")
    assert memories.show(shop.here, "data").slug == "database"
    assert memories.show(shop.here, "linter").slug == "linter"
    with pytest.raises(AmbiguousReference, match="linter, linter-two"):
        memories.archive(shop.here, "lint")
    assert memories.archive(shop.here, "linter-t").slug == "linter-two"
    with pytest.raises(MemoryNotFound):
        memories.show(shop.here, "")


def test_decisions_are_listed_by_slug_page_by_page(shop: Shop) -> None:
    memories = shop.kit.board.memories
    for slug in ("c", "a", "b"):
        memories.add(shop.here, slug, category="rule", title="T")
    first = memories.list(shop.here, limit=2)
    rest = memories.list(shop.here, limit=2, cursor=first.next_cursor)
    assert [memory.slug for memory in first.items + rest.items] == ["a", "b", "c"]
    assert rest.next_cursor is None
