"""What a run may write: whether a path is in its scope, and whether two scopes can meet in one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kumihimo.domain.agent import Scope
from kumihimo.engine.worktrees.glob import IN_A_NAME, ONLY_SLASH, Characters, Step, common, expression, parse

# How far a path has been read by a glob: the number of its next step. `_BELOW` is anywhere in a folder that fits.
_BELOW = -1
# Whether the path being built may end here: right after a slash, or at its start, it may not.
Place = tuple[int, int, bool]


def matches(glob: str, path: str) -> bool:
    return expression(glob).fullmatch(path) is not None


def outside(paths: Iterable[str], scope: Scope) -> list[str]:
    """The paths that the scope does not let be written."""
    return [path for path in paths if not allowed(path, scope)]


def allowed(path: str, scope: Scope) -> bool:
    if any(matches(glob, path) for glob in scope.exclude):
        return False
    return not scope.write or any(matches(glob, path) for glob in scope.write)


def overlap(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether any path at all is meant by a glob of both sides. A side without globs has no path."""
    others = tuple(other)
    return any(_meet(parse(a), parse(b)) for a in one for b in others)


def _meet(one: tuple[Step, ...], other: tuple[Step, ...]) -> bool:
    """Walk both globs along every path that could fit both, until one is read to the end by both."""
    if not one or not other:
        return False
    waiting: list[Place] = [(a, b, False) for a in _rested(one, 0) for b in _rested(other, 0)]
    seen = set(waiting)
    while waiting:
        here = waiting.pop()
        if here[2] and here[0] in (_BELOW, len(one)) and here[1] in (_BELOW, len(other)):
            return True
        for place in _next(one, other, here):
            if place not in seen:
                seen.add(place)
                waiting.append(place)
    return False


def _next(one: tuple[Step, ...], other: tuple[Step, ...], here: Place) -> Iterator[Place]:
    in_a_name = here[2]
    for characters, after in _moves(one, here[0]):
        for others, after_other in _moves(other, here[1]):
            both = common(characters, others)
            if common(both, IN_A_NAME):
                yield from ((a, b, True) for a in _rested(one, after) for b in _rested(other, after_other))
            if in_a_name and common(both, ONLY_SLASH):
                yield from ((a, b, False) for a in _rested(one, after) for b in _rested(other, after_other))


def _moves(steps: tuple[Step, ...], at: int) -> Iterator[tuple[Characters, int]]:
    """Which characters may come next, and where each of them leads."""
    if at == _BELOW:
        yield IN_A_NAME, _BELOW
        yield ONLY_SLASH, _BELOW
    elif at == len(steps):
        yield ONLY_SLASH, _BELOW
    elif at < 0:
        # In the middle of a name that `**` takes; its slash leads back to where another may begin.
        step = -2 - at
        yield IN_A_NAME, at
        yield ONLY_SLASH, step
    elif steps[at].names:
        yield IN_A_NAME, -2 - at
    else:
        yield steps[at].characters, at if steps[at].repeated else at + 1


def _rested(steps: tuple[Step, ...], at: int) -> Iterator[int]:
    """The place, and those that are reached from it without a character: what may be repeated may be left out."""
    yield at
    while 0 <= at < len(steps) and (steps[at].repeated or steps[at].names):
        at += 1
        yield at
