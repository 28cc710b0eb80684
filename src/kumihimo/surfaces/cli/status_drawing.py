"""The scene in lines: for a terminal, where each has a style, and for a pipe, where it has none."""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime

from msgspec import Struct

from kumihimo.settings import Language
from kumihimo.surfaces.cli.drawing import pad, safe
from kumihimo.surfaces.cli.status_phrases import said
from kumihimo.surfaces.cli.status_scene import Done, Need, Scene, SeenGroup, SeenRun

# A state has a colour, and never that alone: always a shape and a word with it.
_STATES: dict[str, tuple[str, str]] = {
    "queued": ("○", "dim"),
    "running": ("▶", "blue"),
    "completed": ("✓", "green"),
    "success": ("✓", "green"),
    "failure": ("✕", "red"),
    "timeout": ("✕", "red"),
    "failed": ("✕", "red"),
    "timedOut": ("✕", "red"),
    "cancelled": ("✕", "dim"),
    "lost": ("?", "yellow"),
}
_NEED_MARK = "⚠"
_REASON_LETTERS = 160
_MESSAGE_LETTERS = 100
_MOST_TASKS = 5


class Line(Struct, frozen=True):
    text: str
    style: str = ""


def lines(scene: Scene, now: datetime, language: Language) -> list[Line]:
    return list(_lines(scene, now, language))


def _lines(scene: Scene, now: datetime, language: Language) -> Generator[Line]:
    yield Line(said("needs_you", language, count=len(scene.needs_you)), "bold yellow" if scene.needs_you else "bold")
    if not scene.needs_you:
        yield Line(f"  {said('nothing_needs_you', language)}", "dim")
    for need in scene.needs_you:
        yield from _need(need, now, language)
    live = sum(_is_live(run) for group in scene.groups for run in group.runs) + len(scene.runs)
    yield Line("")
    yield Line(said("working", language, count=live), "bold")
    if not scene.working:
        yield Line(f"  {said('nobody_works', language)}", "dim")
    for group in scene.groups:
        yield from _group(group, now, language)
    for run in scene.runs:
        yield _run(run, now, language, "  ")
    yield Line("")
    yield from _done(scene.done, language)


def _need(need: Need, now: datetime, language: Language) -> Generator[Line]:
    head = f"  {_NEED_MARK} {said(need.kind, language)}  {_one_line(need.id)}  {_one_line(need.title)}"
    yield Line(f"{head}  {length((now - need.since).total_seconds())}", "yellow")
    if need.reason:
        yield Line(f"      {_one_line(need.reason)[:_REASON_LETTERS]}")
    yield Line(f"      {need.command}", "dim")


def _group(group: SeenGroup, now: datetime, language: Language) -> Generator[Line]:
    stage = ""
    if group.stages is not None:
        stage = "  " + said("stage", language, stage=group.stage, stages=group.stages)
    yield Line(f"  {group.group_id}  {_one_line(group.description)}{stage}")
    for run in group.runs:
        yield _run(run, now, language, "    " if run.stage is None else f"    {run.stage} ")


def _run(run: SeenRun, now: datetime, language: Language, margin: str) -> Line:
    mark, style = _STATES.get(run.reported or run.status, ("·", ""))
    parts = [f"{margin}{mark} {pad(run.role, 10)} {pad(run.status, 14)}"]
    if run.duration_ms is not None:
        parts.append(length(run.duration_ms / 1000))
    elif run.started_at is not None:
        parts.append(length((now - run.started_at).total_seconds()))
    if run.task is not None:
        parts.append(said("on_task", language, task=run.task))
    if run.tool_call_count:
        parts.append(said("tools", language, count=run.tool_call_count))
    if run.tokens:
        parts.append(said("tokens", language, count=short(run.tokens)))
    if run.last_message and _is_live(run):
        parts.append(f"“{_one_line(run.last_message)[:_MESSAGE_LETTERS]}”")
    return Line("  ".join(parts), style)


def _done(done: Done, language: Language) -> Generator[Line]:
    median = "" if done.median_ms is None else said("median", language, length=length(done.median_ms / 1000))
    facts = {"succeeded": done.succeeded, "failed": done.failed, "median": median, "tasks": len(done.tasks)}
    yield Line(said("done", language, **facts), "bold")
    for task in done.tasks[:_MOST_TASKS]:
        yield Line(f"  ✓ #{task.id} {_one_line(task.title)}", "green")


def _is_live(run: SeenRun) -> bool:
    return run.status in ("queued", "running")


def _one_line(text: str) -> str:
    """What agents say can hold anything: only letters reach the terminal."""
    return safe(" ".join(text.split()))


def length(seconds: float) -> str:
    """A duration as it is read: `4 m 30 s`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} m"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def short(number: int) -> str:
    """A count as it is read: `84 k`."""
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.3g} k" if number < 999_500 else f"{number / 1_000_000:.3g} M"
