"""Drafts of handoffs: what a run has left behind, put into the words of a handoff. The giver need not live to say it.

All of it follows from what is written down: the report, the stream, the saved context, the log, the proof. No model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from msgspec import Struct

from kumihimo.domain.execution import Execution, FailureReason
from kumihimo.domain.observation import Observation
from kumihimo.domain.proof import Proof
from kumihimo.domain.token import strike_out_tokens
from kumihimo.services.contexts import TaskContext

# Who takes over is to know what came out, not every word of it; and all of it together has to fit into one text.
_LONGEST = 8_000
_LONGEST_NOTE = 2_000
_LONGEST_LINE = 500
_MOST_FILES = 100
_MOST_NOTES = 20
_MOST_STEPS = 50

_HALFWAY = "It may have stopped in the middle of a change: look at what is in the folder before you go on."
_ADVICE: dict[FailureReason, str] = {
    "spawn_failed": "It never began. Mend what kept it from starting, or take another agent.",
    "exited": _HALFWAY,
    "signalled": _HALFWAY,
    "timed_out": f"Its time was up: take smaller steps, or give it more time. {_HALFWAY}",
    "idle": f"It fell silent and was stopped. {_HALFWAY}",
    "rate_limited": "Its client had reached a limit: wait until that is over, or take an agent of another client.",
    "auth": "Its client is not logged in: log in first, or take an agent of another client.",
    "permission": "It was not allowed to do what it wanted: give it the permission, or do that part yourself.",
    "protocol": f"Its stream ended without an end. {_HALFWAY}",
    "cancelled": _HALFWAY,
    "lost": _HALFWAY,
}


class Material(Struct, frozen=True):
    """Everything that is known of a run. `lines` are the last of its log, without secrets."""

    run: Execution
    role: str
    seen: Observation
    context: TaskContext | None = None
    lines: Sequence[str] = ()
    proof: Proof | None = None
    proof_trouble: str | None = None


class Draft(Struct, frozen=True):
    summary: str
    context: str | None
    recommendations: str | None
    next_steps: tuple[str, ...]
    warnings: tuple[str, ...]


def compose(material: Material) -> Draft:
    """The same material makes the same draft. Tokens of ours are struck out of all of it."""
    parts = [part for part in (_saved(material), _place(material), _files(material), _log(material)) if part]
    return Draft(
        _storable(_summary(material)),
        _storable("\n\n".join(parts)) if parts else None,
        _recommendations(material),
        tuple(_storable(step) for step in islice(_next_steps(material), _MOST_STEPS)),
        tuple(_storable(warning) for warning in islice(_warnings(material), _MOST_STEPS)),
    )


def outcome(run: Execution) -> str:
    """How it stands with a run, in a few words."""
    if run.live:
        return "still at work" if run.status in ("starting", "running") else "not started yet"
    if run.status == "completed":
        return "ended by itself"
    if run.status == "lost":
        return "nobody knows how it ended"
    facts = [run.failure_reason, run.signal or (f"exit code {run.exit_code}" if run.exit_code is not None else None)]
    told = ", ".join(fact for fact in facts if fact and fact != run.status)
    return f"{run.status.replace('_', ' ')} ({told})" if told else run.status.replace("_", " ")


def _summary(material: Material) -> str:
    run, report = material.run, material.run.report
    begin = f"Made from the run {run.id} of {material.role} ({run.client}): {outcome(run)}."
    if report is not None:
        said = f"It reported {report.status}: {_cut(report.summary) or '(no words)'}"
    elif material.seen.last_message:
        said = f"It left no report. The last that it said: {_cut(material.seen.last_message)}"
    else:
        said = "It left no report and said nothing."
    return f"{begin}\n\n{said}"


def _saved(material: Material) -> str:
    context, report = material.context, material.run.report
    lines: list[str] = []
    if context is not None:
        said = {"Progress": context.progress, "Findings": context.findings, "Blockers": context.blockers}
        lines += [f"- {name}: {_cut(value)}" for name, value in said.items() if value]
        lines += [f"- {note.kind}: {_cut(note.content, _LONGEST_NOTE)}" for note in context.notes[-_MOST_NOTES:]]
    if report is not None and report.response:
        lines.append(f"- Response: {_cut(report.response)}")
    return "\n".join(["## What was saved", *lines]) if lines else ""


def _place(material: Material) -> str:
    run, proof = material.run, material.proof
    facts = {
        "Folder": run.worktree or run.working_directory,
        "Branch": run.branch,
        "Commits": f"{len(proof.commits)}, up to {proof.head}" if proof and proof.head and proof.commits else None,
        "Error": _cut(run.error or "") or None,
    }
    lines = [f"- {name}: {value}" for name, value in facts.items() if value]
    return "\n".join(["## Where it worked", *lines]) if lines else ""


def _files(material: Material) -> str:
    """By the proof, which counts; else by what the stream showed and the agent says."""
    if material.proof is not None and material.proof.diffstat.paths:
        told = [f"{it.path} ({it.status}, +{it.insertions} -{it.deletions})" for it in material.proof.diffstat.paths]
    else:
        seen, report = material.seen, material.run.report
        created = {*seen.created_files, *(report.created_files if report else ())}
        edited = {*seen.edited_files, *(report.edited_files if report else ())} - created
        told = sorted([f"{path} (created)" for path in created] + [f"{path} (edited)" for path in edited])
    lines = [f"- {_cut(each, _LONGEST_LINE)}" for each in told[:_MOST_FILES]]
    if len(told) > _MOST_FILES:
        lines.append(f"- and {len(told) - _MOST_FILES} more")
    return "\n".join(["## Files that it changed", *lines]) if lines else ""


def _log(material: Material) -> str:
    """Indented, so that whatever is in it stays what it is."""
    lines = [f"    {_cut(line, _LONGEST_LINE)}" for line in material.lines]
    return "\n".join(["## The end of its log", "", *lines]) if lines else ""


def _recommendations(material: Material) -> str | None:
    run = material.run
    if run.live:
        return f"Wait for its end, or stop it first (`kumi run stop {run.id}`): two at once undo each other's work."
    if run.failure_reason is not None:
        return _ADVICE[run.failure_reason]
    if material.proof is not None and material.proof.failed_checks:
        return "Make the checks pass before anything else: without them the task is not done."
    return None


def _next_steps(material: Material) -> Iterable[str]:
    saved = (material.context.next_steps if material.context else None) or ""
    yield from (_cut(step) for line in saved.splitlines() if (step := line.strip().removeprefix("- ").strip()))
    for check in material.proof.failed_checks if material.proof else ():
        yield f"Make this check pass: {_cut(check.command)}"


def _warnings(material: Material) -> Iterable[str]:
    run, seen = material.run, material.seen
    yield from _about_the_end(run)
    doing = seen.recent_tools[-1] if seen.recent_tools else None
    if not run.live and run.status != "completed" and doing is not None and doing.ok is None:
        yield f"It was in the middle of this when it ended: {_cut(f'{doing.tool} {doing.arguments}'.strip(), _LONGEST_LINE)}"
    if seen.warning:
        yield _cut(seen.warning)
    if material.proof is not None:
        for check in material.proof.failed_checks:
            facts = check.signal or (f"exit code {check.exit_code}" if check.exit_code is not None else "no exit code")
            yield f"A check is {check.status.replace('_', ' ')} ({facts}): {_cut(check.command)}"
        yield from (f"It changed what it may not: {_cut(path)}" for path in material.proof.scope_violations)
        if material.proof.checks_skipped:
            yield "Its checks were skipped."
    if material.proof_trouble:
        yield f"Its proof can't be read: {material.proof_trouble}"


def _about_the_end(run: Execution) -> Iterable[str]:
    if run.live:
        yield f"It has not ended: {outcome(run)}."
    elif run.status == "lost":
        yield "Nobody knows how it ended: what it has done may be half done."
    elif run.signal is not None or run.failure_reason in ("signalled", "timed_out", "idle", "cancelled"):
        yield f"It did not end by itself: {outcome(run)}."
    elif run.status != "completed":
        yield f"It did not succeed: {outcome(run)}."
    if run.report is not None and run.report.status == "success" and not run.live and run.status != "completed":
        yield "It reported success, but its process did not end well."
    if run.report is not None and run.report.error_message:
        yield f"It reported an error: {_cut(run.report.error_message)}"
    if run.survivors:
        yield f"These processes of it would not die: {', '.join(map(str, run.survivors))}"


def _storable(text: str) -> str:
    """What an agent has printed may hold anything; a handoff holds text."""
    plain = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
    return strike_out_tokens(plain)


def _cut(text: str, limit: int = _LONGEST) -> str:
    # First struck out: half a token would not be known for one.
    text = strike_out_tokens(text.strip())
    return text if len(text) <= limit else f"{text[:limit]}…"
